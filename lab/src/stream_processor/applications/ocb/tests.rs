//! The thesis's mode against its definition, and RFC 7253 with its examples.

use ::aes::Aes128;
use ::aes::cipher::{BlockCipherEncrypt, KeyInit};

use super::programs::{Known, Offsets, Sealed, Start, seal};
use crate::stream_processor::applications::aes::words_of;
use crate::stream_processor::applications::example_words;

const CLUSTERS: [usize; 6] = [1, 2, 4, 8, 16, 32];
const BOTH: [Offsets; 2] = [Offsets::Before, Offsets::Flying];

/// A block as a number whose first byte is the highest.
fn encrypt(key: u128, block: u128) -> u128 {
    let mut block = block.to_be_bytes().into();
    Aes128::new(&key.to_be_bytes().into()).encrypt_block(&mut block);
    u128::from_be_bytes(block.into())
}

fn double(number: u128) -> u128 {
    number << 1 ^ if number >> 127 == 1 { 0x87 } else { 0 }
}

fn half(number: u128) -> u128 {
    let odd = number & 1 == 1;
    number >> 1 ^ if odd { 0x80 << 120 | 0x43 } else { 0 }
}

fn words(block: u128) -> [u32; 4] {
    words_of(&block.to_be_bytes())
}

fn stream(blocks: &[u128]) -> Vec<u32> {
    blocks.iter().flat_map(|&block| words(block)).collect()
}

fn blocks_of(words: &[u32]) -> Vec<u128> {
    let (blocks, _) = words.as_chunks::<4>();
    let number = |block: &[u32; 4]| {
        let bytes = block.iter().flat_map(|word| word.to_le_bytes());
        bytes.fold(0, |number, byte| number << 8 | u128::from(byte))
    };
    blocks.iter().map(number).collect()
}

/// Offsets Z\[1\] to Z\[m\] (Rogaway et al. 2003, section 4).
fn offsets(l: u128, first: u128, m: usize) -> Vec<u128> {
    (1..=m)
        .scan(first, |offset, x| {
            *offset ^= (0..x.trailing_zeros()).fold(l, |l, _| double(l));
            Some(*offset)
        })
        .collect()
}

#[test]
fn the_mode_of_2003_for_whole_blocks() {
    let (key, nonce) = (0x0f0e_0d0c_0b0a_0908 << 64 | 7, 0x99 << 120 | 0xabcd);
    for m in [1, 2, 7, 8, 9, 31, 96] {
        let text = blocks_of(&example_words(4 * m));
        let l = encrypt(key, 0);
        let z = offsets(l, encrypt(key, nonce ^ l), m);
        let mut cipher: Vec<u128> = (0..m)
            .map(|x| encrypt(key, text[x] ^ z[x]) ^ z[x])
            .collect();
        let y = encrypt(key, 128 ^ half(l) ^ z[m - 1]);
        cipher[m - 1] = y ^ text[m - 1];
        let sum = text[..m - 1]
            .iter()
            .fold(cipher[m - 1] ^ y, |sum, text| sum ^ text);
        let tag = encrypt(key, sum ^ z[m - 1]);

        let (start, text) = (Start::Nonce(words(nonce)), stream(&text));
        let other = Start::Nonce(words(!nonce));
        for clusters in CLUSTERS {
            for when in BOTH {
                // Another packet before it changes nothing.
                let packets = [(other.clone(), &text[..4]), (start.clone(), &text)];
                let made = seal(clusters, when, words(key), &packets).expect("a program");
                let case = format!("{m} blocks on {clusters} clusters, {when:?}");
                assert_eq!(made.cipher_text(1), stream(&cipher), "{case}");
                assert_eq!(made.tag(1), words(tag), "{case}");
                assert_ne!(made.tag(0), made.tag(1), "{case}");
            }
        }
    }
}

/// RFC 7253, section 4.2, with tags of 128 bits and no associated data.
fn seal_rfc7253(clusters: usize, when: Offsets, key: u128, nonce: u128, text: &[u8]) -> Sealed {
    let l_star = encrypt(key, 0);
    let l_dollar = double(l_star);
    let l = double(l_dollar);
    let nonce = nonce | 1 << 96;
    let bottom = (nonce & 63) as u32;
    let top = encrypt(key, nonce & !63);
    let stretch = (top >> 64) as u64 ^ (top >> 56) as u64;
    let first = match bottom {
        0 => top,
        bottom => top << bottom | u128::from(stretch >> (64 - bottom)),
    };
    let whole = text.len() / 16;
    let mut padded = text.to_vec();
    let mut known = Known {
        l: words(l),
        first: words(first),
        special: 0,
        special_tweak: [0; 4],
        closing: whole as u32,
        closing_tweak: words(l_dollar),
    };
    if !text.len().is_multiple_of(16) {
        padded.push(0x80);
        padded.resize(16 * (whole + 1), 0);
        let number = whole as u32 + 1;
        let tweak = l_star ^ (0..number.trailing_zeros()).fold(l, |l, _| double(l));
        known.special = number;
        known.special_tweak = words(tweak);
        known.closing = number;
        known.closing_tweak = words(tweak ^ l_dollar);
    }
    let (blocks, _) = padded.as_chunks::<16>();
    let text: Vec<u32> = blocks.iter().flat_map(words_of).collect();
    seal(clusters, when, words(key), &[(Start::Known(known), &text)]).expect("a program")
}

#[test]
fn examples_of_rfc_7253_without_associated_data() {
    const KEY: u128 = 0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f;
    const NONCE: u128 = 0xbbaa_9988_7766_5544_3322_1100;
    // Appendix A: the last byte of the nonce, bytes of text, cipher text and
    // tag.
    let examples = [
        (0x03, 8, "45dd69f8f5aae72414054cd1f35d82760b2cd00d2f99bfa9"),
        (
            0x06,
            16,
            "5ce88ec2e0692706a915c00aeb8b2396f40e1c743f52436bdf06d8fa1eca343d",
        ),
        (
            0x09,
            24,
            "221bd0de7fa6fe993eccd769460a0af2d6cded0c395b1c3ce725f32494b9f914d85c0b1eb38357ff",
        ),
        (
            0x0c,
            32,
            "2942bfc773bda23cabc6acfd9bfd5835bd300f0973792ef46040c53f1432bcdfb5e1dde3bc18a5f840b52e653444d5df",
        ),
        (
            0x0f,
            40,
            "4412923493c57d5de0d700f753cce0d1d2d95060122e9f15a5ddbfc5787e50b5cc55ee507bcb084e479ad363ac366b95a98ca5f3000b1479",
        ),
    ];
    for (last, bytes, expected) in examples {
        let text: Vec<u8> = (0..bytes).collect();
        for clusters in CLUSTERS {
            for when in BOTH {
                let made = seal_rfc7253(clusters, when, KEY, NONCE | last, &text);
                let bytes_of = |words: &[u32]| -> Vec<u8> {
                    words.iter().flat_map(|word| word.to_le_bytes()).collect()
                };
                let mut sealed = bytes_of(made.cipher_text(0));
                sealed.truncate(text.len());
                sealed.extend(bytes_of(made.tag(0)));
                let hex: String = sealed.iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(hex, expected, "{clusters} clusters, {when:?}");
            }
        }
    }
}

#[test]
fn parts_of_blocks_and_long_packets_are_refused() {
    let start = Start::Nonce([0; 4]);
    for words in [0, 3, 4 * 97] {
        let text = example_words(words);
        let packets = [(start.clone(), text.as_slice())];
        assert!(seal(8, Offsets::Before, [0; 4], &packets).is_err());
    }
    assert!(seal(8, Offsets::Before, [0; 4], &[]).is_err());
    let block = example_words(4);
    let packets = vec![(start, block.as_slice()); 100_000];
    assert!(seal(8, Offsets::Before, [0; 4], &packets).is_err());
}

/// The suite `aes-128-ocb3` of `weir-crypto`, whose nonce is the salt and the packet's IV.
#[test]
fn modelled_ocb_is_that_of_the_product() {
    use weir_crypto::{Descriptor, KeyMaterial, Layout, Sealer, SealingKey, Suite};

    const KEY: u128 = 0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f;
    let suite = Suite::parse("aes-128-ocb3").expect("a suite");
    let mut key = KEY.to_be_bytes().to_vec();
    let salt = [0xa1, 0xb2, 0xc3, 0xd4];
    key.extend(&salt[..suite.salt_bytes()]);
    let material = KeyMaterial::new(suite, &key, &[]).expect("a key");
    let mut sealer = Sealer::new();
    let sealing = SealingKey::new(material, 77..).expect("a key");
    let iv_bytes = sealing.iv_bytes();
    assert_eq!((suite.salt_bytes(), iv_bytes), (4, 8));
    let key = sealer.add(sealing);
    for bytes in [1usize, 15, 16, 17, 64, 100, 1536] {
        let text: Vec<u8> = (0..bytes).map(|n| (n * n + 3) as u8).collect();
        let mut buffer = vec![0; iv_bytes];
        buffer.extend(&text);
        buffer.resize(buffer.len() + suite.tag_bytes(), 0);
        let mut batch = sealer.batch(&mut buffer);
        let layout = Layout {
            payload_bytes: bytes as u32,
            ..Layout::default()
        };
        let descriptor = Descriptor {
            key,
            offset: 0,
            layout,
            context: 0,
        };
        batch.push(descriptor).expect("a packet");
        assert!(batch.run().all_good());

        let (iv, sealed) = buffer.split_at(iv_bytes);
        let nonce = salt.iter().chain(iv);
        let nonce = nonce.fold(0, |nonce, &byte| nonce << 8 | u128::from(byte));
        let made = seal_rfc7253(8, Offsets::Before, KEY, nonce, &text);
        let bytes_of = |words: &[u32]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_le_bytes()).collect()
        };
        let mut modelled = bytes_of(made.cipher_text(0));
        modelled.truncate(bytes);
        modelled.extend(bytes_of(made.tag(0)));
        assert_eq!(modelled, sealed, "{bytes} bytes");
    }
}
