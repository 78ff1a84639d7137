//! A batch of packets in one buffer, each with its own key, sealed or opened in
//! one call.

use crate::aead::MOST_PACKETS;
use crate::aead::gcm;
use crate::engine::{Family, tier_in_use};
use crate::fault::{JobError, JobFault};
use crate::job::{OpenJob, SealJob, open, seal};
use crate::kernel::{Kernel, OpenKernel, SealKernel};
use crate::keys::{OpeningKey, SealingKey, Ticket};
use crate::lane_use::LaneUse;
use crate::place::{Place, Rest, Row};

/// One packet to encrypt and tag, in the buffer of its batch.
#[derive(Debug)]
pub struct SealAt {
    /// Which of the caller's keys is the packet's.
    pub key: u32,
    /// Drawn from that key; spent by [`seal_in`].
    pub ticket: Ticket,
    /// Where the packet lies. The text is encrypted in place; IV and tag are
    /// output.
    pub place: Place,
}

/// One packet to verify and decrypt, in the buffer of its batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenAt {
    /// Which of the caller's keys is the packet's.
    pub key: u32,
    /// Where the packet lies. The text is decrypted in place, and zeros where the
    /// packet does not verify.
    pub place: Place,
    /// Output of [`open_in`]: whether the packet is authentic. What it held
    /// before the call does not matter.
    pub verified: bool,
}

/// Does what [`seal`] does for packets that lie in one buffer, in the order of the
/// batch. It is for callers with many: a job takes a quarter of the memory of a
/// [`SealJob`], and AES-GCM's packets go from the buffer to the kernels without
/// one. `key_of` says which key a number stands for; keys may lie wherever the
/// caller keeps them.
///
/// Packets of other suites become [`SealJob`]s here. Nothing is authenticated
/// behind a text: suites that encrypt and then tag need [`SealJob::suffix`] for
/// extended sequence numbers.
///
/// # Errors
/// The first job at fault, found before any byte of the buffer is written and
/// before any ticket is spent. Only where `key_of` gives another key when it is called
/// again are the packets before that one sealed. Or [`JobFault::Refused`], as for
/// [`seal`].
///
/// ```
/// # use weir_crypto::{IvSource, KeyMaterial, OpeningKey, SealingKey, Suite};
/// use weir_crypto::{OpenAt, Place, SealAt, open_in, seal_in};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let suite = Suite::parse("aes-128-gcm-16")?;
/// # let material = |n| KeyMaterial::new(suite, &[n; 20], &[]);
/// let mut keys = [
///     SealingKey::new(material(1)?, 1, IvSource::Random)?,
///     SealingKey::new(material(2)?, 1, IvSource::Random)?,
/// ];
/// for key in &mut keys {
///     key.allow_until(1000); // written to a state file before this
/// }
///
/// // Packets of 64 bytes: a header of 8, an IV of 8, a text of 32, a tag of 16.
/// let mut buffer = [0; 3 * 64];
/// let place = |offset| Place { offset, prefix_bytes: 8, gap_bytes: 0, text_bytes: 32 };
/// let mut jobs = Vec::new();
/// for (key, offset) in [(0, 0), (1, 64), (0, 128)] {
///     let ticket = keys[key as usize].next_ticket()?;
///     jobs.push(SealAt { key, ticket, place: place(offset) });
/// }
/// seal_in(&mut buffer, &mut jobs, |key| keys.get(key as usize))?;
/// assert_ne!(buffer[16..48], buffer[144..176]);
///
/// let keys = [OpeningKey::new(&material(1)?)?, OpeningKey::new(&material(2)?)?];
/// let mut jobs = [(0, 0), (1, 64), (0, 128)]
///     .map(|(key, offset)| OpenAt { key, place: place(offset), verified: false });
/// open_in(&mut buffer, &mut jobs, |key| keys.get(key as usize))?;
/// assert!(jobs.iter().all(|job| job.verified));
/// assert_eq!(buffer[16..48], [0; 32]);
/// # Ok(())
/// # }
/// ```
pub fn seal_in<'k>(
    buffer: &mut [u8],
    jobs: &mut [SealAt],
    key_of: impl Fn(u32) -> Option<&'k SealingKey>,
) -> Result<LaneUse, JobError> {
    let mut row = Row::of(buffer);
    let mut all_gcm = true;
    for (index, job) in jobs.iter().enumerate() {
        let kernel = job
            .check(&key_of, &mut row)
            .map_err(|fault| JobError { job: index, fault })?;
        all_gcm &= matches!(kernel, Kernel::Gcm(_));
    }
    if !all_gcm {
        return seal_as_slices(buffer, jobs, key_of);
    }
    let tier = tier_in_use(Family::Gcm);
    let mut lanes = LaneUse::default();
    let mut first_refused = None;
    for (first, jobs) in (0..)
        .step_by(MOST_PACKETS)
        .zip(jobs.chunks_mut(MOST_PACKETS))
    {
        let places = jobs.iter().map(|job| job.place);
        // A ticket is held against the key that is used, whatever key was found before.
        let starts = jobs.iter().map_while(|job| {
            let key = key_of(job.key)?;
            key.check_ticket(&job.ticket).ok()?;
            let iv = job.ticket.counter().to_be_bytes();
            start(key.kernel(), Some(iv))
        });
        let sealed = gcm::seal_placed(tier, buffer, places, starts);
        lanes += sealed.lanes;
        let started = jobs.iter_mut().take(sealed.started);
        for (number, (job, is_sealed)) in started.zip(sealed.is_sealed).enumerate() {
            job.ticket.spend();
            if is_sealed {
                job.ticket.mark_sealed();
            } else {
                first_refused.get_or_insert(first + number);
            }
        }
        if sealed.started < jobs.len() {
            return Err(JobError {
                job: first + sealed.started,
                fault: JobFault::ForeignTicket,
            });
        }
    }
    first_refused.map_or(Ok(lanes), |job| Err(refused(job)))
}

/// Does what [`open`] does for packets that lie in one buffer, in the order of the
/// batch, as [`seal_in`] seals them.
///
/// # Errors
/// The first job that has no key, or whose place is not in the buffer or overlaps
/// the one before it; nothing was opened then.
pub fn open_in<'k>(
    buffer: &mut [u8],
    jobs: &mut [OpenAt],
    key_of: impl Fn(u32) -> Option<&'k OpeningKey>,
) -> Result<LaneUse, JobError> {
    jobs.iter_mut().for_each(|job| job.verified = false);
    let mut row = Row::of(buffer);
    let mut all_gcm = true;
    for (index, job) in jobs.iter().enumerate() {
        let kernel = job
            .check(&key_of, &mut row)
            .map_err(|fault| JobError { job: index, fault })?;
        all_gcm &= matches!(kernel, Kernel::Gcm(_));
    }
    if !all_gcm {
        return open_as_slices(buffer, jobs, key_of);
    }
    let tier = tier_in_use(Family::Gcm);
    let mut lanes = LaneUse::default();
    for jobs in jobs.chunks_mut(MOST_PACKETS) {
        let mut verified = [false; MOST_PACKETS];
        let places = jobs.iter().map(|job| job.place);
        let starts = jobs
            .iter()
            .map_while(|job| start(key_of(job.key)?.kernel(), None));
        lanes += gcm::open_placed(tier, buffer, places, starts, &mut verified);
        for (job, verified) in jobs.iter_mut().zip(verified) {
            job.verified = verified;
        }
    }
    Ok(lanes)
}

impl SealAt {
    /// Holds the job against its key, and its place against the buffer.
    #[inline]
    fn check<'k>(
        &self,
        key_of: impl Fn(u32) -> Option<&'k SealingKey>,
        row: &mut Row,
    ) -> Result<&'k SealKernel, JobFault> {
        let key = key_of(self.key).ok_or(JobFault::NoKey { number: self.key })?;
        key.check_ticket(&self.ticket)?;
        let kernel = key.kernel();
        let ends = match kernel {
            // It allows all lengths that a place can say.
            Kernel::Gcm(_) => gcm::ENDS,
            _ => {
                let lengths = key.lengths();
                lengths.check_placed(self.place, key.suite())?;
                lengths.ends()
            }
        };
        row.check(self.place, ends)?;
        Ok(kernel)
    }
}

impl OpenAt {
    /// Holds the job's place against the buffer.
    #[inline]
    fn check<'k>(
        &self,
        key_of: impl Fn(u32) -> Option<&'k OpeningKey>,
        row: &mut Row,
    ) -> Result<&'k OpenKernel, JobFault> {
        let key = key_of(self.key).ok_or(JobFault::NoKey { number: self.key })?;
        let kernel = key.kernel();
        let ends = match kernel {
            Kernel::Gcm(_) => gcm::ENDS,
            _ => key.lengths().ends(),
        };
        row.check(self.place, ends)?;
        Ok(kernel)
    }
}

/// What a packet of GCM starts from.
#[inline]
fn start<C>(kernel: &Kernel<C>, iv: Option<[u8; 8]>) -> Option<gcm::Start<'_>> {
    let Kernel::Gcm(key) = kernel else {
        return None;
    };
    Some(gcm::Start {
        key: key.view(),
        salt: key.salt(),
        iv,
    })
}

/// As [`seal_in`], of jobs that were checked.
fn seal_as_slices<'k>(
    buffer: &mut [u8],
    jobs: &mut [SealAt],
    key_of: impl Fn(u32) -> Option<&'k SealingKey>,
) -> Result<LaneUse, JobError> {
    let mut rest = Rest::of(buffer);
    let mut first_refused = None;
    let mut numbers = Vec::with_capacity(jobs.len());
    let mut slices = Vec::with_capacity(jobs.len());
    for (index, job) in jobs.iter_mut().enumerate() {
        let ticket = job.ticket.take();
        let cut = key_of(job.key).and_then(|key| {
            let parts = rest.cut(job.place, key.lengths().ends())?;
            Some((key, parts))
        });
        let Some((key, parts)) = cut else {
            first_refused.get_or_insert(index);
            continue;
        };
        numbers.push(index);
        slices.push(SealJob {
            key,
            ticket,
            prefix: parts.prefix,
            iv: parts.iv,
            text: parts.text,
            suffix: &[],
            tag: parts.tag,
        });
    }
    let sealed = seal(&mut slices).map_err(|error| JobError {
        job: numbers.get(error.job).copied().unwrap_or(error.job),
        ..error
    });
    for (slice, number) in slices.into_iter().zip(numbers) {
        if let Some(job) = jobs.get_mut(number) {
            job.ticket = slice.ticket;
        }
    }
    let lanes = match first_refused {
        Some(job) => Err(refused(job)),
        None => sealed,
    };
    if lanes.is_err() {
        clear_unsealed(buffer, jobs, key_of);
    }
    lanes
}

/// Leaves zeros of the texts and tags of packets that are not sealed.
#[cold]
fn clear_unsealed<'k>(
    buffer: &mut [u8],
    jobs: &[SealAt],
    key_of: impl Fn(u32) -> Option<&'k SealingKey>,
) {
    for job in jobs.iter().filter(|job| !job.ticket.has_sealed()) {
        let ends = key_of(job.key).map(|key| key.lengths().ends());
        // Without a key it is not known where the text ends: the tag goes with it.
        let (text, tag) = (
            job.place.text(ends.unwrap_or(gcm::ENDS)),
            job.place.tag(ends.unwrap_or(gcm::ENDS)),
        );
        for range in [text, tag] {
            if let Some(bytes) = buffer.get_mut(range) {
                bytes.fill(0);
            }
        }
    }
}

/// As [`open_in`], of jobs that were checked.
fn open_as_slices<'k>(
    buffer: &mut [u8],
    jobs: &mut [OpenAt],
    key_of: impl Fn(u32) -> Option<&'k OpeningKey>,
) -> Result<LaneUse, JobError> {
    let mut rest = Rest::of(buffer);
    let mut numbers = Vec::with_capacity(jobs.len());
    let mut slices = Vec::with_capacity(jobs.len());
    for (index, job) in jobs.iter().enumerate() {
        let key = key_of(job.key).ok_or(refused(index))?;
        let Some(parts) = rest.cut(job.place, key.lengths().ends()) else {
            continue;
        };
        numbers.push(index);
        slices.push(OpenJob {
            key,
            prefix: parts.prefix,
            iv: parts.iv,
            text: parts.text,
            suffix: &[],
            tag: parts.tag,
            verified: false,
        });
    }
    let lanes = open(&mut slices);
    for (slice, number) in slices.into_iter().zip(&numbers) {
        if let Some(job) = jobs.get_mut(*number) {
            job.verified = slice.verified;
        }
    }
    if numbers.len() < jobs.len() {
        clear_unverified(buffer, jobs, key_of);
    }
    Ok(lanes)
}

/// Leaves zeros of the texts of packets that are not authentic.
#[cold]
fn clear_unverified<'k>(
    buffer: &mut [u8],
    jobs: &[OpenAt],
    key_of: impl Fn(u32) -> Option<&'k OpeningKey>,
) {
    for job in jobs.iter().filter(|job| !job.verified) {
        if let Some(key) = key_of(job.key)
            && let Some(text) = buffer.get_mut(job.place.text(key.lengths().ends()))
        {
            text.fill(0);
        }
    }
}

/// A packet that was checked was given up all the same.
fn refused(job: usize) -> JobError {
    let fault = JobFault::Refused;
    JobError { job, fault }
}
