//! GMAC as ESP uses it (RFC 4543): GCM without a text, where associated data,
//! IV and what would be the text are authenticated in one piece.
//!
//! ```text
//! hashed   associated ‖ IV ‖ text ‖ zeros to a block     lengths
//! in turn  whole blocks   joint    whole blocks   end, lengths
//! ```
//!
//! The joint is what has to be put together: the end of the associated data, the
//! IV and as much of the text as makes whole blocks of them.

use weir_simd::Tier;

use super::key::{GcmKey, POWERS};
use super::{field, simd};
use crate::aead::{AeadJob, AeadKey, Parts};
use crate::cipher::{Block, rounds};
use crate::mode::ecb;

/// Tags or verifies the GMAC packets among `jobs` with the kernels of `tier`.
pub(crate) fn process<J: AeadJob>(tier: Tier, jobs: &mut [J]) {
    for job in jobs {
        if let Some(parts) = job.packet()
            && let AeadKey::Gmac(key) = parts.key
        {
            let tag = tag(tier, key, &parts);
            job.finish(&tag);
        }
    }
}

fn tag(tier: Tier, key: &GcmKey, parts: &Parts<'_>) -> Block {
    let mut hash = Gmac::new(tier, key);
    let (whole, rest) = parts.associated.as_chunks();
    hash.absorb(whole);

    let mut joint = [0; 32];
    let (end, behind) = joint.split_at_mut(rest.len());
    end.copy_from_slice(rest);
    behind[..8].copy_from_slice(&parts.iv);
    let used = rest.len() + 8;
    let joint_bytes = used.next_multiple_of(16);
    let (head, text) = parts
        .text
        .split_at(parts.text.len().min(joint_bytes - used));
    joint[used..used + head.len()].copy_from_slice(head);
    hash.absorb(joint[..joint_bytes].as_chunks().0);

    let (whole, rest) = text.as_chunks();
    hash.absorb(whole);
    let mut end = [[0; 16]; 2];
    end[0][..rest.len()].copy_from_slice(rest);
    let bits = 8 * (parts.associated.len() + 8 + parts.text.len()) as u128;
    end[1] = (bits << 64).to_be_bytes();
    hash.absorb(&end[usize::from(rest.is_empty())..]);

    hash.tag(parts.iv)
}

/// GHASH of blocks that come piece by piece.
pub(crate) struct Gmac<'k> {
    tier: Tier,
    key: &'k GcmKey,
    /// Its full schedule.
    schedule: &'k [Block],
    sum: u128,
}

impl<'k> Gmac<'k> {
    pub(crate) fn new(tier: Tier, key: &'k GcmKey) -> Gmac<'k> {
        let (schedule, _) = key.view().bytes.as_chunks();
        Gmac {
            tier,
            key,
            schedule,
            sum: 0,
        }
    }

    pub(crate) fn absorb(&mut self, blocks: &[Block]) {
        self.sum = simd::absorb(self.tier, self.schedule, self.sum, blocks)
            .unwrap_or_else(|| absorb(self.schedule, self.sum, blocks));
    }

    /// The tag, once all blocks are absorbed: with J0 of SP 800-38D section 7.1.
    pub(crate) fn tag(self, iv: [u8; 8]) -> Block {
        let nonce = self.key.nonce(iv) | 1 << 120;
        let mut pad = [nonce.to_le_bytes()];
        let round_keys = &self.schedule[POWERS..=POWERS + rounds(self.key.size())];
        ecb::encrypt(self.tier, round_keys, &mut pad);
        (self.sum ^ u128::from_be_bytes(pad[0])).to_be_bytes()
    }
}

/// The twin.
fn absorb(key: &[Block], sum: u128, blocks: &[Block]) -> u128 {
    let h = u128::from_le_bytes(key[POWERS - 1]);
    blocks.iter().fold(sum, |sum, block| {
        field::product(sum ^ u128::from_be_bytes(*block), h)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KeyPolicy;
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

    /// Wherever the parts end, they are one message.
    #[test]
    fn every_division_of_a_message_gives_the_tag_of_the_oracle() {
        let bytes: Vec<u8> = (0..9000usize).map(|i| (i * i / 7 + i) as u8).collect();
        let (salt, iv) = ([1, 2, 3, 4], [5, 6, 7, 8, 9, 10, 11, 12]);
        let nonce = [&salt[..], &iv].concat();
        let lengths = (0..70)
            .map(|text| (text % 41, text))
            .chain((0..700).step_by(13).map(|text| (8 + text % 5, text)))
            .chain([(0, 0), (8, 1420), (12, 1420), (300, 9000), (8, 8192)]);
        for (associated_bytes, text_bytes) in lengths {
            for size in [AesKeySize::Aes128, AesKeySize::Aes192, AesKeySize::Aes256] {
                let key = &bytes[3..3 + size.key_bytes()];
                let associated = &bytes[7..7 + associated_bytes];
                let mut text = bytes[..text_bytes].to_vec();
                let expected = oracle(key, &nonce, &[associated, &iv, &text].concat());
                for_each_tier(|tier| {
                    let key =
                        GcmKey::new(tier, size, key, salt, KeyPolicy::Precomputed).expect("a key");
                    let parts = Parts {
                        key: AeadKey::Gmac(&key),
                        iv,
                        associated,
                        text: &mut text,
                    };
                    let found = tag(tier, &key, &parts);
                    assert_eq!(found, expected, "{tier}: {associated_bytes} + {text_bytes}");
                });
            }
        }
    }
}
