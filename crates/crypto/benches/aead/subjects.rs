//! What is measured, and the packets it is measured on.

use std::time::Instant;

use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::aes::Aes128Enc;
use aes_gcm::{AesGcm, aead::consts::U12};
use weir_crypto::{
    Aead, AesKeySize, BATCH_PACKETS, Descriptor, KeyId, KeyMaterial, Layout, Opener, OpeningKey,
    Sealer, SealingKey, Suite,
};

/// Packets of a batch.
const BATCH: usize = BATCH_PACKETS;

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
    Seal,
    Open,
    SealOnce,
    Peer,
    PeerNew,
}

/// Every subject; the peer comes last.
pub const SUBJECTS: &[Subject] = &[
    Subject {
        name: "weir",
        work: Work::Seal,
    },
    Subject {
        name: "weir open",
        work: Work::Open,
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
    sealer: Sealer,
    sealing: Vec<KeyId>,
    opener: Opener,
    opening: Vec<KeyId>,
    peers: Vec<Peer>,
    order: Vec<usize>,
    /// The packets, one behind the other.
    buffer: Vec<u8>,
    packets: Vec<Descriptor>,
    /// Where in `order` the next batch begins.
    next: usize,
    batches: usize,
}

const SUITE: Suite = Suite::Aead(Aead::AesGcm16(AesKeySize::Aes128));
const AAD: [u8; 8] = [3; 8];
const IV: [u8; 8] = [5; 8];
const TAG_BYTES: usize = 16;

impl Packets {
    pub fn new(payload_bytes: usize) -> Packets {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) as usize
        };
        let raw_keys: Vec<[u8; 20]> = (0..KEYS)
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
        let mut order: Vec<usize> = (0..KEYS).collect();
        for at in (1..KEYS).rev() {
            order.swap(at, next() % (at + 1));
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
            raw_keys,
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
            if subject.work == Work::Open {
                // Packets that are authentic: sealed before the clock starts.
                self.batch(Work::Seal, &key_of);
            }
            let start = Instant::now();
            self.batch(subject.work, &key_of);
            elapsed += start.elapsed().as_nanos() as f64;
        }
        elapsed / (self.batches * BATCH) as f64
    }

    fn batch(&mut self, work: Work, key_of: &[usize; BATCH]) {
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
            Work::SealOnce => {
                let mut batch = self.sealer.batch(&mut self.buffer);
                for (&packet, key) in packets {
                    let key = batch.add_one_time_key(SUITE, &self.raw_keys[*key], &[]);
                    let key = key.expect("20 bytes");
                    batch.push(Descriptor { key, ..packet }).expect("a packet");
                }
                assert!(batch.run().all_good());
            }
            Work::Peer => {
                for (packet, key) in packets {
                    let salt = self.raw_keys[*key].last_chunk().expect("a salt");
                    peer(&self.peers[*key], *salt, packet, &mut self.buffer);
                }
            }
            Work::PeerNew => {
                for (packet, key) in packets {
                    let (key, salt) = self.raw_keys[*key].split_last_chunk().expect("a salt");
                    let key = Peer::new_from_slice(key).expect("a key");
                    peer(&key, *salt, packet, &mut self.buffer);
                }
            }
        }
    }
}

fn peer(key: &Peer, salt: [u8; 4], packet: &Descriptor, buffer: &mut [u8]) {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&salt);
    nonce[4..].copy_from_slice(&IV);
    let (aad, rest) = buffer[packet.offset as usize..].split_at_mut(AAD.len());
    let (payload, tag) = rest[IV.len()..].split_at_mut(packet.layout.payload_bytes as usize);
    let computed = key
        .encrypt_inout_detached((&nonce).into(), aad, payload.into())
        .expect("a short packet");
    tag[..TAG_BYTES].copy_from_slice(&computed);
}
