//! The twin that defines GCM (SP 800-38D section 7): one packet after the
//! other, in constant time, without instructions of any tier.

use super::batch::Batch;
use super::field;
use super::key::{Form, KeyView};
use super::packet::Packet;
use crate::cipher::bitslice::{BLOCKS, PlaneKeys};
use crate::cipher::{Block, expand, rounds};
use weir_simd::Tier;

/// Processes the packets of `order`.
pub(super) fn run<const N: usize>(open: bool, batch: &mut Batch<'_, '_, N>, order: &[u8]) {
    for &place in order {
        if let Some(packet) = batch.take(place) {
            batch.finish(place, packet.process(open));
        }
    }
}

impl Packet<'_> {
    /// Encrypts or decrypts the text and returns the tag.
    fn process(self, open: bool) -> Block {
        let (key, h) = self.key.expanded();
        let mut hash = Hash { h, sum: 0 };
        hash.absorb(self.associated);
        if open {
            hash.absorb(self.text);
        }
        // The first counter is the tag's (J0), the others are the text's.
        let mut counter = 1u32;
        let mut next_blocks = || {
            let mut blocks = [[0; 16]; BLOCKS];
            for block in &mut blocks {
                let whole = self.nonce | u128::from(counter.swap_bytes()) << 96;
                *block = whole.to_le_bytes();
                counter = counter.wrapping_add(1);
            }
            key.encrypt(&mut blocks);
            blocks
        };
        let first = next_blocks();
        let (head, rest) = self
            .text
            .split_at_mut(self.text.len().min(16 * (BLOCKS - 1)));
        xor(head, first[1..].as_flattened());
        for text in rest.chunks_mut(16 * BLOCKS) {
            xor(text, next_blocks().as_flattened());
        }
        if !open {
            hash.absorb(self.text);
        }
        let bits = |bytes: &[u8]| 8 * bytes.len() as u128;
        hash.absorb_element(bits(self.associated) << 64 | bits(self.text));
        let mut tag = hash.sum.to_be_bytes();
        xor(&mut tag, &first[0]);
        tag
    }
}

fn xor(text: &mut [u8], keystream: &[u8]) {
    for (byte, key) in text.iter_mut().zip(keystream) {
        *byte ^= key;
    }
}

impl KeyView<'_> {
    /// Round keys, and the hash key.
    fn expanded(self) -> (PlaneKeys, u128) {
        match self.form {
            Form::Raw | Form::RawAhead => {
                // A key of another length was refused when it was made.
                let round_keys = expand(Tier::Scalar, self.size, self.bytes).unwrap_or_default();
                let key = PlaneKeys::new(&round_keys[..=rounds(self.size)]);
                let h = field::hash_key(key.encrypt_one([0; 16]));
                (key, h)
            }
            Form::Compact | Form::Full => {
                let (blocks, _) = self.bytes.as_chunks::<16>();
                let (powers, rest) = blocks.split_at(self.form.powers());
                let key = PlaneKeys::new(&rest[..=rounds(self.size)]);
                let h = powers.last().map_or(0, |h| u128::from_le_bytes(*h));
                (key, h)
            }
        }
    }
}

/// GHASH: SP 800-38D section 6.4.
struct Hash {
    h: u128,
    sum: u128,
}

impl Hash {
    /// Absorbs bytes, padded with zeros to whole blocks.
    fn absorb(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(16) {
            let mut block = [0; 16];
            block[..chunk.len()].copy_from_slice(chunk);
            self.absorb_element(u128::from_be_bytes(block));
        }
    }

    fn absorb_element(&mut self, element: u128) {
        self.sum = field::product(self.sum ^ element, self.h);
    }
}
