//! As many packets at a time as a vector has words.

use weir_simd::prefetch;

use super::super::packet::{Packet, Task};
use super::lanes::{OneTimeKeys, Texts};
use super::parts::{Part, Parts, associated, text};
use super::poly1305::{Field, Hashes, absorb};
use crate::simd::vector::Vector;

/// Bytes of each text that are encrypted and hashed before the next: few enough that
/// those of a group stay in the nearest cache in between. A multiple of 64.
const WINDOW_BYTES: usize = 1536;

/// Processes the packets of a task, a group at a time: the one-time keys of a group fill the lanes
/// of ChaCha20 once and those of Poly1305 twice.
#[inline(always)]
pub(super) fn run<F: Field<LIMBS>, const LIMBS: usize, const OPEN: bool>(
    isa: F::Isa,
    task: &mut Task<'_, '_>,
) {
    let packets = task.packets;
    let Some(first) = packets.first() else {
        return;
    };
    let (mut keys, mut texts) = (OneTimeKeys::new(isa, first), Texts::new(isa, first));
    let mut groups = packets.chunks(4 * F::Vector::QUADS);
    let mut next = groups.next().unwrap_or_default();
    keys.begin(next);
    let mut position = 0;
    while let group @ [_, ..] = next {
        next = groups.next().unwrap_or_default();
        next.iter().for_each(|packet| prefetch(packet.key));
        let hashes = process::<F, LIMBS, OPEN>(group, next, &mut keys, &mut texts);
        for (hashes, packets) in hashes.iter().zip(halves::<F::Vector>(group)) {
            for tag in &hashes.tags()[..packets.len()] {
                task.finish(position, *tag);
                position += 1;
            }
        }
    }
}

/// The packets whose tags are hashed side by side.
#[inline(always)]
fn halves<'g, 'a, V: Vector>(group: &'g [Packet<'a>]) -> std::slice::Chunks<'g, Packet<'a>> {
    group.chunks(2 * V::QUADS)
}

/// Encrypts or decrypts the texts of a group, and returns their hashes. One-time keys of the
/// `next` group move to their lanes meanwhile.
#[inline(always)]
fn process<'t, 'a, F: Field<LIMBS>, const LIMBS: usize, const OPEN: bool>(
    group: &'t [Packet<'a>],
    next: &'t [Packet<'a>],
    keys: &mut OneTimeKeys<'t, 'a, F::Isa>,
    texts: &mut Texts<'t, 'a, F::Isa>,
) -> [Hashes<F, LIMBS>; 2] {
    texts.begin(group, 0, WINDOW_BYTES);
    let [low, high] = keys.compute(texts);
    let mut hashes = [Hashes::new(low), Hashes::new(high)];
    keys.begin(next);
    absorb_parts(&mut hashes, group, 0, usize::MAX, associated);
    let most = group.iter().map(|packet| packet.text.len()).max();
    for begin in (0..most.unwrap_or(0)).step_by(WINDOW_BYTES) {
        let end = begin + WINDOW_BYTES;
        if begin > 0 {
            texts.begin(group, begin, end);
        }
        if OPEN {
            absorb_parts(&mut hashes, group, begin, end, text);
        }
        texts.apply_key_stream(keys);
        if !OPEN {
            absorb_parts(&mut hashes, group, begin, end, text);
        }
    }
    // The last block: the lengths of associated data and text.
    for (hashes, packets) in hashes.iter_mut().zip(halves::<F::Vector>(group)) {
        let mut lengths = [[0; 8]; 2];
        for (lane, packet) in packets.iter().enumerate() {
            lengths[0][lane] = packet.associated.len() as u64;
            lengths[1][lane] = packet.text.len() as u64;
        }
        hashes.block(&lengths);
    }
    hashes
}

/// Hashes the bytes from `begin` to `end` of a part of each packet, as far as it has any.
#[inline(always)]
fn absorb_parts<'a, F: Field<LIMBS>, const LIMBS: usize>(
    hashes: &mut [Hashes<F, LIMBS>; 2],
    group: &[Packet<'a>],
    begin: usize,
    end: usize,
    part: impl Fn(&Packet<'a>) -> Part,
) {
    let mut parts = [Parts::default(); 2];
    for (parts, packets) in parts.iter_mut().zip(halves::<F::Vector>(group)) {
        *parts = Parts::of(packets, 2 * F::Vector::QUADS, begin, end, &part);
    }
    let used = group.len().div_ceil(2 * F::Vector::QUADS).min(2);
    // Two hashes side by side need more registers than some vectors have.
    let together = if F::Vector::REGISTERS > 16 { 2 } else { 1 };
    let hashes = hashes[..used].chunks_mut(together);
    for (hashes, parts) in hashes.zip(parts.chunks(together)) {
        // SAFETY: the bytes of a part are readable.
        unsafe { absorb(hashes, &parts[..hashes.len()]) };
    }
}
