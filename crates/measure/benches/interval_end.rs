//! What the end of an interval costs: on the packet path, where a meter hands
//! it over, and in all, from there to the report (merge, top list, forecast,
//! error, F₂, alarms for 100,000 keys; sketches of five rows of 32,768
//! counters). The bar is 20 ms in all. And how long the longest batch of packets
//! takes while the collector works on the interval before, on a core of its own,
//! beside the longest one while it does not: no pause on the packet path.
//!
//! Prints median and quartiles of the rounds, in microseconds.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use weir_measure::change::{ChangeConfig, KeySource};
use weir_measure::{IntervalReport, MeasureConfig, Measurement, Meter, Seed};
use weir_packet::wire::{FlowKey, KeyKind};
use weir_stream::Arrival;

const KEYS: u64 = 100_000;
const ROUNDS: u64 = 33;
const WARM_UP: u64 = 12;
const BATCH: usize = 256;
const SECOND: u64 = 1_000_000_000;

fn measurement(model: &str, keys: KeySource) -> (Measurement, Receiver<(Instant, u64)>) {
    let (sender, reports) = channel();
    let config = MeasureConfig {
        interval: Some(Duration::from_secs(1)),
        seed: Some(Seed::from_u64(1)),
        change: Some(ChangeConfig {
            keys,
            max_keys: KEYS as usize,
            ..ChangeConfig::new(model.parse().expect("a model"))
        }),
        ..MeasureConfig::new(KeyKind::Source)
    };
    let observer = move |report: IntervalReport| {
        let queried = report.changes.map_or(0, |changes| changes.queried);
        let _ = sender.send((Instant::now(), queried));
    };
    let measurement = config.build_observed(1, Some(Box::new(observer)));
    (measurement.expect("a configuration"), reports)
}

fn quartiles(mut times: Vec<Duration>) -> [f64; 3] {
    times.sort_unstable();
    [1, 2, 3].map(|quarter| times[times.len() * quarter / 4].as_secs_f64() * 1e6)
}

/// Gives a meter the packets of one interval, one for each key, and notes how long
/// each batch of them took.
fn fill(meter: &mut Meter, round: u64, batches: &mut Vec<Duration>) {
    let start_ns = round * SECOND;
    for first in (0..KEYS).step_by(BATCH) {
        let begin = Instant::now();
        for key in first..KEYS.min(first + BATCH as u64) {
            let flow = FlowKey {
                source: u128::from((key as u32).wrapping_mul(0x9e37_79b1)),
                ip_version: 4,
                ..FlowKey::default()
            };
            let bytes = 100 + (key * round % 1000) as u32;
            meter.tick(round * KEYS + key, start_ns + key);
            meter.count(&Arrival::at(start_ns + key, bytes), bytes, Some(&flow));
        }
        batches.push(begin.elapsed());
    }
}

fn main() {
    println!("microseconds: lower quartile, median, upper quartile");
    for (model, keys) in [
        ("ewma:0.5", KeySource::Kept),
        ("ewma:0.5", KeySource::Same),
        ("ma:10", KeySource::Kept),
        ("nshw:0.5,0.1", KeySource::Same),
    ] {
        let (mut measurement, reports) = measurement(model, keys);
        let meter = &mut measurement.meters[0];
        let (mut path, mut whole, mut queried) = (Vec::new(), Vec::new(), 0);
        // The longest batch of an interval: while the collector works on the one
        // before, and while it has nothing to do.
        let (mut beside, mut alone) = (Vec::new(), Vec::new());
        let mut unreported = 0;
        // The first rounds teach the model and warm the memory.
        for round in 0..ROUNDS + WARM_UP {
            let mut batches = Vec::new();
            fill(meter, round, &mut batches);
            let begin = Instant::now();
            meter.tick((round + 1) * KEYS, (round + 1) * SECOND);
            let handed_over = begin.elapsed();
            unreported += 1;
            let mut reported = begin;
            // After every third interval, go on at once.
            if round % 3 > 0 {
                for _ in 0..unreported {
                    (reported, queried) = reports.recv().expect("a report");
                }
                unreported = 0;
            }
            if round < WARM_UP {
                continue;
            }
            path.push(handed_over);
            let longest = batches.into_iter().max().unwrap_or_default();
            match round % 3 {
                1 => beside.push(longest),
                2 => {
                    alone.push(longest);
                    whole.push(reported - begin);
                }
                _ => alone.push(longest),
            }
        }
        let show = |times| quartiles(times).map(|us| format!("{us:.0}")).join(" ");
        println!(
            "{model:>13} keys {keys:>5} ({queried} queried): packet path {}, in all {}; longest batch of \
             {BATCH} packets {} beside the collector, {} without",
            show(path),
            show(whole),
            show(beside),
            show(alone),
        );
    }
}
