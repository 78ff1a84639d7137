//! Blocks as the kernel writes them, and blocks with wrong numbers.

use super::*;

/// A block under construction.
struct Made {
    bytes: Vec<u8>,
    /// Where the headers of its packets are.
    headers: Vec<usize>,
}

const FIRST: usize = BLOCK_HEADER_BYTES;
/// Where a packet begins behind its header: the kernel leaves space for an address.
const SPACE: usize = PACKET_HEADER_BYTES + 40;

impl Made {
    /// A block of `capacity` bytes with packets of these contents.
    fn of(capacity: usize, packets: &[&[u8]]) -> Made {
        let mut made = Made {
            bytes: vec![0; capacity],
            headers: Vec::new(),
        };
        let mut offset = FIRST;
        for (index, packet) in packets.iter().enumerate() {
            let bytes = (SPACE + packet.len()).next_multiple_of(8);
            made.headers.push(offset);
            let is_last = index + 1 == packets.len();
            made.put_u32(offset + NEXT_OFFSET, if is_last { 0 } else { bytes as u32 });
            made.put_u32(offset + SECONDS, 1_700_000_000);
            made.put_u32(offset + NANOSECONDS, index as u32);
            made.put_u32(offset + CAPTURED_BYTES, packet.len() as u32);
            made.put_u32(offset + WIRE_BYTES, packet.len() as u32);
            made.put_u16(offset + PACKET_OFFSET, SPACE as u16);
            made.bytes[offset + SPACE..][..packet.len()].copy_from_slice(packet);
            offset += bytes;
        }
        made.put_u32(NUMBER_OF_PACKETS, packets.len() as u32);
        made.put_u32(FIRST_PACKET, FIRST as u32);
        made.put_u32(USED_BYTES, offset as u32);
        made
    }

    fn put_u32(&mut self, offset: usize, value: u32) {
        self.bytes[offset..][..4].copy_from_slice(&value.to_ne_bytes());
    }

    fn put_u16(&mut self, offset: usize, value: u16) {
        self.bytes[offset..][..2].copy_from_slice(&value.to_ne_bytes());
    }

    /// Walks a copy: the packets' bytes, and how many were malformed.
    fn walk(&self) -> (Vec<Vec<u8>>, u64) {
        // A copy of exactly this length: what lies behind it is not ours.
        let block = self.bytes.clone().into_boxed_slice();
        let (found, malformed) = all(&block);
        let packets = found.iter().map(|found| found.parts().concat());
        (packets.collect(), malformed)
    }
}

/// All packets of a block, and how many were malformed.
fn all(block: &[u8]) -> (Vec<Found<'_>>, u64) {
    let mut malformed = 0;
    let mut walk = BlockWalk::begin(block);
    let mut found = Vec::new();
    while let Some(next) = walk.next(block, &mut malformed) {
        found.push(next);
    }
    assert!(walk.is_finished());
    (found, malformed)
}

#[test]
fn packets_come_in_order_with_times_and_lengths() {
    let mut made = Made::of(4096, &[&[1; 60], &[2; 61], &[3; 1500]]);
    let second = made.headers[1];
    made.put_u32(second + WIRE_BYTES, 9000);
    made.put_u32(second + STATUS, libc::TP_STATUS_CSUMNOTREADY);
    let third = made.headers[2];
    made.put_u32(third + STATUS, libc::TP_STATUS_CSUM_VALID);
    let (packets, malformed) = all(&made.bytes);
    let seen = packets.iter().map(|found| {
        let bytes = found.parts().concat();
        let arrival = &found.arrival;
        (
            bytes[0],
            bytes.len(),
            arrival.wire_bytes,
            arrival.arrival_ns,
        )
    });
    let second_ns = 1_700_000_000_000_000_000;
    let expected = [
        (1, 60, 60, second_ns),
        (2, 61, 9000, second_ns + 1),
        (3, 1500, 1500, second_ns + 2),
    ];
    assert!(seen.eq(expected));
    let checksums = packets.iter().map(|found| found.arrival.offload.checksum);
    let expected = [
        ChecksumState::Unknown,
        ChecksumState::NotReady,
        ChecksumState::Valid,
    ];
    assert!(checksums.eq(expected));
    assert_eq!(malformed, 0);
}

#[test]
fn tags_are_put_back() {
    let untagged: Vec<u8> = (0..64).collect();
    let mut made = Made::of(4096, &[&untagged, &untagged, &untagged]);
    let (first, second) = (made.headers[0], made.headers[1]);
    made.put_u32(first + STATUS, libc::TP_STATUS_VLAN_VALID);
    made.put_u32(first + VLAN_TAG, 0x2007);
    let status = libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID;
    made.put_u32(second + STATUS, status);
    made.put_u32(second + VLAN_TAG, 9);
    made.put_u16(second + VLAN_PROTOCOL_OFFSET, 0x88a8);
    let (packets, malformed) = made.walk();
    let tagged = |tag: [u8; 4]| [&untagged[..12], &tag, &untagged[12..]].concat();
    let expected = [
        tagged([0x81, 0, 0x20, 0x07]),
        tagged([0x88, 0xa8, 0, 9]),
        untagged.clone(),
    ];
    assert_eq!(packets, expected);
    assert_eq!(malformed, 0);
}

#[test]
fn a_tag_without_addresses_is_malformed() {
    let mut made = Made::of(4096, &[&[1; 11], &[2; 64]]);
    let first = made.headers[0];
    made.put_u32(first + STATUS, libc::TP_STATUS_VLAN_VALID);
    assert_eq!(made.walk(), (vec![vec![2; 64]], 1));
}

#[test]
fn wrong_lengths_and_offsets_lose_packets_only() {
    let whole = || Made::of(1024, &[&[1; 60], &[2; 60], &[3; 60]]);
    let packet = |number: u8| vec![number; 60];

    // A packet that lies beyond its part, or in its header, is left out alone.
    for (offset, captured) in [
        (SPACE as u16, 61 + 4),
        (SPACE as u16, u32::MAX),
        (u16::MAX, 60),
        (0, 60),
    ] {
        let mut made = whole();
        let header = made.headers[1];
        made.put_u16(header + PACKET_OFFSET, offset);
        made.put_u32(header + CAPTURED_BYTES, captured);
        assert_eq!(
            made.walk(),
            (vec![packet(1), packet(3)], 1),
            "{offset} {captured}"
        );
    }
    // Without the way to the next packet the rest is lost.
    for next in [0, 1, PACKET_HEADER_BYTES as u32 - 1, 1024, u32::MAX] {
        let mut made = whole();
        let header = made.headers[1];
        made.put_u32(header + NEXT_OFFSET, next);
        assert_eq!(made.walk(), (vec![packet(1)], 2), "{next}");
    }
    // So it is where the block says too much.
    let mut made = whole();
    made.put_u32(NUMBER_OF_PACKETS, u32::MAX);
    let (packets, malformed) = made.walk();
    assert_eq!(
        (packets, malformed),
        (vec![packet(1), packet(2)], u64::from(u32::MAX) - 2)
    );
    for first in [0, FIRST as u32 - 1, 1025, u32::MAX] {
        let mut made = whole();
        made.put_u32(FIRST_PACKET, first);
        assert_eq!(made.walk(), (vec![], 3), "{first}");
    }
    // And where it says too little of its length.
    let mut made = whole();
    made.put_u32(USED_BYTES, made.headers[2] as u32 + 8);
    assert_eq!(made.walk(), (vec![packet(1), packet(2)], 1));
    // A length beyond the block is that of the block.
    let mut made = whole();
    made.put_u32(USED_BYTES, u32::MAX);
    assert_eq!(made.walk().0.len(), 3);
    // Blocks that are too short for their own header.
    for bytes in 0..BLOCK_HEADER_BYTES {
        let mut made = whole();
        made.bytes.truncate(bytes);
        assert_eq!(made.walk().0, Vec::<Vec<u8>>::new(), "{bytes}");
    }
}

/// Any change of one or two words: no panic, no byte from outside, at most as many packets as
/// the block says, and every packet is found or counted.
#[test]
fn no_change_of_words_reads_outside() {
    let made = Made::of(1024, &[&[1; 60], &[2; 90], &[3; 14], &[4; 200]]);
    let mut state = 1_u64;
    let mut random = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % bound
    };
    let values = [
        0,
        1,
        4,
        47,
        48,
        60,
        88,
        255,
        1020,
        1024,
        1 << 16,
        u32::MAX - 3,
        u32::MAX,
    ];
    for _ in 0..100_000 {
        let mut changed = Made {
            bytes: made.bytes.clone(),
            headers: Vec::new(),
        };
        for _ in 0..=random(2) {
            let word = random(changed.bytes.len() / 4) * 4;
            changed.put_u32(word, values[random(values.len())]);
        }
        let claimed = u32_at(&changed.bytes, NUMBER_OF_PACKETS).expect("a number");
        let (packets, malformed) = changed.walk();
        assert_eq!(packets.len() as u64 + malformed, u64::from(claimed));
    }
}
