//! Perl-compatible patterns in the words of the `regex` crate.
//!
//! `regex` searches in time linear in the payload, whatever the pattern, and
//! for that does without look-around, back-references, atomic groups and
//! possessive quantifiers. Patterns that need them keep them, for a search that
//! backtracks. What neither has is refused by name. The languages differ in
//! spelling, which is rewritten here so that it means the same, byte by byte:
//!
//! | Perl-compatible | here |
//! | --- | --- |
//! | a byte outside ASCII | `\xHH` |
//! | `(…)`, `(?<name>…)` | `(?:…)`: nothing is captured; `(…)` where the search backtracks |
//! | `\1`, `\g{-1}`, `\k<name>`, `(?P=name)` | `\N`, by the number of the group |
//! | `{` that is no quantifier, `]`, `}` | escaped |
//! | `[`, `-`, `&&` inside a class | escaped where they are literal |
//! | `\e`, `\cX`, `\015`, `\h`, `\v`, `\N`, `\C`, `\Q…\E`, `[\b]` | spelled out |
//! | `$` without the flags `m` and `E` | `\z`, searched for with and without a newline at the end; `(?=\n?\z)` where the search backtracks |
//! | `^` with the flag `m`, where the search backtracks | `(?:\A|(?<=\n)(?!\z))`: not behind a newline that ends the text |
//! | `\K` | nothing: where a match begins is of no account |
//! | flag `x` | blanks and comments are taken away |

use std::fmt::Write;

use regex_syntax::hir::{Hir, HirKind, Look};

use super::fault::{FaultKind, Unsupported};
use crate::payload::PatternText;

/// How a pattern is to be read: the flags after its closing slash.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dialect {
    pub(super) case_insensitive: bool,
    pub(super) dot_matches_newline: bool,
    pub(super) multi_line: bool,
    pub(super) extended: bool,
    pub(super) anchored: bool,
    pub(super) dollar_end_only: bool,
    pub(super) ungreedy: bool,
}

/// Rewrites a pattern.
///
/// # Errors
/// [`FaultKind::Unsupported`] with what the pattern uses, or
/// [`FaultKind::Pattern`].
pub(super) fn translate(pattern: &[u8], dialect: Dialect) -> Result<PatternText, FaultKind> {
    let mut linear = Translator::new(pattern, dialect, false);
    match linear.translate() {
        Err(_) if linear.needs_backtracking => {}
        Ok(text) if may_start_line_at_end(&text) => {}
        result => return result,
    }
    Translator::new(pattern, dialect, true).translate()
}

/// Whether a start of a line could match behind a newline that ends the text,
/// where there is none for PCRE.
fn may_start_line_at_end(pattern: &PatternText) -> bool {
    fn search(hir: &Hir) -> bool {
        let of_sequence = |items: &[Hir]| {
            (0..items.len()).any(|at| {
                let is_last = items[at + 1..]
                    .iter()
                    .all(|next| next.properties().minimum_len() == Some(0));
                is_last && search(&items[at])
            })
        };
        match hir.kind() {
            HirKind::Look(look) => *look == Look::StartLF,
            HirKind::Concat(items) => of_sequence(items),
            HirKind::Alternation(items) => items.iter().any(search),
            HirKind::Repetition(repetition) => search(&repetition.sub),
            HirKind::Capture(capture) => search(&capture.sub),
            HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => false,
        }
    }
    pattern.multi_line && pattern.parse().is_some_and(|hir| search(&hir))
}

fn unsupported(what: &str) -> FaultKind {
    FaultKind::Unsupported(Unsupported::Pcre(what.to_owned()))
}

fn wrong(what: &str) -> FaultKind {
    FaultKind::Pattern(what.to_owned())
}

/// Most groups of a pattern that can be referred to.
const MAX_GROUPS: usize = 999;

/// What stands before the place where the translator is, as far as the next
/// quantifier is concerned.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Nothing,
    Atom,
    Quantifier,
    /// A quantifier with its `?` or `+`.
    LazyQuantifier,
}

struct Translator<'p> {
    rest: &'p [u8],
    dialect: Dialect,
    out: String,
    last: Last,
    uses_very_end: bool,
    uses_dollar: bool,
    /// Writes for a search that backtracks.
    backtracks: bool,
    /// Came to what only such a search has.
    needs_backtracking: bool,
    /// Groups that capture so far, and the names of some.
    groups: usize,
    names: Vec<(Vec<u8>, usize)>,
    /// Highest group that is referred to.
    highest_reference: usize,
}

impl<'p> Translator<'p> {
    fn new(pattern: &'p [u8], dialect: Dialect, backtracks: bool) -> Translator<'p> {
        Translator {
            rest: pattern,
            dialect,
            out: String::with_capacity(pattern.len() + 8),
            last: Last::Nothing,
            uses_very_end: false,
            uses_dollar: false,
            backtracks,
            needs_backtracking: false,
            groups: 0,
            names: Vec::new(),
            highest_reference: 0,
        }
    }

    fn translate(&mut self) -> Result<PatternText, FaultKind> {
        self.leading_flags();
        self.pattern()?;
        if self.highest_reference > self.groups {
            return Err(wrong("it refers to a group that is not there"));
        }
        if self.uses_dollar && self.uses_very_end {
            return Err(self.only_backtracking("$ beside \\z"));
        }
        let (dialect, out) = (self.dialect, std::mem::take(&mut self.out));
        Ok(PatternText {
            text: if dialect.anchored {
                format!("\\A(?:{out})")
            } else {
                out
            },
            case_insensitive: dialect.case_insensitive,
            dot_matches_newline: dialect.dot_matches_newline,
            multi_line: dialect.multi_line,
            ungreedy: dialect.ungreedy,
            also_before_last_newline: self.uses_dollar,
            backtracks: self.backtracks,
        })
    }

    /// The fault of what only a search that backtracks has.
    fn only_backtracking(&mut self, what: &str) -> FaultKind {
        self.needs_backtracking = true;
        unsupported(what)
    }

    /// Whether the search backtracks; else the fault.
    fn require_backtracking(&mut self, what: &str) -> Result<(), FaultKind> {
        match self.backtracks {
            true => Ok(()),
            false => Err(self.only_backtracking(what)),
        }
    }
    fn take(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn take_if(&mut self, wanted: &[u8]) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Skips up to and including a byte.
    fn skip_past(&mut self, byte: u8) -> bool {
        match memchr::memchr(byte, self.rest) {
            Some(at) => {
                self.rest = &self.rest[at + 1..];
                true
            }
            None => false,
        }
    }

    fn literal(&mut self, byte: u8) {
        if byte.is_ascii_alphanumeric() {
            self.out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(self.out, "\\x{byte:02X}");
        }
    }

    fn atom(&mut self, text: &str) {
        self.out.push_str(text);
        self.last = Last::Atom;
    }

    /// Flags in front of the whole pattern, as in `(?i)`, hold for all of it.
    fn leading_flags(&mut self) {
        while let Some(rest) = self.rest.strip_prefix(b"(?") {
            let is_flag = |byte: &&u8| matches!(byte, b'i' | b's' | b'm' | b'x' | b'U');
            let flags = rest.iter().take_while(is_flag).count();
            if flags == 0 || rest.get(flags) != Some(&b')') {
                return;
            }
            let has = |flag: u8| rest[..flags].contains(&flag);
            self.dialect.case_insensitive |= has(b'i');
            self.dialect.dot_matches_newline |= has(b's');
            self.dialect.multi_line |= has(b'm');
            self.dialect.extended |= has(b'x');
            self.dialect.ungreedy |= has(b'U');
            self.rest = &rest[flags + 1..];
        }
    }

    fn pattern(&mut self) -> Result<(), FaultKind> {
        while let Some(byte) = self.take() {
            match byte {
                b'\\' => self.escape()?,
                b'[' => self.class()?,
                b'(' => self.group()?,
                b')' => self.atom(")"),
                b'|' => {
                    self.out.push('|');
                    self.last = Last::Nothing;
                }
                b'*' | b'+' | b'?' => self.quantifier(byte)?,
                b'{' => match counted(self.rest) {
                    Some((text, bytes)) => {
                        self.rest = &self.rest[bytes..];
                        self.repeat(&text)?;
                    }
                    None => self.atom("\\{"),
                },
                b'.' => self.atom("."),
                b'^' if self.backtracks && self.dialect.multi_line => {
                    self.atom("(?:\\A|(?<=\\n)(?!\\z))");
                }
                b'^' => self.atom("^"),
                b'$' => self.dollar(),
                b' ' | b'\t'..=b'\r' if self.dialect.extended => {}
                b'#' if self.dialect.extended => {
                    if !self.skip_past(b'\n') {
                        self.rest = &[];
                    }
                }
                _ => {
                    self.literal(byte);
                    self.last = Last::Atom;
                }
            }
        }
        Ok(())
    }

    fn dollar(&mut self) {
        if self.backtracks && self.dialect.multi_line {
            self.atom("(?=\\n|\\z)");
        } else if self.dialect.multi_line {
            self.atom("$");
        } else if self.backtracks && !self.dialect.dollar_end_only {
            self.atom("(?=\\n?\\z)");
        } else {
            self.uses_dollar |= !self.dialect.dollar_end_only;
            self.uses_very_end |= self.dialect.dollar_end_only;
            self.atom("\\z");
        }
    }

    fn quantifier(&mut self, byte: u8) -> Result<(), FaultKind> {
        match (byte, self.last) {
            (b'?', Last::Quantifier) => {
                match self.is_swapped() {
                    true => self.out.truncate(self.out.len() - 1),
                    false => self.out.push('?'),
                }
                self.last = Last::LazyQuantifier;
                Ok(())
            }
            (b'+', Last::Quantifier) => {
                self.require_backtracking("possessive quantifier")?;
                if self.is_swapped() {
                    self.out.truncate(self.out.len() - 1);
                }
                self.out.push('+');
                self.last = Last::LazyQuantifier;
                Ok(())
            }
            _ => self.repeat(char::from(byte).encode_utf8(&mut [0; 4])),
        }
    }

    fn repeat(&mut self, quantifier: &str) -> Result<(), FaultKind> {
        if self.last != Last::Atom {
            return Err(wrong("a quantifier has nothing to repeat"));
        }
        self.out.push_str(quantifier);
        if self.is_swapped() {
            self.out.push('?');
        }
        self.last = Last::Quantifier;
        Ok(())
    }

    /// Whether quantifiers that the pattern calls greedy are written as lazy
    /// ones: a search that backtracks has no flag for that.
    fn is_swapped(&self) -> bool {
        self.backtracks && self.dialect.ungreedy
    }

    fn group(&mut self) -> Result<(), FaultKind> {
        self.last = Last::Nothing;
        if self.take_if(b"*") {
            return Err(unsupported("verb"));
        }
        if !self.take_if(b"?") {
            self.open_group(None);
            return Ok(());
        }
        for opening in ["=", "!", "<=", "<!", ">"] {
            if self.take_if(opening.as_bytes()) {
                let what = if opening == ">" {
                    "atomic group"
                } else {
                    "look-around"
                };
                self.require_backtracking(what)?;
                self.out.push_str("(?");
                self.out.push_str(opening);
                return Ok(());
            }
        }
        match self.rest {
            [b'|', ..] => Err(unsupported("branch reset")),
            [b'(', ..] => Err(unsupported("conditional group")),
            [b'P', b'=', rest @ ..] => {
                self.rest = rest;
                let name = self.name(b')')?;
                self.reference(name)
            }
            [b'R' | b'&' | b'0'..=b'9' | b'+', ..] | [b'P', b'>', ..] => {
                Err(unsupported("recursion"))
            }
            [b'#', ..] => {
                if self.skip_past(b')') {
                    self.last = Last::Atom;
                    Ok(())
                } else {
                    Err(wrong("a comment has no end"))
                }
            }
            [b':', rest @ ..] => {
                self.rest = rest;
                self.out.push_str("(?:");
                Ok(())
            }
            [b'\'', rest @ ..] => {
                self.rest = rest;
                let name = self.name(b'\'')?;
                self.open_group(Some(name));
                Ok(())
            }
            [b'<', rest @ ..] | [b'P', b'<', rest @ ..] => {
                self.rest = rest;
                let name = self.name(b'>')?;
                self.open_group(Some(name));
                Ok(())
            }
            _ => self.inline_flags(),
        }
    }

    /// Opens a group that captures.
    fn open_group(&mut self, name: Option<&[u8]>) {
        self.groups += 1;
        self.names
            .extend(name.map(|name| (name.to_vec(), self.groups)));
        self.out.push_str(if self.backtracks { "(" } else { "(?:" });
    }

    /// A name or number up to and with its closing byte.
    fn name(&mut self, end: u8) -> Result<&'p [u8], FaultKind> {
        let rest = self.rest;
        match memchr::memchr(end, rest) {
            Some(at) => {
                self.rest = &rest[at + 1..];
                Ok(&rest[..at])
            }
            None => Err(wrong("the name of a group has no end")),
        }
    }

    /// What a group captured: by its number, by its distance back (`-1`), or by
    /// its name.
    fn reference(&mut self, name: &[u8]) -> Result<(), FaultKind> {
        let number = std::str::from_utf8(name).ok();
        let number = match number.and_then(|number| number.parse::<i64>().ok()) {
            Some(back @ ..0) => usize::try_from(self.groups as i64 + 1 + back).ok(),
            Some(number) => usize::try_from(number).ok(),
            None => {
                let mut known = self.names.iter();
                known.find(|(known, _)| known == name).map(|(_, n)| *n)
            }
        };
        let Some(number @ 1..=MAX_GROUPS) = number else {
            return Err(wrong("it refers to a group that is not there"));
        };
        self.require_backtracking("back-reference")?;
        self.highest_reference = self.highest_reference.max(number);
        let _ = write!(self.out, "(?:\\{number})");
        self.last = Last::Atom;
        Ok(())
    }

    /// Flags in the middle of a pattern: `(?i)` and `(?-s:…)`. Those that
    /// change what `$` and blanks mean are left alone.
    fn inline_flags(&mut self) -> Result<(), FaultKind> {
        self.out.push_str("(?");
        loop {
            match self.take() {
                Some(b'U') if self.backtracks => return Err(unsupported("inline flags")),
                Some(flag @ (b'i' | b's' | b'U' | b'-')) => self.out.push(char::from(flag)),
                Some(end @ (b')' | b':')) => {
                    self.out.push(char::from(end));
                    return Ok(());
                }
                _ => return Err(unsupported("inline flags")),
            }
        }
    }

    /// What follows a backslash outside a class.
    fn escape(&mut self) -> Result<(), FaultKind> {
        let Some(byte) = self.take() else {
            return Err(wrong("the pattern ends with a backslash"));
        };
        match byte {
            b'd' | b'D' | b'w' | b'W' | b's' | b'S' | b'b' | b'B' | b'A' => {
                self.out.push('\\');
                self.out.push(char::from(byte));
            }
            b'Z' if self.backtracks => self.out.push_str("(?=\\n?\\z)"),
            b'z' => {
                self.uses_very_end = true;
                self.out.push_str("\\z");
            }
            b'Z' => {
                self.uses_dollar = true;
                self.out.push_str("\\z");
            }
            b'G' => self.out.push_str("\\A"),
            b'h' => self.out.push_str("[\\t \\xA0]"),
            b'H' => self.out.push_str("[^\\t \\xA0]"),
            b'v' => self.out.push_str("[\\x0A-\\x0D\\x85]"),
            b'V' => self.out.push_str("[^\\x0A-\\x0D\\x85]"),
            b'N' => self.out.push_str("[^\\n]"),
            b'C' => self.out.push_str("(?s:.)"),
            b'1'..=b'9' => {
                let digits = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
                let number = [&[byte], &self.rest[..digits]].concat();
                let is_octal = digits > 0
                    && byte < b'8'
                    && matches!(self.rest, [b'0'..=b'7', ..])
                    && !self.is_group(&number);
                if is_octal {
                    let octal = self.octal(byte)?;
                    self.literal(octal);
                    self.last = Last::Atom;
                    return Ok(());
                }
                self.rest = &self.rest[digits..];
                return self.reference(&number);
            }
            b'g' | b'k' => {
                let end = match self.take() {
                    Some(b'{') => b'}',
                    Some(b'<') if byte == b'k' => b'>',
                    Some(b'\'') if byte == b'k' => b'\'',
                    Some(digit @ b'1'..=b'9') if byte == b'g' => return self.reference(&[digit]),
                    _ => return Err(unsupported("recursion")),
                };
                let name = self.name(end)?;
                return self.reference(name);
            }
            b'K' => return Ok(()),
            b'Q' => return self.quoted_run(),
            b'E' => return Ok(()),
            _ => {
                let byte = self.escaped_byte(byte)?;
                self.literal(byte);
            }
        }
        self.last = Last::Atom;
        Ok(())
    }

    /// `\Q…\E`: every byte is itself.
    fn quoted_run(&mut self) -> Result<(), FaultKind> {
        while !self.rest.is_empty() && !self.take_if(b"\\E") {
            if let Some(byte) = self.take() {
                self.literal(byte);
                self.last = Last::Atom;
            }
        }
        Ok(())
    }

    /// The byte that an escape stands for, in a class and outside.
    fn escaped_byte(&mut self, byte: u8) -> Result<u8, FaultKind> {
        Ok(match byte {
            b'a' => 0x07,
            b'e' => 0x1b,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'0' => self.number(8, 2),
            b'x' if self.take_if(b"{") => {
                let digits = self.rest.iter().take_while(|b| b.is_ascii_hexdigit());
                let digits = digits.count();
                let text = String::from_utf8_lossy(&self.rest[..digits]);
                let byte = u32::from_str_radix(&text, 16).unwrap_or(u32::MAX);
                self.rest = &self.rest[digits..];
                match u8::try_from(byte) {
                    Ok(byte) if self.take_if(b"}") => byte,
                    _ => return Err(unsupported("characters of more than one byte")),
                }
            }
            b'x' => self.number(16, 2),
            b'c' => match self.take() {
                Some(letter) => letter.to_ascii_uppercase() ^ 0x40,
                None => return Err(wrong("the pattern ends with \\c")),
            },
            byte if byte.is_ascii_alphanumeric() => {
                return Err(unsupported(&format!("\\{}", char::from(byte))));
            }
            byte => byte,
        })
    }

    /// Whether a group of this number opened so far.
    fn is_group(&self, number: &[u8]) -> bool {
        let number = std::str::from_utf8(number).unwrap_or_default();
        number
            .parse::<usize>()
            .is_ok_and(|number| number <= self.groups)
    }

    /// A byte in up to three octal digits, the first one taken.
    fn octal(&mut self, first: u8) -> Result<u8, FaultKind> {
        let first = u32::from(first - b'0');
        let before = self.rest.len();
        let next = u32::from(self.number(8, 2));
        let digits = (before - self.rest.len()) as u32;
        u8::try_from(first * 8u32.pow(digits) + next)
            .map_err(|_| unsupported("characters of more than one byte"))
    }

    /// A number of up to `most` digits; without digits 0.
    fn number(&mut self, radix: u32, most: usize) -> u8 {
        let mut number = 0;
        for _ in 0..most {
            let digit = self
                .rest
                .first()
                .and_then(|b| char::from(*b).to_digit(radix));
            let Some(digit) = digit else { break };
            number = number * radix + digit;
            self.rest = &self.rest[1..];
        }
        number as u8
    }

    /// A class in brackets, its opening one taken.
    fn class(&mut self) -> Result<(), FaultKind> {
        self.out.push('[');
        if self.take_if(b"^") {
            self.out.push('^');
        }
        if self.take_if(b"]") {
            self.out.push_str("\\]");
        }
        // Whether a hyphen makes a range depends on what is before it.
        let mut could_start_range = self.out.ends_with("\\]");
        let mut ends_range = false;
        loop {
            let Some(byte) = self.take() else {
                return Err(wrong("a class has no end"));
            };
            match byte {
                b']' if ends_range => return Err(wrong("a range in a class has no end")),
                b']' => break,
                b'-' if could_start_range && self.can_end_range() => {
                    self.out.push('-');
                    (could_start_range, ends_range) = (false, true);
                    continue;
                }
                b'[' if self.posix_class() => could_start_range = false,
                b'\\' => could_start_range = self.escape_in_class()? && !ends_range,
                _ => {
                    self.literal(byte);
                    could_start_range = !ends_range;
                }
            }
            ends_range = false;
        }
        self.atom("]");
        Ok(())
    }

    /// Whether what follows a hyphen is a single byte.
    fn can_end_range(&self) -> bool {
        !matches!(
            self.rest,
            [b']', ..]
                | [b'[', b':', ..]
                | [
                    b'\\',
                    b'd' | b'D' | b'w' | b'W' | b's' | b'S' | b'h' | b'v' | b'Q' | b'E',
                    ..
                ]
                | []
        )
    }

    /// Takes `[:alpha:]` or `[:^alpha:]`, after its first bracket.
    fn posix_class(&mut self) -> bool {
        let Some(name) = self.rest.strip_prefix(b":") else {
            return false;
        };
        let inner = name
            .iter()
            .take_while(|b| b.is_ascii_lowercase() || **b == b'^');
        let inner = inner.count();
        if !name[inner..].starts_with(b":]") {
            return false;
        }
        self.out.push_str("[:");
        self.out
            .extend(name[..inner].iter().map(|b| char::from(*b)));
        self.out.push_str(":]");
        self.rest = &name[inner + 2..];
        true
    }

    /// What follows a backslash in a class. Says whether it is a single byte.
    fn escape_in_class(&mut self) -> Result<bool, FaultKind> {
        let Some(byte) = self.take() else {
            return Err(wrong("a class has no end"));
        };
        match byte {
            b'd' | b'D' | b'w' | b'W' | b's' | b'S' => {
                self.out.push('\\');
                self.out.push(char::from(byte));
                return Ok(false);
            }
            b'h' => {
                self.out.push_str("\\t\\x20\\xA0");
                return Ok(false);
            }
            b'v' => {
                self.out.push_str("\\x0A-\\x0D\\x85");
                return Ok(false);
            }
            b'Q' => {
                self.quoted_run()?;
                return Ok(false);
            }
            b'E' => return Ok(false),
            b'b' => self.literal(0x08),
            b'1'..=b'7' => {
                let byte = self.octal(byte)?;
                self.literal(byte);
            }
            _ => {
                let byte = self.escaped_byte(byte)?;
                self.literal(byte);
            }
        }
        Ok(true)
    }
}

/// A counted quantifier, its opening brace taken: what it is called here, and
/// its length with the closing brace.
fn counted(rest: &[u8]) -> Option<(String, usize)> {
    let end = memchr::memchr(b'}', rest)?;
    let inner = std::str::from_utf8(&rest[..end]).ok()?;
    let (least, most) = match inner.split_once(',') {
        Some((least, most)) => (least, Some(most)),
        None => (inner, None),
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_quantifier = is_number(least) && most.is_none_or(|m| m.is_empty() || is_number(m));
    is_quantifier.then(|| (format!("{{{inner}}}"), end + 1))
}

#[cfg(test)]
mod tests;
