//! Single blocks: NIST's vectors of one block under an IV of zeros, which are
//! the same for CBC and ECB.

use weir_crypto::hazmat::{EcbJob, EcbKey, ecb_decrypt, ecb_encrypt};
use weir_simd::for_each_tier;

use super::nist::{Record, SIZES, records};
use super::shuffle::Shuffle;

#[test]
fn nist_blocks_encrypt_and_decrypt_as_published_many_keys_at_once() {
    let mut vectors = Vec::new();
    for (bits, size) in SIZES {
        for name in ["GFSbox", "KeySbox", "VarKey", "VarTxt"] {
            let file = records(&format!("CBC{name}{bits}.rsp"));
            vectors.extend(file.into_iter().map(|record| (size, record)));
        }
    }
    let zeros = |record: &Record| record.hex("IV").iter().all(|&byte| byte == 0);
    assert!(vectors.len() > 600 && vectors.iter().all(|(_, record)| zeros(record)));
    for_each_tier(|tier| {
        let mut shuffle = Shuffle::new(5);
        for batch in shuffle.batches(vectors.len()) {
            // Each block one to five times: it is the same everywhere.
            let mut blocks: Vec<Vec<[u8; 16]>> = batch
                .iter()
                .map(|&i| {
                    let block = vectors[i].1.hex("PLAINTEXT");
                    vec![block.try_into().expect("a block"); 1 + shuffle.below(5)]
                })
                .collect();
            let keys: Vec<EcbKey> = batch
                .iter()
                .map(|&i| EcbKey::new(vectors[i].0, tier, &vectors[i].1.hex("KEY")).expect("a key"))
                .collect();
            let before = blocks.clone();
            ecb_encrypt(tier, &mut jobs(&keys, &mut blocks));
            for (blocks, &i) in blocks.iter().zip(&batch) {
                let sealed = vectors[i].1.hex("CIPHERTEXT");
                let all = blocks.iter().all(|block| *block == sealed[..]);
                assert!(all, "{tier}: {}", vectors[i].1.source);
            }
            ecb_decrypt(tier, &mut jobs(&keys, &mut blocks));
            assert!(blocks == before, "{tier}");
        }
    });
}

fn jobs<'a>(keys: &'a [EcbKey], blocks: &'a mut [Vec<[u8; 16]>]) -> Vec<EcbJob<'a>> {
    let jobs = keys.iter().zip(blocks);
    jobs.map(|(key, blocks)| EcbJob { key, blocks }).collect()
}

#[test]
fn keys_of_wrong_lengths_are_refused() {
    let (_, size) = SIZES[0];
    for_each_tier(|tier| {
        assert!(EcbKey::new(size, tier, &[0; 24]).is_err());
        let key = EcbKey::new(size, tier, &[1; 16]).expect("a key");
        assert_eq!(format!("{key:?}"), "EcbKey { size: Aes128, .. }");
    });
}
