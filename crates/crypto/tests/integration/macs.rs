//! MACs alone: what is tagged verifies, what was changed does not.

use weir_crypto::mac::{Algorithm, AlgorithmError};
use weir_crypto::{
    Descriptor, KeyMaterial, Layout, Opener, OpeningKey, Refusal, Sealer, SealingKey, Suite,
};

use crate::support::{RawKey, material};

fn suite(name: &str) -> Suite {
    Suite::Mac(Algorithm::parse(name).expect("a MAC's name"))
}

/// A message with its tag behind it, whose first bytes are AAD.
fn packet(key: weir_crypto::KeyId, aad_bytes: usize, message_bytes: usize) -> Descriptor {
    Descriptor {
        key,
        layout: Layout {
            payload_bytes: (message_bytes - aad_bytes) as u32,
            aad_bytes: aad_bytes as u16,
            ..Layout::default()
        },
        ..Descriptor::default()
    }
}

/// The number and the tag of a message.
fn tagged(suite: Suite, message: &[u8]) -> (u64, Vec<u8>) {
    let mut sealer = Sealer::new();
    let key = sealer.add(SealingKey::new(material(suite, 1), 7..).expect("a key"));
    let mut buffer = [message, &vec![0; suite.tag_bytes()]].concat();
    let mut batch = sealer.batch(&mut buffer);
    let number = batch
        .push(packet(key, 0, message.len()))
        .expect("a message");
    assert!(batch.run().all_good());
    assert_eq!(buffer[..message.len()], *message);
    (number, buffer.split_off(message.len()))
}

/// Whether each of the messages verifies, in batches; some of each are AAD, which is the same.
fn verified(suite: Suite, tries: &[(u64, Vec<u8>, Vec<u8>)]) -> Vec<bool> {
    let mut opener = Opener::new();
    let key = opener.add(OpeningKey::new(&material(suite, 1)).expect("a key"));
    let raw = RawKey::new(suite, 1);
    let mut verified = Vec::new();
    for tries in tries.chunks(weir_crypto::BATCH_PACKETS) {
        let mut buffer = Vec::new();
        let mut packets = Vec::new();
        for (index, (number, message, tag)) in tries.iter().enumerate() {
            let aad_bytes = (index % 3 * 5).min(message.len());
            let offset = buffer.len() as u32;
            let packet = packet(key, aad_bytes, message.len());
            packets.push((*number, Descriptor { offset, ..packet }));
            buffer.extend_from_slice(message);
            buffer.extend_from_slice(tag);
        }
        let before = buffer.clone();
        let mut batch = opener.batch(&mut buffer);
        for (index, (number, packet)) in packets.into_iter().enumerate() {
            let key = match index % 2 {
                0 => key,
                _ => batch.add_one_time_key(suite, &raw.key, &[]).expect("a key"),
            };
            let packet = Descriptor { key, ..packet };
            assert_eq!(batch.push_numbered(packet, number), Ok(()), "{suite}");
        }
        verified.extend(batch.run().iter());
        // A message was never secret and is not cleared.
        assert!(buffer == before, "{suite}");
    }
    verified
}

/// Each of these is accepted with a probability of 2⁻²⁸ at most, over the choice of
/// the key, which is fixed: a right implementation passes or fails for good.
#[test]
fn forgeries_are_refused() {
    for algorithm in Algorithm::all() {
        let suite = Suite::Mac(algorithm);
        for bytes in [0, 1, 31, 32, 64, 100, 1024, 1025, 3072, 9000] {
            let message: Vec<u8> = (0..bytes).map(|i| (i / 7) as u8).collect();
            let (number, right) = tagged(suite, &message);
            let mut tries = vec![(number, message.clone(), right.clone())];
            let mut forge = |number, message, tag: &[u8]| {
                tries.push((number, message, tag.to_vec()));
            };
            for zeros in [1, 4, 31, 32, 64, 1024] {
                forge(number, [&message[..], &vec![0; zeros]].concat(), &right);
                forge(number, [&vec![0; zeros], &message[..]].concat(), &right);
            }
            for cut in [1, 4, 32, 1024].into_iter().filter(|cut| *cut <= bytes) {
                forge(number, message[..bytes - cut].to_vec(), &right);
                forge(number, message[cut..].to_vec(), &right);
            }
            for block in [4, 16, 32, 1024].into_iter().filter(|b| 2 * b <= bytes) {
                let mut swapped = message.clone();
                let (a, b) = swapped.split_at_mut(bytes - block);
                a[..block].swap_with_slice(b);
                if swapped != message {
                    forge(number, swapped, &right);
                }
            }
            if bytes > 0 {
                for at in [0, bytes / 2, bytes - 1] {
                    let mut changed = message.clone();
                    changed[at] ^= 0x80;
                    forge(number, changed, &right);
                }
            }
            if algorithm.has_nonce() {
                for other in [number + 1, number - 1, number ^ 1 << 40, 0] {
                    forge(other, message.clone(), &right);
                }
            }
            for at in 0..right.len() {
                let mut wrong = right.clone();
                wrong[at] ^= 1;
                forge(number, message.clone(), &wrong);
            }
            forge(number, message.clone(), &vec![0; right.len()]);
            let found = verified(suite, &tries);
            assert!(found[0], "{algorithm}: {bytes} bytes");
            let accepted = found[1..].iter().position(|accepted| *accepted);
            assert_eq!(accepted, None, "{algorithm}: {bytes} bytes");
        }
    }
}

/// AAD and payload are one message, and the gap between them is none of it.
#[test]
fn a_message_may_lie_in_two_parts() {
    for algorithm in Algorithm::all() {
        let suite = Suite::Mac(algorithm);
        let message: Vec<u8> = (0..1500).map(|i| (i * i / 3) as u8).collect();
        for bytes in [0, 1, 16, 64, 100, 1024, 1500] {
            let message = &message[..bytes];
            let (number, tag) = tagged(suite, message);
            for aad_bytes in [0, 1, 8, 20, 64, 1030]
                .into_iter()
                .filter(|cut| *cut <= bytes)
            {
                let mut sealer = Sealer::new();
                let key = SealingKey::new(material(suite, 1), number..).expect("a key");
                let key = sealer.add(key);
                let (aad, payload) = message.split_at(aad_bytes);
                let mut buffer = [aad, &[0x77; 9], payload, &vec![0; tag.len()]].concat();
                let mut packet = packet(key, aad_bytes, bytes);
                packet.layout.gap_bytes = 9;
                let mut batch = sealer.batch(&mut buffer);
                assert_eq!(batch.push(packet), Ok(number), "{algorithm}");
                assert!(batch.run().all_good());
                let expected = [aad, &[0x77; 9], payload, &tag].concat();
                assert_eq!(buffer, expected, "{algorithm}: {aad_bytes} of {bytes}");
            }
        }
    }
}

#[test]
fn messages_that_are_too_long_are_refused() {
    for (name, max_bytes) in [("mmh-mac-32", 1 << 16), ("umac-128", 1 << 24)] {
        let suite = suite(name);
        let mut sealer = Sealer::new();
        let key = sealer.add(SealingKey::new(material(suite, 1), 0..).expect("a key"));
        let mut buffer = vec![0; max_bytes + 1 + suite.tag_bytes()];
        let mut batch = sealer.batch(&mut buffer);
        let refused = Refusal::PayloadTooLong {
            max_bytes: max_bytes as u64,
            payload_bytes: max_bytes as u64 + 1,
        };
        assert_eq!(batch.push(packet(key, 0, max_bytes + 1)), Err(refused));
        assert_eq!(batch.push(packet(key, 0, max_bytes)), Ok(0));
        assert!(batch.run().all_good());
    }
}

/// HMAC takes keys that are longer than the digest (RFC 2104, section 2).
#[test]
fn hmac_takes_keys_of_any_length_from_that_of_the_digest() {
    for (algorithm, tag) in Algorithm::all()
        .filter(|algorithm| !algorithm.has_nonce())
        .zip([
            // RFC 2202, sections 2 and 3, and RFC 4231, section 4.7: test cases 6.
            "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd",
            "aa4ae5e15272d00e95705637ce8a3b55ed402112",
            "95e9a0db962095adaebe9b2d6f0dbce2d499f112f2d2b7273fa6870e",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            "4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c6\
             0c2ef6ab4030fe8296248df163f44952",
            "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352\
             6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598",
        ])
    {
        let suite = Suite::Mac(algorithm);
        let key_bytes = if tag.len() <= 40 { 80 } else { 131 };
        let key = KeyMaterial::new(suite, &vec![0xaa; key_bytes], &[]).expect("a long key");
        let mut sealer = Sealer::new();
        let key = sealer.add(SealingKey::new(key, 0..).expect("a key"));
        let message = b"Test Using Larger Than Block-Size Key - Hash Key First";
        let mut buffer = [&message[..], &vec![0; suite.tag_bytes()]].concat();
        let mut batch = sealer.batch(&mut buffer);
        assert_eq!(batch.push(packet(key, 0, message.len())), Ok(0));
        assert!(batch.run().all_good());
        let found: String = buffer[message.len()..]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(found, tag, "{algorithm}");
    }
}

#[test]
fn unknown_names_are_refused() {
    let name = "umac-65".to_owned();
    let error = Algorithm::parse(&name).expect_err("no such MAC");
    assert_eq!(error, AlgorithmError { name });
}

#[test]
fn keys_show_no_secret() {
    let suite = suite("umac-64");
    let sealing = SealingKey::new(material(suite, 1), 0..).expect("a key");
    let opening = OpeningKey::new(&material(suite, 1)).expect("a key");
    let text = format!("{:?} {sealing:?} {opening:?}", material(suite, 1));
    assert!(
        text.contains("Umac") && !text.contains("pad_keys"),
        "{text}"
    );
}
