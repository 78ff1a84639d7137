//! Rows of chapter 6: updates of sketches.

use super::Thesis;
use super::closed_forms::count_min;
use super::hashing::{KEYS, load_cycles, sketch_cycles};
use crate::shared::model::{Bench, Entry, Values};
use crate::stream_processor::applications::sketch::Hashing;

pub(super) static ENTRIES: &[Entry] = &[
    two("imagine-080", |bench| {
        Ok(vec![sketch_cycles(bench, Hashing::Two)?])
    }),
    two("imagine-081", |bench| {
        Ok(vec![sketch_cycles(bench, Hashing::Two)? / KEYS / 8.0])
    }),
    two("imagine-082", |bench| {
        Ok(vec![sketch_cycles(bench, Hashing::Two)? / KEYS])
    }),
    four("imagine-083", |bench| {
        Ok(vec![sketch_cycles(bench, Hashing::Four)?])
    }),
    four("imagine-084", |bench| {
        Ok(vec![sketch_cycles(bench, Hashing::Four)? / KEYS])
    }),
    two("imagine-085", |bench| gbit_per_s(bench, Hashing::Two)),
    four("imagine-086", |bench| gbit_per_s(bench, Hashing::Four)),
    Entry::simulated("imagine-087", "load of two sketches of 32 KB", |bench| {
        Ok(vec![load_cycles(bench, 2)?])
    })
    .quantity("load of sketches from memory")
    .note(
        "15,105 cycles are 4.3 bytes per cycle, more than the 2 GB/s that the thesis gives as \
         the largest memory throughput.",
    ),
    Entry::simulated("imagine-088", "load of a sketch of 32 KB", |bench| {
        Ok(vec![load_cycles(bench, 1)?])
    })
    .quantity("load of sketches from memory"),
    Entry::closed_form(
        "imagine-092",
        &[("epsilon", 0.0001), ("delta", 0.0005)],
        |inputs| count_min(inputs[0], inputs[1]).to_vec(),
    ),
    Entry::closed_form(
        "imagine-095",
        &[
            ("sources", 24_569.0),
            ("sub-sketches", 32.0),
            ("bits for each source", 10.0),
        ],
        |inputs| vec![inputs[0] / inputs[1] * inputs[2] / 8.0],
    )
    .within(0.1)
    .note("959.7 bytes; 960 in whole words."),
];

/// A row that follows from the cycles of an update with 2-universal hashing.
const fn two(id: &'static str, of: fn(&Bench) -> Values) -> Entry {
    Entry::simulated(id, "sketch-2, 1920 keys, 3 adders", of)
        .quantity("sketch update, 2-universal")
        .note(
            "For 8 keys the loop takes 90 cycles, where the adders need 67 and the recurrence \
             through the indexed reads and writes of one lane needs 80. Loading the keys takes \
             3,900 cycles that no kernel hides.",
        )
}

/// The same with 4-universal hashing.
const fn four(id: &'static str, of: fn(&Bench) -> Values) -> Entry {
    Entry::simulated(id, "sketch-4, 1920 keys, 3 adders", of)
        .quantity("sketch update, 4-universal")
        .note(
            "For 8 keys the loop takes 239 cycles, where the adders need 208. Loading the keys \
             takes 3,900 cycles that no kernel hides.",
        )
}

/// The rate for packets of 40 bytes.
fn gbit_per_s(bench: &Bench, hashing: Hashing) -> Values {
    let cycles = sketch_cycles(bench, hashing)?;
    Ok(vec![bench.gbit_per_s(8.0 * 40.0 * KEYS, cycles)?])
}
