//! Finding the high half of sequence numbers again (RFC 4303, appendix A3): after
//! a start in the middle of a stream, or after the loss of 2^32 packets.

use weir_crypto::{OpenJob, open};
use weir_stream::Batch;

use super::Unprotect;
use crate::esp::{Arrival, Associated, Decapsulation};

impl Unprotect {
    /// Notes that a packet of an association failed verification.
    #[cold]
    pub(super) fn note_failure(&mut self, association: u32) {
        let slot = self.associations.get_mut(association as usize);
        if let Some(Some(inbound)) = slot
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
        for (index, association) in &self.wanted {
            let Some(place) = self.lost.iter().position(|lost| lost == association) else {
                continue;
            };
            self.lost.swap_remove(place);
            let slot = self.associations.get_mut(*association as usize);
            let Some(Some(inbound)) = slot else {
                continue;
            };
            let index = *index as usize;
            let (headers, record) = (batch.headers(index), batch.record(index));
            let ports = self.databases.sad.nat_t_ports();
            let Ok(Some(arrival)) = Arrival::find(headers, record, ports) else {
                continue;
            };
            let link = batch.arrival(index).link;
            let format = *inbound.format();
            let Ok(plan) = Decapsulation::plan(&format, link, headers, &arrival) else {
                continue;
            };
            let verified = inbound
                .candidates(arrival.sequence_low)
                .into_iter()
                .find(|sequence| {
                    let associated = Associated::new(&format, *sequence);
                    let mut copy = record.to_vec();
                    let Some(parts) = plan.layout().parts(&mut copy) else {
                        return false;
                    };
                    let mut jobs = [OpenJob {
                        key: inbound.key(),
                        prefix: associated.prefix(parts.esp_header),
                        iv: parts.iv,
                        text: parts.text,
                        suffix: associated.suffix(),
                        tag: parts.tag,
                        verified: false,
                    }];
                    open(&mut jobs);
                    jobs[0].verified
                });
            if let Some(sequence) = verified {
                inbound.resynchronize(sequence);
            }
        }
    }
}
