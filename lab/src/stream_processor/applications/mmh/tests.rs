//! Tags are those of the hash families' own definition.

use weir_hash::multilinear::mmh32;

use super::programs::authenticate;
use super::*;
use crate::stream_processor::applications::example_words;

fn tags(packet: &[u32], first: &[u32], second: &[u32]) -> [u32; TAGS] {
    std::array::from_fn(|tag| {
        let hashes: Vec<u32> = packet
            .chunks(BLOCK_WORDS)
            .map(|block| mmh32(&first[tag..], block))
            .collect();
        match hashes.as_slice() {
            [hash] => *hash,
            hashes => mmh32(&second[tag..], hashes),
        }
    })
}

#[test]
fn packets_have_four_tags() {
    let (first, second) = (
        example_words(KEY_WORDS),
        example_words(100)[100 - KEY_WORDS..].to_vec(),
    );
    for blocks in [1, 2, 3, 12, 32] {
        let words = blocks * BLOCK_WORDS;
        let mut packets = example_words(5 * words);
        // Sums that are next to the modulus and its multiples.
        packets[..words].fill(u32::MAX);
        packets[words..2 * words].fill(0);
        for clusters in [1, 2, 4, 8, 16, 32] {
            let made = authenticate(clusters, &packets, blocks, &first, &second);
            let made = made.expect("a program").tags();
            assert_eq!(made.len(), 5);
            for (packet, found) in packets.chunks(words).zip(made) {
                assert_eq!(found, tags(packet, &first, &second), "{blocks} blocks");
            }
        }
    }
}

#[test]
fn reductions_are_right_at_their_edges() {
    use crate::stream_processor::execute::{Arguments, Scratchpads, execute};
    let mut k = Builder::new("reduce");
    let (numbers, out) = (k.input("numbers", 2), k.output("out", 1));
    k.repeat(Over::records(numbers), &[], |k, _| {
        let halves = k.read(numbers);
        let residue = reduce(k, [halves[0], halves[1]]);
        k.write(out, &[residue]);
        vec![]
    });
    let kernel = k.finish().expect("a kernel");
    let modulus = (1u64 << 32) + 15;
    let edges = [0u64, 1, 14, 15, 16, 225, 240, 255, 256];
    let mut all: Vec<u64> = edges
        .iter()
        .flat_map(|edge| {
            let multiples = [0, 1, 2, 15, 16, (1 << 32) - 15, (1 << 32) - 16];
            multiples.map(|times| modulus.wrapping_mul(times).wrapping_add(*edge))
        })
        .collect();
    all.extend(edges.map(|edge| u64::MAX - edge));
    all.extend(edges.map(|edge| (1 << 32) - edge));
    let mut arguments = Arguments {
        inputs: vec![
            all.iter()
                .flat_map(|&number| [number as u32, (number >> 32) as u32])
                .collect(),
        ],
        ..Arguments::default()
    };
    let found = execute(&kernel, 1, &mut arguments, &mut Scratchpads::new()).expect("a run");
    let expected: Vec<u32> = all.iter().map(|number| (number % modulus) as u32).collect();
    assert_eq!(found[0], expected);
}
