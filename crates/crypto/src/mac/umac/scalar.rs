//! The scalar reference implementation: layer by layer as in RFC 4418 section 5, in
//! constant time. AES, and NH on processors with AVX2 but no AVX-512, use the tier's
//! instructions.

use weir_hash::nh::nh_rfc4418;
use weir_hash::prime::{P64, mod_p36, mod_p64};
use weir_simd::Tier;

use super::key::UmacKey;
use super::simd;
use crate::cipher::Block;
use crate::mac::message::{BLOCK_BYTES, Message, Room};
use crate::mode::ecb;

/// Bytes of the groups that NH takes.
const GROUP_BYTES: usize = 32;

/// The tag of a message, and zeros.
pub(super) fn tag(tier: Tier, message: &mut Message<'_, UmacKey>) -> Block {
    let key = message.key;
    let streams = key.words.count();
    let (first, offset) = UmacKey::pad_place(streams, message.nonce);
    let mut pad = [[0; 16]];
    pad[0][..8].copy_from_slice(&first);
    ecb::encrypt(tier, &key.pad_keys, &mut pad);
    let pad = &pad[0][offset..];

    let mut tag = [0; 16];
    for (stream, hash) in l2(tier, message).iter().enumerate().take(streams) {
        let at = 4 * stream..4 * stream + 4;
        tag[at].copy_from_slice(&l3(&key.digits[stream], *hash).to_be_bytes());
    }
    for (tag, (pad, key)) in tag
        .iter_mut()
        .zip(pad.iter().zip(key.translation))
        .take(4 * streams)
    {
        *tag ^= pad ^ key;
    }
    tag
}

/// L1 and L2, of the streams that the key has.
fn l2(tier: Tier, message: &mut Message<'_, UmacKey>) -> [u64; 4] {
    let key = message.key;
    let streams = key.words.count();
    let is_one_block = message.bytes <= BLOCK_BYTES;
    let mut values = [1; 4];
    let mut left = message.bytes;
    let mut scratch = Room::new();
    loop {
        let bytes = left.min(BLOCK_BYTES);
        left -= bytes;
        let block = message.next(bytes, &mut scratch);
        let sums = simd::nh(tier, key, block).unwrap_or_else(|| nh(key, block));
        for (stream, value) in values.iter_mut().enumerate().take(streams) {
            let nh = sums[stream].wrapping_add(8 * bytes as u64);
            *value = match is_one_block {
                true => nh,
                false => poly(key.points[stream], *value, nh),
            };
        }
        if left == 0 {
            return values;
        }
    }
}

/// NH of a block without its length, of the streams that the key has.
fn nh(key: &UmacKey, block: &[u8]) -> [u64; 4] {
    let mut words = [[0; 8]; BLOCK_BYTES / GROUP_BYTES];
    for (word, bytes) in words.as_flattened_mut().iter_mut().zip(block.chunks(4)) {
        let mut padded = [0; 4];
        padded[..bytes.len()].copy_from_slice(bytes);
        *word = u32::from_le_bytes(padded);
    }
    // An empty message is one group of zeros.
    let groups = &words[..block.len().div_ceil(GROUP_BYTES).max(1)];
    let mut sums = [0; 4];
    for (stream, sum) in sums.iter_mut().enumerate().take(key.words.count()) {
        *sum = nh_of_stream(key, stream, groups);
    }
    sums
}

fn nh_of_stream(key: &UmacKey, stream: usize, groups: &[[u32; 8]]) -> u64 {
    let shift = stream / 2;
    match stream % 2 {
        0 => nh_rfc4418(&key.even[shift..], &key.odd[shift..], groups),
        _ => nh_rfc4418(&key.odd[shift..], &key.even[shift + 1..], groups),
    }
}

/// A step of POLY, RFC 4418 section 5.3.1: numbers that are not below 2⁶⁴ - 2³²
/// escape by a marker, since the prime is below them. Both ways are
/// computed.
pub(super) fn poly(point: u64, value: u64, number: u64) -> u64 {
    let step = |value: u64, number: u64| {
        mod_p64(u128::from(point) * u128::from(value) + u128::from(number))
    };
    let plain = step(value, number);
    let escaped = step(step(value, P64 - 1), number.wrapping_sub(OFFSET));
    let escapes = u64::from(number >= ESCAPED).wrapping_neg();
    (plain & !escapes) | (escaped & escapes)
}

/// 2⁶⁴ less the prime.
const OFFSET: u64 = 59;

/// From this number on, numbers escape.
pub(super) const ESCAPED: u64 = 0xffff_ffff_0000_0000;

/// L3 before its second key: RFC 4418 section 5.4.
fn l3(digits: &[u64; 4], value: u64) -> u32 {
    let sum = (0..4)
        .map(|j| ((value >> (48 - 16 * j)) & 0xffff) * digits[j])
        .sum();
    mod_p36(sum) as u32
}
