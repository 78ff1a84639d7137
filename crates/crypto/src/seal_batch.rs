//! Packets that are checked and gathered while they are made.

use crate::aead::gcm::{self, Gathered, Outcomes, Packet, Packets};
use crate::cipher::Block;
use crate::engine::{Family, tier_in_use};
use crate::fault::JobFault;
use crate::job::{SealJob, seal};
use crate::kernel::Kernel;
use crate::lane_use::LaneUse;

/// Does what [`seal`] does, for a caller that makes the packets itself: `make`
/// adds each to the batch as soon as it is made, and when it returns, all are
/// sealed as one. A packet is checked and prepared while what was written of it
/// is still at hand, and not once more when all others have been made. AES-GCM's
/// packets gain by it; those of other suites are kept in `others` as jobs and
/// handed to [`seal`], with whatever is in there already. It is empty afterwards;
/// [recycled](SealJob::recycle), it spares the next batch an allocation.
///
/// Returns how full the lanes were.
///
/// # Errors
/// What `make` returns, or [`JobFault::Refused`], which would be a defect of this
/// crate. None of the packets may be sent: not all of them are encrypted, and their
/// tickets are spent.
///
/// ```
/// # use weir_crypto::{IvSource, JobFault, KeyMaterial, SealJob, SealingKey, Suite, seal_as_made};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let material = KeyMaterial::new(Suite::parse("aes-128-gcm-16")?, &[0x11; 20], &[])?;
/// let mut key = SealingKey::new(material, 1, IvSource::Random)?;
/// key.allow_until(1000); // written to a state file before this
/// let tickets = [key.next_ticket()?, key.next_ticket()?];
/// let mut packets = [[0; 60]; 2];
///
/// seal_as_made(&mut Vec::new(), |batch| {
///     for (ticket, packet) in tickets.into_iter().zip(&mut packets) {
///         let (prefix, rest) = packet.split_at_mut(8);
///         let (iv, rest) = rest.split_at_mut(8);
///         let (text, tag) = rest.split_at_mut(28);
///         batch.add(SealJob { key: &key, ticket, prefix, iv, text, suffix: b"", tag })?;
///     }
///     Ok::<_, JobFault>(())
/// })?;
/// assert_ne!(packets[0][16..], packets[1][16..]);
/// # Ok(())
/// # }
/// ```
pub fn seal_as_made<'a, E: From<JobFault>>(
    others: &mut Vec<SealJob<'a>>,
    make: impl FnOnce(&mut SealBatch<'_, 'a>) -> Result<(), E>,
) -> Result<LaneUse, E> {
    let mut packets = Packets::new();
    let mut tags = Outcomes::new();
    let mut batch = SealBatch {
        gathered: Gathered::new(tier_in_use(Family::Gcm), &mut packets, &mut tags),
        others,
    };
    make(&mut batch)?;
    Ok(batch.seal()?)
}

/// A batch of packets that grows by one packet at a time: see [`seal_as_made`].
pub struct SealBatch<'m, 'a> {
    gathered: Gathered<'m, 'a, &'a mut Block>,
    others: &'m mut Vec<SealJob<'a>>,
}

impl<'a> SealBatch<'_, 'a> {
    /// Adds a packet, whose ticket is spent. Of AES-GCM, the IV is written at
    /// once; all else is left for the end.
    ///
    /// # Errors
    /// What is wrong with the job: nothing of it was written, and the packets
    /// before it stay.
    #[inline]
    pub fn add(&mut self, job: SealJob<'a>) -> Result<(), JobFault> {
        job.check()?;
        let Kernel::Gcm(key) = job.key.kernel() else {
            self.others.push(job);
            return Ok(());
        };
        job.key.write_iv(&job.ticket, job.iv)?;
        let (Some(iv), Some(tag)) = (job.iv.first_chunk(), job.tag.first_chunk_mut()) else {
            return Err(JobFault::Refused);
        };
        let packet = Packet {
            key: key.view(),
            nonce: key.nonce(*iv),
            associated: job.prefix,
            text: gcm::cells(job.text),
        };
        self.gathered.add(packet, tag);
        Ok(())
    }

    /// Encrypts and tags the packets that were added.
    fn seal(&mut self) -> Result<LaneUse, JobFault> {
        let mut lanes = self.gathered.finish();
        if !self.others.is_empty() {
            lanes += seal(self.others).map_err(|error| error.fault)?;
            self.others.clear();
        }
        Ok(lanes)
    }
}
