//! What a sender keeps of a flow, and what it plans for a packet of it.

use std::ops::{Range, RangeBounds};

use weir_crypto::{Descriptor, KeyId, Sealer, SealingKey};
use zeroize::Zeroizing;

use crate::secure::batch::Batch;
use crate::secure::derive::GcmKey;
use crate::secure::flow::{ExtendedMode, Flow, FlowError, FlowSecrets};
use crate::secure::flows::FlowId;
use crate::secure::format::{
    Algorithm, EPOCH_END, EXTENDED_BYTES, PSN_BITS, Role, TAG_BYTES, is_reliable, nearest_number,
};
use crate::secure::reason::DropReason;
use crate::secure::slots::{Slots, Use};
use crate::wire::Opcode;

pub(super) struct Sending {
    pub(super) epochs: Range<u64>,
    pub(super) secrets: Box<FlowSecrets>,
    /// Of 32-bit mode, for requests and for responses, and of extended mode: expanded when the first packet
    /// needs them.
    pub(super) gcm_32: [Option<KeyId>; 2],
    pub(super) gcm_128: Option<KeyId>,
    pub(super) roles: [SendingRole; 2],
}

/// The numbers of requests, or of responses.
pub(super) struct SendingRole {
    /// The highest of all packets.
    pub(super) highest: Option<u64>,
    /// The lowest that seals no packet yet, and none above it.
    pub(super) next: u64,
    pub(super) sealed: Slots,
}

/// A packet of a batch of the cipher.
pub(super) struct Planned {
    pub(super) index: usize,
    pub(super) flow: FlowId,
    pub(super) descriptor: Descriptor,
    pub(super) as_what: Sealing,
}

pub(super) enum Sealing {
    /// Under a number that was not used.
    First(Role, u64),
    /// Under a number that was used, to be the same.
    Again {
        number: u64,
        tag: [u8; TAG_BYTES],
        /// The body, if it may go out in extended mode instead.
        body: Option<Zeroizing<Vec<u8>>>,
    },
    Extended {
        number: u64,
    },
}

/// A packet on its way, of a flow.
pub(super) struct Outgoing<'a, 'b> {
    pub(super) batch: &'a mut Batch<'b>,
    pub(super) index: usize,
    pub(super) id: FlowId,
    pub(super) flow: &'a Flow,
    pub(super) now_seconds: u64,
}

/// What becomes of a packet before the cipher runs.
pub(super) enum Plan {
    /// It is done with: dropped, passed, or authenticated.
    Done,
    Seal(Planned),
    /// It repeats a packet that is not sealed yet.
    Wait,
}

impl Sending {
    pub(super) fn keys(&self) -> impl Iterator<Item = KeyId> {
        (self.gcm_32.into_iter()).chain([self.gcm_128]).flatten()
    }

    /// The key of 32-bit mode for a role. None of its numbers was used before these epochs.
    #[inline]
    pub(super) fn gcm_32(&mut self, role: Role, sealer: &mut Sealer) -> Result<KeyId, DropReason> {
        match self.gcm_32[role as usize] {
            Some(key) => Ok(key),
            None => {
                let secret = self.secrets.gcm_32.of_role(role);
                let numbers = numbers_of(&self.epochs).start..;
                let key = expand(&secret, numbers, sealer)?;
                self.gcm_32[role as usize] = Some(key);
                Ok(key)
            }
        }
    }

    pub(super) fn gcm_128(&mut self, sealer: &mut Sealer) -> Result<KeyId, DropReason> {
        match self.gcm_128 {
            Some(key) => Ok(key),
            None => {
                let numbers = numbers_of(&self.epochs);
                let key = expand(&self.secrets.gcm_128, numbers, sealer)?;
                self.gcm_128 = Some(key);
                Ok(key)
            }
        }
    }

    /// The number of a packet, which is not above the reserved ones.
    pub(super) fn number(&self, role: Role, psn: u32) -> Result<u64, DropReason> {
        let start = self.epochs.start << PSN_BITS;
        let number = match self.roles[role as usize].highest {
            None => start | u64::from(psn),
            Some(highest) => nearest_number(highest, psn).ok_or(DropReason::PsnPassed)?,
        };
        match number >> PSN_BITS {
            epoch if epoch >= self.epochs.end => Err(DropReason::EpochsExhausted),
            epoch if epoch < self.epochs.start => Err(DropReason::PsnPassed),
            _ => Ok(number),
        }
    }

    /// Counts a packet whose number seals nothing.
    pub(super) fn pass_over(&mut self, role: Role, psn: u32) {
        let number = self.number(role, psn).ok();
        let highest = &mut self.roles[role as usize].highest;
        *highest = number.max(*highest);
    }

    pub(super) fn authenticate(
        &mut self,
        mut packet: Outgoing<'_, '_>,
        role: Role,
    ) -> Result<(), DropReason> {
        packet.set_timestamp_of_now();
        let Outgoing { batch, index, .. } = packet;
        let bth = batch.places[index].bth();
        let highest = self.roles[role as usize].highest;
        let number = match bth.opcode == Opcode::CONGESTION_NOTIFICATION {
            true => {
                let epoch = highest.map_or(self.epochs.start, |number| number >> PSN_BITS);
                epoch << PSN_BITS | u64::from(bth.psn)
            }
            false => {
                let number = self.number(role, bth.psn)?;
                self.roles[role as usize].highest = highest.max(Some(number));
                number
            }
        };
        batch.set_fields(index, Algorithm::Cmac32, number >> PSN_BITS);
        batch.mask(index);
        let tag = self.secrets.cmac.tag(batch, index, role, number);
        batch.unmask(index);
        batch.set_check(index, &tag);
        batch.finish(index);
        Ok(())
    }

    pub(super) fn plan_sealing(
        &mut self,
        mut packet: Outgoing<'_, '_>,
        role: Role,
        sealer: &mut Sealer,
        is_waiting: impl Fn(u64) -> bool,
    ) -> Result<Plan, DropReason> {
        let Outgoing {
            ref batch,
            index,
            id,
            flow,
            ..
        } = packet;
        let key = self.gcm_32(role, sealer)?;
        let may_grow = flow.extended != ExtendedMode::Never;
        let number = self.number(role, batch.places[index].bth().psn);
        let of_role = &mut self.roles[role as usize];
        let planned = match number {
            Ok(number) if number >= of_role.next => {
                // It is taken before it is sealed, so that nothing else gets it.
                of_role.next = number + 1;
                of_role.highest = of_role.highest.max(Some(number));
                Ok((number, Sealing::First(role, number)))
            }
            Ok(number) if is_waiting(number) => return Ok(Plan::Wait),
            Ok(number) => match of_role.sealed.look(number) {
                Use::Used(Some(tag)) => {
                    let body = may_grow.then(|| batch.buffer[batch.body(index)].to_vec().into());
                    Ok((number, Sealing::Again { number, tag, body }))
                }
                Use::Used(None) | Use::Unused | Use::Forgotten => Err(DropReason::PsnPassed),
            },
            Err(reason) => Err(reason),
        };
        match planned {
            Ok((number, as_what)) => {
                match as_what {
                    Sealing::Again { .. } => {
                        // A packet that is sent again has the time of the first.
                        packet.set_timestamp(of_role.sealed.seconds(number));
                    }
                    Sealing::First(..) | Sealing::Extended { .. } => packet.set_timestamp_of_now(),
                }
                let batch = packet.batch;
                batch.set_fields(index, Algorithm::Gcm32, number >> PSN_BITS);
                batch.make_space(index);
                batch.mask(index);
                Ok(Plan::Seal(Planned {
                    index,
                    flow: id,
                    descriptor: batch.descriptor(index, key),
                    as_what,
                }))
            }
            Err(DropReason::PsnPassed) if may_grow => {
                self.plan_extended(packet, sealer).map(Plan::Seal)
            }
            Err(reason) => Err(reason),
        }
    }

    pub(super) fn plan_extended(
        &mut self,
        mut packet: Outgoing<'_, '_>,
        sealer: &mut Sealer,
    ) -> Result<Planned, DropReason> {
        let key = self.gcm_128(sealer)?;
        packet.set_timestamp_of_now();
        let Outgoing {
            batch, index, id, ..
        } = packet;
        batch.change_lengths(index, EXTENDED_BYTES as isize)?;
        batch.set_fields(index, Algorithm::Gcm128, 0);
        batch.make_space(index);
        batch.mask(index);
        Ok(Planned {
            index,
            flow: id,
            descriptor: batch.descriptor(index, key),
            as_what: Sealing::Extended { number: 0 },
        })
    }

    /// The newest epoch that a number was taken from.
    pub(super) fn newest_epoch(&self, sealer: &Sealer) -> u64 {
        let key = self.gcm_128.and_then(|key| sealer.key(key));
        let extended = key.map_or(0, |key| key.next_number() >> PSN_BITS);
        let highest = (self.roles.iter()).filter_map(|role| role.highest).max();
        let epoch = highest.map_or(self.epochs.start, |number| number >> PSN_BITS);
        epoch.max(extended)
    }

    pub(super) fn allow_epochs_until(
        &mut self,
        sealer: &mut Sealer,
        end: u64,
    ) -> Result<(), FlowError> {
        let epochs = self.epochs.start..self.epochs.end.max(end);
        check_epochs(&epochs)?;
        allow_numbers_until(sealer, self.gcm_128, numbers_of(&epochs).end);
        self.epochs = epochs;
        Ok(())
    }
}

impl Outgoing<'_, '_> {
    /// Finds the place of the timestamp, which is empty in a packet that nobody has marked.
    pub(super) fn take_timestamp(&mut self) -> Result<(), DropReason> {
        let Some(timestamps) = self.flow.timestamps else {
            return Ok(());
        };
        match self.batch.timestamp(self.index, timestamps.bits) {
            Some(0) => Ok(()),
            Some(_) => Err(DropReason::ReservedBits),
            None => Err(DropReason::NoTimestamp),
        }
    }

    pub(super) fn set_timestamp_of_now(&mut self) {
        self.set_timestamp(Some(self.now_seconds));
    }

    pub(super) fn set_timestamp(&mut self, seconds: Option<u64>) {
        if let (Some(timestamps), Some(seconds)) = (self.flow.timestamps, seconds) {
            let stamp = timestamps.stamp(seconds);
            self.batch.set_timestamp(self.index, stamp);
        }
    }
}

impl SendingRole {
    pub(super) fn new(flow: &Flow, start: u64) -> SendingRole {
        let packets = match is_reliable(flow.transport) {
            true => flow.window_packets,
            // Nothing is sent again.
            false => 1,
        };
        SendingRole {
            highest: None,
            next: start,
            sealed: Slots::new(packets, true),
        }
    }
}

#[cold]
pub(super) fn expand(
    secret: &GcmKey,
    numbers: impl RangeBounds<u64>,
    sealer: &mut Sealer,
) -> Result<KeyId, DropReason> {
    let key = (secret.material()).and_then(|material| SealingKey::new(material, numbers));
    let key = key.map_err(|_| DropReason::CipherRefused)?;
    Ok(sealer.add(key))
}

/// The numbers of epochs.
pub(super) fn numbers_of(epochs: &Range<u64>) -> Range<u64> {
    epochs.start << PSN_BITS..epochs.end << PSN_BITS
}

pub(super) fn allow_numbers_until(sealer: &mut Sealer, gcm_128: Option<KeyId>, end: u64) {
    if let Some(key) = gcm_128.and_then(|key| sealer.key_mut(key)) {
        key.allow_until(end);
    }
}

pub(super) fn check_epochs(epochs: &Range<u64>) -> Result<(), FlowError> {
    match epochs.start < epochs.end && epochs.end <= EPOCH_END {
        true => Ok(()),
        false => Err(FlowError::Epochs),
    }
}
