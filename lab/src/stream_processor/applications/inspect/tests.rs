//! Patterns are found where a direct filter finds them.

use super::programs::{Inspected, example_packets, example_patterns, inspect, pipeline};
use super::*;
use crate::stream_processor::applications::sketch::{COUNTERS, Hashing};
use crate::stream_processor::execute::{Arguments, Scratchpads, execute};

const FAMILIES: [Family; 3] = [Family::ShiftAddXor, Family::Tabulation, Family::H1];

/// Where patterns of a design's lengths may begin, by the host's functions.
fn expected(
    functions: &Functions,
    design: &Design,
    patterns: &[Vec<u8>],
    packet: &[u8],
) -> Vec<(usize, usize)> {
    let filter = functions.filter(design, patterns);
    let lengths = design.shortest()..design.shortest() + LENGTHS;
    let mut found: Vec<(usize, usize)> = lengths
        .flat_map(|length| {
            let windows = packet.windows(length).enumerate();
            let held = windows.filter(|(_, window)| functions.holds(&filter, window));
            held.map(move |(at, _)| (at, length)).collect::<Vec<_>>()
        })
        .collect();
    found.sort_unstable();
    found
}

/// Packets with patterns in them, at their ends too, and bytes of zero.
fn packets(patterns: &[Vec<u8>], bytes: usize) -> Vec<Vec<u8>> {
    let mut packets = example_packets(3, bytes);
    for (n, packet) in packets.iter_mut().enumerate() {
        packet[bytes / 2..bytes / 2 + 6].fill(0);
        for (place, pattern) in patterns.iter().skip(7 * n).take(40).enumerate() {
            let at = match place {
                0 => 0,
                1 => bytes - pattern.len(),
                _ => place * bytes / 40,
            };
            if let Some(room) = packet.get_mut(at..at + pattern.len()) {
                room.copy_from_slice(pattern);
            }
        }
    }
    packets
}

fn check(made: &Inspected, functions: &Functions, patterns: &[Vec<u8>], packets: &[Vec<u8>]) {
    for (number, packet) in packets.iter().enumerate() {
        let found = made.matches(number);
        let wanted = expected(functions, made.design(), patterns, packet);
        assert_eq!(found, wanted, "packet {number} of {:?}", made.design());
    }
}

#[test]
fn contents_are_found_on_any_number_of_clusters() {
    let patterns = example_patterns();
    for clusters in [1, 2, 4, 8, 16, 32] {
        for family in FAMILIES {
            let functions = Functions::example(family, clusters, 12);
            let packets = packets(&patterns, 300);
            let stages = pipeline(family, &functions, 2, &patterns, &packets).expect("programs");
            for stage in &stages {
                check(stage, &functions, &patterns, &packets);
            }
            // A pattern that was put there is among what is found.
            let placed = stages[0].matches(0);
            assert!(placed.contains(&(0, patterns[0].len())), "{placed:?}");
        }
    }
}

#[test]
fn a_pipeline_of_four_finds_contents_of_5_to_20_bytes() {
    let patterns = example_patterns();
    let functions = Functions::example(Family::Tabulation, 8, 20);
    let mut packets = packets(&patterns, 1500);
    packets.truncate(1);
    packets.push(patterns[15].clone());
    let stages = pipeline(Family::Tabulation, &functions, 4, &patterns, &packets);
    let stages = stages.expect("programs");
    for stage in &stages {
        check(stage, &functions, &patterns, &packets);
    }
    let last = stages[3].matches(1);
    assert_eq!(last, [(0, 20)]);
}

#[test]
fn filters_in_lanes_and_memory_and_assists_change_nothing() {
    let patterns = example_patterns();
    let packets = packets(&patterns, 200);
    for family in [Family::ShiftAddXor, Family::Tabulation] {
        let functions = Functions::example(family, 8, 12);
        let plain = Design::new(family, Position::First);
        let wanted = inspect(&plain, &functions, &patterns, &packets, None).expect("a program");
        for (filter, index_assist, bit_assist) in [
            (FilterPlace::Lane, false, false),
            (FilterPlace::Lane, true, false),
            (FilterPlace::Memory, false, false),
            (FilterPlace::Scratchpad, true, false),
            (FilterPlace::Scratchpad, true, true),
        ] {
            let design = Design {
                filter,
                index_assist,
                bit_assist,
                ..plain
            };
            let made = inspect(&design, &functions, &patterns, &packets, None).expect("a program");
            for packet in 0..packets.len() {
                assert_eq!(made.matches(packet), wanted.matches(packet), "{design:?}");
            }
        }
    }
}

#[test]
fn hashes_that_are_missing_are_named() {
    let functions = Functions::example(Family::H1, 8, 12);
    let design = Design::second(Family::H1);
    let packets = example_packets(1, 40);
    assert!(inspect(&design, &functions, &[], &packets, None).is_err());
    let design = Design::new(Family::ShiftAddXor, Position::First);
    assert!(inspect(&design, &functions, &[], &packets, None).is_err());
}

/// The bits of a multi-stage filter, from counters in a plain table.
#[test]
fn large_flows_are_told_in_all_stages() {
    const THRESHOLD: u32 = 3000;
    for clusters in [1, 2, 4, 8, 16, 32] {
        let functions: Vec<u32> = (0..4 * clusters as u32)
            .map(|n| 77 + 1_000_003 * n)
            .collect();
        let packets: Vec<u32> = (0..128u32)
            .flat_map(|n| [(n % 13).wrapping_mul(0x9e37_79b9), 40 + 100 * (n % 7)])
            .collect();
        let mut arguments = Arguments {
            inputs: vec![functions.clone(), packets.clone()],
            indexed: vec![vec![0; COUNTERS as usize * clusters]],
            scalars: vec![THRESHOLD],
        };
        let kernel = multi_stage(clusters).expect("a kernel");
        let given = execute(&kernel, clusters, &mut arguments, &mut Scratchpads::new());
        let words = given.expect("a run").remove(0);

        let mut counters = vec![0u32; COUNTERS as usize * clusters];
        for (n, packet) in packets.chunks(2).enumerate() {
            let mut is_large = true;
            for cluster in 0..clusters {
                let function = &functions[4 * cluster..4 * cluster + 4];
                let row = row_of(function, packet[0]);
                let counter = &mut counters[row as usize * clusters + cluster];
                *counter += packet[1];
                is_large &= *counter >= THRESHOLD;
            }
            let results = words[n / QUERIES * clusters];
            let bit = results >> (QUERIES - 1 - n % QUERIES) & 1;
            assert_eq!(bit == 1, is_large, "packet {n} on {clusters} clusters");
        }
        assert_eq!(arguments.indexed[0], counters);
    }
}

fn row_of(function: &[u32], flow: u32) -> u32 {
    const PRIME: u64 = (1 << 31) - 1;
    assert_eq!(function.len(), Hashing::Two.words());
    let value =
        |a: u32, b: u32, x: u32| ((u64::from(a) * u64::from(x) + u64::from(b)) % PRIME) as u32;
    let low = value(function[0], function[1], flow & 0xffff);
    let high = value(function[2], function[3], flow >> 16);
    (low ^ high) % COUNTERS
}
