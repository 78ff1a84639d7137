//! A batch of messages, each with its own key, tagged or verified in one call.

use arrayvec::ArrayVec;
use subtle::ConstantTimeEq;
use weir_simd::Tier;

use super::hmac::{HmacJob, HmacKey, write_all};
use super::keys::{Expanded, MacKey, TaggingKey, VerifyingKey};
use super::message::{LANES, Message};
use super::{mmh, umac};
use crate::aead::gcm::gmac;
use crate::cipher::Block;
use crate::digest::total_bytes;
use crate::engine::{Family, tier_in_use};
use crate::fault::{JobError, JobFault};
use crate::impossible::{Impossible, happens};
use crate::keys::Ticket;
use crate::mac::algorithm::{Algorithm, TagWords};
use crate::suite::AesKeySize;
use crate::tags::Tags;
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
/// ticket is spent. Or [`JobFault::Refused`] with the first message that was not
/// tagged, a defect of this crate: its tag is zeros, and so are those of all whose
/// ticket has sealed nothing ([`Ticket::has_sealed`]).
pub fn tag(jobs: &mut [TagJob<'_>]) -> Result<(), JobError> {
    let mut kinds = Kinds::default();
    for (index, job) in jobs.iter().enumerate() {
        job.check()
            .map_err(|fault| JobError { job: index, fault })?;
        kinds.add(&job.key.key);
    }
    jobs.iter_mut().for_each(|job| job.ticket.mark_prepared());
    process(tier_in_use, kinds, jobs);
    let Some(job) = jobs.iter().position(|job| !job.ticket.has_sealed()) else {
        return Ok(());
    };
    let refused = jobs.iter_mut().filter(|job| !job.ticket.has_sealed());
    refused.for_each(|job| {
        job.ticket.spend();
        job.tag.fill(0);
    });
    Err(JobError {
        job,
        fault: JobFault::Refused,
    })
}

/// Verifies a batch of messages, telling them apart by [`VerifyJob::verified`].
/// Tags are compared in constant time; a tag or message of a length that the
/// algorithm does not allow is not authentic.
pub fn verify(jobs: &mut [VerifyJob<'_>]) {
    let mut kinds = Kinds::default();
    for job in &mut *jobs {
        job.verified = false;
        kinds.add(&job.key.key);
    }
    process(tier_in_use, kinds, jobs);
}

/// A message on its way to a tag, which holds its key for `'k`.
pub(crate) trait Authenticated<'k> {
    /// The message's key; none where the message is refused.
    fn key(&self) -> Option<&'k MacKey>;

    fn nonce(&self) -> u64;

    fn parts(&self) -> &[&[u8]; 4];

    /// Takes the tag, or compares it: `write` fills as many bytes as it is given
    /// with the first of the tag.
    fn conclude(&mut self, write: impl FnOnce(&mut [u8]));
}

/// The algorithms of a batch, so that it pays for no others.
#[derive(Clone, Copy, Default)]
pub(crate) struct Kinds(u32);

impl Kinds {
    /// Adds that of a message with this key.
    #[inline]
    pub(crate) fn add(&mut self, key: &MacKey) {
        self.0 |= key.kind.0;
    }

    #[inline]
    fn has(self, kind: Kind) -> bool {
        self.0 & kind.0 != 0
    }
}

/// What is processed together: a bit for each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind(u32);

impl Kind {
    const POLY1305: Kind = Kind(1 << 11);
    const HMAC: Kind = Kind(1 << 12);

    pub(super) const fn of(algorithm: Algorithm) -> Kind {
        match algorithm {
            Algorithm::Umac(words) => Kind(1 << words as u32),
            Algorithm::Mmh(words) => Kind(1 << (4 + words as u32)),
            Algorithm::Gmac(size) => Kind(1 << (8 + size as u32)),
            Algorithm::Poly1305 => Kind::POLY1305,
            Algorithm::Hmac(_) => Kind::HMAC,
        }
    }
}

/// Makes the tags of all jobs, which are of these kinds, with the kernels of the
/// tiers that `tier` says.
pub(crate) fn process<'k, J: Authenticated<'k>>(
    tier: impl Fn(Family) -> Tier,
    kinds: Kinds,
    jobs: &mut [J],
) {
    for words in TagWords::ALL {
        let kind = Kind::of(Algorithm::Umac(words));
        if kinds.has(kind) {
            let tier = tier(Family::Umac);
            let key = |key: &'k MacKey| match &key.expanded {
                Expanded::Umac(expanded) if key.kind == kind => Some(&**expanded),
                _ => None,
            };
            in_lanes(jobs, key, |messages, most, tags| {
                umac::tag(tier, messages, most, tags)
            });
        }
        let kind = Kind::of(Algorithm::Mmh(words));
        if kinds.has(kind) {
            let tier = tier(Family::Mmh);
            let key = |key: &'k MacKey| match &key.expanded {
                Expanded::Mmh(expanded) if key.kind == kind => Some(&**expanded),
                _ => None,
            };
            in_lanes(jobs, key, |messages, most, tags| {
                mmh::tag(tier, messages, most, tags)
            });
        }
    }
    for size in AesKeySize::ALL {
        let kind = Kind::of(Algorithm::Gmac(size));
        if kinds.has(kind) {
            let tier = tier(Family::Gmac);
            let key = |key: &'k MacKey| match &key.expanded {
                Expanded::Gmac(expanded) if key.kind == kind => Some(expanded),
                _ => None,
            };
            in_lanes(jobs, key, |messages, _, tags| {
                gmac::tag(tier, messages, tags)
            });
        }
    }
    if kinds.has(Kind::POLY1305) {
        one_by_one(jobs);
    }
    if kinds.has(Kind::HMAC) {
        write_all(tier(Family::EncryptThenMac), jobs);
    }
}

/// The messages that `key` finds a key of, eight at a time. `tag` is told the bytes of
/// the longest of them.
fn in_lanes<'k, K: 'k, J: Authenticated<'k>>(
    jobs: &mut [J],
    key: impl Fn(&'k MacKey) -> Option<&'k K>,
    tag: impl Fn(&mut [Message<'_, K>], usize, &mut Tags<LANES>),
) {
    // Filled in place: what is collected is moved, and waits for itself in the store
    // buffer.
    let mut group = ArrayVec::<(&K, &mut J), LANES>::new();
    for job in jobs {
        if let Some(key) = job.key().and_then(&key) {
            group.push((key, job));
            if group.is_full() {
                tag_group(&mut group, &tag);
                group.clear();
            }
        }
    }
    if !group.is_empty() {
        tag_group(&mut group, &tag);
    }
}

#[inline]
fn tag_group<'k, K, J: Authenticated<'k>>(
    group: &mut [(&K, &mut J)],
    tag: impl Fn(&mut [Message<'_, K>], usize, &mut Tags<LANES>),
) {
    if happens(Impossible::KernelReturns) {
        return;
    }
    let mut messages = ArrayVec::<Message<'_, K>, LANES>::new();
    let mut most = 0;
    for (key, job) in &*group {
        let message = Message::new(*key, job.nonce(), job.parts());
        most = most.max(message.bytes);
        messages.push(message);
    }
    let mut tags = Tags::new();
    tag(&mut messages, most, &mut tags);
    drop(messages);
    for (lane, (_, job)) in group.iter_mut().enumerate() {
        if let Some(tag) = tags.get(lane) {
            job.conclude(|out| put(out, tag));
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

/// The messages of Poly1305.
fn one_by_one<'k, J: Authenticated<'k>>(jobs: &mut [J]) {
    for job in jobs {
        if let Some(Expanded::Poly1305(key)) = job.key().map(|key| &key.expanded) {
            let tag = key.tag(job.nonce(), job.parts());
            job.conclude(|out| put(out, &tag));
        }
    }
}

/// Holds lengths against what the algorithm of `key` allows.
#[inline]
pub(crate) fn check(key: &MacKey, parts: &[&[u8]; 4], tag_bytes: usize) -> Result<(), JobFault> {
    let given_bytes = total_bytes(parts.map(<[u8]>::len));
    // What all algorithms allow.
    match tag_bytes == usize::from(key.tag_bytes) && given_bytes <= super::mmh::MOST_BYTES as u64 {
        true => Ok(()),
        false => check_closely(key.algorithm, given_bytes, tag_bytes),
    }
}

#[cold]
fn check_closely(algorithm: Algorithm, given_bytes: u64, tag_bytes: usize) -> Result<(), JobFault> {
    if !algorithm.allows_tag(tag_bytes) {
        return Err(JobFault::MacTag {
            least_bytes: *algorithm.tag_range().start(),
            most_bytes: *algorithm.tag_range().end(),
            given_bytes: tag_bytes,
        });
    }
    // Kernels count bytes in words of the machine.
    let most_bytes = algorithm.most_message_bytes().min(usize::MAX as u64);
    match given_bytes > most_bytes {
        true => Err(JobFault::MessageTooLong {
            most_bytes,
            given_bytes,
        }),
        false => Ok(()),
    }
}

impl TagJob<'_> {
    /// Empties `jobs` and returns its allocation for the next batch, whose messages
    /// live elsewhere.
    #[expect(
        clippy::unnecessary_filter_map,
        reason = "a filter would keep the lifetime of the old batch"
    )]
    pub fn recycle(jobs: Vec<TagJob<'_>>) -> Vec<TagJob<'static>> {
        // Collecting in place: no job passes, the allocation does.
        jobs.into_iter().filter_map(|_| None).collect()
    }

    #[inline]
    fn check(&self) -> Result<(), JobFault> {
        if !self.key.drew(&self.ticket) {
            return Err(match self.ticket.is_spent() {
                true => JobFault::SpentTicket,
                false => JobFault::ForeignTicket,
            });
        }
        check(&self.key.key, &self.parts, self.tag.len())
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
    fn parts(&self) -> &[&[u8]; 4] {
        &self.parts
    }

    #[inline]
    fn conclude(&mut self, write: impl FnOnce(&mut [u8])) {
        write(self.tag);
        self.ticket.mark_sealed();
    }
}

impl<'a> Authenticated<'a> for VerifyJob<'a> {
    #[inline]
    fn key(&self) -> Option<&'a MacKey> {
        let checked = check(&self.key.key, &self.parts, self.tag.len());
        checked.is_ok().then_some(&self.key.key)
    }

    #[inline]
    fn nonce(&self) -> u64 {
        self.nonce
    }

    #[inline]
    fn parts(&self) -> &[&[u8]; 4] {
        &self.parts
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
        *Authenticated::parts(self)
    }

    #[inline]
    fn conclude(&mut self, write: impl FnOnce(&mut [u8])) {
        Authenticated::conclude(self, write);
    }
}

/// Bytes of the longest tag.
const MOST_TAG_BYTES: usize = 64;
