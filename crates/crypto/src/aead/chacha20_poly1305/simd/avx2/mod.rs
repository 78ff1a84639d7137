//! Eight packets at a time.

mod chacha20;
mod poly1305;
mod transpose;

use std::arch::x86_64::*;

use super::super::packet::{Packet, Task};
use super::parts::{Part, associated, lengths, text};
use super::pieces::{BLOCK_BYTES, Pieces};
use crate::cipher::Block;
use chacha20::{BLOCKS, Blocks};
use poly1305::{Hashes, MESSAGES, Parts};

/// Packets of a group: their one-time keys fill the lanes of ChaCha20 once and those of
/// Poly1305 twice.
const GROUP: usize = BLOCKS;

/// Hashes of a group.
type GroupHashes = [Hashes; GROUP / MESSAGES];

/// Bytes of each text that are encrypted and hashed before the next: few enough that
/// those of a group stay in the nearest cache in between. A multiple of 64.
const WINDOW_BYTES: usize = 1536;

/// Which lane computes the one-time key of each packet: unpacked, the words of the first
/// four are one vector.
const LANE_OF_KEY: [usize; GROUP] = [0, 1, 4, 5, 2, 3, 6, 7];

/// Processes the packets of a task.
#[target_feature(enable = "avx2")]
pub(super) fn run<const OPEN: bool>(task: &mut Task<'_, '_>) {
    let mut position = 0;
    for packets in task.packets.chunks(GROUP) {
        for tag in process::<OPEN>(packets).iter().take(packets.len()) {
            task.finish(position, *tag);
            position += 1;
        }
    }
}

/// Poly1305 of eight messages, padded to whole blocks.
#[cfg(test)]
#[target_feature(enable = "avx2")]
pub(super) fn poly1305_of(keys: &[[u8; 32]; GROUP], messages: &[Vec<u8>; GROUP]) -> [Block; GROUP] {
    let half = |first: usize| {
        let words = std::array::from_fn(|at| {
            let word = |lane| i64::from_le_bytes(keys[first + lane as usize].as_chunks().0[at]);
            _mm256_setr_epi64x(word(0), word(1), word(2), word(3))
        });
        let mut hashes = Hashes::new(words);
        let parts = Parts {
            at: std::array::from_fn(|lane| messages[first + lane].as_ptr()),
            bytes: std::array::from_fn(|lane| messages[first + lane].len()),
        };
        // SAFETY: these are the messages' bytes.
        unsafe { hashes.absorb(&parts) };
        hashes.tags()
    };
    joined([half(0), half(MESSAGES)])
}

/// Encrypts or decrypts the texts of one to eight packets, and returns the tags.
#[target_feature(enable = "avx2")]
fn process<const OPEN: bool>(packets: &[Packet<'_>]) -> [Block; GROUP] {
    let mut hashes = hashes(packets);
    absorb(&mut hashes, packets, 0, usize::MAX, associated);
    let most = packets.iter().map(|packet| packet.text.len()).max();
    for begin in (0..most.unwrap_or(0)).step_by(WINDOW_BYTES) {
        let end = begin + WINDOW_BYTES;
        if OPEN {
            absorb(&mut hashes, packets, begin, end, text);
        }
        apply_key_stream(packets, begin, end);
        if !OPEN {
            absorb(&mut hashes, packets, begin, end, text);
        }
    }
    absorb_lengths(&mut hashes, packets);
    joined(hashes.map(|hashes| hashes.tags()))
}

fn joined([low, high]: [[Block; MESSAGES]; 2]) -> [Block; GROUP] {
    std::array::from_fn(|at| match at {
        0..MESSAGES => low[at],
        _ => high[at - MESSAGES],
    })
}

/// Hashes of nothing yet, under the packets' one-time keys (RFC 8439 section 2.6). Lanes
/// without a packet hash under a key of the first one.
#[inline]
#[target_feature(enable = "avx2")]
fn hashes(packets: &[Packet<'_>]) -> GroupHashes {
    let mut blocks = Blocks::new(packets[0].key);
    for (packet, lane) in packets.iter().zip(LANE_OF_KEY) {
        blocks.set(lane, packet.key, 0, packet.nonce);
    }
    let words = blocks.words();
    let low = |at: usize| _mm256_unpacklo_epi32(words[2 * at], words[2 * at + 1]);
    let high = |at: usize| _mm256_unpackhi_epi32(words[2 * at], words[2 * at + 1]);
    [
        Hashes::new([low(0), low(1), low(2), low(3)]),
        Hashes::new([high(0), high(1), high(2), high(3)]),
    ]
}

/// Hashes the bytes from `begin` to `end` of a part of each packet, as far as it has any.
#[inline]
#[target_feature(enable = "avx2")]
fn absorb<'a>(
    hashes: &mut GroupHashes,
    packets: &[Packet<'a>],
    begin: usize,
    end: usize,
    part: impl Fn(&Packet<'a>) -> Part,
) {
    for (hashes, packets) in hashes.iter_mut().zip(packets.chunks(MESSAGES)) {
        let parts = Parts::of(packets, begin, end, &part);
        // SAFETY: the bytes of a part are readable.
        unsafe { hashes.absorb(&parts) };
    }
}

/// Hashes the last block: the lengths of associated data and text.
#[inline]
#[target_feature(enable = "avx2")]
fn absorb_lengths(hashes: &mut GroupHashes, packets: &[Packet<'_>]) {
    for (hashes, packets) in hashes.iter_mut().zip(packets.chunks(MESSAGES)) {
        hashes.block(lengths(packets));
    }
}

/// Encrypts or decrypts the bytes from `begin` to `end` of the texts: a block of any packet
/// in each lane.
#[inline]
#[target_feature(enable = "avx2")]
fn apply_key_stream(packets: &[Packet<'_>], begin: usize, end: usize) {
    let mut pieces = Pieces::none(&packets[0]);
    pieces.begin(packets, begin, end);
    let mut blocks = Blocks::new(packets[0].key);
    let (mut at, mut bytes) = ([std::ptr::null_mut(); BLOCKS], [0; BLOCKS]);
    loop {
        let mut filled = 0;
        while filled < BLOCKS
            && let Some(piece) = pieces.take()
        {
            let Packet { key, nonce, .. } = *piece.packet;
            blocks.set(filled, key, piece.counter, nonce);
            (at[filled], bytes[filled]) = (piece.at, piece.bytes);
            filled += 1;
        }
        if filled == 0 {
            return;
        }
        let [first, second] = blocks.streams();
        for lane in 0..filled {
            // SAFETY: the piece is `bytes` long, and nothing else refers to it meanwhile.
            unsafe { add(at[lane], bytes[lane], [first[lane], second[lane]]) };
        }
    }
}

/// Adds a key stream to at most 64 bytes.
///
/// # Safety
/// They are readable and writable.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn add(at: *mut u8, bytes: usize, stream: [__m256i; 2]) {
    // SAFETY: the caller's.
    unsafe {
        if bytes == BLOCK_BYTES {
            add_whole(at, stream);
        } else {
            let mut block = [0u8; BLOCK_BYTES];
            let bytes = bytes.min(BLOCK_BYTES);
            std::ptr::copy(at, block.as_mut_ptr(), bytes);
            add_whole(block.as_mut_ptr(), stream);
            std::ptr::copy(block.as_ptr(), at, bytes);
        }
    }
}

/// Adds a key stream to 64 bytes.
///
/// # Safety
/// They are readable and writable.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn add_whole(at: *mut u8, stream: [__m256i; 2]) {
    for (half, stream) in stream.into_iter().enumerate() {
        // SAFETY: the caller's.
        unsafe {
            let at = at.add(32 * half).cast();
            _mm256_storeu_si256(at, _mm256_xor_si256(_mm256_loadu_si256(at), stream));
        }
    }
}
