//! AES-OCB3 by the batch beside a peer that takes packets one by one, in one
//! run, and how near it comes to what the processor's AES unit allows.
//!
//! Rows: bytes of payload; `64` keys interleaved, or `4096` keys in random order. All
//! keys are expanded before the clock starts, those of the peer too. Subjects:
//! Weir, sealing and opening, and RustCrypto's `ocb3`. Weir's time includes
//! pushing the packets. Every figure is the median of the rounds, with
//! quartiles; rounds of all subjects of a row are interleaved.
//!
//! The peer is many times faster where it is built for this processor, with
//! `RUSTFLAGS="-C target-cpu=native"`: only then do its AES instructions come
//! inline. A comparison without that says little; `make peers` makes it with.
//!
//! `bound` is the time that the packet's AES rounds need at the rate measured
//! in this run: of its payload, of one block of associated data, of the nonce and
//! of the tag.

#[path = "aead/bound.rs"]
mod bound;

use std::time::Instant;

use aes::Aes128;
use bound::Bound;
use ocb3::aead::consts::U12;
use ocb3::aead::{AeadInOut, KeyInit};
use weir_crypto::{
    Aead, AesKeySize, BATCH_PACKETS, Descriptor, KeyId, KeyMaterial, Layout, Opener, OpeningKey,
    Sealer, SealingKey, Suite,
};

/// Rounds of each row.
const ROUNDS: usize = 41;

/// Packets of a batch.
const BATCH: usize = BATCH_PACKETS;

/// Keys, of which a row may use fewer.
const KEYS: usize = 4096;

const SUITE: Suite = Suite::Aead(Aead::AesOcb3(AesKeySize::Aes128));
const AAD: [u8; 8] = [3; 8];
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
        for payload_bytes in [64, 256, 576, 1024, 1420, 9000] {
            let name = format!("{keys}/{payload_bytes}");
            if wanted.is_empty() || wanted.contains(&name) {
                row(keys, payload_bytes, &bound);
            }
        }
    }
}

fn row(keys: usize, payload_bytes: usize, bound: &Bound) {
    let mut packets = Packets::new(keys, payload_bytes);
    let mut samples = SUBJECTS.map(|_| Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        for ((_, work), samples) in SUBJECTS.into_iter().zip(&mut samples) {
            samples.push(packets.sample(work));
        }
    }
    let bound_ns = bound.cipher_ns(payload_bytes.div_ceil(16) + 3);
    for samples in &mut samples {
        samples.sort_by(f64::total_cmp);
    }
    let peer = samples[SUBJECTS.len() - 1][ROUNDS / 2];
    for ((name, _), samples) in SUBJECTS.into_iter().zip(&samples) {
        let median = samples[ROUNDS / 2];
        println!(
            "{payload_bytes:>5} B  {keys:<5} {name:<11} {median:>8.1} ns  ({:.1} to {:.1})  {:>6.2} cycles/B  bound {:>3.0} %  peer/this {:>5.2}",
            samples[ROUNDS / 4],
            samples[3 * ROUNDS / 4],
            median * bound.ghz / payload_bytes as f64,
            100.0 * bound_ns / median,
            peer / median,
        );
    }
}

/// Packets of one length, and keys in every form.
struct Packets {
    sealer: Sealer,
    sealing: Vec<KeyId>,
    opener: Opener,
    opening: Vec<KeyId>,
    peers: Vec<Peer>,
    salts: Vec<[u8; 4]>,
    /// Keys in the order of their packets.
    order: Vec<usize>,
    /// The packets, one behind the other.
    buffer: Vec<u8>,
    packets: Vec<Descriptor>,
    /// Where in `order` the next batch begins.
    next: usize,
    batches: usize,
}

const TAG_BYTES: usize = 16;

impl Packets {
    fn new(keys: usize, payload_bytes: usize) -> Packets {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) as usize
        };
        let raw_keys: Vec<[u8; 20]> = (0..keys)
            .map(|_| std::array::from_fn(|_| next() as u8))
            .collect();
        let material = |key: &[u8; 20]| KeyMaterial::new(SUITE, key, &[]).expect("a key");
        let (mut sealer, mut opener) = (Sealer::new(), Opener::new());
        let sealing = raw_keys
            .iter()
            .map(|key| sealer.add(SealingKey::new(material(key), 0..).expect("a key")))
            .collect();
        let opening = raw_keys
            .iter()
            .map(|key| opener.add(OpeningKey::new(&material(key)).expect("a key")))
            .collect();
        let mut order: Vec<usize> = (0..KEYS).map(|packet| packet % keys).collect();
        if keys == KEYS {
            for at in (1..KEYS).rev() {
                order.swap(at, next() % (at + 1));
            }
        }
        let packet_bytes = AAD.len() + IV.len() + payload_bytes + TAG_BYTES;
        let packet_bytes = packet_bytes.next_multiple_of(64);
        Packets {
            sealer,
            sealing,
            opener,
            opening,
            peers: raw_keys
                .iter()
                .map(|key| Peer::new_from_slice(&key[..16]).expect("a key"))
                .collect(),
            salts: raw_keys
                .iter()
                .map(|key| *key.last_chunk().expect("a salt"))
                .collect(),
            order,
            buffer: vec![9; BATCH * packet_bytes],
            packets: (0..BATCH)
                .map(|at| Descriptor {
                    offset: (at * packet_bytes) as u32,
                    layout: Layout {
                        payload_bytes: payload_bytes as u32,
                        aad_bytes: AAD.len() as u16,
                        ..Layout::default()
                    },
                    ..Descriptor::default()
                })
                .collect(),
            next: 0,
            // Some ten to twenty thousand blocks: long enough for the clock,
            // short enough to fall between two interruptions.
            batches: (64 * 1024 / BATCH / (payload_bytes / 16 + 4)).clamp(1, 16),
        }
    }

    /// Nanoseconds per packet of one sample.
    fn sample(&mut self, work: Work) -> f64 {
        let mut elapsed = 0.0;
        for _ in 0..self.batches {
            if work == Work::Open {
                // Packets that are authentic: sealed before the clock starts.
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
        let packets = self.packets.iter().zip(key_of);
        match work {
            Work::Seal => {
                let mut batch = self.sealer.batch(&mut self.buffer);
                for (&packet, key) in packets {
                    let key = self.sealing[*key];
                    batch.push(Descriptor { key, ..packet }).expect("a packet");
                }
                assert!(batch.run().all_good());
            }
            Work::Open => {
                let mut batch = self.opener.batch(&mut self.buffer);
                for (&packet, key) in packets {
                    let key = self.opening[*key];
                    batch.push(Descriptor { key, ..packet }).expect("a packet");
                }
                assert!(batch.run().all_good());
            }
            Work::Peer => {
                for (packet, key) in packets {
                    let mut nonce = [0; 12];
                    nonce[..4].copy_from_slice(&self.salts[*key]);
                    nonce[4..].copy_from_slice(&IV);
                    let packet_bytes = &mut self.buffer[packet.offset as usize..];
                    let (aad, rest) = packet_bytes.split_at_mut(AAD.len());
                    let payload_bytes = packet.layout.payload_bytes as usize;
                    let (payload, tag) = rest[IV.len()..].split_at_mut(payload_bytes);
                    let computed = self.peers[*key]
                        .encrypt_inout_detached((&nonce).into(), aad, payload.into())
                        .expect("a short packet");
                    tag[..TAG_BYTES].copy_from_slice(&computed);
                }
            }
        }
    }
}
