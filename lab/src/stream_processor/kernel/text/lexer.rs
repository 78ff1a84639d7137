//! The tokens of a text.

use super::{At, TextError};

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Number(u32),
    /// An operator or a bracket.
    Sign(&'static str),
    /// The end of a statement.
    Line,
    /// The end of the text.
    End,
}

/// Signs of two characters before those of one.
const SIGNS: [&str; 24] = [
    "<<", ">>", "==", "..", "->", "(", ")", "[", "]", "{", "}", ",", "=", "+", "-", "*", "&", "|",
    "^", "~", "<", ".", ">", ":",
];

/// Signs behind which a statement goes on in the next line.
const OPEN: [&str; 15] = [
    "<<", ">>", "==", "(", "[", "{", ",", "=", "+", "-", "*", "&", "|", "^", "<",
];

/// The tokens of a text with their places. The last one is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, At)>, TextError> {
    let mut tokens: Vec<(Token, At)> = Vec::new();
    // Parentheses and square brackets that are open.
    let mut depth = 0u32;
    let mut last = At { line: 1, column: 1 };
    for (line, text) in (1..).zip(text.lines()) {
        let code = text.split_once('#').map_or(text, |(code, _)| code);
        let mut rest = code;
        let mut column = 1;
        loop {
            let trimmed = rest.trim_start();
            column += characters(&rest[..rest.len() - trimmed.len()]);
            let at = At { line, column };
            last = at;
            let Some(first) = trimmed.chars().next() else {
                break;
            };
            let (token, length) = if first.is_ascii_digit() {
                number(trimmed, at)?
            } else if first.is_ascii_alphabetic() || first == '_' {
                let length = length_of(trimmed, |it| it.is_ascii_alphanumeric() || it == '_');
                (Token::Name(trimmed[..length].to_owned()), length)
            } else {
                let sign = SIGNS.into_iter().find(|sign| trimmed.starts_with(sign));
                let sign = sign.ok_or_else(|| at.wrong(format!("{first:?} means nothing here")))?;
                match sign {
                    "(" | "[" => depth += 1,
                    ")" | "]" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                (Token::Sign(sign), sign.len())
            };
            tokens.push((token, at));
            column += characters(&trimmed[..length]);
            rest = &trimmed[length..];
        }
        let goes_on = match tokens.last() {
            None | Some((Token::Line, _)) => true,
            Some((Token::Sign(sign), _)) => OPEN.contains(sign),
            Some(_) => false,
        };
        if !goes_on && depth == 0 {
            tokens.push((Token::Line, last));
        }
    }
    tokens.push((Token::End, last));
    Ok(tokens)
}

/// How many characters a part of a text has, which is no longer than
/// [`MOST_BYTES`](super::MOST_BYTES).
fn characters(text: &str) -> u32 {
    text.chars().count() as u32
}

fn length_of(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|it| !is_part(it)).unwrap_or(text.len())
}

/// A number and its length: decimal, or hexadecimal behind `0x`, with `_` between
/// digits.
fn number(text: &str, at: At) -> Result<(Token, usize), TextError> {
    let length = length_of(text, |it| it.is_ascii_alphanumeric() || it == '_');
    let digits: String = text[..length].chars().filter(|it| *it != '_').collect();
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    let value = value.map_err(|_| {
        at.wrong(format!(
            "{} is no number of 32 bits, as 255 or 0xff",
            &text[..length]
        ))
    })?;
    Ok((Token::Number(value), length))
}
