//! Changes found on sketches against the exact method, which has a forecaster
//! for every key.

use hashbrown::HashMap;
use weir_hash::{KeyColumns, Seed, SeedStream};
use weir_measure::change::{Detector, Difference, ExactDetector, KeyChange, Rule, UnlikeError};
use weir_measure::{AddWork, KAry, Shape};

/// Sums per source, interval by interval: `sources` of them, the n-th with some
/// 20,000,000/(n+1)^0.9 bytes give or take a quarter, and in the last interval
/// the planted changes.
fn traffic(sources: u32, intervals: usize, planted: &[(u32, f64)]) -> Vec<HashMap<u32, f64>> {
    let mut stream = SeedStream::new(Seed::from_u64(11));
    let mut all: Vec<HashMap<u32, f64>> = (0..intervals)
        .map(|_| {
            let mean = |n: u32| 2e7 / (f64::from(n) + 1.0).powf(0.9);
            let swing = |stream: &mut SeedStream| {
                0.75 + stream.next_bits(32) as f64 / f64::from(u32::MAX) / 2.0
            };
            (0..sources)
                .map(|n| (address(n), (mean(n) * swing(&mut stream)).round()))
                .collect()
        })
        .collect();
    if let Some(last) = all.last_mut() {
        for (source, bytes) in planted {
            *last.entry(address(*source)).or_default() += bytes;
        }
    }
    all
}

/// Addresses far apart.
fn address(n: u32) -> u32 {
    n.wrapping_mul(0x9e37_79b1)
}

fn sketch(shape: Shape, seed: u64, sums: &HashMap<u32, f64>) -> KAry {
    let mut sketch: KAry = KAry::new(shape, 1, Seed::from_u64(seed)).expect("a shape");
    let mut work = AddWork::default();
    let mut columns = KeyColumns::new(1, 256);
    let updates: Vec<_> = sums.iter().collect();
    for chunk in updates.chunks(256) {
        columns.clear();
        for (key, _) in chunk {
            assert!(columns.push(&[**key]));
        }
        let values: Vec<i64> = chunk.iter().map(|(_, bytes)| **bytes as i64).collect();
        sketch.add(weir_simd::tier(), &columns, &values, &mut work);
    }
    sketch
}

/// The keys with the largest errors.
fn largest(mut errors: Vec<(u32, f64)>, count: usize) -> Vec<u32> {
    errors.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    errors.truncate(count);
    errors.into_iter().map(|(key, _)| key).collect()
}

fn exact(rule: &Rule, traffic: &[HashMap<u32, f64>]) -> Vec<(u32, KeyChange, f64)> {
    let mut detector = ExactDetector::new(rule).expect("a rule");
    let mut last = None;
    for sums in traffic {
        last = detector.observe(sums);
    }
    last.expect("more intervals than the model learns from")
}

/// Share of the exact method's 50 largest errors that are among the sketch's.
fn agreement(
    rule: &Rule,
    width: u32,
    seed: u64,
    traffic: &[HashMap<u32, f64>],
    top: &[u32],
) -> f64 {
    let shape = Shape { rows: 5, width };
    let first = sketch(shape, seed, &traffic[0]);
    let mut detector = Detector::new(rule, first.layout().clone()).expect("a rule");
    for sums in traffic {
        let sketch = sketch(shape, seed, sums);
        detector.observe(&sketch).expect("one layout");
    }
    let errors = traffic[0].keys().map(|key| {
        let change = detector.key_change(&[*key]).expect("a forecast");
        (*key, change.error)
    });
    let found = largest(errors.collect(), top.len());
    found.iter().filter(|key| top.contains(key)).count() as f64 / top.len() as f64
}

/// 60 planted changes, the n-th of 4,000,000·0.97ⁿ bytes, beside the ordinary
/// swings of the largest sources: 46 of them are among the 50 largest errors.
fn planted() -> Vec<(u32, f64)> {
    (0..60u32)
        .map(|n| (1000 + n * 4987, 4e6 * 0.97f64.powf(n.into())))
        .collect()
}

/// 300,000 sources, nine to a counter of the larger sketch and 293 to one of the
/// smaller. Seeds are fixed: what holds, holds.
#[test]
fn the_largest_changes_of_many_sources_are_found_where_the_sketch_is_wide() {
    let planted = planted();
    let traffic = traffic(300_000, 3, &planted);
    let rule = Rule {
        threshold: 0.2,
        ..Rule::new("ma:2".parse().expect("a model"))
    };
    let errors = exact(&rule, &traffic).into_iter();
    let top = largest(
        errors.map(|(key, change, _)| (key, change.error)).collect(),
        50,
    );
    let is_planted = |key: &u32| planted.iter().any(|(n, _)| address(*n) == *key);
    assert_eq!(top.iter().filter(|key| is_planted(key)).count(), 48);
    for seed in 0..2 {
        let wide = agreement(&rule, 32_768, seed, &traffic, &top);
        assert!(wide >= 0.95, "seed {seed}: {wide}");
        let narrow = agreement(&rule, 1024, seed, &traffic, &top);
        assert!(narrow <= 0.6, "seed {seed}: {narrow}");
    }
}

/// Every difference, on a sketch, alarms where the exact method does: of the
/// keys whose exact score is a fifth above the threshold all, of those a fifth
/// below it none. A fifth of the threshold is more than 30 deviations of an
/// estimate here.
#[test]
fn differences_alarm_as_the_exact_method_does() {
    let mut traffic = traffic(3000, 6, &[(500, 8e6), (700, 6e6), (2900, 5e6)]);
    // One falls silent.
    traffic[5].remove(&address(3));
    let shape = Shape {
        rows: 5,
        width: 32_768,
    };
    for (difference, threshold) in [
        (Difference::Absolute, 0.2),
        (Difference::Relative, 20.0),
        (Difference::Variational, 0.2),
    ] {
        let rule = Rule {
            model: "ma:4".parse().expect("a model"),
            difference,
            threshold,
        };
        let first = sketch(shape, 5, &traffic[0]);
        let mut detector = Detector::new(&rule, first.layout().clone()).expect("a rule");
        for sums in &traffic {
            let sketch = sketch(shape, 5, sums);
            detector.observe(&sketch).expect("one layout");
        }
        let mut alarms = 0;
        for (key, change, score) in exact(&rule, &traffic) {
            let found = detector.change(&[key]);
            if score > 1.2 * threshold {
                let (estimated, _) = found.unwrap_or_else(|| panic!("{difference}: {change:?}"));
                assert!((estimated.error / change.error - 1.0).abs() < 0.2);
                alarms += 1;
            } else if score < 0.8 * threshold {
                assert_eq!(found, None, "{difference}: {change:?}");
            }
        }
        assert!(alarms >= 3, "{difference}: {alarms}");
    }
}

#[test]
fn sketches_of_other_seeds_and_sizes_are_refused() {
    let shape = Shape {
        rows: 5,
        width: 4096,
    };
    let sums = HashMap::new();
    let rule = Rule {
        threshold: 0.2,
        ..Rule::new("ewma:0.5".parse().expect("a model"))
    };
    let here = sketch(shape, 1, &sums);
    let mut detector = Detector::new(&rule, here.layout().clone()).expect("a rule");
    let wider = Shape {
        width: 8192,
        ..shape
    };
    for other in [sketch(shape, 2, &sums), sketch(wider, 1, &sums)] {
        assert_eq!(detector.observe(&other), Err(UnlikeError));
    }
    assert_eq!(detector.observe(&here), Ok(None), "learning");
    assert_eq!(detector.key_change(&[5]), None);
    assert!(detector.observe(&here).expect("one layout").is_some());
    assert_eq!(detector.change(&[5]), None, "nothing is no change");
}
