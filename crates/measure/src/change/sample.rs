//! Who is behind a key: a sample of an interval's packets.

use std::collections::{BTreeMap, BinaryHeap};
use std::net::IpAddr;

use serde::Serialize;
use weir_hash::{Fingerprint, Seed};
use weir_packet::wire::{FlowKey, KeyKind};

/// Packets kept per interval. A key with a hundredth of the packets has some
/// forty of them.
const SAMPLE_PACKETS: usize = 4096;

/// Sources named per alarm.
const SOURCES_MAX: usize = 5;

/// A uniform sample of packets: every packet draws a random number, and those
/// with the smallest are kept. A packet draws the same number wherever it is
/// counted, so the parts of an interval put together have the sample of the
/// whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    /// Largest draw on top.
    packets: BinaryHeap<Sampled>,
}

/// Ordered by its draw first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sampled {
    draw: u64,
    flow: FlowKey,
    value: u64,
}

/// One source address behind a key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Source {
    /// The address.
    pub source: IpAddr,
    /// Its part of the key's sum, by a sample of the interval's packets.
    pub share: f64,
}

/// Gives each packet of a stream a random number, by which it is sampled.
#[derive(Clone, Debug)]
pub(crate) struct Draws(Fingerprint);

impl Draws {
    /// Those of a seed.
    pub fn new(seed: Seed) -> Draws {
        Draws(Fingerprint::new(seed))
    }

    /// The number of packet `number`.
    #[inline]
    pub fn of(&self, number: u64) -> u64 {
        self.0.of(&[number as u32, (number >> 32) as u32])
    }
}

impl Sample {
    /// Offers a packet with its draw, its whole flow and its value.
    #[inline]
    pub fn offer(&mut self, draw: u64, flow: FlowKey, value: u64) {
        if self.packets.len() < SAMPLE_PACKETS {
            self.packets.push(Sampled { draw, flow, value });
        } else if self.packets.peek().is_some_and(|last| draw < last.draw) {
            self.packets.pop();
            self.packets.push(Sampled { draw, flow, value });
        }
    }

    /// Adds the sample of another part of the interval.
    pub fn merge(&mut self, other: &Sample) {
        for packet in &other.packets {
            self.offer(packet.draw, packet.flow, packet.value);
        }
    }

    /// The sources with the largest parts of a key's sum, largest first.
    pub fn sources(&self, key: &FlowKey, kind: KeyKind) -> Vec<Source> {
        let mut sums: BTreeMap<IpAddr, u64> = BTreeMap::new();
        for packet in self.packets.iter().filter(|p| p.flow.project(kind) == *key) {
            *sums.entry(packet.flow.source_address()).or_default() += packet.value;
        }
        let total: u64 = sums.values().sum();
        let mut sources: Vec<Source> = sums
            .into_iter()
            .map(|(source, sum)| Source {
                source,
                share: sum as f64 / total.max(1) as f64,
            })
            .collect();
        // Stable, so that equal ones stay in order of their addresses.
        sources.sort_by(|a, b| b.share.total_cmp(&a.share));
        sources.truncate(SOURCES_MAX);
        sources
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.packets.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(source: u128, destination: u128) -> FlowKey {
        FlowKey {
            source,
            destination,
            ip_version: 4,
            ..FlowKey::default()
        }
    }

    fn sample(numbers: impl Iterator<Item = u64>) -> Sample {
        let draws = Draws::new(Seed::from_u64(7));
        let mut sample = Sample::default();
        for number in numbers {
            // A tenth to destination 9, two thirds of it from source 1.
            let source = 1 + u128::from(number % 3 == 0);
            let destination = if number % 10 == 0 { 9 } else { 8 };
            sample.offer(draws.of(number), flow(source, destination), 100);
        }
        sample
    }

    /// Of 4,096 packets a tenth, 410 ± 19, are of the destination, of which 273
    /// ± 9.5 are of one source: a share of 0.667 ± 0.023. Seven deviations are
    /// exceeded with probability 3e-12.
    #[test]
    fn shares_are_those_of_the_packets() {
        let sources = sample(0..100_000).sources(&flow(0, 9), KeyKind::Destination);
        let addresses: Vec<_> = sources.iter().map(|s| s.source.to_string()).collect();
        assert_eq!(addresses, ["0.0.0.1", "0.0.0.2"]);
        assert!((sources[0].share - 2.0 / 3.0).abs() < 7.0 * 0.024);
        assert!((sources[0].share + sources[1].share - 1.0).abs() < 1e-12);
        assert!(
            sample(0..9)
                .sources(&flow(5, 5), KeyKind::Source)
                .is_empty()
        );
    }

    #[test]
    fn parts_make_the_sample_of_the_whole() {
        let mut parts = sample((0..20_000).filter(|number| number % 7 < 3));
        parts.merge(&sample((0..20_000).filter(|number| number % 7 >= 3)));
        let whole = sample(0..20_000);
        assert_eq!(
            parts.packets.into_sorted_vec(),
            whole.packets.into_sorted_vec()
        );
    }

    #[test]
    fn the_largest_sources_are_named() {
        let mut sample = Sample::default();
        for source in 1..=20u64 {
            sample.offer(source, flow(source.into(), 1), source);
        }
        let sources = sample.sources(&flow(0, 1), KeyKind::Destination);
        let largest: Vec<_> = sources.iter().map(|s| s.source.to_string()).collect();
        assert_eq!(
            largest,
            ["0.0.0.20", "0.0.0.19", "0.0.0.18", "0.0.0.17", "0.0.0.16"]
        );
        sample.clear();
        assert!(sample.sources(&flow(0, 1), KeyKind::Destination).is_empty());
    }
}
