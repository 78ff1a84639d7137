//! Every tier against an independent library, over batches.

use std::cell::Cell;

use weir_simd::{Tier, for_each_tier};

use super::{compute_tags, scalar, simd};
use crate::aead::agreement::{self, Mode, Random, TestKey, TestPacket};
use crate::aead::plan::{MOST_PACKETS, Packet, Plan};
use crate::cipher::Block;
use crate::engine::unhex;
use crate::suite::{Aead, AesKeySize, Suite};
use crate::tags::Tags;

/// Text and tag by the oracle, which shares no code with the scalar reference
/// implementation.
#[cfg(not(target_arch = "aarch64"))]
fn sealed(key: &[u8], nonce: [u8; 12], associated: &[u8], text: &[u8]) -> (Vec<u8>, Block) {
    use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
    let key = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).expect("a key"));
    let nonce = Nonce::assume_unique_for_key(nonce);
    let mut text = text.to_vec();
    let tag = key
        .seal_in_place_separate_tag(nonce, Aad::from(associated), &mut text)
        .expect("a short packet");
    (text, tag.as_ref().try_into().expect("16 bytes"))
}

/// The same where that library is not built.
#[cfg(target_arch = "aarch64")]
fn sealed(key: &[u8], nonce: [u8; 12], associated: &[u8], text: &[u8]) -> (Vec<u8>, Block) {
    use chacha20poly1305::aead::{AeadInOut, KeyInit};
    let mut text = text.to_vec();
    let tag = chacha20poly1305::ChaCha20Poly1305::new_from_slice(key)
        .expect("a key")
        .encrypt_inout_detached(&nonce.into(), associated, text.as_mut_slice().into())
        .expect("a short packet");
    (text, tag.as_slice().try_into().expect("16 bytes"))
}

/// With the nonces of ESP.
struct Explicit;

impl Mode for Explicit {
    fn suite(_: AesKeySize) -> Suite {
        Suite::Aead(Aead::ChaCha20Poly1305)
    }

    fn expected(key: &TestKey, packet: &TestPacket) -> (Vec<u8>, Vec<u8>) {
        let nonce = [&key.salt[..], &packet.iv].concat();
        let nonce = nonce.try_into().expect("12 bytes");
        let (text, tag) = sealed(&key.of_bytes(32), nonce, &packet.aad, &packet.payload);
        (text, tag.to_vec())
    }
}

#[test]
fn every_length_up_to_forty_blocks_agrees() {
    agreement::every_length_up_to_forty_blocks_agrees::<Explicit>();
}

#[test]
fn batches_of_any_size_length_and_number_of_keys_agree() {
    agreement::batches_of_any_size_length_and_number_of_keys_agree::<Explicit>();
}

#[test]
fn the_longest_packets_agree() {
    agreement::the_longest_packets_agree::<Explicit>();
}

#[test]
fn packets_that_are_all_alike_agree() {
    agreement::packets_that_are_all_alike_agree::<Explicit>();
}

/// A packet with a key and a nonce of its own.
struct Owned {
    key: [u8; 32],
    nonce: [u8; 12],
    associated: Vec<u8>,
    text: Vec<u8>,
}

impl Owned {
    fn new(random: &mut Random, associated_bytes: usize, text_bytes: usize) -> Owned {
        Owned {
            key: random.bytes(32).try_into().expect("32 bytes"),
            nonce: random.bytes(12).try_into().expect("12 bytes"),
            associated: random.bytes(associated_bytes),
            text: random.bytes(text_bytes),
        }
    }

    fn sealed(&self) -> (Vec<u8>, Block) {
        sealed(&self.key, self.nonce, &self.associated, &self.text)
    }
}

/// The tags of packets, whose texts are sealed or opened.
fn run(tier: Tier, open: bool, packets: &[Owned], texts: &mut [Vec<u8>]) -> Vec<Option<Block>> {
    let nonces: Vec<Block> = packets
        .iter()
        .map(|packet| std::array::from_fn(|at| packet.nonce.get(at).copied().unwrap_or(0)))
        .collect();
    let mut associated: Vec<Vec<u8>> = packets.iter().map(|p| p.associated.clone()).collect();
    let mut plan = Plan::<_, 1>::new();
    let parts = associated.iter_mut().zip(texts);
    for ((index, packet), (associated, text)) in packets.iter().enumerate().zip(parts) {
        plan.add(Packet {
            key: &packet.key,
            nonce: &nonces[index],
            index: index as u8,
            associated: Cell::from_mut(&mut associated[..]).as_slice_of_cells(),
            text: Cell::from_mut(&mut text[..]).as_slice_of_cells(),
        });
    }
    let mut tags = Tags::<MOST_PACKETS>::new();
    compute_tags(tier, open, &plan, &mut tags);
    (0..packets.len())
        .map(|place| tags.get(place).copied())
        .collect()
}

fn check(packets: &[Owned]) {
    let expected: Vec<(Vec<u8>, Block)> = packets.iter().map(Owned::sealed).collect();
    for_each_tier(|tier| {
        let mut texts: Vec<Vec<u8>> = packets.iter().map(|packet| packet.text.clone()).collect();
        let tags = run(tier, false, packets, &mut texts);
        for ((text, tag), (expected, expected_tag)) in texts.iter().zip(&tags).zip(&expected) {
            assert!(text == expected, "{tier}, {} bytes", text.len());
            assert_eq!(*tag, Some(*expected_tag), "{tier}, {} bytes", text.len());
        }
        let opened = run(tier, true, packets, &mut texts);
        assert_eq!(opened, tags, "{tier}");
        for (text, packet) in texts.iter().zip(packets) {
            assert!(*text == packet.text, "{tier}, {} bytes", text.len());
        }
    });
}

#[test]
fn every_length_of_associated_data_agrees_with_the_oracle() {
    let mut random = Random(11);
    for text_bytes in [0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 700] {
        let packets: Vec<Owned> = (0..=150)
            .map(|associated_bytes| Owned::new(&mut random, associated_bytes, text_bytes))
            .collect();
        check(&packets);
    }
}

#[test]
fn every_length_of_text_agrees_with_the_oracle() {
    let mut random = Random(12);
    for first in (0..=700).step_by(MOST_PACKETS) {
        let packets: Vec<Owned> = (first..first + MOST_PACKETS)
            .map(|text_bytes| Owned::new(&mut random, text_bytes % 41, text_bytes))
            .collect();
        check(&packets);
    }
}

/// Groups of packets whose lengths have nothing to do with each other, and batches that
/// fill their lanes partly.
#[test]
fn every_filling_of_a_batch_agrees_with_the_oracle() {
    let mut random = Random(13);
    for count in 1..=MOST_PACKETS {
        let packets: Vec<Owned> = (0..count)
            .map(|_| {
                let most = [1, 64, 200, 1600][random.below(4)];
                let (associated, text) = (random.below(41), random.below(most + 1));
                Owned::new(&mut random, associated, text)
            })
            .collect();
        check(&packets);
    }
}

#[test]
fn long_and_short_packets_agree_side_by_side() {
    let mut random = Random(14);
    let packets: Vec<Owned> = [0, 9000, 1, 70_001, 64, 3000, 1536, 1537, 3072, 0, 1535, 65]
        .into_iter()
        .map(|text_bytes| Owned::new(&mut random, 12, text_bytes))
        .collect();
    check(&packets);
    for packet in packets {
        check(&[packet]);
    }
}

#[test]
fn a_batch_that_is_too_long_leaves_packets_without_a_tag() {
    let mut random = Random(15);
    let packets: Vec<Owned> = (0..MOST_PACKETS + 3)
        .map(|_| Owned::new(&mut random, 8, 40))
        .collect();
    for_each_tier(|tier| {
        let mut texts: Vec<Vec<u8>> = packets.iter().map(|packet| packet.text.clone()).collect();
        let tags = run(tier, false, &packets, &mut texts);
        let written = tags.iter().filter(|tag| tag.is_some()).count();
        assert_eq!(written, MOST_PACKETS, "{tier}");
        assert!(tags[MOST_PACKETS..].iter().all(Option::is_none), "{tier}");
    });
}

#[test]
fn every_bit_of_text_nonce_and_associated_data_changes_the_tag() {
    let mut random = Random(16);
    for_each_tier(|tier| {
        let tag_of = |packet: &Owned| {
            let mut text = [packet.text.clone()];
            run(tier, true, std::slice::from_ref(packet), &mut text)[0]
        };
        let mut packet = Owned::new(&mut random, 13, 37);
        let tag = tag_of(&packet);
        for bit in 0..8 * (13 + 37 + 12) {
            let flip = |packet: &mut Owned| {
                let bytes = packet.associated.iter_mut().chain(&mut packet.text);
                let byte = bytes.chain(&mut packet.nonce).nth(bit / 8);
                *byte.expect("a byte") ^= 1 << (bit % 8);
            };
            flip(&mut packet);
            assert_ne!(tag_of(&packet), tag, "{tier}, bit {bit}");
            flip(&mut packet);
        }
        assert_eq!(tag_of(&packet), tag, "{tier}");
    });
}

/// Poly1305 of messages of whole blocks by the kernels of each tier that has one.
fn check_poly1305(keys: &[[u8; 32]; 8], messages: &[Vec<u8>; 8], expected: &[Block; 8]) {
    for_each_tier(|tier| {
        if let Some(tags) = simd::poly1305(tier, keys, messages) {
            assert_eq!(tags, *expected, "{tier}, {keys:x?}, {messages:x?}");
        }
    });
}

/// RFC 8439 appendix A.3, test vectors 7 to 11: sums beside 2¹²⁸ and 2¹³⁰ - 5.
#[test]
fn published_carries_agree() {
    let answers = [
        ("02", "", "ffffffffffffffffffffffffffffffff", "03"),
        (
            "02",
            "ffffffffffffffffffffffffffffffff",
            "02000000000000000000000000000000",
            "03",
        ),
        (
            "01",
            "",
            "fffffffffffffffffffffffffffffffff0ffffffffffffffffffffffffffffff\
             11000000000000000000000000000000",
            "05",
        ),
        (
            "01",
            "",
            "fffffffffffffffffffffffffffffffffbfefefefefefefefefefefefefefefe\
             01010101010101010101010101010101",
            "",
        ),
        (
            "02",
            "",
            "fdffffffffffffffffffffffffffffff",
            "faffffffffffffffffffffffffffffff",
        ),
        (
            "0100000000000000 04",
            "",
            "e33594d7505e43b900000000000000003394d7505e4379cd0100000000000000\
             0000000000000000000000000000000001000000000000000000000000000000",
            "1400000000000000 55",
        ),
        (
            "0100000000000000 04",
            "",
            "e33594d7505e43b900000000000000003394d7505e4379cd0100000000000000\
             00000000000000000000000000000000",
            "13",
        ),
    ];
    for (r, s, message, tag) in answers {
        let padded = |hex: &str| {
            let mut bytes = unhex(hex).expect("hexadecimal");
            bytes.resize(16, 0);
            bytes
        };
        let key = [padded(r), padded(s)].concat();
        let key: [u8; 32] = key.try_into().expect("32 bytes");
        let message = unhex(message).expect("hexadecimal");
        let tag = padded(tag).try_into().expect("16 bytes");
        check_poly1305(
            &[key; 8],
            &std::array::from_fn(|_| message.clone()),
            &[tag; 8],
        );
    }
}

/// Keys with all bits, or few, and blocks whose sums end beside a limb, 2¹²⁸ or 2¹³⁰ - 5.
#[test]
fn carries_at_every_limb_agree() {
    let mut random = Random(17);
    let near: Vec<u128> = [0, 26, 43, 44, 52, 64, 78, 87, 88, 104, 126, 127]
        .into_iter()
        .flat_map(|bit| (0..12u128).map(move |below| (1u128 << bit).wrapping_sub(below)))
        .chain([u128::MAX; 24])
        .collect();
    for _ in 0..4000 {
        let keys: [[u8; 32]; 8] = std::array::from_fn(|_| {
            let mut pick = || match random.below(4) {
                0 => u128::MAX,
                1 => random.below(6) as u128,
                _ => near[random.below(near.len())],
            };
            let [r, s] = [pick(), pick()].map(u128::to_le_bytes);
            [r, s].concat().try_into().expect("32 bytes")
        });
        let messages: [Vec<u8>; 8] = std::array::from_fn(|_| {
            let blocks = 1 + random.below(12);
            let block = |_| near[random.below(near.len())].to_le_bytes();
            (0..blocks).flat_map(block).collect()
        });
        let expected = std::array::from_fn(|lane| scalar::poly1305(&keys[lane], &messages[lane]));
        check_poly1305(&keys, &messages, &expected);
    }
}
