//! The modelled sketch beside the sketches of `weir-measure`, on one capture.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use weir_hash::{Family, Seed, SeedStream, ShapeError};
use weir_lab::stream_processor::applications::sketch::programs::{Updated, updated};
use weir_lab::stream_processor::applications::sketch::{COUNTERS, Hashing};
use weir_measure::{
    Accuracy, AddWork, Arrival, CountMin, KeyColumns, Layout, MeasureConfig, Shape, tier,
};
use weir_packet::wire::KeyKind;

use crate::capture::{Packet, packets};

const CLUSTERS: usize = 8;
const PRIME: u128 = (1 << 31) - 1;

/// The rows of the thesis: polynomials modulo 2³¹ - 1 of the halves of a key, and of
/// their sum where there are three, added in GF(2) (3.4, equation 3.10); the row is the
/// low bits. The product's families of the same degree add modulo the prime and take
/// the high bits.
#[derive(Clone, Debug, PartialEq)]
struct Thesis<const POLYNOMIALS: usize, const COEFFICIENTS: usize> {
    width: u32,
    /// By row, the highest coefficient first.
    rows: Vec<[[u32; COEFFICIENTS]; POLYNOMIALS]>,
}

impl<const P: usize, const C: usize> Family for Thesis<P, C> {
    const CODE: u8 = u8::MAX;

    fn draw(rows: usize, width: u32, _: usize, seed: Seed) -> Result<Self, ShapeError> {
        let mut stream = SeedStream::new(seed);
        let mut coefficient = || (u128::from(stream.next_bits(32)) % PRIME) as u32;
        let mut row = || std::array::from_fn(|_| std::array::from_fn(|_| coefficient()));
        Ok(Thesis {
            width,
            rows: (0..rows).map(|_| row()).collect(),
        })
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn width(&self) -> u32 {
        self.width
    }

    fn words(&self) -> usize {
        1
    }

    fn bucket(&self, row: usize, key: &[u32]) -> u32 {
        let (low, high) = (key[0] & 0xffff, key[0] >> 16);
        let points = [low, high, low + high];
        let hash = self.rows[row]
            .iter()
            .zip(points)
            .fold(0, |hash, (polynomial, x)| {
                let value = polynomial.iter().fold(0, |value, &coefficient| {
                    (value * u128::from(x) + u128::from(coefficient)) % PRIME
                });
                hash ^ value as u32
            });
        hash % self.width
    }
}

/// The parameters as the clusters read them: coefficient by coefficient.
fn parameters<const P: usize, const C: usize>(family: &Thesis<P, C>) -> Vec<u32> {
    let places = (0..P).flat_map(|polynomial| (0..C).map(move |it| (polynomial, it)));
    places
        .flat_map(|(polynomial, it)| family.rows.iter().map(move |row| row[polynomial][it]))
        .collect()
}

fn ipv4_packets() -> Vec<Packet> {
    let mut packets = packets();
    packets.retain(|packet| packet.flow.ip_version == 4);
    packets
}

fn source(packet: &Packet) -> u32 {
    packet.flow.source as u32
}

/// The estimate of a key by the counters of the modelled sketch.
fn estimate(sketch: &Updated, family: &impl Family, key: u32) -> i64 {
    let counters = (0..CLUSTERS).map(|row| sketch.counter(row, family.bucket(row, &[key])));
    counters.min().map_or(0, i64::from)
}

fn check<const P: usize, const C: usize>(hashing: Hashing) {
    let shape = Shape {
        rows: CLUSTERS,
        width: COUNTERS,
    };
    let seed = Seed::from_u64(23);
    let family = Thesis::<P, C>::draw(CLUSTERS, COUNTERS, 1, seed).expect("a family");
    let layout = Layout::<Thesis<P, C>>::new(shape, 1, seed).expect("a layout");
    let mut product = CountMin::of_layout(layout);
    let packets = ipv4_packets();

    // Updates of weight 0 fill the last row of records.
    let mut records: Vec<u32> = packets
        .iter()
        .flat_map(|packet| [source(packet), packet.wire_bytes])
        .collect();
    records.resize(records.len().next_multiple_of(2 * CLUSTERS), 0);
    let modelled = updated(CLUSTERS, hashing, &parameters(&family), &records);
    let modelled = modelled.expect("a program");

    let mut work = AddWork::default();
    for packets in packets.chunks(256) {
        let mut keys = KeyColumns::new(1, 256);
        let weights: Vec<u32> = packets.iter().map(|packet| packet.wire_bytes).collect();
        assert!(packets.iter().all(|packet| keys.push(&[source(packet)])));
        product.add(tier(), &keys, &weights, &mut work);
    }

    // Keys of the capture, and others, which meet in their counters.
    let of_capture = packets.iter().map(source);
    let others = (0..50_000u32).map(|n| n.wrapping_mul(0x9e37_79b9));
    let mut occupied = 0;
    for key in of_capture.chain(others) {
        let expected = product.estimate(&[key]);
        assert_eq!(estimate(&modelled, &family, key), expected, "{key:x}");
        occupied += u32::from(expected > 0);
    }
    assert!(occupied as usize >= packets.len());
    let all: u64 = (0..COUNTERS)
        .map(|row| u64::from(modelled.counter(0, row)))
        .sum();
    assert_eq!(all as i64, product.total());
}

#[test]
fn the_modelled_2_universal_sketch_is_a_count_min_sketch() {
    check::<2, 2>(Hashing::Two);
}

#[test]
fn the_modelled_4_universal_sketch_is_a_count_min_sketch() {
    check::<3, 4>(Hashing::Four);
}

/// `weir measure` with its own hash functions reports the sums that the modelled sketch
/// estimates, for every key: both are wide enough for the capture's keys not to meet in
/// all rows.
#[test]
fn a_measurement_reports_what_the_modelled_sketch_estimates() {
    let packets = ipv4_packets();
    let config = MeasureConfig {
        accuracy: Accuracy {
            epsilon: 1e-4,
            delta: 1e-3,
        },
        top: 10_000,
        seed: Some(Seed::from_u64(23)),
        ..MeasureConfig::new(KeyKind::Source)
    };
    let mut measurement = config.build(1).expect("a measurement");
    for meter in &mut measurement.meters {
        for (number, packet) in packets.iter().enumerate() {
            meter.tick(number as u64, packet.timestamp_ns);
            let arrival = Arrival::at(packet.timestamp_ns, packet.wire_bytes);
            meter.count(&arrival, packet.captured_bytes, Some(&packet.flow));
        }
        meter.finish();
    }
    let reports = measurement.collector.finish();
    let [report] = &reports[..] else {
        panic!("one interval: {}", reports.len());
    };
    let reported: BTreeMap<String, i64> = report
        .top
        .iter()
        .map(|row| (row.key.clone(), row.estimate as i64))
        .collect();

    let family = Thesis::<2, 2>::draw(CLUSTERS, COUNTERS, 1, Seed::from_u64(23));
    let family = family.expect("a family");
    let mut records: Vec<u32> = packets
        .iter()
        .flat_map(|packet| [source(packet), packet.wire_bytes])
        .collect();
    records.resize(records.len().next_multiple_of(2 * CLUSTERS), 0);
    let modelled = updated(CLUSTERS, Hashing::Two, &parameters(&family), &records);
    let modelled = modelled.expect("a program");
    let estimated: BTreeMap<String, i64> = packets
        .iter()
        .map(source)
        .map(|key| {
            (
                Ipv4Addr::from(key).to_string(),
                estimate(&modelled, &family, key),
            )
        })
        .collect();
    assert_eq!(estimated, reported);
}
