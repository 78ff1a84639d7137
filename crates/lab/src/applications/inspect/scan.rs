//! Kernel 2: the rest of the packet, a byte at a time (5.2.3).

use super::hashing::Hashing;
use super::query::{Answers, Query, Tree, address};
use super::{Design, LENGTHS, Position, QUERIES};
use crate::applications::broadcast;
use crate::kernel::{BuildError, Builder, Kernel, OutputId, Over, Value};

/// Kernel 2 of a design.
///
/// Its inputs are the packet, a word in a record; the hashes with which the
/// strip begins; after other processors, their intermediate hashes, a word for
/// each byte of a row of the packet; and the functions' parameters. Its outputs
/// are a word of answers for each length and 32 bytes, or addresses and hashes
/// for a filter in memory; the intermediate hashes for the processor after;
/// and the hashes with which the next strip begins.
pub fn scan(clusters: usize, design: &Design) -> Result<Kernel, BuildError> {
    let row_bytes = 4 * clusters as u32;
    let rows = (QUERIES as u32 / row_bytes).max(1);
    let carried = design.carried() as u32;
    let mut k = Builder::new("inspect-2");
    let packet = k.input("packet", 1);
    let before = k.input("hashes before", carried);
    let shorter = match design.position {
        Position::First => None,
        Position::After(_) => Some(k.input("intermediate hashes", row_bytes)),
    };
    let hashing = Hashing::declare(&mut k, design, design.shortest_made());
    let asked = Asked::declare(&mut k, clusters, design);
    let longest = k.output("intermediate hashes on", row_bytes);
    let after = k.output("hashes after", carried);

    let states = k.read(before);
    let states = k.repeat(
        Over::several_records(packet, rows).label("packet"),
        &states,
        |k, states| {
            let mut states = states.to_vec();
            let mut answers = Answers::none();
            for _ in 0..rows {
                let word = k.read(packet)[0];
                let shorter = shorter.map(|stream| k.read(stream));
                let mut made = Vec::with_capacity(row_bytes as usize);
                for source in 0..clusters as u32 {
                    let word = broadcast(k, clusters, word, source);
                    for byte in 0..4 {
                        let item = hashing.item(k, word, byte);
                        let from = design.shortest_carried();
                        let mut grown: Vec<Value> = (from..)
                            .zip(&states)
                            .map(|(length, &state)| hashing.append(k, state, length, item))
                            .collect();
                        let hashes: Vec<Value> = grown[grown.len() - LENGTHS..]
                            .to_vec()
                            .into_iter()
                            .map(|state| hashing.finish(k, state))
                            .collect();
                        asked.ask(k, &mut answers, &hashes);
                        made.extend(grown.pop());
                        let next = match &shorter {
                            Some(words) => words[made.len() - 1],
                            None => hashing.begin(k, item),
                        };
                        grown.insert(0, next);
                        states = grown;
                    }
                    if (source + 1).is_multiple_of(QUERIES as u32 / 4) {
                        asked.give(k, std::mem::replace(&mut answers, Answers::none()));
                    }
                }
                k.write(longest, &made);
            }
            if clusters < QUERIES / 4 {
                asked.give(k, answers);
            }
            states
        },
    );
    k.write(after, &states);
    k.finish()
}

/// What is done with hashes.
enum Asked {
    Here(Query, Tree, OutputId),
    InMemory {
        addresses: OutputId,
        hashes: OutputId,
    },
}

impl Asked {
    fn declare(k: &mut Builder, clusters: usize, design: &Design) -> Asked {
        let words = LENGTHS as u32;
        match Query::declare(k, design) {
            Some(query) => {
                let tree = Tree::declare(k, clusters);
                Asked::Here(query, tree, k.output("matches", words))
            }
            None => Asked::InMemory {
                addresses: k.output("addresses", words),
                hashes: k.output("hashes", words),
            },
        }
    }

    fn ask(&self, k: &mut Builder, answers: &mut Answers, given: &[Value]) {
        match self {
            Asked::Here(query, ..) => {
                for (n, &hash) in given.iter().enumerate() {
                    answers.ask(k, query, n, hash);
                }
            }
            Asked::InMemory { addresses, hashes } => {
                let places: Vec<Value> = given.iter().map(|&hash| address(k, hash)).collect();
                k.write(*addresses, &places);
                k.write(*hashes, given);
            }
        }
    }

    fn give(&self, k: &mut Builder, answers: Answers) {
        if let Asked::Here(_, tree, matches) = self {
            answers.give(k, tree, *matches);
        }
    }
}
