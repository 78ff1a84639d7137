//! Batches of packets with a key for each.

use weir_crypto::{
    AesKeySize, OneTimeKey, OpenOnceJob, SealOnceJob, memcheck, open_once, seal_once,
};

use crate::Case;
use crate::secret::{public, secret};

/// Lengths of text, of which most share lanes.
const TEXTS_BYTES: [usize; 6] = [0, 1, 64, 100, 300, 1500];

/// Packets of each length.
const COPIES: usize = 9;

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
    let prefix = public(8, 1);
    let mut keys: Vec<OneTimeKey> = (0..count)
        .map(|seed| OneTimeKey::new(size, &secret(key_bytes + 4, seed as u8)))
        .collect::<Result<_, _>>()
        .expect("lengths are the key's");
    let mut texts: Vec<Vec<u8>> = (0..count)
        .map(|i| secret(TEXTS_BYTES[i % TEXTS_BYTES.len()], i as u8))
        .collect();
    let mut tags = vec![[0; 16]; count];

    let mut jobs: Vec<SealOnceJob<'_>> = keys
        .iter_mut()
        .zip(&mut texts)
        .zip(&mut tags)
        .map(|((key, text), tag)| SealOnceJob {
            key,
            prefix: &prefix,
            iv: [0; 8],
            text,
            tag,
        })
        .collect();
    seal_once(&mut jobs).expect("lengths are the key's");

    for (text, tag) in texts.iter_mut().zip(&mut tags) {
        memcheck::publish(text);
        memcheck::publish(tag);
    }
    let mut jobs: Vec<OpenOnceJob<'_>> = keys
        .iter()
        .zip(&mut texts)
        .zip(&tags)
        .map(|((key, text), tag)| OpenOnceJob {
            key,
            prefix: &prefix,
            iv: [0; 8],
            text,
            tag,
            verified: false,
        })
        .collect();
    open_once(&mut jobs);
    assert!(jobs.iter().all(|job| job.verified), "{size:?}");
}
