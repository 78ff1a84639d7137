//! AES on single blocks (SP 800-38A section 6.1), which shows equal blocks of a
//! text as equal: for known answers, measurements and what is built of blocks.

use std::fmt;

use weir_simd::Tier;

use crate::cipher::{Block, MOST_ROUND_KEYS, bitslice, expand, rounds};
use crate::fault::{JobError, JobFault};
use crate::keys::KeyError;
use crate::mode::ecb;
use crate::simd::Wiped;
use crate::suite::AesKeySize;

/// An AES key for both directions. Wiped when dropped; `Debug` shows no secret.
pub struct EcbKey {
    round_keys: Wiped<[Block; MOST_ROUND_KEYS]>,
    inverse_keys: Wiped<[Block; MOST_ROUND_KEYS]>,
    size: AesKeySize,
}

/// Some blocks under one key.
pub struct EcbJob<'a> {
    /// Their key.
    pub key: &'a EcbKey,
    /// Processed in place; a multiple of 16 bytes long.
    pub text: &'a mut [u8],
}

impl EcbKey {
    /// Expands `key` with the instructions of `tier`.
    ///
    /// # Errors
    /// A length that is not that of `size`.
    pub fn new(size: AesKeySize, tier: Tier, key: &[u8]) -> Result<EcbKey, KeyError> {
        let wrong_key = KeyError::CipherKey {
            needed_bytes: size.key_bytes(),
            given_bytes: key.len(),
        };
        let round_keys = expand(tier, size, key).map_err(|_| wrong_key)?;
        let mut inverse_keys = round_keys.clone();
        bitslice::invert(&mut inverse_keys[..=rounds(size)]);
        Ok(EcbKey {
            round_keys,
            inverse_keys,
            size,
        })
    }
}

/// Encrypts each block by itself with the kernels of `tier`.
///
/// # Errors
/// The first job with a partial block, found before any byte of any job is
/// written.
pub fn ecb_encrypt(tier: Tier, jobs: &mut [EcbJob<'_>]) -> Result<(), JobError> {
    for_each(jobs, |key, blocks| {
        ecb::encrypt(tier, &key.round_keys[..=rounds(key.size)], blocks);
    })
}

/// Decrypts each block by itself with the kernels of `tier`.
///
/// # Errors
/// As for [`ecb_encrypt`].
pub fn ecb_decrypt(tier: Tier, jobs: &mut [EcbJob<'_>]) -> Result<(), JobError> {
    for_each(jobs, |key, blocks| {
        let used = ..=rounds(key.size);
        ecb::decrypt(tier, &key.round_keys[used], &key.inverse_keys[used], blocks);
    })
}

fn for_each(
    jobs: &mut [EcbJob<'_>],
    apply: impl Fn(&EcbKey, &mut [Block]),
) -> Result<(), JobError> {
    for (index, job) in jobs.iter().enumerate() {
        if !job.text.len().is_multiple_of(16) {
            let fault = JobFault::PartialBlock {
                block_bytes: 16,
                given_bytes: job.text.len(),
            };
            return Err(JobError { job: index, fault });
        }
    }
    for job in jobs {
        apply(job.key, job.text.as_chunks_mut().0);
    }
    Ok(())
}

impl fmt::Debug for EcbKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EcbKey")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
