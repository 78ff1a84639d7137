//! One packet in each 128-bit lane, each under its own key: four packets make a
//! group, and two groups a step.
//!
//! Lanes end together. A packet of n blocks in a step whose longest packet
//! fills c chunks of four blocks begins after 4c - n empty slots, which neither
//! cost a branch nor change its hash, since leading zeros do not:
//!
//! ```text
//! slot           s₀      x₀   x₁   x₂   x₃     x₄   x₅   x₆   x₇    last
//! lane 0, n = 8  assoc.  t₀   t₁   t₂   t₃     t₄   t₅   t₆   t₇    lengths
//! lane 1, n = 6  0       0    assoc.t₀  t₁     t₂   t₃   t₄   t₅    lengths
//! lane 2, n = 5  0       0    0    assoc.t₀    t₁   t₂   t₃   t₄    lengths
//! lane 3, n = 7  0       assoc.t₀  t₁   t₂     t₃   t₄   t₅   t₆    lengths
//! hashed         s₀H⁴ + x₀H³ + x₁H² + x₂H, (… + x₃)H⁴ + x₄H³ + …
//! ```
//!
//! Rounds of a chunk's cipher and the hash of the chunk before it take turns, so
//! that both units work. The chunk before the first one is the last one of the
//! step before:
//!
//! ```text
//! cipher   A 0    A 1    B 0    B 1    C 0
//! hash     -      A 0    A 1    B 0    B 1    C 0
//! tags                   A             B      C
//! ```

mod group;
mod hash;
mod uniform;

use std::arch::x86_64::*;

use super::super::super::batch::Task;
use super::super::super::packet::Packet;
use super::field::{hash_keys, in_order, reverse};
use super::{LOOK_AHEAD, aes_round, bytes, prefetch_at};
use crate::cipher::rounds;
use crate::cipher::simd::{ROUND_CONSTANTS, next_128_lanes};
use crate::suite::AesKeySize;
use group::{Group, Keyed, Shape};
use hash::{FOUR, Hash, NOTHING, REST};

/// Lanes of a vector, and so packets of a group.
const LANES: usize = 4;

/// Groups of a step; the last step may have fewer.
const UNROLL: usize = 2;

/// Bytes of a chunk of four blocks.
const CHUNK: usize = 64;

/// Processes the packets of a task, whose associated data fits one block, under raw
/// keys: those of AES-128 are expanded on the way if `ON_THE_FLY`, others before.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) fn run<const ON_THE_FLY: bool, const OPEN: bool>(task: &mut Task<'_, '_>) {
    let done = match ON_THE_FLY {
        true => uniform::run::<OPEN>(task),
        false => 0,
    };
    let packets = task.len();
    // What is left behind the last whole step fills one if it is more than a
    // group.
    let whole = (packets - done + LANES - 1) / (UNROLL * LANES);
    let rest = done + UNROLL * LANES * whole;
    if whole > 0 {
        steps::<ON_THE_FLY, OPEN, UNROLL>(task, done, whole);
    }
    if rest < packets {
        steps::<ON_THE_FLY, OPEN, 1>(task, rest, 1);
    }
}

/// Does the same for each group of a step: written out, since arrays of vectors
/// that a loop goes over lie in memory.
macro_rules! for_each_group {
    ($at:ident, $work:block) => {{
        let $at = 0;
        $work
    }
    if GROUPS > 1 {
        let $at = 1;
        $work
    }};
}

/// Packets from position `first` on, in `steps` steps of `GROUPS` groups.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
fn steps<const ON_THE_FLY: bool, const OPEN: bool, const GROUPS: usize>(
    task: &mut Task<'_, '_>,
    first: usize,
    steps: usize,
) {
    const { assert!(GROUPS <= UNROLL) };
    let size = task.kind.size;
    let mut groups = [const { Group::new() }; GROUPS];
    let mut hashes = [Hash::nothing(); GROUPS];
    // Of the step before, and of this one.
    let mut keyed_before: [Keyed; GROUPS] = [0; GROUPS];
    let mut keyed = keyed_before;
    let packets = GROUPS * LANES;
    let Some(last) = task.len().checked_sub(1).and_then(|last| task.packet(last)) else {
        return;
    };
    let mut shape = Shape::default();
    for step in 0..steps {
        let position = first + packets * step;
        // SAFETY: these are this function's features; texts are borrowed.
        unsafe {
            let mut four = [[last; LANES]; GROUPS];
            for_each_group!(at, {
                four[at] = four_from(task, position + LANES * at, last);
            });
            let there = task.len() - position;
            if step == 0 || !task.alike || there < packets {
                let before = shape;
                shape = Shape::begin(&four[0], there < packets);
                for_each_group!(at, {
                    shape.add(&four[at]);
                });
                shape.close();
                if step == 0 || !shape.is_that_of(&before) {
                    for_each_group!(at, {
                        groups[at].end_with(&shape, &four[at], there.saturating_sub(LANES * at));
                    });
                }
            }
            for_each_group!(at, {
                keyed[at] = groups[at].load::<ON_THE_FLY>(size, &four[at]);
                prefetch_four::<ON_THE_FLY>(task, position + LANES * at + LOOK_AHEAD);
            });
            let mut states = [[_mm512_setzero_si512(); 6]; GROUPS];
            for_each_group!(at, {
                let [x0, x1, x2, x3] = groups[at].counter_blocks();
                let tag_block = groups[at].tag_block();
                states[at] = [groups[at].round_key(0), tag_block, x0, x1, x2, x3];
            });
            if step == 0 {
                begin::<ON_THE_FLY, NOTHING, GROUPS>(size, &mut groups, &mut states, &mut hashes);
            } else {
                begin::<ON_THE_FLY, REST, GROUPS>(size, &mut groups, &mut states, &mut hashes);
                finish(task, position - packets, &hashes, &keyed_before);
            }
            keyed_before = keyed;
            for_each_group!(at, {
                let [zero, tag_pad, x0, x1, x2, x3] = states[at];
                let group = &groups[at];
                let h = if ON_THE_FLY {
                    hash_keys(zero)
                } else {
                    group.hash_key()
                };
                hashes[at] = Hash::new(h, group.first_element(), group.lengths, tag_pad);
                hashes[at].elements = group.apply::<OPEN>(&shape, 0, [x0, x1, x2, x3]);
            });
            if shape.chunks > 1 {
                for_each_group!(at, {
                    hashes[at].raise();
                });
            }
            for chunk in 1..shape.chunks {
                let mut states = [[_mm512_setzero_si512(); 4]; GROUPS];
                for_each_group!(at, {
                    states[at] = groups[at].counter_blocks();
                });
                encipher::<4, 0, FOUR, GROUPS>(size, &groups, &mut states, &mut hashes);
                for_each_group!(at, {
                    hashes[at].waiting = hashes[at].elements[3];
                    hashes[at].elements = groups[at].apply::<OPEN>(&shape, chunk, states[at]);
                });
            }
        }
    }
    // SAFETY: as above.
    unsafe {
        for_each_group!(at, {
            hashes[at].finish();
        });
        finish(task, first + packets * (steps - 1), &hashes, &keyed);
    }
    for group in &mut groups {
        group.wipe();
    }
}

/// Four packets from `position` on, the last one in place of those that are not
/// there.
#[inline(always)]
fn four_from<'a>(task: &Task<'_, 'a>, position: usize, last: Packet<'a>) -> [Packet<'a>; LANES] {
    let packet = |position| task.packet(position).unwrap_or(last);
    [
        packet(position),
        packet(position + 1),
        packet(position + 2),
        packet(position + 3),
    ]
}

/// Asks for the keys of four packets from `position` on, if there are four.
#[inline(always)]
fn prefetch_four<const ON_THE_FLY: bool>(task: &Task<'_, '_>, position: usize) {
    for position in position..position + LANES {
        // SAFETY: every processor of this architecture has the instruction, which
        // faults nowhere.
        unsafe {
            if !ON_THE_FLY {
                prefetch_at(task, position);
            } else if let Some(key) = task.key(position) {
                _mm_prefetch::<_MM_HINT_T0>(key.as_ptr().cast());
            }
        }
    }
}

/// Enciphers the zero block, the tag's block and the first four of the text,
/// while what is `PENDING` of the step before is hashed. The zero block is only
/// asked for where the key is expanded on the way.
///
/// # Safety
/// The caller has the features of [`run`].
#[inline(always)]
unsafe fn begin<const ON_THE_FLY: bool, const PENDING: u8, const GROUPS: usize>(
    size: AesKeySize,
    groups: &mut [Group; GROUPS],
    states: &mut [[__m512i; 6]; GROUPS],
    hashes: &mut [Hash; GROUPS],
) {
    // SAFETY: the caller's.
    unsafe {
        if ON_THE_FLY {
            expand_and_encipher::<PENDING, GROUPS>(groups, states, hashes);
        } else {
            encipher::<6, 1, PENDING, GROUPS>(size, groups, states, hashes);
        }
    }
}

/// Rounds of raw AES-128 keys, which are expanded on the way, in turns with the
/// hash of what is `PENDING`.
///
/// # Safety
/// The caller has the features of [`run`].
#[inline(always)]
unsafe fn expand_and_encipher<const PENDING: u8, const GROUPS: usize>(
    groups: &mut [Group; GROUPS],
    states: &mut [[__m512i; 6]; GROUPS],
    hashes: &mut [Hash; GROUPS],
) {
    // SAFETY: the caller's.
    unsafe {
        let mut keys = [_mm512_setzero_si512(); GROUPS];
        for_each_group!(at, {
            keys[at] = groups[at].round_key(0);
        });
        macro_rules! rounds {
            ($($round:literal)*) => {$(
                for_each_group!(at, {
                    keys[at] = next_128_lanes(keys[at], ROUND_CONSTANTS[$round]);
                    groups[at].keys[1 + $round] = keys[at];
                    aes_round(&mut states[at], keys[at]);
                    in_order(&mut states[at]);
                    hashes[at].turn::<PENDING>($round);
                });
            )*};
        }
        rounds!(1 2 3 4 5 6 7 8 9);
        for_each_group!(at, {
            let key = next_128_lanes(keys[at], ROUND_CONSTANTS[10]);
            groups[at].keys[11] = key;
            aes_last_round(&mut states[at], key);
        });
    }
}

/// Rounds of expanded keys for the states from `FIRST` on, in turns with the
/// hash of what is `PENDING`.
///
/// # Safety
/// The caller has the features of [`run`].
#[inline(always)]
unsafe fn encipher<
    const STATES: usize,
    const FIRST: usize,
    const PENDING: u8,
    const GROUPS: usize,
>(
    size: AesKeySize,
    groups: &[Group; GROUPS],
    states: &mut [[__m512i; STATES]; GROUPS],
    hashes: &mut [Hash; GROUPS],
) {
    let rounds = rounds(size);
    // SAFETY: the caller's.
    unsafe {
        macro_rules! rounds {
            ($($round:literal)*) => {$(
                for_each_group!(at, {
                    let states = &mut states[at][FIRST..];
                    aes_round(states, groups[at].round_key($round));
                    in_order(states);
                    hashes[at].turn::<PENDING>($round);
                });
            )*};
        }
        rounds!(1 2 3 4 5 6 7 8 9);
        for round in 10..rounds {
            for_each_group!(at, {
                aes_round(&mut states[at][FIRST..], groups[at].round_key(round));
            });
        }
        for_each_group!(at, {
            aes_last_round(&mut states[at][FIRST..], groups[at].round_key(rounds));
        });
    }
}

#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn aes_last_round(states: &mut [__m512i], key: __m512i) {
    for state in states {
        *state = _mm512_aesenclast_epi128(*state, key);
    }
}

/// Keeps the tags of the packets from `position` on whose keys were there.
///
/// # Safety
/// The caller has the features of [`run`].
#[inline(always)]
unsafe fn finish<const GROUPS: usize>(
    task: &mut Task<'_, '_>,
    position: usize,
    hashes: &[Hash; GROUPS],
    keyed: &[Keyed; GROUPS],
) {
    // SAFETY: the caller's.
    unsafe {
        for_each_group!(at, {
            let tags = _mm512_xor_si512(reverse(hashes[at].sum), hashes[at].tag_pad);
            let position = position + LANES * at;
            let tags = [
                bytes(_mm512_castsi512_si128(tags)),
                bytes(_mm512_extracti32x4_epi32::<1>(tags)),
                bytes(_mm512_extracti32x4_epi32::<2>(tags)),
                bytes(_mm512_extracti32x4_epi32::<3>(tags)),
            ];
            for (lane, tag) in tags.into_iter().enumerate() {
                if keyed[at] >> lane & 1 == 1 {
                    task.finish(position + lane, tag);
                }
            }
        });
    }
}
