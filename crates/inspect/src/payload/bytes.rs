//! Numbers in a text: `byte_test`, `byte_jump`, `byte_extract`.

use super::{Amount, Text, Variables};

/// Longest number in binary, and as text.
pub(crate) const MAX_BINARY_BYTES: u8 = 8;
pub(crate) const MAX_TEXT_BYTES: u8 = 23;

/// Where a number lies and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Length in bytes: 1 to 8 in binary, up to 23 as text; 0 for a text as
    /// long as it has digits, and in binary for the number 0 of no bytes.
    pub(crate) bytes: Amount,
    /// Place, from the cursor or from the text's start.
    pub(crate) offset: Amount,
    pub(crate) relative: bool,
    pub(crate) is_little_endian: bool,
    /// Base of a number that is written as text; binary without.
    pub(crate) radix: Option<u32>,
    /// Bits that count, shifted down to the lowest of them; 0 for all.
    pub(crate) mask: u64,
}

impl Field {
    /// The number, and where it ends. `None` where it lies outside of the text
    /// or is no number.
    fn read(&self, text: Text<'_>, cursor: u32, variables: &Variables) -> Option<(u64, i64)> {
        let origin = if self.relative {
            i64::from(cursor)
        } else {
            text.start()
        };
        let start = origin.checked_add(self.offset.value(variables))?;
        let at = usize::try_from(start).ok()?;
        let bytes = usize::try_from(self.bytes.value(variables)).ok()?;
        let field = match (self.radix, self.bytes) {
            (Some(_), Amount::Fixed(0)) => {
                let rest = text.bytes.get(at..)?;
                &rest[..rest.len().min(usize::from(MAX_TEXT_BYTES))]
            }
            (None, Amount::Fixed(0)) => text.bytes.get(at..at)?,
            (radix, _) => {
                let most = radix.map_or(MAX_BINARY_BYTES, |_| MAX_TEXT_BYTES);
                if !(1..=usize::from(most)).contains(&bytes) {
                    return None;
                }
                text.bytes.get(at..at.checked_add(bytes)?)?
            }
        };
        let (value, used) = match self.radix {
            Some(radix) => from_text(field, radix)?,
            None => {
                let shift = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
                let value = if self.is_little_endian {
                    field.iter().rev().fold(0, shift)
                } else {
                    field.iter().fold(0, shift)
                };
                (value, field.len())
            }
        };
        Some((masked(value, self.mask), start + used as i64))
    }
}

/// A number at the start of a text, as `strtoull` of C reads it: blanks, a
/// sign, for base 16 perhaps `0x`, digits up to whatever follows them. Also
/// the bytes that it takes.
fn from_text(field: &[u8], radix: u32) -> Option<(u64, usize)> {
    let is_space = |byte: &&u8| byte.is_ascii_whitespace() || **byte == 0x0b;
    let mut at = field.iter().take_while(is_space).count();
    let negative = field.get(at) == Some(&b'-');
    at += usize::from(matches!(field.get(at), Some(b'-' | b'+')));
    let has_prefix = matches!(field.get(at..), Some([b'0', b'x' | b'X', digit, ..]) if digit.is_ascii_hexdigit());
    at += if radix == 16 && has_prefix { 2 } else { 0 };
    let first_digit = at;
    let mut value: u64 = 0;
    while let Some(digit) = field.get(at).and_then(|b| char::from(*b).to_digit(radix)) {
        value = value
            .saturating_mul(u64::from(radix))
            .saturating_add(u64::from(digit));
        at += 1;
    }
    let value = if negative {
        value.wrapping_neg()
    } else {
        value
    };
    (at > first_digit).then_some((value, at))
}

/// How `byte_test` compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    LessOrEqual,
    Equal,
    GreaterOrEqual,
    Greater,
    /// Some bit is set in both.
    And,
    /// Some bit differs.
    Xor,
}

/// `byte_test`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteTest {
    pub(crate) field: Field,
    pub(crate) comparison: Comparison,
    pub(crate) operand: Amount,
}

impl ByteTest {
    /// `None` where there is no number.
    pub(super) fn holds(
        &self,
        text: Text<'_>,
        cursor: Option<u32>,
        variables: &Variables,
    ) -> Option<bool> {
        let (value, _) = self.field.read(text, cursor.unwrap_or(0), variables)?;
        let operand = self.operand.value(variables) as u64;
        Some(match self.comparison {
            Comparison::Less => value < operand,
            Comparison::LessOrEqual => value <= operand,
            Comparison::Equal => value == operand,
            Comparison::GreaterOrEqual => value >= operand,
            Comparison::Greater => value > operand,
            Comparison::And => value & operand != 0,
            Comparison::Xor => value ^ operand != 0,
        })
    }
}

fn masked(value: u64, mask: u64) -> u64 {
    match mask {
        0 => value,
        mask => (value & mask) >> mask.trailing_zeros(),
    }
}

/// Whether a number is rounded up to a multiple of four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Align(pub(crate) bool);

impl Align {
    fn apply(self, value: i64) -> i64 {
        if self.0 {
            value.saturating_add(3) & !3
        } else {
            value
        }
    }
}

/// From where `byte_jump` goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JumpFrom {
    /// The end of the number.
    Number,
    /// The start of the text (`from_beginning`).
    Start,
    /// The end of the text (`from_end`).
    End,
}

/// `byte_jump`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteJump {
    pub(crate) field: Field,
    pub(crate) multiplier: i64,
    pub(crate) align: Align,
    pub(crate) from: JumpFrom,
    pub(crate) post_offset: i64,
}

impl ByteJump {
    /// The cursor after the jump. `None` where it leaves the text.
    pub(super) fn end(&self, text: Text<'_>, cursor: u32, variables: &Variables) -> Option<u32> {
        let (value, end) = self.field.read(text, cursor, variables)?;
        let value = i64::try_from(value).ok()?.checked_mul(self.multiplier)?;
        let distance = self.align.apply(value).checked_add(self.post_offset)?;
        let origin = match self.from {
            JumpFrom::Number => end,
            JumpFrom::Start => text.start(),
            JumpFrom::End => text.bytes.len() as i64,
        };
        let target = usize::try_from(origin.checked_add(distance)?).ok()?;
        (target < text.bytes.len()).then_some(target as u32)
    }
}

/// `byte_extract`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteExtract {
    pub(crate) field: Field,
    pub(crate) multiplier: i64,
    pub(crate) align: Align,
    /// The variable that takes the value.
    pub(crate) variable: u8,
}

impl ByteExtract {
    /// The value, and the cursor after it.
    pub(super) fn value(
        &self,
        text: Text<'_>,
        cursor: u32,
        variables: &Variables,
    ) -> Option<(i64, u32)> {
        let (value, end) = self.field.read(text, cursor, variables)?;
        let value = (value as i64).wrapping_mul(self.multiplier);
        Some((self.align.apply(value), end as u32))
    }
}
