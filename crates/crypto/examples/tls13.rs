//! Application data records of TLS 1.3 (RFC 8446, section 5.2), sealed and opened.
//!
//! ```text
//! 0    1          3        5
//! │ 23 │ 0x03 0x03 │ length │ content │ type │ zeros │ tag, 16 bytes │
//! └───────── AAD ──────────┘ └──── inner plaintext ───┘
//! ```
//!
//! Records carry no number: both ends count from 0 under each traffic key.
//!
//! `cargo run -p weir-crypto --example tls13`

use std::error::Error;

use weir_crypto::{
    Descriptor, KeyId, KeyMaterial, Layout, NonceRule, Opener, OpeningKey, Sealer, SealingKey,
    Suite,
};

const HEADER_BYTES: usize = 5;
const TAG_BYTES: usize = 16;
/// Full records that a key of AES-GCM may protect are 2^24.5 (RFC 8446, section 5.5): a key update
/// comes before.
const MAX_RECORDS: u64 = 1 << 24;
/// The content types of application data, which every record shows, and of alerts.
const APPLICATION_DATA: u8 = 23;
const ALERT: u8 = 21;

fn main() -> Result<(), Box<dyn Error>> {
    let suite = Suite::parse("aes-256-gcm-16")?;
    // `key` and `iv` are derived from a traffic secret (section 7.3).
    let (key, iv) = ([0x42; 32], [0x17; 12]);
    let material = || KeyMaterial::with_nonces(suite, &key, NonceRule::Xor(iv));

    let mut sealer = Sealer::new();
    let sealing_key = sealer.add(SealingKey::new(material()?, 0..MAX_RECORDS)?);

    // Two records of data and an alert that closes the connection, padded to hide its length.
    let sent: [(u8, &[u8], usize); 3] = [
        (APPLICATION_DATA, b"GET / HTTP/1.1\r\n", 0),
        (APPLICATION_DATA, &[7; 16_000], 0),
        (ALERT, &[1, 0], 61),
    ];
    let mut buffer = Vec::new();
    let mut records = Vec::new();
    for (content_type, content, padding) in sent {
        let inner_bytes = content.len() + 1 + padding;
        records.push(record(sealing_key, buffer.len(), inner_bytes));
        let length = u16::try_from(inner_bytes + TAG_BYTES)?.to_be_bytes();
        buffer.extend([APPLICATION_DATA, 3, 3, length[0], length[1]]);
        buffer.extend(content);
        buffer.push(content_type);
        buffer.resize(buffer.len() + padding + TAG_BYTES, 0);
    }
    let mut batch = sealer.batch(&mut buffer);
    for record in &records {
        batch.push(*record)?;
    }
    assert!(batch.run().all_good());

    // The receiver finds the records by their lengths and counts them.
    let mut opener = Opener::new();
    let opening_key = opener.add(OpeningKey::new(&material()?)?);
    let mut next_number = 0;
    let mut received = Vec::new();
    let mut at = 0;
    while let Some([_, _, _, high, low]) = buffer.get(at..).and_then(|rest| rest.first_chunk()) {
        let sealed_bytes = usize::from(u16::from_be_bytes([*high, *low]));
        let inner_bytes = sealed_bytes
            .checked_sub(TAG_BYTES)
            .ok_or("a short record")?;
        received.push(record(opening_key, at, inner_bytes));
        at += HEADER_BYTES + sealed_bytes;
    }
    let mut batch = opener.batch(&mut buffer);
    for record in &received {
        batch.push_numbered(*record, next_number)?;
        next_number += 1;
    }
    // One bad record ends a TLS connection.
    assert!(batch.run().all_good());

    for (record, (content_type, content, _)) in received.iter().zip(sent) {
        let inner = &buffer[record.offset as usize + HEADER_BYTES..];
        let inner = &inner[..record.layout.payload_bytes as usize];
        // The type is the last byte that is not zero.
        let end = inner.iter().rposition(|byte| *byte != 0);
        let (opened, rest) = inner.split_at(end.ok_or("a record without type")?);
        assert_eq!((opened, rest[0]), (content, content_type));
        println!("type {}: {} bytes", rest[0], opened.len());
    }
    Ok(())
}

/// A record at `offset`, whose inner plaintext has `inner_bytes`.
fn record(key: KeyId, offset: usize, inner_bytes: usize) -> Descriptor {
    Descriptor {
        key,
        offset: offset as u32,
        layout: Layout {
            aad_bytes: HEADER_BYTES as u16,
            payload_bytes: inner_bytes as u32,
            ..Layout::default()
        },
        ..Descriptor::default()
    }
}
