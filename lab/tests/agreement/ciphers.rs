//! AES beside the counter blocks of AES-GCM in `weir-crypto`, MMH beside `weir-hash`.
//! (OCB is with the kernels, where its blocks of the host are.)

use weir_crypto::{Descriptor, KeyMaterial, Layout, NonceRule, Sealer, SealingKey, Suite};
use weir_hash::multilinear::Mmh32;
use weir_lab::stream_processor::applications::aes::programs::{Width, Workload, encrypt};
use weir_lab::stream_processor::applications::aes::words_of;
use weir_lab::stream_processor::applications::example_words;
use weir_lab::stream_processor::applications::mmh::programs::authenticate;
use weir_lab::stream_processor::applications::mmh::{BLOCK_WORDS, KEY_WORDS, TAGS};

const BLOCKS: usize = 192;

/// A packet of zeros that AES-128-GCM has encrypted, without its tag: the encrypted
/// counter blocks from 2 on (NIST SP 800-38D, 7.1).
fn key_stream(key: &[u8; 16], nonce: [u8; 12]) -> Vec<u8> {
    let suite = Suite::parse("aes-128-gcm-16").expect("a suite");
    let material = KeyMaterial::with_nonces(suite, key, NonceRule::Xor(nonce)).expect("a key");
    let mut sealer = Sealer::new();
    let key = sealer.add(SealingKey::new(material, 0..1).expect("a key"));
    let mut buffer = vec![0; 16 * BLOCKS + suite.tag_bytes()];
    let mut batch = sealer.batch(&mut buffer);
    let layout = Layout {
        payload_bytes: 16 * BLOCKS as u32,
        ..Layout::default()
    };
    let descriptor = Descriptor {
        key,
        offset: 0,
        layout,
        context: 0,
    };
    batch.push(descriptor).expect("a packet");
    assert!(batch.run().all_good());
    buffer.truncate(16 * BLOCKS);
    buffer
}

#[test]
fn modelled_aes_is_that_of_aes_gcm() {
    let bytes = |first: usize| -> Vec<u8> {
        let words = example_words(first + 4)[first..].to_vec();
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    };
    let keys: Vec<[u8; 16]> = (0..3)
        .map(|n| bytes(4 * n).try_into().expect("16 bytes"))
        .collect();
    let nonce: [u8; 12] = bytes(40)[..12].try_into().expect("12 bytes");
    let counters: Vec<u32> = (2..2 + BLOCKS as u32)
        .flat_map(|counter| {
            let mut block = [0; 16];
            block[..12].copy_from_slice(&nonce);
            block[12..].copy_from_slice(&counter.to_be_bytes());
            words_of(&block)
        })
        .collect();
    let key_words: Vec<u32> = keys.iter().flat_map(words_of).collect();
    let expected: Vec<u8> = keys.iter().flat_map(|key| key_stream(key, nonce)).collect();
    let text = counters.repeat(keys.len());
    for clusters in [1, 8, 32] {
        for width in [Width::Single, Width::Dual] {
            let workload = Workload::fixed(keys.len(), BLOCKS, true, width);
            let made = encrypt(clusters, &workload, &key_words, &text).expect("a program");
            let cipher = made.cipher_text;
            let words = &made.program.memory()[cipher.start..cipher.start + cipher.words];
            let found: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(found, expected, "{clusters} clusters, {width:?}");
        }
    }
}

#[test]
fn modelled_mmh_is_that_of_the_hash_families() {
    let key = example_words(KEY_WORDS);
    let packets = example_words(9 * BLOCK_WORDS);
    let family = Mmh32::<TAGS>::new(&key);
    let expected: Vec<[u32; TAGS]> = packets
        .chunks(BLOCK_WORDS)
        .map(|packet| family.hash(packet).expect("a block"))
        .collect();
    for clusters in [1, 8, 32] {
        let made = authenticate(clusters, &packets, 1, &key, &key).expect("a program");
        assert_eq!(made.tags(), expected, "{clusters} clusters");
    }
}
