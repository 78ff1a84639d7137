//! The tests that modes share: batches of random packets, sealed and opened
//! under every tier, agree with an independent implementation.

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use weir_simd::{Tier, for_each_tier};

use crate::batch::{BATCH_PACKETS, Descriptor, Layout, Opener, Sealer};
use crate::keys::{IvSource, KeyMaterial, OpeningKey, SealingKey};
use crate::suite::{AesKeySize, Suite};

/// A mode, and what it must agree with.
pub(super) trait Mode {
    fn suite(size: AesKeySize) -> Suite;

    /// Ciphertext and tag by the independent implementation.
    fn expected(key: &TestKey, packet: &TestPacket) -> (Vec<u8>, Vec<u8>);
}

/// xorshift64*: the same packets in every run.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }

    pub(super) fn bytes(&mut self, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|_| (self.next() >> 56) as u8).collect()
    }
}

pub(super) struct TestKey {
    pub(super) size: AesKeySize,
    pub(super) bytes: Vec<u8>,
    pub(super) salt: [u8; 4],
}

impl TestKey {
    /// Key and salt joined.
    fn joined(&self, suite: Suite) -> Vec<u8> {
        [
            &self.of_bytes(suite.key_bytes())[..],
            &self.salt[..suite.salt_bytes()],
        ]
        .concat()
    }

    /// The key, repeated where its cipher's are longer than AES's.
    pub(super) fn of_bytes(&self, bytes: usize) -> Vec<u8> {
        self.bytes.iter().copied().cycle().take(bytes).collect()
    }

    fn material(&self, suite: Suite) -> KeyMaterial {
        KeyMaterial::new(suite, &self.joined(suite), &[]).expect("lengths are the suite's")
    }
}

#[derive(Clone)]
pub(super) struct TestPacket {
    key: usize,
    /// Whether the key comes with the packet and is not held.
    is_one_time: bool,
    pub(super) iv: [u8; 8],
    pub(super) aad: Vec<u8>,
    gap: Vec<u8>,
    pub(super) payload: Vec<u8>,
    /// Bytes of the buffer in front of the packet.
    skipped: Vec<u8>,
}

/// A packet sealed by another library.
pub(super) fn sealed_by<A: AeadInOut + KeyInit>(
    key: &TestKey,
    nonce: &[u8],
    packet: &TestPacket,
) -> (Vec<u8>, Vec<u8>) {
    let mut payload = packet.payload.clone();
    let nonce = nonce.try_into().expect("as long as the mode's");
    let tag = A::new_from_slice(&key.bytes)
        .expect("a key")
        .encrypt_inout_detached(nonce, &packet.aad, payload.as_mut_slice().into())
        .expect("a short packet");
    (payload, tag.to_vec())
}

/// Packets one behind the other in a buffer, and where each begins. `sealed` is called with
/// the index of a packet and returns IV, payload and tag.
fn lay_out(
    packets: &[TestPacket],
    mut parts: impl FnMut(usize) -> ([u8; 8], Vec<u8>, Vec<u8>),
) -> (Vec<u8>, Vec<u32>) {
    let mut buffer = Vec::new();
    let mut offsets = Vec::new();
    for (index, packet) in packets.iter().enumerate() {
        let (iv, payload, tag) = parts(index);
        buffer.extend_from_slice(&packet.skipped);
        offsets.push(buffer.len() as u32);
        for part in [&packet.aad[..], &packet.gap, &iv, &payload, &tag] {
            buffer.extend_from_slice(part);
        }
    }
    (buffer, offsets)
}

impl TestPacket {
    fn layout(&self) -> Layout {
        Layout {
            payload_bytes: self.payload.len() as u32,
            aad_bytes: self.aad.len() as u16,
            gap_bytes: self.gap.len() as u8,
            esn: false,
        }
    }
}

/// Seals `packets` under every tier, compares them with those of the independent
/// implementation, opens them, and finds every damaged one.
fn check<M: Mode>(random: &mut Random, keys: &[TestKey], packets: &[TestPacket]) {
    for packets in packets.chunks(BATCH_PACKETS) {
        let expected: Vec<_> = packets
            .iter()
            .map(|packet| M::expected(&keys[packet.key], packet))
            .collect();
        let damaged = random.below(8);
        let is_reversed = random.below(2) == 1;
        let order: Vec<usize> = match is_reversed {
            true => (0..packets.len()).rev().collect(),
            false => (0..packets.len()).collect(),
        };
        for_each_tier(|tier| {
            check_under::<M>(tier, keys, packets, &expected, damaged, &order);
        });
    }
}

fn check_under<M: Mode>(
    tier: Tier,
    keys: &[TestKey],
    packets: &[TestPacket],
    expected: &[(Vec<u8>, Vec<u8>)],
    damaged: usize,
    order: &[usize],
) {
    let suite = |key: &TestKey| M::suite(key.size);
    let tag_bytes = M::suite(AesKeySize::Aes128).tag_bytes();
    let (mut buffer, offsets) = lay_out(packets, |i| {
        ([0xee; 8], packets[i].payload.clone(), vec![0xee; tag_bytes])
    });
    let (sealed, _) = lay_out(packets, |i| {
        let (payload, tag) = expected[i].clone();
        (packets[i].iv, payload, tag)
    });

    let mut sealer = Sealer::at_tier(Some(tier));
    let ids: Vec<_> = keys
        .iter()
        .map(|key| {
            let material = key.material(suite(key));
            let key = SealingKey::at_tier(&material, .., IvSource::Random, tier);
            sealer.add(key.expect("a key"))
        })
        .collect();
    let mut batch = sealer.batch(&mut buffer);
    for &i in order {
        let packet = &packets[i];
        let mut descriptor = Descriptor {
            key: ids[packet.key],
            context: 0,
            offset: offsets[i],
            layout: packet.layout(),
        };
        let pushed = if packet.is_one_time {
            let key = &keys[packet.key];
            descriptor.key = batch
                .add_one_time_key(suite(key), &key.joined(suite(key)), &[])
                .expect("a key");
            batch.push_numbered(descriptor, u64::from_be_bytes(packet.iv))
        } else {
            batch.push_with_iv(descriptor, 0, &packet.iv)
        };
        assert_eq!(pushed, Ok(()));
    }
    assert!(batch.run().all_good(), "{tier}");
    if buffer != sealed {
        for (packet, offset) in packets.iter().zip(&offsets) {
            let end = packet.aad.len() + packet.gap.len() + 8 + packet.payload.len() + tag_bytes;
            let range = *offset as usize..*offset as usize + end;
            assert!(
                buffer[range.clone()] == sealed[range],
                "{tier}, {:?}, one-time {}, {} + {} bytes",
                keys[packet.key].size,
                packet.is_one_time,
                packet.aad.len(),
                packet.payload.len()
            );
        }
        panic!("{tier}: bytes between packets were written");
    }

    let is_damaged = |i: usize| i % 8 == damaged;
    let (mut buffer, _) = lay_out(packets, |i| {
        let (payload, mut tag) = expected[i].clone();
        if is_damaged(i) {
            tag[i % tag_bytes] ^= 1 << (i / 16 % 8);
        }
        (packets[i].iv, payload, tag)
    });
    let received = buffer.clone();
    let mut opener = Opener::at_tier(Some(tier));
    let ids: Vec<_> = keys
        .iter()
        .map(|key| {
            let key = OpeningKey::at_tier(&key.material(suite(key)), tier);
            opener.add(key.expect("a key"))
        })
        .collect();
    let mut batch = opener.batch(&mut buffer);
    for &i in order {
        let packet = &packets[i];
        let mut key = ids[packet.key];
        if packet.is_one_time {
            let its = &keys[packet.key];
            key = batch
                .add_one_time_key(suite(its), &its.joined(suite(its)), &[])
                .expect("a key");
        }
        let pushed = batch.push(Descriptor {
            key,
            context: 0,
            offset: offsets[i],
            layout: packet.layout(),
        });
        assert_eq!(pushed, Ok(()));
    }
    let verdicts = batch.run();
    let mut opened = received;
    for (place, &i) in order.iter().enumerate() {
        assert_eq!(verdicts.is_good(place), !is_damaged(i), "{tier}");
        let packet = &packets[i];
        let start = offsets[i] as usize + packet.aad.len() + packet.gap.len() + 8;
        let payload = &mut opened[start..start + packet.payload.len()];
        match is_damaged(i) {
            true => payload.fill(0),
            false => payload.copy_from_slice(&packet.payload),
        }
    }
    assert!(buffer == opened, "{tier}");
}

fn test_keys(random: &mut Random, keys: usize) -> Vec<TestKey> {
    (0..keys)
        .map(|_| {
            let size = AesKeySize::ALL[random.below(3)];
            TestKey {
                size,
                bytes: random.bytes(size.key_bytes()),
                salt: std::array::from_fn(|_| random.next() as u8),
            }
        })
        .collect()
}

fn test_packet(
    random: &mut Random,
    keys: usize,
    aad_bytes: usize,
    payload_bytes: usize,
) -> TestPacket {
    let skipped_bytes = random.below(65);
    let gap_bytes = random.below(2) * random.below(20);
    TestPacket {
        key: random.below(keys),
        is_one_time: random.below(2) == 1,
        // The low bits of the last byte choose the shift of OCB's first offset.
        iv: random.next().to_le_bytes(),
        aad: random.bytes(aad_bytes),
        gap: random.bytes(gap_bytes),
        payload: random.bytes(payload_bytes),
        skipped: random.bytes(skipped_bytes),
    }
}

pub(super) fn every_length_up_to_forty_blocks_agrees<M: Mode>() {
    let mut random = Random(1);
    for first in (0..640).step_by(64) {
        let keys = test_keys(&mut random, 5);
        let packets: Vec<TestPacket> = (first..first + 64)
            .flat_map(|payload_bytes| [0, 8, 12, 16].map(|aad_bytes| (aad_bytes, payload_bytes)))
            .map(|(aad, payload)| test_packet(&mut random, keys.len(), aad, payload))
            .collect();
        check::<M>(&mut random, &keys, &packets);
    }
}

pub(super) fn batches_of_any_size_length_and_number_of_keys_agree<M: Mode>() {
    let mut random = Random(2);
    for packets in [
        1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 64, 100, 255, 256, 257, 300,
    ] {
        let number = 1 + random.below(packets);
        let keys = test_keys(&mut random, number);
        let packets: Vec<TestPacket> = (0..packets)
            .map(|_| {
                let payload_bytes = match random.below(4) {
                    0 => random.below(65),
                    1 => 64 * random.below(10),
                    2 => random.below(300),
                    _ => random.below(1600),
                };
                let aad_bytes = match random.below(8) {
                    0 => random.below(17),
                    1 => random.below(200),
                    _ => 8,
                };
                test_packet(&mut random, number, aad_bytes, payload_bytes)
            })
            .collect();
        check::<M>(&mut random, &keys, &packets);
    }
}

pub(super) fn the_longest_packets_agree<M: Mode>() {
    let mut random = Random(3);
    let keys = test_keys(&mut random, 6);
    let packets: Vec<TestPacket> = [
        65_535, 65_520, 65_519, 40_000, 4096, 4095, 4097, 9000, 16_383, 16_384, 16_385, 32_768,
        140_001,
    ]
    .into_iter()
    .map(|payload_bytes| test_packet(&mut random, 6, 8, payload_bytes))
    .collect();
    check::<M>(&mut random, &keys, &packets);
}

pub(super) fn packets_that_are_all_alike_agree<M: Mode>() {
    let mut random = Random(4);
    for is_one_time in [false, true] {
        for payload_bytes in [0, 1, 16, 64, 65, 100, 129, 192, 256, 576, 1420] {
            let keys = test_keys(&mut random, 3);
            let packets: Vec<TestPacket> = (0..33)
                .map(|_| TestPacket {
                    is_one_time,
                    ..test_packet(&mut random, 3, 12, payload_bytes)
                })
                .collect();
            check::<M>(&mut random, &keys, &packets);
        }
    }
}
