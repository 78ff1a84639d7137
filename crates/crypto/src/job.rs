//! A batch of packets, each with its own key, sealed or opened in one call.

use weir_simd::Tier;

use crate::aead::gcm::{self, GcmJob, Packet};
use crate::aead::{self, AeadJob, Parts, tag_agrees, write_tag};
use crate::cipher::Block;
use crate::engine::{Family, tier_in_use};
use crate::etm::{self, EtmJob, EtmKey, EtmOpenJob, EtmSealJob};
use crate::fault::{JobError, JobFault};
use crate::frames;
use crate::impossible::{Impossible, happens};
use crate::kernel::{Kernel, Kinds};
use crate::keys::{OpeningKey, SealingKey, Ticket};
use crate::lane_use::LaneUse;
use crate::mode::{CbcDecryptKey, CbcEncryptKey};
use crate::place::{Ends, Place};
use crate::suite::Suite;

/// One packet to encrypt and tag. The parts lie on the wire in the order
/// prefix, IV, text, tag; they may come from anywhere in memory, at any
/// alignment.
pub struct SealJob<'a> {
    /// The packet's key.
    pub key: &'a SealingKey,
    /// Drawn from that key; spent by [`seal`].
    pub ticket: Ticket,
    /// Authenticated, not encrypted: an AEAD's associated data (for ESP the
    /// SPI and the sequence number, all 64 bits of it with ESN: RFC 4106
    /// section 5), or the front of what the MAC covers.
    pub prefix: &'a [u8],
    /// Output, [`Suite::iv_bytes`] long.
    pub iv: &'a mut [u8],
    /// Encrypted in place; a multiple of [`Suite::block_bytes`] long.
    pub text: &'a mut [u8],
    /// Authenticated behind the text, not sent: the high half of an extended
    /// sequence number (RFC 4303 section 2.2.1). Empty for an AEAD.
    pub suffix: &'a [u8],
    /// Output, [`Suite::tag_bytes`] long.
    pub tag: &'a mut [u8],
}

/// One packet to verify and decrypt, laid out as in [`SealJob`].
pub struct OpenJob<'a> {
    /// The packet's key.
    pub key: &'a OpeningKey,
    /// As in [`SealJob::prefix`].
    pub prefix: &'a [u8],
    /// As received.
    pub iv: &'a [u8],
    /// Decrypted in place; zeros where the packet does not verify.
    pub text: &'a mut [u8],
    /// As in [`SealJob::suffix`].
    pub suffix: &'a [u8],
    /// As received.
    pub tag: &'a [u8],
    /// Output of [`open`]: whether the packet is authentic. What it held
    /// before the call does not matter.
    pub verified: bool,
}

/// Encrypts and tags a batch of packets; keys, suites and lengths may differ
/// from job to job. Tickets are spent. Returns how full the lanes were.
///
/// # Errors
/// The first job at fault, found before any byte of any job is written and
/// before any ticket is spent. Or [`JobFault::Refused`] with the first packet that was
/// not sealed, a defect of this crate: text and tag of that packet are zeros, and so
/// are those of all whose ticket has sealed nothing ([`Ticket::has_sealed`]); the
/// others are sealed.
pub fn seal(jobs: &mut [SealJob<'_>]) -> Result<LaneUse, JobError> {
    let mut kinds = Kinds::default();
    for (index, job) in jobs.iter().enumerate() {
        job.check()
            .map_err(|fault| JobError { job: index, fault })?;
        kinds.add(job.key.kernel());
    }
    if kinds.prepared {
        frames::cleared(|| jobs.iter_mut().for_each(SealJob::begin_early));
    }
    seal_together(tier_in_use, kinds, jobs)
}

/// A packet that counts as refused until it is sealed.
pub(crate) trait Refusable {
    /// Whether the packet is encrypted and has its tag.
    fn is_sealed(&self) -> bool;

    /// Leaves zeros of text and tag.
    fn clear(&mut self);
}

/// Seals the packets of `kinds`, all of a kind together, with the kernels of the
/// tiers that `tier` says.
///
/// # Errors
/// The first packet that is not sealed; it is cleared, and so are all others that are
/// not.
pub(crate) fn seal_together<'k, J: GcmJob + AeadJob + EtmSealJob<'k> + Refusable>(
    tier: impl Fn(Family) -> Tier,
    kinds: Kinds,
    jobs: &mut [J],
) -> Result<LaneUse, JobError> {
    let lanes = gcm::process(tier(Family::Gcm), jobs);
    aead::process(&tier, kinds.modes, jobs);
    if kinds.etm {
        etm::seal(tier(Family::EncryptThenMac), jobs);
    }
    let Some(job) = jobs.iter().position(|job| !job.is_sealed()) else {
        return Ok(lanes);
    };
    let refused = jobs.iter_mut().filter(|job| !job.is_sealed());
    refused.for_each(J::clear);
    Err(JobError {
        job,
        fault: JobFault::Refused,
    })
}

/// Verifies a batch of packets and decrypts those that are authentic, telling
/// them apart by [`OpenJob::verified`]. Tags are compared in constant time; the
/// text of a packet that is not authentic, or whose lengths are not its
/// suite's, is zeros when this returns. A packet counts as forged until its tag has
/// been compared. Returns how full the lanes were.
pub fn open(jobs: &mut [OpenJob<'_>]) -> LaneUse {
    open_at(tier_in_use, jobs)
}

/// As [`open`], with the kernels of the tiers that `tier` says.
pub(crate) fn open_at(tier: impl Fn(Family) -> Tier, jobs: &mut [OpenJob<'_>]) -> LaneUse {
    let mut kinds = Kinds::default();
    for job in &mut *jobs {
        job.verified = false;
        kinds.add(job.key.kernel());
    }
    if kinds.prepared {
        frames::cleared(|| jobs.iter_mut().for_each(OpenJob::begin_early));
    }
    let lanes = gcm::process(tier(Family::Gcm), jobs);
    aead::process(&tier, kinds.modes, jobs);
    if kinds.etm {
        etm::open(tier(Family::EncryptThenMac), jobs);
    }
    for job in jobs.iter_mut().filter(|job| !job.verified) {
        job.text.fill(0);
    }
    lanes
}

impl SealJob<'_> {
    /// Empties `jobs` and returns its allocation for the next batch, whose
    /// packets live elsewhere; a stage that keeps it between batches allocates
    /// nothing per batch.
    #[expect(
        clippy::unnecessary_filter_map,
        reason = "a filter would keep the lifetime of the old batch"
    )]
    pub fn recycle(jobs: Vec<SealJob<'_>>) -> Vec<SealJob<'static>> {
        // Collecting in place: no job passes, the allocation does.
        jobs.into_iter().filter_map(|_| None).collect()
    }

    /// Holds the job against its key: the ticket's origin, the parts' lengths.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), JobFault> {
        self.key.check_ticket(&self.ticket)?;
        let shape = Shape {
            prefix_bytes: self.prefix.len(),
            iv_bytes: self.iv.len(),
            text_bytes: self.text.len(),
            suffix_bytes: self.suffix.len(),
            tag_bytes: self.tag.len(),
        };
        self.key.lengths().check(shape, self.key.suite())
    }

    /// Spends the ticket and writes the IV.
    #[inline]
    fn prepare(&mut self) {
        self.ticket.spend();
        if !happens(Impossible::NoIv) && self.key.write_iv(&self.ticket, self.iv).is_ok() {
            self.ticket.mark_prepared();
        }
    }

    /// Prepares a packet that does not begin when it is gathered, and seals it
    /// unless it is of a kind that follows together.
    fn begin_early(&mut self) {
        let kernel = self.key.kernel();
        if kernel.begins_when_gathered() {
            return;
        }
        self.prepare();
        if self.ticket.is_prepared() && kernel.seal_alone(self.prefix, self.iv, self.text, self.tag)
        {
            self.ticket.mark_sealed();
        }
    }
}

impl Refusable for SealJob<'_> {
    #[inline]
    fn is_sealed(&self) -> bool {
        self.ticket.has_sealed()
    }

    #[cold]
    fn clear(&mut self) {
        self.text.fill(0);
        self.tag.fill(0);
    }
}

impl GcmJob for SealJob<'_> {
    const OPEN: bool = false;

    #[inline]
    fn begin(&mut self) -> Option<Packet<'_>> {
        let Kernel::Gcm(key) = self.key.kernel() else {
            return None;
        };
        self.prepare();
        if !self.ticket.is_prepared() {
            return None;
        }
        Some(Packet {
            key: key.view(),
            nonce: key.nonce(*self.iv.first_chunk()?),
            associated: self.prefix,
            text: gcm::cells(self.text),
        })
    }

    #[inline]
    fn finish(&mut self, tag: &Block) {
        if let Some(place) = self.tag.first_chunk_mut() {
            *place = *tag;
            self.ticket.mark_sealed();
        }
    }
}

impl AeadJob for SealJob<'_> {
    const OPEN: bool = false;

    #[inline]
    fn begin(&mut self) -> Option<Parts<'_>> {
        if let Kernel::Ocb3(_) = self.key.kernel() {
            self.prepare();
        }
        AeadJob::packet(self)
    }

    #[inline]
    fn packet(&mut self) -> Option<Parts<'_>> {
        let key = self.key.kernel().aead()?;
        if !self.ticket.is_prepared() {
            return None;
        }
        Some(Parts {
            key,
            iv: *self.iv.first_chunk()?,
            associated: self.prefix,
            text: self.text,
        })
    }

    #[inline]
    fn finish(&mut self, tag: &Block) {
        write_tag(self.tag, tag);
        self.ticket.mark_sealed();
    }
}

impl<'a> EtmJob<'a> for SealJob<'a> {
    type Direction = CbcEncryptKey;

    #[inline]
    fn key(&self) -> Option<&'a EtmKey<CbcEncryptKey>> {
        match self.key.kernel() {
            Kernel::Etm(key) if self.ticket.is_prepared() => Some(key),
            _ => None,
        }
    }

    #[inline]
    fn part(&self, index: usize) -> &[u8] {
        match index {
            0 => self.prefix,
            1 => self.iv,
            2 => self.text,
            _ => self.suffix,
        }
    }

    #[inline]
    fn iv_and_text(&mut self) -> (&[u8], &mut [u8]) {
        (self.iv, self.text)
    }
}

impl<'a> EtmSealJob<'a> for SealJob<'a> {
    #[inline]
    fn finish(&mut self, write: impl FnOnce(&mut [u8])) {
        write(self.tag);
        self.ticket.mark_sealed();
    }
}

impl OpenJob<'_> {
    /// Empties `jobs` and returns its allocation, as [`SealJob::recycle`] does.
    #[expect(
        clippy::unnecessary_filter_map,
        reason = "a filter would keep the lifetime of the old batch"
    )]
    pub fn recycle(jobs: Vec<OpenJob<'_>>) -> Vec<OpenJob<'static>> {
        jobs.into_iter().filter_map(|_| None).collect()
    }

    /// Opens the packet if it is of the kind that is processed one by one.
    fn begin_early(&mut self) {
        if let Kernel::ChaCha20Poly1305(key) = self.key.kernel()
            && self.is_well_shaped()
        {
            self.verified = key.open(self.prefix, self.iv, self.text, self.tag);
        }
    }

    #[inline]
    pub(crate) fn is_well_shaped(&self) -> bool {
        let shape = Shape {
            prefix_bytes: self.prefix.len(),
            iv_bytes: self.iv.len(),
            text_bytes: self.text.len(),
            suffix_bytes: self.suffix.len(),
            tag_bytes: self.tag.len(),
        };
        let checked = self.key.lengths().check(shape, self.key.suite());
        checked.is_ok()
    }
}

impl GcmJob for OpenJob<'_> {
    const OPEN: bool = true;

    #[inline]
    fn begin(&mut self) -> Option<Packet<'_>> {
        let Kernel::Gcm(key) = self.key.kernel() else {
            return None;
        };
        if !self.is_well_shaped() {
            return None;
        }
        Some(Packet {
            key: key.view(),
            nonce: key.nonce(*self.iv.first_chunk()?),
            associated: self.prefix,
            text: gcm::cells(self.text),
        })
    }

    #[inline]
    fn finish(&mut self, tag: &Block) {
        self.verified = gcm::tags_agree(self.tag, tag);
    }
}

impl AeadJob for OpenJob<'_> {
    const OPEN: bool = true;

    #[inline]
    fn packet(&mut self) -> Option<Parts<'_>> {
        let key = self.key.kernel().aead()?;
        if !self.is_well_shaped() {
            return None;
        }
        Some(Parts {
            key,
            iv: *self.iv.first_chunk()?,
            associated: self.prefix,
            text: self.text,
        })
    }

    #[inline]
    fn finish(&mut self, tag: &Block) {
        self.verified = tag_agrees(self.tag, tag);
    }
}

impl<'a> EtmJob<'a> for OpenJob<'a> {
    type Direction = CbcDecryptKey;

    #[inline]
    fn key(&self) -> Option<&'a EtmKey<CbcDecryptKey>> {
        match self.key.kernel() {
            Kernel::Etm(key) if self.is_well_shaped() => Some(key),
            _ => None,
        }
    }

    #[inline]
    fn part(&self, index: usize) -> &[u8] {
        match index {
            0 => self.prefix,
            1 => self.iv,
            2 => self.text,
            _ => self.suffix,
        }
    }

    #[inline]
    fn iv_and_text(&mut self) -> (&[u8], &mut [u8]) {
        (self.iv, self.text)
    }
}

impl<'a> EtmOpenJob<'a> for OpenJob<'a> {
    #[inline]
    fn tag(&self) -> &[u8] {
        self.tag
    }

    #[inline]
    fn conclude(&mut self, verified: bool) {
        self.verified = verified;
    }
}

/// What a suite prescribes of lengths, as far as it fits a few bytes: it allows
/// nothing that [`Shape::check`] refuses, and not quite all that it accepts.
#[derive(Clone, Copy)]
pub(crate) struct Lengths {
    iv_bytes: u8,
    tag_bytes: u8,
    most_prefix_bytes: u32,
    /// A text's length has none of these bits.
    partial_block: u8,
    most_text_bytes: u32,
    most_suffix_bytes: u8,
}

impl Lengths {
    pub(crate) fn of(suite: Suite) -> Lengths {
        let most = suite.limits().text_bytes.most;
        Lengths {
            // Blocks and digests are short.
            iv_bytes: suite.iv_bytes() as u8,
            tag_bytes: suite.tag_bytes() as u8,
            most_prefix_bytes: u32::try_from(suite.most_prefix_bytes()).unwrap_or(u32::MAX),
            // Of a block that is no power of two, more is refused here.
            partial_block: (suite.block_bytes().next_power_of_two() - 1) as u8,
            most_text_bytes: u32::try_from(most).unwrap_or(u32::MAX),
            most_suffix_bytes: match suite {
                Suite::Aead(_) => 0,
                Suite::EncryptThenMac(..) => u8::MAX,
            },
        }
    }

    /// The parts that the suite prescribes.
    #[inline]
    pub(crate) fn ends(self) -> Ends {
        Ends {
            iv_bytes: self.iv_bytes.into(),
            tag_bytes: self.tag_bytes.into(),
        }
    }

    /// Holds a packet's lengths against `suite`, whose these are.
    #[inline]
    pub(crate) fn check(self, shape: Shape, suite: Suite) -> Result<(), JobFault> {
        match self.allow(shape) {
            true => Ok(()),
            false => shape.check(suite),
        }
    }

    /// The same for a packet that lies in a buffer, where IV and tag are as long as
    /// the suite's.
    pub(crate) fn check_placed(self, place: Place, suite: Suite) -> Result<(), JobFault> {
        let shape = Shape {
            prefix_bytes: place.prefix_bytes.into(),
            iv_bytes: self.iv_bytes.into(),
            text_bytes: place.text_bytes as usize,
            suffix_bytes: 0,
            tag_bytes: self.tag_bytes.into(),
        };
        self.check(shape, suite)
    }

    #[inline]
    fn allow(self, shape: Shape) -> bool {
        shape.iv_bytes == usize::from(self.iv_bytes)
            && shape.tag_bytes == usize::from(self.tag_bytes)
            && shape.text_bytes & usize::from(self.partial_block) == 0
            && shape.text_bytes as u64 <= u64::from(self.most_text_bytes)
            && shape.suffix_bytes <= usize::from(self.most_suffix_bytes)
            && shape.prefix_bytes as u64 <= u64::from(self.most_prefix_bytes)
    }
}

/// The lengths of a packet's parts that a suite prescribes.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) prefix_bytes: usize,
    pub(crate) iv_bytes: usize,
    pub(crate) text_bytes: usize,
    pub(crate) suffix_bytes: usize,
    pub(crate) tag_bytes: usize,
}

impl Shape {
    #[cold]
    fn check(self, suite: Suite) -> Result<(), JobFault> {
        if self.iv_bytes != suite.iv_bytes() {
            return Err(JobFault::Iv {
                needed_bytes: suite.iv_bytes(),
                given_bytes: self.iv_bytes,
            });
        }
        if self.tag_bytes != suite.tag_bytes() {
            return Err(JobFault::Tag {
                needed_bytes: suite.tag_bytes(),
                given_bytes: self.tag_bytes,
            });
        }
        if !self.text_bytes.is_multiple_of(suite.block_bytes()) {
            return Err(JobFault::PartialBlock {
                block_bytes: suite.block_bytes(),
                given_bytes: self.text_bytes,
            });
        }
        let most_bytes = suite.limits().text_bytes.most;
        let given_bytes = self.text_bytes as u64;
        if given_bytes > most_bytes {
            return Err(JobFault::TooLong {
                most_bytes,
                given_bytes,
            });
        }
        if self.prefix_bytes > suite.most_prefix_bytes() {
            return Err(JobFault::Prefix {
                most_bytes: suite.most_prefix_bytes(),
                given_bytes: self.prefix_bytes,
            });
        }
        if matches!(suite, Suite::Aead(_)) && self.suffix_bytes != 0 {
            return Err(JobFault::Suffix {
                given_bytes: self.suffix_bytes,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_at_hand_allow_what_the_suite_allows() {
        for suite in Suite::all() {
            let lengths = Lengths::of(suite);
            let mut allowed = 0;
            for (iv_bytes, tag_bytes, suffix_bytes) in (0..=16)
                .flat_map(|iv| (0..=32).map(move |tag| (iv, tag)))
                .flat_map(|(iv, tag)| [0, 4].map(|suffix| (iv, tag, suffix)))
            {
                for text_bytes in (0..70).chain([65_520]) {
                    let shape = Shape {
                        prefix_bytes: 8,
                        iv_bytes,
                        text_bytes,
                        suffix_bytes,
                        tag_bytes,
                    };
                    let is_right = shape.check(suite).is_ok();
                    assert!(is_right || !lengths.allow(shape), "{suite}");
                    allowed += usize::from(lengths.allow(shape));
                    assert!(!is_right || lengths.allow(shape), "{suite}");
                }
            }
            assert!(allowed > 0, "{suite}");
        }
    }

    fn check(name: &str, text_bytes: u64) -> Result<(), JobFault> {
        let suite = Suite::parse(name).expect("a suite");
        let shape = Shape {
            prefix_bytes: 8,
            iv_bytes: suite.iv_bytes(),
            text_bytes: usize::try_from(text_bytes).expect("64-bit lengths"),
            suffix_bytes: 0,
            tag_bytes: suite.tag_bytes(),
        };
        shape.check(suite)
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn texts_end_where_the_block_counter_would_wrap() {
        for (name, most_bytes) in [
            ("aes-128-gcm-16", 68_719_476_704),
            ("aes-256-ctr+hmac-sha1-96", 68_719_476_720),
            ("chacha20-poly1305", 274_877_906_880),
        ] {
            assert_eq!(check(name, most_bytes), Ok(()), "{name}");
            let too_long = JobFault::TooLong {
                most_bytes,
                given_bytes: most_bytes + 1,
            };
            assert_eq!(check(name, most_bytes + 1), Err(too_long), "{name}");
        }
    }

    #[test]
    fn recycled_jobs_keep_their_allocation() {
        let jobs: Vec<OpenJob<'static>> = Vec::with_capacity(256);
        let (at, capacity) = (jobs.as_ptr().addr(), jobs.capacity());
        let jobs = OpenJob::recycle(jobs);
        assert!(jobs.is_empty());
        assert_eq!((jobs.as_ptr().addr(), jobs.capacity()), (at, capacity));

        let jobs: Vec<SealJob<'static>> = Vec::with_capacity(256);
        let (at, capacity) = (jobs.as_ptr().addr(), jobs.capacity());
        let jobs = SealJob::recycle(jobs);
        assert!(jobs.is_empty());
        assert_eq!((jobs.as_ptr().addr(), jobs.capacity()), (at, capacity));
    }
}
