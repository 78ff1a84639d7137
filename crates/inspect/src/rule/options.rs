//! The options of a rule: what stands between its parentheses.

use super::content::{self, Quoted, quoted};
use super::fault::{Fault, FaultKind, Unsupported, printable};
use super::header::HeaderReader;
use super::pcre::Patterns;
use super::text::{RuleText, unfold};
use super::{
    Description, Direction, FlagsTest, FlowCondition, PayloadBytes, Rule, TcpFlags, classification,
};
use crate::payload::{Content, Payload, Place, Step};

/// Largest `offset` and `depth`.
const MAX_PAYLOAD_BYTES: i64 = 65_535;
/// Largest `within`, and largest `distance` either way.
const MAX_RELATIVE_BYTES: i64 = 1 << 20;

/// Reads a rule whose words lie in `text`.
pub(crate) fn read_rule(
    text: &[u8],
    rule: &RuleText,
    headers: &mut HeaderReader<'_>,
    patterns: &mut Patterns,
) -> Result<Rule, Fault> {
    let options_at = rule
        .options
        .first()
        .map_or(rule.end, |option| option.name.start);
    let header = headers.read(text, &rule.header, options_at)?;
    let mut draft = Draft::default();
    for option in &rule.options {
        let name = Word {
            offset: option.name.start,
            bytes: &text[option.name.clone()],
        };
        let value = option
            .value
            .as_ref()
            .map(|range| (range.start, unfold(&text[range.clone()])));
        let value = value.as_ref().map(|(offset, bytes)| Word {
            offset: *offset,
            bytes,
        });
        draft.option(name, value)?;
    }
    let Some(sid) = draft.sid else {
        return Err(Fault::syntax(
            rule.end,
            &text[rule.end..=rule.end],
            "a rule has a number of its own, as in sid:1000001;",
        ));
    };
    let payload = Payload::new(draft.steps(patterns)?);
    let class = draft.classtype.as_deref().and_then(classification::class);
    let (category, class_priority) = class.unwrap_or(("", classification::DEFAULT_PRIORITY));
    Ok(Rule {
        action: header.action,
        protocol: header.protocol,
        selector: header.selector,
        both_ways: header.both_ways,
        flow: draft.flow,
        payload_bytes: draft.payload_bytes,
        tcp_flags: draft.tcp_flags,
        payload,
        description: Description {
            gid: draft.gid.unwrap_or(1),
            sid,
            rev: draft.rev,
            message: draft.message,
            classtype: draft.classtype,
            category,
            priority: draft.priority.unwrap_or(class_priority),
            references: draft.references,
            metadata: draft.metadata,
        },
    })
}

/// A piece of the text and its place.
#[derive(Clone, Copy)]
struct Word<'a> {
    offset: usize,
    bytes: &'a [u8],
}

impl<'a> Word<'a> {
    fn syntax(self, message: &'static str) -> Fault {
        Fault::syntax(self.offset, self.bytes, message)
    }

    fn trim(self) -> Word<'a> {
        let start = self.bytes.len() - self.bytes.trim_ascii_start().len();
        Word {
            offset: self.offset + start,
            bytes: self.bytes.trim_ascii(),
        }
    }

    /// The words between commas.
    fn list(self) -> impl Iterator<Item = Word<'a>> {
        let mut offset = self.offset;
        self.bytes.split(|byte| *byte == b',').map(move |bytes| {
            let word = Word { offset, bytes };
            offset += bytes.len() + 1;
            word.trim()
        })
    }

    fn number(self, least: i64, most: i64) -> Result<i64, Fault> {
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

    fn text(self) -> String {
        String::from_utf8_lossy(self.bytes).into_owned()
    }
}

/// A rule's options as far as they were read.
#[derive(Default)]
struct Draft {
    message: String,
    gid: Option<u32>,
    sid: Option<u32>,
    rev: u32,
    priority: Option<u8>,
    classtype: Option<String>,
    references: Vec<(String, String)>,
    metadata: Vec<(String, String)>,
    flow: FlowCondition,
    payload_bytes: Option<PayloadBytes>,
    tcp_flags: Vec<TcpFlags>,
    steps: Vec<DraftStep>,
}

enum DraftStep {
    Content(DraftContent),
    /// A `pcre` option's value and its place. It is compiled when everything
    /// else is found in order, for that is the dear part.
    Pcre(usize, Vec<u8>),
}

/// A content and what its modifiers said so far, each with its place.
struct DraftContent {
    offset_in_file: usize,
    written: String,
    negated: bool,
    bytes: Vec<u8>,
    nocase: bool,
    offset: Option<i64>,
    depth: Option<i64>,
    distance: Option<i64>,
    within: Option<i64>,
    /// Place and text of the last modifier that says where.
    placed_by: Option<(usize, String)>,
}

impl Draft {
    fn option(&mut self, name: Word<'_>, value: Option<Word<'_>>) -> Result<(), Fault> {
        let needed = || value.ok_or_else(|| name.syntax("the option needs a value"));
        match name.bytes {
            b"msg" => self.message = string(needed()?)?,
            b"sid" => self.sid = Some(needed()?.number(1, i64::from(u32::MAX))? as u32),
            b"gid" => self.gid = Some(needed()?.number(1, i64::from(u32::MAX))? as u32),
            b"rev" => self.rev = needed()?.number(0, i64::from(u32::MAX))? as u32,
            b"priority" => self.priority = Some(needed()?.number(1, 255)? as u8),
            b"classtype" => self.classtype = Some(needed()?.text()),
            b"reference" => {
                let value = needed()?;
                let mut words = value.bytes.splitn(2, |byte| *byte == b',');
                let mut next =
                    || content::plain_text(words.next().unwrap_or_default().trim_ascii());
                self.references.push((next(), next()));
            }
            b"metadata" => {
                for item in needed()?.list().filter(|item| !item.bytes.is_empty()) {
                    let text = item.text();
                    let (key, value) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
                    self.metadata
                        .push((key.to_owned(), value.trim().to_owned()));
                }
            }
            b"flow" => {
                for word in needed()?.list() {
                    self.flow_word(word)?;
                }
            }
            b"dsize" => self.payload_bytes = Some(payload_bytes(needed()?)?),
            b"flags" => self.tcp_flags.push(tcp_flags(needed()?)?),
            b"content" => self.content(needed()?)?,
            b"pcre" => {
                let value = needed()?;
                self.steps
                    .push(DraftStep::Pcre(value.offset, value.bytes.to_vec()));
            }
            _ => self.modifier(name, value)?,
        }
        Ok(())
    }

    fn flow_word(&mut self, word: Word<'_>) -> Result<(), Fault> {
        let flow = &mut self.flow;
        let consistent = match word.bytes {
            b"to_server" | b"from_client" => agree(&mut flow.direction, Direction::ToServer),
            b"to_client" | b"from_server" => agree(&mut flow.direction, Direction::ToClient),
            b"established" => agree(&mut flow.established, true),
            b"not_established" => agree(&mut flow.established, false),
            // Any state will do; and packets are looked at one by one anyway.
            b"stateless" | b"no_stream" => true,
            b"only_stream" | b"no_frag" | b"only_frag" => {
                let what = Unsupported::Flow(word.text());
                return Err(Fault::unsupported(word.offset, word.bytes, what));
            }
            _ => {
                return Err(word.syntax(
                    "flow is established, not_established, stateless, to_server or to_client",
                ));
            }
        };
        if consistent {
            Ok(())
        } else {
            Err(word.syntax("the word contradicts what flow said before"))
        }
    }

    fn content(&mut self, value: Word<'_>) -> Result<(), Fault> {
        let Quoted {
            negated,
            text,
            text_offset,
            after,
            after_offset,
        } = quoted(value.offset, value.bytes)?;
        self.steps.push(DraftStep::Content(DraftContent {
            offset_in_file: value.offset,
            written: String::from_utf8_lossy(value.bytes).into_owned(),
            negated,
            bytes: content::bytes(value.offset + text_offset, text)?,
            nocase: false,
            offset: None,
            depth: None,
            distance: None,
            within: None,
            placed_by: None,
        }));
        let after = Word {
            offset: value.offset + after_offset,
            bytes: after,
        };
        let after = after.trim();
        match after.bytes {
            [] => Ok(()),
            [b',', rest @ ..] => {
                let modifiers = Word {
                    offset: after.offset + 1,
                    bytes: rest,
                };
                modifiers.list().try_for_each(|word| {
                    let name_bytes = word.bytes.iter().take_while(|b| !b.is_ascii_whitespace());
                    let (name, value) = word.bytes.split_at(name_bytes.count());
                    let name = Word {
                        bytes: name,
                        ..word
                    };
                    let value = Word {
                        offset: word.offset + name.bytes.len(),
                        bytes: value,
                    };
                    let value = value.trim();
                    self.modifier(name, (!value.bytes.is_empty()).then_some(value))
                })
            }
            _ => Err(after.syntax("modifiers follow a content after a comma, or as options")),
        }
    }

    /// An option that belongs to the last content; or one that nobody knows.
    fn modifier(&mut self, name: Word<'_>, value: Option<Word<'_>>) -> Result<(), Fault> {
        let is_known = matches!(
            name.bytes,
            b"nocase" | b"offset" | b"depth" | b"distance" | b"within"
        );
        if !is_known {
            let what = Unsupported::Keyword(printable(name.bytes));
            return Err(Fault::unsupported(name.offset, name.bytes, what));
        }
        let content = self.steps.iter_mut().rev().find_map(|step| match step {
            DraftStep::Content(content) => Some(content),
            DraftStep::Pcre(..) => None,
        });
        let Some(content) = content else {
            return Err(name.syntax("there is no content before it"));
        };
        if name.bytes == b"nocase" {
            content.nocase = true;
            return Ok(());
        }
        let value = value.ok_or_else(|| name.syntax("the option needs a value"))?;
        let (place, least, most) = match name.bytes {
            b"offset" => (&mut content.offset, 0, MAX_PAYLOAD_BYTES),
            b"depth" => (&mut content.depth, 1, MAX_PAYLOAD_BYTES),
            b"distance" => (
                &mut content.distance,
                -MAX_RELATIVE_BYTES,
                MAX_RELATIVE_BYTES,
            ),
            _ => (&mut content.within, 1, MAX_RELATIVE_BYTES),
        };
        *place = Some(value.number(least, most)?);
        content.placed_by = Some((name.offset, name.text()));
        Ok(())
    }

    fn steps(&mut self, patterns: &mut Patterns) -> Result<Vec<Step>, Fault> {
        let steps = std::mem::take(&mut self.steps).into_iter();
        steps
            .map(|step| match step {
                DraftStep::Content(content) => content.finish(),
                DraftStep::Pcre(offset, value) => {
                    let pcre = patterns.read(offset, &value)?;
                    Ok(Step::pattern(pcre.pattern, pcre.relative, pcre.negated))
                }
            })
            .collect()
    }
}

impl DraftContent {
    fn finish(self) -> Result<Step, Fault> {
        let is_relative = self.distance.is_some() || self.within.is_some();
        let is_absolute = self.offset.is_some() || self.depth.is_some();
        if let (true, true, Some((offset, word))) = (is_relative, is_absolute, &self.placed_by) {
            return Err(Fault::syntax(
                *offset,
                word.as_bytes(),
                "a content is placed by offset and depth or by distance and within, not by both",
            ));
        }
        let window_bytes = self.depth.or(self.within);
        if window_bytes.is_some_and(|bytes| bytes < self.bytes.len() as i64) {
            return Err(Fault::syntax(
                self.offset_in_file,
                self.written.as_bytes(),
                "the content is longer than its depth or within allows",
            ));
        }
        let window_bytes = window_bytes.map(|bytes| bytes as u32);
        let place = if is_relative {
            Place::Relative {
                distance: self.distance.unwrap_or(0) as i32,
                within: window_bytes,
            }
        } else {
            Place::Absolute {
                offset: self.offset.unwrap_or(0) as u32,
                depth: window_bytes,
            }
        };
        let content = Content::new(self.bytes, self.nocase);
        Ok(Step::content(content, place, self.negated))
    }
}

/// Sets a value that may be said twice, but not in two ways.
fn agree<T: PartialEq + Copy>(known: &mut Option<T>, said: T) -> bool {
    *known.get_or_insert(said) == said
}

fn string(value: Word<'_>) -> Result<String, Fault> {
    let Quoted {
        negated,
        text,
        after,
        after_offset,
        ..
    } = quoted(value.offset, value.bytes)?;
    let after = Word {
        offset: value.offset + after_offset,
        bytes: after,
    };
    if negated || !after.bytes.trim_ascii().is_empty() {
        return Err(after.trim().syntax("nothing follows the string"));
    }
    Ok(content::plain_text(text))
}

/// `300`, `!300`, `<300`, `>300`, `<=300`, `>=300`, and between two numbers
/// without (`100<>300`) and with them (`100<=>300`).
fn payload_bytes(value: Word<'_>) -> Result<PayloadBytes, Fault> {
    let most = MAX_PAYLOAD_BYTES;
    let part = |range: std::ops::Range<usize>| {
        let word = Word {
            offset: value.offset + range.start,
            bytes: &value.bytes[range],
        };
        word.trim().number(0, most)
    };
    let end = value.bytes.len();
    let position = |mark: &[u8]| memchr::memmem::find(value.bytes, mark);
    let mut negated = false;
    let (first, last) = if let Some(at) = position(b"<=>") {
        (part(0..at)?, part(at + 3..end)?)
    } else if let Some(at) = position(b"<>") {
        (part(0..at)? + 1, part(at + 2..end)? - 1)
    } else {
        match value.bytes {
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
        return Err(value.syntax("no payload has such a length"));
    }
    Ok(PayloadBytes {
        least: first as u32,
        most: last as u32,
        negated,
    })
}

/// `SA`, `S+`, `*SF`, `!R`, `0`; after a comma, flags that do not count.
fn tcp_flags(value: Word<'_>) -> Result<TcpFlags, Fault> {
    let mut words = value.list();
    let (wanted, ignored) = (words.next().unwrap_or(value), words.next());
    let mut flags = TcpFlags {
        flags: 0,
        ignored: 0,
        test: FlagsTest::Exactly,
    };
    let bit = |word: Word<'_>, at: usize| match word.bytes[at].to_ascii_uppercase() {
        b'F' => Ok(0x01),
        b'S' => Ok(0x02),
        b'R' => Ok(0x04),
        b'P' => Ok(0x08),
        b'A' => Ok(0x10),
        b'U' => Ok(0x20),
        b'E' | b'2' => Ok(0x40),
        b'C' | b'1' => Ok(0x80),
        b'0' => Ok(0x00),
        _ => Err(Fault::syntax(
            word.offset + at,
            &word.bytes[at..=at],
            "flags are F, S, R, P, A, U, E, C or 0, with +, * or !",
        )),
    };
    for (at, byte) in wanted.bytes.iter().enumerate() {
        match byte {
            b'+' => flags.test = FlagsTest::All,
            b'*' => flags.test = FlagsTest::Any,
            b'!' => flags.test = FlagsTest::NotAll,
            _ => flags.flags |= bit(wanted, at)?,
        }
    }
    if let Some(ignored) = ignored {
        for at in 0..ignored.bytes.len() {
            flags.ignored |= bit(ignored, at)?;
        }
    }
    if wanted.bytes.is_empty() || words.next().is_some() {
        return Err(value.syntax("flags are one word, and after a comma those that do not count"));
    }
    Ok(flags)
}
