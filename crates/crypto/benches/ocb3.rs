//! AES-OCB3 by the batch beside a peer that takes packets one by one, in one
//! run, and how near it comes to what the processor's AES unit allows.
//!
//! Rows: bytes of text; `64` keys in turn, or `4096` keys in random order. All
//! keys are expanded before the clock starts, those of the peer too. Subjects:
//! Weir, sealing and opening, and RustCrypto's `ocb3`. Weir's time includes
//! building the list of jobs. Every figure is the median of the rounds, with
//! quartiles; rounds of all subjects of a row are interleaved.
//!
//! The peer is many times faster where it is built for this processor, with
//! `RUSTFLAGS="-C target-cpu=native"`: only then do its AES instructions come
//! inline. A comparison without that says little; `make peers` makes it with.
//!
//! `bound` is the time that the packet's AES rounds need at the rate measured
//! in this run: of its text, of one block of associated data, of the nonce and
//! of the tag.

#[path = "aead/bound.rs"]
mod bound;

use std::time::Instant;

use aes::Aes128;
use bound::Bound;
use ocb3::aead::consts::U12;
use ocb3::aead::{AeadInOut, KeyInit};
use weir_crypto::hazmat::{self, RawSealJob, RawSealingKey};
use weir_crypto::{Aead, AesKeySize, KeyMaterial, OpenJob, OpeningKey, Suite, open};

/// Rounds of each row.
const ROUNDS: usize = 41;

/// Packets of a batch.
const BATCH: usize = 256;

/// Keys, of which a row may use fewer.
const KEYS: usize = 4096;

const SUITE: Suite = Suite::Aead(Aead::AesOcb3(AesKeySize::Aes128));
const ASSOCIATED: [u8; 8] = [3; 8];
const IV: [u8; 8] = [5; 8];

type Peer = ocb3::Ocb3<Aes128, U12>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Seal,
    Open,
    Peer,
}

/// Every subject; the peer comes last.
const SUBJECTS: [(&str, Work); 3] = [
    ("weir", Work::Seal),
    ("weir open", Work::Open),
    ("rustcrypto", Work::Peer),
];

fn main() {
    // Cargo passes `--bench`; anything else selects rows by name.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let tier = weir_simd::tier();
    let bound = Bound::measure(tier);
    println!("tier {tier}; {bound}");
    for keys in [64, KEYS] {
        for text_bytes in [64, 256, 576, 1024, 1420, 9000] {
            let name = format!("{keys}/{text_bytes}");
            if wanted.is_empty() || wanted.contains(&name) {
                row(keys, text_bytes, &bound);
            }
        }
    }
}

fn row(keys: usize, text_bytes: usize, bound: &Bound) {
    let mut packets = Packets::new(keys, text_bytes);
    let mut samples = SUBJECTS.map(|_| Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        for ((_, work), samples) in SUBJECTS.into_iter().zip(&mut samples) {
            samples.push(packets.sample(work));
        }
    }
    let bound_ns = bound.cipher_ns(text_bytes.div_ceil(16) + 3);
    for samples in &mut samples {
        samples.sort_by(f64::total_cmp);
    }
    let peer = samples[SUBJECTS.len() - 1][ROUNDS / 2];
    for ((name, _), samples) in SUBJECTS.into_iter().zip(&samples) {
        let median = samples[ROUNDS / 2];
        println!(
            "{text_bytes:>5} B  {keys:<5} {name:<11} {median:>8.1} ns  ({:.1} to {:.1})  {:>6.2} cycles/B  bound {:>3.0} %  peer/this {:>5.2}",
            samples[ROUNDS / 4],
            samples[3 * ROUNDS / 4],
            median * bound.ghz / text_bytes as f64,
            100.0 * bound_ns / median,
            peer / median,
        );
    }
}

/// Packets of one length, and keys in every form.
struct Packets {
    sealing: Vec<RawSealingKey>,
    opening: Vec<OpeningKey>,
    peers: Vec<Peer>,
    salts: Vec<[u8; 4]>,
    /// Keys in the order of their packets.
    order: Vec<usize>,
    texts: Vec<Vec<u8>>,
    tags: Vec<[u8; 16]>,
    /// Where in `order` the next batch begins.
    next: usize,
    batches: usize,
}

impl Packets {
    fn new(keys: usize, text_bytes: usize) -> Packets {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) as usize
        };
        let raw_keys: Vec<[u8; 20]> = (0..keys)
            .map(|_| std::array::from_fn(|_| next() as u8))
            .collect();
        let materials: Vec<KeyMaterial> = raw_keys
            .iter()
            .map(|key| KeyMaterial::new(SUITE, key, &[]).expect("a key"))
            .collect();
        let mut order: Vec<usize> = (0..KEYS).map(|packet| packet % keys).collect();
        if keys == KEYS {
            for at in (1..KEYS).rev() {
                order.swap(at, next() % (at + 1));
            }
        }
        Packets {
            sealing: materials
                .iter()
                .map(|material| RawSealingKey::new(material).expect("a key"))
                .collect(),
            opening: materials
                .iter()
                .map(|material| OpeningKey::new(material).expect("a key"))
                .collect(),
            peers: raw_keys
                .iter()
                .map(|key| Peer::new_from_slice(&key[..16]).expect("a key"))
                .collect(),
            salts: raw_keys
                .iter()
                .map(|key| *key.last_chunk().expect("a salt"))
                .collect(),
            order,
            texts: vec![vec![9; text_bytes]; BATCH],
            tags: vec![[0; 16]; BATCH],
            next: 0,
            // Some ten to twenty thousand blocks: long enough for the clock,
            // short enough to fall between two interruptions.
            batches: (64 * 1024 / BATCH / (text_bytes / 16 + 4)).clamp(1, 16),
        }
    }

    /// Nanoseconds per packet of one sample.
    fn sample(&mut self, work: Work) -> f64 {
        let mut elapsed = 0.0;
        for _ in 0..self.batches {
            if work == Work::Open {
                // Packets that verify: sealed before the clock starts.
                self.batch(Work::Seal);
            }
            let start = Instant::now();
            self.batch(work);
            elapsed += start.elapsed().as_nanos() as f64;
            self.next = (self.next + BATCH) % KEYS;
        }
        elapsed / (self.batches * BATCH) as f64
    }

    fn batch(&mut self, work: Work) {
        let key_of = &self.order[self.next..self.next + BATCH];
        let packets = self.texts.iter_mut().zip(&mut self.tags).zip(key_of);
        match work {
            Work::Seal => {
                let mut jobs: Vec<RawSealJob<'_>> = packets
                    .map(|((text, tag), key)| RawSealJob {
                        key: &self.sealing[*key],
                        prefix: &ASSOCIATED,
                        iv: &IV,
                        text,
                        suffix: &[],
                        tag,
                        sealed: false,
                    })
                    .collect();
                hazmat::seal(weir_simd::tier(), &mut jobs).expect("lengths are the suite's");
            }
            Work::Open => {
                let mut jobs: Vec<OpenJob<'_>> = packets
                    .map(|((text, tag), key)| OpenJob {
                        key: &self.opening[*key],
                        prefix: &ASSOCIATED,
                        iv: &IV,
                        text,
                        suffix: &[],
                        tag,
                        verified: false,
                    })
                    .collect();
                open(&mut jobs);
                assert!(jobs.iter().all(|job| job.verified));
            }
            Work::Peer => {
                for ((text, tag), key) in packets {
                    let mut nonce = [0; 12];
                    nonce[..4].copy_from_slice(&self.salts[*key]);
                    nonce[4..].copy_from_slice(&IV);
                    let computed = self.peers[*key]
                        .encrypt_inout_detached(
                            (&nonce).into(),
                            &ASSOCIATED,
                            text.as_mut_slice().into(),
                        )
                        .expect("a short packet");
                    tag.copy_from_slice(&computed);
                }
            }
        }
    }
}
