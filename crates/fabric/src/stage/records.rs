//! Records of a pipeline, on their way through a sender or receiver.

use weir_stream::{Batch, Context, WorkBit};

use crate::secure::{self, DropReason, FlowId, OtherPackets};

/// The packets of a batch that need a stage, and which records they are of.
#[derive(Default)]
pub(super) struct Records {
    pub packets: secure::Batch,
    pub rows: Vec<usize>,
}

/// What a sender or receiver made of a record.
pub(super) enum Made<'a> {
    /// It goes on as it is.
    Passed,
    /// It is dropped.
    Dropped(DropReason),
    /// A packet of a flow takes its place.
    Packet(FlowId, &'a [u8]),
}

impl Records {
    /// What was made of the record at a place among the [`rows`](Records::rows).
    pub fn made(&self, at: usize, others: OtherPackets) -> Made<'_> {
        match (self.packets.get(at), self.packets.flow(at)) {
            (Ok(packet), Some(flow)) => Made::Packet(flow, packet),
            (Ok(_), None) => Made::Passed,
            (Err(DropReason::NotFabric), _) if others == OtherPackets::Allow => Made::Passed,
            (Err(reason), _) => Made::Dropped(reason),
        }
    }

    /// Takes the records from `next` on that need the work, as far as they fit; returns where to go
    /// on, or `None` where all were taken.
    pub fn take(&mut self, batch: &mut Batch, work: WorkBit, next: usize) -> Option<usize> {
        self.packets.clear();
        self.rows.clear();
        for index in batch.live().skip_while(|index| *index < next) {
            let needed = batch.work(index);
            if !needed.needs(work) {
                continue;
            }
            let link = batch.arrival(index).link;
            if !(self.packets).push_behind(batch.headers(index), link, batch.record(index)) {
                return Some(index);
            }
            batch.set_work(index, needed.without(work));
            self.rows.push(index);
        }
        None
    }
}

/// Puts other bytes into the place of a record.
pub(super) fn replace(batch: &mut Batch, index: usize, bytes: &[u8]) {
    let before = batch.record(index).len();
    let longer = bytes.len().saturating_sub(before);
    batch.shrink(index, 0, before.saturating_sub(bytes.len()));
    batch.grow(index, 0, longer).copy_from_slice(bytes);
    batch.reparse(index);
}

/// The time of a batch: live that of the clock, of a file that of a record.
pub(super) fn time_ns(batch: &Batch, index: usize, cx: &Context) -> u64 {
    cx.stream_ns()
        .unwrap_or_else(|| batch.arrival(index).timestamp_ns)
}

pub(super) const NS_PER_SECOND: u64 = 1_000_000_000;
