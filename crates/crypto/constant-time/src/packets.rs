//! Batches of packets through every suite and MAC.

use weir_crypto::mac::Algorithm;
use weir_crypto::{
    Aead, Descriptor, IvSource, KeyId, KeyMaterial, Layout, NonceRule, Opener, OpeningKey, Sealer,
    SealingKey, Suite, memcheck,
};

use crate::Case;
use crate::secret::{public, secret};

/// Lengths of payloads, each rounded up to the suite's blocks: none, partial blocks,
/// whole ones, a few vectors, and more than any kernel takes at once.
const PAYLOADS_BYTES: [usize; 9] = [0, 1, 15, 16, 48, 100, 255, 400, 1500];

/// Packets of each length, so that the lanes of the widest kernel fill.
const COPIES: usize = 17;

/// Packets of each length where one would do.
const FEW_COPIES: usize = 1;

/// Held keys, so that neighbours in lanes have different ones.
const KEYS: usize = 5;

/// Which packet of the batch arrives damaged.
const DAMAGED: usize = 3;

/// A public way to seal and open: how long keys live, and how nonces are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Held,
    OneTime,
    /// Held keys that are expanded together.
    ExpandedTogether,
    /// Held keys, and nonces that are not sent and begin with secrets.
    SecretNonces,
}

/// Every suite that claims to be constant in time and every MAC alone, in every way.
pub fn cases() -> Vec<Case> {
    let suites = Suite::all().filter(|suite| !suite.is_legacy());
    let macs = Algorithm::all().map(Suite::Mac);
    let cases = suites.chain(macs);
    cases.flat_map(|suite| cases_of(suite, COPIES)).collect()
}

/// Legacy ciphers look up tables by secrets, as their documentation says. They
/// are run as a leak that nobody planted.
pub fn exceptions() -> Vec<Case> {
    let suites = Suite::all().filter(|suite| suite.is_legacy());
    suites
        .flat_map(|suite| cases_of(suite, FEW_COPIES))
        .collect()
}

fn cases_of(suite: Suite, copies: usize) -> impl Iterator<Item = Case> {
    let ways: &[Way] = match suite {
        Suite::Aead(Aead::AesGcm16(_) | Aead::ChaCha20Poly1305) => {
            &[Way::Held, Way::OneTime, Way::SecretNonces]
        }
        Suite::Mac(_) => &[Way::Held, Way::OneTime, Way::ExpandedTogether],
        _ => &[Way::Held, Way::OneTime],
    };
    ways.iter().map(move |&way| {
        Case::new(format!("{suite} {way:?}"), move || {
            seal_and_open(suite, way, copies);
        })
    })
}

/// The bytes of a key, which for HMAC alone are more than a block in every other one, so that
/// they are hashed.
fn key_bytes(suite: Suite, seed: usize) -> Vec<u8> {
    let bytes = match suite {
        Suite::Mac(Algorithm::Hmac(_)) if seed % 2 == 1 => 200,
        _ => suite.key_bytes() + suite.salt_bytes(),
    };
    secret(bytes, seed as u8)
}

fn integrity_key(suite: Suite, seed: usize) -> Vec<u8> {
    secret(suite.integrity_key_bytes(), 0x80 | seed as u8)
}

fn material(suite: Suite, way: Way, seed: usize) -> KeyMaterial {
    let material = match way {
        Way::SecretNonces => {
            let iv = secret(12, 0x40 | seed as u8);
            let rule = NonceRule::Xor(iv.try_into().expect("12 bytes"));
            KeyMaterial::with_nonces(suite, &secret(suite.key_bytes(), seed as u8), rule)
        }
        _ => KeyMaterial::new(suite, &key_bytes(suite, seed), &integrity_key(suite, seed)),
    };
    material.expect("lengths are the suite's")
}

fn sealing_keys(suite: Suite, way: Way) -> Vec<SealingKey> {
    let materials = (0..KEYS).map(|seed| material(suite, way, seed));
    let keys = match way {
        Way::ExpandedTogether => SealingKey::new_batch(materials.collect(), 1..),
        // The IVs of CBC come from a key that is derived from the poisoned one.
        _ => materials
            .map(|material| SealingKey::with_ivs(material, 1.., IvSource::RepeatableInsecure))
            .collect(),
    };
    keys.expect("an engine")
}

/// The packets, whose keys are still to be named, and the buffer with their payloads.
fn lay_out(suite: Suite, way: Way, copies: usize) -> (Vec<Descriptor>, Vec<u8>) {
    let mut buffer = Vec::new();
    let mut packets = Vec::new();
    for seed in 0..copies * PAYLOADS_BYTES.len() {
        let payload_bytes = PAYLOADS_BYTES[seed % PAYLOADS_BYTES.len()];
        let payload_bytes = payload_bytes.next_multiple_of(suite.block_bytes());
        let is_esp = !matches!(suite, Suite::Mac(_)) && way != Way::SecretNonces;
        let esn = is_esp && seed % 2 == 1;
        // ESP's header, and other AAD.
        let aad_bytes = if esn { 8 } else { 8 + seed % 3 * 2 };
        packets.push(Descriptor {
            key: KeyId::default(),
            context: 0,
            offset: buffer.len() as u32,
            layout: Layout {
                payload_bytes: payload_bytes as u32,
                aad_bytes: aad_bytes as u16,
                gap_bytes: (seed % 4) as u8,
                esn,
            },
        });
        let iv_bytes = match way {
            Way::SecretNonces => 0,
            _ => suite.iv_bytes(),
        };
        buffer.extend(public(aad_bytes + seed % 4 + iv_bytes, seed as u8));
        buffer.extend(secret(payload_bytes, seed as u8));
        buffer.extend(public(suite.tag_bytes(), seed as u8));
    }
    (packets, buffer)
}

/// Where a packet's tag lies: at the end, in front of the next one.
fn tag_ends(packets: &[Descriptor], buffer: &[u8]) -> Vec<usize> {
    let ends = packets.iter().skip(1).map(|packet| packet.offset as usize);
    ends.chain([buffer.len()]).collect()
}

/// Seals a batch, opens it, and sees that all but the damaged packet are authentic.
fn seal_and_open(suite: Suite, way: Way, copies: usize) {
    let (packets, mut buffer) = lay_out(suite, way, copies);
    let mut sealer = Sealer::new();
    let keys: Vec<KeyId> = sealing_keys(suite, way)
        .into_iter()
        .map(|key| sealer.add(key))
        .collect();
    let mut batch = sealer.batch(&mut buffer);
    let mut numbers = Vec::new();
    for (index, &packet) in packets.iter().enumerate() {
        let key = match way {
            Way::OneTime => batch
                .add_one_time_key(
                    suite,
                    &key_bytes(suite, index),
                    &integrity_key(suite, index),
                )
                .expect("lengths are the suite's"),
            _ => keys[index % KEYS],
        };
        let pushed = batch.push(Descriptor { key, ..packet });
        numbers.push(pushed.expect("a packet that fits"));
    }
    assert!(batch.run().all_good(), "{suite}");

    // What is sent is public; the message of a MAC alone stays secret.
    let ends = tag_ends(&packets, &buffer);
    match suite {
        Suite::Mac(_) => {
            for end in &ends {
                memcheck::publish(&mut buffer[end - suite.tag_bytes()..*end]);
            }
        }
        _ => memcheck::publish(&mut buffer),
    }
    buffer[ends[DAMAGED] - 1] ^= 1;
    let mut opener = Opener::new();
    let keys: Vec<KeyId> = (0..KEYS)
        .map(|seed| {
            let key = OpeningKey::new(&material(suite, way, seed));
            opener.add(key.expect("an engine"))
        })
        .collect();
    let mut batch = opener.batch(&mut buffer);
    for (index, &packet) in packets.iter().enumerate() {
        let key = match way {
            Way::OneTime => batch
                .add_one_time_key(
                    suite,
                    &key_bytes(suite, index),
                    &integrity_key(suite, index),
                )
                .expect("lengths are the suite's"),
            _ => keys[index % KEYS],
        };
        batch
            .push_numbered(Descriptor { key, ..packet }, numbers[index])
            .expect("a packet that fits");
    }
    for (index, is_good) in batch.run().iter().enumerate() {
        assert_eq!(is_good, index != DAMAGED, "{suite}: packet {index}");
    }
}
