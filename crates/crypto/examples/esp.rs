//! ESP packets with AES-128-GCM (RFC 4303 and RFC 4106), sealed and opened: the protocol whose
//! packets carry everything that their receiver needs.
//!
//! ```text
//! 0     4                 8    16
//! │ SPI │ sequence number │ IV │ payload and ESP trailer │ tag, 16 bytes │
//! └──────── AAD ──────────┘
//! ```
//!
//! `cargo run -p weir-crypto --example esp`

use std::error::Error;

use weir_crypto::{Descriptor, KeyMaterial, Layout, Opener, OpeningKey, Sealer, SealingKey, Suite};

/// SPI and sequence number.
const AAD_BYTES: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let suite = Suite::parse("aes-128-gcm-16")?;
    // The key of 16 bytes, and the salt of 4 behind it, as IKE hands them out.
    let keys = [0x42; 20];
    let spi: u32 = 0xc0de_0001;

    // Sequence numbers begin at 1. The key of a security association that survives a restart
    // begins behind the last number that was reserved before.
    let mut sealer = Sealer::new();
    let key = SealingKey::new(KeyMaterial::new(suite, &keys, &[])?, 1..)?;
    let iv_bytes = key.iv_bytes();
    let key = sealer.add(key);

    // Four packets of 1400 bytes, each with space for header, IV and tag.
    let payload_bytes = 1400;
    let packet_bytes = AAD_BYTES + iv_bytes + payload_bytes + suite.tag_bytes();
    let mut buffer = vec![0x5a; 4 * packet_bytes];
    let packets = (0..4).map(|index| Descriptor {
        key,
        offset: (index * packet_bytes) as u32,
        layout: Layout {
            aad_bytes: AAD_BYTES as u16,
            payload_bytes: payload_bytes as u32,
            ..Layout::default()
        },
        ..Descriptor::default()
    });

    // `push` returns the number of the packet, from which Weir makes the IV. It is also the
    // sequence number, which the caller writes before `run`: it is authenticated.
    let mut batch = sealer.batch(&mut buffer);
    for packet in packets.clone() {
        let number = batch.push(packet)?;
        let aad = &mut batch.buffer_mut()[packet.offset as usize..][..AAD_BYTES];
        aad[..4].copy_from_slice(&spi.to_be_bytes());
        aad[4..].copy_from_slice(&(number as u32).to_be_bytes());
    }
    assert!(batch.run().all_good());

    // The third packet is damaged on its way.
    buffer[2 * packet_bytes + 100] ^= 1;

    // The receiver needs the keys alone: the IV is in the packet.
    let mut opener = Opener::new();
    let key = opener.add(OpeningKey::new(&KeyMaterial::new(suite, &keys, &[])?)?);
    let mut batch = opener.batch(&mut buffer);
    for packet in packets {
        batch.push(Descriptor { key, ..packet })?;
    }
    let verdicts = batch.run();

    // Packets that are good go through the anti-replay window next (RFC 4303, section 3.4.3),
    // which is the receiver's.
    assert_eq!(
        verdicts.iter().collect::<Vec<_>>(),
        [true, true, false, true]
    );
    for (packet, is_good) in buffer.chunks(packet_bytes).zip(verdicts.iter()) {
        let opened = &packet[AAD_BYTES + iv_bytes..][..payload_bytes];
        let expected = if is_good { 0x5a } else { 0 };
        assert!(opened.iter().all(|byte| *byte == expected));
    }
    println!("{} of {} packets are good", verdicts.good(), verdicts.len());
    Ok(())
}
