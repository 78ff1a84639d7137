//! Other ways to deal out packets: one to each cluster (figure 2.1), and two in
//! one stream (2.7, figures 2.28 and 2.29).

use super::rounds::{add_round_key, last_round, round};
use super::{ROUNDS, SETS, SUB_KEY_WORDS, declare_sub_keys, declare_table};
use crate::stream_processor::kernel::{
    ArrayId, BuildError, Builder, Kernel, Over, Placement, ScalarId, Value,
};

/// Whitening and nine rounds, one packet per cluster, under the
/// key that it expanded: nothing is sent.
pub fn core_apart() -> Result<Kernel, BuildError> {
    let mut k = Builder::new("aes-core-per-cluster");
    let text = k.input("text", 4);
    let state = k.output("state", 4);
    let table = declare_table(&mut k);
    let sub_keys = declare_sub_keys(&mut k, SETS);
    let (zero, four) = (k.constant(0), k.constant(4));
    let whitening = four_words(&mut k, sub_keys, zero, 0);
    k.repeat(Over::records(text).label("blocks"), &[], |k, _| {
        let block = k.read(text);
        let words = add_round_key(k, &block, &whitening);
        let words = rounds(k, table, sub_keys, four, words);
        k.write(state, &words);
        vec![]
    });
    k.finish()
}

/// The last round, one packet per cluster.
pub fn final_round_apart() -> Result<Kernel, BuildError> {
    let mut k = Builder::new("aes-final-round-per-cluster");
    let state = k.input("state", 4);
    let text = k.output("cipher text", 4);
    let table = declare_table(&mut k);
    let sub_keys = declare_sub_keys(&mut k, SETS);
    let zero = k.constant(0);
    let keys = four_words(&mut k, sub_keys, zero, 4 * ROUNDS);
    k.repeat(Over::records(state).label("blocks"), &[], |k, _| {
        let words = k.read(state);
        let columns = last_round(k, table, &words, &keys);
        k.write(text, &columns);
        vec![]
    });
    k.finish()
}

/// Four words of an array, from an index and an offset on.
fn four_words(k: &mut Builder, array: ArrayId, at: Value, offset: u32) -> Vec<Value> {
    (offset..offset + 4)
        .map(|offset| k.scratch_read(array, at, offset))
        .collect()
}

/// Nine rounds under the sub-keys from an index on.
fn rounds(
    k: &mut Builder,
    table: ArrayId,
    keys: ArrayId,
    from: Value,
    words: Vec<Value>,
) -> Vec<Value> {
    let four = k.constant(4);
    let carried = [vec![from], words].concat();
    let over = Over::count(ROUNDS - 1).label("rounds");
    let mut after = k.repeat(over, &carried, |k, carried| {
        let round_keys = four_words(k, keys, carried[0], 0);
        let mut next = vec![k.add(carried[0], four)];
        next.extend(round(k, table, &carried[1..], &round_keys));
        next
    });
    after.split_off(1)
}

/// The sub-keys of two packets in one stream, which clusters choose by the
/// number of their block.
struct Two {
    sub_keys: ArrayId,
    sources: [[ScalarId; 2]; 2],
    boundary: ScalarId,
}

impl Two {
    fn declare(k: &mut Builder) -> Two {
        Two {
            sub_keys: declare_sub_keys(k, SETS),
            sources: ["first", "second"].map(|which| {
                ["source", "offset"].map(|what| k.scalar_parameter(&format!("{which} key {what}")))
            }),
            boundary: k.scalar_parameter("blocks of the first packet"),
        }
    }

    /// Four sub-keys of each packet from `at + offset` on, sent by those who
    /// have them; `at` begins with [`Two::first`].
    fn send(&self, k: &mut Builder, at: &[Value], offset: u32) -> [Vec<Value>; 2] {
        [0, 1].map(|which| {
            let source = k.scalar(self.sources[which][0]);
            four_words(k, self.sub_keys, at[which], offset)
                .into_iter()
                .map(|word| k.communicate(word, source))
                .collect()
        })
    }

    /// Where the sub-keys of both begin.
    fn first(&self, k: &mut Builder) -> Vec<Value> {
        self.sources.map(|[_, offset]| k.scalar(offset)).to_vec()
    }

    /// Whether a block is the first packet's.
    fn is_first(&self, k: &mut Builder, number: Value) -> Value {
        let boundary = k.scalar(self.boundary);
        k.less(number, boundary)
    }
}

/// Whitening and nine rounds of two packets in one stream. Their sub-keys are in
/// two buffers of each cluster.
pub fn core_merged() -> Result<Kernel, BuildError> {
    let mut k = Builder::new("aes-core-merged");
    let text = k.input("text", 4);
    let state = k.output("state", 4);
    let table = declare_table(&mut k);
    let two = Two::declare(&mut k);
    let buffers = k.array("aes two buffers", 2 * SUB_KEY_WORDS, Placement::Unit(1));

    let (zero, four, second) = (k.constant(0), k.constant(4), k.constant(SUB_KEY_WORDS));
    let carried = [two.first(&mut k), vec![zero]].concat();
    let over = Over::count(ROUNDS).label("key distribution");
    k.repeat(over, &carried, |k, carried| {
        let sent = two.send(k, carried, 0);
        for (words, buffer) in sent.into_iter().zip([0, SUB_KEY_WORDS]) {
            for (word, offset) in words.into_iter().zip(buffer..) {
                k.scratch_write(buffers, carried[2], offset, word);
            }
        }
        carried.iter().map(|&at| k.add(at, four)).collect()
    });
    let (own, clusters) = (k.cluster_id(), k.cluster_count());
    k.repeat(Over::records(text).label("blocks"), &[own], |k, carried| {
        let is_first = two.is_first(k, carried[0]);
        let buffer = k.select(is_first, zero, second);
        let block = k.read(text);
        let whitening = four_words(k, buffers, buffer, 0);
        let words = add_round_key(k, &block, &whitening);
        let from = k.add(buffer, four);
        let words = rounds(k, table, buffers, from, words);
        k.write(state, &words);
        vec![k.add(carried[0], clusters)]
    });
    k.finish()
}

/// The last round of two packets in one stream.
pub fn final_round_merged() -> Result<Kernel, BuildError> {
    let mut k = Builder::new("aes-final-round-merged");
    let state = k.input("state", 4);
    let text = k.output("cipher text", 4);
    let table = declare_table(&mut k);
    let two = Two::declare(&mut k);
    let at = two.first(&mut k);
    let keys = two.send(&mut k, &at, 4 * ROUNDS);
    let (own, clusters) = (k.cluster_id(), k.cluster_count());
    k.repeat(
        Over::records(state).label("blocks"),
        &[own],
        |k, carried| {
            let is_first = two.is_first(k, carried[0]);
            let chosen: Vec<Value> = (0..4)
                .map(|column| k.select(is_first, keys[0][column], keys[1][column]))
                .collect();
            let words = k.read(state);
            let columns = last_round(k, table, &words, &chosen);
            k.write(text, &columns);
            vec![k.add(carried[0], clusters)]
        },
    );
    k.finish()
}
