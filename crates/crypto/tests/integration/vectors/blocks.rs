//! Single blocks: NIST's vectors of one block under an IV of zeros, which are
//! the same for CBC and ECB.

use weir_crypto::JobFault;
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
            let expand = |name: &str, shuffle: &mut Shuffle| -> Vec<Vec<u8>> {
                let texts = batch.iter().map(|&i| vectors[i].1.hex(name));
                texts
                    .map(|text| text.repeat(1 + shuffle.below(5)))
                    .collect()
            };
            let keys: Vec<EcbKey> = batch
                .iter()
                .map(|&i| EcbKey::new(vectors[i].0, tier, &vectors[i].1.hex("KEY")).expect("a key"))
                .collect();
            let mut texts = expand("PLAINTEXT", &mut shuffle);
            let before = texts.clone();
            ecb_encrypt(tier, &mut jobs(&keys, &mut texts)).expect("whole blocks");
            for (text, &i) in texts.iter().zip(&batch) {
                let sealed = vectors[i].1.hex("CIPHERTEXT");
                let all = text.chunks(16).all(|block| block == sealed);
                assert!(all, "{tier}: {}", vectors[i].1.source);
            }
            ecb_decrypt(tier, &mut jobs(&keys, &mut texts)).expect("whole blocks");
            assert!(texts == before, "{tier}");
        }
    });
}

fn jobs<'a>(keys: &'a [EcbKey], texts: &'a mut [Vec<u8>]) -> Vec<EcbJob<'a>> {
    let packets = keys.iter().zip(texts);
    packets.map(|(key, text)| EcbJob { key, text }).collect()
}

#[test]
fn partial_blocks_and_wrong_keys_are_refused_before_anything_is_written() {
    let (_, size) = SIZES[0];
    for_each_tier(|tier| {
        assert!(EcbKey::new(size, tier, &[0; 24]).is_err());
        let keys = [(); 2].map(|()| EcbKey::new(size, tier, &[1; 16]).expect("a key"));
        let mut texts = [vec![2; 32], vec![3; 17]];
        let before = texts.clone();
        let error = ecb_encrypt(tier, &mut jobs(&keys, &mut texts)).expect_err("17 bytes");
        let fault = JobFault::PartialBlock {
            block_bytes: 16,
            given_bytes: 17,
        };
        assert_eq!((error.job, error.fault), (1, fault));
        assert_eq!(texts, before);
        assert_eq!(format!("{:?}", keys[0]), "EcbKey { size: Aes128, .. }");
    });
}
