//! Programs: keys of all suites, packets in a row, on each other, under one-time keys.

use super::SUITES;
use crate::{Seed, seed};

/// Steps of programs.
pub const WORDS: &[&[u8]] = &[
    // A key with 200 numbers.
    b"\x00\x00\x00\x00\x00\xc8",
    // A one-time key.
    b"\x02\x00",
    // A packet of 64 bytes with 8 of AAD, its number the key's; one with a given number.
    b"\x04\x01\x00\x01\x00\x00\x40\x08\x00",
    b"\x44\x01\x00\x02\x00\x00\x40\x08\x00\x00\x07",
    // The batch runs; it is dropped.
    b"\x10",
    b"\x01",
];

/// Adds a key of the suite at `suite` with 200 numbers, the first of them 1.
fn add_key(suite: usize, rule: u8) -> Vec<u8> {
    vec![0, suite as u8, rule, 1, 0, 200]
}

/// A packet of a batch: `step` says what kind of key and number.
fn push(step: u8, key: u8, offset: u16, payload_bytes: u16) -> Vec<u8> {
    let [high, low] = offset.to_be_bytes();
    let [long, short] = payload_bytes.to_be_bytes();
    vec![step, key, 0, high, low, long, short, 8, 0]
}

const BATCH: u8 = 3;
const RUN: u8 = 16;
const DROP: u8 = 1;
const PUSH: u8 = 4;
const PUSH_ONE_TIME: u8 = 0x14;
const ESN: u8 = 0x20;

/// The seeds.
pub fn seeds() -> Vec<Seed> {
    let keys: Vec<u8> = (0..SUITES.len())
        .flat_map(|suite| add_key(suite, 0))
        .collect();
    let each = |step: u8| -> Vec<u8> {
        (0..SUITES.len())
            .flat_map(|suite| push(step, suite as u8 + 1, suite as u16 * 200, 64))
            .collect()
    };
    let one_time: Vec<u8> = (0..SUITES.len())
        .flat_map(|suite| {
            let offset = suite as u16 * 200;
            [
                vec![2, suite as u8],
                push(PUSH_ONE_TIME, suite as u8, offset, 96),
            ]
            .concat()
        })
        .collect();
    let overlap = [
        push(PUSH, 1, 0, 64),
        push(PUSH, 1, 90, 64),
        push(PUSH, 1, 40, 64),
    ]
    .concat();
    let contexts = [add_key(0, 2), vec![2, 1, 1, 50], vec![2, 1, 0, 50]].concat();
    vec![
        seed("empty", []),
        seed(
            "all_suites",
            [&keys[..], &[BATCH], &each(PUSH), &[RUN, 2]].concat(),
        ),
        seed(
            "esn",
            [&keys[..], &[BATCH], &each(PUSH | ESN), &[RUN, 3]].concat(),
        ),
        seed(
            "dropped",
            [&keys[..], &[BATCH], &each(PUSH), &[DROP]].concat(),
        ),
        seed("one_time", [&[BATCH][..], &one_time, &[RUN, 5]].concat()),
        seed(
            "overlap",
            [&keys[..], &[BATCH], &overlap, &[RUN, 0]].concat(),
        ),
        seed(
            "contexts",
            [&contexts[..], &[BATCH], &push(PUSH, 1, 0, 20), &[RUN, 1]].concat(),
        ),
        seed(
            "removed",
            [&keys[..], &[1, 1], &[BATCH], &each(PUSH), &[RUN, 7]].concat(),
        ),
    ]
}
