//! What a receiver keeps of a flow, and what it plans for a packet of it.

use subtle::ConstantTimeEq;
use weir_crypto::{Descriptor, KeyError, KeyId, KeyMaterial, Opener, OpeningKey};

use crate::secure::batch::Batch;
use crate::secure::derive::GcmKey;
use crate::secure::flow::FlowSecrets;
use crate::secure::flows::FlowId;
use crate::secure::format::{
    Algorithm, CUT_TAG_BYTES, EPOCH_END, PSN_BITS, PSN_MASK, Role, TAG_BYTES, extend_epoch,
};
use crate::secure::reason::DropReason;
use crate::secure::slots::{Slots, Use};
use crate::wire::Opcode;

pub(super) struct Receiving {
    pub(super) secrets: Box<FlowSecrets>,
    /// Of 32-bit mode, for requests and for responses, and of extended mode: expanded when the first packet
    /// needs them.
    pub(super) gcm_32: [Option<KeyId>; 2],
    pub(super) gcm_128: Option<KeyId>,
    pub(super) roles: [ReceivingRole; 2],
    /// Of extended mode: the lowest number that is taken, the highest that was, and the latest.
    pub(super) lowest_extended: u64,
    pub(super) highest_extended: Option<u64>,
    pub(super) extended: Slots,
    /// The newest epoch of the sender that was known before the first packet.
    pub(super) known_epoch: Option<u64>,
    pub(super) failed_gcm_32: u32,
    pub(super) failed_cmac_32: u32,
    pub(super) consecutive: u32,
    /// Whether a tag was right.
    pub(super) has_verified: bool,
}

/// The numbers of requests, or of responses.
pub(super) struct ReceivingRole {
    /// The lowest that is taken.
    pub(super) lowest: u64,
    /// The highest that was verified.
    pub(super) highest: Option<u64>,
    pub(super) taken: Slots,
}

/// A packet of a batch of the cipher.
pub(super) struct Planned {
    pub(super) index: usize,
    pub(super) flow: FlowId,
    pub(super) descriptor: Descriptor,
    pub(super) algorithm: Algorithm,
    pub(super) role: Role,
    pub(super) number: u64,
}

/// Numbers that lie so far back were not sent again after the PSN wrapped.
pub(super) const WRAP: u64 = 1 << 23;

/// Epochs by which a packet may be ahead of the newest, or behind it. What has the low bits of one further
/// ahead is an old packet that somebody sends again, and no forged one.
const EPOCHS_APART: u64 = 63;

impl ReceivingRole {
    /// What is known about a number, which for one above all that came is not read from memory.
    #[inline]
    fn look(&self, number: u64) -> Use {
        match self.highest {
            Some(highest) if number <= highest => self.taken.look(number),
            _ => Use::Unused,
        }
    }
}

impl Receiving {
    #[inline]
    pub(super) fn gcm_32(&mut self, role: Role, opener: &mut Opener) -> Result<KeyId, DropReason> {
        match self.gcm_32[role as usize] {
            Some(key) => Ok(key),
            None => {
                let secret = self.secrets.gcm_32.of_role(role);
                let key = expand(&secret, opener, |material| {
                    OpeningKey::with_cut_tags(material, CUT_TAG_BYTES)
                })?;
                self.gcm_32[role as usize] = Some(key);
                Ok(key)
            }
        }
    }

    pub(super) fn gcm_128(&mut self, opener: &mut Opener) -> Result<KeyId, DropReason> {
        match self.gcm_128 {
            Some(key) => Ok(key),
            None => {
                let key = expand(&self.secrets.gcm_128, opener, OpeningKey::new)?;
                self.gcm_128 = Some(key);
                Ok(key)
            }
        }
    }

    /// The number of a packet, whose epoch is not over.
    pub(super) fn number(&self, role: Role, low_bits: u8, psn: u32) -> Result<u64, DropReason> {
        let &ReceivingRole {
            lowest, highest, ..
        } = &self.roles[role as usize];
        let newest = highest.unwrap_or(lowest) >> PSN_BITS;
        // All roles have their epochs from one sender.
        let newest_of_sender = self.newest_epoch();
        // The one before may go on where the PSN has wrapped.
        let oldest = match highest {
            Some(_) => newest.saturating_sub(1).max(lowest >> PSN_BITS),
            None => newest,
        };
        let behind = newest_of_sender.map_or(0, |newest| newest.saturating_sub(EPOCHS_APART));
        let epoch = extend_epoch(oldest.max(behind), low_bits);
        // Seven bits do not distinguish one that is far ahead from one that is over.
        let is_far = newest_of_sender.is_some_and(|newest| epoch > newest + EPOCHS_APART);
        if epoch >= EPOCH_END || is_far {
            return Err(DropReason::OldEpoch);
        }
        let number = epoch << PSN_BITS | u64::from(psn);
        let is_over = epoch < newest && highest.is_some_and(|highest| highest - number >= WRAP);
        match () {
            () if is_over => Err(DropReason::OldEpoch),
            () if number < lowest => Err(DropReason::Replayed),
            () => Ok(number),
        }
    }

    pub(super) fn authenticate(
        &mut self,
        batch: &mut Batch<'_>,
        index: usize,
    ) -> Result<(), DropReason> {
        let bth = batch.places[index].bth();
        let role = Role::of(bth.opcode);
        let is_notification = bth.opcode == Opcode::CONGESTION_NOTIFICATION;
        let number = match is_notification {
            // Its PSN does not count.
            true => {
                let of_role = &self.roles[role as usize];
                let psn = low_psn(of_role.highest.unwrap_or(of_role.lowest));
                let number = self.number(role, bth.reserved_7, psn)?;
                number & !PSN_MASK | u64::from(bth.psn)
            }
            false => self.number(role, bth.reserved_7, bth.psn)?,
        };
        batch.mask(index);
        let is_right = self.secrets.cmac.is_right(batch, index, role, number);
        batch.unmask(index);
        if !is_right {
            return Err(DropReason::TagFailed);
        }
        if !is_notification {
            let highest = &mut self.roles[role as usize].highest;
            *highest = (*highest).max(Some(number));
        }
        batch.finish_plain(index);
        Ok(())
    }

    pub(super) fn plan_opening(
        &mut self,
        batch: &mut Batch<'_>,
        index: usize,
        flow: FlowId,
        opener: &mut Opener,
    ) -> Result<Planned, DropReason> {
        let bth = batch.places[index].bth();
        let role = Role::of(bth.opcode);
        let number = self.number(role, bth.reserved_7, bth.psn)?;
        match self.roles[role as usize].look(number) {
            Use::Unused | Use::Used(Some(_)) => {}
            Use::Used(None) | Use::Forgotten => return Err(DropReason::Replayed),
        }
        let key = self.gcm_32(role, opener)?;
        batch.mask(index);
        Ok(Planned {
            index,
            flow,
            descriptor: batch.descriptor(index, key),
            algorithm: Algorithm::Gcm32,
            role,
            number,
        })
    }

    pub(super) fn plan_extended(
        &mut self,
        batch: &mut Batch<'_>,
        index: usize,
        flow: FlowId,
        opener: &mut Opener,
    ) -> Result<Planned, DropReason> {
        let number = batch.split_extended(index)?;
        if number < self.lowest_extended || self.extended.look(number) != Use::Unused {
            return Err(DropReason::Replayed);
        }
        let key = self.gcm_128(opener)?;
        batch.mask(index);
        Ok(Planned {
            index,
            flow,
            descriptor: batch.descriptor(index, key),
            algorithm: Algorithm::Gcm128,
            role: Role::Request,
            number,
        })
    }

    /// Counts a right tag.
    pub(super) fn verified(&mut self) {
        self.consecutive = 0;
        self.has_verified = true;
    }

    /// The newest epoch of the packets that were verified, by this receiver or before.
    pub(super) fn newest_epoch(&self) -> Option<u64> {
        let highest = self.roles.iter().map(|role| role.highest);
        let highest = highest.max().flatten().max(self.highest_extended);
        let newest = highest.map(|number| number >> PSN_BITS);
        newest.max(self.known_epoch)
    }

    /// Marks the number of a packet with a right tag as taken, if it may be.
    pub(super) fn take(
        &mut self,
        packet: &Planned,
        tag: Option<[u8; TAG_BYTES]>,
    ) -> Result<(), DropReason> {
        if packet.algorithm == Algorithm::Gcm128 {
            if self.extended.look(packet.number) != Use::Unused {
                return Err(DropReason::Replayed);
            }
            self.extended.set(packet.number, &[0; TAG_BYTES], 0);
            self.highest_extended = self.highest_extended.max(Some(packet.number));
            return Ok(());
        }
        let tag = tag.ok_or(DropReason::CipherRefused)?;
        let of_role = &mut self.roles[packet.role as usize];
        match of_role.look(packet.number) {
            Use::Unused => {
                of_role.taken.set(packet.number, &tag, 0);
                of_role.highest = of_role.highest.max(Some(packet.number));
                Ok(())
            }
            Use::Used(Some(first)) if bool::from(first.ct_eq(&tag)) => Ok(()),
            Use::Used(Some(_)) => Err(DropReason::DuplicateDiffers),
            Use::Used(None) | Use::Forgotten => Err(DropReason::Replayed),
        }
    }
}

#[cold]
pub(super) fn expand(
    secret: &GcmKey,
    opener: &mut Opener,
    new: impl FnOnce(&KeyMaterial) -> Result<OpeningKey, KeyError>,
) -> Result<KeyId, DropReason> {
    let key = (secret.material()).and_then(|material| new(&material));
    let key = key.map_err(|_| DropReason::CipherRefused)?;
    Ok(opener.add(key))
}

pub(super) fn low_psn(number: u64) -> u32 {
    (number & PSN_MASK) as u32
}
