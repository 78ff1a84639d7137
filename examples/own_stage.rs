//! A custom stage in one file: drops packets whose TTL or hop limit is
//! nearly used up, and counts packets by its value.
//!
//! ```sh
//! cargo run --example own_stage -- examples/traffic.pcapng
//! ```

use std::path::Path;

use weir_packet::file::Reader;
use weir_packet::wire::Network;
use weir_stream::{Batch, CaptureSource, DropReason, Pipeline, Stage, StageError};

/// Drops packets that would not live for another `least` hops.
struct HopLimit {
    least: u8,
    seen: [u64; 256],
}

impl Stage for HopLimit {
    fn name(&self) -> &str {
        "hop limit"
    }

    fn process(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        for index in batch.live() {
            let headers = batch.headers(index);
            let packet = headers.ip_packet(batch.record(index));
            let hops = match (headers.network, packet) {
                (Network::Ipv4, [_, _, _, _, _, _, _, _, ttl, ..]) => *ttl,
                (Network::Ipv6, [_, _, _, _, _, _, _, hop_limit, ..]) => *hop_limit,
                _ => continue,
            };
            self.seen[usize::from(hops)] += 1;
            if hops < self.least {
                batch.drop_record(index, DropReason::StageDecision);
            }
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "examples/traffic.pcapng".to_owned());
    let source = CaptureSource::new(vec![Reader::open(Path::new(&path))?]);
    let stage = HopLimit {
        least: 5,
        seen: [0; 256],
    };
    let outcome = Pipeline::new(source).stage(stage).run()?;

    println!(
        "{path}: {} packets, {} with fewer than 5 hops left were dropped",
        outcome.statistics.packets(),
        outcome.statistics.drops(DropReason::StageDecision)
    );
    for stage in outcome.stages::<HopLimit>() {
        for (hops, count) in stage
            .seen
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            println!("{hops:>5} hops left: {count} packets");
        }
    }
    Ok(())
}
