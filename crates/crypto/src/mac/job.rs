//! Tags of a batch of messages.

use weir_simd::Tier;

use super::hmac::{HmacKey, PadStates, PadWord, Pads};
use super::lanes::{HmacLanes, HmacRoom};
use crate::digest::{Digest, Message, longest_first};

/// One message to authenticate.
pub struct MacJob<'a> {
    /// The message's key; keys of different hash functions may be mixed.
    pub key: &'a HmacKey,
    /// The message: parts that follow each other, wherever they lie.
    pub parts: [&'a [u8]; 4],
    /// Output: the tag's first bytes, at most [`HmacKey::most_tag_bytes`].
    pub tag: &'a mut [u8],
}

/// A tag was asked to be longer than its hash function makes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "job {job} of the batch: a tag of {given_bytes} bytes was asked for, {most_bytes} are made"
)]
pub struct TagLengthError {
    /// Index of the first job at fault.
    pub job: usize,
    /// [`HmacKey::most_tag_bytes`].
    pub most_bytes: usize,
    /// What was asked for.
    pub given_bytes: usize,
}

/// Writes the tags of a batch of messages with the kernels of `tier` (of a
/// narrower one where the processor lacks it).
///
/// # Errors
/// The first job whose tag is too long, before any is written.
pub fn write_tags(tier: Tier, jobs: &mut [MacJob<'_>]) -> Result<(), TagLengthError> {
    for (index, job) in jobs.iter().enumerate() {
        let (most_bytes, given_bytes) = (job.key.most_tag_bytes(), job.tag.len());
        if given_bytes > most_bytes {
            return Err(TagLengthError {
                job: index,
                most_bytes,
                given_bytes,
            });
        }
    }
    for digest in Digest::ALL {
        match jobs.iter().find(|job| job.key.digest() == digest) {
            None => {}
            Some(job) => match job.key.pads() {
                Pads::Narrow(pads) => write_tags_of(digest, pads, tier, jobs),
                Pads::Wide(pads) => write_tags_of(digest, pads, tier, jobs),
            },
        }
    }
    Ok(())
}

/// The tags of those jobs whose key is for `digest`, such as `like`.
fn write_tags_of<W: PadWord>(
    digest: Digest,
    like: &PadStates<W>,
    tier: Tier,
    jobs: &mut [MacJob<'_>],
) {
    let is_ours = |job: &MacJob<'_>| job.key.digest() == digest;
    let count = jobs.iter().filter(|job| is_ours(job)).count();
    let mut room = HmacRoom::new(like);
    let mut lanes = HmacLanes::new(like.of, tier, count, &mut room);
    let mut done = |job: &mut MacJob<'_>, state| like.of.write(&state, job.tag);
    let bytes = |job: &MacJob<'_>| job.parts.iter().map(|part| part.len()).sum();
    longest_first(
        jobs,
        |job| is_ours(job).then(|| bytes(job)),
        |_, job| {
            if let Some(pads) = W::pads(job.key) {
                lanes.submit(job, pads, &mut done);
            }
        },
    );
    lanes.finish(&mut done);
}

impl Message for &mut MacJob<'_> {
    fn parts(&self) -> [&[u8]; 4] {
        self.parts
    }
}
