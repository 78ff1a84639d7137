//! Records in memory as a source: for benchmarks and tests.

use std::sync::Arc;

use weir_packet::file::{Block, Interface};
use weir_packet::wire::LinkType;

use crate::arrival::Arrival;
use crate::batch::Batch;
use crate::context::Context;
use crate::stage::{Stage, StageError};

/// Plays records that lie in memory, once or several times over.
pub struct MemorySource {
    block: Arc<Block>,
    /// Offset and length of each record in the block.
    ranges: Vec<(u32, u32)>,
    link: LinkType,
    interfaces: Arc<[Interface]>,
    next: usize,
    number: u64,
    rounds_left: u64,
    gap_ns: u64,
}

impl MemorySource {
    /// A source of `records`, all of one link type, one microsecond apart.
    pub fn new<R: AsRef<[u8]>>(link: LinkType, records: &[R]) -> MemorySource {
        let mut bytes = Vec::new();
        let mut ranges = Vec::with_capacity(records.len());
        for record in records {
            let record = record.as_ref();
            ranges.push((bytes.len() as u32, record.len() as u32));
            bytes.extend_from_slice(record);
        }
        MemorySource {
            block: Arc::new(Block::from(bytes)),
            ranges,
            link,
            interfaces: Arc::new([Interface::new(link)]),
            next: 0,
            number: 0,
            rounds_left: 1,
            gap_ns: 1_000,
        }
    }

    /// Plays the records `rounds` times.
    #[must_use]
    pub fn repeated(mut self, rounds: u64) -> MemorySource {
        self.rounds_left = rounds;
        self
    }

    /// Another time between records.
    #[must_use]
    pub fn with_gap_ns(mut self, gap_ns: u64) -> MemorySource {
        self.gap_ns = gap_ns;
        self
    }
}

impl MemorySource {
    /// How many of the next records fit: by number and bytes, but one where
    /// none would.
    fn fitting(&self, records: usize, room_bytes: usize, into_empty: bool) -> usize {
        let mut bytes = 0;
        let fitting = self.ranges[self.next..]
            .iter()
            .take(records)
            .take_while(|(_, record_bytes)| {
                bytes += *record_bytes as usize;
                bytes <= room_bytes
            })
            .count();
        let left = self.ranges.len() - self.next;
        fitting.max(usize::from(into_empty)).min(left)
    }
}

impl Stage for MemorySource {
    fn name(&self) -> &str {
        "memory source"
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        batch.set_interfaces(&self.interfaces);
        while self.rounds_left > 0 && batch.room().0 > 0 {
            let (records, room_bytes) = batch.room();
            let taken = self.fitting(records, room_bytes, batch.is_empty());
            if taken == 0 {
                break;
            }
            let (link, gap_ns, first) = (self.link, self.gap_ns, self.number);
            let ranges = &self.ranges[self.next..self.next + taken];
            let records = ranges
                .iter()
                .zip(first..)
                .map(|(&(offset, bytes), number)| {
                    let arrival = Arrival {
                        timestamp_ns: number * gap_ns,
                        wire_bytes: bytes,
                        interface: 0,
                        link,
                        ..Arrival::default()
                    };
                    (offset, bytes, arrival)
                });
            if batch.receive(&self.block, first, records).is_err() {
                break;
            }
            self.next += taken;
            self.number += taken as u64;
            if self.next == self.ranges.len() {
                self.next = 0;
                self.rounds_left -= 1;
            }
        }
        if self.rounds_left == 0 || self.ranges.is_empty() {
            batch.mark_last();
        }
        Ok(())
    }
}
