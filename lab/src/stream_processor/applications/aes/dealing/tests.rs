//! An independent implementation, and what dealing packets out otherwise gains.

use ::aes::Aes128;
use ::aes::cipher::{BlockCipherEncrypt, KeyInit};

use super::*;
use crate::stream_processor::applications::aes::programs::{Width, Workload, encrypt};
use crate::stream_processor::machine::Machine;
use crate::stream_processor::stream::run;

fn encrypted(packets: &[usize], keys: &[u32], text: &[u32]) -> Vec<u32> {
    let bytes = |words: &[u32]| -> [u8; 16] {
        std::array::from_fn(|at| words[at / 4].to_le_bytes()[at % 4])
    };
    let mut blocks = text.chunks(BLOCK_WORDS);
    let mut out = Vec::new();
    for (&count, key) in packets.iter().zip(keys.chunks(BLOCK_WORDS)) {
        let cipher = Aes128::new(&bytes(key).into());
        for block in blocks.by_ref().take(count) {
            let mut block = bytes(block).into();
            cipher.encrypt_block(&mut block);
            out.extend(super::super::words_of(&block.into()));
        }
    }
    out
}

#[test]
fn packets_of_all_lengths_are_encrypted_under_their_keys() {
    // A packet alone at the end, and more than are expanded at once.
    let packets: Vec<usize> = (0..11).map(|packet| 1 + packet * 5 % 7).collect();
    let keys = example_words(packets.len() * BLOCK_WORDS);
    let text = example_words(packets.iter().sum::<usize>() * BLOCK_WORDS);
    let expected = encrypted(&packets, &keys, &text);
    for clusters in [1, 2, 4, 8, 16, 32] {
        for dealing in [Dealing::Merged, Dealing::Apart] {
            let dealt = encrypt_dealt(clusters, dealing, &packets, &keys, &text).expect("a run");
            assert_eq!(dealt.cipher_text, expected, "{dealing:?}, {clusters}");
        }
    }
}

#[test]
fn what_cannot_be_dealt_out_is_refused() {
    let text = example_words(64);
    let of = |packets: &[usize], keys: &[u32]| {
        encrypt_dealt(8, Dealing::Merged, packets, keys, &text).is_err()
    };
    assert!(of(&[], &[]));
    assert!(of(&[1, 0], &text));
    assert!(of(&[1, 1], &text[..4]));
    assert!(of(&[17], &text));
}

/// Cycles after the barrier, for packets of a length: across all clusters, two
/// merged, and apart.
fn cycles(blocks: usize) -> [f64; 3] {
    const CLUSTERS: usize = 8;
    let packets = vec![blocks; 16];
    let keys = example_words(packets.len() * BLOCK_WORDS);
    let padded = blocks.next_multiple_of(CLUSTERS);
    let text = example_words(packets.len() * padded * BLOCK_WORDS);
    // All expand as many keys at a time as those merged do.
    let across = Workload {
        expansion: Width::Dual,
        ..Workload::fixed(packets.len(), padded, true, Width::Single)
    };
    let machine = Machine::load("imagine", &[]).expect("a machine");
    let dealt = |dealing| {
        let dealt = encrypt_dealt(CLUSTERS, dealing, &packets, &keys, &text);
        dealt.expect("a program").program
    };
    let across = encrypt(CLUSTERS, &across, &keys, &text).expect("a program");
    [
        across.program,
        dealt(Dealing::Merged),
        dealt(Dealing::Apart),
    ]
    .map(|program| {
        let outcome = run(&program, &machine).expect("a run");
        outcome.measured().cycles
    })
}

/// Of four blocks half a row is filled (2.7), which a second packet fills; whole
/// rows leave nothing to fill, and the second key costs.
#[test]
fn merging_helps_packets_that_leave_clusters_idle() {
    let [across, merged, apart] = cycles(4);
    assert!(merged < across, "{merged} {across}");
    assert!(apart < merged, "{apart} {merged}");
    let [across, merged, _] = cycles(96);
    assert!(across < merged, "{across} {merged}");
}
