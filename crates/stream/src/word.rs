//! Words: what crates add to the vocabulary of a pipeline.

/// The name of a drop reason, an event kind or a part of the work, as the crate that owns
/// it declares it, in a constant:
///
/// ```
/// use weir_stream::Word;
///
/// const EXPIRING: Word = Word::new(env!("CARGO_PKG_NAME"), "expiring", "It has one hop left.");
/// ```
///
/// A stage enters it into the [`Vocabulary`](crate::Vocabulary) of its pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The crate that declares it.
    pub owner: &'static str,
    /// The name that reports use, as in `too_few_hops`.
    pub name: &'static str,
    /// What it means, in a sentence or two; where a standard defines it, with its section.
    pub meaning: &'static str,
}

impl Word {
    /// A word; white space around the meaning is left out.
    pub const fn new(owner: &'static str, name: &'static str, meaning: &'static str) -> Word {
        Word {
            owner,
            name,
            meaning: meaning.trim_ascii(),
        }
    }
}
