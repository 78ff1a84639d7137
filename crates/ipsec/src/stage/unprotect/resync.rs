//! Finding the high half of sequence numbers again (RFC 4303, appendix A3): after
//! a start in the middle of a stream, or after the loss of 2^32 packets.

use weir_stream::Batch;

use super::Unprotect;
use crate::esp::{Arrival, Decapsulation};
use crate::stage::slots::Slots;

impl Unprotect {
    /// Notes that a packet of an association failed verification.
    #[cold]
    pub(super) fn note_failure(&mut self, association: u32) {
        if let Some(inbound) = self.slots.get_mut(association)
            && inbound.note_failure()
            && !self.lost.contains(&association)
        {
            self.lost.push(association);
        }
    }

    /// Tries one packet of each association that lost its place, and moves the
    /// window to where it verifies.
    #[cold]
    pub(super) fn resynchronize(&mut self, batch: &Batch) {
        for ((index, association), seen) in self.wanted.iter().zip(&self.seen) {
            let Some(place) = self.lost.iter().position(|lost| lost == association) else {
                continue;
            };
            self.lost.swap_remove(place);
            let Slots { rows, keys, .. } = &mut self.slots;
            let row = rows.get_mut(*association as usize);
            let Some(Some(inbound)) = row else {
                continue;
            };
            let index = *index as usize;
            let (headers, record) = (batch.headers(index), batch.record(index));
            let ports = self.databases.of(seen.parity).sad.nat_t_ports();
            let Ok(Some(arrival)) = Arrival::find(headers, record, ports) else {
                continue;
            };
            let format = *inbound.format();
            let Ok(plan) = Decapsulation::plan(&format, headers, record, &arrival) else {
                continue;
            };
            let shape = plan.shape();
            let Some(esp) = record.get(shape.from..shape.to) else {
                continue;
            };
            let candidates = inbound.candidates(arrival.sequence_low);
            let mut copies = esp.repeat(candidates.len());
            let mut opening = keys.batch(&mut copies);
            for (number, sequence) in candidates.iter().enumerate() {
                let offset = number * esp.len();
                let packet = format.descriptor(inbound.key(), offset, plan.plaintext_bytes());
                // All are taken, or none is: they differ in their numbers only.
                if opening.push_numbered(packet, *sequence).is_err() {
                    break;
                }
            }
            let verdicts = opening.run();
            let verified = candidates
                .iter()
                .zip(verdicts.iter())
                .find(|(_, is_good)| *is_good);
            if let Some((sequence, _)) = verified {
                inbound.resynchronize(*sequence);
            }
        }
    }
}
