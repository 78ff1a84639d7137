//! CTR with AES instructions: eight vectors side by side, of one text as long as it has so many,
//! then of several texts, each under its own keys. Blocks of a vector have counters in a row.

use std::cell::Cell;

use super::CtrText;
use crate::cipher::simd::{AesUnit, Kernel};
use crate::cipher::{Block, MOST_ROUND_KEYS};

/// Vectors side by side: enough to hide the latency of AES.
const VECTORS: usize = 8;

/// Adds its key stream to each text, all under keys of one size.
pub(super) struct ApplyEach<'t, 'a>(pub(super) &'t mut [CtrText<'a>]);

impl Kernel for ApplyEach<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<U: AesUnit>(self, unit: U) {
        match self.0.first().map_or(0, |text| text.round_keys.rounds) {
            10 => apply_each::<U, 11>(unit, self.0),
            12 => apply_each::<U, 13>(unit, self.0),
            14 => apply_each::<U, MOST_ROUND_KEYS>(unit, self.0),
            _ => {}
        }
    }
}

#[inline(always)]
fn apply_each<U: AesUnit, const KEYS: usize>(unit: U, texts: &mut [CtrText<'_>]) {
    let bytes = 16 * U::BLOCKS;
    let mut slots = Slots {
        round_keys: [const { &[[0; 16]; KEYS] }; VECTORS],
        counters: [unit.zero(); VECTORS],
        texts: [&[][..]; VECTORS],
    };
    let mut count = 0;
    for text in texts {
        let Some(round_keys) = text.round_keys.keys.first_chunk::<KEYS>() else {
            continue;
        };
        let mut counters = unit.counters(&text.first);
        let mut left = Cell::from_mut(&mut *text.text).as_slice_of_cells();
        while let Some((long, rest)) = left.split_at_checked(bytes * VECTORS) {
            Slots::of(unit, round_keys, counters, long).encrypt::<VECTORS, true>(unit);
            counters = unit.count_on(counters, (VECTORS * U::BLOCKS) as u32);
            left = rest;
        }
        if U::BLOCKS == 1 {
            // Narrow units are busy with few blocks: to bring texts together would cost more.
            let rest = Slots::of(unit, round_keys, counters, left);
            match left.len().div_ceil(16) {
                0 => {}
                1 => rest.encrypt::<1, false>(unit),
                2 => rest.encrypt::<2, false>(unit),
                3 => rest.encrypt::<3, false>(unit),
                4 => rest.encrypt::<4, false>(unit),
                5 => rest.encrypt::<5, false>(unit),
                6 => rest.encrypt::<6, false>(unit),
                7 => rest.encrypt::<7, false>(unit),
                _ => rest.encrypt::<VECTORS, false>(unit),
            }
            continue;
        }
        for vector in left.chunks(bytes) {
            slots.round_keys[count] = round_keys;
            slots.counters[count] = counters;
            slots.texts[count] = vector;
            counters = unit.count_on(counters, U::BLOCKS as u32);
            count += 1;
            if count == VECTORS {
                slots.encrypt::<VECTORS, false>(unit);
                slots.texts = [&[]; VECTORS];
                count = 0;
            }
        }
    }
    match count {
        0 => {}
        1 => slots.encrypt::<1, false>(unit),
        2..=4 => slots.encrypt::<4, false>(unit),
        _ => slots.encrypt::<VECTORS, false>(unit),
    }
}

/// Vectors of texts, the last of each perhaps partial, and what their key streams are made of.
struct Slots<'a, U: AesUnit, const KEYS: usize> {
    round_keys: [&'a [Block; KEYS]; VECTORS],
    /// Counter blocks, bytes reversed.
    counters: [U::Vector; VECTORS],
    texts: [&'a [Cell<u8>]; VECTORS],
}

impl<'a, U: AesUnit, const KEYS: usize> Slots<'a, U, KEYS> {
    /// The first vectors of one text.
    #[inline(always)]
    fn of(
        unit: U,
        round_keys: &'a [Block; KEYS],
        counters: U::Vector,
        text: &'a [Cell<u8>],
    ) -> Slots<'a, U, KEYS> {
        let mut slots = Slots {
            round_keys: [round_keys; VECTORS],
            counters: [counters; VECTORS],
            texts: [&[][..]; VECTORS],
        };
        for (vector, text) in text.chunks(16 * U::BLOCKS).take(VECTORS).enumerate() {
            slots.counters[vector] = unit.count_on(counters, (vector * U::BLOCKS) as u32);
            slots.texts[vector] = text;
        }
        slots
    }

    /// Encrypts the first `COUNT` vectors, which are `WHOLE` or may be partial.
    #[inline(always)]
    fn encrypt<const COUNT: usize, const WHOLE: bool>(&self, unit: U) {
        let mut states = [unit.zero(); COUNT];
        for (slot, state) in states.iter_mut().enumerate() {
            let key = unit.broadcast(&self.round_keys[slot][0]);
            *state = unit.xor(unit.reverse(self.counters[slot]), key);
        }
        for round in 1..KEYS - 1 {
            for (slot, state) in states.iter_mut().enumerate() {
                *state = unit.round(*state, unit.broadcast(&self.round_keys[slot][round]));
            }
        }
        for (slot, state) in states.iter().enumerate() {
            let key = unit.broadcast(&self.round_keys[slot][KEYS - 1]);
            let (text, key_stream) = (self.texts[slot], unit.last_round(*state, key));
            if WHOLE {
                unit.store(unit.xor(unit.load(text), key_stream), text);
            } else {
                unit.store_some(unit.xor(unit.load_some(text), key_stream), text);
            }
        }
    }
}
