//! Which worker has the keys of a queue pair.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use weir_stream::{Batch, SteeringRule};

use crate::secure::{Address, addresses};
use crate::wire::Packet;

/// All packets between two addresses go to one worker, so that steering by this rule satisfies
/// stages that want flows together, too.
pub(super) fn rule() -> SteeringRule {
    SteeringRule::new("fabric", |batch: &Batch, index| {
        let (headers, link) = (batch.headers(index), batch.arrival(index).link);
        match Packet::behind(headers, link, batch.record(index)) {
            Ok(Some(packet)) => addresses(&packet).map_or(0, number),
            Ok(None) => batch.flow_hash(index),
            Err(_) => 0,
        }
    })
}

/// The worker that has the keys of packets between two addresses.
pub(super) fn home(ends: [Address; 2], workers: usize) -> usize {
    number(ends) as usize % workers.max(1)
}

/// The same number in both directions.
fn number(ends: [Address; 2]) -> u32 {
    let hasher = BuildHasherDefault::<DefaultHasher>::new();
    let [one, other] = ends.map(|address| hasher.hash_one(address) as u32);
    one.wrapping_add(other)
}
