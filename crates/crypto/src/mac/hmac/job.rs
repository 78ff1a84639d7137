//! Tags of a batch of messages.

use weir_simd::Tier;

use super::key::{HmacKey, PadStates, PadWord, Pads};
use super::lanes::{HmacLanes, HmacRoom};
use crate::digest::{Digest, Message, longest_first, total_bytes};

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
    write_all(tier, jobs);
    Ok(())
}

/// A message that may be for HMAC, which holds its key for `'k`.
pub(in crate::mac) trait HmacJob<'k> {
    /// The message's key, if it is one of HMAC.
    fn hmac_key(&self) -> Option<&'k HmacKey>;

    fn parts(&self) -> [&[u8]; 4];

    /// Takes the tag: `write` fills as many bytes as it is given with the first
    /// of the tag.
    fn conclude(&mut self, write: impl FnOnce(&mut [u8]));
}

/// Makes the tags of those jobs that are for HMAC.
pub(in crate::mac) fn write_all<'k, J: HmacJob<'k>>(tier: Tier, jobs: &mut [J]) {
    for digest in Digest::ALL {
        let mut keys = jobs.iter().filter_map(HmacJob::hmac_key);
        match keys.find(|key| key.digest() == digest).map(HmacKey::pads) {
            None => {}
            Some(Pads::Narrow(pads)) => write_tags_of(digest, pads, tier, jobs),
            Some(Pads::Wide(pads)) => write_tags_of(digest, pads, tier, jobs),
        }
    }
}

/// The tags of those jobs whose key is for `digest`, such as `like`.
fn write_tags_of<'k, W: PadWord, J: HmacJob<'k>>(
    digest: Digest,
    like: &PadStates<W>,
    tier: Tier,
    jobs: &mut [J],
) {
    let key = |job: &J| job.hmac_key().filter(|key| key.digest() == digest);
    let count = jobs.iter().filter(|job| key(job).is_some()).count();
    let mut room = HmacRoom::new(like);
    let mut lanes = HmacLanes::new(like.of, tier, count, &mut room);
    let mut done = |job: InLanes<'_, J>, state| job.0.conclude(|tag| like.of.write(&state, tag));
    let bytes = |job: &J| total_bytes(job.parts().map(<[u8]>::len));
    longest_first(
        jobs,
        |job| key(job).map(|_| bytes(job)),
        |_, job| {
            if let Some(pads) = key(job).and_then(W::pads) {
                lanes.submit(InLanes(job), pads, &mut done);
            }
        },
    );
    lanes.finish(&mut done);
}

impl<'a> HmacJob<'a> for MacJob<'a> {
    fn hmac_key(&self) -> Option<&'a HmacKey> {
        Some(self.key)
    }

    fn parts(&self) -> [&[u8]; 4] {
        self.parts
    }

    fn conclude(&mut self, write: impl FnOnce(&mut [u8])) {
        write(self.tag);
    }
}

/// A job in the lanes.
struct InLanes<'j, J>(&'j mut J);

impl<'k, J: HmacJob<'k>> Message for InLanes<'_, J> {
    fn parts(&self) -> [&[u8]; 4] {
        self.0.parts()
    }
}
