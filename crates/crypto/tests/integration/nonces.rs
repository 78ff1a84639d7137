//! Nonces that are not sent, against AWS-LC: TLS 1.3, QUIC, SRTP and WireGuard.

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use weir_crypto::{
    Descriptor, KeyMaterial, NonceRule, Opener, OpeningKey, Refusal, Sealer, SealingKey, Suite,
};

use crate::support::laid::Laid;
use crate::support::parse;

struct Random(ChaCha8Rng);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    fn bytes(&mut self, bytes: usize) -> Vec<u8> {
        let mut filled = vec![0; bytes];
        self.0.fill_bytes(&mut filled);
        filled
    }
}

#[derive(Clone, Copy, Debug)]
enum Protocol {
    Tls,
    Srtp,
    WireGuard,
}

const PROTOCOLS: [Protocol; 3] = [Protocol::Tls, Protocol::Srtp, Protocol::WireGuard];

impl Protocol {
    fn rule(self, iv: [u8; 12]) -> NonceRule {
        match self {
            Protocol::Tls => NonceRule::Xor(iv),
            Protocol::Srtp => NonceRule::Srtp(iv),
            Protocol::WireGuard => NonceRule::LittleEndian,
        }
    }

    /// The nonce as the protocol's document spells it, byte by byte.
    fn nonce(self, iv: [u8; 12], context: u32, number: u64) -> [u8; 12] {
        let counted = match self {
            // RFC 8446, section 5.3: the number padded to the left with zeros.
            Protocol::Tls => {
                let mut counted = [0; 12];
                counted[..4].copy_from_slice(&context.to_be_bytes());
                counted[4..].copy_from_slice(&number.to_be_bytes());
                counted
            }
            // RFC 7714, section 8.1: 00 00, SSRC, ROC, SEQ.
            Protocol::Srtp => {
                let mut counted = [0; 12];
                counted[2..6].copy_from_slice(&context.to_be_bytes());
                counted[6..].copy_from_slice(&number.to_be_bytes()[2..]);
                counted
            }
            Protocol::WireGuard => {
                let mut nonce = [0; 12];
                nonce[4..].copy_from_slice(&number.to_le_bytes());
                return nonce;
            }
        };
        std::array::from_fn(|i| iv[i] ^ counted[i])
    }

    fn has_contexts(self) -> bool {
        !matches!(self, Protocol::WireGuard)
    }
}

fn algorithm(suite: Suite) -> &'static aead::Algorithm {
    match suite.name().as_str() {
        "aes-128-gcm-16" => &aead::AES_128_GCM,
        "aes-192-gcm-16" => &aead::AES_192_GCM,
        "aes-256-gcm-16" => &aead::AES_256_GCM,
        _ => &aead::CHACHA20_POLY1305,
    }
}

struct Key {
    suite: Suite,
    protocol: Protocol,
    bytes: Vec<u8>,
    iv: [u8; 12],
    contexts: Vec<u32>,
}

impl Key {
    fn material(&self) -> KeyMaterial {
        KeyMaterial::with_nonces(self.suite, &self.bytes, self.protocol.rule(self.iv))
            .expect("lengths are the suite's")
    }

    fn sealed_by_aws_lc(
        &self,
        context: u32,
        number: u64,
        aad: &[u8],
        payload: &[u8],
    ) -> (Vec<u8>, Vec<u8>) {
        let key = UnboundKey::new(algorithm(self.suite), &self.bytes).expect("a key");
        let nonce = Nonce::assume_unique_for_key(self.protocol.nonce(self.iv, context, number));
        let mut sealed = payload.to_vec();
        let tag = LessSafeKey::new(key)
            .seal_in_place_separate_tag(nonce, Aad::from(aad), &mut sealed)
            .expect("a short packet");
        (sealed, tag.as_ref().to_vec())
    }
}

fn keys(random: &mut Random) -> Vec<Key> {
    let suites = [
        "aes-128-gcm-16",
        "aes-192-gcm-16",
        "aes-256-gcm-16",
        "chacha20-poly1305",
    ]
    .map(parse);
    let mut keys = Vec::new();
    for suite in suites {
        for protocol in PROTOCOLS {
            for contexts in 0..3 {
                let contexts = match protocol.has_contexts() {
                    true => (0..contexts).map(|_| random.0.next_u32()).collect(),
                    false => Vec::new(),
                };
                keys.push(Key {
                    suite,
                    protocol,
                    bytes: random.bytes(suite.key_bytes()),
                    iv: random.bytes(12).try_into().expect("12 bytes"),
                    contexts,
                });
            }
        }
    }
    keys
}

/// A packet before it is sealed, the key that it has, and its number.
struct Packet {
    key: usize,
    context: u32,
    number: u64,
    aad: Vec<u8>,
    payload: Vec<u8>,
}

/// Packets whose numbers ascend by key and context, some by more than one.
fn packets(random: &mut Random, keys: &[Key], count: usize) -> Vec<Packet> {
    let mut next: Vec<Vec<u64>> = keys
        .iter()
        .map(|key| {
            let first = |random: &mut Random| random.below(1 << 46);
            (0..key.contexts.len().max(1))
                .map(|_| first(random))
                .collect()
        })
        .collect();
    (0..count)
        .map(|_| {
            let key = random.below(keys.len() as u64) as usize;
            let place = random.below(next[key].len() as u64) as usize;
            let number = next[key][place] + random.below(2) * random.below(1000);
            next[key][place] = number + 1;
            let aad_bytes = random.below(30) as usize;
            let payload_bytes = [random.below(100), random.below(1500)][random.below(2) as usize];
            Packet {
                key,
                context: keys[key].contexts.get(place).copied().unwrap_or(0),
                number,
                aad: random.bytes(aad_bytes),
                payload: random.bytes(payload_bytes as usize),
            }
        })
        .collect()
}

#[test]
fn packets_of_all_protocols_are_sealed_and_opened_as_by_aws_lc() {
    let mut random = Random(ChaCha8Rng::seed_from_u64(61));
    for count in [1, 2, 7, 33, 255, 256, 600, 900] {
        let keys = keys(&mut random);
        let packets = packets(&mut random, &keys, count);
        let (mut sealer, mut opener) = (Sealer::new(), Opener::new());
        let ids: Vec<_> = keys
            .iter()
            .map(|key| {
                let mut sealing = SealingKey::new(key.material(), 0..).expect("a sealing key");
                for context in &key.contexts {
                    assert_eq!(sealing.add_context(*context, 0..), Ok(()));
                }
                assert_eq!(sealing.iv_bytes(), 0);
                let opening = OpeningKey::new(&key.material()).expect("an opening key");
                assert_eq!(opening.iv_bytes(), 0);
                (sealer.add(sealing), opener.add(opening))
            })
            .collect();
        let mut laid = Laid::default();
        for packet in &packets {
            let (skipped, gap) = (random.below(64) as usize, random.below(5) as usize);
            laid.push(
                skipped,
                gap,
                false,
                [&packet.aad, &[], &packet.payload, &[0xee; 16]],
            );
        }
        let good = laid.seal(&mut sealer, |batch, index, packet| {
            let Packet {
                key,
                context,
                number,
                ..
            } = packets[index];
            let packet = Descriptor {
                key: ids[key].0,
                context,
                ..packet
            };
            assert_eq!(batch.push_numbered(packet, number), Ok(()));
        });
        assert!(good.into_iter().all(|good| good) && laid.is_guarded());
        for (index, packet) in packets.iter().enumerate() {
            let Packet {
                context, number, ..
            } = *packet;
            let key = &keys[packet.key];
            let (payload, tag) =
                key.sealed_by_aws_lc(context, number, &packet.aad, &packet.payload);
            let what = format!("{} {:?} {context} {number}", key.suite, key.protocol);
            assert_eq!(laid.payload(index), payload, "{what}");
            assert_eq!(laid.parts(index)[3], tag, "{what}");
        }

        // Every fourth is opened under another number, every fourth under another context.
        let is_wrong = |index: usize| match index % 4 {
            1 => true,
            2 => keys[packets[index].key].protocol.has_contexts(),
            _ => false,
        };
        let good = laid.open(&mut opener, |batch, index, packet| {
            let (mut context, mut number) = (packets[index].context, packets[index].number);
            match index % 4 {
                1 => number ^= 1 << (index % 46),
                2 if is_wrong(index) => context ^= 1 << (index % 32),
                _ => {}
            }
            let packet = Descriptor {
                key: ids[packets[index].key].1,
                context,
                ..packet
            };
            assert_eq!(batch.push(packet), Err(Refusal::NoNumber));
            assert_eq!(batch.push_numbered(packet, number), Ok(()));
        });
        assert!(laid.is_guarded());
        for (index, packet) in packets.iter().enumerate() {
            assert_eq!(
                good[index],
                !is_wrong(index),
                "{:?}",
                keys[packet.key].protocol
            );
            match good[index] {
                true => assert_eq!(laid.payload(index), packet.payload),
                false => assert!(laid.payload(index).iter().all(|byte| *byte == 0)),
            }
        }
    }
}

/// RFC 9001, appendix A.5: a packet of QUIC, its number 654360564, under ChaCha20-Poly1305.
#[test]
fn a_published_packet_of_quic_is_sealed_as_published() {
    let hex = |digits: &str| -> Vec<u8> {
        (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal"))
            .collect()
    };
    let key = hex("c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8");
    let iv = hex("e0459b3474bdd0e44a41c144")
        .try_into()
        .expect("12 bytes");
    let suite = parse("chacha20-poly1305");
    let material = KeyMaterial::with_nonces(suite, &key, NonceRule::Xor(iv)).expect("32 bytes");
    let mut sealer = Sealer::new();
    let key = sealer.add(SealingKey::new(material, 0..).expect("a sealing key"));
    let mut laid = Laid::default();
    laid.push(0, 0, false, [&hex("4200bff4"), &[], &[1], &[0; 16]]);
    let good = laid.seal(&mut sealer, |batch, _, packet| {
        let packet = Descriptor { key, ..packet };
        assert_eq!(batch.push_numbered(packet, 654_360_564), Ok(()));
    });
    assert_eq!(good, [true]);
    assert_eq!(laid.buffer[4..], hex("655e5cd55c41f69080575d7999c25a5bfb"));
}
