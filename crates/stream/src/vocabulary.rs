//! The vocabulary of a pipeline: the drop reasons, event kinds and parts of the work of all its
//! stages.

use crate::disposition::{DropCode, DropCodes, DropReason, MAX_DROP_REASONS};
use crate::event::EventKind;
use crate::word::Word;
use crate::work::{MAX_WORK_ARGUMENTS, MAX_WORK_BITS, WorkArgument, WorkBit};

/// What the stages of a pipeline call things.
///
/// Every stage enters its own words when the pipeline is built
/// ([`Stage::register`](crate::Stage::register)), and keeps the numbers that they get. Stages that
/// enter the same word get the same number: so a classifier names the work of the stage
/// behind it, and so do the shards of a pipeline. Two words with one name are an error.
///
/// Numbers hold in the pipeline that they were given for.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    drop_reasons: Vec<&'static Word>,
    event_kinds: Vec<&'static Word>,
    work_bits: Vec<&'static Word>,
    work_arguments: Vec<&'static Word>,
}

/// Why a stage's words cannot be entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VocabularyError {
    /// A name would mean two things.
    #[error(
        "the {what} `{}` of {} is already one of {}: rename one of the two",
        .word.name, .word.owner, .known.owner
    )]
    Clash {
        /// Of what kind both are.
        what: &'static str,
        /// The later one.
        word: Word,
        /// The one that was entered first.
        known: Word,
    },
    /// No number is left.
    #[error("a pipeline has at most {most} {what}s: run fewer stages in it")]
    Full {
        /// Of what there would be too many.
        what: &'static str,
        /// How many there may be.
        most: usize,
    },
}

const DROP_REASON: &str = "drop reason";
const EVENT_KIND: &str = "event kind";
const WORK_BIT: &str = "work bit";
const WORK_ARGUMENT: &str = "work argument";

impl Vocabulary {
    /// Enters all reasons of a type, and returns their codes.
    ///
    /// # Errors
    /// A name is taken, or there are more than [`MAX_DROP_REASONS`].
    pub fn drop_reasons<R: DropReason>(&mut self) -> Result<DropCodes<R>, VocabularyError> {
        let mut first = None;
        for (offset, word) in R::WORDS.iter().enumerate() {
            let place = enter(&mut self.drop_reasons, word, DROP_REASON, MAX_DROP_REASONS)?;
            // Some of them are in another type's table too.
            if place != *first.get_or_insert(place) + offset {
                let (word, known) = (*word, *word);
                let what = DROP_REASON;
                return Err(VocabularyError::Clash { what, word, known });
            }
        }
        Ok(DropCodes::starting_at(first.unwrap_or_default()))
    }

    /// Enters a kind of event.
    ///
    /// # Errors
    /// The name is taken.
    pub fn event_kind(&mut self, word: &'static Word) -> Result<EventKind, VocabularyError> {
        enter(&mut self.event_kinds, word, EVENT_KIND, usize::MAX)?;
        Ok(EventKind::of(word))
    }

    /// Enters something that every record needs until it is done or a classifier takes it off.
    ///
    /// # Errors
    /// The name is taken, or there are more than [`MAX_WORK_BITS`].
    pub fn work_bit(&mut self, word: &'static Word) -> Result<WorkBit, VocabularyError> {
        enter(&mut self.work_bits, word, WORK_BIT, MAX_WORK_BITS).map(WorkBit::at)
    }

    /// Enters something that a record needs where a classifier says so, with an argument.
    ///
    /// # Errors
    /// The name is taken, or there are more than [`MAX_WORK_ARGUMENTS`].
    pub fn work_argument(&mut self, word: &'static Word) -> Result<WorkArgument, VocabularyError> {
        let list = &mut self.work_arguments;
        enter(list, word, WORK_ARGUMENT, MAX_WORK_ARGUMENTS).map(WorkArgument::at)
    }

    /// Every drop reason, in the order of their codes.
    pub fn drop_reason_words(&self) -> impl Iterator<Item = (DropCode, &'static Word)> {
        DropCode::all().zip(self.drop_reasons.iter().copied())
    }

    /// The code of a reason, if its type was entered.
    pub fn code_of<R: DropReason>(&self, reason: R) -> Option<DropCode> {
        let mut words = self.drop_reason_words();
        let found = words.find(|(_, word)| *word == reason.word());
        found.map(|(code, _)| code)
    }
}

/// The place of a word in a list, to which it is added where it is new.
fn enter(
    list: &mut Vec<&'static Word>,
    word: &'static Word,
    what: &'static str,
    most: usize,
) -> Result<usize, VocabularyError> {
    let place = list.iter().position(|known| known.name == word.name);
    match place {
        Some(place) if list[place] == word => Ok(place),
        Some(place) => Err(VocabularyError::Clash {
            what,
            word: *word,
            known: *list[place],
        }),
        None if list.len() == most => Err(VocabularyError::Full { what, most }),
        None => {
            list.push(word);
            Ok(list.len() - 1)
        }
    }
}

#[cfg(test)]
mod tests;
