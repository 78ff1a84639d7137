//! Figures 6.9 and 6.10 of the thesis: the average error (equation 6.18) of
//! point queries by sub-sketches with tags, by their width and quantum, with one
//! choice of hash functions for all periods and with a fresh one for each.
//!
//! The thesis has 90 seconds of a backbone link with 24,569 sources, which come
//! and go (its figure 6.7). The trace here is made the same way: 25,000 sources,
//! each active from a random moment on for a time of its own (exponential, mean
//! 10 s), with a Pareto number of packets (exponent 1.1, from 8 on) of 40, 576 or
//! 1,500 bytes; some 1.5 million packets. The seed is fixed; each figure is the
//! mean over 24 seeds of the hash functions.

use std::collections::HashMap;

use weir_hash::{KeyColumns, Seed, SeedStream};
use weir_measure::sub_sketches::{FreshHashes, Hashes, SameHashes, SubSketches, average_error};
use weir_measure::{AddWork, Shape};

const SOURCES: u32 = 25_000;
const TRACE_SECONDS: f64 = 90.0;
const SEEDS: u64 = 24;
const ROWS: usize = 8;

/// Time in parts of the trace, source, bytes.
type Packet = (f64, u32, i64);

fn trace() -> Vec<Packet> {
    let mut stream = SeedStream::new(Seed::from_u64(6));
    let mut unit = move || (stream.next_bits(53) as f64 + 0.5) / 2f64.powi(53);
    let mut packets = Vec::new();
    for source in 0..SOURCES {
        let start = unit() * TRACE_SECONDS;
        let seconds = -10.0 * unit().ln();
        let end = (start + seconds).min(TRACE_SECONDS);
        let count = (8.0 * unit().powf(-1.0 / 1.1)).min(50_000.0) as u64;
        let address = source.wrapping_mul(0x9e37_79b1);
        for _ in 0..count {
            let bytes = match (unit() * 12.0) as u32 {
                0..7 => 40,
                7..11 => 576,
                _ => 1500,
            };
            let at = start + unit() * (end - start);
            packets.push((at / TRACE_SECONDS, address, bytes));
        }
    }
    packets
}

fn error<H: Hashes>(
    packets: &[Packet],
    truth: &HashMap<u32, i64>,
    width: u32,
    quantum: usize,
) -> f64 {
    let shape = Shape { rows: ROWS, width };
    let keys = truth.len();
    let of_seed = |seed| {
        let mut sketches: SubSketches<H> =
            SubSketches::new(quantum, shape, 1, keys, Seed::from_u64(seed)).expect("a shape");
        let mut work = AddWork::default();
        let mut columns = KeyColumns::new(1, 256);
        let mut values = Vec::new();
        let mut by_period: Vec<Vec<&Packet>> = vec![Vec::new(); quantum];
        for packet in packets {
            let period = (packet.0 * quantum as f64) as usize;
            by_period[period.min(quantum - 1)].push(packet);
        }
        for (period, packets) in by_period.iter().enumerate() {
            for chunk in packets.chunks(256) {
                columns.clear();
                values.clear();
                for (_, source, bytes) in chunk {
                    columns.push(&[*source]);
                    values.push(*bytes);
                }
                sketches.add(period, weir_simd::tier(), &columns, &values, &mut work);
            }
        }
        average_error(truth.iter().map(|(source, sum)| {
            let estimate = sketches.estimate(&[*source]);
            (estimate as f64, *sum as f64)
        }))
    };
    (0..SEEDS).map(of_seed).sum::<f64>() / SEEDS as f64
}

fn main() {
    let packets = trace();
    let mut truth: HashMap<u32, i64> = HashMap::new();
    for (_, source, bytes) in &packets {
        *truth.entry(*source).or_default() += bytes;
    }
    println!(
        "{} packets of {} sources, {ROWS} rows; average error of a point query",
        packets.len(),
        truth.len()
    );
    println!(
        "{:>7} {:>8} {:>12} {:>12} {:>10}",
        "width", "quantum", "same", "fresh", "fresh/same"
    );
    for width in [1024, 2048, 4096, 7168, 8192] {
        for quantum in [1, 2, 3, 4, 8] {
            let same = error::<SameHashes>(&packets, &truth, width, quantum);
            let fresh = error::<FreshHashes>(&packets, &truth, width, quantum);
            let ratio = fresh / same;
            println!("{width:>7} {quantum:>8} {same:>12.4} {fresh:>12.4} {ratio:>10.3}");
        }
    }
    let tagged = error::<SameHashes>(&packets, &truth, 4096, 3);
    let single = error::<SameHashes>(&packets, &truth, 7168, 1);
    println!(
        "sub-sketches of w=4,096, quantum 3: {tagged:.4}; one sketch of w=7,168: {single:.4} \
         ({:.2} times)",
        single / tagged
    );
}
