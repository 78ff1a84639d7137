//! Options that read numbers in texts: `byte_test`, `byte_jump`,
//! `byte_extract`; and `isdataat`.

use super::super::fault::{Fault, Unsupported, printable};
use super::super::word::Word;
use super::needed;
use super::texts::DraftTexts;
use crate::payload::{
    Align, Amount, ByteExtract, ByteJump, ByteTest, Comparison, Field, JumpFrom, MAX_BINARY_BYTES,
    MAX_TEXT_BYTES, Step,
};

/// Largest offset, multiplier and length either way.
const MAX_NUMBER: i64 = 1 << 24;

/// The words that follow the first ones of these options.
struct Suffixes {
    relative: bool,
    is_little_endian: bool,
    is_text: bool,
    radix: Option<u32>,
    align: Align,
    from: JumpFrom,
    multiplier: i64,
    post_offset: i64,
    mask: u64,
}

impl DraftTexts {
    /// The step of an option of this family; `None` where it is none.
    pub(super) fn number_option(
        &mut self,
        name: Word<'_>,
        value: Option<Word<'_>>,
    ) -> Result<Option<Step>, Fault> {
        let step = match name.bytes {
            b"isdataat" => self.data_at(needed(name, value)?)?,
            b"byte_test" => self.byte_test(needed(name, value)?)?,
            b"byte_jump" => {
                let (field, suffixes) = self.field_and_suffixes(needed(name, value)?, 1)?;
                Step::byte_jump(ByteJump {
                    field,
                    multiplier: suffixes.multiplier,
                    align: suffixes.align,
                    from: suffixes.from,
                    post_offset: suffixes.post_offset,
                })
            }
            b"byte_extract" => {
                let value = needed(name, value)?;
                let (field, suffixes) = self.field_and_suffixes(value, 2)?;
                let name = value.list().nth(2).unwrap_or(value);
                Step::byte_extract(ByteExtract {
                    field,
                    multiplier: suffixes.multiplier,
                    align: suffixes.align,
                    variable: self.define(name)?,
                })
            }
            _ => return Ok(None),
        };
        Ok(Some(step))
    }

    /// A number, or the variable of that name.
    pub(super) fn amount(&self, word: Word<'_>) -> Result<Amount, Fault> {
        let known = (self.variables.iter()).position(|name| name == word.bytes);
        match known {
            Some(index) => Ok(Amount::Variable(index as u8)),
            None => Ok(Amount::Fixed(
                word.number(-i64::from(u32::MAX), i64::from(u32::MAX))?,
            )),
        }
    }

    /// `!10,relative`.
    fn data_at(&mut self, value: Word<'_>) -> Result<Step, Fault> {
        let negated = value.bytes.first() == Some(&b'!');
        let value = value.part(usize::from(negated)..value.bytes.len());
        let mut words = value.list();
        let bytes = self.amount(words.next().unwrap_or(value))?;
        let mut relative = false;
        for word in words {
            match word.bytes {
                b"relative" => relative = true,
                b"rawbytes" => {}
                _ => return Err(word.syntax("isdataat is a number, perhaps relative")),
            }
        }
        Ok(Step::data_at(bytes, relative, negated))
    }

    /// `4,!&,0x80,0,relative,little`.
    fn byte_test(&mut self, value: Word<'_>) -> Result<Step, Fault> {
        let mut words = value.list();
        let (Some(_), Some(comparison), Some(operand)) = (words.next(), words.next(), words.next())
        else {
            return Err(value.syntax("byte_test is a length, a comparison, a number, an offset"));
        };
        let (field, _) = self.field_and_suffixes(value, 3)?;
        let (negated, operator) = match comparison.bytes {
            [b'!', operator @ ..] => (true, operator.trim_ascii()),
            operator => (false, operator),
        };
        let comparison = match operator {
            b"<" => Comparison::Less,
            b"<=" => Comparison::LessOrEqual,
            b"=" | b"" => Comparison::Equal,
            b">=" => Comparison::GreaterOrEqual,
            b">" => Comparison::Greater,
            b"&" => Comparison::And,
            b"^" => Comparison::Xor,
            _ => return Err(comparison.syntax("a comparison is <, <=, =, >=, >, & or ^")),
        };
        let known = self.variables.iter().position(|name| name == operand.bytes);
        let operand = match known {
            Some(index) => Amount::Variable(index as u8),
            None => Amount::Fixed(operand.any_number()? as i64),
        };
        let test = ByteTest {
            field,
            comparison,
            operand,
        };
        Ok(Step::byte_test(test, negated))
    }

    /// The length in the first word, the offset in the one at `offset_at`, and
    /// the words after it (behind the name of an extraction).
    fn field_and_suffixes(
        &self,
        value: Word<'_>,
        offset_at: usize,
    ) -> Result<(Field, Suffixes), Fault> {
        let words: Vec<Word<'_>> = value.list().collect();
        let is_extract = offset_at == 2;
        let offset_at = if is_extract { 1 } else { offset_at };
        let first_suffix = offset_at + 1 + usize::from(is_extract);
        if words.len() < first_suffix {
            return Err(value.syntax("the option has a length and an offset"));
        }
        let suffixes = suffixes(&words[first_suffix..])?;
        let (least, most) = if suffixes.is_text {
            (0, MAX_TEXT_BYTES)
        } else {
            // A jump may go by its post_offset alone.
            (i64::from(offset_at != 1 || is_extract), MAX_BINARY_BYTES)
        };
        let bytes = self.amount(words[0])?;
        if let Amount::Fixed(_) = bytes {
            words[0].number(least, i64::from(most))?;
        }
        let offset = self.amount(words[offset_at])?;
        if let Amount::Fixed(_) = offset {
            words[offset_at].number(-MAX_NUMBER, MAX_NUMBER)?;
        }
        let field = Field {
            bytes,
            offset,
            relative: suffixes.relative,
            is_little_endian: suffixes.is_little_endian,
            radix: suffixes.is_text.then(|| suffixes.radix.unwrap_or(10)),
            mask: suffixes.mask,
        };
        Ok((field, suffixes))
    }
}

fn suffixes(words: &[Word<'_>]) -> Result<Suffixes, Fault> {
    let mut suffixes = Suffixes {
        relative: false,
        is_little_endian: false,
        is_text: false,
        radix: None,
        align: Align(false),
        from: JumpFrom::Number,
        multiplier: 1,
        post_offset: 0,
        mask: 0,
    };
    for word in words {
        let (name, value) = word.name_and_value();
        match name.bytes {
            b"relative" => suffixes.relative = true,
            b"little" => suffixes.is_little_endian = true,
            b"big" => suffixes.is_little_endian = false,
            b"string" => suffixes.is_text = true,
            b"dec" => suffixes.radix = Some(10),
            b"hex" => suffixes.radix = Some(16),
            b"oct" => suffixes.radix = Some(8),
            b"align" => suffixes.align = Align(true),
            b"from_beginning" => suffixes.from = JumpFrom::Start,
            b"from_end" => suffixes.from = JumpFrom::End,
            b"multiplier" => {
                suffixes.multiplier = needed(name, value)?.number(1, MAX_NUMBER)?;
            }
            b"post_offset" => {
                suffixes.post_offset = needed(name, value)?.number(-MAX_NUMBER, MAX_NUMBER)?;
            }
            b"bitmask" => suffixes.mask = needed(name, value)?.any_number()?,
            _ => {
                let what = Unsupported::Keyword(format!("byte_* {}", printable(name.bytes)));
                return Err(Fault::unsupported(name.offset, name.bytes, what));
            }
        }
    }
    Ok(suffixes)
}
