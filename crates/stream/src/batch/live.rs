//! Records of live ports: received into frames that the batch owns, and sent from there.

use std::sync::Arc;

use weir_packet::wire::LinkType;
use weir_port::{ChecksumState, LinkLayer, Offload, Outgoing, Rx, Tx};

use super::limits::BATCH_RECORDS;
use super::records::Batch;
use super::slab::Place;
use crate::arrival::Arrival;
use crate::disposition::Disposition;
use crate::egress::Egress;
use crate::work::Work;

/// What records of a port have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ingress {
    /// Index into the batch's interfaces.
    pub interface: u16,
    /// Where records leave unless a stage says otherwise.
    pub egress: Egress,
}

impl Batch {
    /// Takes what has arrived at a port, as far as there is room. Returns how many records it
    /// was; they are numbered from `first_number` on.
    pub(crate) fn fill(&mut self, rx: &mut dyn Rx, ingress: Ingress, first_number: u64) -> usize {
        let first = self.len;
        let first_frame = self.frames.len();
        let limit = self.room().0;
        let added = rx.fill(&mut self.frames, limit);
        let link = link_type(rx.link_layer());
        let keeps_flows = self.limits.keeps_flows;
        let columns = &mut *self.columns;
        let mut record_bytes = 0;
        for offset in 0..added.min(BATCH_RECORDS - first) {
            let (index, frame) = (first + offset, first_frame + offset);
            let (record, came) = (self.frames.bytes(frame), self.frames.arrival(frame));
            columns.parse(index, link, record, keeps_flows);
            columns.arrival[index] = Arrival {
                timestamp_ns: came.arrival_ns,
                wire_bytes: came.wire_bytes,
                interface: ingress.interface,
                link,
                ..Arrival::default()
            };
            (columns.place[index], columns.room[index]) = Place::in_frame(frame, record.len());
            columns.number[index] = first_number + offset as u64;
            columns.offload[index] = came.offload;
            record_bytes += record.len();
        }
        let end = first + added;
        let arrivals = columns.count_arrivals(first..end);
        columns.work[first..end].fill(Work::default());
        columns.disposition[first..end].fill(Disposition::Forward);
        columns.egress[first..end].fill(ingress.egress);
        self.len = end;
        self.bytes += record_bytes;
        self.has_offloads = true;
        self.tally.packets += added as u64;
        self.tally.bytes += record_bytes as u64;
        self.tally.arrivals.add(&arrivals);
        added
    }

    /// Whether the port vouches for the checksum of a record's transport header: it was
    /// verified, or it is yet to be written because the packet never was on a wire.
    #[inline]
    pub fn is_checksum_trusted(&self, index: usize) -> bool {
        self.columns.offload[..self.len][index].checksum != ChecksumState::Unknown
    }

    /// Where a record leaves.
    #[inline]
    pub fn egress(&self, index: usize) -> Egress {
        self.columns.egress[..self.len][index]
    }

    /// Sends a record elsewhere.
    #[inline]
    pub fn set_egress(&mut self, index: usize, egress: Egress) {
        self.columns.egress[..self.len][index] = egress;
    }

    /// The longest record with this one's link header that the port takes which it leaves by, in
    /// bytes; without limit where that is no port. A port whose MTU has changed says so within
    /// some 100 ms.
    #[inline]
    pub fn longest_at_egress(&self, index: usize) -> usize {
        let port = self.egress(index).port_number();
        match port.and_then(|port| self.mtus_bytes.get(port)) {
            Some(mtu_bytes) => mtu_bytes.saturating_add(self.bytes_beside_mtu(index)),
            None => usize::MAX,
        }
    }

    /// Bytes of a record's link header that an MTU does not count: [`Tx::mtu_bytes`].
    #[inline]
    fn bytes_beside_mtu(&self, index: usize) -> usize {
        match self.arrival(index).link {
            LinkType::Ethernet if self.headers(index).vlan_tags > 0 => 18,
            LinkType::Ethernet => 14,
            _ => 0,
        }
    }

    /// What the ports say that records may leave by.
    pub(crate) fn set_mtus_bytes(&mut self, mtus_bytes: &Arc<[usize]>) {
        if !Arc::ptr_eq(&self.mtus_bytes, mtus_bytes) {
            self.mtus_bytes = Arc::clone(mtus_bytes);
        }
    }

    /// What is left to do to a record before it is on a wire: its sender left a checksum or the
    /// division into segments to the interface.
    #[inline]
    pub fn offload(&self, index: usize) -> Offload {
        self.columns.offload[..self.len][index]
    }

    /// Says what is left to do, after some of it was done.
    #[inline]
    pub fn set_offload(&mut self, index: usize, offload: Offload) {
        self.columns.offload[..self.len][index] = offload;
        self.has_offloads = true;
    }

    /// The ports by which live records leave, a bit for each, and whether some go to control.
    pub(crate) fn egresses(&self) -> (u64, bool) {
        let (mut ports, mut to_control) = (0, false);
        for index in self.live() {
            let egress = self.egress(index);
            to_control |= egress == Egress::CONTROL;
            ports |= egress.port_number().map_or(0, |port| 1u64 << port);
        }
        (ports, to_control)
    }

    /// Gives the live records of a port to it. Returns how many bytes these are; the
    /// port counts those that it does not take.
    pub(crate) fn send(&mut self, tx: &mut dyn Tx, egress: Egress) -> u64 {
        let mut outgoing = [Outgoing::Frame(0); BATCH_RECORDS];
        let (mut count, mut bytes) = (0, 0);
        let live = self.live();
        let (columns, blocks, slab) = (&*self.columns, &self.blocks, self.slab.bytes());
        for index in live.filter(|index| columns.egress[*index] == egress) {
            let place = columns.place[index];
            let offload = columns.offload[index];
            outgoing[count] = match place.frame(columns.room[index]) {
                Some(frame) => {
                    self.frames.arrival_mut(frame).offload = offload;
                    Outgoing::Frame(frame)
                }
                None => {
                    let block = blocks.get(place.block_index());
                    let memory = block.map_or(slab, |block| block);
                    Outgoing::Bytes(&memory[place.range()], offload)
                }
            };
            (count, bytes) = (count + 1, bytes + place.len() as u64);
        }
        if count > 0 {
            tx.send(&mut self.frames, &outgoing[..count]);
        }
        bytes
    }
}

/// The link type of a port's records.
pub(crate) fn link_type(link: LinkLayer) -> LinkType {
    match link {
        LinkLayer::Ethernet => LinkType::Ethernet,
        LinkLayer::Ip => LinkType::RawIp,
    }
}
