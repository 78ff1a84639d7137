//! Rule headers of a large rule set: building the table, and matching with it
//! beside a scan.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use weir_packet::generate::{Generator, Plan};
use weir_select::{AddressSet, PortSet, ProtocolSet, Selector, Table, Tuple};

/// Selectors as public rule sets have them: home and external networks on
/// either side, a few hundred port lists, and some rules for single hosts.
fn rule_headers(count: u32) -> Vec<Selector> {
    let home: AddressSet = "[198.19.0.0/16,fd00:19::/32]".parse().unwrap_or_default();
    let external: AddressSet = "![198.19.0.0/16,fd00:19::/32]".parse().unwrap_or_default();
    (0..count)
        .map(|number| {
            let port = match number % 10 {
                0..4 => PortSet::port(80),
                4..6 => PortSet::any(),
                _ => PortSet::port((number % 4000) as u16),
            };
            let any = PortSet::any();
            let to_server = number % 3 > 0;
            let host = std::net::Ipv4Addr::from_bits(0xc613_0000 + number % 0xffff).into();
            let target = match number % 50 {
                0 => AddressSet::range(host, host),
                _ => home.clone(),
            };
            let selector = Selector {
                source: external.clone(),
                destination: target,
                protocol: ProtocolSet::of(if number % 7 == 0 { &[17] } else { &[6] }),
                source_port: any,
                destination_port: port,
                interface: None,
            };
            if to_server {
                selector
            } else {
                selector.reversed()
            }
        })
        .collect()
}

fn tuples() -> Vec<Tuple> {
    let plan = Plan::default();
    let Ok(generator) = Generator::new(&plan) else {
        return Vec::new();
    };
    (0..4096)
        .map(|flow| Tuple {
            key: generator.flow_key(flow),
            interface: 0,
            ports_known: true,
        })
        .collect()
}

fn tables(criterion: &mut Criterion) {
    let tuples = tuples();
    for count in [30, 3000, 30_000] {
        let selectors = rule_headers(count);
        let table = Table::new(&selectors);
        let mut group = criterion.benchmark_group(format!("select {count}"));
        group.bench_function("build", |bencher| {
            bencher.iter_batched(|| &selectors, |s| Table::new(s), BatchSize::LargeInput);
        });
        group.throughput(Throughput::Elements(tuples.len() as u64));
        group.bench_function("first", |bencher| {
            bencher.iter(|| {
                for tuple in &tuples {
                    black_box(table.first(tuple));
                }
            });
        });
        let mut all = Vec::new();
        group.bench_function("all", |bencher| {
            bencher.iter(|| {
                for tuple in &tuples {
                    table.all(tuple, &mut all);
                    black_box(&all);
                }
            });
        });
        group.throughput(Throughput::Elements(16));
        group.bench_function("scan, 16 tuples", |bencher| {
            bencher.iter(|| {
                for tuple in &tuples[..16] {
                    black_box(selectors.iter().filter(|s| s.matches(tuple)).count());
                }
            });
        });
        group.finish();
    }
}

criterion_group!(benches, tables);
criterion_main!(benches);
