//! A batch of messages, each with its own key, tagged or verified in one call.

use subtle::ConstantTimeEq;
use weir_simd::Tier;

use super::hmac::{HmacJob, HmacKey, write_all};
use super::keys::{Expanded, MacKey, TaggingKey, VerifyingKey};
use super::message::{LANES, Message};
use super::{gmac, mmh, umac};
use crate::cipher::Block;
use crate::engine::{Family, tier_in_use};
use crate::job::{JobError, JobFault};
use crate::keys::Ticket;
use crate::mac::algorithm::{Algorithm, TagWords};
use crate::verdict::publish;

/// One message to tag.
pub struct TagJob<'a> {
    /// The message's key.
    pub key: &'a TaggingKey,
    /// Drawn from that key; spent by [`tag`]. Its value is the nonce, which the
    /// receiver must be told or count.
    pub ticket: Ticket,
    /// The message: parts that follow each other, wherever they lie. One part
    /// and three empty ones are fastest.
    pub parts: [&'a [u8]; 4],
    /// Output, of a length that the algorithm allows
    /// ([`Algorithm::allows_tag`]).
    pub tag: &'a mut [u8],
}

/// One message to verify.
pub struct VerifyJob<'a> {
    /// The message's key.
    pub key: &'a VerifyingKey,
    /// The value of the ticket that the message was tagged with. Whether it may
    /// come again is for the caller to say (anti-replay).
    pub nonce: u64,
    /// As those of a [`TagJob`].
    pub parts: [&'a [u8]; 4],
    /// As received.
    pub tag: &'a [u8],
    /// Output of [`verify`]: whether the message is authentic. What it held
    /// before the call does not matter.
    pub verified: bool,
}

/// Tags a batch of messages; keys, algorithms and lengths may differ from job to
/// job. Tickets are spent.
///
/// Pads of eight messages are computed side by side. A message waits for its
/// pad no longer than until its batch is closed: see [`crate::mac`].
///
/// # Errors
/// The first job at fault, found before any tag is written and before any
/// ticket is spent.
pub fn tag(jobs: &mut [TagJob<'_>]) -> Result<(), JobError> {
    for (index, job) in jobs.iter().enumerate() {
        job.check()
            .map_err(|fault| JobError { job: index, fault })?;
    }
    for job in &mut *jobs {
        job.ticket.spend();
    }
    process(tier_in_use, jobs);
    Ok(())
}

/// Verifies a batch of messages, telling them apart by [`VerifyJob::verified`].
/// Tags are compared in constant time; a tag or message of a length that the
/// algorithm does not allow is not authentic.
pub fn verify(jobs: &mut [VerifyJob<'_>]) {
    for job in &mut *jobs {
        job.verified = false;
    }
    process(tier_in_use, jobs);
}

/// A message on its way to a tag, which holds its key for `'k`.
pub(crate) trait Authenticated<'k> {
    /// The message's key; none where the message is refused.
    fn key(&self) -> Option<&'k MacKey>;

    fn nonce(&self) -> u64;

    fn parts(&self) -> [&[u8]; 4];

    /// Takes the tag, or compares it: `write` fills as many bytes as it is given
    /// with the first of the tag.
    fn conclude(&mut self, write: impl FnOnce(&mut [u8]));
}

/// Makes the tags of all jobs with the kernels of the tiers that `tier` says.
pub(crate) fn process<'k, J: Authenticated<'k>>(tier: impl Fn(Family) -> Tier, jobs: &mut [J]) {
    let mut kinds = 0u32;
    for key in jobs.iter().filter_map(Authenticated::key) {
        kinds |= 1 << kind(key.algorithm);
    }
    let has = |algorithm| kinds & 1 << kind(algorithm) != 0;
    for words in TagWords::ALL {
        if has(Algorithm::Umac(words)) {
            let tier = tier(Family::Umac);
            let key = |key: &'k MacKey| match &key.expanded {
                Expanded::Umac(expanded) if key.algorithm == Algorithm::Umac(words) => {
                    Some(&**expanded)
                }
                _ => None,
            };
            in_lanes(jobs, key, |messages, tags| umac::tag(tier, messages, tags));
        }
        if has(Algorithm::Mmh(words)) {
            let tier = tier(Family::Mmh);
            let key = |key: &'k MacKey| match &key.expanded {
                Expanded::Mmh(expanded) if key.algorithm == Algorithm::Mmh(words) => {
                    Some(&**expanded)
                }
                _ => None,
            };
            in_lanes(jobs, key, |messages, tags| mmh::tag(tier, messages, tags));
        }
    }
    if kinds & 1 << ONE_BY_ONE != 0 {
        one_by_one(tier(Family::Gmac), jobs);
    }
    if kinds & 1 << HMAC != 0 {
        write_all(tier(Family::EncryptThenMac), jobs);
    }
}

/// Tells apart what is processed together.
fn kind(algorithm: Algorithm) -> u32 {
    match algorithm {
        Algorithm::Umac(words) => words as u32,
        Algorithm::Mmh(words) => 4 + words as u32,
        Algorithm::Gmac(_) | Algorithm::Poly1305 => ONE_BY_ONE,
        Algorithm::Hmac(_) => HMAC,
    }
}

const ONE_BY_ONE: u32 = 8;
const HMAC: u32 = 9;

/// The messages that `key` finds a key of, eight at a time.
fn in_lanes<'k, K: 'k, J: Authenticated<'k>>(
    jobs: &mut [J],
    key: impl Fn(&'k MacKey) -> Option<&'k K>,
    tag: impl Fn(&mut [Message<'_, K>], &mut [Block; LANES]),
) {
    let mut next = 0;
    while next < jobs.len() {
        let mut places = [0; LANES];
        let mut messages = arrayvec::ArrayVec::<_, LANES>::new();
        while next < jobs.len() && !messages.is_full() {
            let job = &jobs[next];
            if let Some(key) = job.key().and_then(&key) {
                places[messages.len()] = next;
                messages.push(Message::new(key, job.nonce(), job.parts()));
            }
            next += 1;
        }
        let count = messages.len();
        let mut tags = [[0; 16]; LANES];
        tag(&mut messages, &mut tags);
        drop(messages);
        for (&place, tag) in places[..count].iter().zip(&tags) {
            jobs[place].conclude(|out| put(out, tag));
        }
    }
}

/// Writes the first bytes of a tag, in pieces of known lengths.
#[inline]
fn put(out: &mut [u8], tag: &Block) {
    if let Some(out) = out.as_mut_array() {
        *out = *tag;
    } else if let (Some(out), Some(tag)) = (out.as_mut_array::<8>(), tag.first_chunk()) {
        *out = *tag;
    } else {
        let (out, _) = out.as_chunks_mut::<4>();
        for (out, tag) in out.iter_mut().zip(tag.as_chunks().0) {
            *out = *tag;
        }
    }
}

fn one_by_one<'k, J: Authenticated<'k>>(tier: Tier, jobs: &mut [J]) {
    for job in jobs {
        let tag = match job.key().map(|key| &key.expanded) {
            Some(Expanded::Gmac(key)) => gmac::tag(tier, key, job.nonce(), job.parts()),
            Some(Expanded::Poly1305(key)) => key.tag(job.nonce(), job.parts()),
            _ => continue,
        };
        job.conclude(|out| out.copy_from_slice(&tag[..out.len()]));
    }
}

/// Holds lengths against what `algorithm` allows.
#[inline]
pub(crate) fn check(
    algorithm: Algorithm,
    parts: &[&[u8]; 4],
    tag_bytes: usize,
) -> Result<(), JobFault> {
    let given_bytes: usize = parts.iter().map(|part| part.len()).sum();
    // What most algorithms allow, at a glance.
    if tag_bytes == algorithm.tag_bytes() && given_bytes <= super::mmh::MOST_BYTES {
        return Ok(());
    }
    if !algorithm.allows_tag(tag_bytes) {
        return Err(JobFault::MacTag {
            least_bytes: *algorithm.tag_range().start(),
            most_bytes: *algorithm.tag_range().end(),
            given_bytes: tag_bytes,
        });
    }
    let (given_bytes, most_bytes) = (given_bytes as u64, algorithm.most_message_bytes());
    if given_bytes > most_bytes {
        return Err(JobFault::MessageTooLong {
            most_bytes,
            given_bytes,
        });
    }
    Ok(())
}

impl TagJob<'_> {
    fn check(&self) -> Result<(), JobFault> {
        if !self.key.drew(&self.ticket) {
            return Err(match self.ticket.is_spent() {
                true => JobFault::SpentTicket,
                false => JobFault::ForeignTicket,
            });
        }
        check(self.key.algorithm(), &self.parts, self.tag.len())
    }
}

impl<'a> Authenticated<'a> for TagJob<'a> {
    #[inline]
    fn key(&self) -> Option<&'a MacKey> {
        Some(&self.key.key)
    }

    #[inline]
    fn nonce(&self) -> u64 {
        self.ticket.counter()
    }

    #[inline]
    fn parts(&self) -> [&[u8]; 4] {
        self.parts
    }

    #[inline]
    fn conclude(&mut self, write: impl FnOnce(&mut [u8])) {
        write(self.tag);
    }
}

impl<'a> Authenticated<'a> for VerifyJob<'a> {
    #[inline]
    fn key(&self) -> Option<&'a MacKey> {
        let checked = check(self.key.algorithm(), &self.parts, self.tag.len());
        checked.is_ok().then_some(&self.key.key)
    }

    #[inline]
    fn nonce(&self) -> u64 {
        self.nonce
    }

    #[inline]
    fn parts(&self) -> [&[u8]; 4] {
        self.parts
    }

    #[inline]
    fn conclude(&mut self, write: impl FnOnce(&mut [u8])) {
        let mut expected = [0; MOST_TAG_BYTES];
        self.verified = expected.get_mut(..self.tag.len()).is_some_and(|expected| {
            write(expected);
            publish(expected.ct_eq(self.tag).into())
        });
    }
}

impl<'k, J: Authenticated<'k>> HmacJob<'k> for J {
    #[inline]
    fn hmac_key(&self) -> Option<&'k HmacKey> {
        match &self.key()?.expanded {
            Expanded::Hmac(key) => Some(key),
            _ => None,
        }
    }

    #[inline]
    fn parts(&self) -> [&[u8]; 4] {
        Authenticated::parts(self)
    }

    #[inline]
    fn conclude(&mut self, write: impl FnOnce(&mut [u8])) {
        Authenticated::conclude(self, write);
    }
}

/// Bytes of the longest tag.
const MOST_TAG_BYTES: usize = 64;
