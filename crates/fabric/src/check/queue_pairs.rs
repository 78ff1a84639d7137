//! The queue pairs of a capture: who sends to which of them.

use std::hash::{Hash, Hasher};
use std::net::{Ipv4Addr, Ipv6Addr};

use hashbrown::HashMap;

use super::QUEUE_PAIRS_MAX;
use super::numbers::Sequence;
use super::report::{Finding, FindingKind, QueuePairRow};
use crate::wire::{Carrier, Direction, Packet, Transport};

/// One direction of what is sent to a queue pair: requests and responses have packet numbers of
/// their own. In numbers: it is hashed and compared for every packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueuePairKey {
    /// IP address, a GID, or a LID.
    source: u128,
    destination: u128,
    carrier: Carrier,
    direction: Option<Direction>,
    queue_pair: u32,
    /// Of datagrams, with the bit above it set.
    source_queue_pair: u32,
}

/// Queue pairs have 24 bits.
const NAMED: u32 = 1 << 24;

impl QueuePairKey {
    #[inline(always)]
    pub fn of(packet: &Packet<'_>) -> QueuePairKey {
        let [source, destination] = packet.address_bits();
        let bth = packet.bth();
        QueuePairKey {
            source,
            destination,
            carrier: packet.carrier(),
            direction: bth.opcode.direction(),
            queue_pair: bth.destination_qp,
            source_queue_pair: packet.deth().map_or(0, |deth| NAMED | deth.source_qp),
        }
    }

    /// A finding in a packet of this queue pair.
    pub fn finding(&self, number: u64, kind: FindingKind) -> Finding {
        Finding {
            source: Some(self.text(self.source)),
            destination: Some(self.text(self.destination)),
            queue_pair: Some(self.queue_pair),
            ..Finding::new(number, kind)
        }
    }

    /// Alike for keys that differ elsewhere.
    #[inline(always)]
    fn few_bits(&self) -> usize {
        let ends = (self.source as u32).rotate_left(5) ^ self.destination as u32;
        let way = self.direction.map_or(0, |way| (way as u32 + 1) << 9);
        (ends ^ self.queue_pair ^ self.source_queue_pair.rotate_left(3) ^ way) as usize
    }

    fn source_queue_pair(&self) -> Option<u32> {
        let is_named = self.source_queue_pair & NAMED != 0;
        is_named.then_some(self.source_queue_pair & !NAMED)
    }

    /// An address; GIDs have the form of IPv6 addresses.
    fn text(&self, address: u128) -> String {
        match self.carrier {
            Carrier::Local => format!("lid:{address}"),
            Carrier::Ipv4 => Ipv4Addr::from_bits(address as u32).to_string(),
            Carrier::Global | Carrier::Ipv6 => Ipv6Addr::from_bits(address).to_string(),
        }
    }
}

/// In few words.
impl Hash for QueuePairKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let kind = (self.carrier as u64) << 2 | self.direction.map_or(0, |way| way as u64 + 1);
        state.write_u64(kind << 32 | u64::from(self.queue_pair));
        state.write_u32(self.source_queue_pair);
        state.write_u128(self.source);
        state.write_u128(self.destination);
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
pub(super) struct QueuePairs {
    places: HashMap<QueuePairKey, u32>,
    rows: Vec<(QueuePairKey, QueuePair)>,
    /// Places of keys that came lately, by a few of their bits: most packets are found there.
    recent: Box<[u32; RECENT]>,
    untracked: u64,
}

const RECENT: usize = 1024;

impl Default for QueuePairs {
    fn default() -> QueuePairs {
        QueuePairs {
            places: HashMap::new(),
            rows: Vec::new(),
            recent: Box::new([0; RECENT]),
            untracked: 0,
        }
    }
}

impl QueuePairs {
    /// The row of a packet; `None` where there is no place for another one.
    #[inline(always)]
    pub fn row(
        &mut self,
        key: &QueuePairKey,
        transport: Option<Transport>,
    ) -> Option<&mut QueuePair> {
        let recent = key.few_bits() % RECENT;
        let mut place = self.recent[recent];
        let is_recent = (self.rows.get(place as usize)).is_some_and(|(found, _)| found == key);
        if !is_recent {
            place = self.place(key, transport)?;
            self.recent[recent] = place;
        }
        self.rows.get_mut(place as usize).map(|(_, row)| row)
    }

    #[inline(never)]
    fn place(&mut self, key: &QueuePairKey, transport: Option<Transport>) -> Option<u32> {
        if let Some(place) = self.places.get(key) {
            return Some(*place);
        }
        if self.rows.len() == QUEUE_PAIRS_MAX {
            self.untracked += 1;
            return None;
        }
        // The limit is far lower.
        let place = self.rows.len() as u32;
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
                source: key.text(key.source),
                destination: key.text(key.destination),
                queue_pair: key.queue_pair,
                source_queue_pair: key.source_queue_pair(),
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
