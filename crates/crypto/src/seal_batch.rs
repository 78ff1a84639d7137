//! Packets that are checked and gathered while they are made.

use crate::aead::gcm::{self, Gathered, Outcomes, Packet, Packets, Sealed};
use crate::engine::{Family, tier_in_use};
use crate::fault::JobFault;
use crate::impossible::{Impossible, happens};
use crate::job::{SealJob, seal};
use crate::kernel::Kernel;
use crate::lane_use::LaneUse;

/// Does what [`seal`] does, for a caller that makes the packets itself: `make`
/// adds each to the batch as soon as it is made, and when it returns, all are
/// sealed as one. A packet is checked and prepared while what was written of it
/// is still at hand, and not once more when all others have been made. AES-GCM's
/// packets gain by it; those of other suites are kept in `others` as jobs and
/// handed to [`seal`]. It is memory only: jobs that are in it before are forgotten, and
/// it is empty afterwards; [recycled](SealJob::recycle), it spares the next batch an
/// allocation.
///
/// Returns how full the lanes were.
///
/// # Errors
/// What `make` returns: no packet that is not sealed by then is sealed. Or
/// [`JobFault::Refused`], a defect of this crate: some packets were not sealed, and
/// all others are. In both cases [`SealBatch::add`] has been told which packets are
/// sealed. Texts and tags of the others are zeros, and their tickets are spent.
///
/// ```
/// # use weir_crypto::{IvSource, JobFault, KeyMaterial, SealJob, SealingKey, Suite, seal_as_made};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let material = KeyMaterial::new(Suite::parse("aes-128-gcm-16")?, &[0x11; 20], &[])?;
/// let mut key = SealingKey::new(material, 1, IvSource::Random)?;
/// key.allow_until(1000); // written to a state file before this
/// let tickets = [key.next_ticket()?, key.next_ticket()?];
/// let mut packets = [[0; 60]; 2];
/// let mut sealed = [false; 2];
///
/// seal_as_made(&mut Vec::new(), |batch| {
///     for ((ticket, packet), sealed) in tickets.into_iter().zip(&mut packets).zip(&mut sealed) {
///         let (prefix, rest) = packet.split_at_mut(8);
///         let (iv, rest) = rest.split_at_mut(8);
///         let (text, tag) = rest.split_at_mut(28);
///         let job = SealJob { key: &key, ticket, prefix, iv, text, suffix: b"", tag };
///         batch.add(job, sealed)?;
///     }
///     Ok::<_, JobFault>(())
/// })?;
/// assert_eq!(sealed, [true; 2]);
/// assert_ne!(packets[0][16..], packets[1][16..]);
/// # Ok(())
/// # }
/// ```
pub fn seal_as_made<'a, E: From<JobFault>>(
    others: &mut Vec<SealJob<'a>>,
    make: impl FnOnce(&mut SealBatch<'_, 'a>) -> Result<(), E>,
) -> Result<LaneUse, E> {
    let mut packets = Packets::new();
    let mut outcomes = Outcomes::new();
    others.clear();
    let mut batch = SealBatch {
        gathered: Gathered::new(tier_in_use(Family::Gcm), &mut packets, &mut outcomes),
        others,
        verdicts_on_others: Outcomes::new(),
        has_refused: false,
        lanes_of_others: LaneUse::default(),
    };
    match make(&mut batch) {
        Ok(()) => Ok(batch.seal()?),
        Err(error) => {
            batch.refuse_all();
            Err(error)
        }
    }
}

/// A batch of packets that grows by one packet at a time: see [`seal_as_made`].
pub struct SealBatch<'m, 'a> {
    gathered: Gathered<'m, 'a, Sealed<'a>>,
    /// As many as there are verdicts on.
    others: &'m mut Vec<SealJob<'a>>,
    verdicts_on_others: Outcomes<&'a mut bool>,
    lanes_of_others: LaneUse,
    /// Whether a packet was not sealed that was not gathered.
    has_refused: bool,
}

impl<'a> SealBatch<'_, 'a> {
    /// Adds a packet, whose ticket is spent. Of AES-GCM, the IV is written at
    /// once; all else is left for the end. `sealed` is `false` until the packet is
    /// encrypted and has its tag.
    ///
    /// # Errors
    /// What is wrong with the job: nothing of it was written, and the packets
    /// before it stay.
    #[inline]
    pub fn add(&mut self, job: SealJob<'a>, sealed: &'a mut bool) -> Result<(), JobFault> {
        *sealed = false;
        job.check()?;
        let Kernel::Gcm(key) = job.key.kernel() else {
            return self.add_other(job, sealed);
        };
        if happens(Impossible::NoIv) || job.key.write_iv(&job.ticket, job.iv).is_err() {
            job.tag.fill(0);
            return self.refuse(job.text);
        }
        let (Some(iv), Some(tag)) = (job.iv.first_chunk(), job.tag.first_chunk_mut()) else {
            return self.refuse(job.text);
        };
        let packet = Packet {
            key: key.view(),
            nonce: key.nonce(*iv),
            associated: job.prefix,
            text: gcm::cells(job.text),
        };
        let outcome = Sealed {
            tag,
            is_sealed: sealed,
        };
        self.gathered.add(packet, outcome);
        Ok(())
    }

    #[cold]
    fn refuse(&mut self, text: &mut [u8]) -> Result<(), JobFault> {
        text.fill(0);
        self.has_refused = true;
        Ok(())
    }

    #[inline(never)]
    fn add_other(&mut self, job: SealJob<'a>, sealed: &'a mut bool) -> Result<(), JobFault> {
        if self.verdicts_on_others.is_full() {
            self.seal_others()?;
        }
        self.others.push(job);
        self.verdicts_on_others.push(sealed);
        Ok(())
    }

    fn seal_others(&mut self) -> Result<(), JobFault> {
        let result = seal(self.others);
        let verdicts = self.verdicts_on_others.drain(..);
        for (job, sealed) in self.others.drain(..).zip(verdicts) {
            *sealed = job.ticket.has_sealed();
        }
        match result {
            Ok(lanes) => self.lanes_of_others += lanes,
            Err(error) if error.fault == JobFault::Refused => self.has_refused = true,
            Err(error) => return Err(error.fault),
        }
        Ok(())
    }

    /// Leaves zeros of the packets that were added and not sealed.
    #[cold]
    fn refuse_all(&mut self) {
        self.gathered.refuse_all();
        for job in self.others.drain(..) {
            job.text.fill(0);
            job.tag.fill(0);
        }
    }

    /// Encrypts and tags the packets that were added.
    fn seal(&mut self) -> Result<LaneUse, JobFault> {
        let mut lanes = self.gathered.finish();
        if !self.others.is_empty() {
            self.seal_others()?;
        }
        lanes += std::mem::take(&mut self.lanes_of_others);
        match self.has_refused || self.gathered.has_refused() {
            false => Ok(lanes),
            true => Err(JobFault::Refused),
        }
    }
}
