//! Updates of a Count-Min sketch, four rows of 27,183 counters, beside what
//! they are made of: hashing alone, and the counter additions alone, which are
//! the floor. `meter` is the whole path of a flow key: projection, words,
//! distinct count, sketch, candidates.
//!
//! Streams: `uniform` over 2³² keys, `skewed` by a power law over 10⁶ keys.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use weir_hash::{Buckets, Family, KeyColumns, Ms52, Seed, SeedStream};
use weir_measure::{Accuracy, AddWork, CountMin, MeasureConfig};
use weir_packet::wire::{FlowKey, KeyKind};
use weir_simd::Tier;
use weir_stream::Arrival;

const KEYS: usize = 1 << 20;
const CHUNK: usize = 64;

fn uniform() -> Vec<u32> {
    let mut stream = SeedStream::new(Seed::from_u64(1));
    (0..KEYS).map(|_| stream.next_bits(32) as u32).collect()
}

/// P(rank > r) falls as 1/r, up to 10⁶; ranks are scattered over the addresses.
fn skewed() -> Vec<u32> {
    let mut stream = SeedStream::new(Seed::from_u64(2));
    let unit = 2f64.powi(-53);
    (0..KEYS)
        .map(|_| {
            let u = (stream.next_bits(53) as f64 + 1.0) * unit;
            let rank = (1.0 / u).min(1e6) as u32;
            rank.wrapping_mul(0x9e37_79b1)
        })
        .collect()
}

fn chunks(keys: &[u32]) -> Vec<KeyColumns> {
    keys.chunks(CHUNK)
        .map(|chunk| {
            let mut columns = KeyColumns::new(1, CHUNK);
            for key in chunk {
                columns.push(&[*key]);
            }
            columns
        })
        .collect()
}

fn update(criterion: &mut Criterion) {
    let shape = Accuracy::default().shape().expect("the default exists");
    for (stream, keys) in [("uniform", uniform()), ("skewed", skewed())] {
        let chunks = chunks(&keys);
        let values = [700u32; CHUNK];
        let family =
            Ms52::draw(shape.rows, shape.width, 1, Seed::from_u64(1)).expect("the default exists");

        let mut group = criterion.benchmark_group(format!("count-min/{stream}"));
        group.throughput(Throughput::Elements(KEYS as u64));
        for tier in Tier::ALL.into_iter().filter(|tier| tier.is_available()) {
            let mut buckets = Buckets::new();
            group.bench_function(format!("hash/{tier}"), |bench| {
                bench.iter(|| {
                    for keys in &chunks {
                        family.buckets(tier, keys, &mut buckets);
                        black_box(&buckets);
                    }
                });
            });
            let mut sketch =
                CountMin::new(shape, 1, Seed::from_u64(1)).expect("the default exists");
            let mut work = AddWork::default();
            group.bench_function(format!("update/{tier}"), |bench| {
                bench.iter(|| {
                    for keys in &chunks {
                        sketch.add(tier, keys, &values, &mut work);
                    }
                });
            });
        }

        let places: Vec<Buckets> = chunks
            .iter()
            .map(|keys| {
                let mut buckets = Buckets::new();
                family.buckets(weir_simd::tier(), keys, &mut buckets);
                buckets
            })
            .collect();
        let mut counters = vec![0u64; shape.rows * shape.width as usize];
        group.bench_function("floor", |bench| {
            bench.iter(|| {
                for buckets in &places {
                    for (row, counters) in
                        counters.chunks_exact_mut(shape.width as usize).enumerate()
                    {
                        for (bucket, value) in buckets.row(row).iter().zip(&values) {
                            counters[*bucket as usize] += u64::from(*value);
                        }
                    }
                }
            });
        });

        let flows: Vec<FlowKey> = keys
            .iter()
            .map(|key| FlowKey {
                source: u128::from(*key),
                destination: 1,
                source_port: 1,
                destination_port: 443,
                protocol: 6,
                ip_version: 4,
            })
            .collect();
        for kind in [KeyKind::Source, KeyKind::FiveTuple] {
            let mut measurement = MeasureConfig::new(kind).build(1).expect("a configuration");
            group.bench_function(format!("meter/{kind}"), |bench| {
                bench.iter(|| {
                    for flow in &flows {
                        for meter in &mut measurement.meters {
                            meter.tick(0, 1);
                            meter.count(&Arrival::at(1, 700), 700, Some(flow));
                        }
                    }
                });
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(11)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = update
}
criterion_main!(benches);
