//! 1-RTT packets of QUIC (RFC 9001, section 5), sealed and opened, with header protection.
//!
//! ```text
//! 0       1               9               9 + 1..=4
//! │ flags │ connection ID │ packet number │ frames │ tag, 16 bytes │
//! └──────────────────── AAD ──────────────┘
//!                         │ ◄─ 4 bytes ─► ◄─ sample, 16 bytes ─►
//! ```
//!
//! The sender seals packets and masks their headers then. The receiver removes the masks, learns
//! the packet numbers, and opens the packets.
//!
//! `cargo run -p weir-crypto --example quic`

use std::error::Error;

use weir_crypto::header::{HeaderKey, HeaderProtector, apply_mask, remove_mask};
use weir_crypto::{
    Descriptor, KeyId, KeyMaterial, Layout, NonceRule, Opener, OpeningKey, Refusal, Sealer,
    SealingKey, Suite,
};

const CONNECTION_ID: [u8; 8] = [0xc0; 8];
/// Where the packet number begins: behind the flags and the connection ID.
const NUMBER_AT: usize = 1 + CONNECTION_ID.len();
const TAG_BYTES: usize = 16;
/// Packets that a key of AES-GCM may protect: RFC 9001, section 6.6.
const CONFIDENTIALITY_LIMIT: u64 = 1 << 23;
/// All packets are as long as the first packets of a path.
const PACKET_BYTES: usize = 1200;

fn main() -> Result<(), Box<dyn Error>> {
    let suite = Suite::parse("aes-128-gcm-16")?;
    // `quic key`, `quic iv` and `quic hp` are derived from a traffic secret (section 5.1).
    let (key, iv, header_key) = ([0x42; 16], [0x17; 12], [0x99; 16]);
    let material = || KeyMaterial::with_nonces(suite, &key, NonceRule::Xor(iv));

    // The key may use numbers from 1000 on, up to its limit: pushing more is refused, and the
    // sender updates its keys before.
    let mut sealer = Sealer::new();
    let sealing_key = sealer.add(SealingKey::new(material()?, 1000..CONFIDENTIALITY_LIMIT)?);
    let mut protector = HeaderProtector::new();
    let header_key = protector.add(HeaderKey::new(suite, &header_key)?);

    // Packets behind one another. The peer has acknowledged packet 996, so that two bytes are
    // enough for packet numbers (RFC 9000, section 17.1). The header is authenticated: the
    // number is written when `push` has returned it, before `run`.
    let number_bytes = 2;
    let mut buffer = vec![0x5a; 8 * PACKET_BYTES];
    let offsets: Vec<usize> = (0..buffer.len()).step_by(PACKET_BYTES).collect();
    let mut batch = sealer.batch(&mut buffer);
    for offset in &offsets {
        let number = batch.push(packet(sealing_key, *offset, number_bytes))?;
        let packet = &mut batch.buffer_mut()[*offset..];
        packet[0] = 0x40 | (number_bytes - 1) as u8;
        packet[1..NUMBER_AT].copy_from_slice(&CONNECTION_ID);
        packet[NUMBER_AT..][..number_bytes].copy_from_slice(&(number as u16).to_be_bytes());
    }
    assert!(batch.run().all_good());

    // The masks of all packets are made at once, from their ciphertexts.
    let mut batch = protector.batch(&buffer);
    for offset in &offsets {
        batch.push(header_key, (offset + NUMBER_AT + 4) as u32)?;
    }
    for (mask, offset) in batch.run().iter().zip(&offsets) {
        let (first_byte, number) = header(&mut buffer[*offset..]);
        apply_mask(first_byte, &mut number[..number_bytes], mask);
    }

    // The last packet is damaged on its way.
    let last = buffer.len() - 1;
    buffer[last] ^= 1;

    // The receiver, which has the same header key. A packet too short to have a sample is
    // refused, and dropped.
    let mut batch = protector.batch(&buffer);
    for offset in &offsets {
        batch.push(header_key, (offset + NUMBER_AT + 4) as u32)?;
    }
    let too_short = batch.push(header_key, last as u32);
    assert!(matches!(too_short, Err(Refusal::OutOfBuffer { .. })));
    let masks = batch.run();
    let mut opener = Opener::new();
    let opening_key = opener.add(OpeningKey::new(&material()?)?);
    let mut received = Vec::new();
    for (mask, offset) in masks.iter().zip(&offsets) {
        let (first_byte, number) = header(&mut buffer[*offset..]);
        let bytes = remove_mask(first_byte, number, mask);
        let truncated = number[..bytes]
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        // The highest number that was received so far is 999.
        let number = decode_number(999, truncated, bytes);
        received.push((packet(opening_key, *offset, bytes), number));
    }
    let mut batch = opener.batch(&mut buffer);
    for (packet, number) in &received {
        batch.push_numbered(*packet, *number)?;
    }
    let verdicts = batch.run();
    // Packets that are good may still be duplicates, which the receiver drops.
    for (index, (packet, number)) in received.iter().enumerate() {
        let frames = &buffer[packet.offset as usize + NUMBER_AT + number_bytes];
        assert_eq!(*number, 1000 + index as u64);
        assert_eq!(verdicts.is_good(index), index != 7);
        assert_eq!(*frames, if index != 7 { 0x5a } else { 0 });
    }
    println!("{} of {} packets are good", verdicts.good(), verdicts.len());
    Ok(())
}

fn packet(key: KeyId, offset: usize, number_bytes: usize) -> Descriptor {
    let header_bytes = NUMBER_AT + number_bytes;
    Descriptor {
        key,
        offset: offset as u32,
        layout: Layout {
            aad_bytes: header_bytes as u16,
            payload_bytes: (PACKET_BYTES - header_bytes - TAG_BYTES) as u32,
            ..Layout::default()
        },
        ..Descriptor::default()
    }
}

/// The first byte of a packet, and the up to four bytes of its packet number.
fn header(packet: &mut [u8]) -> (&mut u8, &mut [u8]) {
    let (first_byte, rest) = packet.split_at_mut(1);
    (&mut first_byte[0], &mut rest[NUMBER_AT - 1..][..4])
}

/// RFC 9000, appendix A.3: the number with these lower bytes that is nearest to the next one.
fn decode_number(highest: u64, truncated: u64, bytes: usize) -> u64 {
    let window = 1 << (8 * bytes);
    let expected = highest + 1;
    let candidate = expected & !(window - 1) | truncated;
    if candidate + window / 2 <= expected && candidate < (1 << 62) - window {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}
