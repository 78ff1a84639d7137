//! One row per interval and key.

use std::collections::BTreeMap;
use std::fmt::Write;

use weir_measure::change::Alarm;
use weir_measure::{IntervalReport, TopRow};

/// One key in one interval, with the totals of the interval. An interval without keys has
/// one row, without a key.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Row {
    /// Beginning of the interval, nanoseconds since 1970.
    pub start_ns: i64,
    /// Length of the interval.
    pub seconds: f64,
    /// Packets of the interval.
    pub packets: i64,
    /// Their bytes, as far as they were captured.
    pub bytes: i64,
    /// Their bytes on the wire.
    pub wire_bytes: i64,
    /// Distinct keys of the interval.
    pub distinct: i64,
    /// Whether values of the interval added up to more than counters hold.
    pub saturated: bool,
    /// Sum over the interval's keys of the squared value.
    pub f2: f64,
    /// Error bound of `f2`, which holds with probability 1 - δ.
    pub f2_bound: f64,
    /// The key, formatted.
    pub key: Option<String>,
    /// Its Community ID, where it is a 5-tuple that has one.
    pub community_id: Option<String>,
    /// Its sum, never below the truth, where it is among the largest.
    pub estimate: Option<i64>,
    /// Error bound of the estimate, which holds with probability 1 - δ.
    pub bound: Option<i64>,
    /// Its sum, exactly, where that is known.
    pub exact: Option<i64>,
    /// The change of the key, where there was an alarm.
    pub alarm: Option<AlarmColumns>,
    /// The interval's Count-Min sketch, on its first row, where sketches are
    /// kept: with seed and version, for `CountMin::decode`.
    pub sums_sketch: Option<Vec<u8>>,
    /// The same of its K-ary sketch, for `KAry::decode`.
    pub change_sketch: Option<Vec<u8>>,
}

/// The columns that only alarms fill.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AlarmColumns {
    /// Estimated sum of the key.
    pub observed: f64,
    /// Its forecast.
    pub forecast: f64,
    /// Score of the change.
    pub score: f64,
    /// Beginning of the interval since which it lasts, nanoseconds since 1970.
    pub since_ns: i64,
    /// The sources behind it with their shares: `198.18.0.1=0.750,…`.
    pub sources: String,
}

/// The rows of an interval: its top list, then the other keys with alarms.
pub(crate) fn rows(report: &IntervalReport) -> Vec<Row> {
    let interval = Row {
        start_ns: signed(report.start_ns),
        seconds: report.seconds,
        packets: signed(report.packets),
        bytes: signed(report.bytes),
        wire_bytes: signed(report.wire_bytes),
        distinct: signed(report.distinct),
        saturated: report.saturated,
        f2: report.f2,
        f2_bound: report.f2_bound,
        ..Row::default()
    };
    let mut alarms: BTreeMap<&str, &Alarm> = report
        .alarms
        .iter()
        .map(|alarm| (alarm.key.as_str(), alarm))
        .collect();
    let of_top = |top: &TopRow| Row {
        key: Some(top.key.clone()),
        community_id: top.community_id.clone(),
        estimate: Some(signed(top.estimate)),
        bound: Some(signed(top.bound)),
        exact: top.exact.map(signed),
        alarm: alarms.remove(top.key.as_str()).map(alarm_columns),
        ..interval.clone()
    };
    let mut rows: Vec<Row> = report.top.iter().map(of_top).collect();
    rows.extend(alarms.into_values().map(|alarm| Row {
        key: Some(alarm.key.clone()),
        community_id: alarm.community_id.clone(),
        alarm: Some(alarm_columns(alarm)),
        ..interval.clone()
    }));
    if rows.is_empty() {
        rows.push(interval);
    }
    if let Some(sketches) = &report.sketches {
        rows[0].sums_sketch = Some(sketches.sums.clone());
        rows[0].change_sketch = sketches.change.clone();
    }
    rows
}

fn alarm_columns(alarm: &Alarm) -> AlarmColumns {
    let mut sources = String::new();
    for source in &alarm.sources {
        let comma = if sources.is_empty() { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(sources, "{comma}{}={:.3}", source.source, source.share);
    }
    AlarmColumns {
        observed: alarm.observed,
        forecast: alarm.forecast,
        score: alarm.score,
        since_ns: signed(alarm.since_ns),
        sources,
    }
}

/// Parquet's numbers are signed: larger values saturate.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
