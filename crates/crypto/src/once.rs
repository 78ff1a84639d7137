//! A new key for every packet: raw keys, which kernels expand in lanes on the
//! way, so that setting a key up costs no more than copying it.

use std::fmt;

use zeroize::Zeroizing;

use crate::aead::gcm::{self, Form, GcmJob, KeyView, Packet};
use crate::cipher::Block;
use crate::engine::{Family, tier_in_use, trusted_tier};
use crate::job::{JobError, JobFault, Lengths, Shape};
use crate::keys::KeyError;
use crate::lane_use::LaneUse;
use crate::suite::{Aead, AesKeySize, Suite};

/// An AES-GCM key that seals one packet: with any IV, since no second text will
/// be sealed under it. It needs no counter and no memory beyond itself. Neither
/// `Clone` nor serializable; wiped when dropped; `Debug` shows no secret. Who
/// makes two of the same bytes gives this up.
pub struct OneTimeKey {
    /// The key, and zeros behind it.
    words: Zeroizing<[u64; 4]>,
    salt: [u8; 4],
    size: AesKeySize,
    spent: bool,
}

/// One packet to encrypt and tag under a key of its own, laid out as in
/// [`crate::SealJob`].
pub struct SealOnceJob<'a> {
    /// The packet's key; spent by [`seal_once`].
    pub key: &'a mut OneTimeKey,
    /// As in [`crate::SealJob::prefix`].
    pub prefix: &'a [u8],
    /// Input; any value will do.
    pub iv: [u8; 8],
    /// Encrypted in place.
    pub text: &'a mut [u8],
    /// Output, 16 bytes.
    pub tag: &'a mut [u8],
}

/// One packet to verify and decrypt under a key of its own.
pub struct OpenOnceJob<'a> {
    /// The packet's key, spent or not.
    pub key: &'a OneTimeKey,
    /// As in [`crate::SealJob::prefix`].
    pub prefix: &'a [u8],
    /// As received.
    pub iv: [u8; 8],
    /// Decrypted in place; zeros where the packet does not verify.
    pub text: &'a mut [u8],
    /// As received, 16 bytes.
    pub tag: &'a [u8],
    /// Output of [`open_once`].
    pub verified: bool,
}

impl OneTimeKey {
    /// A key of AES-GCM: `key` is followed by four bytes of salt, as in
    /// [`crate::KeyMaterial::new`].
    ///
    /// # Errors
    /// A length that is not that of `size`, or [`KeyError::NoEngine`].
    #[inline]
    pub fn new(size: AesKeySize, key: &[u8]) -> Result<OneTimeKey, KeyError> {
        let wrong_key = KeyError::CipherKey {
            needed_bytes: size.key_bytes() + 4,
            given_bytes: key.len(),
        };
        let (key, salt) = key.split_last_chunk().ok_or(wrong_key)?;
        if key.len() != size.key_bytes() {
            return Err(wrong_key);
        }
        trusted_tier(Family::Gcm).ok_or(KeyError::NoEngine)?;
        let mut words = Zeroizing::new([0; 4]);
        for (word, bytes) in words.iter_mut().zip(key.as_chunks().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        Ok(OneTimeKey {
            words,
            salt: *salt,
            size,
            spent: false,
        })
    }

    fn suite(&self) -> Suite {
        Suite::Aead(Aead::AesGcm16(self.size))
    }

    #[inline]
    fn packet<'a>(&'a self, iv: [u8; 8], associated: &'a [u8], text: &'a mut [u8]) -> Packet<'a> {
        Packet {
            key: KeyView {
                size: self.size,
                form: Form::Raw,
                bytes: &gcm::bytes_of_words(&self.words)[..self.size.key_bytes()],
            },
            nonce: gcm::nonce(self.salt, iv),
            associated,
            text: gcm::cells(text),
        }
    }
}

/// Encrypts and tags a batch of packets, each under a key of its own. Keys are
/// spent. Returns how full the lanes were.
///
/// # Errors
/// The first job whose key is spent or whose tag or text has a wrong length,
/// found before any byte of any job is written and before any key is spent.
pub fn seal_once(jobs: &mut [SealOnceJob<'_>]) -> Result<LaneUse, JobError> {
    let lengths = lengths();
    for (index, job) in jobs.iter().enumerate() {
        job.check(lengths)
            .map_err(|fault| JobError { job: index, fault })?;
    }
    Ok(gcm::process(tier_in_use(Family::Gcm), jobs))
}

/// Verifies a batch of packets, each under a key of its own, and decrypts those
/// that are authentic, as [`crate::open`] does.
pub fn open_once(jobs: &mut [OpenOnceJob<'_>]) -> LaneUse {
    let lengths = lengths();
    for job in &mut *jobs {
        let shape = shape(job.text.len(), job.tag.len());
        job.verified = lengths.check(shape, job.key.suite()).is_ok();
        if !job.verified {
            job.text.fill(0);
        }
    }
    gcm::process(tier_in_use(Family::Gcm), jobs)
}

/// Those of AES-GCM, which are the same for all sizes of keys.
fn lengths() -> Lengths {
    Lengths::of(Suite::Aead(Aead::AesGcm16(AesKeySize::Aes128)))
}

fn shape(text_bytes: usize, tag_bytes: usize) -> Shape {
    Shape {
        prefix_bytes: 0,
        iv_bytes: 8,
        text_bytes,
        suffix_bytes: 0,
        tag_bytes,
    }
}

impl SealOnceJob<'_> {
    fn check(&self, lengths: Lengths) -> Result<(), JobFault> {
        if self.key.spent {
            return Err(JobFault::SpentKey);
        }
        let shape = shape(self.text.len(), self.tag.len());
        lengths.check(shape, self.key.suite())
    }
}

impl GcmJob for SealOnceJob<'_> {
    const OPEN: bool = false;

    #[inline]
    fn packet(&mut self) -> Option<Packet<'_>> {
        Some(self.key.packet(self.iv, self.prefix, self.text))
    }

    /// The key is spent.
    #[inline]
    fn begin(&mut self) -> Option<Packet<'_>> {
        self.key.spent = true;
        self.packet()
    }

    #[inline]
    fn finish(&mut self, tag: &Block) {
        if let Some(place) = self.tag.first_chunk_mut() {
            *place = *tag;
        }
    }
}

impl GcmJob for OpenOnceJob<'_> {
    const OPEN: bool = true;

    #[inline]
    fn packet(&mut self) -> Option<Packet<'_>> {
        // Lengths that are not GCM's were refused before.
        self.verified
            .then(|| self.key.packet(self.iv, self.prefix, self.text))
    }

    #[inline]
    fn finish(&mut self, tag: &Block) {
        self.verified = gcm::tags_agree(self.tag, tag);
        if !self.verified {
            self.text.fill(0);
        }
    }
}

impl fmt::Debug for OneTimeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneTimeKey")
            .field("size", &self.size)
            .field("spent", &self.spent)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyMaterial, OpenJob, OpeningKey, open};

    #[test]
    fn a_key_seals_one_packet_only_and_opens_it_as_any_other_key_does() {
        let bytes: Vec<u8> = (0..36).collect();
        for size in [AesKeySize::Aes128, AesKeySize::Aes192, AesKeySize::Aes256] {
            let bytes = &bytes[..size.key_bytes() + 4];
            let mut key = OneTimeKey::new(size, bytes).expect("a key");
            let (mut text, mut tag) = ([7; 100], [0; 16]);
            let iv = *b"any will";
            let seal = |key: &mut OneTimeKey, text: &mut [u8], tag: &mut [u8]| {
                seal_once(&mut [SealOnceJob {
                    key,
                    prefix: b"header",
                    iv,
                    text,
                    tag,
                }])
            };
            assert!(seal(&mut key, &mut text, &mut tag).is_ok());
            let refused = JobError {
                job: 0,
                fault: JobFault::SpentKey,
            };
            let before = text;
            assert_eq!(seal(&mut key, &mut text, &mut tag), Err(refused));
            assert_eq!(text, before);

            let suite = Suite::Aead(Aead::AesGcm16(size));
            let material = KeyMaterial::new(suite, bytes, &[]).expect("a key");
            let opening = OpeningKey::new(&material).expect("a key");
            let mut copy = text;
            let mut jobs = [OpenJob {
                key: &opening,
                prefix: b"header",
                iv: &iv,
                text: &mut copy,
                suffix: b"",
                tag: &tag,
                verified: false,
            }];
            open(&mut jobs);
            assert!(jobs[0].verified && copy == [7; 100]);

            for (flipped, expected) in [(0, [7; 100]), (1, [0; 100])] {
                tag[0] ^= flipped;
                let mut copy = text;
                let mut jobs = [OpenOnceJob {
                    key: &key,
                    prefix: b"header",
                    iv,
                    text: &mut copy,
                    tag: &tag,
                    verified: false,
                }];
                open_once(&mut jobs);
                assert_eq!(jobs[0].verified, flipped == 0);
                assert_eq!(copy, expected);
            }
        }
    }

    #[test]
    fn keys_and_tags_of_wrong_lengths_are_refused() {
        let error = OneTimeKey::new(AesKeySize::Aes128, &[0; 16]).expect_err("no salt");
        let expected = KeyError::CipherKey {
            needed_bytes: 20,
            given_bytes: 16,
        };
        assert_eq!(error, expected);
        assert!(OneTimeKey::new(AesKeySize::Aes256, &[0; 3]).is_err());

        let mut key = OneTimeKey::new(AesKeySize::Aes128, &[0; 20]).expect("a key");
        let mut jobs = [SealOnceJob {
            key: &mut key,
            prefix: b"",
            iv: [0; 8],
            text: &mut [1; 4],
            tag: &mut [2; 12],
        }];
        let fault = JobFault::Tag {
            needed_bytes: 16,
            given_bytes: 12,
        };
        assert_eq!(seal_once(&mut jobs), Err(JobError { job: 0, fault }));
        assert_eq!((&*jobs[0].text, &*jobs[0].tag), (&[1; 4][..], &[2; 12][..]));
    }
}
