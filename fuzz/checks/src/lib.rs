//! What must hold for any input of Weir's parsers, and of its batches of packets.
//!
//! Each module takes one input format. Its `check` accepts any bytes and
//! panics where a promise of the parser is broken; its `seeds` are the inputs
//! that fuzzing starts from, made here by hand or by Weir's own writers. The
//! programs in `fuzz_targets` hand `check` to libFuzzer. The `replay` program
//! runs the same checks without it: first over the corpus, then over
//! [`mutation`]s of it that are the same in every run.
//!
//! ```text
//!  seeds() ── program `seeds` ──► corpus/TARGET/* ──► libFuzzer ──┐
//!                                        │                       ├──► check()
//!                                        └──► replay, mutation ──┘
//! ```
//!
//! An input that broke a promise is kept in `corpus/TARGET` under a name that
//! says what it broke, so that every later run tries it first.

pub mod capture;
pub mod contents;
pub mod crypto_batch;
pub mod esp;
pub mod fabric;
pub mod fabric_file;
pub mod fabric_secure;
pub mod headers;
pub mod inspection;
pub mod mutation;
pub mod receiver;
pub mod rules;
pub mod sa_file;
pub mod sketch;

/// A parser under test.
pub struct Target {
    /// Name of its program and of its folder in the corpus.
    pub name: &'static str,
    /// Panics where a promise is broken.
    pub check: fn(&[u8]),
    /// Inputs to start from.
    pub seeds: fn() -> Vec<Seed>,
    /// Words of the format, for mutations to insert.
    pub words: &'static [&'static [u8]],
}

/// An input to start from.
pub struct Seed {
    /// File name in the corpus.
    pub name: &'static str,
    /// The input.
    pub bytes: Vec<u8>,
}

/// A seed.
fn seed(name: &'static str, bytes: impl Into<Vec<u8>>) -> Seed {
    Seed {
        name,
        bytes: bytes.into(),
    }
}

macro_rules! targets {
    ($($name:ident),*) => {
        &[$(Target {
            name: stringify!($name),
            check: $name::check,
            seeds: $name::seeds,
            words: $name::WORDS,
        }),*]
    };
}

/// Every parser that takes input from outside.
pub const TARGETS: &[Target] = targets![
    capture,
    headers,
    rules,
    contents,
    inspection,
    receiver,
    esp,
    sa_file,
    sketch,
    crypto_batch,
    fabric,
    fabric_secure,
    fabric_file
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Promises hold for all seeds, and the corpus has them as they are made
    /// now. Where it has not, run the program `seeds`.
    #[test]
    fn the_corpus_holds_every_seed() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
        for target in TARGETS {
            for seed in (target.seeds)() {
                (target.check)(&seed.bytes);
                let file = corpus.join(target.name).join(seed.name);
                assert!(
                    std::fs::read(&file).is_ok_and(|bytes| bytes == seed.bytes),
                    "{} is not the seed",
                    file.display()
                );
            }
        }
    }
}
