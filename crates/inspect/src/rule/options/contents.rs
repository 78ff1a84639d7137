//! `content` and its modifiers: `nocase`, `fast_pattern`, `offset`, `depth`,
//! `distance`, `within`, `startswith`, `endswith`.

use super::super::fault::Fault;
use super::super::string::{self, Quoted, quoted};
use super::super::word::Word;
use super::texts::DraftTexts;
use super::{MAX_PAYLOAD_BYTES, once};
use crate::payload::{Amount, Content, Place, Step};

/// Largest `within`, and largest `distance` either way.
const MAX_RELATIVE_BYTES: i64 = 1 << 20;

/// A content and what its modifiers said so far, each with its place.
pub(super) struct DraftContent {
    offset_in_file: usize,
    written: String,
    negated: bool,
    bytes: Vec<u8>,
    nocase: bool,
    is_fast: bool,
    starts_text: bool,
    ends_text: bool,
    offset: Option<Amount>,
    depth: Option<Amount>,
    distance: Option<Amount>,
    within: Option<Amount>,
    /// Place and text of the last modifier that says where.
    placed_by: Option<(usize, String)>,
}

impl DraftTexts {
    pub(super) fn content(&mut self, value: Word<'_>) -> Result<(), Fault> {
        let Quoted {
            negated,
            text,
            text_offset,
            after,
            after_offset,
        } = quoted(value.offset, value.bytes)?;
        self.push_content(DraftContent {
            offset_in_file: value.offset,
            written: String::from_utf8_lossy(value.bytes).into_owned(),
            negated,
            bytes: string::bytes(value.offset + text_offset, text)?,
            nocase: false,
            is_fast: false,
            starts_text: false,
            ends_text: false,
            offset: None,
            depth: None,
            distance: None,
            within: None,
            placed_by: None,
        });
        let after = Word {
            offset: value.offset + after_offset,
            bytes: after,
        };
        let after = after.trim();
        match after.bytes {
            [] => Ok(()),
            [b',', ..] => {
                let modifiers = after.part(1..after.bytes.len());
                modifiers
                    .list()
                    .try_for_each(|word| self.inner_modifier(word))
            }
            _ => Err(after.syntax("modifiers follow a content after a comma, or as options")),
        }
    }
}

impl DraftContent {
    pub(super) fn has_modifier(name: &[u8]) -> bool {
        matches!(
            name,
            b"nocase"
                | b"fast_pattern"
                | b"startswith"
                | b"endswith"
                | b"offset"
                | b"depth"
                | b"distance"
                | b"within"
        )
    }

    /// Takes in a modifier, with its value as a number where it is one.
    pub(super) fn modify(
        &mut self,
        name: Word<'_>,
        value: Option<Result<(Amount, Word<'_>), Fault>>,
    ) -> Result<(), Fault> {
        match name.bytes {
            b"nocase" => self.nocase = true,
            // Which part of it is searched for (`only`, `3,8`) is for the
            // engine to choose: that changes the speed, not the matches.
            b"fast_pattern" => self.is_fast = true,
            b"startswith" => self.starts_text = true,
            b"endswith" => self.ends_text(),
            _ => {
                let value = value.ok_or_else(|| name.syntax("the option needs a value"))?;
                let (amount, word) = value?;
                let (place, least, most) = match name.bytes {
                    b"offset" => (&mut self.offset, 0, MAX_PAYLOAD_BYTES),
                    b"depth" => (&mut self.depth, 1, MAX_PAYLOAD_BYTES),
                    b"distance" => (&mut self.distance, -MAX_RELATIVE_BYTES, MAX_RELATIVE_BYTES),
                    _ => (&mut self.within, 1, MAX_RELATIVE_BYTES),
                };
                if let Amount::Fixed(_) = amount {
                    word.number(least, most)?;
                }
                once(place, name, amount)?;
                self.placed_by = Some((name.offset, name.text()));
            }
        }
        Ok(())
    }

    /// What `endswith` says.
    pub(super) fn ends_text(&mut self) {
        self.ends_text = true;
    }

    fn too_long(&self) -> Fault {
        Fault::syntax(
            self.offset_in_file,
            self.written.as_bytes(),
            "the content is longer than its depth or within allows",
        )
    }

    pub(super) fn finish(mut self) -> Result<Step, Fault> {
        if let (true, true, Some((offset, word))) = (
            self.starts_text,
            self.offset.is_some() || self.depth.is_some(),
            &self.placed_by,
        ) {
            return Err(Fault::syntax(
                *offset,
                word.as_bytes(),
                "a content is placed by startswith or by offset and depth, not by both",
            ));
        }
        if self.starts_text {
            (self.offset, self.depth) = (
                Some(Amount::Fixed(0)),
                Some(Amount::Fixed(self.bytes.len() as i64)),
            );
        }
        let is_relative = self.distance.is_some() || self.within.is_some();
        let is_absolute = self.offset.is_some() || self.depth.is_some();
        if let (true, true, Some((offset, word))) = (is_relative, is_absolute, &self.placed_by) {
            return Err(Fault::syntax(
                *offset,
                word.as_bytes(),
                "a content is placed by offset and depth or by distance and within, not by both",
            ));
        }
        let window = self.depth.or(self.within);
        if matches!(window, Some(Amount::Fixed(bytes)) if bytes < self.bytes.len() as i64) {
            return Err(self.too_long());
        }
        let place = if is_relative {
            Place::Relative {
                distance: self.distance.unwrap_or(Amount::Fixed(0)),
                within: window,
            }
        } else {
            Place::Absolute {
                offset: self.offset.unwrap_or(Amount::Fixed(0)),
                depth: window,
            }
        };
        Ok(Step::content(
            Content::new(self.bytes, self.nocase),
            place,
            self.ends_text,
            self.is_fast,
            self.negated,
        ))
    }
}
