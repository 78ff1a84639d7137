//! VAES: packets in groups of four, whose steps overlap.
//!
//! ```text
//! group     n                                       n + 1
//! step      text, four blocks a vector, and tag     nonce and associated data
//! vectors   one per four blocks    a quarter each   half of one each
//! ```
//!
//! Rounds of one step wait for each other; those of four packets and of two steps
//! are interleaved, so that the AES units stay busy. Every packet has vectors of its own,
//! also half and quarter ones: to bring the round keys of four packets into the lanes of
//! one takes as long as it saves.

mod begin;
mod text;

use std::arch::x86_64::*;
use std::ops::Range;

use super::super::key::{BLOCKS_OF_LINE, inverse_keys};
use super::super::packet::{Packet, Task};
use super::schedule::{Schedule, bytes, load};
use crate::cipher::rounds;
use begin::{Beginning, Begun};
use text::{RAGGED, Text, VECTOR, WHOLE};

/// Packets of a group: enough to hide the latency of AES where each has but one
/// vector.
const GROUP: usize = 4;

/// How many packets before its own a packet's key is prefetched.
const LOOK_AHEAD: usize = 4 * GROUP;

/// Cache lines of a key that a short text needs of its front.
const FRONT_LINES: usize = 4;

/// Where the inverse cipher's round keys begin in a key of 128 bits, and their cache lines.
const INVERSE_LINE: usize = inverse_keys(10) / BLOCKS_OF_LINE;
const INVERSE_LINES: usize = 4;

/// Processes the packets of a task.
///
/// # Safety
/// The packets' keys are of the task's size, and can open if `OPEN` says so.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
pub(super) unsafe fn run<const OPEN: bool>(task: &mut Task<'_, '_>) {
    let mut rest = 0..task.packets.len();
    while let Some(first) = task.packet(rest.start) {
        let shape = Shape::of(first);
        let is_other = |packet: &Packet<'_>| Shape::of(packet) != shape;
        let packets = &task.packets[rest.clone()];
        let count = packets.iter().position(is_other).unwrap_or(packets.len());
        let run = rest.start..rest.start + count;
        rest.start = run.end;
        // SAFETY: the caller's; packets are of that shape.
        unsafe {
            match shape {
                Shape::Short(1, true) => short::<1, true, OPEN>(task, run),
                Shape::Short(1, false) => short::<1, false, OPEN>(task, run),
                Shape::Short(_, true) => short::<2, true, OPEN>(task, run),
                Shape::Short(_, false) => short::<2, false, OPEN>(task, run),
                Shape::Other => long::<OPEN>(task, run),
            }
        }
    }
}

/// What decides how a packet's text is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// One vector or two, and whether they are full.
    Short(usize, bool),
    Other,
}

impl Shape {
    #[inline]
    fn of(packet: &Packet<'_>) -> Shape {
        let bytes = packet.text.len();
        match bytes.div_ceil(VECTOR) {
            vectors @ (1 | 2) => Shape::Short(vectors, bytes == vectors * VECTOR),
            _ => Shape::Other,
        }
    }
}

/// Processes packets with texts of `VECTORS` vectors, full ones if `IS_WHOLE`. The
/// rounds of a group's texts and tags and of the next one's beginning are interleaved.
///
/// # Safety
/// As for [`run`]; texts are as long.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
unsafe fn short<const VECTORS: usize, const IS_WHOLE: bool, const OPEN: bool>(
    task: &mut Task<'_, '_>,
    run: Range<usize>,
) {
    // SAFETY: the caller's.
    unsafe {
        let (mut group, mut begun) = Group::first::<OPEN>(task, &run);
        for start in run.clone().step_by(GROUP) {
            let next = Group::behind::<OPEN>(task, start, &run);
            let mut texts = group.texts::<OPEN>(&begun);
            let mut beginning = Beginning::new(&next);
            let mut tags = [_mm_setzero_si128(); GROUP];
            match IS_WHOLE {
                true => text::vectors::<GROUP, VECTORS, WHOLE, OPEN>(
                    &mut texts,
                    &mut tags,
                    Some(&mut beginning),
                ),
                false => text::vectors::<GROUP, VECTORS, RAGGED, OPEN>(
                    &mut texts,
                    &mut tags,
                    Some(&mut beginning),
                ),
            }
            group.finish::<OPEN>(task, start, tags, &begun);
            (group, begun) = (next, beginning.end(&next));
        }
    }
}

/// Processes packets with texts of any length, whose own vectors are interleaved.
///
/// # Safety
/// As for [`run`].
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
unsafe fn long<const OPEN: bool>(task: &mut Task<'_, '_>, run: Range<usize>) {
    // SAFETY: the caller's.
    unsafe {
        let (mut group, mut begun) = Group::first::<OPEN>(task, &run);
        for start in run.clone().step_by(GROUP) {
            let next = Group::behind::<OPEN>(task, start, &run);
            let next_begun = Beginning::alone(&next);
            let offsets = begun.broadcast_offsets();
            let pads = group.pads::<OPEN>(&offsets);
            let mut tags = [_mm_setzero_si128(); GROUP];
            let packets = &task.packets[start..start + group.count];
            for (index, packet) in packets.iter().enumerate() {
                let schedule = Schedule::of(packet.key, rounds(task.kind));
                tags[index] = text::process::<OPEN>(packet, schedule, &offsets[index], pads[index]);
            }
            group.finish::<OPEN>(task, start, tags, &begun);
            (group, begun) = (next, next_begun);
        }
    }
}

/// Up to four packets that are processed together.
#[derive(Clone, Copy)]
struct Group<'t, 'a> {
    packets: [&'t Packet<'a>; GROUP],
    schedules: [Schedule<'a>; GROUP],
    /// How many are packets of their own.
    count: usize,
}

impl<'t, 'a> Group<'t, 'a> {
    /// The first group of a run, begun.
    ///
    /// # Safety
    /// The caller has the features of [`run`]; the packets' keys are of the
    /// task's size, and there is one.
    #[inline(always)]
    unsafe fn first<const OPEN: bool>(
        task: &Task<'t, 'a>,
        run: &Range<usize>,
    ) -> (Group<'t, 'a>, Begun) {
        // SAFETY: the caller's.
        unsafe {
            for packet in &task.packets[run.clone()][..LOOK_AHEAD.min(run.len())] {
                prefetch::<OPEN>(packet);
            }
            let group = Group::at(task, run.start, run.end);
            (group, Beginning::alone(&group))
        }
    }

    /// The group behind the one at `start`, or that once more where it is the last; prefetches
    /// the keys of one further on.
    ///
    /// # Safety
    /// As for [`Group::first`].
    #[inline(always)]
    unsafe fn behind<const OPEN: bool>(
        task: &Task<'t, 'a>,
        start: usize,
        run: &Range<usize>,
    ) -> Group<'t, 'a> {
        let ahead = start + LOOK_AHEAD;
        if let Some(packets) = task.packets.get(ahead..ahead + GROUP) {
            packets.iter().for_each(prefetch::<OPEN>);
        }
        let start = match start + GROUP {
            next if next < run.end => next,
            _ => start,
        };
        // SAFETY: the caller's.
        unsafe { Group::at(task, start, run.end) }
    }

    /// The packets from `start` on; places that stay empty repeat the first.
    ///
    /// # Safety
    /// As for [`Group::first`].
    #[inline(always)]
    unsafe fn at(task: &Task<'t, 'a>, start: usize, end: usize) -> Group<'t, 'a> {
        let packets = &task.packets[start..end];
        let first = &packets[0];
        let packet = |index: usize| packets.get(index).unwrap_or(first);
        let packets_of_group = [first, packet(1), packet(2), packet(3)];
        let rounds = rounds(task.kind);
        // SAFETY: the caller's.
        let schedules = unsafe {
            [
                Schedule::of(packets_of_group[0].key, rounds),
                Schedule::of(packets_of_group[1].key, rounds),
                Schedule::of(packets_of_group[2].key, rounds),
                Schedule::of(packets_of_group[3].key, rounds),
            ]
        };
        Group {
            packets: packets_of_group,
            schedules,
            count: GROUP.min(packets.len()),
        }
    }

    /// The texts, ready to be encrypted or decrypted.
    ///
    /// # Safety
    /// The caller has the features of [`run`].
    #[inline(always)]
    unsafe fn texts<const OPEN: bool>(&self, begun: &Begun) -> [Text<'a>; GROUP] {
        // SAFETY: the caller's.
        unsafe {
            let offsets = begun.broadcast_offsets();
            let pads = self.pads::<OPEN>(&offsets);
            let text = |index: usize| {
                let is_repeated = index >= self.count;
                let (packet, schedule) = (self.packets[index], self.schedules[index]);
                Text::new(packet, schedule, offsets[index], pads[index], is_repeated)
            };
            [text(0), text(1), text(2), text(3)]
        }
    }

    /// What opens partial blocks, if there is one: the encryption of their
    /// offsets.
    ///
    /// # Safety
    /// As for [`Group::texts`].
    #[inline(always)]
    unsafe fn pads<const OPEN: bool>(&self, offsets: &[__m512i; GROUP]) -> [__m128i; GROUP] {
        // SAFETY: the caller's.
        unsafe {
            let mut pads = [_mm_setzero_si128(); GROUP];
            let is_partial = |packet: &&Packet<'_>| !packet.text.len().is_multiple_of(16);
            if OPEN && self.packets.iter().any(is_partial) {
                for (index, pad) in pads.iter_mut().enumerate() {
                    let first = _mm512_castsi512_si128(offsets[index]);
                    let blocks = self.packets[index].text.len() / 16;
                    *pad = self.schedules[index].offset_of_partial(first, blocks);
                }
                self.encrypt(&mut pads);
            }
            pads
        }
    }

    /// Makes tags of what the texts left for them.
    ///
    /// # Safety
    /// The caller has the features of [`run`].
    #[inline(always)]
    unsafe fn finish<const OPEN: bool>(
        &self,
        task: &mut Task<'_, '_>,
        start: usize,
        mut tags: [__m128i; GROUP],
        begun: &Begun,
    ) {
        // SAFETY: the caller's.
        unsafe {
            if OPEN {
                self.encrypt(&mut tags);
            }
            for (index, tag) in tags.into_iter().enumerate() {
                if index < self.count {
                    let tag = _mm_xor_si128(tag, begun.hashes[index]);
                    task.finish(start + index, bytes(tag));
                }
            }
        }
    }

    /// Encrypts a block of each packet.
    ///
    /// # Safety
    /// The caller has the features of [`run`].
    #[inline(always)]
    unsafe fn encrypt(&self, blocks: &mut [__m128i; GROUP]) {
        let rounds = self.schedules[0].rounds;
        // SAFETY: the caller's, and a schedule has as many round keys.
        unsafe {
            let key = |index: usize, round| load(self.schedules[index].round_keys().add(round));
            for (index, block) in blocks.iter_mut().enumerate() {
                *block = _mm_xor_si128(*block, key(index, 0));
            }
            for round in 1..rounds {
                for (index, block) in blocks.iter_mut().enumerate() {
                    *block = _mm_aesenc_si128(*block, key(index, round));
                }
            }
            for (index, block) in blocks.iter_mut().enumerate() {
                *block = _mm_aesenclast_si128(*block, key(index, rounds));
            }
        }
    }
}

/// Prefetches a packet's key, as far as a short text under a key of 128 bits needs it; a
/// longer text has prefetched the rest before it gets there.
#[inline]
fn prefetch<const OPEN: bool>(packet: &Packet<'_>) {
    let at = packet.key.lines().as_ptr();
    // SAFETY: prefetching accesses no memory.
    let line = |line| unsafe { _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(line).cast()) };
    (0..FRONT_LINES).for_each(line);
    if OPEN {
        (INVERSE_LINE..INVERSE_LINE + INVERSE_LINES).for_each(line);
    }
}
