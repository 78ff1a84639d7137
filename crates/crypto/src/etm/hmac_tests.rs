//! HMAC in lanes against the published tags and against the `hmac` crate.

use ::hmac::{Hmac, KeyInit};
use md5::Md5;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use weir_simd::{Tier, for_each_tier};

use super::{EtmKey, EtmLayout, EtmPacket, EtmSecret, open, seal};
use crate::digest::Digest;
use crate::mac::hmac::{HmacKey, tag_one};
use crate::mode::{CbcDecryptKey, CbcEncryptKey, CbcKey};
use crate::suite::Cipher;

type Key = EtmKey<CbcEncryptKey>;

fn key<C: CbcKey>(digest: Digest, integrity_key: &[u8]) -> EtmKey<C> {
    let secret = EtmSecret {
        key: &[],
        salt: [0; 4],
        integrity_key,
    };
    EtmKey::new(Cipher::Null, digest, secret, Tier::Scalar).expect("a key of any length")
}

/// A message in pieces, with a gap between them and a place for the tag behind.
struct Pieces {
    bytes: Vec<u8>,
    layout: EtmLayout,
    trailing: Vec<u8>,
}

impl Pieces {
    fn new(head: &[u8], gap: &[u8], body: &[u8], trailing: &[u8], tag: &[u8]) -> Pieces {
        let iv = head.len() + gap.len();
        Pieces {
            bytes: [head, gap, body, tag].concat(),
            layout: EtmLayout {
                aad_bytes: head.len(),
                iv,
                payload: iv,
                tag: iv + body.len(),
            },
            trailing: trailing.to_vec(),
        }
    }

    fn tag(&self) -> &[u8] {
        &self.bytes[self.layout.tag..]
    }

    fn packet<'a, C>(&'a mut self, key: &'a EtmKey<C>) -> EtmPacket<'a, C> {
        EtmPacket {
            index: 0,
            key,
            bytes: &mut self.bytes,
            layout: self.layout,
            trailing: &self.trailing,
            is_good: false,
        }
    }
}

/// Writes the tags of messages under their keys.
fn write_tags<'a>(tier: Tier, keys: impl Iterator<Item = &'a Key>, messages: &'a mut [Pieces]) {
    let packets = keys.zip(messages);
    let mut packets: Vec<_> = packets.map(|(key, message)| message.packet(key)).collect();
    seal(tier, &mut packets);
    assert!(packets.iter().all(|packet| packet.is_good), "{tier}");
}

fn by_crate(digest: Digest, key: &[u8], message: &[u8]) -> Vec<u8> {
    fn tag<H: ::hmac::Mac + KeyInit>(key: &[u8], message: &[u8]) -> Vec<u8> {
        let mut mac = <H as KeyInit>::new_from_slice(key).expect("a key of any length");
        mac.update(message);
        mac.finalize().into_bytes().to_vec()
    }
    match digest {
        Digest::Md5 => tag::<Hmac<Md5>>(key, message),
        Digest::Sha1 => tag::<Hmac<Sha1>>(key, message),
        Digest::Sha224 => tag::<Hmac<Sha224>>(key, message),
        Digest::Sha256 => tag::<Hmac<Sha256>>(key, message),
        Digest::Sha384 => tag::<Hmac<Sha384>>(key, message),
        Digest::Sha512 => tag::<Hmac<Sha512>>(key, message),
    }
}

struct Answer {
    digest: Digest,
    key: &'static [u8],
    message: &'static [u8],
    tag: &'static str,
}

/// RFC 2202 sections 2 and 3, test cases 2 and 6 (5 cut to 96 bits), and RFC
/// 4231 sections 4.3, 4.6 (cut to 128 bits) and 4.7: keys shorter and longer
/// than a block. Keys of ESP's own lengths are among the known answers of the
/// engines.
const PUBLISHED: &[Answer] = &[
    Answer {
        digest: Digest::Md5,
        key: b"Jefe",
        message: ASKED,
        tag: "750c783e6ab0b503eaa86e310a5db738",
    },
    Answer {
        digest: Digest::Md5,
        key: &[0x0c; 16],
        message: b"Test With Truncation",
        tag: "56461ef2342edc00f9bab995",
    },
    Answer {
        digest: Digest::Md5,
        key: &[0xaa; 80],
        message: HASHED_KEY,
        tag: "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd",
    },
    Answer {
        digest: Digest::Sha1,
        key: b"Jefe",
        message: ASKED,
        tag: "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
    },
    Answer {
        digest: Digest::Sha1,
        key: &[0x0c; 20],
        message: b"Test With Truncation",
        tag: "4c1a03424b55e07fe7f27be1",
    },
    Answer {
        digest: Digest::Sha1,
        key: &[0xaa; 80],
        message: HASHED_KEY,
        tag: "aa4ae5e15272d00e95705637ce8a3b55ed402112",
    },
    Answer {
        digest: Digest::Sha224,
        key: b"Jefe",
        message: ASKED,
        tag: "a30e01098bc6dbbf45690f3a7e9e6d0f8bbea2a39e6148008fd05e44",
    },
    Answer {
        digest: Digest::Sha224,
        key: &[0xaa; 131],
        message: HASHED_KEY,
        tag: "95e9a0db962095adaebe9b2d6f0dbce2d499f112f2d2b7273fa6870e",
    },
    Answer {
        digest: Digest::Sha256,
        key: b"Jefe",
        message: ASKED,
        tag: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    },
    Answer {
        digest: Digest::Sha256,
        key: &[0x0c; 20],
        message: b"Test With Truncation",
        tag: "a3b6167473100ee06e0c796c2955552b",
    },
    Answer {
        digest: Digest::Sha256,
        key: &[0xaa; 131],
        message: HASHED_KEY,
        tag: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    },
    Answer {
        digest: Digest::Sha384,
        key: b"Jefe",
        message: ASKED,
        tag: "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e\
              8e2240ca5e69e2c78b3239ecfab21649",
    },
    Answer {
        digest: Digest::Sha384,
        key: &[0xaa; 131],
        message: HASHED_KEY,
        tag: "4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c6\
              0c2ef6ab4030fe8296248df163f44952",
    },
    Answer {
        digest: Digest::Sha512,
        key: b"Jefe",
        message: ASKED,
        tag: "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554\
              9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
    },
    Answer {
        digest: Digest::Sha512,
        key: &[0xaa; 131],
        message: HASHED_KEY,
        tag: "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352\
              6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598",
    },
];

const ASKED: &[u8] = b"what do ya want for nothing?";

const HASHED_KEY: &[u8] = b"Test Using Larger Than Block-Size Key - Hash Key First";

#[test]
fn published_tags_come_out_of_a_mixed_batch_in_every_tier() {
    let keys: Vec<Key> = PUBLISHED
        .iter()
        .map(|answer| key(answer.digest, answer.key))
        .collect();
    for_each_tier(|tier| {
        // Twenty of each, so that the lanes of each hash function fill.
        let mut messages: Vec<Pieces> = (0..20 * PUBLISHED.len())
            .map(|i| {
                let answer = &PUBLISHED[i % PUBLISHED.len()];
                let (head, body) = answer.message.split_at(i % 20);
                let gap = &[0xee; 3][..i % 4];
                Pieces::new(head, gap, body, &[], &vec![0; answer.tag.len() / 2])
            })
            .collect();
        write_tags(tier, keys.iter().cycle(), &mut messages);
        for (i, message) in messages.iter().enumerate() {
            let hex: String = message
                .tag()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            assert_eq!(hex, PUBLISHED[i % PUBLISHED.len()].tag, "{tier}");
        }
    });
}

#[test]
fn published_tags_come_out_of_the_reference_implementation() {
    for answer in PUBLISHED {
        let mut tag = vec![0; answer.tag.len() / 2];
        tag_one(answer.digest, answer.key, answer.message, &mut tag);
        let hex: String = tag.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, answer.tag);
    }
}

/// One message of a generated batch.
#[derive(Clone, Debug)]
struct Plan {
    digest: Digest,
    key_bytes: usize,
    parts_bytes: [usize; 4],
    seed: u8,
}

fn plan() -> impl Strategy<Value = Plan> {
    let text_bytes = prop_oneof![3 => 0..300usize, 1 => 0..3000usize];
    (
        prop::sample::select(Digest::ALL.to_vec()),
        0..200usize,
        (0..150usize, 0..20usize, text_bytes, 0..10usize),
        any::<u8>(),
    )
        .prop_map(|(digest, key_bytes, (a, b, c, d), seed)| Plan {
            digest,
            key_bytes,
            parts_bytes: [a, b, c, d],
            seed,
        })
}

/// Messages that differ, or runs of one shape, which fill rows.
fn batch() -> impl Strategy<Value = Vec<Plan>> {
    let mixed = prop::collection::vec(plan(), 1..=256);
    let run = (plan(), prop::collection::vec(any::<u8>(), 1..=40));
    let runs = (plan(), prop::collection::vec(run, 1..=6)).prop_map(|(first, runs)| {
        let alike = runs.into_iter().flat_map(|(shape, seeds)| {
            seeds.into_iter().map(move |seed| Plan {
                digest: first.digest,
                seed,
                ..shape.clone()
            })
        });
        alike.collect()
    });
    prop_oneof![mixed, runs]
}

#[test]
fn tags_equal_those_of_the_crate_whatever_the_batch() {
    let config = Config {
        cases: 40,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[11; 32]);
    let property = |plans: Vec<Plan>| {
        let bytes: Vec<u8> = (0..4096usize).map(|i| (i * 73 + i / 11) as u8).collect();
        let keys: Vec<Key> = plans
            .iter()
            .map(|plan| {
                key(
                    plan.digest,
                    &bytes[usize::from(plan.seed)..][..plan.key_bytes],
                )
            })
            .collect();
        let parts: Vec<[&[u8]; 4]> = plans
            .iter()
            .map(|plan| {
                let mut at = usize::from(plan.seed);
                plan.parts_bytes.map(|n| {
                    at += n % 7;
                    &bytes[at..at + n]
                })
            })
            .collect();
        let expected: Vec<Vec<u8>> = plans
            .iter()
            .zip(&parts)
            .map(|(plan, [head, _, body, trailing])| {
                let key = &bytes[usize::from(plan.seed)..][..plan.key_bytes];
                let message = [*head, *body, *trailing].concat();
                let tag = by_crate(plan.digest, key, &message);
                let mut one = vec![0; tag.len()];
                tag_one(plan.digest, key, &message, &mut one);
                assert_eq!(one, tag);
                tag
            })
            .collect();
        for_each_tier(|tier| {
            let mut messages: Vec<Pieces> = parts
                .iter()
                .zip(&expected)
                .map(|([head, gap, body, trailing], tag)| {
                    // Most packets have no gap.
                    let gap = &gap[..gap.len() * usize::from(gap.len() % 3 == 0)];
                    Pieces::new(head, gap, body, trailing, &vec![0; tag.len()])
                })
                .collect();
            write_tags(tier, keys.iter(), &mut messages);
            let tags = messages.iter().map(Pieces::tag);
            assert!(tags.eq(expected.iter().map(|tag| &tag[..])), "{tier}");
        });
        Ok(())
    };
    TestRunner::new_with_rng(config, rng)
        .run(&batch(), property)
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn tags_verify_whole_or_cut_and_damaged_ones_do_not() {
    for digest in Digest::ALL {
        let key = key::<CbcDecryptKey>(digest, b"key");
        let whole = by_crate(digest, b"key", b"message");
        for_each_tier(|tier| {
            let mut tags: Vec<Vec<u8>> = (1..=whole.len()).map(|n| whole[..n].to_vec()).collect();
            for tag in tags.iter_mut().step_by(3) {
                *tag.last_mut().expect("a byte") ^= 1;
            }
            let mut messages: Vec<Pieces> = tags
                .iter()
                .map(|tag| Pieces::new(b"mess", &[], b"age", &[], tag))
                .collect();
            let packets = messages.iter_mut();
            let mut packets: Vec<_> = packets.map(|message| message.packet(&key)).collect();
            open(tier, &mut packets);
            for (index, packet) in packets.iter().enumerate() {
                assert_eq!(packet.is_good, index % 3 != 0, "{digest:?} {tier}");
            }
        });
    }
}

#[test]
fn debug_output_shows_no_secret() {
    let key = HmacKey::new(Digest::Sha1, b"secret");
    assert_eq!(format!("{key:?}"), "HmacKey { digest: Sha1, .. }");
}
