//! Intervals with millions of keys, as an attack from forged sources makes them:
//! estimates stay within their bounds, and what there was no room for is counted.

use std::time::Duration;

use weir_measure::change::{ChangeConfig, KeySource, SearchState};
use weir_measure::{IntervalReport, MeasureConfig, Seed};
use weir_packet::wire::{FlowKey, KeyKind};
use weir_stream::Arrival;

const SECOND: u64 = 1_000_000_000;
/// Of so many keys. A packet comes after them, so that the last of them is whole.
const INTERVALS: u64 = 2;

/// Forged sources of each interval, a packet each.
const FORGED: u64 = 1_000_000;

/// The real source sends a packet for so many forged ones.
const EVERY: u64 = 10;
const REAL: u128 = 0x0a00_0001;

/// Keys that a search has room for.
const NOTED_MAX: usize = 10_000;

fn reports(keys: KeySource) -> Vec<IntervalReport> {
    let config = MeasureConfig {
        interval: Some(Duration::from_secs(1)),
        seed: Some(Seed::from_u64(9)),
        change: Some(ChangeConfig {
            keys,
            max_keys: NOTED_MAX,
            ..ChangeConfig::new("ma:1".parse().expect("a model"))
        }),
        ..MeasureConfig::new(KeyKind::Source)
    };
    let mut measurement = config.build(1).expect("a configuration");
    let meter = &mut measurement.meters[0];
    let mut number = 0;
    let mut count = |interval: u64, source: u128| {
        let flow = FlowKey {
            source,
            ip_version: 4,
            ..FlowKey::default()
        };
        meter.tick(number, interval * SECOND);
        meter.count(&Arrival::at(interval * SECOND, 100), 100, Some(&flow));
        number += 1;
    };
    for interval in 0..INTERVALS {
        for forged in 0..FORGED {
            // No two are the same: the factor is odd.
            let address = ((interval * FORGED + forged) as u32).wrapping_mul(0x9e37_79b1);
            count(interval, u128::from(address));
            if forged % EVERY == 0 {
                count(interval, REAL);
            }
        }
    }
    count(INTERVALS, REAL);
    meter.finish();
    measurement.collector.finish()
}

/// Under a fixed seed. The estimate of distinct keys has a standard error of
/// 0.81 %; five of them are allowed.
#[test]
fn millions_of_keys_take_no_more_room_and_leave_no_wrong_number() {
    for keys in [KeySource::Kept, KeySource::Same] {
        let reports = reports(keys);
        assert_eq!(reports.len() as u64, INTERVALS + 1);
        for report in &reports[..2] {
            assert_eq!(report.packets, FORGED + FORGED / EVERY);
            let off = report.distinct as f64 / (FORGED + 1) as f64 - 1.0;
            assert!(off.abs() < 5.0 * 0.0081, "{off}");
            let top = &report.top[0];
            assert_eq!(top.key, "10.0.0.1");
            let truth = FORGED / EVERY * 100;
            assert!(
                (truth..=truth + top.bound).contains(&top.estimate),
                "{top:?}"
            );
            assert!(!report.saturated && report.late == 0);
        }
        let changes = reports[1].changes.expect("looked for");
        assert_eq!(changes.state, SearchState::Searched);
        assert_eq!(reports[1].alarms, []);
        let room = 2 * NOTED_MAX as u64;
        match keys {
            // The real source is a key of both intervals.
            KeySource::Same => {
                assert_eq!(changes.queried, room - 1);
                assert_eq!(changes.missed, 2 * (FORGED + 1) - room);
            }
            // Candidates are thinned out when there are twice as many as are wanted.
            _ => assert!(changes.queried < 2 * room),
        }
    }
}
