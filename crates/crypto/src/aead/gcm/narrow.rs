//! One packet after the other, one block per vector: eight slots side by side.
//!
//! Slots are those of the module [`crate::aead::gcm`]. Eight of them are
//! encrypted together and hashed with H⁸ … H and one reduction; the last one to
//! eight are hashed along with the lengths:
//!
//! ```text
//! slot       8k      8k + 1  …  8k + 7       last 8k    …   n      lengths
//! times      H⁸      H⁷      …  H            Hᵐ         …   H²     H
//! ```
//!
//! A packet's hash waits for its cipher, the next packet's cipher for neither:
//! the processor overlaps them.

use std::cell::Cell;

use super::batch::Task;
use super::key::POWERS as FULL_POWERS;
use super::packet::Packet;
use super::plan::Kind;
use super::sums::{Sums, fill_powers};
use crate::cipher::simd::{self, AesUnit, Kernel};
use crate::cipher::{Block, MOST_ROUND_KEYS, rounds};
use crate::impossible::{Impossible, happens};
use crate::simd::Wiped;

/// Slots side by side: enough to hide the latency of AES, few enough for the registers.
const SLOTS: usize = 8;

/// Powers of the hash key that a packet may ask for.
const POWERS: usize = SLOTS + 1;

/// How many packets ahead a packet's key is prefetched.
const LOOK_AHEAD: usize = 8;

/// Processes the packets of a task.
pub(super) struct Process<'k, 't, 'a>(pub(super) &'k mut Task<'t, 'a>);

impl Kernel for Process<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<U: AesUnit>(self, unit: U) {
        match self.0.open {
            true => process_all::<U, true>(unit, self.0),
            false => process_all::<U, false>(unit, self.0),
        }
    }
}

#[inline(always)]
fn process_all<U: AesUnit, const OPEN: bool>(unit: U, task: &mut Task<'_, '_>) {
    let mut computed = Computed {
        powers: Wiped([[0; 16]; POWERS]),
        round_keys: Wiped([[0; 16]; MOST_ROUND_KEYS]),
    };
    for position in 0..task.len() {
        prefetch(task, position + LOOK_AHEAD);
        if let Some(packet) = task.packet(position)
            && let Some(schedule) = Schedule::of(unit, task.kind, &packet, &mut computed)
        {
            let tag = process::<U, OPEN>(unit, schedule, &packet);
            task.finish(position, tag);
        }
    }
}

/// Prefetches what is needed of the key of the packet at `position`.
#[inline(always)]
fn prefetch(task: &Task<'_, '_>, position: usize) {
    if let Some(key) = task.key(position) {
        let unused = match task.kind.route.computes_keys() {
            true => 0,
            false => 16 * (FULL_POWERS - POWERS),
        };
        weir_simd::prefetch(key.get(unused..).unwrap_or_default());
    }
}

/// What is computed of a packet's key, where it is not in memory.
struct Computed {
    powers: Wiped<[Block; POWERS]>,
    round_keys: Wiped<[Block; MOST_ROUND_KEYS]>,
}

/// What a packet is processed with.
#[derive(Clone, Copy)]
struct Schedule<'s> {
    /// Powers of the hash key up to the ninth, or as far as the packet needs, highest first.
    powers: &'s [Block],
    round_keys: &'s [Block],
}

impl<'s> Schedule<'s> {
    /// Of a packet's key; none if it is not in the form that its kind says.
    #[inline(always)]
    fn of<U: AesUnit>(
        unit: U,
        kind: Kind,
        packet: &Packet<'s>,
        computed: &'s mut Computed,
    ) -> Option<Schedule<'s>> {
        let (key, rounds) = (packet.key, rounds(kind.size));
        if happens(Impossible::NoKey) {
            return None;
        }
        if !kind.route.computes_keys() {
            let (blocks, _) = key.as_chunks::<16>();
            return Some(Schedule {
                powers: blocks.get(FULL_POWERS - POWERS..FULL_POWERS)?,
                round_keys: blocks.get(FULL_POWERS..=FULL_POWERS + rounds)?,
            });
        }
        let is_raw = key.len() == kind.size.key_bytes();
        if !is_raw || !simd::expand(unit, &[key], &mut [&mut computed.round_keys]) {
            return None;
        }
        let round_keys = &computed.round_keys[..=rounds];
        let needed = (2 + packet.text.len().div_ceil(16)).min(POWERS);
        let powers = &mut computed.powers[POWERS - needed..];
        fill_powers(unit, round_keys, powers);
        Some(Schedule { powers, round_keys })
    }
}

/// Encrypts or decrypts a packet's text and returns the tag.
#[inline(always)]
fn process<U: AesUnit, const OPEN: bool>(
    unit: U,
    schedule: Schedule<'_>,
    packet: &Packet<'_>,
) -> Block {
    let (associated, text) = (packet.associated, packet.text);
    let mut hash = Hash {
        powers: schedule.powers,
        sum: unit.zero(),
        sums: Sums::zero(unit),
    };
    hash.associated(unit, associated);
    let mut stream = Stream {
        round_keys: schedule.round_keys,
        // The counter's place is zero in a nonce.
        counters: unit.count_on(unit.counters(packet.nonce), 1),
        text,
    };
    let mut tag_pad = None;
    // Slot 0 shares a chunk with the first blocks of text.
    let mut left = 1 + text.len().div_ceil(16);
    while left > SLOTS {
        let first = stream.chunk::<SLOTS, OPEN>(unit, tag_pad.is_none(), &mut hash, SLOTS);
        tag_pad = tag_pad.or(Some(first));
        hash.reduce(unit);
        left -= SLOTS;
    }
    let is_first = tag_pad.is_none();
    let first = match left {
        1 => stream.chunk::<1, OPEN>(unit, is_first, &mut hash, 2),
        2 => stream.chunk::<2, OPEN>(unit, is_first, &mut hash, 3),
        3 => stream.chunk::<3, OPEN>(unit, is_first, &mut hash, 4),
        4 => stream.chunk::<4, OPEN>(unit, is_first, &mut hash, 5),
        5 => stream.chunk::<5, OPEN>(unit, is_first, &mut hash, 6),
        6 => stream.chunk::<6, OPEN>(unit, is_first, &mut hash, 7),
        7 => stream.chunk::<7, OPEN>(unit, is_first, &mut hash, 8),
        _ => stream.chunk::<8, OPEN>(unit, is_first, &mut hash, 9),
    };
    let bits = |bytes: usize| 8 * bytes as u128;
    let lengths = bits(associated.len()) << 64 | bits(text.len());
    hash.add(unit, unit.broadcast(&lengths.to_le_bytes()), 1);
    hash.reduce(unit);
    unit.first(unit.xor(unit.reverse(hash.sum), tag_pad.unwrap_or(first)))
}

/// A packet's cipher under way.
struct Stream<'a, U: AesUnit> {
    round_keys: &'a [Block],
    /// The next counter block, bytes reversed.
    counters: U::Vector,
    /// What is left of the text.
    text: &'a [Cell<u8>],
}

impl<U: AesUnit> Stream<'_, U> {
    /// Enciphers `BLOCKS` slots, of which the first is slot 0 if `is_first` and the last may be
    /// partial, and adds their products, the first times power `highest`. Returns the first
    /// block of key stream.
    #[inline(always)]
    fn chunk<const BLOCKS: usize, const OPEN: bool>(
        &mut self,
        unit: U,
        is_first: bool,
        hash: &mut Hash<'_, U>,
        highest: usize,
    ) -> U::Vector {
        let mut states = [unit.zero(); BLOCKS];
        for (slot, state) in states.iter_mut().enumerate() {
            *state = unit.reverse(unit.count_on(self.counters, slot as u32));
        }
        self.counters = unit.count_on(self.counters, BLOCKS as u32);
        simd::encrypt(unit, self.round_keys, &mut states);
        for (slot, state) in states.iter().enumerate() {
            let mut element = unit.zero();
            if slot > 0 || !is_first {
                element = unit.reverse(self.apply::<OPEN>(unit, *state));
            }
            if slot == 0 {
                element = unit.xor(element, hash.sum);
            }
            hash.add(unit, element, highest - slot);
        }
        states[0]
    }

    /// Adds a block of key stream to the next block of text, which may be partial, and returns
    /// the ciphertext.
    #[inline(always)]
    fn apply<const OPEN: bool>(&mut self, unit: U, key_stream: U::Vector) -> U::Vector {
        let (block, rest) = self.text.split_at(self.text.len().min(16));
        self.text = rest;
        let input = unit.load(block);
        let output = unit.xor(input, key_stream);
        unit.store(output, block);
        match OPEN {
            true => input,
            false if block.len() == 16 => output,
            // With zeros behind it.
            false => unit.load(block),
        }
    }
}

/// GHASH: SP 800-38D section 6.4.
struct Hash<'s, U: AesUnit> {
    /// As in [`Schedule::powers`].
    powers: &'s [Block],
    /// What is reduced, and still to be added to the next element.
    sum: U::Vector,
    sums: Sums<U>,
}

impl<U: AesUnit> Hash<'_, U> {
    /// The only block of associated data, or the last one with the hash of those before it
    /// added, becomes the sum.
    #[inline(always)]
    fn associated(&mut self, unit: U, associated: &[Cell<u8>]) {
        for block in associated.chunks(16) {
            if block.as_ptr() != associated.as_ptr() {
                self.add(unit, self.sum, 1);
                self.reduce(unit);
            }
            self.sum = unit.xor(self.sum, unit.reverse(unit.load(block)));
        }
    }

    /// Adds the product of an element and a power, counted from 1.
    #[inline(always)]
    fn add(&mut self, unit: U, element: U::Vector, power: usize) {
        let power = unit.broadcast(&self.powers[self.powers.len() - power]);
        self.sums.add(unit, element, power);
    }

    #[inline(always)]
    fn reduce(&mut self, unit: U) {
        self.sum = self.sums.reduce(unit);
        self.sums = Sums::zero(unit);
    }
}

/// Fills a table with the powers of the hash key that belongs to round keys, highest first.
pub(super) struct FillPowers<'a> {
    pub(super) round_keys: &'a [Block],
    pub(super) table: &'a mut [Block],
}

impl Kernel for FillPowers<'_> {
    type Output = ();

    #[inline(always)]
    fn run<U: AesUnit>(self, unit: U) {
        fill_powers(unit, self.round_keys, self.table);
    }
}

/// The GHASH of blocks after a sum, under a full schedule.
pub(super) struct Absorb<'a> {
    pub(super) schedule: &'a [Block],
    /// In memory, where it stays between calls: a number in registers would be waited for.
    pub(super) sum: &'a mut Block,
    pub(super) blocks: &'a [Block],
}

impl Kernel for Absorb<'_> {
    type Output = ();

    #[inline(always)]
    fn run<U: AesUnit>(self, unit: U) {
        let mut sum = unit.broadcast(self.sum);
        for blocks in self.blocks.chunks(SLOTS) {
            let powers = &self.schedule[FULL_POWERS - blocks.len()..FULL_POWERS];
            let mut sums = Sums::zero(unit);
            for (block, power) in blocks.iter().zip(powers).skip(1) {
                let element = unit.reverse(unit.broadcast(block));
                sums.add(unit, element, unit.broadcast(power));
            }
            // The first one waits for the sum of those before: it comes last.
            let element = unit.xor(unit.reverse(unit.broadcast(&blocks[0])), sum);
            sums.add(unit, element, unit.broadcast(&powers[0]));
            sum = sums.reduce(unit);
        }
        unit.store_first(sum, self.sum);
    }
}
