//! Cursors: the set of places where the matches so far can end.

use std::ops::Range;

use super::backtrack::GaveUp;
use super::bytes::ByteExtract;
use super::{
    Content, MAX_PATTERN_SEARCHES, MAX_TRIED_BYTES, Pattern, Place, Step, Test, Text, Variables,
};

/// Working memory of [`Payload::matches`], kept from call to call.
///
/// [`Payload::matches`]: super::Payload::matches
#[derive(Debug)]
pub(crate) struct Cursors {
    /// Ends of matches, ascending, each once.
    now: Vec<u32>,
    next: Vec<u32>,
    variables: Variables,
    /// Searches by patterns left for this text and rule.
    searches_left: usize,
    /// Bytes that may still be looked at for the packet at hand.
    bytes_left: usize,
    /// Whether they did not suffice.
    pub(crate) is_limited: bool,
    /// Searches by patterns that backtrack that were given up.
    pub(crate) given_up: u64,
    /// The step at which no cursor was left, if that does not depend on the
    /// value that a `byte_extract` found.
    pub(super) failed: Option<usize>,
}

impl Default for Cursors {
    fn default() -> Cursors {
        Cursors {
            now: Vec::new(),
            next: Vec::new(),
            variables: Variables::default(),
            searches_left: MAX_PATTERN_SEARCHES,
            bytes_left: MAX_TRIED_BYTES,
            is_limited: false,
            given_up: 0,
            failed: None,
        }
    }
}

impl Cursors {
    /// Another packet came: its bytes may be looked at so often again.
    pub(crate) fn start_packet(&mut self) {
        self.bytes_left = MAX_TRIED_BYTES;
    }

    /// Another rule is tried: none of its variables has a value yet.
    pub(crate) fn start_rule(&mut self) {
        self.variables = Variables::default();
        self.is_limited = false;
    }

    /// Counts bytes that are looked at for the packet at hand.
    pub(crate) fn look_at(&mut self, bytes: usize) {
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
    }

    /// What a search found; nothing where it was given up.
    pub(super) fn found<T: Default>(&mut self, found: Result<T, GaveUp>) -> T {
        found.unwrap_or_else(|GaveUp| {
            self.given_up += 1;
            self.is_limited = true;
            T::default()
        })
    }

    /// Whether more may be looked at for the packet at hand.
    pub(crate) fn may_look(&self) -> bool {
        self.bytes_left > 0
    }

    /// In front of the first step the cursor is at the text's start.
    pub(super) fn start(&mut self) {
        self.now.clear();
        self.now.push(0);
        self.searches_left = MAX_PATTERN_SEARCHES;
        self.is_limited = false;
        self.failed = None;
    }

    /// Takes the cursors through steps, and says whether any is left.
    pub(super) fn follow(&mut self, steps: &[Step], text: Text<'_>) -> bool {
        for (index, step) in steps.iter().enumerate() {
            match &step.test {
                Test::Content {
                    content,
                    place,
                    ends_text,
                    ..
                } => self.content(content, *place, *ends_text, step, text),
                Test::Pattern { pattern, relative } => self.pattern(pattern, *relative, step, text),
                Test::DataAt { bytes, relative } => {
                    let bytes = bytes.value(&self.variables);
                    self.keep(*relative, |cursor, _| {
                        let end = text.bytes.len() as i64;
                        let is_there = match cursor {
                            Some(cursor) => i64::from(cursor).saturating_add(bytes) <= end,
                            None => text.start().saturating_add(bytes) < end,
                        };
                        is_there != step.negated
                    });
                }
                Test::ByteTest(test) => self.keep(test.field.relative, |cursor, variables| {
                    test.holds(text, cursor, variables)
                        .is_some_and(|holds| holds != step.negated)
                }),
                Test::Length(length) => {
                    if !length.matches(text.bytes.len()) {
                        self.now.clear();
                    }
                }
                Test::ByteJump(jump) => {
                    if !jump.field.relative {
                        self.now.truncate(1);
                    }
                    self.look_at(self.now.len());
                    self.next.clear();
                    let ends = (self.now.iter())
                        .filter_map(|cursor| jump.end(text, *cursor, &self.variables));
                    self.next.extend(ends);
                    self.next.sort_unstable();
                    self.next.dedup();
                    std::mem::swap(&mut self.now, &mut self.next);
                }
                Test::ByteExtract(extract) => {
                    return self.extract(extract, &steps[index + 1..], text);
                }
            }
            if self.now.is_empty() {
                self.failed = Some(index);
                return false;
            }
        }
        true
    }

    /// Keeps the cursors for which a test holds; a test that is not relative
    /// to them is asked once.
    fn keep(&mut self, relative: bool, holds: impl Fn(Option<u32>, &Variables) -> bool) {
        self.look_at(self.now.len());
        let Cursors { now, variables, .. } = self;
        if relative {
            now.retain(|cursor| holds(Some(*cursor), variables));
        } else if !holds(None, variables) {
            now.clear();
        }
    }

    /// What follows depends on the value that each cursor finds: from here on
    /// each goes its own way.
    fn extract(&mut self, extract: &ByteExtract, later: &[Step], text: Text<'_>) -> bool {
        let mut starts = std::mem::take(&mut self.now);
        if !extract.field.relative {
            starts.truncate(1);
        }
        let found = starts.iter().any(|cursor| {
            let Some((value, end)) = extract.value(text, *cursor, &self.variables) else {
                return false;
            };
            if !self.may_search() {
                return false;
            }
            self.variables[usize::from(extract.variable)] = value;
            self.now.clear();
            self.now.push(end);
            self.follow(later, text)
        });
        if !found {
            self.now.clear();
        }
        self.failed = None;
        found
    }

    fn may_search(&mut self) -> bool {
        self.is_limited |= self.searches_left == 0 || !self.may_look();
        self.searches_left = self.searches_left.saturating_sub(1);
        !self.is_limited
    }

    fn content(
        &mut self,
        content: &Content,
        place: Place,
        ends_text: bool,
        step: &Step,
        text: Text<'_>,
    ) {
        let Cursors {
            now,
            next,
            variables,
            bytes_left,
            ..
        } = self;
        let window = |cursor: u32| {
            let mut window = place.window(cursor, &text, variables);
            if ends_text {
                if window.end == text.bytes.len() {
                    let last = text.bytes.len().saturating_sub(content.len());
                    window.start = window.start.max(last);
                } else {
                    window.end = window.start;
                }
            }
            window
        };
        let mut passage = Passage::new(content, text.bytes);
        match (place, step.negated) {
            (Place::Absolute { .. }, true) => {
                if passage.next_in(window(0)).is_some() {
                    now.clear();
                }
            }
            (Place::Relative { .. }, true) => {
                now.retain(|cursor| passage.next_in(window(*cursor)).is_none());
            }
            (_, false) => {
                if !place.is_relative() {
                    now.clear();
                    now.push(0);
                }
                // From cursors to the ends of the occurrences that they reach:
                // all of them, or one.
                next.clear();
                'cursors: for cursor in now.iter() {
                    let window = window(*cursor);
                    while let Some(found) = passage.next_in(window.clone()) {
                        next.push((found + content.len()) as u32);
                        if !step.is_followed {
                            break 'cursors;
                        }
                        passage.skip_to(found + 1);
                    }
                }
                std::mem::swap(now, next);
            }
        }
        *bytes_left = bytes_left.saturating_sub(now.len() + passage.looked_at);
    }

    fn pattern(&mut self, pattern: &Pattern, relative: bool, step: &Step, text: Text<'_>) {
        // The first byte that is there is not the first of the stream.
        let lost = usize::from(text.base > 0);
        if !relative {
            if step.negated {
                let mut steps = 0;
                let found = pattern.is_match(text.bytes, lost, &mut steps);
                self.look_at(steps);
                // One that is given up has not shown that there is none.
                if found != Ok(false) {
                    self.found(found);
                    self.now.clear();
                }
                return;
            }
            self.now.clear();
            self.now.push(0);
        }
        let now = std::mem::take(&mut self.now);
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        let lost = if relative { 0 } else { lost };
        for cursor in &now {
            if !self.may_search() {
                break;
            }
            let after = text.bytes.get(*cursor as usize..).unwrap_or_default();
            let mut steps = 0;
            if step.negated {
                let found = pattern.is_match(after, lost, &mut steps);
                self.look_at(steps);
                match found {
                    Ok(false) => next.push(*cursor),
                    found => _ = self.found(found),
                }
                continue;
            }
            let all = pattern.visit_ends(after, lost, &mut steps, |end, steps| {
                next.push(cursor + end as u32);
                self.look_at(std::mem::take(steps));
                step.is_followed && self.may_search()
            });
            self.look_at(steps);
            self.found(all);
            if !step.is_followed && !next.is_empty() {
                break;
            }
        }
        if !step.negated {
            next.sort_unstable();
            next.dedup();
        }
        (self.now, self.next) = (next, now);
    }
}

/// A content looked for in windows that ascend at both ends: what was searched
/// for one is not searched again for the next.
struct Passage<'a> {
    content: &'a Content,
    bytes: &'a [u8],
    /// No occurrence that is not known begins in front of this place, unless it
    /// ends behind the windows so far.
    from: usize,
    /// The occurrence that was found last.
    found: Option<usize>,
    looked_at: usize,
}

impl<'a> Passage<'a> {
    fn new(content: &'a Content, bytes: &'a [u8]) -> Passage<'a> {
        Passage {
            content,
            bytes,
            from: 0,
            found: None,
            looked_at: 0,
        }
    }

    /// Passes over what lies in front of a place.
    fn skip_to(&mut self, place: usize) {
        self.from = self.from.max(place);
    }

    /// Place of the first occurrence in a window.
    fn next_in(&mut self, window: Range<usize>) -> Option<usize> {
        self.skip_to(window.start);
        if let Some(found) = self.found.filter(|found| *found >= self.from) {
            // It ends in an earlier window, and so in this one.
            return Some(found);
        }
        let bytes = self.bytes.get(self.from..window.end)?;
        match self.content.find(bytes) {
            Some(skipped) => {
                self.looked_at += skipped + self.content.len();
                self.from += skipped;
                self.found = Some(self.from);
                self.found
            }
            None => {
                self.looked_at += bytes.len();
                // An occurrence may begin here and end behind the window.
                self.skip_to((window.end + 1).saturating_sub(self.content.len()));
                None
            }
        }
    }
}
