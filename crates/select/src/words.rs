//! The notation of sets: single words, `!word`, and lists
//! `[word,!word,[word,word]]` as in Snort's rules, brackets optional around
//! the outermost list.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserializer, SeqAccess, Visitor};

/// Why a set could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// A word that is not valid at its position.
    #[error("{word:?} is not {expected}")]
    Word {
        /// The word at fault.
        word: String,
        /// What would have been valid.
        expected: &'static str,
    },
    /// A range whose last number is before its first, or of two families.
    #[error("range {word:?} does not run from a lower to a higher value")]
    Backwards {
        /// The range at fault.
        word: String,
    },
    /// Brackets that do not pair, or words without a comma between them.
    #[error("unbalanced brackets or missing comma in {text:?}")]
    Brackets {
        /// The whole input.
        text: String,
    },
    /// Lists nested too deeply.
    #[error("lists are nested more than {} deep", MAX_DEPTH)]
    TooDeep,
    /// A set without members, as `!any` or `[80,!80]`.
    #[error("{text:?} matches nothing")]
    Nothing {
        /// The whole input.
        text: String,
    },
}

/// Bounds the recursion of the parser.
const MAX_DEPTH: usize = 16;

/// A set with a textual notation.
pub(crate) trait WordSet: Sized {
    const EXPECTED: &'static str;
    fn any() -> Self;
    /// The set of one word other than `any`. `None` where it is not
    /// understood.
    fn word(word: &str) -> Option<Result<Self, Backwards>>;
    fn union_of(sets: Vec<Self>) -> Self;
    fn minus(&self, other: &Self) -> Self;
    fn is_nothing(&self) -> bool;
}

/// A range that runs backwards.
pub(crate) struct Backwards;

/// Splits `first-last` at any of the given marks.
pub(crate) fn split_range<'a>(word: &'a str, marks: &[char]) -> Option<(&'a str, &'a str)> {
    let (first, last) = word.split_once(marks)?;
    Some((first.trim(), last.trim()))
}

/// Reads a set that must have members.
pub(crate) fn parse<S: WordSet>(text: &str) -> Result<S, SetError> {
    let mut reader = Reader { text, rest: text };
    let set: S = reader.list(0)?;
    if !reader.rest.is_empty() {
        return Err(reader.brackets());
    }
    if set.is_nothing() {
        return Err(SetError::Nothing {
            text: text.to_owned(),
        });
    }
    Ok(set)
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl Reader<'_> {
    /// Items up to the end of the text or a closing bracket: the union of
    /// the plain ones (everything if there is none) without the negated ones.
    fn list<S: WordSet>(&mut self, depth: usize) -> Result<S, SetError> {
        if depth > MAX_DEPTH {
            return Err(SetError::TooDeep);
        }
        let (mut plain, mut negated) = (Vec::new(), Vec::new());
        loop {
            self.rest = self.rest.trim_start();
            let (is_negated, after) = match self.rest.strip_prefix('!') {
                Some(after) => (true, after.trim_start()),
                None => (false, self.rest),
            };
            self.rest = after;
            let item = self.item(depth)?;
            if is_negated {
                negated.push(item);
            } else {
                plain.push(item);
            }
            self.rest = self.rest.trim_start();
            match self.rest.strip_prefix(',') {
                Some(after) => self.rest = after,
                None => break,
            }
        }
        let union = if plain.is_empty() {
            S::any()
        } else {
            S::union_of(plain)
        };
        Ok(if negated.is_empty() {
            union
        } else {
            union.minus(&S::union_of(negated))
        })
    }

    fn item<S: WordSet>(&mut self, depth: usize) -> Result<S, SetError> {
        if let Some(after) = self.rest.strip_prefix('[') {
            self.rest = after;
            let set = self.list(depth + 1)?;
            self.rest = self.rest.strip_prefix(']').ok_or_else(|| self.brackets())?;
            return Ok(set);
        }
        let end = self
            .rest
            .find([',', '[', ']', '!'])
            .unwrap_or(self.rest.len());
        let (word, after) = self.rest.split_at(end);
        self.rest = after;
        let word = word.trim();
        if word.eq_ignore_ascii_case("any") {
            return Ok(S::any());
        }
        match S::word(word) {
            Some(Ok(set)) => Ok(set),
            Some(Err(Backwards)) => Err(SetError::Backwards {
                word: word.to_owned(),
            }),
            None => Err(SetError::Word {
                word: word.to_owned(),
                expected: S::EXPECTED,
            }),
        }
    }

    fn brackets(&self) -> SetError {
        SetError::Brackets {
            text: self.text.to_owned(),
        }
    }
}

/// Reads a set from a string, a number, or a list of both.
pub(crate) fn deserialize<'de, S: WordSet, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<S, D::Error> {
    deserializer.deserialize_any(SetVisitor(PhantomData))
}

struct SetVisitor<S>(PhantomData<S>);

impl<'de, S: WordSet> Visitor<'de> for SetVisitor<S> {
    type Value = S;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, or a list", S::EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<S, E> {
        parse(text).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<S, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<S, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<S, A::Error> {
        let mut text = String::new();
        while let Some(Word(word)) = list.next_element()? {
            text.push(if text.is_empty() { '[' } else { ',' });
            text.push_str(&word);
        }
        if text.is_empty() {
            return Err(de::Error::invalid_length(0, &"at least one word"));
        }
        text.push(']');
        self.visit_str(&text)
    }
}

/// One entry of a list, in the notation of a string.
struct Word(String);

impl<'de> de::Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
        deserializer.deserialize_any(WordVisitor)
    }
}

struct WordVisitor;

impl Visitor<'_> for WordVisitor {
    type Value = Word;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word or a number")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Word, E> {
        Ok(Word(word.to_owned()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Word, E> {
        Ok(Word(number.to_string()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Word, E> {
        Ok(Word(number.to_string()))
    }
}

/// The traits that every set implements.
macro_rules! word_set_traits {
    ($set:ty) => {
        impl std::str::FromStr for $set {
            type Err = $crate::SetError;

            fn from_str(text: &str) -> Result<Self, $crate::SetError> {
                $crate::words::parse(text)
            }
        }

        impl<'de> serde::Deserialize<'de> for $set {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::words::deserialize(deserializer)
            }
        }
    };
}
pub(crate) use word_set_traits;

#[cfg(test)]
mod tests;
