//! The meter of one shard.

use std::sync::Arc;

use weir_packet::wire::FlowKey;

use crate::change::draw;
use crate::collector::Collector;
use crate::config::{Plan, Value};
use crate::contents::Filler;
use crate::interval::{Slot, Timekeeper};
use crate::report::IntervalPart;

/// Counts the packets of one shard, interval by interval, and hands each
/// interval to the [`Collector`] when the next begins.
#[derive(Debug)]
pub struct Meter {
    plan: Arc<Plan>,
    shard: usize,
    time: Timekeeper,
    slot: Slot,
    /// Number of the packet that was told of last.
    number: u64,
    part: Option<IntervalPart>,
    filler: Filler,
    collector: Collector,
}

impl Meter {
    pub(crate) fn new(
        plan: &Arc<Plan>,
        shard: usize,
        time: Timekeeper,
        collector: &Collector,
    ) -> Meter {
        Meter {
            plan: Arc::clone(plan),
            shard,
            time,
            slot: Slot::default(),
            number: 0,
            part: None,
            filler: Filler::new(plan.key),
            collector: collector.clone(),
        }
    }

    /// Tells the meter of a packet that it does or does not count, by its
    /// number in the stream's order and its time in nanoseconds since 1970.
    /// Packets come in order of arrival.
    #[inline]
    pub fn tick(&mut self, number: u64, timestamp_ns: u64) {
        let slot = self.time.slot(number, timestamp_ns);
        if slot.index != self.slot.index {
            self.turn(slot);
        }
        self.slot = slot;
        self.number = number;
    }

    /// Counts the packet that [`Meter::tick`] just told of: its time, its flow
    /// (none without IP) and its bytes on the wire.
    #[inline(always)]
    pub fn count(&mut self, timestamp_ns: u64, flow: Option<&FlowKey>, wire_bytes: u32) {
        let slot = self.slot;
        let part = self.part.get_or_insert_with(|| IntervalPart::new(slot));
        part.packets += 1;
        part.bytes += u64::from(wire_bytes);
        part.late += u64::from(timestamp_ns < slot.start_ns);
        part.last_ns = part.last_ns.max(timestamp_ns);
        match flow {
            None => part.unkeyed += 1,
            Some(flow) => {
                let value = match self.plan.value {
                    Value::Packets => 1,
                    Value::Bytes => u64::from(wire_bytes),
                };
                let mut is_noted = false;
                if let Some(change) = &self.plan.change {
                    let draw = draw(self.plan.seed, self.number);
                    is_noted = draw <= u64::MAX / u64::from(change.one_in);
                    part.sample.offer(draw, *flow, value);
                }
                self.filler
                    .add(&self.plan, &mut part.contents, flow, value, is_noted);
            }
        }
    }

    /// Tells the meter of a shard without packets that all packets which the
    /// stream brought up to the largest timestamp `clock_ns` went elsewhere, so
    /// that the others need not wait for it.
    pub fn idle(&mut self, clock_ns: u64) {
        if let Some(slot) = self.time.reached(clock_ns)
            && slot.index != self.slot.index
        {
            self.turn(slot);
            self.slot = slot;
        }
    }

    /// Hands over the interval that is open. To be called once, after the last
    /// packet.
    pub fn finish(&mut self) {
        self.hand_over(u64::MAX);
    }

    #[cold]
    fn turn(&mut self, slot: Slot) {
        self.hand_over(slot.index);
    }

    fn hand_over(&mut self, reached: u64) {
        let mut part = self.part.take();
        if let Some(part) = &mut part {
            self.filler.flush(&self.plan, &mut part.contents);
        }
        let spare = self.collector.submit(self.shard, part, reached);
        self.filler.put_spare(spare);
    }
}
