//! Words that are entered twice, clash, or are too many.

use super::*;

crate::drop_reasons! {
    /// Of one crate.
    enum Lost {
        /// It is lost,
        /// and nobody knows why.
        Mislaid = "mislaid",
        /// It is stolen.
        Stolen = "stolen",
    }
}

crate::drop_reasons! {
    /// Of another one.
    enum Refused {
        /// It is not wanted.
        Unwanted = "unwanted",
    }
}

/// Names that are taken, with another meaning.
#[derive(Clone, Copy)]
struct Other;

impl DropReason for Other {
    const ALL: &'static [Other] = &[Other];
    const WORDS: &'static [Word] = &[Word::new("other", "stolen", "It is a thief's.")];

    fn index(self) -> usize {
        0
    }
}

/// A part of the reasons of [`Lost`], behind one of its own.
#[derive(Clone, Copy)]
struct Overlapping;

impl DropReason for Overlapping {
    const ALL: &'static [Overlapping] = &[Overlapping, Overlapping];
    const WORDS: &'static [Word] = &[Word::new("other", "own", ""), Lost::WORDS[0]];

    fn index(self) -> usize {
        1
    }
}

const EVENT: Word = Word::new("a", "found", "It was found.");
const OTHER_EVENT: Word = Word::new("b", "found", "It was found.");

#[test]
fn every_type_has_codes_of_its_own() {
    let mut vocabulary = Vocabulary::default();
    let lost = vocabulary.drop_reasons::<Lost>().expect("room");
    let refused = vocabulary.drop_reasons::<Refused>().expect("room");
    let codes = [
        lost.code(Lost::Mislaid),
        lost.code(Lost::Stolen),
        refused.code(Refused::Unwanted),
    ];
    assert_eq!(codes.map(DropCode::index), [0, 1, 2]);
    assert_eq!(
        codes.map(|code| lost.reason(code)),
        [Some(Lost::Mislaid), Some(Lost::Stolen), None]
    );
    assert_eq!(refused.reason(codes[1]), None);
    assert_eq!(refused.reason(codes[2]), Some(Refused::Unwanted));
    // The next shard enters the same.
    let again = vocabulary.drop_reasons::<Refused>().expect("known");
    assert_eq!(again.code(Refused::Unwanted), codes[2]);
    let words = vocabulary.drop_reason_words();
    let names: Vec<_> = words.map(|(_, word)| word.name).collect();
    assert_eq!(names, ["mislaid", "stolen", "unwanted"]);
    assert_eq!(vocabulary.code_of(Lost::Stolen), Some(codes[1]));
    assert_eq!(Vocabulary::default().code_of(Lost::Stolen), None);
    assert_eq!(
        Lost::Mislaid.word(),
        &Word::new(
            "weir-stream",
            "mislaid",
            "It is lost, and nobody knows why."
        )
    );
}

#[test]
fn a_name_means_one_thing() {
    let mut vocabulary = Vocabulary::default();
    vocabulary.drop_reasons::<Lost>().expect("room");
    let error = vocabulary.drop_reasons::<Other>().err().expect("a clash");
    assert_eq!(
        error.to_string(),
        "the drop reason `stolen` of other is already one of weir-stream: rename one of the two"
    );
    assert!(vocabulary.drop_reasons::<Overlapping>().is_err());

    vocabulary.event_kind(&EVENT).expect("new");
    let known = vocabulary.event_kind(&EVENT).expect("known");
    assert!(known.is(&EVENT) && !known.is(&OTHER_EVENT));
    assert!(vocabulary.event_kind(&OTHER_EVENT).is_err());
    vocabulary.work_bit(&EVENT).expect("another list");
    assert!(vocabulary.work_bit(&OTHER_EVENT).is_err());
    vocabulary.work_argument(&OTHER_EVENT).expect("one more");
    assert!(vocabulary.work_argument(&EVENT).is_err());
}

/// Words with the names of the numbers from 0 on.
fn words(count: usize) -> impl Iterator<Item = &'static Word> {
    (0..count).map(|number| {
        let name: &'static str = Box::leak(number.to_string().into());
        &*Box::leak(Box::new(Word::new("many", name, "")))
    })
}

#[test]
fn numbers_are_bounded() {
    let mut vocabulary = Vocabulary::default();
    for word in words(MAX_WORK_BITS) {
        vocabulary.work_bit(word).expect("room");
    }
    for word in words(MAX_WORK_ARGUMENTS) {
        vocabulary.work_argument(word).expect("room");
    }
    for word in words(MAX_DROP_REASONS - 1) {
        enter(
            &mut vocabulary.drop_reasons,
            word,
            DROP_REASON,
            MAX_DROP_REASONS,
        )
        .expect("room");
    }
    for full in [
        vocabulary.work_bit(&EVENT).map(drop),
        vocabulary.work_argument(&EVENT).map(drop),
        vocabulary.drop_reasons::<Lost>().map(drop),
    ] {
        let error = full.expect_err("no number is left");
        assert!(matches!(error, VocabularyError::Full { .. }), "{error}");
    }
}
