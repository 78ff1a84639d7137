//! SipHash-2-4 of records of 64 bytes natively, beside the kernel of `siphash.kernel`: the same
//! packets and hashes as CSV, and the throughput of one core.
//!
//! ```text
//! cargo run --release -p weir-lab --example siphash                      # compares with the kernel
//! cargo run --release -p weir-lab --example siphash packets.csv hashes.csv   # writes both
//! ```

#![expect(
    deprecated,
    reason = "`SipHasher` is SipHash-2-4, which no other type promises"
)]

use std::error::Error;
use std::fs;
use std::hash::{Hasher, SipHasher};
use std::hint::black_box;
use std::time::Instant;

use weir_lab::shared::model::{Bench, Effort, Input, Model, WorkFile, Workload};
use weir_lab::shared::parameters::Parameters;
use weir_lab::stream_processor::StreamProcessor;

const KERNEL: &str = include_str!("../../examples/siphash.kernel");
const RECORD_WORDS: usize = 16;
/// No multiple of the clusters: the last row of records is filled up.
const RECORDS: usize = 20;
const KEYS: [u64; 2] = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];

fn packets(records: usize) -> Vec<Vec<u32>> {
    let words: Vec<u32> = (0..(RECORD_WORDS * records) as u32)
        .map(|word| word.wrapping_mul(0x9e37_79b9).rotate_left(word % 31))
        .collect();
    words.chunks(RECORD_WORDS).map(<[u32]>::to_vec).collect()
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher::new_with_keys(KEYS[0], KEYS[1]);
    hasher.write(bytes);
    hasher.finish()
}

fn bytes(record: &[u32]) -> Vec<u8> {
    record.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn csv(records: &[Vec<u32>]) -> String {
    let rows = records.iter().map(|record| {
        let words: Vec<String> = record.iter().map(|word| format!("{word:#010x}")).collect();
        words.join(",") + "\n"
    });
    rows.collect()
}

/// The hashes of the kernel on a machine, and its throughput in Gbit/s.
fn modelled(machine: &str, packets: &[Vec<u32>]) -> Result<(Vec<u32>, f64), Box<dyn Error>> {
    let (kind, _) = StreamProcessor.file_kind().ok_or("no kernel files")?;
    let scalars = (KEYS
        .iter()
        .flat_map(|key| [*key as u32, (key >> 32) as u32]))
    .zip(["key0", "key1", "key2", "key3"])
    .map(|(word, name)| (name.to_owned(), Input::Number(word)));
    let packets = ("packets".to_owned(), Input::Records(packets.to_vec()));
    let workload = Workload::of_file(
        kind,
        WorkFile {
            name: "siphash.kernel".to_owned(),
            text: KERNEL.to_owned(),
            inputs: scalars.chain([packets]).collect(),
        },
    );
    let machine = Parameters::load(machine, StreamProcessor.machines())?;
    let run = StreamProcessor.run(&Bench::new(machine, &[], Effort::Full), &workload)?;
    let hashes = run.outputs.into_iter().next().ok_or("no output")?;
    let gbit_per_s = (run.metrics.iter())
        .find(|metric| metric.key == "input_gbit_per_s")
        .map_or(0.0, |metric| metric.value);
    Ok((hashes.words, gbit_per_s))
}

fn main() -> Result<(), Box<dyn Error>> {
    let packets_of_files = packets(RECORDS);
    let hashes: Vec<Vec<u32>> = (packets_of_files.iter())
        .map(|record| hash(&bytes(record)))
        .map(|hash| vec![hash as u32, (hash >> 32) as u32])
        .collect();
    let mut arguments = std::env::args().skip(1);
    if let (Some(packets_path), Some(hashes_path)) = (arguments.next(), arguments.next()) {
        fs::write(packets_path, csv(&packets_of_files))?;
        fs::write(hashes_path, csv(&hashes))?;
    }
    let many = packets(1024);
    for machine in ["imagine", "imagine-original"] {
        let (found, _) = modelled(machine, &packets_of_files)?;
        assert_eq!(found, hashes.concat(), "{machine} computes SipHash-2-4");
        let (_, gbit_per_s) = modelled(machine, &many)?;
        println!("{machine}: {gbit_per_s:.2} Gbit/s");
    }

    let many: Vec<Vec<u8>> = many.iter().map(|record| bytes(record)).collect();
    let rates = (0..11).map(|_| {
        const ROUNDS: usize = 200;
        let start = Instant::now();
        for _ in 0..ROUNDS {
            for packet in &many {
                black_box(hash(black_box(packet)));
            }
        }
        let bits = (8 * 4 * RECORD_WORDS * many.len() * ROUNDS) as f64;
        bits / start.elapsed().as_nanos() as f64
    });
    let mut rates: Vec<f64> = rates.collect();
    rates.sort_by(f64::total_cmp);
    println!(
        "natively, one core: {:.2} Gbit/s (quartiles {:.2} and {:.2} of 11 rounds)",
        rates[5], rates[2], rates[8]
    );
    Ok(())
}
