//! Records in memory as a source: for benchmarks and tests.

use std::sync::Arc;

use weir_packet::file::{Block, Interface};
use weir_packet::wire::LinkType;

use super::{Stage, StageError};
use crate::batch::{Arrival, Batch};

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

impl Stage for MemorySource {
    fn name(&self) -> &str {
        "memory source"
    }

    fn process(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        batch.set_interfaces(&self.interfaces);
        let Ok(handle) = batch.add_block(&self.block) else {
            return Ok(());
        };
        let (mut records, mut room_bytes) = batch.room();
        while self.rounds_left > 0 && records > 0 {
            let Some(&(offset, bytes)) = self.ranges.get(self.next) else {
                self.next = 0;
                self.rounds_left -= 1;
                if self.ranges.is_empty() {
                    break;
                }
                continue;
            };
            if bytes as usize > room_bytes && !batch.is_empty() {
                break;
            }
            let arrival = Arrival {
                timestamp_ns: self.number * self.gap_ns,
                wire_bytes: bytes,
                interface: 0,
                link: self.link,
            };
            if batch
                .receive(handle, offset, bytes, self.number, arrival)
                .is_err()
            {
                break;
            }
            self.next += 1;
            self.number += 1;
            records -= 1;
            room_bytes = room_bytes.saturating_sub(bytes as usize);
        }
        batch.set_clock_ns(self.number * self.gap_ns);
        if self.rounds_left == 0 || self.ranges.is_empty() {
            batch.mark_last();
        }
        Ok(())
    }
}
