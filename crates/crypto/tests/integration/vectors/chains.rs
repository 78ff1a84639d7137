//! NIST's Monte Carlo chains: a thousand steps, each of which takes what the
//! ones before it gave. Many chains run in step, so that lanes are full.

use weir_crypto::hazmat::{self, RawSealJob, RawSealingKey};
use weir_crypto::{
    Cipher, Digest, DigestJob, KeyMaterial, KeyPolicy, Mac, OpenJob, OpeningKey, Suite, open,
};
use weir_simd::{Tier, for_each_tier, tier};

use super::digests::HASHES;
use super::nist::{self, Record, SIZES};
use super::oracle;

const STEPS: usize = 1000;

/// Points of each chain that the excerpts keep.
const POINTS: usize = 10;

/// SHAVS section 6.4: each message is the last three digests. One chain runs
/// in all lanes of the widest kernel, which must agree.
#[test]
fn chains_of_digests_end_as_published_in_all_lanes() {
    const LANES: usize = 16;
    for (name, hash) in HASHES {
        let mut records = nist::records(&format!("{name}Monte.rsp")).into_iter();
        let start = records.next().expect("a seed").hex("Seed");
        let points: Vec<Vec<u8>> = records.map(|record| record.hex("MD")).collect();
        assert_eq!(points.len(), POINTS, "{name}");
        for_each_tier(|tier| {
            // One lane tells as much as many of a kernel that has one.
            let lanes = if tier == Tier::Scalar { 1 } else { LANES };
            let mut seed = start.clone();
            for point in &points {
                seed = last_digest(hash, tier, &seed, lanes);
                assert_eq!(seed, *point, "{name} under {tier}");
            }
        });
    }
}

fn last_digest(hash: Digest, tier: Tier, seed: &[u8], lanes: usize) -> Vec<u8> {
    let bytes = seed.len();
    let mut messages = vec![seed.repeat(3); lanes];
    let mut digests = vec![vec![0; bytes]; lanes];
    for _ in 0..STEPS {
        let mut jobs: Vec<DigestJob<'_>> = messages
            .iter()
            .zip(&mut digests)
            .map(|(message, digest)| DigestJob { message, digest })
            .collect();
        hash.hash(tier, &mut jobs).expect("no digest is too long");
        for (message, digest) in messages.iter_mut().zip(&digests) {
            message.copy_within(bytes.., 0);
            message[2 * bytes..].copy_from_slice(digest);
        }
    }
    assert!(
        digests.iter().all(|digest| *digest == digests[0]),
        "{hash:?} under {tier}: lanes differ"
    );
    digests.swap_remove(0)
}

/// One chain of CBC, of packets that are one block each.
struct CbcChain {
    source: String,
    material: KeyMaterial,
    integrity_key: Vec<u8>,
    iv: Vec<u8>,
    /// This step's input; its output once the step is done.
    block: Vec<u8>,
    /// What the step before gave.
    before: Vec<u8>,
    last: Vec<u8>,
}

const MAC: Mac = Mac::HmacSha1_96;

/// The chains of all key sizes, from every point of them: each record states
/// what it starts from.
fn cbc_chains(direction: &str, input: &str, output: &str) -> Vec<CbcChain> {
    let mut chains = Vec::new();
    for (bits, size) in SIZES {
        let suite = Suite::EncryptThenMac(Cipher::AesCbc(size), MAC);
        let integrity_key = vec![bits as u8; suite.integrity_key_bytes()];
        let chain = |record: Record| CbcChain {
            material: KeyMaterial::new(suite, &record.hex("KEY"), &integrity_key)
                .expect("lengths are the suite's"),
            integrity_key: integrity_key.clone(),
            iv: record.hex("IV"),
            block: record.hex(input),
            before: record.hex("IV"),
            last: record.hex(output),
            source: record.source,
        };
        let records = nist::records(&format!("CBCMCT{bits}.rsp")).into_iter();
        chains.extend(
            records
                .filter(|record| record.is_marked(direction))
                .map(chain),
        );
    }
    assert_eq!(chains.len(), SIZES.len() * POINTS);
    chains
}

impl CbcChain {
    /// The output of this step is kept, that of the one before is the next
    /// input (AESAVS section 6.4.2).
    fn step(&mut self) {
        std::mem::swap(&mut self.block, &mut self.before);
    }

    fn expect_ended(&self) {
        // Steps leave the last output where the next looks for the one before.
        assert_eq!(self.before, self.last, "{}", self.source);
    }
}

#[test]
fn chains_of_cbc_encryption_end_as_published() {
    let mut chains = cbc_chains("[ENCRYPT]", "PLAINTEXT", "CIPHERTEXT");
    let keys: Vec<RawSealingKey> = chains
        .iter()
        .map(|chain| {
            RawSealingKey::with_policy(&chain.material, tier(), KeyPolicy::Precomputed)
                .expect("a raw key")
        })
        .collect();
    for _ in 0..STEPS {
        let mut tags = vec![[0; 12]; chains.len()];
        let mut jobs: Vec<RawSealJob<'_>> = keys
            .iter()
            .zip(&mut chains)
            .zip(&mut tags)
            .map(|((key, chain), tag)| RawSealJob {
                key,
                prefix: &[],
                iv: &chain.iv,
                text: &mut chain.block,
                suffix: &[],
                tag,
                sealed: false,
            })
            .collect();
        hazmat::seal(tier(), &mut jobs).expect("a well-formed batch");
        for chain in &mut chains {
            chain.iv.copy_from_slice(&chain.block);
            chain.step();
        }
    }
    chains.iter().for_each(CbcChain::expect_ended);
}

#[test]
fn chains_of_cbc_decryption_end_as_published() {
    let mut chains = cbc_chains("[DECRYPT]", "CIPHERTEXT", "PLAINTEXT");
    let keys: Vec<OpeningKey> = chains
        .iter()
        .map(|chain| OpeningKey::new(&chain.material).expect("an opening key"))
        .collect();
    for _ in 0..STEPS {
        let tags: Vec<Vec<u8>> = chains
            .iter()
            .map(|chain| oracle::tag(MAC, &chain.integrity_key, &[&chain.iv, &chain.block]))
            .collect();
        let next_ivs: Vec<Vec<u8>> = chains.iter().map(|chain| chain.block.clone()).collect();
        let mut jobs: Vec<OpenJob<'_>> = keys
            .iter()
            .zip(&mut chains)
            .zip(&tags)
            .map(|((key, chain), tag)| OpenJob {
                key,
                prefix: &[],
                iv: &chain.iv,
                text: &mut chain.block,
                suffix: &[],
                tag,
                verified: false,
            })
            .collect();
        open(&mut jobs);
        assert!(jobs.iter().all(|job| job.verified));
        for (chain, next_iv) in chains.iter_mut().zip(next_ivs) {
            chain.iv = next_iv;
            chain.step();
        }
    }
    chains.iter().for_each(CbcChain::expect_ended);
}
