//! Published masks, by which a tier's kernels are trusted.

use weir_simd::Tier;

use super::{HeaderKey, HeaderProtector, Mask};
use crate::suite::{Aead, AesKeySize, Suite};

/// A sample and its mask.
pub(super) struct Answer {
    pub(super) suite: Suite,
    pub(super) key: &'static [u128],
    pub(super) sample: u128,
    pub(super) mask: Mask,
}

const AES_128: Suite = Suite::Aead(Aead::AesGcm16(AesKeySize::Aes128));
const AES_256: Suite = Suite::Aead(Aead::AesGcm16(AesKeySize::Aes256));

pub(super) const ANSWERS: [Answer; 4] = [
    // RFC 9001, appendix A.2: the client's first packet.
    Answer {
        suite: AES_128,
        key: &[0x9f50449e04a0e810283a1e9933adedd2],
        sample: 0xd1b1c98dd7689fb8ec11d242b123dc9b,
        mask: [0x43, 0x7b, 0x9a, 0xec, 0x36],
    },
    // RFC 9001, appendix A.3: the server's first packet.
    Answer {
        suite: AES_128,
        key: &[0xc206b8d9b9f0f37644430b490eeaa314],
        sample: 0x2cd0991cd25b0aac406a5816b6394100,
        mask: [0x2e, 0xc0, 0xd8, 0x35, 0x6a],
    },
    // FIPS 197, appendix C.3: RFC 9001 has no sample under AES-256.
    Answer {
        suite: AES_256,
        key: &[
            0x000102030405060708090a0b0c0d0e0f,
            0x101112131415161718191a1b1c1d1e1f,
        ],
        sample: 0x00112233445566778899aabbccddeeff,
        mask: [0x8e, 0xa2, 0xb7, 0xca, 0x51],
    },
    // RFC 9001, appendix A.5: a short header under ChaCha20-Poly1305.
    Answer {
        suite: Suite::Aead(Aead::ChaCha20Poly1305),
        key: &[
            0x25a282b9e82f06f21f488917a4fc8f1b,
            0x73573685608597d0efcb076b0ab7a7a4,
        ],
        sample: 0x5e5cd55c41f69080575d7999c25a5bfb,
        mask: [0xae, 0xfe, 0xfe, 0x7d, 0x03],
    },
];

/// The kernels take eight packets together: more than once, and with some left over.
const COPIES: usize = 17;

/// Whether the kernels of `tier` make the published masks, many at once.
pub(crate) fn passes(tier: Tier) -> bool {
    let mut protector = HeaderProtector::at_tier(Some(tier));
    let mut keys = Vec::new();
    let mut samples = Vec::new();
    for answer in &ANSWERS {
        let key: Vec<u8> = answer
            .key
            .iter()
            .flat_map(|half| half.to_be_bytes())
            .collect();
        let Ok(key) = HeaderKey::at_tier(answer.suite, &key, tier) else {
            return false;
        };
        keys.push(protector.add(key));
        samples.extend(answer.sample.to_be_bytes());
    }
    let mut batch = protector.batch(&samples);
    for _ in 0..COPIES {
        for (key, offset) in keys.iter().zip((0..).step_by(16)) {
            if batch.push(*key, offset).is_err() {
                return false;
            }
        }
    }
    let expected = ANSWERS.iter().cycle().take(COPIES * ANSWERS.len());
    let masks = batch.run().iter();
    masks.eq(expected.map(|answer| &answer.mask))
}
