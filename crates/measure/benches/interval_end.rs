//! What the end of an interval costs: on the packet path, where a meter hands
//! it over, and in all, from there to the report (merge, top list, forecast,
//! error, F₂, alarms for 100,000 keys; sketches of five rows of 32,768
//! counters). The bar is 20 ms in all.
//!
//! Prints median and quartiles of the rounds, in microseconds.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use weir_measure::change::{ChangeConfig, KeySource};
use weir_measure::{IntervalReport, MeasureConfig, Measurement};
use weir_packet::wire::{FlowKey, KeyKind};

const KEYS: u64 = 100_000;
const ROUNDS: u64 = 21;
const SECOND: u64 = 1_000_000_000;

fn measurement(model: &str, keys: KeySource) -> (Measurement, Receiver<(Instant, u64)>) {
    let (sender, reports) = channel();
    let config = MeasureConfig {
        interval: Some(Duration::from_secs(1)),
        seed: Some(1),
        change: Some(ChangeConfig {
            keys,
            max_keys: KEYS as usize,
            ..ChangeConfig::new(model.parse().expect("a model"))
        }),
        ..MeasureConfig::new(KeyKind::Source)
    };
    let observer = move |report: &mut IntervalReport| {
        let asked = report.changes.map_or(0, |changes| changes.asked);
        let _ = sender.send((Instant::now(), asked));
    };
    let measurement = config.build_observed(1, Some(Box::new(observer)));
    (measurement.expect("a configuration"), reports)
}

fn quartiles(mut times: Vec<Duration>) -> [f64; 3] {
    times.sort_unstable();
    [1, 2, 3].map(|quarter| times[times.len() * quarter / 4].as_secs_f64() * 1e6)
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
        let (mut path, mut whole, mut asked) = (Vec::new(), Vec::new(), 0);
        // The first rounds teach the model and warm the memory.
        for round in 0..ROUNDS + 12 {
            let start_ns = round * SECOND;
            for key in 0..KEYS {
                let number = round * KEYS + key;
                let flow = FlowKey {
                    source: u128::from((key as u32).wrapping_mul(0x9e37_79b1)),
                    ip_version: 4,
                    ..FlowKey::default()
                };
                meter.tick(number, start_ns + key);
                meter.count(
                    start_ns + key,
                    Some(&flow),
                    100 + (key * round % 1000) as u32,
                );
            }
            let begin = Instant::now();
            meter.tick((round + 1) * KEYS, start_ns + SECOND);
            let handed_over = begin.elapsed();
            let (reported, keys_asked) = reports.recv().expect("a report");
            if round >= 12 {
                path.push(handed_over);
                whole.push(reported - begin);
                asked = keys_asked;
            }
        }
        let [p1, p2, p3] = quartiles(path);
        let [w1, w2, w3] = quartiles(whole);
        println!(
            "{model:>13} keys {keys:>5} ({asked} asked): packet path {p1:.0} {p2:.0} {p3:.0}, in \
             all {w1:.0} {w2:.0} {w3:.0}"
        );
    }
}
