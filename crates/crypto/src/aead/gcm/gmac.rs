//! GMAC (NIST SP 800-38D section 6.4): the GHASH of a message and of its length,
//! under a pad, which is the first counter block encrypted.

use weir_simd::Tier;

use super::key::{GcmKey, POWERS};
use super::{field, simd};
use crate::cipher::{Block, rounds};
use crate::mac::{LANES, Message, Room};
use crate::mode::ecb;
use crate::tags::Tags;

/// Writes the tags of one to eight messages whose keys are of one size and have full
/// schedules.
pub(crate) fn tag(tier: Tier, messages: &mut [Message<'_, GcmKey>], tags: &mut Tags<LANES>) {
    if !simd::gmac(tier, messages, tags) {
        for (lane, message) in messages.iter_mut().enumerate() {
            tags.set(lane, tag_one(tier, message));
        }
    }
}

/// The scalar reference implementation, with the field's products by the instructions of
/// `tier`.
fn tag_one(tier: Tier, message: &mut Message<'_, GcmKey>) -> Block {
    let schedule = message.key.schedule();
    let mut scratch = Room::new();
    let (mut sum, mut left) = ([0; 16], message.bytes);
    while left > 0 {
        let bytes = message.next(left.min(scratch.capacity()), &mut scratch);
        left -= bytes.len();
        // Only the last of these is not made of whole blocks.
        let (blocks, rest) = bytes.as_chunks();
        absorb(tier, schedule, &mut sum, blocks);
        if !rest.is_empty() {
            let mut last = [0; 16];
            last[..rest.len()].copy_from_slice(rest);
            absorb(tier, schedule, &mut sum, &[last]);
        }
    }
    // All is associated data, and there is no text.
    let lengths = (8 * message.bytes as u128) << 64;
    absorb(tier, schedule, &mut sum, &[lengths.to_be_bytes()]);
    let mut pad = [counter_block(message).to_le_bytes()];
    let round_keys = &schedule[POWERS..=POWERS + rounds(message.key.size())];
    ecb::encrypt(tier, round_keys, &mut pad);
    (u128::from_le_bytes(sum) ^ u128::from_be_bytes(pad[0])).to_be_bytes()
}

/// J0 of SP 800-38D section 7.1, as a little-endian number.
#[inline]
pub(super) fn counter_block(message: &Message<'_, GcmKey>) -> u128 {
    message.key.nonce(message.nonce.to_be_bytes()) | 1 << 120
}

/// Makes of `sum`, the bytes of a little-endian number, the GHASH of `blocks` after it.
fn absorb(tier: Tier, schedule: &[Block], sum: &mut Block, blocks: &[Block]) {
    if !simd::absorb(tier, schedule, sum, blocks) {
        let h = u128::from_le_bytes(schedule[POWERS - 1]);
        let hash = blocks.iter().fold(u128::from_le_bytes(*sum), |sum, block| {
            field::product(sum ^ u128::from_be_bytes(*block), h)
        });
        *sum = hash.to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::AesKeySize;
    use aes_gcm::aead::{AeadInOut, KeyInit};
    use weir_simd::for_each_tier;

    fn oracle(key: &[u8], nonce: &[u8], message: &[u8]) -> Block {
        fn tag<A: AeadInOut + KeyInit>(key: &[u8], nonce: &[u8], message: &[u8]) -> Block {
            let nonce = nonce.try_into().expect("12 bytes");
            let tag = A::new_from_slice(key)
                .expect("a key")
                .encrypt_inout_detached(nonce, message, (&mut [][..]).into())
                .expect("a short message");
            tag.as_slice().try_into().expect("16 bytes")
        }
        match key.len() {
            16 => tag::<aes_gcm::Aes128Gcm>(key, nonce, message),
            24 => {
                tag::<aes_gcm::AesGcm<aes::Aes192, aes_gcm::aead::consts::U12>>(key, nonce, message)
            }
            _ => tag::<aes_gcm::Aes256Gcm>(key, nonce, message),
        }
    }

    /// Messages of any length, each under a key of its own, wherever their parts end
    /// and however many share a batch.
    #[test]
    fn batches_of_messages_have_the_tags_of_the_oracle() {
        let bytes: Vec<u8> = (0..9600usize).map(|i| (i * i / 7 + i) as u8).collect();
        let salt = [1, 2, 3, 4];
        let lengths: Vec<usize> = (0..150)
            .chain((150..1700).step_by(13))
            .chain([
                496, 511, 512, 513, 528, 1024, 1040, 1536, 9000, 0, 8192, 64, 64,
            ])
            .collect();
        for size in AesKeySize::ALL {
            let raw = |place: usize| &bytes[place..place + size.key_bytes()];
            let mut begin = 0;
            for count in (1..=LANES).cycle() {
                let Some(lengths) = lengths.get(begin..begin + count) else {
                    break;
                };
                begin += count;
                let whole = |place: usize| &bytes[5 * place..][..lengths[place]];
                // ESP's, one part, and parts of any length.
                let parts: Vec<[&[u8]; 2]> = (0..count)
                    .map(|place| {
                        let whole = whole(place);
                        let cut = match begin % 3 {
                            0 => 8,
                            1 => 0,
                            _ => begin % 11 + 7 * place,
                        };
                        let (head, body) = whole.split_at(cut.min(whole.len()));
                        [head, body]
                    })
                    .collect();
                let nonce = |place: usize| (begin + 1000 * place) as u64;
                let expected: Vec<Block> = (0..count)
                    .map(|place| {
                        let nonce = [&salt[..], &nonce(place).to_be_bytes()].concat();
                        oracle(raw(place), &nonce, whole(place))
                    })
                    .collect();
                for_each_tier(|tier| {
                    let key = |place| GcmKey::new(tier, size, raw(place), salt).expect("a key");
                    let keys: Vec<GcmKey> = (0..count).map(key).collect();
                    let mut messages: Vec<Message<'_, GcmKey>> = (0..count)
                        .map(|place| Message::new(&keys[place], nonce(place), parts[place]))
                        .collect();
                    let mut tags = Tags::new();
                    tag(tier, &mut messages, &mut tags);
                    let tags: Vec<Block> =
                        (0..count).filter_map(|at| tags.get(at).copied()).collect();
                    assert_eq!(tags, expected, "{tier}: {lengths:?}");
                });
            }
        }
    }
}
