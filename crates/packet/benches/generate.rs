//! Generating packets beside filling memory with the same random bytes.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use weir_packet::generate::{Generator, PayloadModel, Plan, SizeModel};

const PACKETS: u64 = 20_000;

fn generate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("generate");
    for sizes in [
        SizeModel::Fixed(60),
        SizeModel::Internet,
        SizeModel::Fixed(1500),
    ] {
        for payload in [PayloadModel::Zero, PayloadModel::Random, PayloadModel::Http] {
            let plan = Plan {
                packets: PACKETS,
                sizes,
                payload,
                ..Plan::default()
            };
            let mut frame = Vec::new();
            let mut run = |plan: &Plan| {
                let Ok(mut generator) = Generator::new(plan) else {
                    return 0;
                };
                let mut bytes = 0;
                while generator.fill(&mut frame).is_some() {
                    bytes += frame.len() as u64;
                }
                bytes
            };
            group.throughput(Throughput::Bytes(run(&plan)));
            group.bench_function(format!("{sizes} {payload}"), |bencher| {
                bencher.iter(|| run(&plan));
            });
        }
    }
    let mut memory = vec![0; 1 << 20];
    group.throughput(Throughput::Bytes(memory.len() as u64));
    let mut random = ChaCha8Rng::from_seed([0; 32]);
    group.bench_function("floor: random bytes", |bencher| {
        bencher.iter(|| random.fill_bytes(&mut memory));
    });
    group.finish();
}

criterion_group!(benches, generate);
criterion_main!(benches);
