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
use text::Text;

/// Packets in flight: enough to hide the latency of AES.
const FLIGHT: usize = 8;

/// How many packets before its own a packet's key is asked for.
const LOOK_AHEAD: usize = 16;

/// Processes the packets of a task.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
pub(super) fn run<const OPEN: bool>(task: &mut Task<'_, '_>) {
    let rounds = rounds(task.size);
    for first in (0..task.order.len()).step_by(FLIGHT) {
        for position in first..first + FLIGHT {
            prefetch::<OPEN>(task, position + LOOK_AHEAD);
        }
        let Some(packet) = task.packet(first) else {
            return;
        };
        // Places that stay empty repeat the first packet, but for its text.
        let mut packets = [packet; FLIGHT];
        let count = FLIGHT.min(task.order.len() - first);
        for (packet, position) in packets[..count].iter_mut().zip(first..) {
            if let Some(other) = task.packet(position) {
                *packet = other;
            }
        }
        let Some(schedule) = Schedule::of::<OPEN>(packet.key) else {
            return;
        };
        let mut schedules = [schedule; FLIGHT];
        for (schedule, packet) in schedules.iter_mut().zip(packets) {
            if let Some(other) = Schedule::of::<OPEN>(packet.key) {
                *schedule = other;
            }
        }
        // SAFETY: the schedules are those of the packets' keys, of these rounds,
        // and can open where `OPEN` says so; texts are in bounds and no two are
        // the same.
        let tags = unsafe { process::<OPEN>(rounds, &packets, &schedules, count) };
        for (position, tag) in (first..).zip(&tags[..count]) {
            task.finish(position, bytes(*tag));
        }
    }
}

/// Encrypts or decrypts the texts of the first `count` packets and returns the
/// tags.
///
/// # Safety
/// The schedules are the packets', and have so many rounds.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
unsafe fn process<const OPEN: bool>(
    rounds: usize,
    packets: &[&Packet<'_>; FLIGHT],
    schedules: &[Schedule<'_>; FLIGHT],
    count: usize,
) -> [__m128i; FLIGHT] {
    // SAFETY: the caller's.
    unsafe {
        let (offsets, hashes) = begin(rounds, packets, schedules);
        let mut pads = [_mm_setzero_si128(); FLIGHT];
        if OPEN && packets.iter().any(|packet| packet.text.len() % 16 != 0) {
            // What opens a partial block is encryption.
            for (index, pad) in pads.iter_mut().enumerate() {
                let blocks = packets[index].text.len() / 16;
                *pad = text::offset_of_partial(&schedules[index], offsets[index], blocks);
            }
            encrypt(rounds, schedules, &mut pads);
        }
        let mut sums = [_mm_setzero_si128(); FLIGHT];
        let text = |index: usize| {
            Text::new(
                schedules[index],
                packets[index],
                offsets[index],
                pads[index],
            )
        };
        let mut index = 0;
        while index < count {
            let vectors = text::vectors(packets[index]);
            let alike = |packets_together: usize| {
                let last = index + packets_together - 1;
                last < count && text::vectors(packets[last]) == vectors
            };
            match vectors {
                1 if alike(4) => {
                    let mut four = [
                        text(index),
                        text(index + 1),
                        text(index + 2),
                        text(index + 3),
                    ];
                    text::short::<4, 1, OPEN>(rounds, &mut four);
                    for text in four {
                        sums[index] = text.sum();
                        index += 1;
                    }
                }
                2 if alike(4) => {
                    let mut four = [
                        text(index),
                        text(index + 1),
                        text(index + 2),
                        text(index + 3),
                    ];
                    text::short::<4, 2, OPEN>(rounds, &mut four);
                    for text in four {
                        sums[index] = text.sum();
                        index += 1;
                    }
                }
                3 if alike(2) => {
                    let mut two = [text(index), text(index + 1)];
                    text::short::<2, 3, OPEN>(rounds, &mut two);
                    for text in two {
                        sums[index] = text.sum();
                        index += 1;
                    }
                }
                4 if alike(2) => {
                    let mut two = [text(index), text(index + 1)];
                    text::short::<2, 4, OPEN>(rounds, &mut two);
                    for text in two {
                        sums[index] = text.sum();
                        index += 1;
                    }
                }
                _ => {
                    sums[index] = text::long::<OPEN>(rounds, text(index));
                    index += 1;
                }
            }
        }
        encrypt(rounds, schedules, &mut sums);
        for (tag, hash) in sums.iter_mut().zip(hashes) {
            *tag = _mm_xor_si128(*tag, hash);
        }
        sums
    }
}

/// Asks for the key of the packet at `position`.
#[inline]
#[target_feature(enable = "sse")]
fn prefetch<const OPEN: bool>(task: &Task<'_, '_>, position: usize) {
    if let Some(packet) = task.packet(position) {
        for line in packet.key.lines() {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast());
        }
    }
}
