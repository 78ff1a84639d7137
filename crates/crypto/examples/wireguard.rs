//! Transport data messages of WireGuard (its paper, section 5.4.6), sealed and opened.
//!
//! ```text
//! 0      4          8         16
//! │ type │ receiver │ counter │ payload, padded to 16 │ tag, 16 bytes │
//! ```
//!
//! The header is not authenticated: to Weir it is a gap in front of the payload. The counter is
//! the packet's number and makes its nonce.
//!
//! `cargo run -p weir-crypto --example wireguard`

use std::error::Error;

use weir_crypto::{
    Descriptor, KeyId, KeyMaterial, Layout, NonceRule, Opener, OpeningKey, Sealer, SealingKey,
    Suite,
};

/// A message's type, receiver and counter.
const HEADER_BYTES: usize = 16;
const TAG_BYTES: usize = 16;
/// The type of data messages.
const DATA: u32 = 4;
/// Messages that one key may protect: REJECT-AFTER-MESSAGES of section 6.1.
const REJECT_AFTER_MESSAGES: u64 = u64::MAX - (1 << 13);

fn main() -> Result<(), Box<dyn Error>> {
    // In use, the handshake makes one key for each direction. The receiver of a message finds
    // the key by the index that it has chosen itself.
    let key = [0x42; 32];
    let receiver_index: u32 = 0x1234;
    let suite = Suite::parse("chacha20-poly1305")?;
    let material = || KeyMaterial::with_nonces(suite, &key, NonceRule::LittleEndian);

    // The sender. Its key owns the counter: the range says which numbers it may use.
    let mut sealer = Sealer::new();
    let sealing_key = sealer.add(SealingKey::new(material()?, 0..REJECT_AFTER_MESSAGES)?);

    // Messages lie behind one another in one buffer. Each has space for its header and its tag.
    let payloads: [&[u8]; 3] = [b"a packet", b"", &[7; 1420]];
    let mut buffer = Vec::new();
    let mut messages = Vec::new();
    for payload in payloads {
        let padded_bytes = payload.len().next_multiple_of(16);
        messages.push(data_message(sealing_key, buffer.len(), padded_bytes));
        buffer.extend([0; HEADER_BYTES]);
        buffer.extend(payload);
        buffer.resize(buffer.len() + padded_bytes - payload.len() + TAG_BYTES, 0);
    }

    // `push` takes a message into the batch and returns its number, which is the counter.
    // Nothing is encrypted before `run`.
    let mut batch = sealer.batch(&mut buffer);
    for message in &messages {
        let counter = batch.push(*message)?;
        let header = &mut batch.buffer_mut()[message.offset as usize..][..HEADER_BYTES];
        header[..4].copy_from_slice(&DATA.to_le_bytes());
        header[4..8].copy_from_slice(&receiver_index.to_le_bytes());
        header[8..].copy_from_slice(&counter.to_le_bytes());
    }
    let verdicts = batch.run();
    // Messages whose verdict is bad must not be sent; their payloads are zeros.
    assert!(verdicts.all_good());

    // On the way, somebody changes the second message.
    buffer[messages[1].offset as usize + HEADER_BYTES] ^= 1;

    // The receiver reads the counter from each header and hands it to Weir.
    let mut opener = Opener::new();
    let opening_key = opener.add(OpeningKey::new(&material()?)?);
    let mut batch = opener.batch(&mut buffer);
    for message in &messages {
        let header = &batch.buffer_mut()[message.offset as usize..][..HEADER_BYTES];
        let counter = u64::from_le_bytes(*header.last_chunk().ok_or("no header")?);
        assert_eq!(header[4..8], receiver_index.to_le_bytes());
        let received = Descriptor {
            key: opening_key,
            ..*message
        };
        batch.push_numbered(received, counter)?;
    }
    let verdicts = batch.run();

    // Weir verifies tags. Replayed messages are authentic too: it is for the receiver to drop
    // those whose counter it has seen, here, after they were verified.
    assert_eq!(verdicts.iter().collect::<Vec<_>>(), [true, false, true]);
    for ((message, payload), is_good) in messages.iter().zip(payloads).zip(verdicts.iter()) {
        let opened = &buffer[message.offset as usize + HEADER_BYTES..];
        if is_good {
            assert!(opened.starts_with(payload));
        }
        println!("{} bytes: authentic: {is_good}", payload.len());
    }
    Ok(())
}

/// Where the message at `offset` has its parts.
fn data_message(key: KeyId, offset: usize, padded_bytes: usize) -> Descriptor {
    Descriptor {
        key,
        offset: offset as u32,
        layout: Layout {
            gap_bytes: HEADER_BYTES as u8,
            payload_bytes: padded_bytes as u32,
            ..Layout::default()
        },
        ..Descriptor::default()
    }
}
