//! FIPS 197, and an independent implementation.

use ::aes::Aes128;
use ::aes::cipher::{BlockCipherEncrypt, KeyInit};

use super::*;
use crate::stream_processor::execute::{Arguments, Scratchpads, execute};

const CLUSTERS: [usize; 6] = [1, 2, 4, 8, 16, 32];

fn run(
    kernel: fn() -> Result<Kernel, BuildError>,
    clusters: usize,
    input: Vec<u32>,
    scalars: Vec<u32>,
    scratchpads: &mut Scratchpads,
) -> Vec<u32> {
    let kernel = kernel().expect("a kernel");
    let mut arguments = Arguments {
        inputs: vec![input],
        indexed: vec![],
        scalars,
    };
    execute(&kernel, clusters, &mut arguments, scratchpads)
        .expect("a run")
        .remove(0)
}

/// Scratchpads with the table in each cluster.
fn with_table(clusters: usize) -> Scratchpads {
    let mut scratchpads = Scratchpads::new();
    let words = table();
    let stream = words
        .iter()
        .flat_map(|&word| std::iter::repeat_n(word, clusters))
        .collect();
    let kernel = table_load().expect("a kernel");
    let mut arguments = Arguments {
        inputs: vec![stream],
        ..Arguments::default()
    };
    execute(&kernel, clusters, &mut arguments, &mut scratchpads).expect("a run");
    scratchpads
}

fn bytes(count: usize, seed: u32) -> Vec<[u8; 16]> {
    let mut state = seed;
    (0..count)
        .map(|_| {
            std::array::from_fn(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
        })
        .collect()
}

fn stream_of(blocks: &[[u8; 16]]) -> Vec<u32> {
    blocks.iter().flat_map(words_of).collect()
}

#[test]
fn the_table_holds_the_s_box_of_fips_197() {
    // FIPS 197, figure 7: S(0x53) = 0xed, S(0x00) = 0x63, S(0xff) = 0x16.
    for (byte, s) in [(0x53, 0xed), (0x00, 0x63), (0xff, 0x16)] {
        let word = table()[byte];
        assert_eq!((word >> 8 & 0xff, word >> 16 & 0xff), (s, s));
    }
}

#[test]
fn keys_expand_as_in_fips_197_appendix_a1() {
    let key = [
        0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f,
        0x3c,
    ];
    for clusters in CLUSTERS {
        let mut scratchpads = with_table(clusters);
        let keys = stream_of(&vec![key; clusters]);
        let sub_keys = run(key_expansion, clusters, keys, vec![], &mut scratchpads);
        assert_eq!(sub_keys.len(), clusters * SUB_KEY_WORDS as usize);
        // w[4] and w[43] as printed there, in the last cluster.
        assert_eq!(
            sub_keys[4 * (2 * clusters - 1)],
            0xa0fa_fe17_u32.swap_bytes()
        );
        assert_eq!(sub_keys[sub_keys.len() - 1], 0xb663_0ca6_u32.swap_bytes());
    }
}

#[test]
fn dual_expansion_gives_the_same_sub_keys() {
    let keys = bytes(16, 7);
    let mut scratchpads = with_table(8);
    let both = run(
        key_expansion_dual,
        8,
        stream_of(&keys),
        vec![],
        &mut scratchpads,
    );
    for (half, keys) in keys.chunks(8).enumerate() {
        let one = run(key_expansion, 8, stream_of(keys), vec![], &mut scratchpads);
        for round in 0..11 {
            let from = 4 * 8 * (2 * round + half);
            assert_eq!(both[from..from + 32], one[32 * round..32 * round + 32]);
        }
    }
}

#[test]
fn the_second_set_of_sub_keys_is_found_by_its_offset() {
    let keys = bytes(16, 9);
    let text = stream_of(&bytes(8, 1));
    let encrypt = |scratchpads: &mut Scratchpads, scalars: Vec<u32>| {
        let state = run(core, 8, text.clone(), scalars.clone(), scratchpads);
        run(final_round, 8, state, scalars, scratchpads)
    };
    let mut dual = with_table(8);
    run(key_expansion_dual, 8, stream_of(&keys), vec![], &mut dual);
    let mut single = with_table(8);
    run(key_expansion, 8, stream_of(&keys[8..]), vec![], &mut single);
    assert_eq!(
        encrypt(&mut dual, vec![3, SUB_KEY_WORDS]),
        encrypt(&mut single, vec![3, 0])
    );
}

#[test]
fn blocks_are_encrypted_as_by_another_implementation() {
    for (cores, rounds, blocks) in [
        (core as fn() -> _, final_round as fn() -> _, 1),
        (core_dual, final_round_dual, 2),
    ] {
        for clusters in CLUSTERS {
            let mut scratchpads = with_table(clusters);
            let keys = bytes(clusters, 3);
            run(
                key_expansion,
                clusters,
                stream_of(&keys),
                vec![],
                &mut scratchpads,
            );
            let text = bytes(3 * blocks * clusters, 5);
            // A key agile run: every packet takes another cluster's key.
            for source in [0, clusters / 2, clusters - 1] {
                let scalars = vec![source as u32, 0];
                let state = run(
                    cores,
                    clusters,
                    stream_of(&text),
                    scalars.clone(),
                    &mut scratchpads,
                );
                let out = run(rounds, clusters, state, scalars, &mut scratchpads);
                let expected = encrypted(keys[source], &text);
                assert_eq!(out, stream_of(&expected), "{clusters} clusters");
            }
        }
    }
}

#[test]
fn the_example_of_fips_197_appendix_c1() {
    let key = std::array::from_fn(|index| index as u8);
    let text = std::array::from_fn(|index| index as u8 * 0x11);
    let mut scratchpads = with_table(1);
    run(
        key_expansion,
        1,
        words_of(&key).to_vec(),
        vec![],
        &mut scratchpads,
    );
    let state = run(
        core,
        1,
        words_of(&text).to_vec(),
        vec![0, 0],
        &mut scratchpads,
    );
    let out = run(final_round, 1, state, vec![0, 0], &mut scratchpads);
    let expected = [0x69c4_e0d8, 0x6a7b_0430, 0xd8cd_b780, 0x70b4_c55a];
    assert_eq!(out, expected.map(u32::swap_bytes));
}

/// NIST CAVP, AESAVS known answers `ECBGFSbox128` and `ECBKeySbox128`: key,
/// plain text, cipher text.
const CAVP: [[u128; 3]; 14] = [
    [
        0,
        0xf34481ec3cc627bacd5dc3fb08f273e6,
        0x0336763e966d92595a567cc9ce537f5e,
    ],
    [
        0,
        0x9798c4640bad75c7c3227db910174e72,
        0xa9a1631bf4996954ebc093957b234589,
    ],
    [
        0,
        0x96ab5c2ff612d9dfaae8c31f30c42168,
        0xff4f8391a6a40ca5b25d23bedd44a597,
    ],
    [
        0,
        0x6a118a874519e64e9963798a503f1d35,
        0xdc43be40be0e53712f7e2bf5ca707209,
    ],
    [
        0,
        0xcb9fceec81286ca3e989bd979b0cb284,
        0x92beedab1895a94faa69b632e5cc47ce,
    ],
    [
        0,
        0xb26aeb1874e47ca8358ff22378f09144,
        0x459264f4798f6a78bacb89c15ed3d601,
    ],
    [
        0,
        0x58c8e00b2631686d54eab84b91f0aca1,
        0x08a4e2efec8a8e3312ca7460b9040bbf,
    ],
    [
        0x10a58869d74be5a374cf867cfb473859,
        0,
        0x6d251e6944b051e04eaa6fb4dbf78465,
    ],
    [
        0xcaea65cdbb75e9169ecd22ebe6e54675,
        0,
        0x6e29201190152df4ee058139def610bb,
    ],
    [
        0xa2e2fa9baf7d20822ca9f0542f764a41,
        0,
        0xc3b44b95d9d2f25670eee9a0de099fa3,
    ],
    [
        0xb6364ac4e1de1e285eaf144a2415f7a0,
        0,
        0x5d9b05578fc944b3cf1ccf0e746cd581,
    ],
    [
        0x64cf9c7abc50b888af65f49d521944b2,
        0,
        0xf7efc89d5dba578104016ce5ad659c05,
    ],
    [
        0x47d6742eefcc0465dc96355e851b64d9,
        0,
        0x0306194f666d183624aa230a8b264ae7,
    ],
    [
        0x3eb39790678c56bee34bbcdeccf6cdb5,
        0,
        0x858075d536d79ccee571f7d7204b1f67,
    ],
];

#[test]
fn known_answers_of_cavp() {
    let words = |block: u128| words_of(&block.to_be_bytes()).to_vec();
    let mut scratchpads = with_table(1);
    for [key, text, expected] in CAVP {
        run(key_expansion, 1, words(key), vec![], &mut scratchpads);
        let state = run(core, 1, words(text), vec![0, 0], &mut scratchpads);
        let out = run(final_round, 1, state, vec![0, 0], &mut scratchpads);
        assert_eq!(out, words(expected), "{key:032x} {text:032x}");
    }
}

fn encrypted(key: [u8; 16], text: &[[u8; 16]]) -> Vec<[u8; 16]> {
    let cipher = Aes128::new(&key.into());
    text.iter()
        .map(|block| {
            let mut block = (*block).into();
            cipher.encrypt_block(&mut block);
            block.into()
        })
        .collect()
}

#[test]
fn each_cluster_has_a_packet_under_its_own_key() {
    for clusters in CLUSTERS {
        let mut scratchpads = with_table(clusters);
        let keys = bytes(clusters, 3);
        let keys_stream = stream_of(&keys);
        run(
            key_expansion,
            clusters,
            keys_stream,
            vec![],
            &mut scratchpads,
        );
        // Block n of a packet is record n of its cluster.
        let text = bytes(3 * clusters, 11);
        let state = run(
            core_apart,
            clusters,
            stream_of(&text),
            vec![],
            &mut scratchpads,
        );
        let out = run(final_round_apart, clusters, state, vec![], &mut scratchpads);
        let expected: Vec<[u8; 16]> = text
            .iter()
            .enumerate()
            .flat_map(|(place, &block)| encrypted(keys[place % clusters], &[block]))
            .collect();
        assert_eq!(out, stream_of(&expected), "{clusters} clusters");
    }
}

#[test]
fn two_packets_in_one_stream_have_their_own_keys() {
    for clusters in CLUSTERS {
        let mut scratchpads = with_table(clusters);
        let keys = bytes(2 * clusters, 3);
        let both = stream_of(&keys);
        run(key_expansion_dual, clusters, both, vec![], &mut scratchpads);
        let blocks = 3 * clusters;
        let text = bytes(blocks, 13);
        for boundary in [1, clusters, blocks / 2 + 1, blocks] {
            let source = clusters as u32 - 1;
            let scalars = vec![source, 0, 0, SUB_KEY_WORDS, boundary as u32];
            let given = stream_of(&text);
            let state = run(
                core_merged,
                clusters,
                given,
                scalars.clone(),
                &mut scratchpads,
            );
            let out = run(
                final_round_merged,
                clusters,
                state,
                scalars,
                &mut scratchpads,
            );
            let boundary = boundary.min(blocks);
            let mut expected = encrypted(keys[clusters - 1], &text[..boundary]);
            expected.extend(encrypted(keys[clusters], &text[boundary..]));
            assert_eq!(
                out,
                stream_of(&expected),
                "{clusters} clusters, {boundary} blocks"
            );
        }
    }
}
