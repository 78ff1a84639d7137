//! The queue pairs of a capture: who sends to which of them.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use hashbrown::HashMap;

use super::QUEUE_PAIRS_MAX;
use super::numbers::Sequence;
use super::report::{Finding, FindingKind, QueuePairRow};
use crate::wire::{Direction, Packet, Transport};

/// Where a packet comes from or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Address {
    /// LID, within a subnet.
    Lid(u16),
    /// IP address, or a GID, which has the form of an IPv6 address.
    Ip(IpAddr),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Lid(lid) => write!(f, "lid:{lid}"),
            Address::Ip(address) => address.fmt(f),
        }
    }
}

/// One direction of what is sent to a queue pair: requests and responses have packet numbers of
/// their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct QueuePairKey {
    source: Address,
    destination: Address,
    queue_pair: u32,
    /// Of datagrams.
    source_queue_pair: Option<u32>,
    direction: Option<Direction>,
}

impl QueuePairKey {
    #[inline]
    pub fn of(packet: &Packet<'_>) -> QueuePairKey {
        let (source, destination) = addresses(packet);
        let bth = packet.bth();
        QueuePairKey {
            source,
            destination,
            queue_pair: bth.destination_qp,
            source_queue_pair: packet.deth().map(|deth| deth.source_qp),
            direction: bth.opcode.direction(),
        }
    }

    /// A finding in a packet of this queue pair.
    pub fn finding(&self, number: u64, kind: FindingKind) -> Finding {
        Finding {
            source: Some(self.source.to_string()),
            destination: Some(self.destination.to_string()),
            queue_pair: Some(self.queue_pair),
            ..Finding::new(number, kind)
        }
    }
}

#[inline]
fn addresses(packet: &Packet<'_>) -> (Address, Address) {
    let gid = |bits| Address::Ip(Ipv6Addr::from_bits(bits).into());
    if let Some((source, destination)) = packet.ip_addresses() {
        (Address::Ip(source), Address::Ip(destination))
    } else if let Some(grh) = packet.grh() {
        (gid(grh.source_gid), gid(grh.destination_gid))
    } else {
        let lrh = packet.lrh().unwrap_or_default();
        (
            Address::Lid(lrh.source_lid),
            Address::Lid(lrh.destination_lid),
        )
    }
}

/// What came of one direction of a queue pair.
pub(super) struct QueuePair {
    pub transport: Option<Transport>,
    pub packets: u64,
    pub bytes: u64,
    pub sequence: Sequence,
    pub gaps: u64,
    pub missing: u64,
    pub repeated: u64,
    pub jumps: u64,
}

/// All of them, up to a limit.
#[derive(Default)]
pub(super) struct QueuePairs {
    places: HashMap<QueuePairKey, usize>,
    rows: Vec<(QueuePairKey, QueuePair)>,
    /// Where the last packet belonged: packets come in trains.
    last: Option<(QueuePairKey, usize)>,
    untracked: u64,
}

impl QueuePairs {
    /// The row of a packet; `None` where there is no place for another one.
    #[inline]
    pub fn row(
        &mut self,
        key: &QueuePairKey,
        transport: Option<Transport>,
    ) -> Option<&mut QueuePair> {
        let place = match self.last {
            Some((last, place)) if last == *key => place,
            _ => self.place(key, transport)?,
        };
        self.last = Some((*key, place));
        self.rows.get_mut(place).map(|(_, row)| row)
    }

    fn place(&mut self, key: &QueuePairKey, transport: Option<Transport>) -> Option<usize> {
        if let Some(place) = self.places.get(key) {
            return Some(*place);
        }
        if self.rows.len() == QUEUE_PAIRS_MAX {
            self.untracked += 1;
            return None;
        }
        let place = self.rows.len();
        self.places.insert(*key, place);
        let row = QueuePair {
            transport,
            packets: 0,
            bytes: 0,
            sequence: Sequence::default(),
            gaps: 0,
            missing: 0,
            repeated: 0,
            jumps: 0,
        };
        self.rows.push((*key, row));
        Some(place)
    }

    /// Packets for which there was no place.
    pub fn untracked(&self) -> u64 {
        self.untracked
    }

    /// Rows for a report, those with the most packets first.
    pub fn report(&self) -> Vec<QueuePairRow> {
        let mut rows: Vec<QueuePairRow> = (self.rows.iter())
            .map(|(key, row)| QueuePairRow {
                source: key.source.to_string(),
                destination: key.destination.to_string(),
                queue_pair: key.queue_pair,
                source_queue_pair: key.source_queue_pair,
                transport: row.transport.map(Transport::name),
                direction: key.direction.map(|direction| match direction {
                    Direction::Request => "request",
                    Direction::Response => "response",
                }),
                packets: row.packets,
                bytes: row.bytes,
                gaps: row.gaps,
                missing: row.missing,
                repeated: row.repeated,
                jumps: row.jumps,
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.packets));
        rows
    }
}
