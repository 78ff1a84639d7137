//! What becomes of records, what was noticed about them, and the accounts of
//! both.

use weir_packet::wire::KeyKind;

use super::records::Batch;
use crate::disposition::{Disposition, DropCode};
use crate::event::{Event, EventKind};
use crate::statistics::Tally;

impl Batch {
    /// Drops a record that is still on its way.
    pub fn drop_record(&mut self, index: usize, reason: DropCode) {
        self.settle(index, Disposition::Drop(reason));
    }

    /// Drops those of the records that are still on their way which `of` picks.
    pub(crate) fn drop_live(&mut self, reason: DropCode, of: impl Fn(&Batch, usize) -> bool) {
        for index in self.live() {
            if of(self, index) {
                self.drop_record(index, reason);
            }
        }
    }

    /// Takes a record off the stream for good, because it went into others or
    /// was meant for the stage itself.
    pub fn absorb(&mut self, index: usize) {
        self.settle(index, Disposition::Absorbed);
    }

    /// Says that another worker has a copy of a record, and goes on with it.
    pub(crate) fn hand_over(&mut self, index: usize) {
        self.settle(index, Disposition::HandedOver);
    }

    /// Takes the events out.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// A record's fate is decided once: the first decision stands.
    pub(super) fn settle(&mut self, index: usize, fate: Disposition) {
        let disposition = &mut self.columns.disposition[..self.len][index];
        if *disposition == Disposition::Forward {
            *disposition = fate;
        }
    }

    /// Notes an event of a record, and hands it out to be added to: what is
    /// said of its flow is that of the outermost packet.
    pub fn notice(&mut self, index: usize, kind: EventKind) -> &mut Event {
        let headers = *self.headers(index);
        let record = self.record(index);
        let icmp = match (headers.protocol, headers.transport(record)) {
            (1 | 58, [kind, code, ..]) => Some((*kind, *code)),
            _ => None,
        };
        let event = Event {
            arrival: Some(self.number(index)),
            timestamp_ns: self.arrival(index).timestamp_ns,
            flow: self.flow_key(index).unwrap_or_default(),
            key: KeyKind::FiveTuple,
            flow_id: None,
            icmp,
            vlan_tci: headers.vlan_tcis(record).next(),
            interface: Some(self.arrival(index).interface),
            kind,
            generation: None,
            members: None,
        };
        self.events.push(event);
        let last = self.events.len() - 1;
        &mut self.events[last]
    }

    /// Notes an event that is not about a record of this batch.
    pub fn notice_beside(&mut self, event: Event) {
        self.events.push(event);
    }

    /// What was noticed so far, about this batch's records and beside them.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The accounts of a batch whose live records and events go on in batches
    /// of other shards.
    pub(crate) fn settle_handed_over(&mut self) -> &Tally {
        self.settle_accounts();
        let tally = &mut self.tally;
        tally.handed_over += tally.forwarded;
        (tally.forwarded, tally.forwarded_bytes) = (0, 0);
        (tally.events, tally.batches) = (0, 0);
        tally
    }

    /// The batch's accounts, with the fate of every record. Once, when all is decided.
    pub(crate) fn settle_accounts(&mut self) -> &mut Tally {
        let tally = &mut self.tally;
        tally.events = self.events.len() as u64;
        tally.batches = 1;
        let columns = &*self.columns;
        let places = &columns.place[..self.len];
        let dispositions = &columns.disposition[..self.len];
        let (mut forwarded, mut forwarded_bytes) = (0, 0);
        for (place, disposition) in places.iter().zip(dispositions) {
            let is_forwarded = *disposition == Disposition::Forward;
            forwarded += u64::from(is_forwarded);
            forwarded_bytes += if is_forwarded { place.len() as u64 } else { 0 };
        }
        tally.forwarded += forwarded;
        tally.forwarded_bytes += forwarded_bytes;
        if forwarded == self.len as u64 {
            return tally;
        }
        for disposition in dispositions {
            match disposition {
                Disposition::Forward => {}
                Disposition::Drop(reason) => tally.add_drops(*reason, 1),
                Disposition::Held => tally.held += 1,
                Disposition::Absorbed => tally.absorbed += 1,
                Disposition::HandedOver => tally.handed_over += 1,
            }
        }
        tally
    }
}
