//! Messages through every hash function, and HMAC with each.

use weir_crypto::{Digest, DigestJob, HmacKey, MacJob, write_tags};

use crate::Case;
use crate::secret::secret;

/// Lengths of message around those of a block and its padding.
const MESSAGES_BYTES: [usize; 7] = [0, 1, 55, 64, 111, 128, 500];

/// Messages of each length.
const COPIES: usize = 5;

/// Keys of HMAC: shorter than a block, and longer, so that they are hashed.
const KEYS_BYTES: [usize; 2] = [20, 200];

/// Two cases for each hash function.
pub fn cases() -> Vec<Case> {
    Digest::ALL
        .into_iter()
        .flat_map(|digest| {
            [
                Case::new(format!("{digest:?}"), move || hash(digest)),
                Case::new(format!("HMAC with {digest:?}"), move || {
                    authenticate(digest)
                }),
            ]
        })
        .collect()
}

fn messages() -> Vec<Vec<u8>> {
    (0..COPIES * MESSAGES_BYTES.len())
        .map(|i| secret(MESSAGES_BYTES[i % MESSAGES_BYTES.len()], i as u8))
        .collect()
}

fn hash(digest: Digest) {
    let messages = messages();
    let mut digests = vec![vec![0; digest.bytes()]; messages.len()];
    let mut jobs: Vec<DigestJob<'_>> = messages
        .iter()
        .zip(&mut digests)
        .map(|(message, digest)| DigestJob { message, digest })
        .collect();
    digest
        .hash(weir_simd::tier(), &mut jobs)
        .expect("lengths are the hash's");
}

fn authenticate(digest: Digest) {
    for key_bytes in KEYS_BYTES {
        let key = HmacKey::new(digest, &secret(key_bytes, 1));
        let messages = messages();
        let mut tags = vec![vec![0; digest.bytes()]; messages.len()];
        let mut jobs: Vec<MacJob<'_>> = messages
            .iter()
            .zip(&mut tags)
            .map(|(message, tag)| MacJob {
                key: &key,
                parts: [&[], message, &[], &[]],
                tag,
            })
            .collect();
        write_tags(weir_simd::tier(), &mut jobs).expect("lengths are the hash's");
    }
}
