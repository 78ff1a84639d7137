//! What a rule asks of a payload: its `content` and `pcre` options in order.
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

mod content;
mod pattern;

use std::ops::Range;

use crate::engine::Needle;

pub(crate) use content::Content;
pub(crate) use pattern::{Pattern, PatternError, PatternText};

/// Most matches of patterns that are followed up for one rule and payload.
pub const MAX_PATTERN_SEARCHES: usize = 128;

/// Where a content may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// From `offset` on, for `depth` bytes.
    Absolute { offset: u32, depth: Option<u32> },
    /// From `distance` bytes after the cursor on, for `within` bytes.
    Relative { distance: i32, within: Option<u32> },
}

impl Place {
    fn is_relative(self) -> bool {
        matches!(self, Place::Relative { .. })
    }

    /// The bytes among which the content must lie.
    fn window(self, cursor: u32, payload_bytes: usize) -> Range<usize> {
        let (start, length) = match self {
            Place::Absolute { offset, depth } => (i64::from(offset), depth),
            Place::Relative { distance, within } => {
                (i64::from(cursor) + i64::from(distance), within)
            }
        };
        let payload_end = payload_bytes as i64;
        let end = length.map_or(payload_end, |length| start + i64::from(length));
        let end = end.clamp(0, payload_end);
        start.clamp(0, end) as usize..end as usize
    }
}

/// One `content` or `pcre` option.
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
    Content(Content, Place),
    Pattern { pattern: Pattern, relative: bool },
}

impl Step {
    pub(crate) fn content(content: Content, place: Place, negated: bool) -> Step {
        Step {
            test: Test::Content(content, place),
            negated,
            is_followed: false,
        }
    }

    pub(crate) fn pattern(pattern: Pattern, relative: bool, negated: bool) -> Step {
        Step {
            test: Test::Pattern { pattern, relative },
            negated,
            is_followed: false,
        }
    }

    fn is_relative(&self) -> bool {
        match &self.test {
            Test::Content(_, place) => place.is_relative(),
            Test::Pattern { relative, .. } => *relative,
        }
    }
}

/// The `content` and `pcre` options of a rule, in order.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    steps: Vec<Step>,
}

/// Working memory of [`Payload::matches`], kept from call to call.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    /// Ends of matches, ascending, each once.
    now: Vec<u32>,
    next: Vec<u32>,
    /// Searches by patterns left for this payload and rule.
    pattern_searches_left: usize,
    /// Whether they did not suffice.
    pub(crate) is_limited: bool,
}

impl Payload {
    pub(crate) fn new(mut steps: Vec<Step>) -> Payload {
        let mut is_followed = false;
        for step in steps.iter_mut().rev() {
            if !step.negated {
                step.is_followed = is_followed;
                is_followed = false;
            }
            is_followed |= step.is_relative();
        }
        Payload { steps }
    }

    /// Whether nothing is asked of the payload.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The longest content that a matching payload must hold somewhere: what a
    /// search for many rules at once looks for. `None` where a payload without
    /// any content can match.
    pub fn longest_content(&self) -> Option<Needle> {
        let mut longest: Option<&Content> = None;
        for step in &self.steps {
            if let (Test::Content(content, _), false) = (&step.test, step.negated)
                && longest.is_none_or(|longest| longest.len() < content.len())
            {
                longest = Some(content);
            }
        }
        longest.map(Content::needle)
    }

    /// Whether every step holds for some choice of occurrences.
    pub(crate) fn matches(&self, payload: &[u8], cursors: &mut Cursors) -> bool {
        cursors.start();
        self.steps.iter().all(|step| {
            match &step.test {
                Test::Content(content, place) => {
                    cursors.content(content, *place, step, payload);
                }
                Test::Pattern { pattern, relative } => {
                    cursors.pattern(pattern, *relative, step, payload);
                }
            }
            !cursors.now.is_empty()
        })
    }
}

impl Cursors {
    /// In front of the first step the cursor is at the payload's start.
    fn start(&mut self) {
        self.now.clear();
        self.now.push(0);
        self.pattern_searches_left = MAX_PATTERN_SEARCHES;
        self.is_limited = false;
    }

    fn content(&mut self, content: &Content, place: Place, step: &Step, payload: &[u8]) {
        match (place, step.negated) {
            (Place::Absolute { .. }, true) => {
                if content
                    .find(&payload[place.window(0, payload.len())])
                    .is_some()
                {
                    self.now.clear();
                }
            }
            (Place::Relative { .. }, true) => {
                self.now.retain(|cursor| {
                    let window = place.window(*cursor, payload.len());
                    content.find(&payload[window]).is_none()
                });
            }
            (Place::Absolute { .. }, false) => {
                self.now.clear();
                self.now.push(0);
                self.reach(content, place, step.is_followed, payload);
            }
            (Place::Relative { .. }, false) => {
                self.reach(content, place, step.is_followed, payload);
            }
        }
    }

    /// From cursors to the ends of the occurrences that they reach: all of
    /// them, or one.
    fn reach(&mut self, content: &Content, place: Place, all: bool, payload: &[u8]) {
        self.next.clear();
        let mut from = 0;
        // Windows of ascending cursors ascend at both ends. What was searched
        // for one is not searched again for the next.
        for cursor in &self.now {
            let window = place.window(*cursor, payload.len());
            from = from.max(window.start);
            while from < window.end {
                let Some(found) = content.find(&payload[from..window.end]) else {
                    // An occurrence may begin here and end behind the window.
                    from = from.max((window.end + 1).saturating_sub(content.len()));
                    break;
                };
                self.next.push((from + found + content.len()) as u32);
                if !all {
                    break;
                }
                from += found + 1;
            }
            if !all && !self.next.is_empty() {
                break;
            }
        }
        std::mem::swap(&mut self.now, &mut self.next);
    }

    fn pattern(&mut self, pattern: &Pattern, relative: bool, step: &Step, payload: &[u8]) {
        if !relative {
            if step.negated {
                if pattern.is_match(payload) {
                    self.now.clear();
                }
                return;
            }
            self.now.clear();
            self.now.push(0);
        }
        let Cursors {
            now,
            next,
            pattern_searches_left: left,
            is_limited,
        } = self;
        let mut may_search = || {
            *is_limited |= *left == 0;
            *left = left.saturating_sub(1);
            !*is_limited
        };
        if step.negated {
            now.retain(|cursor| may_search() && !pattern.is_match(after(payload, *cursor)));
            return;
        }
        next.clear();
        for cursor in now.iter() {
            if !may_search() {
                break;
            }
            pattern.visit_ends(after(payload, *cursor), |end| {
                next.push(cursor + end as u32);
                step.is_followed && may_search()
            });
            if !step.is_followed && !next.is_empty() {
                break;
            }
        }
        next.sort_unstable();
        next.dedup();
        std::mem::swap(now, next);
    }
}

fn after(payload: &[u8], cursor: u32) -> &[u8] {
    payload.get(cursor as usize..).unwrap_or_default()
}

#[cfg(test)]
mod tests;
