//! The scalar reference of GCM (SP 800-38D section 7): one packet after the
//! other, in constant time, without instructions of any tier.

use std::cell::Cell;

use weir_simd::Tier;

use super::batch::Task;
use super::field;
use super::key::POWERS;
use super::packet::Packet;
use super::plan::Kind;
use crate::cipher::bitslice::{BLOCKS, PlaneKeys};
use crate::cipher::{Block, expand, rounds};
use crate::impossible::{Impossible, happens};

/// Processes the packets of a task.
pub(super) fn run(task: &mut Task<'_, '_>) {
    for position in 0..task.len() {
        if let Some(packet) = task.packet(position)
            && let Some(tag) = packet.process(task.kind, task.open)
        {
            task.finish(position, tag);
        }
    }
}

impl Packet<'_> {
    /// Encrypts or decrypts the text and returns the tag; none where there is no key.
    fn process(&self, kind: Kind, open: bool) -> Option<Block> {
        let (key, h) = expanded(kind, self.key)?;
        let mut hash = Hash { h, sum: 0 };
        for block in self.associated.chunks(16) {
            hash.absorb(&mut block.iter().map(Cell::get));
        }
        // The first counter is the tag's (J0), the others are the text's.
        let mut counter = 1u32;
        let mut next_blocks = || {
            let mut blocks = [[0; 16]; BLOCKS];
            for block in &mut blocks {
                let whole =
                    u128::from_le_bytes(*self.nonce) | u128::from(counter.swap_bytes()) << 96;
                *block = whole.to_le_bytes();
                counter = counter.wrapping_add(1);
            }
            key.encrypt(&mut blocks);
            blocks
        };
        let [tag_pad, first @ ..] = next_blocks();
        let (head, rest) = self.text.split_at(self.text.len().min(16 * first.len()));
        hash.apply(open, head, &first);
        for text in rest.chunks(16 * BLOCKS) {
            hash.apply(open, text, &next_blocks());
        }
        let bits = |bytes: usize| 8 * bytes as u128;
        hash.absorb_element(bits(self.associated.len()) << 64 | bits(self.text.len()));
        Some((hash.sum ^ u128::from_be_bytes(tag_pad)).to_be_bytes())
    }
}

/// Round keys, and the hash key; none where the key is shorter than its kind says.
fn expanded(kind: Kind, key: &[u8]) -> Option<(PlaneKeys, u128)> {
    if happens(Impossible::NoKey) {
        return None;
    }
    if kind.route.computes_keys() {
        let round_keys = expand(Tier::Scalar, kind.size, key).ok()?;
        let key = PlaneKeys::new(round_keys.get(..=rounds(kind.size))?);
        let h = field::hash_key(key.encrypt_one([0; 16]));
        return Some((key, h));
    }
    let (blocks, _) = key.as_chunks::<16>();
    let (powers, rest) = blocks.split_at_checked(POWERS)?;
    let key = PlaneKeys::new(rest.get(..=rounds(kind.size))?);
    Some((key, u128::from_le_bytes(*powers.last()?)))
}

/// GHASH: SP 800-38D section 6.4.
struct Hash {
    h: u128,
    sum: u128,
}

impl Hash {
    /// Adds the key stream to some blocks of text, of which the last may be
    /// partial, and absorbs the ciphertext.
    fn apply(&mut self, open: bool, text: &[Cell<u8>], key_stream: &[Block]) {
        for (text, key) in text.chunks(16).zip(key_stream) {
            if open {
                self.absorb(&mut text.iter().map(Cell::get));
            }
            for (byte, key) in text.iter().zip(key) {
                byte.set(byte.get() ^ key);
            }
            if !open {
                self.absorb(&mut text.iter().map(Cell::get));
            }
        }
    }

    /// Absorbs up to sixteen bytes, padded with zeros to a block.
    fn absorb(&mut self, bytes: &mut dyn Iterator<Item = u8>) {
        let mut block = [0; 16];
        for (place, byte) in block.iter_mut().zip(bytes) {
            *place = byte;
        }
        self.absorb_element(u128::from_be_bytes(block));
    }

    fn absorb_element(&mut self, element: u128) {
        self.sum = field::product(self.sum ^ element, self.h);
    }
}
