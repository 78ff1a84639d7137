//! From the bytes of a rule file to the words of its rules.
//!
//! A rule stands on one line, on several joined by a backslash at the end
//! (Snort 2, Suricata), or on several with its options in parentheses
//! (Snort 3). Here it becomes ranges of the file, so that every later error
//! can say where it is.

use std::borrow::Cow;
use std::ops::Range;

use super::fault::Fault;

/// The words that start a rule.
const ACTIONS: [&[u8]; 14] = [
    b"alert",
    b"drop",
    b"reject",
    b"pass",
    b"log",
    b"sdrop",
    b"block",
    b"rejectsrc",
    b"rejectdst",
    b"rejectboth",
    b"activate",
    b"dynamic",
    b"react",
    b"rewrite",
];

/// One rule, as ranges of the text.
#[derive(Debug)]
pub(crate) struct RuleText {
    /// Action, protocol, addresses, ports.
    pub(crate) header: Vec<Range<usize>>,
    /// What stands between the parentheses.
    pub(crate) options: Vec<OptionText>,
    /// The closing parenthesis.
    pub(crate) end: usize,
}

/// One option: `name;` or `name:value;`.
#[derive(Debug)]
pub(crate) struct OptionText {
    pub(crate) name: Range<usize>,
    pub(crate) value: Option<Range<usize>>,
}

/// The rules of a text, one after the other.
pub(crate) struct RuleTexts<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> RuleTexts<'a> {
    pub(crate) fn new(text: &'a [u8]) -> RuleTexts<'a> {
        let at = if text.starts_with(b"\xef\xbb\xbf") {
            3
        } else {
            0
        };
        RuleTexts { text, at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Length of a line's end at a place: 0 where there is none.
    fn line_end_bytes(&self, at: usize) -> usize {
        match self.text.get(at..) {
            Some([b'\n', ..]) => 1,
            Some([b'\r', b'\n', ..]) => 2,
            _ => 0,
        }
    }

    /// Whether a line ends here; so does the last one.
    fn is_line_end(&self) -> bool {
        self.at >= self.text.len() || self.line_end_bytes(self.at) > 0
    }

    /// Length of a continuation, a backslash before a line's end.
    fn continuation_bytes(&self) -> usize {
        match self.peek() {
            Some(b'\\') => match self.line_end_bytes(self.at + 1) {
                0 => 0,
                end => 1 + end,
            },
            _ => 0,
        }
    }

    /// Skips blanks and continuations, and stays on the line.
    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\x0b' | b'\x0c') => self.at += 1,
                Some(b'\r') if self.line_end_bytes(self.at) == 0 => self.at += 1,
                Some(b'\\') if self.continuation_bytes() > 0 => {
                    self.at += self.continuation_bytes()
                }
                _ => return,
            }
        }
    }

    /// Skips the rest of the line and its continuations.
    fn skip_line(&mut self) {
        while !self.is_line_end() {
            self.at += self.continuation_bytes().max(1);
        }
        self.at += self.line_end_bytes(self.at);
    }

    /// Skips blanks, line ends and comments up to the next word. Stops at the
    /// end of a line whose successor starts a rule of its own, and says
    /// whether there is a word.
    fn skip_to_word(&mut self) -> bool {
        loop {
            self.skip_blanks();
            if !self.is_line_end() {
                return true;
            }
            let end_of_line = self.at;
            self.at += self.line_end_bytes(self.at);
            self.skip_blanks();
            while self.peek() == Some(b'#') {
                self.skip_comment();
                self.skip_blanks();
            }
            if self.at >= self.text.len() || self.starts_rule() {
                self.at = end_of_line;
                return false;
            }
        }
    }

    /// Skips a comment and its line's end. A comment is not continued.
    fn skip_comment(&mut self) {
        while !self.is_line_end() {
            self.at += 1;
        }
        self.at += self.line_end_bytes(self.at);
    }

    /// Whether the next word is one that starts a rule.
    fn starts_rule(&self) -> bool {
        let rest = &self.text[self.at..];
        let word_bytes = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        ACTIONS.contains(&&rest[..word_bytes])
            && matches!(rest.get(word_bytes), Some(b' ' | b'\t' | b'\\'))
    }

    fn read_rule(&mut self) -> Result<RuleText, Fault> {
        let mut header = Vec::new();
        loop {
            self.skip_blanks();
            let end_of_line = self.at;
            if self.is_line_end() && !(self.skip_to_word() && self.peek() == Some(b'(')) {
                self.at = end_of_line;
                let last = header.last().cloned().unwrap_or(self.at..self.at);
                return Err(Fault::syntax(
                    last.start,
                    &self.text[last],
                    "a rule is a header and options in parentheses; nothing in parentheses follows",
                ));
            }
            if self.peek() == Some(b'(') {
                self.at += 1;
                break;
            }
            header.push(self.read_header_word());
        }
        let mut options = Vec::new();
        loop {
            if !self.skip_to_word() {
                return Err(Fault::syntax(
                    self.at,
                    b"",
                    "the rule is not closed: `)` is missing",
                ));
            }
            match self.peek() {
                Some(b')') => break,
                Some(b';') => self.at += 1,
                _ => options.push(self.read_option()?),
            }
        }
        let end = self.at;
        self.at += 1;
        self.skip_blanks();
        if self.is_line_end() {
            Ok(RuleText {
                header,
                options,
                end,
            })
        } else if self.peek() == Some(b'#') {
            self.skip_comment();
            Ok(RuleText {
                header,
                options,
                end,
            })
        } else {
            let start = self.at;
            while !self.is_line_end() {
                self.at += 1;
            }
            Err(Fault::syntax(
                start,
                &self.text[start..self.at],
                "text after the end of the rule",
            ))
        }
    }

    /// A word of the header: blanks end it, except inside brackets and after
    /// an exclamation mark.
    fn read_header_word(&mut self) -> Range<usize> {
        let start = self.at;
        let mut depth = 0usize;
        while !self.is_line_end() {
            let is_blank = matches!(self.peek(), Some(b' ' | b'\t' | b'\x0b' | b'\x0c' | b'\r'))
                || self.continuation_bytes() > 0;
            match self.peek() {
                _ if is_blank => {
                    let only_negation = self.text[start..self.at] == *b"!";
                    if depth == 0 && !only_negation {
                        break;
                    }
                    self.skip_blanks();
                    continue;
                }
                Some(b'(') if depth == 0 => break,
                Some(b'[') => depth += 1,
                Some(b']') => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
        start..self.at
    }

    fn read_option(&mut self) -> Result<OptionText, Fault> {
        let start = self.at;
        while !self.is_line_end() && !matches!(self.peek(), Some(b':' | b';' | b')' | b'"')) {
            self.at += 1;
        }
        let name = trim(self.text, start..self.at);
        match self.peek() {
            Some(b';') if !name.is_empty() => {
                self.at += 1;
                Ok(OptionText { name, value: None })
            }
            Some(b':') if !name.is_empty() => {
                self.at += 1;
                let value = self.read_value(&name)?;
                Ok(OptionText {
                    name,
                    value: Some(value),
                })
            }
            Some(b':' | b'"') => Err(Fault::syntax(
                start,
                &self.text[start..=self.at],
                "expected the name of an option",
            )),
            _ => Err(Fault::syntax(
                name.start,
                &self.text[name],
                "`;` is missing after the option",
            )),
        }
    }

    /// The value of an option, up to its semicolon. A string, and the text
    /// after a backslash, may hold semicolons.
    fn read_value(&mut self, name: &Range<usize>) -> Result<Range<usize>, Fault> {
        self.skip_blanks();
        let start = self.at;
        if self.peek() == Some(b'!') {
            self.at += 1;
            self.skip_blanks();
        }
        let quote = (self.peek() == Some(b'"')).then_some(self.at);
        let mut in_string = quote.is_some();
        let is_pattern = self.text[name.clone()] == *b"pcre";
        if in_string {
            self.at += 1;
        }
        while !self.is_line_end() {
            match self.peek() {
                Some(b'\\') => self.at += self.continuation_bytes().max(2),
                Some(b'"') => {
                    self.at += 1;
                    // In a pattern, only the last quote ends the string.
                    in_string = in_string && is_pattern && !self.is_value_end();
                }
                Some(b';') if !in_string => {
                    let value = trim(self.text, start..self.at);
                    self.at += 1;
                    return Ok(value);
                }
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.text.len());
        Err(match quote {
            Some(quote) if in_string => Fault::syntax(
                quote,
                &self.text[quote..self.at],
                "the string is not closed",
            ),
            _ => Fault::syntax(
                name.start,
                &self.text[name.start..self.at],
                "`;` is missing after the option",
            ),
        })
    }

    /// Whether nothing but blanks stands in front of the semicolon.
    fn is_value_end(&self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.trim_ascii_start().starts_with(b";")
    }

    /// Goes on behind a rule that could not be read: the rest of its line,
    /// and the lines after it that are indented and start no rule.
    fn recover(&mut self) {
        self.skip_line();
        while let Some(b' ' | b'\t' | b')') = self.peek() {
            let line = self.at;
            self.skip_blanks();
            if self.starts_rule() {
                self.at = line;
                return;
            }
            self.skip_line();
        }
    }
}

impl Iterator for RuleTexts<'_> {
    type Item = Result<RuleText, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.skip_blanks();
            if self.at >= self.text.len() {
                return None;
            }
            if self.peek() == Some(b'#') {
                self.skip_comment();
            } else if self.is_line_end() {
                self.at += self.line_end_bytes(self.at);
            } else {
                break;
            }
        }
        let rule = self.read_rule();
        if rule.is_err() {
            self.recover();
        }
        Some(rule)
    }
}

/// A range without the blanks around it.
fn trim(text: &[u8], range: Range<usize>) -> Range<usize> {
    let bytes = &text[range.clone()];
    let start = range.start + (bytes.len() - bytes.trim_ascii_start().len());
    start..start + bytes.trim_ascii().len()
}

/// A value with its continued lines joined.
pub(crate) fn unfold(value: &[u8]) -> Cow<'_, [u8]> {
    if !value.contains(&b'\n') {
        return Cow::Borrowed(value);
    }
    let mut joined = Vec::with_capacity(value.len());
    let mut rest = value;
    loop {
        rest = match rest {
            [b'\\', b'\r', b'\n', after @ ..] | [b'\\', b'\n', after @ ..] => after,
            [byte, after @ ..] => {
                joined.push(*byte);
                after
            }
            [] => return Cow::Owned(joined),
        };
    }
}

/// Lines and columns of a text, asked for in ascending order of lines.
pub(crate) struct Lines<'a> {
    text: &'a [u8],
    line_start: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Lines<'a> {
        Lines {
            text,
            line_start: 0,
            line: 1,
        }
    }

    /// Line and column of a byte, both from 1; the column counts characters.
    pub(crate) fn position(&mut self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        if offset < self.line_start {
            (self.line_start, self.line) = (0, 1);
        }
        while let Some(line_bytes) = memchr::memchr(b'\n', &self.text[self.line_start..offset]) {
            self.line_start += line_bytes + 1;
            self.line += 1;
        }
        let before = String::from_utf8_lossy(&self.text[self.line_start..offset]);
        (self.line, before.chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of the header, and options.
    type Shape<'a> = (Vec<&'a str>, Vec<String>);
    /// Line, column and word.
    type Place = (usize, usize, String);

    fn shape(text: &str) -> Vec<Result<Shape<'_>, Place>> {
        let mut lines = Lines::new(text.as_bytes());
        RuleTexts::new(text.as_bytes())
            .map(|rule| match rule {
                Ok(rule) => Ok((
                    rule.header.into_iter().map(|word| &text[word]).collect(),
                    rule.options
                        .into_iter()
                        .map(|option| match option.value {
                            Some(value) => format!("{}={}", &text[option.name], &text[value]),
                            None => text[option.name].to_owned(),
                        })
                        .collect(),
                )),
                Err(fault) => {
                    let (line, column) = lines.position(fault.offset);
                    Err((line, column, fault.word))
                }
            })
            .collect()
    }

    #[test]
    fn one_line_two_lines_and_the_free_form_of_snort_3() {
        let rules = shape(
            "# comment \\\n\n  alert tcp $A [1, 2] -> ! $B any (msg:\"a;b\\\"(c\"; nocase ; ref:x(y);) # end\n\
             alert tcp \\\r\n any any \\\n -> any any (a:1; \\\n b:!\"x\";)\n\
             alert http\n(\n  # inner\n  a:1,\n  b 2;\n)\nalert udp any any -> any any\n(\n  msg:\"m\";\n  sid:1;\n)\n",
        );
        assert_eq!(
            rules[0],
            Ok((
                vec!["alert", "tcp", "$A", "[1, 2]", "->", "! $B", "any"],
                vec![
                    "msg=\"a;b\\\"(c\"".into(),
                    "nocase".into(),
                    "ref=x(y)".into()
                ]
            ))
        );
        assert_eq!(
            rules[1],
            Ok((
                vec!["alert", "tcp", "any", "any", "->", "any", "any"],
                vec!["a=1".into(), "b=!\"x\"".into()]
            ))
        );
        assert_eq!(rules[2], Err((11, 3, "a:1,".into())));
        assert_eq!(
            rules[3],
            Ok((
                vec!["alert", "udp", "any", "any", "->", "any", "any"],
                vec!["msg=\"m\"".into(), "sid=1".into()]
            ))
        );
        assert_eq!(rules.len(), 4);
    }

    #[test]
    fn faults_name_their_place_and_the_next_rule_still_loads() {
        let rules = shape(
            "alert tcp any any -> any any\n\
             alert a (x:1;)\n\
             alert b (msg:\"open; x:1;)\n\
             alert c (x:1;\n\
             alert d (x:1)\n\
             \talert e (x;) y\n\
             alert f (x:1; \"z\";)\n\
             garbage\n\
             \x20  alert g (x;)\n\
             alert h (x:1;",
        );
        let wrong: Vec<_> = rules.iter().filter_map(|r| r.as_ref().err()).collect();
        let expected = [
            (1, 26, "any"),
            (3, 14, "\"open; x:1;)"),
            (4, 14, ""),
            (5, 10, "x:1)"),
            (6, 15, "y"),
            (7, 15, "\""),
            (8, 1, "garbage"),
            (10, 14, ""),
        ];
        let expected: Vec<_> = expected.map(|(l, c, w)| (l, c, w.to_owned())).into();
        assert_eq!(wrong, expected.iter().collect::<Vec<_>>());
        let right: Vec<_> = rules.iter().filter_map(|r| r.as_ref().ok()).collect();
        assert_eq!(right.len(), 2);
        assert_eq!(right[1].0, ["alert", "g"]);
    }

    #[test]
    fn continued_values_are_joined() {
        assert_eq!(&*unfold(b"a\\\nb\\\r\nc\\x"), b"abc\\x");
    }
}
