//! The meter of one shard.

use std::ops::Range;
use std::sync::Arc;

use weir_packet::wire::{FlowKey, KeyKind};
use weir_stream::Arrival;

use crate::aggregation::PUT_MAX;
use crate::change::Alarm;
use crate::collector::Collector;
use crate::config::{Plan, Value};
use crate::contents::Contents;
use crate::filler::Filler;
use crate::interval::{Slot, Timekeeper};
use crate::packets::{Packets, Sorted};
use crate::report::IntervalPart;

/// Counts the packets of one shard, interval by interval, and hands each
/// interval to the [`Collector`] when the next begins.
#[derive(Debug)]
pub struct Meter {
    plan: Arc<Plan>,
    shard: usize,
    time: Timekeeper,
    slot: Slot,
    /// Number of the last packet of [`Meter::tick`].
    number: u64,
    part: Option<IntervalPart>,
    filler: Filler,
    sorted: Box<Sorted>,
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
            filler: Filler::new(plan),
            sorted: Box::new(Sorted::new()),
            collector: collector.clone(),
        }
    }

    /// Advances the clock by a packet, counted or not: its
    /// number in the stream's order and its time by the stream's clock
    /// ([`Arrival::clock_ns`]). Packets come in order of arrival.
    #[inline]
    pub fn tick(&mut self, number: u64, clock_ns: u64) {
        let slot = self.time.slot(number, clock_ns);
        if slot.index != self.slot.index {
            self.turn(slot);
        }
        self.slot = slot;
        self.number = number;
    }

    /// Counts the packet of the last [`Meter::tick`]: its arrival, its bytes
    /// as far as they were captured, and its flow (none without IP).
    #[inline(always)]
    pub fn count(&mut self, arrival: &Arrival, captured_bytes: u32, flow: Option<&FlowKey>) {
        let slot = self.slot;
        let part = self.part.get_or_insert_with(|| IntervalPart::new(slot));
        part.counts.note(arrival, captured_bytes, slot.start_ns);
        match flow {
            None => part.counts.unkeyed += 1,
            Some(flow) => {
                let value = match self.plan.value {
                    Value::Packets => 1,
                    Value::Bytes => u64::from(arrival.wire_bytes),
                };
                let mut is_noted = false;
                if let Some(change) = &self.plan.change {
                    let draw = self.plan.draws.of(self.number);
                    is_noted = draw <= u64::MAX / u64::from(change.one_in);
                    part.sample.offer(draw, *flow, value);
                }
                self.filler
                    .add(&self.plan, &mut part.contents, flow, value, is_noted);
            }
        }
    }

    /// Advances the clock by packets and counts those that are to be counted, as
    /// [`Meter::tick`] and [`Meter::count`] do one by one.
    pub(crate) fn count_all(&mut self, packets: &impl Packets) {
        let mut next = 0;
        while next < packets.len() {
            let (number, clock_ns) = packets.time(next);
            self.tick(number, clock_ns);
            let others = (next + 1..packets.len()).map(|index| packets.time(index));
            let run = next..next + 1 + self.time.stay(others);
            next = run.end;
            if self.plan.change.is_none() && !self.plan.exact {
                self.count_plain(packets, run);
            } else {
                self.count_run(packets, run);
            }
        }
    }

    /// Counts packets of one interval of which nothing but sketches is wanted.
    fn count_plain(&mut self, packets: &impl Packets, mut run: Range<usize>) {
        // Until there is a sketch.
        while !matches!(&self.part, Some(part) if part.contents.is_sketched()) && !run.is_empty() {
            self.count_run(packets, run.start..run.start + 1);
            run.start += 1;
        }
        let Some(IntervalPart {
            contents: Contents::Sketched(sketched),
            counts,
            slot,
            ..
        }) = &mut self.part
        else {
            return;
        };
        let value = self.plan.value;
        while !run.is_empty() {
            let now = run.start..run.end.min(run.start + PUT_MAX);
            run.start = now.end;
            let sorted = &mut self.sorted;
            counts.add(&sorted.fill(packets, now.clone(), value, slot.start_ns));
            let flows = &packets.ipv4_flows()[now];
            (self.filler).put_ipv4(&self.plan, sketched, flows, sorted.values());
            for index in sorted.others() {
                let Some(flow) = packets.flow(index) else {
                    counts.unkeyed += 1;
                    continue;
                };
                let value = match value {
                    Value::Bytes => packets.arrival(index).wire_bytes.into(),
                    Value::Packets => 1,
                };
                (self.filler).put(&self.plan, sketched, &flow, value, false);
            }
        }
    }

    fn count_run(&mut self, packets: &impl Packets, run: Range<usize>) {
        for index in run {
            let (number, clock_ns) = packets.time(index);
            self.tick(number, clock_ns);
            if packets.is_counted(index) {
                let flow = packets.flow(index);
                let captured_bytes = packets.captured_bytes(index);
                self.count(packets.arrival(index), captured_bytes, flow.as_ref());
            }
        }
    }

    /// Advances the clock of a shard without packets: all packets before `number`
    /// that it has not seen went to other shards, so that the others need not wait
    /// for it.
    pub fn idle(&mut self, number: u64) {
        if let Some(slot) = self.time.reached(number)
            && slot.index != self.slot.index
        {
            self.turn(slot);
            self.slot = slot;
        }
    }

    /// Advances the clock of a live stream to a time, in nanoseconds since 1970, up to which all
    /// packets have come. Other meters go by the times of packets alone.
    pub fn advance(&mut self, clock_ns: u64) {
        if let Some(slot) = self.time.passed(clock_ns)
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

    /// The part of a flow that is the key.
    pub(crate) fn key(&self) -> KeyKind {
        self.plan.key
    }

    /// Whether changes are looked for.
    pub(crate) fn looks_for_changes(&self) -> bool {
        self.plan.change.is_some()
    }

    /// Keeps alarms until they are taken.
    pub(crate) fn keep_alarms(&self) {
        self.collector.keep_alarms();
    }

    /// The alarms since the last call. All go to one of the shards, in the order
    /// of their intervals.
    pub(crate) fn take_alarms(&self) -> Vec<Alarm> {
        match self.shard {
            0 => self.collector.take_alarms(),
            _ => Vec::new(),
        }
    }

    /// To be called once, after [`Meter::finish`]: the last shard to do so waits
    /// for all reports, and has the alarms that were not taken.
    pub(crate) fn take_last_alarms(&self) -> Vec<Alarm> {
        self.collector.leave()
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
