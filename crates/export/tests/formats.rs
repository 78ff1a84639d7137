//! Measurements through the formats and back.

use std::path::PathBuf;
use std::time::Duration;

use weir_export::{ExportError, Metrics, ParquetWriter, Row, read_parquet};
use weir_measure::Arrival;
use weir_measure::change::ChangeConfig;
use weir_measure::{CountMin, IntervalReport, KAry, MeasureConfig, Seed, Value};
use weir_packet::wire::{FlowKey, KeyKind};

const START: u64 = 1_700_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

/// Eight seconds of 500 packets each from twenty sources, one of which sends
/// half of all packets in the sixth, after a gap without packets in the third.
fn reports(sketches: bool) -> Vec<IntervalReport> {
    let config = MeasureConfig {
        interval: Some(Duration::from_secs(1)),
        change: Some(ChangeConfig::new("ewma:0.5".parse().expect("a model"))),
        exact: true,
        sketches,
        seed: Some(Seed::from_u64(1)),
        top: 5,
        ..MeasureConfig::new(KeyKind::Source)
    };
    let mut measurement = config.build(1).expect("a configuration");
    for number in (0..4000u64).filter(|number| number / 500 != 2) {
        let is_attack = number / 500 == 5 && number % 2 == 0;
        let flow = FlowKey {
            source: if is_attack {
                99
            } else {
                u128::from(number % 20)
            },
            ip_version: 4,
            ..FlowKey::default()
        };
        let timestamp_ns = START + number * (SECOND / 500);
        for meter in &mut measurement.meters {
            meter.tick(number, timestamp_ns);
            meter.count(&Arrival::at(timestamp_ns, 100), 60, Some(&flow));
        }
    }
    for meter in &mut measurement.meters {
        meter.finish();
    }
    measurement.collector.finish()
}

fn write(reports: &[IntervalReport]) -> Vec<u8> {
    let mut writer = ParquetWriter::new(Vec::new(), "source", Value::Bytes).expect("memory");
    for report in reports {
        writer.write(report).expect("memory");
    }
    writer.finish().expect("memory")
}

/// A file of the test's own; removed when dropped.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, bytes: &[u8]) -> Temporary {
        let name = format!("weir-export-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).expect("a temporary file");
        Temporary(path)
    }

    fn read(&self) -> Result<Vec<Row>, ExportError> {
        read_parquet(&self.0)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn every_interval_and_key_is_a_row() {
    let reports = reports(false);
    assert_eq!(reports.len(), 8);
    let file = Temporary::new("rows", &write(&reports));
    let rows = file.read().expect("a table");
    for report in &reports {
        let start_ns = i64::try_from(report.start_ns).expect("our time");
        let own: Vec<&Row> = rows.iter().filter(|row| row.start_ns == start_ns).collect();
        assert!(own.iter().all(|row| row.packets as u64 == report.packets
            && row.distinct as u64 == report.distinct
            && row.f2 == report.f2));
        for top in &report.top {
            let row = own.iter().find(|row| row.key.as_ref() == Some(&top.key));
            let row = row.unwrap_or_else(|| panic!("{top:?} is missing"));
            assert_eq!(row.estimate, Some(top.estimate as i64));
            assert_eq!(row.exact, top.exact.map(|exact| exact as i64));
        }
        for alarm in &report.alarms {
            let row = own.iter().find(|row| row.key.as_ref() == Some(&alarm.key));
            let columns = row.and_then(|row| row.alarm.as_ref()).expect("the alarm");
            assert_eq!(
                (columns.observed, columns.score),
                (alarm.observed, alarm.score)
            );
            assert_eq!(columns.since_ns as u64, alarm.since_ns);
            let first = format!("{}=", alarm.sources[0].source);
            assert!(columns.sources.starts_with(&first), "{columns:?}");
        }
        let keys: Vec<_> = own.iter().map(|row| &row.key).collect();
        let mut distinct = keys.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), keys.len(), "a key has one row");
        if report.packets == 0 && report.alarms.is_empty() {
            assert_eq!(keys, [&None]);
        }
    }
    assert!(rows.iter().any(|row| row.alarm.is_some()));
    assert!(rows.iter().all(|row| row.sums_sketch.is_none()));
}

#[test]
fn sketches_come_back_with_their_seeds() {
    let reports = reports(true);
    let file = Temporary::new("sketches", &write(&reports));
    let rows = file.read().expect("a table");
    let stored: Vec<&Row> = rows
        .iter()
        .filter(|row| row.sums_sketch.is_some())
        .collect();
    assert_eq!(stored.len(), 7, "one for each interval with packets");
    let mut both: Option<KAry> = None;
    for row in stored {
        let sums = CountMin::<weir_hash::Ms52>::decode(row.sums_sketch.as_ref().expect("there"));
        assert_eq!(sums.expect("a sketch").total(), row.wire_bytes);
        assert_eq!(row.bytes * 100, row.wire_bytes * 60);
        let change: KAry =
            KAry::decode(row.change_sketch.as_ref().expect("there")).expect("a sketch");
        assert_eq!(change.total(), row.wire_bytes);
        match &mut both {
            None => both = Some(change),
            Some(both) => both.combine(&change).expect("one seed"),
        }
    }
    assert_eq!(both.map(|both| both.total()), Some(3500 * 100));
}

/// Wherever a file is cut, it is refused in words; so is one with a bit turned
/// where the format looks, and whatever else is no table of ours.
#[test]
fn files_that_are_not_whole_are_refused() {
    let bytes = write(&reports(false));
    for len in (0..bytes.len()).step_by(61).chain([bytes.len() - 1]) {
        let error = Temporary::new("cut", &bytes[..len])
            .read()
            .expect_err("cut short");
        let said = error.to_string();
        assert!(
            said.contains("not a complete Parquet file"),
            "{len}: {said}"
        );
        assert!(said.contains("weir-export-"), "the file is named: {said}");
    }
    for bad in [&b"start,key\n1,2\n"[..], &[0; 100]] {
        assert!(matches!(
            Temporary::new("other", bad).read(),
            Err(ExportError::NotWhole { .. })
        ));
    }
    let missing = read_parquet(&std::env::temp_dir().join("weir-export-is-not-there"));
    assert!(matches!(missing, Err(ExportError::Io { .. })));
}

/// A file damaged anywhere gives rows or an error, and never a panic.
#[test]
fn damage_is_no_panic() {
    let bytes = write(&reports(false));
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xa5;
        let _ = Temporary::new("damaged", &damaged).read();
    }
}

#[test]
fn tables_of_another_version_are_refused() {
    let bytes = write(&reports(false));
    let after = |start: usize, needle: &[u8]| {
        let mut windows = bytes[start..].windows(needle.len());
        let found = windows.position(|window| window == needle);
        start + found.expect("in the footer")
    };
    let schema = after(0, b"weir_measure");
    let mut renamed = bytes.clone();
    renamed[after(schema, b"distinct")] = b'D';
    let error = Temporary::new("renamed", &renamed).read().err();
    let error = error.expect("renamed").to_string();
    assert!(error.contains("columns"), "{error}");
    let mut older = bytes.clone();
    let version = after(schema, b"weir.version");
    let digit = version + older[version..].iter().position(|b| *b == b'3').expect("3");
    older[digit] = b'0';
    let error = Temporary::new("older", &older).read().err();
    let error = error.expect("older").to_string();
    assert!(error.contains("version is 0"), "{error}");
}

#[test]
fn metrics_say_what_was_counted() {
    let mut reports = reports(false);
    let mut metrics = Metrics::new("source", Value::Bytes);
    let line = |metrics: &Metrics, name: &str| -> Option<String> {
        let text = metrics.text();
        assert!(text.ends_with("# EOF\n"));
        let mut lines = text.lines().map(str::to_owned);
        lines.find(|line| line.starts_with(name))
    };
    assert_eq!(
        line(&metrics, "weir_measure_packets_total").as_deref(),
        Some("weir_measure_packets_total 0")
    );
    for report in &reports[..6] {
        metrics.observe(report);
    }
    assert_eq!(
        line(&metrics, "weir_measure_packets_total").as_deref(),
        Some("weir_measure_packets_total 2500")
    );
    let attacker = line(&metrics, "weir_measure_top{key=\"0.0.0.99\"}");
    assert_eq!(
        attacker.as_deref(),
        Some("weir_measure_top{key=\"0.0.0.99\"} 25000")
    );
    assert!(line(&metrics, "weir_measure_alarm_score{key=\"0.0.0.99\"}").is_some());
    assert_eq!(
        line(&metrics, "weir_measure_saturated_total").as_deref(),
        Some("weir_measure_saturated_total 0")
    );
    reports[7].saturated = true;
    metrics.observe(&reports[7]);
    assert_eq!(
        line(&metrics, "weir_measure_saturated_total").as_deref(),
        Some("weir_measure_saturated_total 1")
    );
    assert_eq!(
        line(&metrics, "weir_measure_top{key=\"0.0.0.99\"}"),
        None,
        "keys of the newest interval only"
    );
}
