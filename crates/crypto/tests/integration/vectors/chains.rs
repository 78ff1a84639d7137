//! NIST's Monte Carlo chains of CBC: a thousand steps, each of which takes what the
//! ones before it gave. Many chains advance together, so that lanes are full.

use weir_crypto::{Cipher, Descriptor, KeyId, KeyMaterial, Mac, Opener, OpeningKey, Suite, hazmat};
use weir_simd::tier;

use super::nist::{self, Record, SIZES};
use super::oracle;
use crate::support::laid::Laid;

const STEPS: usize = 1000;

/// Points of each chain that the excerpts keep.
const POINTS: usize = 10;

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

/// The packets of a step: the chains' blocks, with these tags.
fn lay_out(chains: &[CbcChain], tags: &[Vec<u8>]) -> Laid {
    let mut laid = Laid::default();
    for (chain, tag) in chains.iter().zip(tags) {
        laid.push(0, 0, false, [&[], &chain.iv, &chain.block, tag]);
    }
    laid
}

#[test]
fn chains_of_cbc_encryption_end_as_published() {
    let mut chains = cbc_chains("[ENCRYPT]", "PLAINTEXT", "CIPHERTEXT");
    let mut sealer = hazmat::sealer(tier());
    let keys: Vec<KeyId> = chains
        .iter()
        .map(|chain| {
            let key = hazmat::sealing_key(&chain.material, tier());
            sealer.add(key.expect("a sealing key"))
        })
        .collect();
    let tags = vec![vec![0; 12]; chains.len()];
    for _ in 0..STEPS {
        let mut laid = lay_out(&chains, &tags);
        let good = laid.seal(&mut sealer, |batch, index, packet| {
            let key = keys[index];
            let packet = Descriptor { key, ..packet };
            hazmat::push_with_iv(batch, packet, 0, &chains[index].iv).expect("a block");
        });
        assert!(good.into_iter().all(|good| good));
        for (index, chain) in chains.iter_mut().enumerate() {
            chain.block.copy_from_slice(laid.payload(index));
            chain.iv.copy_from_slice(&chain.block);
            chain.step();
        }
    }
    chains.iter().for_each(CbcChain::expect_ended);
}

#[test]
fn chains_of_cbc_decryption_end_as_published() {
    let mut chains = cbc_chains("[DECRYPT]", "CIPHERTEXT", "PLAINTEXT");
    let mut opener = Opener::new();
    let keys: Vec<KeyId> = chains
        .iter()
        .map(|chain| opener.add(OpeningKey::new(&chain.material).expect("an opening key")))
        .collect();
    for _ in 0..STEPS {
        let tags: Vec<Vec<u8>> = chains
            .iter()
            .map(|chain| oracle::tag(MAC, &chain.integrity_key, &[&chain.iv, &chain.block]))
            .collect();
        let mut laid = lay_out(&chains, &tags);
        let good = laid.open(&mut opener, |batch, index, packet| {
            let key = keys[index];
            batch.push(Descriptor { key, ..packet }).expect("a block");
        });
        assert!(good.into_iter().all(|good| good));
        for (index, chain) in chains.iter_mut().enumerate() {
            chain.iv.copy_from_slice(&chain.block);
            chain.block.copy_from_slice(laid.payload(index));
            chain.step();
        }
    }
    chains.iter().for_each(CbcChain::expect_ended);
}
