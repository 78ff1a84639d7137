//! Packets to be sealed, and the secrets for it.

use weir_crypto::Suite;

/// Bytes of a packet in front of the IV: SPI and sequence number.
const PREFIX_BYTES: usize = 8;

/// Longest IV of a suite.
const MAX_IV_BYTES: usize = 16;

/// Longest tag of a suite.
const MAX_TAG_BYTES: usize = 32;

/// The secrets of one key, as libraries want them.
#[derive(Clone)]
pub struct Secrets {
    pub cipher_key: Vec<u8>,
    pub salt: [u8; 4],
    pub integrity_key: Vec<u8>,
}

impl Secrets {
    /// Different secrets for so many keys. They protect nothing.
    pub fn make(suite: Suite, count: usize) -> Vec<Secrets> {
        let mut numbers = Numbers(1);
        (0..count)
            .map(|_| Secrets {
                cipher_key: numbers.bytes(suite.key_bytes()),
                salt: (numbers.next() as u32).to_be_bytes(),
                integrity_key: numbers.bytes(suite.integrity_key_bytes()),
            })
            .collect()
    }
}

/// Salt and counter (RFC 4106, section 4; RFC 3686, section 4).
pub fn nonce(salt: [u8; 4], counter: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&salt);
    nonce[4..].copy_from_slice(&counter.to_be_bytes());
    nonce
}

/// Packets of one size, part by part.
#[derive(Clone, PartialEq, Eq)]
pub struct Packets {
    text_bytes: usize,
    iv_bytes: usize,
    tag_bytes: usize,
    prefixes: Vec<[u8; PREFIX_BYTES]>,
    ivs: Vec<[u8; MAX_IV_BYTES]>,
    texts: Vec<u8>,
    tags: Vec<[u8; MAX_TAG_BYTES]>,
    turns: Vec<Turn>,
}

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Number of the key.
    pub key: usize,
    /// How manieth packet of the key it is, from 1.
    pub counter: u64,
}

/// One packet's parts.
pub struct Packet<'a> {
    pub turn: Turn,
    pub prefix: &'a [u8],
    pub iv: &'a mut [u8],
    pub text: &'a mut [u8],
    pub tag: &'a mut [u8],
}

impl Packets {
    /// So many packets of text, of keys in random order.
    pub fn new(suite: Suite, text_bytes: usize, count: usize, keys: usize) -> Packets {
        let text_bytes = text_bytes.next_multiple_of(suite.block_bytes());
        let mut numbers = Numbers(2);
        let mut order: Vec<usize> = (0..count).map(|number| number % keys).collect();
        for last in (1..count).rev() {
            order.swap(last, numbers.below(last + 1));
        }
        let mut used = vec![0; keys];
        let turns = order.into_iter().map(|key| {
            used[key] += 1;
            Turn {
                key,
                counter: used[key],
            }
        });
        Packets {
            text_bytes,
            iv_bytes: suite.iv_bytes(),
            tag_bytes: suite.tag_bytes(),
            turns: turns.collect(),
            prefixes: (0..count).map(|_| numbers.next().to_be_bytes()).collect(),
            ivs: vec![[0; MAX_IV_BYTES]; count],
            texts: numbers.bytes(text_bytes * count),
            tags: vec![[0; MAX_TAG_BYTES]; count],
        }
    }

    /// The same packets with the IVs of others.
    pub fn with_ivs_of(&self, others: &Packets) -> Packets {
        Packets {
            ivs: others.ivs.clone(),
            ..self.clone()
        }
    }

    /// All packets in order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = Packet<'_>> {
        let batch_packets = self.turns.len();
        self.batches_mut(batch_packets)
            .flat_map(|(_, packets)| packets)
    }

    /// All packets in batches of that many, each with the turns of its packets.
    pub fn batches_mut(
        &mut self,
        batch_packets: usize,
    ) -> impl Iterator<Item = (&[Turn], impl Iterator<Item = Packet<'_>>)> {
        let (iv_bytes, text_bytes, tag_bytes) = (self.iv_bytes, self.text_bytes, self.tag_bytes);
        self.turns
            .chunks(batch_packets)
            .zip(self.prefixes.chunks(batch_packets))
            .zip(self.ivs.chunks_mut(batch_packets))
            .zip(self.texts.chunks_mut(batch_packets * text_bytes))
            .zip(self.tags.chunks_mut(batch_packets))
            .map(move |((((turns, prefixes), ivs), texts), tags)| {
                let packets = turns
                    .iter()
                    .zip(prefixes)
                    .zip(ivs)
                    .zip(texts.chunks_exact_mut(text_bytes))
                    .zip(tags)
                    .map(move |((((turn, prefix), iv), text), tag)| Packet {
                        turn: *turn,
                        prefix,
                        iv: &mut iv[..iv_bytes],
                        text,
                        tag: &mut tag[..tag_bytes],
                    });
                (turns, packets)
            })
    }
}

/// SplitMix64: the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}
