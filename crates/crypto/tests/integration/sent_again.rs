//! Packets that a protocol sends again under their number, and packets that carry a part of their
//! tag.

use weir_crypto::{
    BATCH_PACKETS, Descriptor, KeyError, KeyId, KeyMaterial, Layout, NonceRule, Opener, OpeningKey,
    Refusal, Sealer, SealingKey, Suite, WholeTags,
};

const AAD_BYTES: usize = 20;
/// Real headers, which are not authenticated as they stand.
const GAP_BYTES: usize = 54;
const WHOLE_TAG_BYTES: usize = 16;
const CUT_TAG_BYTES: usize = 4;
const CONTEXT: u32 = 1;

fn material() -> KeyMaterial {
    let suite = Suite::parse("aes-128-gcm-16").expect("a suite");
    KeyMaterial::with_nonces(suite, &[7; 16], NonceRule::Xor([9; 12])).expect("a key")
}

fn sealer() -> (Sealer, KeyId) {
    let mut key = SealingKey::new(material(), 0..).expect("a sealing key");
    key.add_context(CONTEXT, 0..).expect("a context");
    let mut sealer = Sealer::new();
    let key = sealer.add(key);
    (sealer, key)
}

/// A packet in a buffer of its own, with space for a whole tag.
#[derive(Clone, PartialEq, Debug)]
struct Packet {
    bytes: Vec<u8>,
    payload_bytes: usize,
}

impl Packet {
    fn new(payload_bytes: usize, seed: usize) -> Packet {
        let head_bytes = AAD_BYTES + GAP_BYTES + payload_bytes;
        let mut bytes: Vec<u8> = (0..head_bytes).map(|at| (at * 31 + seed) as u8).collect();
        bytes.resize(head_bytes + WHOLE_TAG_BYTES, 0);
        Packet {
            bytes,
            payload_bytes,
        }
    }

    fn descriptor(&self, key: KeyId, offset: usize) -> Descriptor {
        Descriptor {
            key,
            context: CONTEXT,
            offset: offset as u32,
            layout: Layout {
                payload_bytes: self.payload_bytes as u32,
                aad_bytes: AAD_BYTES as u16,
                gap_bytes: GAP_BYTES as u8,
                esn: false,
            },
        }
    }

    fn payload_start(&self) -> usize {
        AAD_BYTES + GAP_BYTES
    }

    fn tag_start(&self) -> usize {
        self.payload_start() + self.payload_bytes
    }

    fn tag(&self) -> [u8; WHOLE_TAG_BYTES] {
        *self.bytes[self.tag_start()..].as_array().expect("a tag")
    }

    fn seal(&mut self, sealer: &mut Sealer, key: KeyId, number: u64) {
        let packet = self.descriptor(key, 0);
        let mut batch = sealer.batch(&mut self.bytes);
        batch.push_numbered(packet, number).expect("taken");
        assert!(batch.run().all_good());
    }

    fn seal_again(&mut self, sealer: &mut Sealer, key: KeyId, number: u64, tag: &[u8; 16]) -> bool {
        let packet = self.descriptor(key, 0);
        let mut batch = sealer.batch(&mut self.bytes);
        batch.push_again(packet, number, tag).expect("taken");
        batch.run().all_good()
    }
}

fn lengths() -> impl Iterator<Item = usize> {
    (0..100).chain([255, 256, 257, 576, 1024, 1420, 4096, 9000])
}

#[test]
fn a_packet_is_sealed_again_only_as_it_was() {
    let (mut sealer, key) = sealer();
    for (number, payload_bytes) in (100..).zip(lengths()) {
        let plain = Packet::new(payload_bytes, 1);
        let mut sealed = plain.clone();
        sealed.seal(&mut sealer, key, number);
        let tag = sealed.tag();

        let mut again = plain.clone();
        assert!(again.seal_again(&mut sealer, key, number, &tag));
        assert_eq!(again, sealed, "{payload_bytes} bytes");

        // The gap is not authenticated.
        let mut other = plain.clone();
        other.bytes[AAD_BYTES] ^= 1;
        assert!(other.seal_again(&mut sealer, key, number, &tag));

        let last = plain.tag_start() - 1;
        for changed in [0, AAD_BYTES - 1, plain.payload_start(), last] {
            if (AAD_BYTES..plain.payload_start()).contains(&changed) {
                continue;
            }
            if changed >= plain.tag_start() {
                continue;
            }
            let mut other = plain.clone();
            other.bytes[changed] ^= 0x80;
            assert!(!other.seal_again(&mut sealer, key, number, &tag));
            let cleared = &other.bytes[plain.payload_start()..];
            assert!(
                cleared.iter().all(|byte| *byte == 0),
                "{payload_bytes} bytes"
            );
        }
    }
}

/// Among packets that are sealed for the first time, each of them good or not for itself.
#[test]
fn packets_of_both_kinds_share_a_batch() {
    let (mut sealer, key) = sealer();
    let plain = Packet::new(64, 3);
    let mut first = plain.clone();
    first.seal(&mut sealer, key, 0);
    let tag = first.tag();

    let stride = plain.bytes.len();
    let mut buffer = plain.bytes.repeat(BATCH_PACKETS);
    let mut batch = sealer.batch(&mut buffer);
    for index in 0..BATCH_PACKETS {
        let packet = plain.descriptor(key, index * stride);
        match index % 3 {
            0 => batch.push_again(packet, 0, &tag).expect("taken"),
            1 => batch.push_again(packet, 0, &[0; 16]).expect("taken"),
            _ => batch.push_numbered(packet, index as u64).expect("taken"),
        }
    }
    let verdicts = batch.run();
    for index in 0..BATCH_PACKETS {
        assert_eq!(verdicts.is_good(index), index % 3 != 1, "{index}");
        let sealed = &buffer[index * stride..][..stride];
        assert_eq!(sealed == first.bytes, index % 3 == 0, "{index}");
    }
}

#[test]
fn what_was_not_sealed_is_not_sealed_again() {
    let (mut sealer, key) = sealer();
    let mut packet = Packet::new(64, 5);
    let untouched = packet.clone();
    let descriptor = packet.descriptor(key, 0);
    let mut batch = sealer.batch(&mut packet.bytes);
    assert_eq!(
        batch.push_again(descriptor, 0, &[0; 16]),
        Err(Refusal::NotSealedBefore { number: 0, next: 0 })
    );
    batch.push_numbered(descriptor, 7).expect("taken");
    drop(batch);
    assert_eq!(packet, untouched);
    let mut batch = sealer.batch(&mut packet.bytes);
    assert_eq!(
        batch.push_again(descriptor, 8, &[0; 16]),
        Err(Refusal::NotSealedBefore { number: 8, next: 8 })
    );
    drop(batch);

    // Under other suites no number comes twice.
    let suite = Suite::parse("chacha20-poly1305").expect("a suite");
    let material = KeyMaterial::with_nonces(suite, &[7; 32], NonceRule::LittleEndian);
    let key = SealingKey::new(material.expect("a key"), 0..).expect("a sealing key");
    let key = sealer.add(key);
    let descriptor = Descriptor {
        key,
        context: 0,
        ..descriptor
    };
    let mut batch = sealer.batch(&mut packet.bytes);
    batch.push_numbered(descriptor, 3).expect("taken");
    assert!(batch.run().all_good());
    let mut batch = sealer.batch(&mut packet.bytes);
    assert_eq!(
        batch.push_again(descriptor, 3, &[0; 16]),
        Err(Refusal::NotSealedBefore { number: 3, next: 0 })
    );
}

/// Whole tags are those of the sealed packets; every changed bit makes a packet bad.
#[test]
fn packets_with_a_part_of_their_tag_are_opened() {
    let (mut sealer, sealing) = sealer();
    let mut opener = Opener::new();
    let key = OpeningKey::with_cut_tags(&material(), CUT_TAG_BYTES).expect("an opening key");
    let opening = opener.add(key);
    let mut tags = WholeTags::new();
    for (number, payload_bytes) in (0..).zip(lengths()) {
        let plain = Packet::new(payload_bytes, 7);
        let mut sealed = plain.clone();
        sealed.seal(&mut sealer, sealing, number);
        let received_bytes = sealed.tag_start() + CUT_TAG_BYTES;
        let mut open = |bytes: &mut [u8]| {
            let mut batch = opener.batch(bytes);
            let packet = plain.descriptor(opening, 0);
            batch.push_numbered(packet, number).expect("taken");
            batch
                .run_with_tags(&mut tags)
                .all_good()
                .then(|| *tags.get(0).expect("a tag"))
        };
        let mut received = sealed.bytes[..received_bytes].to_vec();
        assert_eq!(
            open(&mut received),
            Some(sealed.tag()),
            "{payload_bytes} bytes"
        );
        assert_eq!(
            received[..sealed.tag_start()],
            plain.bytes[..plain.tag_start()]
        );

        let authenticated = (0..AAD_BYTES).chain(sealed.payload_start()..received_bytes);
        for changed in authenticated.step_by(1 + payload_bytes / 50) {
            let mut received = sealed.bytes[..received_bytes].to_vec();
            received[changed] ^= 1 << (changed % 8);
            assert_eq!(
                open(&mut received),
                None,
                "byte {changed} of {payload_bytes}"
            );
            let payload = &received[sealed.payload_start()..sealed.tag_start()];
            assert!(payload.iter().all(|byte| *byte == 0));
        }
    }
}

/// Tags are kept of good packets with cut tags, and of no others.
#[test]
fn whole_tags_are_those_of_this_batch() {
    let (mut sealer, sealing) = sealer();
    let mut opener = Opener::new();
    let cut = OpeningKey::with_cut_tags(&material(), CUT_TAG_BYTES).expect("an opening key");
    let (cut, whole) = (
        opener.add(cut),
        opener.add(OpeningKey::new(&material()).expect("an opening key")),
    );
    let stride = Packet::new(64, 1).bytes.len();
    let mut buffer = Vec::new();
    let mut expected = Vec::new();
    for number in 0..16 {
        let mut packet = Packet::new(64, number as usize);
        packet.seal(&mut sealer, sealing, number);
        expected.push(packet.tag());
        buffer.extend(packet.bytes);
    }
    let mut tags = WholeTags::new();
    buffer[5 * stride] ^= 1;
    let packet = Packet::new(64, 0);
    let mut batch = opener.batch(&mut buffer);
    for number in 0..16u64 {
        let key = if number % 2 == 1 { cut } else { whole };
        let packet = packet.descriptor(key, number as usize * stride);
        batch.push_numbered(packet, number).expect("taken");
    }
    let verdicts = batch.run_with_tags(&mut tags);
    assert_eq!(verdicts.good(), 15);
    for (index, tag) in expected.iter().enumerate() {
        let is_kept = index % 2 == 1 && index != 5;
        assert_eq!(tags.get(index), is_kept.then_some(tag), "{index}");
    }
    let verdicts = opener.batch(&mut buffer).run_with_tags(&mut tags);
    assert!(verdicts.is_empty());
    assert!((0..16).all(|index| tags.get(index).is_none()));
}

/// A packet of another suite, with the lengths of the others, comes first: more than the first
/// packet decides.
#[test]
fn cut_tags_are_found_behind_short_tags_of_another_suite() {
    const SHORT_TAG_BYTES: usize = 12;
    const PAYLOAD_BYTES: usize = 64;
    const SEALED_BYTES: usize = 8 + 8 + PAYLOAD_BYTES;
    const STRIDE: usize = SEALED_BYTES + WHOLE_TAG_BYTES;
    let material = |suite, key_bytes| {
        let suite = Suite::parse(suite).expect("a suite");
        KeyMaterial::new(suite, &[7; 20][..key_bytes], &[]).expect("a key")
    };
    let ccm = || material("aes-128-ccm-12", 19);
    let gcm = || material("aes-128-gcm-16", 20);
    let (mut sealer, mut opener) = (Sealer::new(), Opener::new());
    let sealing =
        [ccm(), gcm()].map(|key| sealer.add(SealingKey::new(key, 0..).expect("a sealing key")));
    let opening = [
        opener.add(OpeningKey::new(&ccm()).expect("an opening key")),
        opener.add(OpeningKey::with_cut_tags(&gcm(), SHORT_TAG_BYTES).expect("an opening key")),
    ];
    let descriptor = |keys: [KeyId; 2], index: usize| Descriptor {
        key: keys[index.min(1)],
        context: 0,
        offset: (index * STRIDE) as u32,
        layout: Layout {
            payload_bytes: PAYLOAD_BYTES as u32,
            aad_bytes: 8,
            gap_bytes: 0,
            esn: false,
        },
    };
    for packets in [2, 3, 17, 64] {
        let mut buffer = vec![0x5a; packets * STRIDE];
        let mut batch = sealer.batch(&mut buffer);
        for index in 0..packets {
            batch.push(descriptor(sealing, index)).expect("taken");
        }
        assert!(batch.run().all_good());
        let sealed = buffer.clone();

        let damaged = packets - 1;
        buffer[damaged * STRIDE + SEALED_BYTES - 1] ^= 1;
        let mut tags = WholeTags::new();
        let mut batch = opener.batch(&mut buffer);
        for index in 0..packets {
            batch.push(descriptor(opening, index)).expect("taken");
        }
        let verdicts = batch.run_with_tags(&mut tags);
        for (index, packet) in sealed.chunks(STRIDE).enumerate() {
            let place = format!("{index} of {packets}");
            assert_eq!(verdicts.is_good(index), index != damaged, "{place}");
            let tag = (index != 0 && index != damaged).then_some(&packet[SEALED_BYTES..]);
            assert_eq!(tags.get(index).map(|tag| &tag[..]), tag, "{place}");
        }
    }
}

#[test]
fn tags_are_cut_to_few_lengths_of_few_suites() {
    let suite = material().suite();
    for tag_bytes in (0..=17).filter(|bytes| ![4, 8, 12].contains(bytes)) {
        let refused = OpeningKey::with_cut_tags(&material(), tag_bytes).err();
        assert_eq!(refused, Some(KeyError::CutTags { suite, tag_bytes }));
    }
    let suite = Suite::parse("aes-128-ccm-16").expect("a suite");
    let ccm = KeyMaterial::new(suite, &[7; 19], &[]).expect("a key");
    assert!(OpeningKey::with_cut_tags(&ccm, 4).is_err());
}
