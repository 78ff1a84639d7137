//! VAES: eight packets at a time, in three steps.
//!
//! ```text
//! begin    nonce and associated data    a half vector for each packet
//! text     four blocks a vector         short packets together, long ones alone
//! finish   the tag's block              a quarter vector for each packet
//! ```
//!
//! Half and quarter vectors cost the AES units half of what a vector does, so
//! that little is lost by leaving every packet its own, and round keys need not
//! be brought into lanes.

mod blocks;
mod text;

use std::arch::x86_64::*;

use super::super::packet::{Packet, Task};
use super::schedule::{Schedule, bytes};
use crate::cipher::rounds;
use blocks::{begin, encrypt};
use text::Texts;

/// Packets in flight: enough to hide the latency of AES.
const FLIGHT: usize = 8;

/// How many packets before its own a packet's key is asked for.
const LOOK_AHEAD: usize = 16;

/// Processes the packets of a task.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
pub(super) fn run<const OPEN: bool>(task: &mut Task<'_, '_>) {
    let rounds = rounds(task.size);
    let lines = task.packet(0).map_or(0, |packet| packet.key.lines().len());
    for first in (0..task.order.len()).step_by(FLIGHT) {
        for position in first..first + FLIGHT {
            prefetch(task, lines, position + LOOK_AHEAD);
        }
        let count = FLIGHT.min(task.order.len() - first);
        // Places that stay empty repeat the first packet, but for its text.
        let Some(packet) = task.packet(first) else {
            return;
        };
        let Some(schedule) = Schedule::of::<OPEN>(packet.key) else {
            return;
        };
        let mut flight = Flight {
            packets: [packet; FLIGHT],
            schedules: [schedule; FLIGHT],
            count,
        };
        for index in 1..count {
            let Some(packet) = task.packet(first + index) else {
                return;
            };
            let Some(schedule) = Schedule::of::<OPEN>(packet.key) else {
                return;
            };
            flight.packets[index] = packet;
            flight.schedules[index] = schedule;
        }
        let mut tags = [_mm_setzero_si128(); FLIGHT];
        // SAFETY: the schedules are those of the packets' keys, of these rounds,
        // and can open where `OPEN` says so; no two packets are the same.
        unsafe { flight.process::<OPEN>(rounds, &mut tags) };
        for (position, tag) in (first..).zip(&tags[..count]) {
            task.finish(position, bytes(*tag));
        }
    }
}

/// Packets in flight.
struct Flight<'f> {
    packets: [&'f Packet<'f>; FLIGHT],
    schedules: [Schedule<'f>; FLIGHT],
    /// How many are packets of their own.
    count: usize,
}

impl Flight<'_> {
    /// Encrypts or decrypts the texts and writes the tags.
    ///
    /// # Safety
    /// The schedules are the packets', of so many rounds.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
    unsafe fn process<const OPEN: bool>(&self, rounds: usize, tags: &mut [__m128i; FLIGHT]) {
        let zero = [_mm_setzero_si128(); FLIGHT];
        let (mut offsets, mut hashes, mut pads) = (zero, zero, zero);
        let (packets, schedules) = (&self.packets, &self.schedules);
        // SAFETY: the caller's.
        unsafe {
            begin(rounds, packets, schedules, &mut offsets, &mut hashes);
            let is_partial = |packet: &&Packet<'_>| !packet.text.len().is_multiple_of(16);
            if OPEN && packets.iter().any(is_partial) {
                // What opens a partial block is encryption.
                for (index, pad) in pads.iter_mut().enumerate() {
                    let blocks = packets[index].text.len() / 16;
                    *pad = text::offset_of_partial(&schedules[index], offsets[index], blocks);
                }
                encrypt(rounds, schedules, &mut pads);
            }
            let texts = Texts {
                packets,
                schedules,
                first_offsets: &offsets,
                pads: &pads,
            };
            let mut index = 0;
            while index < self.count {
                let vectors = text::vectors(packets[index]);
                let alike = |texts: usize| {
                    let last = index + texts - 1;
                    last < self.count && text::vectors(packets[last]) == vectors
                };
                index += match vectors {
                    1 if alike(4) => text::short::<4, 1, OPEN>(rounds, &texts, index, tags),
                    2 if alike(4) => text::short::<4, 2, OPEN>(rounds, &texts, index, tags),
                    3 if alike(2) => text::short::<2, 3, OPEN>(rounds, &texts, index, tags),
                    4 if alike(2) => text::short::<2, 4, OPEN>(rounds, &texts, index, tags),
                    _ => text::long::<OPEN>(rounds, &texts, index, tags),
                };
            }
            encrypt(rounds, schedules, tags);
        }
        for (tag, hash) in tags.iter_mut().zip(hashes) {
            *tag = _mm_xor_si128(*tag, hash);
        }
    }
}

/// Asks for the key of the packet at `position`, which has so many lines.
#[inline]
#[target_feature(enable = "sse")]
fn prefetch(task: &Task<'_, '_>, lines: usize, position: usize) {
    if let Some(packet) = task.packet(position) {
        let at: *const u8 = packet.key.lines().as_ptr().cast();
        for line in 0..lines {
            _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(64 * line).cast());
        }
    }
}
