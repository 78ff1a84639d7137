//! What is measured, and the packets it is measured on.

use std::time::Instant;

use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::aes::Aes128Enc;
use aes_gcm::{AesGcm, aead::consts::U12};
use weir_crypto::hazmat::{self, RawSealJob, RawSealingKey};
use weir_crypto::{
    Aead, AesKeySize, KeyMaterial, KeyPolicy, OneTimeKeys, OpenJob, OpeningKey, Place, Suite, open,
    seal_once,
};

/// Packets of a batch.
const BATCH: usize = 256;

/// Keys of `many`.
const KEYS: usize = 4096;

/// How keys change from packet to packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    Few,
    Many,
    New,
}

/// One way to process packets.
pub struct Subject {
    pub name: &'static str,
    work: Work,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Seal(KeyPolicy),
    Open(KeyPolicy),
    SealOnce,
    Peer,
    PeerNew,
}

/// Every subject; the peer comes last.
pub const SUBJECTS: &[Subject] = &[
    Subject {
        name: "weir precomputed",
        work: Work::Seal(KeyPolicy::Precomputed),
    },
    Subject {
        name: "weir precomputed open",
        work: Work::Open(KeyPolicy::Precomputed),
    },
    Subject {
        name: "weir compact",
        work: Work::Seal(KeyPolicy::Compact),
    },
    Subject {
        name: "weir expanded ahead",
        work: Work::Seal(KeyPolicy::ExpandedAhead),
    },
    Subject {
        name: "weir on the fly",
        work: Work::Seal(KeyPolicy::OnTheFly),
    },
    Subject {
        name: "weir one-time",
        work: Work::SealOnce,
    },
    Subject {
        name: "rustcrypto",
        work: Work::Peer,
    },
    Subject {
        name: "rustcrypto",
        work: Work::PeerNew,
    },
];

impl Subject {
    pub fn takes(&self, keys: Keys) -> bool {
        matches!(self.work, Work::SealOnce | Work::PeerNew) == (keys == Keys::New)
    }
}

type Peer = AesGcm<Aes128Enc, U12>;

/// Packets of one length, and keys in every form.
pub struct Packets {
    raw_keys: Vec<[u8; 20]>,
    sealing: Vec<(KeyPolicy, Vec<RawSealingKey>)>,
    opening: Vec<OpeningKey>,
    peers: Vec<Peer>,
    order: Vec<usize>,
    texts: Vec<Vec<u8>>,
    tags: Vec<[u8; 16]>,
    /// The same packets in one buffer.
    row: Vec<u8>,
    places: Vec<Place>,
    one_time: OneTimeKeys,
    /// Where in `order` the next batch begins.
    next: usize,
    batches: usize,
}

const SUITE: Suite = Suite::Aead(Aead::AesGcm16(AesKeySize::Aes128));
const ASSOCIATED: [u8; 8] = [3; 8];
const IV: [u8; 8] = [5; 8];

impl Packets {
    pub fn new(text_bytes: usize) -> Packets {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) as usize
        };
        let raw_keys: Vec<[u8; 20]> = (0..KEYS)
            .map(|_| std::array::from_fn(|_| next() as u8))
            .collect();
        let materials: Vec<KeyMaterial> = raw_keys
            .iter()
            .map(|key| KeyMaterial::new(SUITE, key, &[]).expect("a key"))
            .collect();
        let policies = [
            KeyPolicy::Precomputed,
            KeyPolicy::Compact,
            KeyPolicy::ExpandedAhead,
            KeyPolicy::OnTheFly,
        ];
        let sealing = policies.map(|policy| {
            let keys = materials.iter().map(|material| {
                RawSealingKey::with_policy(material, weir_simd::tier(), policy).expect("a key")
            });
            (policy, keys.collect())
        });
        let mut order: Vec<usize> = (0..KEYS).collect();
        for at in (1..KEYS).rev() {
            order.swap(at, next() % (at + 1));
        }
        let packet_bytes = ASSOCIATED.len() + IV.len() + text_bytes + 16;
        let row_bytes = packet_bytes.next_multiple_of(64);
        Packets {
            sealing: sealing.into(),
            opening: materials
                .iter()
                .map(|material| OpeningKey::new(material).expect("a key"))
                .collect(),
            peers: raw_keys
                .iter()
                .map(|key| Peer::new_from_slice(&key[..16]).expect("a key"))
                .collect(),
            raw_keys,
            order,
            texts: vec![vec![9; text_bytes]; BATCH],
            tags: vec![[0; 16]; BATCH],
            row: vec![9; BATCH * row_bytes],
            places: (0..BATCH)
                .map(|at| Place {
                    offset: (at * row_bytes) as u32,
                    prefix_bytes: ASSOCIATED.len() as u16,
                    gap_bytes: 0,
                    text_bytes: text_bytes as u32,
                })
                .collect(),
            one_time: OneTimeKeys::new(AesKeySize::Aes128).expect("an engine"),
            next: 0,
            // Some ten to twenty thousand blocks: long enough for the clock,
            // short enough to fall between two interruptions.
            batches: (64 * 1024 / BATCH / (text_bytes / 16 + 4)).clamp(1, 16),
        }
    }

    /// Nanoseconds per packet of one sample.
    pub fn sample(&mut self, subject: &Subject, keys: Keys) -> f64 {
        let mut key_of = [0; BATCH];
        let mut elapsed = 0.0;
        for _ in 0..self.batches {
            for (at, key) in key_of.iter_mut().enumerate() {
                *key = match keys {
                    Keys::Few => at % 16,
                    Keys::Many | Keys::New => self.order[self.next + at],
                };
            }
            self.next = (self.next + BATCH) % KEYS;
            if let Work::Open(_) = subject.work {
                // Packets that verify: sealed before the clock starts.
                self.batch(Work::Seal(KeyPolicy::Precomputed), &key_of);
            }
            let start = Instant::now();
            self.batch(subject.work, &key_of);
            elapsed += start.elapsed().as_nanos() as f64;
        }
        elapsed / (self.batches * BATCH) as f64
    }

    fn batch(&mut self, work: Work, key_of: &[usize; BATCH]) {
        let packets = self.texts.iter_mut().zip(&mut self.tags).zip(key_of);
        match work {
            Work::Seal(policy) => {
                let Some((_, keys)) = self.sealing.iter().find(|(p, _)| *p == policy) else {
                    return;
                };
                let mut jobs: Vec<RawSealJob<'_>> = packets
                    .map(|((text, tag), key)| RawSealJob {
                        key: &keys[*key],
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
            Work::Open(_) => {
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
            Work::SealOnce => {
                for key in key_of {
                    let key = &self.raw_keys[*key];
                    self.one_time.push(key).expect("20 bytes");
                }
                seal_once(&mut self.one_time, &mut self.row, &self.places).expect("a row");
            }
            Work::Peer => {
                for ((text, tag), key) in packets {
                    let salt: [u8; 4] = self.raw_keys[*key][16..].try_into().unwrap_or_default();
                    peer(&self.peers[*key], salt, text, tag);
                }
            }
            Work::PeerNew => {
                for ((text, tag), key) in packets {
                    let (key, salt) = self.raw_keys[*key].split_at(16);
                    let salt: [u8; 4] = salt.try_into().unwrap_or_default();
                    let key = Peer::new_from_slice(key).expect("a key");
                    peer(&key, salt, text, tag);
                }
            }
        }
    }
}

fn peer(key: &Peer, salt: [u8; 4], text: &mut [u8], tag: &mut [u8; 16]) {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&salt);
    nonce[4..].copy_from_slice(&IV);
    let computed = key
        .encrypt_inout_detached((&nonce).into(), &ASSOCIATED, text.into())
        .expect("a short packet");
    tag.copy_from_slice(&computed);
}
