//! Kernel 1: the packet's first bytes (5.2.3).

use super::hashing::Hashing;
use super::query::{Query, QueryResults};
use super::{Design, LENGTHS};
use crate::stream_processor::applications::broadcast;
use crate::stream_processor::applications::tree::Tree;
use crate::stream_processor::kernel::{BuildError, Builder, Kernel, Value};

/// Kernel 1 of a design: the windows that begin in the first bytes of the
/// packet and end there, and the hashes with which kernel 2 begins.
///
/// Its inputs are the packet, a word in a record, or the hashes of the
/// processor before and the word of the packet that they lack; and the
/// functions' parameters. Its outputs are a word of results for each length,
/// and the hashes of all windows that end at the last of these bytes: of the
/// longest, which is an intermediate hash, and of the others, the shortest
/// first. These few
/// queries are the scratchpads' also where the filter is in memory.
pub fn start(clusters: usize, design: &Design) -> Result<Kernel, BuildError> {
    let mut k = Builder::new(&design.kernel_name(1));
    let packet = k.input("packet", 1);
    let before = design
        .starts_with_hashes()
        .then(|| k.input("intermediate hashes", LENGTHS as u32 + 1));
    // Where windows begin: the last ones are the shortest that are carried.
    let windows = design.carried() + 1;
    let from = design.first_place();
    let hashing = Hashing::declare(&mut k, clusters, design, from + 1);
    let query = Query::in_cluster(&mut k, clusters, design);
    let tree = Tree::declare(&mut k, clusters);
    let matches = k.output("matches", LENGTHS as u32);
    let longest = k.output("intermediate hashes on", 1);
    let after = k.output("hashes after", design.carried() as u32);

    let first_word = from / 4;
    let words = design.prefix_bytes() / 4 - first_word;
    let mut items = Vec::with_capacity(4 * words);
    let mut row = None;
    for word in 0..words {
        let source = word % clusters;
        let own = match row {
            Some(own) if source > 0 => own,
            _ => k.read(packet)[0],
        };
        row = Some(own);
        let word = broadcast(&mut k, clusters, own, source as u32);
        items.extend((0..4).map(|byte| hashing.item(&mut k, word, byte)));
    }
    let before = before.map(|stream| k.read(stream));

    let mut results = QueryResults::none();
    let mut states: Vec<Value> = Vec::with_capacity(windows);
    for window in 0..windows {
        let mut length = from;
        let mut state = before.as_ref().map(|hashes| hashes[window]);
        for &item in &items[items.len() - (design.prefix_bytes() - from - window)..] {
            let made = match state {
                Some(state) => hashing.append(&mut k, state, length, item),
                None => hashing.begin(&mut k, item),
            };
            length += 1;
            state = Some(made);
            if let Some(n) = length.checked_sub(design.shortest()) {
                let hash = hashing.finish(&mut k, made);
                results.query(&mut k, &query, n, hash);
            }
        }
        states.extend(state);
    }
    states.reverse();
    results.give(&mut k, &tree, matches);
    k.write(longest, &states.split_off(design.carried()));
    k.write(after, &states);
    k.finish()
}
