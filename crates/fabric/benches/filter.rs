//! Verdicts of the filters over batches of 256 P_Keys, beside a copy of the keys.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::hint::black_box;
use weir_fabric::filter::{PartitionTable, PortRole, Scheme, StatefulFilter};

const BATCH: usize = 256;
const QUIET_NS: u64 = u64::MAX;

/// Half of the packets have a P_Key of the table, in no order that a branch could learn.
fn p_keys(valid: &[u16]) -> Vec<u16> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    (0..64 * BATCH)
        .map(|_| {
            let draw = random.next_u64();
            match draw & 1 {
                0 => valid[(draw >> 32) as usize % valid.len()],
                _ => (draw >> 16) as u16,
            }
        })
        .collect()
}

fn filters(criterion: &mut Criterion) {
    let valid: Vec<u16> = (0..1024).map(|partition| 0x8001 + 17 * partition).collect();
    let p_keys = p_keys(&valid);
    let table = || PartitionTable::new(valid.iter().copied());

    let mut blocks = StatefulFilter::new(table(), QUIET_NS);
    for &p_key in p_keys.iter().take(valid.len()) {
        blocks.trap(0, p_key);
    }
    let mut passes = StatefulFilter::new(table(), QUIET_NS);
    for &p_key in &p_keys {
        passes.trap(0, p_key);
    }

    let mut group = criterion.benchmark_group("filter");
    group.throughput(Throughput::Elements(p_keys.len() as u64));
    let mut copy: Vec<u16> = Vec::new();
    group.bench_function("copy of the keys", |bencher| {
        bencher.iter(|| {
            for batch in p_keys.chunks(BATCH) {
                copy.clear();
                copy.extend_from_slice(batch);
                black_box(&copy);
            }
        });
    });
    let mut verdicts = Vec::new();
    let mut ingress = Scheme::Ingress.port_filter(PortRole::Ingress, table(), QUIET_NS);
    group.bench_function("valid keys (DT, IF)", |bencher| {
        bencher.iter(|| {
            for batch in p_keys.chunks(BATCH) {
                ingress.judge(0, batch, &mut verdicts);
                black_box(&verdicts);
            }
        });
    });
    let states = [
        ("SIF, off", StatefulFilter::new(table(), QUIET_NS)),
        ("SIF, blocks invalid keys", blocks),
        ("SIF, passes valid keys", passes),
    ];
    for (name, mut filter) in states {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for batch in p_keys.chunks(BATCH) {
                    filter.judge(0, batch, &mut verdicts);
                    black_box(&verdicts);
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, filters);
criterion_main!(benches);
