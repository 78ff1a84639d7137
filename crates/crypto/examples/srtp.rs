//! SRTP packets with AEAD_AES_128_GCM (RFC 7714) of two sources that share a key.
//!
//! ```text
//! 0       2                 4           8      12
//! │ flags │ sequence number │ timestamp │ SSRC │ payload │ tag, 16 bytes │
//! └─────────────────── AAD ────────────────────┘
//! ```
//!
//! Each source has its own SSRC and counts by itself: to Weir it is a context of the key. A
//! packet's number is its rollover counter (ROC) and its sequence number, of which the packet
//! carries the lower 16 bits alone.
//!
//! `cargo run -p weir-crypto --example srtp`

use std::error::Error;

use weir_crypto::{
    Descriptor, KeyMaterial, Layout, NonceRule, Opener, OpeningKey, Refusal, Sealer, SealingKey,
    Suite,
};

const HEADER_BYTES: usize = 12;
/// 20 ms of speech.
const PAYLOAD_BYTES: usize = 160;
const PACKET_BYTES: usize = HEADER_BYTES + PAYLOAD_BYTES + 16;
const SOURCES: [u32; 2] = [0x1111_2222, 0x3333_4444];

fn main() -> Result<(), Box<dyn Error>> {
    let suite = Suite::parse("aes-128-gcm-16")?;
    // Session key and session salt, as the key derivation of SRTP makes them.
    let (key, salt) = ([0x42; 16], [0x17; 12]);
    let material = || KeyMaterial::with_nonces(suite, &key, NonceRule::Srtp(salt));

    // Each source begins at a sequence number of its choice, here shortly before the first
    // overflow of 16 bits, after which ROC is 1.
    let first: u64 = 0xfffe;
    let mut key = SealingKey::new(material()?, 0..)?;
    for ssrc in SOURCES {
        key.add_context(ssrc, first..)?;
    }
    let mut sealer = Sealer::new();
    let key = sealer.add(key);

    // Four packets of each source. RTP numbers its packets, so that they are pushed with their
    // numbers, which ascend within a context.
    let packets: Vec<(u32, u64)> = (first..first + 4)
        .flat_map(|number| SOURCES.map(|ssrc| (ssrc, number)))
        .collect();
    let mut buffer = vec![0x5a; packets.len() * PACKET_BYTES];
    let mut batch = sealer.batch(&mut buffer);
    for (index, (ssrc, number)) in packets.iter().enumerate() {
        let at = index * PACKET_BYTES;
        let header = &mut batch.buffer_mut()[at..][..HEADER_BYTES];
        header[..2].copy_from_slice(&[0x80, 0]);
        header[2..4].copy_from_slice(&(*number as u16).to_be_bytes());
        header[8..].copy_from_slice(&ssrc.to_be_bytes());
        batch.push_numbered(
            Descriptor {
                key,
                ..rtp(at, *ssrc)
            },
            *number,
        )?;
    }
    assert!(batch.run().all_good());

    // No number is used twice, and no source that was not declared.
    let mut batch = sealer.batch(&mut buffer);
    let again = Descriptor {
        key,
        ..rtp(0, SOURCES[0])
    };
    let refusal = batch.push_numbered(again, first);
    assert!(matches!(refusal, Err(Refusal::NumberUsed { .. })));
    let unknown = Descriptor {
        context: 7,
        ..again
    };
    assert_eq!(
        batch.push_numbered(unknown, first + 9),
        Err(Refusal::NoContext { context: 7 })
    );
    drop(batch);

    // The receiver reads SSRC and sequence number, and tracks ROC for each source.
    let mut opener = Opener::new();
    let key = opener.add(OpeningKey::new(&material()?)?);
    let mut highest = SOURCES.map(|ssrc| (ssrc, first));
    let mut batch = opener.batch(&mut buffer);
    for index in 0..packets.len() {
        let at = index * PACKET_BYTES;
        let header = &batch.buffer_mut()[at..][..HEADER_BYTES];
        let sequence_number = u16::from_be_bytes([header[2], header[3]]);
        let ssrc = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
        let source = highest.iter_mut().find(|source| source.0 == ssrc);
        let source = source.ok_or("an unknown source")?;
        let number = estimate(source.1, sequence_number);
        // A receiver updates this after the packet was verified; here no packet is damaged.
        source.1 = source.1.max(number);
        batch.push_numbered(
            Descriptor {
                key,
                ..rtp(at, ssrc)
            },
            number,
        )?;
    }
    assert!(batch.run().all_good());
    assert!(
        buffer
            .chunks(PACKET_BYTES)
            .all(|packet| packet[HEADER_BYTES..][..PAYLOAD_BYTES] == [0x5a; PAYLOAD_BYTES])
    );
    assert_eq!(highest.map(|source| source.1 >> 16), [1, 1]);
    println!("{} packets of two sources are good", packets.len());
    Ok(())
}

fn rtp(offset: usize, ssrc: u32) -> Descriptor {
    Descriptor {
        context: ssrc,
        offset: offset as u32,
        layout: Layout {
            aad_bytes: HEADER_BYTES as u16,
            payload_bytes: PAYLOAD_BYTES as u32,
            ..Layout::default()
        },
        ..Descriptor::default()
    }
}

/// The number with these lower 16 bits that is nearest to `highest`: RFC 3711, section 3.3.1.
fn estimate(highest: u64, sequence_number: u16) -> u64 {
    let distance = sequence_number.wrapping_sub(highest as u16) as i16;
    highest.saturating_add_signed(distance.into())
}
