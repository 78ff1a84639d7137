//! Options that look at texts: which buffer is meant, and its lengths.

use super::super::BufferTest;
use super::super::fault::{Fault, Unsupported, printable};
use super::super::pcre::Patterns;
use super::super::word::Word;
use super::contents::DraftContent;
use super::{MAX_PAYLOAD_BYTES, needed};
use crate::buffer::Buffer;
use crate::payload::{MAX_VARIABLES, Payload, Step};
use crate::range::NumberRange;

/// What was said of the texts so far, buffer by buffer.
#[derive(Default)]
pub(super) struct DraftTexts {
    lists: Vec<DraftList>,
    /// The active sticky buffer.
    buffer: Option<Buffer>,
    is_dotted: bool,
    /// List and step of the last content.
    last_content: Option<(usize, usize)>,
    /// List of the last step of any kind, and whether that is a content.
    last_step: Option<(usize, bool)>,
    /// Names that `byte_extract` gave.
    pub(super) variables: Vec<Vec<u8>>,
}

struct DraftList {
    buffer: Buffer,
    is_dotted: bool,
    steps: Vec<DraftStep>,
}

pub(super) enum DraftStep {
    Content(DraftContent),
    /// A `pcre` option's value and its place. It is compiled when everything
    /// else is found in order, for that is the expensive part.
    Pcre(usize, Vec<u8>),
    Ready(Step),
}

impl DraftTexts {
    /// Takes in an option of this family, and says whether it was one.
    pub(super) fn option(
        &mut self,
        name: Word<'_>,
        value: Option<Word<'_>>,
    ) -> Result<bool, Fault> {
        match name.bytes {
            b"content" => self.content(needed(name, value)?)?,
            b"uricontent" => {
                self.content(needed(name, value)?)?;
                self.send_last_content(name, Buffer::HttpUri)?;
            }
            b"pcre" => {
                let value = needed(name, value)?;
                let step = DraftStep::Pcre(value.offset, value.bytes.to_vec());
                let flag = |buffer| (buffer, false);
                let (buffer, is_dotted) = pattern_buffer(value.bytes).map_or(self.in_force(), flag);
                let list = self.list(buffer, is_dotted);
                self.lists[list].steps.push(step);
                self.last_step = Some((list, false));
            }
            b"urilen" => self.uri_length(needed(name, value)?)?,
            b"bsize" => {
                let length = needed(name, value)?.range(MAX_PAYLOAD_BYTES)?;
                self.length(self.buffer.unwrap_or(Buffer::Payload), length);
            }
            b"dotprefix" => {
                if self.buffer.is_none_or(|buffer| buffer == Buffer::Payload) {
                    return Err(
                        name.syntax("dotprefix follows a buffer, as in dns.query; dotprefix")
                    );
                }
                self.is_dotted = true;
            }
            b"rawbytes" => {}
            _ => {
                if self.ends_last_content(name, value) {
                    return Ok(true);
                }
                if let Some(step) = self.number_option(name, value)? {
                    self.push_number(step);
                } else if let Some(buffer) =
                    Buffer::modifier(name.bytes).filter(|_| value.is_none())
                {
                    self.send_last_content(name, buffer)?;
                } else if let Some(buffer) = Buffer::sticky(name.bytes).filter(|_| value.is_none())
                {
                    (self.buffer, self.is_dotted) = (Some(buffer), false);
                } else {
                    return self.modifier(name, value);
                }
            }
        }
        Ok(true)
    }

    /// The buffer that contents are meant for, and whether a dot goes before
    /// it.
    fn in_force(&self) -> (Buffer, bool) {
        (self.buffer.unwrap_or(Buffer::Payload), self.is_dotted)
    }

    /// The number of the list of a buffer, which is made where there is none.
    fn list(&mut self, buffer: Buffer, is_dotted: bool) -> usize {
        let found = (self.lists.iter())
            .position(|list| (list.buffer, list.is_dotted) == (buffer, is_dotted));
        found.unwrap_or_else(|| {
            self.lists.push(DraftList {
                buffer,
                is_dotted,
                steps: Vec::new(),
            });
            self.lists.len() - 1
        })
    }

    /// Adds a step that reads numbers. One that is relative and has no sticky
    /// active buffer goes on where the last step looked.
    fn push_number(&mut self, step: Step) {
        let (buffer, is_dotted) = self.in_force();
        let list = match self.last_step {
            Some((list, _)) if step.is_relative() && self.buffer.is_none() => list,
            _ => self.list(buffer, is_dotted),
        };
        self.lists[list].steps.push(DraftStep::Ready(step));
        self.last_step = Some((list, false));
    }

    pub(super) fn push_content(&mut self, content: DraftContent) {
        let (buffer, is_dotted) = self.in_force();
        let list = self.list(buffer, is_dotted);
        self.add_content(list, DraftStep::Content(content));
    }

    fn add_content(&mut self, list: usize, content: DraftStep) {
        let steps = &mut self.lists[list].steps;
        steps.push(content);
        self.last_content = Some((list, steps.len() - 1));
        self.last_step = Some((list, true));
    }

    /// `isdataat:!1,relative` behind a content says `endswith`, also of one
    /// that must not be there: then that there is none at the end. Says whether
    /// the option was that.
    fn ends_last_content(&mut self, name: Word<'_>, value: Option<Word<'_>>) -> bool {
        let is_end = name.bytes == b"isdataat"
            && value.is_some_and(|value| {
                let words = value.list().map(|word| word.bytes);
                words.eq([&b"!1"[..], b"relative"])
            });
        let follows_content = self.last_step.is_some_and(|(_, is_content)| is_content);
        match self.last_content(name) {
            Ok(content) if is_end && follows_content => {
                content.ends_text();
                true
            }
            _ => false,
        }
    }

    pub(super) fn last_content(&mut self, name: Word<'_>) -> Result<&mut DraftContent, Fault> {
        let last = self.last_content;
        let step = last.and_then(|(list, step)| self.lists[list].steps.get_mut(step));
        match step {
            Some(DraftStep::Content(content)) => Ok(content),
            _ => Err(name.syntax("there is no content before it")),
        }
    }

    /// A content modifier such as `http_uri`: the content in front of it is
    /// meant for that buffer.
    fn send_last_content(&mut self, name: Word<'_>, buffer: Buffer) -> Result<(), Fault> {
        self.last_content(name)?;
        if let Some((list, step)) = self.last_content {
            let content = self.lists[list].steps.remove(step);
            let list = self.list(buffer, false);
            self.add_content(list, content);
        }
        Ok(())
    }

    fn length(&mut self, buffer: Buffer, length: NumberRange) {
        let list = self.list(buffer, false);
        let step = DraftStep::Ready(Step::length(length));
        self.lists[list].steps.push(step);
    }

    /// `urilen:<40`, after a comma `raw` for the address as it was sent.
    fn uri_length(&mut self, value: Word<'_>) -> Result<(), Fault> {
        let mut words = value.list();
        let range = words.next().unwrap_or(value).range(MAX_PAYLOAD_BYTES)?;
        let buffer = match words.next().map(|word| word.bytes) {
            None | Some(b"norm") => Buffer::HttpUri,
            Some(b"raw") => Buffer::HttpRawUri,
            Some(_) => return Err(value.syntax("after a length stands norm or raw")),
        };
        self.length(buffer, range);
        Ok(())
    }

    /// The number of a new variable.
    pub(super) fn define(&mut self, name: Word<'_>) -> Result<u8, Fault> {
        if let Some(known) = self.variables.iter().position(|v| v == name.bytes) {
            return Ok(known as u8);
        }
        if self.variables.len() == MAX_VARIABLES {
            let what = Unsupported::Keyword("byte_extract more than eight times".to_owned());
            return Err(Fault::unsupported(name.offset, name.bytes, what));
        }
        self.variables.push(name.bytes.to_vec());
        Ok((self.variables.len() - 1) as u8)
    }

    /// Everything that is required of each buffer, in the order in which they
    /// are looked at; and whether one uses a variable of another.
    pub(super) fn finish(
        self,
        place: Word<'_>,
        patterns: &mut Patterns,
    ) -> Result<(Vec<BufferTest>, bool), Fault> {
        let lists = self.lists.into_iter();
        let tests = lists
            .filter(|list| !list.steps.is_empty())
            .map(|list| {
                let steps = list.steps.into_iter().map(|step| match step {
                    DraftStep::Content(content) => content.finish(),
                    DraftStep::Pcre(offset, value) => {
                        let pcre = patterns.read(offset, &value)?;
                        Ok(Step::pattern(pcre.pattern, pcre.relative, pcre.negated))
                    }
                    DraftStep::Ready(step) => Ok(step),
                });
                Ok(BufferTest {
                    buffer: list.buffer,
                    is_dotted: list.is_dotted,
                    payload: Payload::new(steps.collect::<Result<_, _>>()?),
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        in_order(tests, place)
    }

    /// An option that belongs to the last content. Says whether it was one.
    fn modifier(&mut self, name: Word<'_>, value: Option<Word<'_>>) -> Result<bool, Fault> {
        if !DraftContent::has_modifier(name.bytes) {
            return Ok(false);
        }
        let value = value.map(|value| self.amount(value).map(|amount| (amount, value)));
        self.last_content(name)?.modify(name, value)?;
        Ok(true)
    }

    /// A modifier behind a content's comma, in the words of Snort 3.
    pub(super) fn inner_modifier(&mut self, word: Word<'_>) -> Result<(), Fault> {
        let (name, value) = word.name_and_value();
        if self.modifier(name, value)? {
            return Ok(());
        }
        let what = Unsupported::Keyword(printable(name.bytes));
        Err(Fault::unsupported(name.offset, name.bytes, what))
    }
}

/// Puts texts in order: the payload last, since it is the longest, and in front
/// of them all those whose variables they use. Says whether there are such.
fn in_order(mut tests: Vec<BufferTest>, place: Word<'_>) -> Result<(Vec<BufferTest>, bool), Fault> {
    tests.sort_by_key(|test| test.buffer == Buffer::Payload);
    let needs = |test: &BufferTest| {
        let variables = test.payload.variables();
        variables.used & !variables.set
    };
    let shares_variables = tests.iter().any(|test| needs(test) != 0);
    let (mut ordered, mut known) = (Vec::with_capacity(tests.len()), 0);
    while !tests.is_empty() {
        let next = tests.iter().position(|test| needs(test) & !known == 0);
        let Some(next) = next else {
            let what = "byte_extract of buffers that use each other's variables";
            let what = Unsupported::Keyword(what.to_owned());
            return Err(Fault::unsupported(place.offset, place.bytes, what));
        };
        let test = tests.remove(next);
        known |= test.payload.variables().set;
        ordered.push(test);
    }
    Ok((ordered, shares_variables))
}

/// The buffer that the flags of a `pcre` option name.
fn pattern_buffer(value: &[u8]) -> Option<Buffer> {
    let flags = value.rsplit(|byte| *byte == b'/').next()?;
    flags.iter().find_map(|flag| Buffer::pattern_flag(*flag))
}
