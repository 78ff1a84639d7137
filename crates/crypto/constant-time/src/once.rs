//! Batches of packets with a key for each.

use weir_crypto::{AesKeySize, OneTimeKeys, Place, memcheck, open_once, seal_once};

use crate::Case;
use crate::secret::{public, secret};

/// Lengths of text, of which most share lanes.
const TEXTS_BYTES: [usize; 6] = [0, 1, 64, 100, 300, 1500];

/// Packets of each length.
const COPIES: usize = 9;

const PREFIX_BYTES: usize = 8;
const IV_BYTES: usize = 8;
const TAG_BYTES: usize = 16;

/// A case for each size of key.
pub fn cases() -> Vec<Case> {
    [
        (AesKeySize::Aes128, 16),
        (AesKeySize::Aes192, 24),
        (AesKeySize::Aes256, 32),
    ]
    .into_iter()
    .map(|(size, key_bytes)| {
        Case::new(format!("{size:?} one-time keys"), move || {
            seal_and_open(size, key_bytes);
        })
    })
    .collect()
}

fn seal_and_open(size: AesKeySize, key_bytes: usize) {
    let count = COPIES * TEXTS_BYTES.len();
    let make_keys = || {
        let mut keys = OneTimeKeys::new(size).expect("an engine");
        for seed in 0..count {
            keys.push(&secret(key_bytes + 4, seed as u8))
                .expect("lengths are the key's");
        }
        keys
    };
    let mut buffer = Vec::new();
    let mut places = Vec::new();
    for (seed, text_bytes) in (0..count).zip(TEXTS_BYTES.into_iter().cycle()) {
        places.push(Place {
            offset: buffer.len() as u32,
            prefix_bytes: PREFIX_BYTES as u16,
            gap_bytes: 0,
            text_bytes: text_bytes as u32,
        });
        buffer.extend(public(PREFIX_BYTES + IV_BYTES, seed as u8));
        buffer.extend(secret(text_bytes, seed as u8));
        buffer.extend(public(TAG_BYTES, seed as u8));
    }
    seal_once(&mut make_keys(), &mut buffer, &places).expect("a row of packets");

    // What is sent is public.
    memcheck::publish(&mut buffer);
    let mut verified = Vec::new();
    open_once(&make_keys(), &mut buffer, &places, &mut verified).expect("a row of packets");
    assert!(verified.into_iter().all(|verified| verified), "{size:?}");
}
