//! What a rule requires of a payload: its `content` and `pcre` options in order.
//!
//! A step that is placed by `offset` and `depth` looks at the payload, one
//! that is placed by `distance` and `within` (or a pattern with the flag `R`)
//! at what follows the last match, the *cursor*. A rule matches if there is
//! some choice of occurrences for which every step holds; the first
//! occurrence of one content need not be the one from which the next is
//! reached.
//!
//! That choice is not searched for by trying, going back and trying again,
//! which hostile payloads can make arbitrarily long. A step turns the set of
//! *all* cursors that can be reached into the next such set:
//!
//! ```text
//!  payload       a a b a b c
//!  a             ·^·^· ·^            cursors {1, 2, 4}
//!  b, within 1         ·^· ·^        cursors {3, 5}     reached from 2 and from 4
//!  c, within 1               ·^      cursors {6}        reached from 5
//! ```
//!
//! Cursors and occurrences are both met in ascending order, so a content
//! costs one pass over the payload. A pattern with the flag `R` costs one
//! search per cursor, and of these there are at most [`MAX_PATTERN_SEARCHES`];
//! a payload that needs more is counted as `search_limited`.
//!
//! A pattern with look-around or a back-reference has to try, go back and try
//! again; each of its searches takes at most [`MAX_PATTERN_STEPS`].
//!
//! However many rules wait for the rest of a stream, what their trials look at
//! for one packet is bounded too: after [`MAX_TRIED_BYTES`] no further trial
//! begins, which is counted as `trials_put_off`.

mod backtrack;
mod bytes;
mod content;
mod cursors;
mod pattern;

pub use backtrack::MAX_PATTERN_STEPS;
pub(crate) use bytes::{
    Align, ByteExtract, ByteJump, ByteTest, Comparison, Field, JumpFrom, MAX_BINARY_BYTES,
    MAX_TEXT_BYTES,
};
pub(crate) use content::Content;
pub(crate) use cursors::Cursors;
pub(crate) use pattern::{Pattern, PatternError, PatternText};

use std::ops::Range;

use crate::range::NumberRange;

/// Most matches of patterns, and most values of `byte_extract`, that are
/// followed up for one rule and text.
pub const MAX_PATTERN_SEARCHES: usize = 128;
/// Most bytes that the trials of rules look at for one packet, a byte as often
/// as it is looked at; the trial that comes to it ends with its search at hand.
/// A rule that it keeps from being tried for a stream, or for a message that
/// goes on, is tried again with the next packet; for the packet by itself it is
/// not.
pub const MAX_TRIED_BYTES: usize = 4 << 20;
/// Most values that the `byte_extract` options of one rule name.
pub(crate) const MAX_VARIABLES: usize = 8;

/// What a rule is matched against: a payload, what is kept of a stream, or a
/// part of a message.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Text<'a> {
    pub(crate) bytes: &'a [u8],
    /// Bytes of the stream in front of these, which are there no more; 0 for
    /// all other texts. What is placed from the start counts from there.
    pub(crate) base: u64,
}

impl<'a> Text<'a> {
    /// A text that is there from its start.
    pub(crate) fn whole(bytes: &'a [u8]) -> Text<'a> {
        Text { bytes, base: 0 }
    }

    /// Where the text would begin, seen from the first byte that is there.
    fn start(&self) -> i64 {
        -i64::try_from(self.base).unwrap_or(i64::MAX >> 1)
    }
}

/// A number in a rule: written there, or taken from the text by
/// `byte_extract`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    Fixed(i64),
    /// The variable with this index.
    Variable(u8),
}

/// Variables that steps set and use: a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VariableSets {
    pub(crate) set: u8,
    pub(crate) used: u8,
}

/// Values of the variables of a rule.
pub(crate) type Variables = [i64; MAX_VARIABLES];

impl Amount {
    /// The variable, as a bit.
    fn bit(self) -> u8 {
        match self {
            Amount::Fixed(_) => 0,
            Amount::Variable(index) => 1 << (usize::from(index) % MAX_VARIABLES),
        }
    }

    fn value(self, variables: &Variables) -> i64 {
        match self {
            Amount::Fixed(number) => number,
            Amount::Variable(index) => variables[usize::from(index) % MAX_VARIABLES],
        }
    }
}

/// Where a content may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// From `offset` on, for `depth` bytes.
    Absolute {
        offset: Amount,
        depth: Option<Amount>,
    },
    /// From `distance` bytes after the cursor on, for `within` bytes.
    Relative {
        distance: Amount,
        within: Option<Amount>,
    },
}

impl Place {
    fn is_relative(self) -> bool {
        matches!(self, Place::Relative { .. })
    }

    /// The bytes among which the content must lie.
    fn window(self, cursor: u32, text: &Text<'_>, variables: &Variables) -> Range<usize> {
        let (origin, skipped, length) = match self {
            Place::Absolute { offset, depth } => (text.start(), offset, depth),
            Place::Relative { distance, within } => (i64::from(cursor), distance, within),
        };
        let start = origin.saturating_add(skipped.value(variables));
        let text_end = text.bytes.len() as i64;
        let end = length.map_or(text_end, |length| {
            start.saturating_add(length.value(variables))
        });
        let end = end.clamp(0, text_end);
        start.clamp(0, end) as usize..end as usize
    }
}

/// One option that looks at the text.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    test: Test,
    /// The step holds where nothing is found.
    negated: bool,
    /// A later step starts from this one's matches, so that all are needed.
    is_followed: bool,
}

#[derive(Clone, Debug)]
enum Test {
    /// `content`; with `endswith` its end is the text's.
    Content {
        content: Content,
        place: Place,
        ends_text: bool,
        is_fast: bool,
    },
    /// `pcre`.
    Pattern {
        pattern: Pattern,
        relative: bool,
    },
    /// `isdataat`.
    DataAt {
        bytes: Amount,
        relative: bool,
    },
    ByteTest(ByteTest),
    ByteJump(ByteJump),
    ByteExtract(ByteExtract),
    /// `bsize` and `urilen`.
    Length(NumberRange),
}

impl Step {
    fn new(test: Test, negated: bool) -> Step {
        Step {
            test,
            negated,
            is_followed: false,
        }
    }

    pub(crate) fn content(
        content: Content,
        place: Place,
        ends_text: bool,
        is_fast: bool,
        negated: bool,
    ) -> Step {
        let test = Test::Content {
            content,
            place,
            ends_text,
            is_fast,
        };
        Step::new(test, negated)
    }

    pub(crate) fn pattern(pattern: Pattern, relative: bool, negated: bool) -> Step {
        Step::new(Test::Pattern { pattern, relative }, negated)
    }

    pub(crate) fn data_at(bytes: Amount, relative: bool, negated: bool) -> Step {
        Step::new(Test::DataAt { bytes, relative }, negated)
    }

    pub(crate) fn byte_test(test: ByteTest, negated: bool) -> Step {
        Step::new(Test::ByteTest(test), negated)
    }

    pub(crate) fn byte_jump(jump: ByteJump) -> Step {
        Step::new(Test::ByteJump(jump), false)
    }

    pub(crate) fn byte_extract(extract: ByteExtract) -> Step {
        Step::new(Test::ByteExtract(extract), false)
    }

    pub(crate) fn length(length: NumberRange) -> Step {
        Step::new(Test::Length(length), false)
    }

    /// Whether the step looks from where the one before it ended.
    pub(crate) fn is_relative(&self) -> bool {
        match &self.test {
            Test::Content { place, .. } => place.is_relative(),
            Test::Pattern { relative, .. } | Test::DataAt { relative, .. } => *relative,
            Test::ByteTest(test) => test.field.relative,
            Test::ByteJump(jump) => jump.field.relative,
            Test::ByteExtract(extract) => extract.field.relative,
            Test::Length(_) => false,
        }
    }

    fn variables(&self) -> VariableSets {
        let of = |field: &Field| field.bytes.bit() | field.offset.bit();
        let (mut set, mut used) = (0, 0);
        match &self.test {
            Test::Content { place, .. } => {
                let (from, length) = match place {
                    Place::Absolute { offset, depth } => (offset, depth),
                    Place::Relative { distance, within } => (distance, within),
                };
                used = from.bit() | length.map_or(0, Amount::bit);
            }
            Test::DataAt { bytes, .. } => used = bytes.bit(),
            Test::ByteTest(test) => used = of(&test.field) | test.operand.bit(),
            Test::ByteJump(jump) => used = of(&jump.field),
            Test::ByteExtract(extract) => {
                used = of(&extract.field);
                set = Amount::Variable(extract.variable).bit();
            }
            Test::Pattern { .. } | Test::Length(_) => {}
        }
        VariableSets { set, used }
    }

    /// Whether the cursors after the step are others than before it.
    fn moves_cursors(&self) -> bool {
        match &self.test {
            Test::Content { .. } | Test::Pattern { .. } => !self.negated,
            Test::ByteJump(_) | Test::ByteExtract(_) => true,
            Test::DataAt { .. } | Test::ByteTest(_) | Test::Length(_) => false,
        }
    }

    /// Whether more text at the end can undo a match.
    fn depends_on_end(&self) -> bool {
        match &self.test {
            Test::Content { ends_text, .. } => *ends_text || self.negated,
            Test::Pattern { pattern, .. } => self.negated || pattern.may_ask_for_end(),
            Test::DataAt { .. } => self.negated,
            Test::Length(_) => true,
            Test::ByteJump(jump) => jump.from == JumpFrom::End,
            Test::ByteTest(_) | Test::ByteExtract(_) => false,
        }
    }

    fn is_placed_from_start(&self) -> bool {
        match &self.test {
            Test::Content { place, .. } => {
                matches!(place, Place::Absolute { offset, depth }
                    if depth.is_some() || *offset != Amount::Fixed(0))
            }
            _ => false,
        }
    }
}

/// What a rule requires of one text, in order.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    steps: Vec<Step>,
}

impl Payload {
    pub(crate) fn new(mut steps: Vec<Step>) -> Payload {
        let mut is_followed = false;
        for step in steps.iter_mut().rev() {
            if step.moves_cursors() {
                step.is_followed = is_followed;
                is_followed = false;
            }
            is_followed |= step.is_relative();
        }
        Payload { steps }
    }

    pub(crate) fn variables(&self) -> VariableSets {
        let all = self.steps.iter().map(Step::variables);
        all.fold(VariableSets::default(), |all, step| VariableSets {
            set: all.set | step.set,
            used: all.used | step.used,
        })
    }

    /// Whether nothing is required of the text.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The content that a search for many rules at once looks for, and whether
    /// it was chosen by `fast_pattern`; else it is the
    /// longest one that a matching text must hold somewhere. `None` where a
    /// text without any content can match.
    pub fn search_content(&self) -> Option<(weir_match::Pattern, bool)> {
        let mut best: Option<(&Content, bool)> = None;
        for step in &self.steps {
            if let (
                Test::Content {
                    content, is_fast, ..
                },
                false,
            ) = (&step.test, step.negated)
                && best.is_none_or(|(longest, was_fast)| {
                    (was_fast, longest.len()) < (*is_fast, content.len())
                })
            {
                best = Some((content, *is_fast));
            }
        }
        best.map(|(content, is_fast)| (content.pattern(), is_fast))
    }

    /// Whether text that is yet to come can undo a match, or make one out of
    /// none where nothing is searched for.
    pub(crate) fn waits_for_end(&self) -> bool {
        self.steps.iter().any(Step::depends_on_end)
    }

    /// Whether more text can make a match of a text that has the search
    /// content already.
    pub(crate) fn may_match_later(&self) -> bool {
        self.steps.len() > 1
    }

    /// Whether some content is placed by `offset` or `depth`, which count from
    /// the start of a packet as well as from that of a stream.
    pub(crate) fn is_placed_from_start(&self) -> bool {
        self.steps.iter().any(Step::is_placed_from_start)
    }

    /// The step because of which a text was no match just now, if that asks
    /// for something that would have to be in the text, wherever it is.
    pub(crate) fn missing_step(&self, cursors: &Cursors) -> Option<usize> {
        let failed = cursors.failed.filter(|_| !cursors.is_limited)?;
        let step = self.steps.get(failed)?;
        let is_somewhere = !step.negated
            && match &step.test {
                Test::Content { place, .. } => !place.is_relative(),
                Test::Pattern { pattern, relative } => {
                    !relative && pattern.longest_bytes().is_some()
                }
                _ => false,
            };
        is_somewhere.then_some(failed)
    }

    /// Whether what such a step asks for is in a text now, which was in none of
    /// its first `tried_bytes`: the rest is then worth a look.
    pub(crate) fn is_found(
        &self,
        step: usize,
        text: Text<'_>,
        tried_bytes: usize,
        cursors: &mut Cursors,
    ) -> bool {
        let mut from = |longest: usize| {
            let from = tried_bytes.saturating_sub(longest);
            cursors.look_at(text.bytes.len().saturating_sub(from));
            from
        };
        match self.steps.get(step).map(|step| &step.test) {
            Some(Test::Content { content, .. }) => {
                let new = text.bytes.get(from(content.len())..).unwrap_or_default();
                content.find(new).is_some()
            }
            Some(Test::Pattern { pattern, .. }) => {
                let lost = usize::from(text.base > 0);
                let longest = pattern.longest_bytes().unwrap_or(usize::MAX);
                // One byte more: what follows a match may be asked for.
                let found = pattern.is_match(
                    text.bytes,
                    from(longest.saturating_add(1)).max(lost),
                    &mut 0,
                );
                cursors.found(found)
            }
            _ => true,
        }
    }

    /// Whether every step holds for some choice of occurrences.
    pub(crate) fn matches(&self, text: Text<'_>, cursors: &mut Cursors) -> bool {
        cursors.start();
        cursors.follow(&self.steps, text)
    }
}

#[cfg(test)]
mod tests;
