//! Prometheus metrics of a running measurement.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, LabelSetEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use weir_measure::{IntervalReport, Value};

type Real = Gauge<f64, AtomicU64>;

/// Metrics of a measurement in OpenMetrics text, the format that Prometheus scrapes. Keys
/// that appear as labels are those of the newest interval's top
/// list and alarms, so their number is bounded.
pub struct Metrics {
    registry: Registry,
    intervals: Counter,
    packets: Counter,
    bytes: Counter,
    wire_bytes: Counter,
    unkeyed: Counter,
    late: Counter,
    time_implausible: Counter,
    saturated: Counter,
    alarms: Counter,
    start: Real,
    distinct: Gauge,
    top: Family<Key, Gauge>,
    scores: Family<Key, Real>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key(String);

impl EncodeLabelSet for Key {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), std::fmt::Error> {
        [("key", self.0.as_str())].encode(encoder)
    }
}

impl Metrics {
    /// Metrics of a measurement of `unit` per `key`, all zero.
    pub fn new(key: &str, unit: Value) -> Metrics {
        let mut metrics = Metrics {
            registry: Registry::default(),
            intervals: Counter::default(),
            packets: Counter::default(),
            bytes: Counter::default(),
            wire_bytes: Counter::default(),
            unkeyed: Counter::default(),
            late: Counter::default(),
            time_implausible: Counter::default(),
            saturated: Counter::default(),
            alarms: Counter::default(),
            start: Real::default(),
            distinct: Gauge::default(),
            top: Family::default(),
            scores: Family::default(),
        };
        let measure = metrics.registry.sub_registry_with_prefix("weir_measure");
        measure.register("intervals", "Intervals reported", metrics.intervals.clone());
        measure.register("packets", "Packets measured", metrics.packets.clone());
        measure.register("bytes", "Their captured bytes", metrics.bytes.clone());
        measure.register(
            "wire_bytes",
            "Their bytes on the wire",
            metrics.wire_bytes.clone(),
        );
        measure.register("unkeyed", "Packets without IP", metrics.unkeyed.clone());
        measure.register(
            "late",
            "Packets stamped before the interval that they were counted in",
            metrics.late.clone(),
        );
        measure.register(
            "time_implausible",
            "Packets whose timestamps were not believed",
            metrics.time_implausible.clone(),
        );
        measure.register(
            "saturated",
            "Intervals whose sums went beyond 2⁶³ - 1, where counters stop",
            metrics.saturated.clone(),
        );
        measure.register("alarms", "Changes found", metrics.alarms.clone());
        measure.register(
            "interval_start_seconds",
            "Beginning of the newest interval, seconds since 1970",
            metrics.start.clone(),
        );
        measure.register(
            "distinct_keys",
            "Distinct keys of the newest interval",
            metrics.distinct.clone(),
        );
        measure.register(
            "top",
            format!("Largest sums of {unit} per {key} of the newest interval"),
            metrics.top.clone(),
        );
        measure.register(
            "alarm_score",
            "Scores of the changes of the newest interval",
            metrics.scores.clone(),
        );
        metrics
    }

    /// Counts an interval.
    pub fn observe(&mut self, report: &IntervalReport) {
        self.intervals.inc();
        self.packets.inc_by(report.packets);
        self.bytes.inc_by(report.bytes);
        self.wire_bytes.inc_by(report.wire_bytes);
        self.unkeyed.inc_by(report.unkeyed);
        self.late.inc_by(report.late);
        self.time_implausible.inc_by(report.time_implausible);
        self.saturated.inc_by(u64::from(report.saturated));
        self.alarms.inc_by(report.alarms.len() as u64);
        self.start.set(report.start_ns as f64 / 1e9);
        self.distinct.set(signed(report.distinct));
        self.top.clear();
        for row in &report.top {
            let gauge = self.top.get_or_create(&Key(row.key.clone()));
            gauge.set(signed(row.estimate));
        }
        self.scores.clear();
        for alarm in &report.alarms {
            let gauge = self.scores.get_or_create(&Key(alarm.key.clone()));
            gauge.set(alarm.score);
        }
    }

    /// The metrics in OpenMetrics text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// Gauges are signed: larger values saturate.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
