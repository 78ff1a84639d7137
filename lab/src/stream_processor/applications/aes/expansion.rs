//! The key schedule (FIPS 197, 5.2; figure 2.8).

use super::{ROUNDS, SETS, SUB_KEY_WORDS, declare_sub_keys, declare_table, double, substitute};
use crate::stream_processor::kernel::{
    ArrayId, BuildError, Builder, Kernel, OutputId, Over, Value,
};

/// One key in each cluster.
pub fn key_expansion() -> Result<Kernel, BuildError> {
    expansion("aes-key-expansion", 1)
}

/// Two keys in each cluster.
pub fn key_expansion_dual() -> Result<Kernel, BuildError> {
    expansion("aes-key-expansion-dual", 2)
}

/// One key in each cluster; a scalar names the word of the array, which has so
/// many sets, from which on its sub-keys are kept.
pub(super) fn key_expansion_kept(sets: u32) -> Result<Kernel, BuildError> {
    let mut k = Builder::new("aes-key-expansion-cached");
    let place = k.scalar_parameter("key offset");
    let first = k.scalar(place);
    let four = k.constant(4);
    let after = k.add(first, four);
    expand(k, 1, sets, [first, after])
}

fn expansion(name: &str, keys: u32) -> Result<Kernel, BuildError> {
    let mut k = Builder::new(name);
    let places = [0, 4].map(|place| k.constant(place));
    expand(k, keys, SETS, places)
}

/// Keeps keys from one place on, and what follows from the other.
fn expand(
    mut k: Builder,
    keys: u32,
    sets: u32,
    [first, after]: [Value; 2],
) -> Result<Kernel, BuildError> {
    let input = k.input("keys", 4);
    let sub_keys = k.output("sub-keys", 4);
    let table = declare_table(&mut k);
    let kept = declare_sub_keys(&mut k, sets);

    let four = k.constant(4);
    let mut carried = vec![after, k.constant(1)];
    for set in 0..keys {
        let key = k.read(input);
        store(&mut k, sub_keys, kept, first, set, &key);
        carried.extend(key);
    }
    k.repeat(
        Over::count(ROUNDS).label("rounds"),
        &carried,
        |k, carried| {
            let (at, rcon) = (carried[0], carried[1]);
            let mut next = vec![k.add(at, four), next_rcon(k, rcon)];
            for (set, words) in (0..).zip(carried[2..].chunks(4)) {
                let words = next_sub_keys(k, table, words, rcon);
                store(k, sub_keys, kept, at, set, &words);
                next.extend(words);
            }
            next
        },
    );
    k.finish()
}

/// The round constant after this one.
fn next_rcon(k: &mut Builder, rcon: Value) -> Value {
    let (half, reduction) = (k.constant(0x80), k.constant(u32::from(double(0x80))));
    let doubled = k.shift_left(rcon, 1);
    let below = k.less(rcon, half);
    k.select(below, doubled, reduction)
}

/// The four sub-keys after these.
fn next_sub_keys(k: &mut Builder, table: ArrayId, words: &[Value], rcon: Value) -> Vec<Value> {
    // RotWord takes row r from row r + 1.
    let parts: Vec<Value> = (0..4)
        .map(|row| substitute(k, table, words[3], (row + 1) % 4, row))
        .collect();
    let turned = k.xor_all(&parts);
    let mut last = k.xor(turned, rcon);
    words
        .iter()
        .map(|&word| {
            last = k.xor(word, last);
            last
        })
        .collect()
}

/// Keeps four sub-keys of a set and gives them out.
fn store(k: &mut Builder, stream: OutputId, kept: ArrayId, at: Value, set: u32, words: &[Value]) {
    for (offset, &word) in (set * SUB_KEY_WORDS..).zip(words) {
        k.scratch_write(kept, at, offset, word);
    }
    k.write(stream, words);
}
