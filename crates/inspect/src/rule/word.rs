//! A piece of a rule's text, and its place.

use std::ops::Range;

use super::fault::{Fault, FaultKind};
use super::string::{self, Quoted, quoted};
use crate::range::NumberRange;

/// A piece of the text and its place.
#[derive(Clone, Copy)]
pub(super) struct Word<'a> {
    pub(super) offset: usize,
    pub(super) bytes: &'a [u8],
}

impl<'a> Word<'a> {
    pub(super) fn syntax(self, message: &'static str) -> Fault {
        Fault::syntax(self.offset, self.bytes, message)
    }

    pub(super) fn trim(self) -> Word<'a> {
        let start = self.bytes.len() - self.bytes.trim_ascii_start().len();
        Word {
            offset: self.offset + start,
            bytes: self.bytes.trim_ascii(),
        }
    }

    /// A part of the word.
    pub(super) fn part(self, range: Range<usize>) -> Word<'a> {
        Word {
            offset: self.offset + range.start,
            bytes: &self.bytes[range],
        }
        .trim()
    }

    /// The words between commas.
    pub(super) fn list(self) -> impl Iterator<Item = Word<'a>> {
        let mut offset = self.offset;
        self.bytes.split(|byte| *byte == b',').map(move |bytes| {
            let word = Word { offset, bytes };
            offset += bytes.len() + 1;
            word.trim()
        })
    }

    /// The word up to the first blank, and what follows it.
    pub(super) fn name_and_value(self) -> (Word<'a>, Option<Word<'a>>) {
        let name_bytes = self.bytes.iter().take_while(|b| !b.is_ascii_whitespace());
        let name_bytes = name_bytes.count();
        let value = self.part(name_bytes..self.bytes.len());
        (
            self.part(0..name_bytes),
            (!value.bytes.is_empty()).then_some(value),
        )
    }

    pub(super) fn number(self, least: i64, most: i64) -> Result<i64, Fault> {
        let number = std::str::from_utf8(self.bytes)
            .ok()
            .and_then(|text| text.parse().ok());
        match number {
            Some(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(Fault::new(
                self.offset,
                self.bytes,
                FaultKind::Number { least, most },
            )),
        }
    }

    /// A number, in base 16 where it begins with `0x`.
    pub(super) fn any_number(self) -> Result<u64, Fault> {
        let text = std::str::from_utf8(self.bytes).unwrap_or_default();
        let number = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        number.map_err(|_| self.syntax("expected a number, or one in base 16 as in 0xff"))
    }

    pub(super) fn text(self) -> String {
        String::from_utf8_lossy(self.bytes).into_owned()
    }

    /// The text between quotes, with its escapes taken away.
    pub(super) fn string(self) -> Result<String, Fault> {
        let Quoted {
            negated,
            text,
            after,
            after_offset,
            ..
        } = quoted(self.offset, self.bytes)?;
        let after = Word {
            offset: self.offset + after_offset,
            bytes: after,
        };
        if negated || !after.bytes.trim_ascii().is_empty() {
            return Err(after.trim().syntax("nothing follows the string"));
        }
        Ok(string::plain_text(text))
    }

    /// `300`, `!300`, `<300`, `>300`, `<=300`, `>=300`, and between two
    /// numbers without (`100<>300`; with them where nothing lies between,
    /// `33<>34`) and with them (`100<=>300`).
    pub(super) fn range(self, most: i64) -> Result<NumberRange, Fault> {
        let part = |range: Range<usize>| self.part(range).number(0, most);
        let end = self.bytes.len();
        let position = |mark: &[u8]| memchr::memmem::find(self.bytes, mark);
        let mut negated = false;
        let (first, last) = if let Some(at) = position(b"<=>") {
            (part(0..at)?, part(at + 3..end)?)
        } else if let Some(at) = position(b"<>") {
            let (first, last) = (part(0..at)?, part(at + 2..end)?);
            // Snort 2.9 counts both ends in, which shows where nothing lies between.
            match last - first {
                1 => (first, last),
                _ => (first + 1, last - 1),
            }
        } else {
            match self.bytes {
                [b'<', b'=', ..] => (0, part(2..end)?),
                [b'<', ..] => (0, part(1..end)? - 1),
                [b'>', b'=', ..] => (part(2..end)?, most),
                [b'>', ..] => (part(1..end)? + 1, most),
                [b'!', ..] => {
                    negated = true;
                    let number = part(1..end)?;
                    (number, number)
                }
                _ => {
                    let number = part(0..end)?;
                    (number, number)
                }
            }
        };
        if first > last {
            return Err(self.syntax("no number lies in the range"));
        }
        Ok(NumberRange {
            least: first as u32,
            most: last as u32,
            negated,
        })
    }
}
