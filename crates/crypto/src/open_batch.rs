//! Received packets that are checked and gathered as they are found.

use crate::aead::gcm::{self, Gathered, Outcomes, Packet, Packets, Received};
use crate::engine::{Family, tier_in_use};
use crate::job::{OpenJob, open};
use crate::kernel::Kernel;
use crate::lane_use::LaneUse;

/// Does what [`open`] does, for a caller that finds the packets one by one:
/// `find` adds each to the batch while its bytes are at hand, and when it returns,
/// all are opened as one. It is [`seal_as_made`](crate::seal_as_made) the other way
/// round: AES-GCM's packets gain by it; those of other suites are kept in `others`
/// as jobs and handed to [`open`]. It is memory only: jobs that are in it before are
/// forgotten, and it is empty afterwards; [recycled](OpenJob::recycle), it spares the
/// next batch an allocation.
///
/// Returns how full the lanes were.
///
/// # Errors
/// What `find` returns. Not all packets were opened then; the verdicts on those that
/// were not are `false`, and their texts are zeros.
///
/// ```
/// # use weir_crypto::{
/// #     IvSource, KeyMaterial, OpenJob, OpeningKey, SealJob, SealingKey, Suite, open_as_found, seal,
/// # };
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let suite = Suite::parse("aes-128-gcm-16")?;
/// # let key = OpeningKey::new(&KeyMaterial::new(suite, &[0x11; 20], &[])?)?;
/// # let material = KeyMaterial::new(suite, &[0x11; 20], &[])?;
/// # let mut sealing = SealingKey::new(material, 1, IvSource::Random)?;
/// # sealing.allow_until(1000);
/// # let mut packets = [[0; 60]; 2];
/// # for packet in &mut packets {
/// #     let ticket = sealing.next_ticket()?;
/// #     let (prefix, rest) = packet.split_at_mut(8);
/// #     let (iv, rest) = rest.split_at_mut(8);
/// #     let (text, tag) = rest.split_at_mut(28);
/// #     seal(&mut [SealJob { key: &sealing, ticket, prefix, iv, text, suffix: b"", tag }])?;
/// # }
/// packets[1][20] ^= 1;
/// let mut verdicts = [false; 2];
/// open_as_found(&mut Vec::new(), |batch| {
///     for (packet, verdict) in packets.iter_mut().zip(&mut verdicts) {
///         let (prefix, rest) = packet.split_at_mut(8);
///         let (iv, rest) = rest.split_at_mut(8);
///         let (text, tag) = rest.split_at_mut(28);
///         let job = OpenJob { key: &key, prefix, iv, text, suffix: b"", tag, verified: false };
///         batch.add(job, verdict);
///     }
///     Ok::<_, ()>(())
/// });
/// assert_eq!(verdicts, [true, false]);
/// assert_eq!(packets[1][16..44], [0; 28]);
/// # Ok(())
/// # }
/// ```
pub fn open_as_found<'a, E>(
    others: &mut Vec<OpenJob<'a>>,
    find: impl FnOnce(&mut OpenBatch<'_, 'a>) -> Result<(), E>,
) -> Result<LaneUse, E> {
    let mut packets = Packets::new();
    let mut received = Outcomes::new();
    others.clear();
    let mut batch = OpenBatch {
        gathered: Gathered::new(tier_in_use(Family::Gcm), &mut packets, &mut received),
        others,
        verdicts_on_others: Outcomes::new(),
        lanes_of_others: LaneUse::default(),
    };
    match find(&mut batch) {
        Ok(()) => Ok(batch.open()),
        Err(error) => {
            batch.refuse_all();
            Err(error)
        }
    }
}

/// A batch of received packets that grows by one packet at a time: see
/// [`open_as_found`].
pub struct OpenBatch<'m, 'a> {
    gathered: Gathered<'m, 'a, Received<'a>>,
    /// As many as there are verdicts on.
    others: &'m mut Vec<OpenJob<'a>>,
    verdicts_on_others: Outcomes<&'a mut bool>,
    lanes_of_others: LaneUse,
}

impl<'a> OpenBatch<'_, 'a> {
    /// Adds a packet. `verdict` is `false` until it turns out that the packet is
    /// authentic; [`OpenJob::verified`] says nothing here. A packet whose lengths
    /// are not its suite's is refused at once, as [`open`] refuses it.
    #[inline]
    pub fn add(&mut self, job: OpenJob<'a>, verdict: &'a mut bool) {
        *verdict = false;
        let Kernel::Gcm(key) = job.key.kernel() else {
            self.add_other(job, verdict);
            return;
        };
        let (true, Some(iv), Some(tag)) = (
            job.is_well_shaped(),
            job.iv.first_chunk(),
            job.tag.first_chunk(),
        ) else {
            job.text.fill(0);
            return;
        };
        let packet = Packet {
            key: key.view(),
            nonce: key.nonce(*iv),
            associated: job.prefix,
            text: gcm::cells(job.text),
        };
        self.gathered.add(packet, Received { tag, verdict });
    }

    #[inline(never)]
    fn add_other(&mut self, job: OpenJob<'a>, verdict: &'a mut bool) {
        if self.verdicts_on_others.is_full() {
            self.open_others();
        }
        self.others.push(job);
        self.verdicts_on_others.push(verdict);
    }

    /// Leaves zeros of the packets that were added and not opened.
    #[cold]
    fn refuse_all(&mut self) {
        self.gathered.refuse_all();
        self.others.drain(..).for_each(|job| job.text.fill(0));
    }

    fn open_others(&mut self) {
        self.lanes_of_others += open(self.others);
        let verdicts = self.verdicts_on_others.drain(..);
        for (job, verdict) in self.others.drain(..).zip(verdicts) {
            *verdict = job.verified;
        }
    }

    /// Verifies and decrypts the packets that were added.
    fn open(&mut self) -> LaneUse {
        let mut lanes = self.gathered.finish();
        if !self.others.is_empty() {
            self.open_others();
        }
        lanes += std::mem::take(&mut self.lanes_of_others);
        lanes
    }
}
