//! Reports of intervals.

use std::fmt;

use hashbrown::HashMap;
use serde::Serialize;
use weir_packet::time::Timestamp;
use weir_packet::wire::FlowKey;
use weir_stream::Arrival;

use crate::change::{Alarm, ChangeReport, Sample};
use crate::config::Plan;
use crate::contents::{Contents, Sketched, Update};
use crate::interval::Slot;
use crate::key::KeyWords;
use crate::timestamp;

/// One interval. Serialises as one element of the `intervals` of a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IntervalReport {
    /// Beginning, nanoseconds since 1970; serialised as RFC 3339 with
    /// nanoseconds.
    #[serde(rename = "start", serialize_with = "timestamp::serialize")]
    pub start_ns: u64,
    /// Length; of a stream that is one interval, the time from its first packet
    /// to its last.
    pub seconds: f64,
    /// Packets, with or without a key.
    pub packets: u64,
    /// Their bytes, as far as they were captured.
    pub bytes: u64,
    /// Their bytes on the wire: what values in bytes are sums of.
    pub wire_bytes: u64,
    /// Packets among them without IP, which have no key.
    pub unkeyed: u64,
    /// Packets among them from before the interval's beginning, by no more than an
    /// hour: the capture is out of order.
    pub late: u64,
    /// Packets among them with implausible timestamps
    /// ([`weir_stream::CaptureClock`]): they count at their position in the capture.
    pub time_implausible: u64,
    /// Intervals without packets that were left out just before this one.
    pub skipped_before: u64,
    /// By how much the clock was set back just before this interval: how much earlier
    /// it begins than the one before it, 0 where it begins later.
    pub set_back_seconds: f64,
    /// Whether the values add up to more than 2⁶³ - 1, where counters saturate:
    /// sums, bounds and alarms of this interval are then unreliable.
    pub saturated: bool,
    /// Distinct keys: exact up to 256 packets, else an estimate with a standard
    /// error of 0.81 %.
    pub distinct: u64,
    /// Sum over keys of the squared value (F₂): exact up to 256 packets and where
    /// the keys are known exactly, else an estimate.
    pub f2: f64,
    /// Error bound of `f2`, which holds with probability 1 - delta; 0 where it is exact.
    pub f2_bound: f64,
    /// The keys with the largest estimates, largest first.
    pub top: Vec<TopRow>,
    /// Changes that were found, the largest first.
    pub alarms: Vec<Alarm>,
    /// How they were looked for, where they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<ChangeReport>,
    /// Its sketches, where [`MeasureConfig::sketches`](crate::MeasureConfig::sketches) is set.
    #[serde(skip)]
    pub sketches: Option<StoredSketches>,
    /// The error of the estimates of all keys, where they are known exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
}

impl IntervalReport {
    /// The beginning as RFC 3339 writes it.
    pub fn start(&self) -> impl fmt::Display {
        Timestamp(self.start_ns)
    }
}

/// The sketches of one interval as bytes. Their seeds are among them: a sender who
/// can read them can choose keys that collide under the same seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSketches {
    /// What [`crate::CountMin::decode`] reads: the sums.
    pub sums: Vec<u8>,
    /// What [`crate::KAry::decode`] reads: what changes are looked for in.
    pub change: Option<Vec<u8>>,
}

/// One key of a top list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopRow {
    /// The key, formatted.
    pub key: String,
    /// [`FlowKey::community_id`], where the key is a 5-tuple that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub community_id: Option<String>,
    /// Its sum, never below the truth.
    pub estimate: u64,
    /// What the estimate is above the truth at most, with probability
    /// 1 - delta.
    pub bound: u64,
    /// The truth, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<u64>,
}

/// How far the estimates of an interval's keys are from the truth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ErrorReport {
    /// Keys compared: all of the interval.
    pub keys: u64,
    /// Largest estimate minus truth.
    pub max_overestimate: u64,
    /// Mean of estimate minus truth.
    pub mean_overestimate: f64,
    /// Share of the keys whose estimate is above the truth by no more than the
    /// bound.
    pub within_bound: f64,
}

/// What is counted of an interval's packets, whatever their keys.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Latest time.
    pub last_ns: u64,
    pub packets: u64,
    pub bytes: u64,
    pub wire_bytes: u64,
    pub unkeyed: u64,
    pub late: u64,
    pub time_implausible: u64,
}

impl Counts {
    /// Counts a packet in an interval that begins at `start_ns`.
    #[inline(always)]
    pub fn note(&mut self, arrival: &Arrival, captured_bytes: u32, start_ns: u64) {
        let clock_ns = arrival.clock_ns();
        self.packets += 1;
        self.bytes += u64::from(captured_bytes);
        self.wire_bytes += u64::from(arrival.wire_bytes);
        self.late += u64::from(clock_ns < start_ns);
        self.time_implausible += u64::from(arrival.is_time_implausible());
        self.last_ns = self.last_ns.max(clock_ns);
    }

    /// Adds other packets of the same interval.
    pub fn add(&mut self, other: &Counts) {
        self.last_ns = self.last_ns.max(other.last_ns);
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.wire_bytes += other.wire_bytes;
        self.unkeyed += other.unkeyed;
        self.late += other.late;
        self.time_implausible += other.time_implausible;
    }
}

/// One interval, or a shard's part of it.
#[derive(Debug)]
pub(crate) struct IntervalPart {
    pub slot: Slot,
    pub counts: Counts,
    pub contents: Contents,
    /// Of the packets, where changes are looked for.
    pub sample: Sample,
}

impl IntervalPart {
    pub fn new(slot: Slot) -> IntervalPart {
        IntervalPart {
            slot,
            counts: Counts {
                last_ns: slot.start_ns,
                ..Counts::default()
            },
            contents: Contents::Listed(Vec::new()),
            sample: Sample::default(),
        }
    }

    /// Adds the counts and the sample of another part, but not its contents.
    pub fn merge_counts(&mut self, other: &IntervalPart) {
        self.counts.add(&other.counts);
        self.sample.merge(&other.sample);
    }

    /// The report of a whole interval. Its contents must have been flushed.
    pub fn report(&mut self, plan: &Plan) -> IntervalReport {
        let counts = self.counts;
        let length_ns = plan.interval_ns.map_or(
            counts.last_ns.saturating_sub(self.slot.start_ns),
            |length| length.get(),
        );
        let mut report = IntervalReport {
            start_ns: self.slot.start_ns,
            seconds: length_ns as f64 / 1e9,
            packets: counts.packets,
            bytes: counts.bytes,
            wire_bytes: counts.wire_bytes,
            unkeyed: counts.unkeyed,
            late: counts.late,
            time_implausible: counts.time_implausible,
            skipped_before: 0,
            set_back_seconds: 0.0,
            saturated: false,
            distinct: 0,
            f2: 0.0,
            f2_bound: 0.0,
            top: Vec::new(),
            alarms: Vec::new(),
            changes: None,
            sketches: None,
            error: None,
        };
        match &mut self.contents {
            Contents::Listed(list) => report.fill_from_list(plan, list),
            Contents::Sketched(sketched) => report.fill_from_sketch(plan, sketched),
        }
        report
    }
}

impl IntervalReport {
    /// A list has every packet: its sums are estimates without error.
    fn fill_from_list(&mut self, plan: &Plan, list: &[Update]) {
        let mut sums: HashMap<FlowKey, u64> = HashMap::new();
        let mut total = 0u64;
        for Update { key, value, .. } in list {
            let sum = sums.entry(*key).or_default();
            *sum = sum.saturating_add(*value);
            total = total.saturating_add(*value);
        }
        // What the sketch of this list says too.
        self.saturated = total > i64::MAX as u64;
        let bound = plan.shape.bound(total);
        self.distinct = sums.len() as u64;
        self.f2 = second_moment(&sums);
        let estimates = sums.iter().map(|(key, sum)| (*key, *sum)).collect();
        let exact = plan.exact.then_some(&sums);
        self.top = top(plan, estimates, bound, exact);
        if let Some(exact) = exact {
            self.fill_truth(exact, bound, |key| sums.get(key).copied().unwrap_or(0));
        }
    }

    fn fill_from_sketch(&mut self, plan: &Plan, sketched: &mut Sketched) {
        self.distinct = sketched.distinct.count();
        let sums = &sketched.sums;
        // The sketch that changes are looked for in has the same values.
        self.saturated = sums.is_saturated();
        (self.f2, self.f2_bound) = (sums.f2(), sums.f2_bound());
        // Values are not negative, and so are sums.
        let estimate = |key: &FlowKey| {
            let words = KeyWords::new(key, plan.key);
            sums.estimate(words.as_slice()).unsigned_abs()
        };
        let candidates = sketched.candidates.keys();
        let estimates = candidates.map(|key| (*key, estimate(key))).collect();
        let exact = sketched.exact.as_ref();
        self.top = top(plan, estimates, sums.bound(), exact);
        if let Some(exact) = exact {
            self.fill_truth(exact, sums.bound(), estimate);
        }
    }

    fn fill_truth(
        &mut self,
        exact: &HashMap<FlowKey, u64>,
        bound: u64,
        estimate: impl Fn(&FlowKey) -> u64,
    ) {
        let (mut max, mut sum, mut within) = (0, 0u128, 0u64);
        for (key, truth) in exact {
            let over = estimate(key).saturating_sub(*truth);
            max = over.max(max);
            sum += u128::from(over);
            within += u64::from(over <= bound);
        }
        let keys = exact.len() as u64;
        let per_key = |n: f64| if keys == 0 { 0.0 } else { n / keys as f64 };
        (self.f2, self.f2_bound) = (second_moment(exact), 0.0);
        self.error = Some(ErrorReport {
            keys,
            max_overestimate: max,
            mean_overestimate: per_key(sum as f64),
            within_bound: if keys == 0 {
                1.0
            } else {
                per_key(within as f64)
            },
        });
    }
}

fn second_moment(sums: &HashMap<FlowKey, u64>) -> f64 {
    sums.values().map(|sum| (*sum as f64).powi(2)).sum()
}

/// The largest estimates, largest first, equal ones by key.
fn top(
    plan: &Plan,
    mut estimates: Vec<(FlowKey, u64)>,
    bound: u64,
    exact: Option<&HashMap<FlowKey, u64>>,
) -> Vec<TopRow> {
    let order = |a: &(FlowKey, u64), b: &(FlowKey, u64)| b.1.cmp(&a.1).then(a.0.cmp(&b.0));
    if estimates.len() > plan.top {
        estimates.select_nth_unstable_by(plan.top, order);
        estimates.truncate(plan.top);
    }
    estimates.sort_unstable_by(order);
    estimates
        .into_iter()
        .map(|(key, estimate)| TopRow {
            key: key.display(plan.key).to_string(),
            community_id: key.community_id(None),
            estimate,
            bound,
            exact: exact.map(|exact| exact.get(&key).copied().unwrap_or(0)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::MeasureConfig;
    use crate::contents::LISTED_MAX;
    use crate::filler::Filler;
    use weir_hash::Seed;
    use weir_packet::wire::KeyKind;

    /// The report of one interval with `packets` packets of one key each, all but
    /// the first of value 1.
    fn report(packets: usize, first_value: u64) -> IntervalReport {
        let config = MeasureConfig {
            seed: Some(Seed::from_u64(1)),
            ..MeasureConfig::new(KeyKind::Source)
        };
        let plan = config.plan().unwrap();
        let mut part = IntervalPart::new(Slot::default());
        let mut filler = Filler::new(&plan);
        for number in 0..packets {
            let flow = FlowKey {
                source: number as u128,
                ip_version: 4,
                ..FlowKey::default()
            };
            let value = if number == 0 { first_value } else { 1 };
            filler.add(&plan, &mut part.contents, &flow, value, false);
        }
        filler.flush(&plan, &mut part.contents);
        part.report(&plan)
    }

    /// The last value that fits is no saturation, one more is, in a list and in a
    /// sketch.
    #[test]
    fn sums_beyond_the_counters_are_told() {
        for packets in [2, LISTED_MAX + 1] {
            let most = i64::MAX as u64 - (packets as u64 - 1);
            let fits = report(packets, most);
            assert!(!fits.saturated, "{packets} packets");
            assert_eq!(fits.top[0].estimate, most);
            let beyond = report(packets, most + 1);
            assert!(beyond.saturated, "{packets} packets");
            assert_eq!(beyond.top[0].estimate, most + 1);
        }
    }
}
