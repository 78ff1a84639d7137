//! The frame alone: read from memory, parse, hash the flow, count, forward.
//!
//! Set beside a copy of the same packets, packet by packet, in the same run,
//! the two interleaved: 11 rounds, medians and quartiles. Then one shard
//! against two, each with a source of its own, and two shards on one source.

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use weir_packet::wire::LinkType;
use weir_stream::{Batch, Context, MemorySource, Pipeline, Stage, StageError, run_side_by_side};

const ROUNDS: usize = 11;
const PACKETS: u64 = 1 << 22;

/// Counts packets and bytes by network protocol: what the frame's user needs
/// at the least.
#[derive(Default)]
struct Count {
    packets: [u64; 4],
    bytes: [u64; 4],
}

impl Stage for Count {
    fn name(&self) -> &str {
        "count"
    }
    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        for (index, headers) in batch.headers_column().iter().enumerate() {
            let network = headers.network as usize;
            self.packets[network] += 1;
            self.bytes[network] += u64::from(batch.arrival(index).wire_bytes);
        }
        Ok(())
    }
}

/// `count` Ethernet frames of `bytes` bytes, IPv4 and UDP, of 1,024 flows.
fn frames(count: usize, bytes: usize) -> Vec<Vec<u8>> {
    (0..count as u32)
        .map(|number| {
            let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00, 0x45, 0];
            frame.extend((bytes as u16 - 14).to_be_bytes());
            frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
            frame.extend((0xc612_0000 | (number % 1024)).to_be_bytes());
            frame.extend([198, 19, 0, 1, 0x12, 0x67, 0x12, 0x68]);
            frame.extend((bytes as u16 - 34).to_be_bytes());
            frame.extend([0, 0]);
            frame.resize(bytes, number as u8);
            frame
        })
        .collect()
}

/// Nanoseconds per packet of a copy of each packet into 256 slots that are
/// used over and over, as a batch's memory is.
fn copy_ns(frames: &[u8], bytes: usize) -> f64 {
    let slot_bytes = bytes.next_multiple_of(64);
    let mut slots = vec![0u8; slot_bytes * 256];
    let started = Instant::now();
    for _ in 0..PACKETS / (frames.len() / bytes) as u64 {
        for batch in frames.chunks(bytes * 256) {
            for (frame, slot) in batch
                .chunks_exact(bytes)
                .zip(slots.chunks_exact_mut(slot_bytes))
            {
                slot[..bytes].copy_from_slice(frame);
            }
            black_box(&mut slots);
        }
    }
    started.elapsed().as_nanos() as f64 / PACKETS as f64
}

fn frame_pipeline(frames: &[Vec<u8>]) -> Pipeline {
    let source =
        MemorySource::new(LinkType::Ethernet, frames).repeated(PACKETS / frames.len() as u64);
    Pipeline::new(source).stage(Count::default())
}

/// Nanoseconds per packet of `pipelines` frames side by side.
fn frame_ns(frames: &[Vec<u8>], pipelines: usize) -> f64 {
    let pipelines: Vec<Pipeline> = (0..pipelines).map(|_| frame_pipeline(frames)).collect();
    let started = Instant::now();
    let (statistics, _) = run_side_by_side(pipelines).expect("a run");
    started.elapsed().as_nanos() as f64 / statistics.packets() as f64
}

/// Nanoseconds per packet of one source steered to two shards.
fn steered_ns(frames: &[Vec<u8>]) -> f64 {
    let shards = (0..2)
        .map(|_| vec![Box::new(Count::default()) as Box<dyn Stage>])
        .collect();
    let pipeline = frame_pipeline(frames).shards(shards);
    let started = Instant::now();
    let outcome = pipeline.run().expect("a run");
    started.elapsed().as_nanos() as f64 / outcome.statistics.packets() as f64
}

/// First quartile, median, third quartile.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [values.len() / 4, values.len() / 2, values.len() * 3 / 4].map(|at| values[at])
}

fn row(label: &str, unit: &str, values: Vec<f64>) {
    let [low, median, high] = quartiles(values);
    println!("{label:<44} {median:>9.2} {unit:<10} (quartiles {low:.2} to {high:.2})");
}

fn machine() -> String {
    let model = std::fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        });
    let cores = thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{}, {cores} cores",
        model.as_deref().unwrap_or("unknown processor")
    )
}

fn main() {
    println!(
        "{}; weir-stream {}; {ROUNDS} interleaved rounds",
        machine(),
        env!("CARGO_PKG_VERSION")
    );
    // 64 MiB lie in memory, 1 MiB in the L2 cache.
    for (set_bytes, bytes) in [
        (64 << 20, 64),
        (1 << 20, 64),
        (64 << 20, 576),
        (64 << 20, 1500),
    ] {
        let frames = frames(set_bytes / bytes, bytes);
        let flat = frames.concat();
        let (mut copy, mut one, mut two, mut steered) = (vec![], vec![], vec![], vec![]);
        for _ in 0..ROUNDS {
            copy.push(copy_ns(&flat, bytes));
            one.push(frame_ns(&frames, 1));
            two.push(frame_ns(&frames, 2));
            steered.push(steered_ns(&frames));
        }
        let ratio = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a / b).collect::<Vec<_>>();
        let place = if set_bytes > 32 << 20 {
            "memory"
        } else {
            "cache"
        };
        println!("\n{bytes}-byte packets, read from {place}");
        row("copy of the same packets", "ns/packet", copy.clone());
        row("frame, one shard", "ns/packet", one.clone());
        row(
            "frame, one shard",
            "Mpacket/s",
            one.iter().map(|ns| 1e3 / ns).collect(),
        );
        row(
            "frame / copy (bar: at most 4, from memory)",
            "times",
            ratio(&one, &copy),
        );
        row("one source, two shards", "ns/packet", steered.clone());
        row(
            "two shards / one shard (bar: at least 1.8)",
            "times",
            ratio(&one, &two),
        );
    }
}
