//! The scalar reference implementation of OCB3 (RFC 7253 section 4): packet by packet, in
//! constant time, without instructions of any tier.

use std::cell::Cell;

use zeroize::Zeroizing;

use super::key::{LAST_L, Ocb3Key, ROUND_KEYS, l_beyond, place_of_l};
use super::packet::{Packet, Task, top_and_bottom};
use crate::cipher::bitslice::{BLOCKS, PlaneKeys};
use crate::cipher::{Block, MOST_ROUND_KEYS, rounds};
use crate::impossible::{Impossible, happens};

/// Processes the packets of a task.
pub(super) fn run(task: &mut Task<'_, '_>) {
    for (position, packet) in task.packets.iter().enumerate() {
        if packet.key.is_whole() && !happens(Impossible::NoKey) {
            let keys = Keys::new(packet.key);
            task.finish(position, keys.process(packet, task.open));
        }
    }
}

/// A key, and its cipher as bit planes.
struct Keys<'k> {
    key: &'k Ocb3Key,
    cipher: PlaneKeys,
}

impl Keys<'_> {
    fn new(key: &Ocb3Key) -> Keys<'_> {
        let mut round_keys = Zeroizing::new([[0; 16]; MOST_ROUND_KEYS]);
        let used = &mut round_keys[..=rounds(key.size())];
        for (round, round_key) in used.iter_mut().enumerate() {
            *round_key = key.block(ROUND_KEYS + round);
        }
        Keys {
            key,
            cipher: PlaneKeys::new(used),
        }
    }

    fn l_star(&self) -> u128 {
        u128::from_be_bytes(self.key.block(0))
    }

    fn l_dollar(&self) -> u128 {
        u128::from_be_bytes(self.key.block(1))
    }

    /// L[ntz(block)], for blocks counted from 1.
    fn l_of(&self, block: usize) -> u128 {
        let i = block.trailing_zeros();
        let rounds = rounds(self.key.size());
        let in_memory = self.key.block(place_of_l(rounds, i.min(LAST_L)));
        u128::from_be_bytes(match i {
            ..=LAST_L => in_memory,
            _ => l_beyond(in_memory, i),
        })
    }

    fn encipher(&self, block: u128) -> u128 {
        u128::from_be_bytes(self.cipher.encrypt_one(block.to_be_bytes()))
    }

    /// RFC 7253 sections 4.2 and 4.3: encrypts or decrypts the text and returns
    /// the tag.
    fn process(&self, packet: &Packet<'_>, open: bool) -> Block {
        let mut offset = self.first_offset(packet);
        let mut checksum = 0;
        let mut number = 0;
        let (whole, partial) = packet.text.as_chunks::<16>();
        for texts in whole.chunks(BLOCKS) {
            let mut blocks = [[0; 16]; BLOCKS];
            let mut offsets = [0; BLOCKS];
            for ((block, offset_of), text) in blocks.iter_mut().zip(&mut offsets).zip(texts) {
                number += 1;
                offset ^= self.l_of(number);
                *offset_of = offset;
                *block = (number_in(text) ^ offset).to_be_bytes();
                if !open {
                    checksum ^= number_in(text);
                }
            }
            match open {
                true => self.cipher.decrypt(&mut blocks),
                false => self.cipher.encrypt(&mut blocks),
            }
            for ((block, offset), text) in blocks.iter().zip(offsets).zip(texts) {
                let output = u128::from_be_bytes(*block) ^ offset;
                for (byte, output) in text.iter().zip(output.to_be_bytes()) {
                    byte.set(output);
                }
                if open {
                    checksum ^= output;
                }
            }
        }
        if !partial.is_empty() {
            offset ^= self.l_star();
            let pad = self.encipher(offset).to_be_bytes();
            let mut plain = [0; 16];
            for ((byte, pad), plain) in partial.iter().zip(pad).zip(&mut plain) {
                let before = byte.get();
                byte.set(before ^ pad);
                *plain = if open { before ^ pad } else { before };
            }
            plain[partial.len()] = 0x80;
            checksum ^= u128::from_be_bytes(plain);
        }
        let tag = self.encipher(checksum ^ offset ^ self.l_dollar());
        (tag ^ self.hash(packet.associated)).to_be_bytes()
    }

    /// Offset₀: 128 bits out of Ktop and its differences, from `bottom` on.
    fn first_offset(&self, packet: &Packet<'_>) -> u128 {
        let ([low, high], bottom) = top_and_bottom(packet.nonce);
        let top = (u128::from(high) << 64 | u128::from(low)).to_le_bytes();
        let k_top = self.encipher(u128::from_be_bytes(top));
        let differences = (k_top ^ k_top << 8) >> 64;
        k_top << bottom | differences >> (64 - bottom)
    }

    /// HASH: RFC 7253 section 4.1.
    fn hash(&self, associated: &[Cell<u8>]) -> u128 {
        let (whole, partial) = associated.as_chunks::<16>();
        let (mut sum, mut offset) = (0, 0);
        for (number, block) in (1..).zip(whole) {
            offset ^= self.l_of(number);
            sum ^= self.encipher(number_in(block) ^ offset);
        }
        if !partial.is_empty() {
            let mut block = [0; 16];
            for (byte, cell) in block.iter_mut().zip(partial) {
                *byte = cell.get();
            }
            block[partial.len()] = 0x80;
            sum ^= self.encipher(u128::from_be_bytes(block) ^ offset ^ self.l_star());
        }
        sum
    }
}

/// The big-endian number of a block.
fn number_in(text: &[Cell<u8>; 16]) -> u128 {
    u128::from_be_bytes(std::array::from_fn(|i| text[i].get()))
}
