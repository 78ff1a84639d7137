//! Reads what the translator writes for a search that backtracks.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, HirKind};

use super::node::{Assertion, ByteSet, Greed, Node};
use super::{Program, ProgramError};

/// Groups in groups in groups.
const MAX_NESTING: usize = 64;

/// Reads a pattern.
///
/// # Errors
/// [`ProgramError`].
pub(in crate::payload) fn parse(
    text: &str,
    case_insensitive: bool,
    dot_matches_newline: bool,
) -> Result<Program, ProgramError> {
    let mut parser = Parser {
        rest: text,
        groups: 0,
        depth: 0,
    };
    let flags = Flags {
        case_insensitive,
        dot_matches_newline,
    };
    let node = parser.alternation(flags)?;
    if !parser.rest.is_empty() {
        return Err(ProgramError::Syntax("unopened group"));
    }
    Program::new(&node, parser.groups)
}

#[derive(Clone, Copy)]
struct Flags {
    case_insensitive: bool,
    dot_matches_newline: bool,
}

struct Parser<'p> {
    rest: &'p str,
    groups: usize,
    depth: usize,
}

impl<'p> Parser<'p> {
    fn take(&mut self, bytes: usize) -> &'p str {
        let at = bytes.min(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(at).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    fn take_if(&mut self, wanted: &str) -> bool {
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Up to the end of a group or of the pattern.
    fn alternation(&mut self, mut flags: Flags) -> Result<Node, ProgramError> {
        let mut alternatives = Vec::new();
        let mut nodes = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with(')') {
            if self.take_if("|") {
                alternatives.push(Node::Concat(std::mem::take(&mut nodes)));
            } else if let Some(changed) = self.flags(flags)? {
                if self.take_if(")") {
                    flags = changed;
                } else {
                    self.take(1);
                    let node = self.group(changed)?;
                    nodes.push(self.quantified(node)?);
                }
            } else {
                let node = self.atom(flags)?;
                nodes.push(self.quantified(node)?);
            }
        }
        let last = Node::Concat(nodes);
        if alternatives.is_empty() {
            return Ok(last);
        }
        alternatives.push(last);
        Ok(Node::Alternation(alternatives))
    }

    /// The rest of a group, with its closing parenthesis.
    fn group(&mut self, flags: Flags) -> Result<Node, ProgramError> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(ProgramError::TooLarge);
        }
        let node = self.alternation(flags)?;
        self.depth -= 1;
        match self.take_if(")") {
            true => Ok(node),
            false => Err(ProgramError::Syntax("unclosed group")),
        }
    }

    /// `(?i` or `(?-s`, up to what ends it; nothing is taken where there are no
    /// flags.
    fn flags(&mut self, mut flags: Flags) -> Result<Option<Flags>, ProgramError> {
        let Some(words) = self.rest.strip_prefix("(?") else {
            return Ok(None);
        };
        let bytes = words
            .bytes()
            .take_while(|b| matches!(b, b'i' | b's' | b'-'));
        let bytes = bytes.count();
        if bytes == 0 || !matches!(words.as_bytes().get(bytes), Some(b')' | b':')) {
            return Ok(None);
        }
        let mut is_on = true;
        for flag in words.bytes().take(bytes) {
            match flag {
                b'i' => flags.case_insensitive = is_on,
                b's' => flags.dot_matches_newline = is_on,
                _ => is_on = false,
            }
        }
        self.take(2 + bytes);
        Ok(Some(flags))
    }

    fn atom(&mut self, flags: Flags) -> Result<Node, ProgramError> {
        let bytes = self.rest.as_bytes();
        match bytes {
            [b'(', ..] => self.parenthesis(flags),
            [b'^', ..] => Ok(self.assertion(1, Assertion::TextStart)),
            [b'\\', b'A', ..] => Ok(self.assertion(2, Assertion::TextStart)),
            [b'\\', b'z', ..] => Ok(self.assertion(2, Assertion::TextEnd)),
            [b'\\', b'b', ..] => Ok(self.assertion(2, Assertion::WordBoundary)),
            [b'\\', b'B', ..] => Ok(self.assertion(2, Assertion::NoWordBoundary)),
            [b'\\', b'1'..=b'9', ..] => {
                self.take(1);
                let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
                let group = self.take(digits).parse().unwrap_or(0);
                Ok(Node::Reference {
                    group,
                    nocase: flags.case_insensitive,
                })
            }
            [b'\\', b'x', ..] => self.set(4, flags),
            [b'\\', ..] => self.set(2, flags),
            [b'[', ..] => self.set(class_bytes(bytes), flags),
            _ => self.set(1, flags),
        }
    }

    fn assertion(&mut self, bytes: usize, assertion: Assertion) -> Node {
        self.take(bytes);
        Node::Assertion(assertion)
    }

    fn parenthesis(&mut self, flags: Flags) -> Result<Node, ProgramError> {
        if self.take_if("(?:") {
            self.group(flags)
        } else if self.take_if("(?>") {
            Ok(Node::Atomic(Box::new(self.group(flags)?)))
        } else if self.take_if("(?=") {
            self.look(flags, false, false)
        } else if self.take_if("(?!") {
            self.look(flags, false, true)
        } else if self.take_if("(?<=") {
            self.look(flags, true, false)
        } else if self.take_if("(?<!") {
            self.look(flags, true, true)
        } else if self.rest.starts_with("(?") {
            Err(ProgramError::Syntax("unknown group"))
        } else {
            self.take(1);
            self.groups += 1;
            let number = self.groups;
            Ok(Node::Capture(number, Box::new(self.group(flags)?)))
        }
    }

    fn look(&mut self, flags: Flags, is_behind: bool, negated: bool) -> Result<Node, ProgramError> {
        let node = Box::new(self.group(flags)?);
        Ok(match is_behind {
            true => Node::LookBehind { node, negated },
            false => Node::LookAhead { node, negated },
        })
    }

    /// An atom of one byte, as the linear engine reads it.
    fn set(&mut self, bytes: usize, flags: Flags) -> Result<Node, ProgramError> {
        let parsed = ParserBuilder::new()
            .unicode(false)
            .utf8(false)
            .case_insensitive(flags.case_insensitive)
            .dot_matches_new_line(flags.dot_matches_newline)
            .build()
            .parse(self.take(bytes));
        let unknown = ProgramError::Syntax("not a byte or a class of bytes");
        let parsed = parsed.map_err(|_| unknown)?;
        let mut set = ByteSet::default();
        match parsed.kind() {
            HirKind::Literal(literal) if literal.0.len() == 1 => {
                literal.0.iter().for_each(|byte| set.insert(*byte));
            }
            HirKind::Class(Class::Bytes(class)) => {
                for range in class.iter() {
                    (range.start()..=range.end()).for_each(|byte| set.insert(byte));
                }
            }
            _ => return Err(unknown),
        }
        Ok(Node::Byte(set))
    }

    fn quantified(&mut self, node: Node) -> Result<Node, ProgramError> {
        let counted = |rest: &str| {
            let (inner, _) = rest.strip_prefix('{')?.split_once('}')?;
            let (least, most) = match inner.split_once(',') {
                Some((least, "")) => (least.parse().ok()?, None),
                Some((least, most)) => (least.parse().ok()?, Some(most.parse().ok()?)),
                None => (inner.parse().ok()?, Some(inner.parse().ok()?)),
            };
            Some((least, most, inner.len() + 2))
        };
        let (least, most, bytes): (usize, Option<usize>, usize) = match self.rest.as_bytes() {
            [b'*', ..] => (0, None, 1),
            [b'+', ..] => (1, None, 1),
            [b'?', ..] => (0, Some(1), 1),
            [b'{', ..] => {
                counted(self.rest).ok_or(ProgramError::Syntax("quantifier out of range"))?
            }
            _ => return Ok(node),
        };
        if most.is_some_and(|most| most < least) {
            return Err(ProgramError::Syntax("quantifier out of range"));
        }
        self.take(bytes);
        let greed = if self.take_if("?") {
            Greed::Lazy
        } else if self.take_if("+") {
            Greed::Possessive
        } else {
            Greed::Greedy
        };
        Ok(Node::Repeat {
            node: Box::new(node),
            least,
            most,
            greed,
        })
    }
}

/// Length of a class in brackets.
fn class_bytes(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'[' => {
                let name = text[at..].windows(2).position(|two| two == b":]");
                at += name.map_or(1, |end| end + 2);
            }
            b']' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}
