//! UMAC against the published tags, and against RFC 4418 written out.

mod rfc4418;

use proptest::prelude::*;
use weir_simd::for_each_tier;

use super::key::UmacKey;
use super::scalar::{self, ESCAPED};
use crate::engine::{unhex, universal};
use crate::mac::batch::tags_of;
use crate::mac::{Algorithm, MacKey, TagWords};

/// The definition gives every published tag, those of the message of 32 MiB too,
/// which the interface refuses (corrected by errata 1507 of the RFC).
#[test]
fn the_definition_gives_the_published_tags() {
    let long = universal::TagsAnswer {
        unit: "61",
        count: 1 << 25,
        tags: [
            "85ee5cae",
            "faca46f856e9b45f",
            "a621c2457c0012e64f3fdae9",
            "a621c2457c0012e64f3fdae9e7e1870c",
        ],
    };
    for answer in universal::UMAC.iter().chain([&long]) {
        let unit = unhex(answer.unit).expect("hexadecimal");
        let message = unit.repeat(answer.count);
        for (words, expected) in TagWords::ALL.into_iter().zip(answer.tags) {
            // The longest is hashed once for all lengths of tag but the last.
            if message.len() > 1 << 24 && words == TagWords::Three {
                continue;
            }
            let nonce = universal::NONCE.to_be_bytes();
            let found = rfc4418::umac(universal::KEY, &message, &nonce, 4 * words.count());
            assert_eq!(found, unhex(expected).expect("hexadecimal"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Batches of messages of mixed keys and lengths, on every tier.
    #[test]
    fn every_tier_tags_as_the_definition(
        seed: [u8; 16],
        nonce: u64,
        lengths in prop::collection::vec(
            prop_oneof![0..=64usize, 0..=130usize, 0..=1100usize, 1000..=2100usize, 0..=9100usize],
            1..20,
        ),
        cut in 0..200usize,
        words in prop::sample::select(&TagWords::ALL[..]),
    ) {
        let bytes: Vec<u8> = (0..9200u32 + 50)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8 ^ seed[i as usize % 16])
            .collect();
        let raw = |index: usize| {
            let mut raw = seed;
            raw[0] ^= index as u8 % 5;
            raw
        };
        for_each_tier(|tier| {
            // Keys that were expanded one by one, and in lanes.
            let raws: Vec<[u8; 16]> = (0..5).map(raw).collect();
            let raw_keys: Vec<&[u8]> = raws.iter().map(|raw| &raw[..]).collect();
            let keys: Vec<MacKey> = match seed[1] % 2 {
                0 => MacKey::new_umac_batch(tier, words, &raw_keys).expect("16 bytes each"),
                _ => raw_keys
                    .iter()
                    .map(|raw| {
                        MacKey::new(tier, Algorithm::Umac(words), raw, [0; 4]).expect("16 bytes")
                    })
                    .collect(),
            };
            let messages: Vec<(&MacKey, u64, [&[u8]; 2])> = lengths
                .iter()
                .enumerate()
                .map(|(index, &length)| {
                    let message = &bytes[index..index + length];
                    let (head, rest) = message.split_at(cut.min(length) * (index % 2));
                    let nonce = nonce.wrapping_add(index as u64);
                    (&keys[index % 5], nonce, [head, rest])
                })
                .collect();
            let tags = tags_of(tier, &messages);
            for (index, (&length, tag)) in lengths.iter().zip(&tags).enumerate() {
                let nonce = nonce.wrapping_add(index as u64).to_be_bytes();
                let message = &bytes[index..index + length];
                assert_eq!(tag.len(), 4 * words.count());
                let expected = rfc4418::umac(&raw(index % 5), message, &nonce, tag.len());
                assert_eq!(*tag, expected, "{tier}: {length} bytes, message {index}");
            }
        });
    }

    /// The polynomial's step where numbers escape, which they do once in 2³²
    /// blocks.
    #[test]
    fn escaping_numbers_are_hashed_as_the_definition_says(
        point: u64,
        value in prop_oneof![any::<u64>(), (u64::MAX - 200)..=u64::MAX],
        number in prop_oneof![any::<u64>(), (ESCAPED - 50)..=(ESCAPED + 50), ESCAPED..=u64::MAX],
    ) {
        let value = value % weir_hash::prime::P64;
        let point = point & super::key::POINT_MASK;
        let expected = rfc4418::poly_step(point.into(), value.into(), number.into());
        prop_assert_eq!(u128::from(scalar::poly(point, value, number)), expected);
    }
}

/// What a key takes in memory, which 64 packets of 64 keys must share a cache
/// with.
#[test]
fn a_key_takes_1536_bytes() {
    assert_eq!(size_of::<UmacKey>(), 1536);
}
