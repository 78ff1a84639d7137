//! Cursors: the set of places where the matches so far can end.

use super::bytes::ByteExtract;
use super::{Content, MAX_PATTERN_SEARCHES, Pattern, Place, Step, Test, Text, Variables};

/// Working memory of [`Payload::matches`], kept from call to call.
///
/// [`Payload::matches`]: super::Payload::matches
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    /// Ends of matches, ascending, each once.
    now: Vec<u32>,
    next: Vec<u32>,
    variables: Variables,
    /// Searches by patterns left for this text and rule.
    searches_left: usize,
    /// Whether they did not suffice.
    pub(crate) is_limited: bool,
    /// The step at which no cursor was left, if that does not depend on the
    /// value that a `byte_extract` found.
    pub(super) failed: Option<usize>,
}

impl Cursors {
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
        self.is_limited |= self.searches_left == 0;
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
            ..
        } = self;
        let window = |cursor: u32| {
            let mut window = place.window(cursor, &text, variables);
            if ends_text {
                let last = text.bytes.len().saturating_sub(content.len());
                let is_open = window.end == text.bytes.len();
                window.start = window.start.max(if is_open { last } else { window.end });
            }
            window
        };
        match (place, step.negated) {
            (Place::Absolute { .. }, true) => {
                if content.find(&text.bytes[window(0)]).is_some() {
                    now.clear();
                }
                return;
            }
            (Place::Relative { .. }, true) => {
                now.retain(|cursor| content.find(&text.bytes[window(*cursor)]).is_none());
                return;
            }
            (Place::Absolute { .. }, false) => {
                now.clear();
                now.push(0);
            }
            (Place::Relative { .. }, false) => {}
        }
        // From cursors to the ends of the occurrences that they reach: all of
        // them, or one.
        let all = step.is_followed;
        next.clear();
        let mut from = 0;
        // Windows of ascending cursors ascend at both ends. What was searched
        // for one is not searched again for the next.
        for cursor in now.iter() {
            let window = window(*cursor);
            from = from.max(window.start);
            while from < window.end {
                let Some(found) = content.find(&text.bytes[from..window.end]) else {
                    // An occurrence may begin here and end behind the window.
                    from = from.max((window.end + 1).saturating_sub(content.len()));
                    break;
                };
                next.push((from + found + content.len()) as u32);
                if !all {
                    break;
                }
                from += found + 1;
            }
            if !all && !next.is_empty() {
                break;
            }
        }
        std::mem::swap(now, next);
    }

    fn pattern(&mut self, pattern: &Pattern, relative: bool, step: &Step, text: Text<'_>) {
        // The first byte that is there is not the first of the stream.
        let lost = usize::from(text.base > 0);
        if !relative {
            if step.negated {
                if pattern.is_match(text.bytes, lost) {
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
            if step.negated {
                if !pattern.is_match(after, lost) {
                    next.push(*cursor);
                }
                continue;
            }
            pattern.visit_ends(after, lost, |end| {
                next.push(cursor + end as u32);
                step.is_followed && self.may_search()
            });
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
