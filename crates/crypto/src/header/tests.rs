//! Every tier against published masks and against independent implementations.

use ::chacha20::ChaCha20;
use ::chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use proptest::prelude::*;
use weir_simd::for_each_tier;

use super::known_answers::{ANSWERS, passes};
use super::*;
use crate::keys::KeyError;
use crate::suite::Suite;

fn suite(index: usize) -> Suite {
    let names = ["aes-128-gcm-16", "aes-256-gcm-16", "chacha20-poly1305"];
    Suite::parse(names[index % names.len()]).expect("a suite")
}

/// A mask by the crates `aes` and `chacha20`.
fn oracle(suite: Suite, key: &[u8], sample: &[u8]) -> Mask {
    let mut block: Block = sample.try_into().expect("16 bytes");
    match suite.name().as_str() {
        "aes-128-gcm-16" => aes::Aes128::new_from_slice(key)
            .expect("a key")
            .encrypt_block((&mut block).into()),
        "aes-256-gcm-16" => aes::Aes256::new_from_slice(key)
            .expect("a key")
            .encrypt_block((&mut block).into()),
        _ => {
            let (counter, nonce) = block.split_first_chunk::<4>().expect("16 bytes");
            let mut cipher = ChaCha20::new_from_slices(key, nonce).expect("a key");
            cipher.seek(u64::from(u32::from_le_bytes(*counter)) * 64);
            block = [0; 16];
            cipher.apply_keystream(&mut block);
        }
    }
    *block.first_chunk().expect("5 bytes")
}

#[test]
fn every_tier_makes_the_published_masks() {
    for_each_tier(|tier| assert!(passes(tier), "{tier}"));
    assert_eq!(ANSWERS.len(), 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any keys in any order, samples at any offset, from one packet to a full batch.
    #[test]
    fn every_tier_agrees_with_other_implementations(
        packets in prop::collection::vec((0..12usize, 0..1000u32), 1..=BATCH_PACKETS),
        buffer in prop::collection::vec(any::<u8>(), 1016),
        seed in any::<u8>(),
    ) {
        for_each_tier(|tier| {
            let mut protector = HeaderProtector::at_tier(Some(tier));
            let keys: Vec<(Suite, Vec<u8>, KeyId)> = (0..12)
                .map(|index| {
                    let suite = suite(index);
                    let key: Vec<u8> = (0..suite.key_bytes())
                        .map(|byte| (byte * 7 + index * 31) as u8 ^ seed)
                        .collect();
                    let held = HeaderKey::at_tier(suite, &key, tier).expect("a key");
                    let id = protector.add(held);
                    (suite, key, id)
                })
                .collect();
            let mut batch = protector.batch(&buffer);
            for (key, offset) in &packets {
                assert_eq!(batch.push(keys[*key].2, *offset), Ok(()));
            }
            let masks = batch.run();
            assert_eq!(masks.len(), packets.len());
            for (mask, (key, offset)) in masks.iter().zip(&packets) {
                let (suite, key, _) = &keys[*key];
                let sample = &buffer[*offset as usize..][..SAMPLE_BYTES];
                assert_eq!(*mask, oracle(*suite, key, sample), "{tier} {suite}");
            }
        });
    }
}

/// Stream ciphers refuse the last counter of RFC 8439, behind which there is no other; QUIC uses
/// one block of each.
#[test]
fn the_last_counter_of_chacha20_has_a_mask() {
    let mut protector = HeaderProtector::new();
    let key = protector.add(HeaderKey::new(suite(2), &[0; 32]).expect("a key"));
    let mut batch = protector.batch(&[0xff; 16]);
    assert_eq!(batch.push(key, 0), Ok(()));
    assert_eq!(batch.run(), [[0x94, 0x32, 0x20, 0xaf, 0x6f]]);
}

/// A library in C, which makes masks itself.
#[cfg(not(target_arch = "aarch64"))]
#[test]
fn masks_are_those_of_aws_lc() {
    use aws_lc_rs::aead::quic::{AES_128, AES_256, CHACHA20, HeaderProtectionKey};

    for (index, algorithm) in [&AES_128, &AES_256, &CHACHA20].into_iter().enumerate() {
        let bytes = suite(index).key_bytes();
        let key: Vec<u8> = (0..bytes).map(|byte| (byte * 11) as u8).collect();
        let theirs = HeaderProtectionKey::new(algorithm, &key).expect("a key");
        let mut protector = HeaderProtector::new();
        let ours = protector.add(HeaderKey::new(suite(index), &key).expect("a key"));
        let buffer: Vec<u8> = (0..300usize).map(|at| (at * at) as u8).collect();
        let mut batch = protector.batch(&buffer);
        for offset in 0..250 {
            assert_eq!(batch.push(ours, offset), Ok(()));
        }
        for (mask, sample) in batch.run().iter().zip(buffer.windows(SAMPLE_BYTES)) {
            assert_eq!(theirs.new_mask(sample), Ok(*mask));
        }
    }
}

#[test]
fn samples_outside_the_buffer_and_unknown_keys_are_refused_one_by_one() {
    let mut protector = HeaderProtector::new();
    let key = protector.add(HeaderKey::new(suite(0), &[7; 16]).expect("a key"));
    let gone = protector.add(HeaderKey::new(suite(0), &[8; 16]).expect("a key"));
    assert!(protector.remove(gone).is_some());
    let buffer = [9; 40];
    let mut batch = protector.batch(&buffer);
    assert_eq!(batch.push(gone, 0), Err(Refusal::NoKey));
    for offset in [25, 40, 41, u32::MAX] {
        let refusal = Refusal::OutOfBuffer {
            end: u64::from(offset) + 16,
            buffer_bytes: 40,
        };
        assert_eq!(batch.push(key, offset), Err(refusal));
    }
    for _ in 0..BATCH_PACKETS {
        assert_eq!(batch.push(key, 24), Ok(()));
    }
    assert_eq!(batch.push(key, 24), Err(Refusal::BatchFull));
    let masks = batch.run();
    assert_eq!(masks, [oracle(suite(0), &[7; 16], &[9; 16]); BATCH_PACKETS]);
    assert!(protector.batch(&buffer).run().is_empty());
}

#[test]
fn keys_are_those_of_the_suites_of_quic() {
    let wrong = KeyError::CipherKey {
        needed_bytes: 16,
        given_bytes: 32,
    };
    assert_eq!(HeaderKey::new(suite(0), &[0; 32]).err(), Some(wrong));
    for name in ["aes-192-gcm-16", "aes-128-ccm-16"] {
        let suite = Suite::parse(name).expect("a suite");
        let key = vec![0; suite.key_bytes()];
        let refused = KeyError::NoHeaderProtection { suite };
        assert_eq!(HeaderKey::new(suite, &key).err(), Some(refused));
    }
    let key = HeaderKey::new(suite(2), &[0xab; 32]).expect("a key");
    assert!(!format!("{key:?}").contains("171"));
}
