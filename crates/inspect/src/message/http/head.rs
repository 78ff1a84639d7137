//! Heads: the first line and the fields (RFC 9112, sections 2 to 5).
//!
//! A line ends with a line feed, whatever is in front of it; blanks around names
//! and values do not count. A line without a colon is the value of a field
//! without a name, as peers have it: rules look for what clients send, whether
//! they may or not.

use std::ops::Range;

use super::uri;
use crate::buffer::Buffer;
use crate::direction::Direction;

/// What status lines begin with.
const VERSION_PREFIX: &[u8] = b"HTTP/";
/// Most fields of a head; the others are only in the raw buffers.
const MAX_FIELDS: usize = 256;

/// A part of a head.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    start: u32,
    end: u32,
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Span {
        // A head is shorter than this by far.
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span {
            start: place(range.start),
            end: place(range.end),
        }
    }
}

#[derive(Debug)]
struct Field {
    name: Span,
    value: Span,
}

/// A head as far as it came.
#[derive(Debug, Default)]
pub(super) struct Head {
    bytes: Vec<u8>,
    is_complete: bool,
    is_too_long: bool,
    line: Span,
    /// The fields' lines with the empty one behind them.
    block: Span,
    fields: Vec<Field>,
}

impl Head {
    /// Bytes so far.
    pub(super) fn bytes_kept(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.fields.capacity() * size_of::<Field>()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether it was given up because of its length.
    pub(super) fn is_too_long(&self) -> bool {
        self.is_too_long
    }

    /// Takes in bytes up to the end of the head, and tells how many.
    pub(super) fn take(&mut self, bytes: &[u8], most: usize) -> usize {
        let mut at = 0;
        if self.bytes.is_empty() {
            // Empty lines in front of a message do not count.
            at = (bytes.iter())
                .take_while(|byte| matches!(byte, b'\r' | b'\n'))
                .count();
        }
        while at < bytes.len() {
            let line_end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |n| at + n + 1);
            let line_end = line_end.min(at + most - self.bytes.len());
            self.bytes.extend_from_slice(&bytes[at..line_end]);
            at = line_end;
            let is_empty_line = ends_with_empty_line(&self.bytes);
            self.is_too_long = self.bytes.len() >= most;
            if is_empty_line || self.is_too_long {
                self.is_complete = true;
                break;
            }
        }
        at
    }

    /// Whether what came of a response is none of HTTP/1: what a server of HTTP/0.9
    /// sends has no head.
    pub(super) fn is_no_status_line(&self) -> bool {
        let compared = self.bytes.len().min(VERSION_PREFIX.len());
        !self.bytes[..compared].eq_ignore_ascii_case(&VERSION_PREFIX[..compared])
    }

    /// Leaves the head empty, and hands over what it had.
    pub(super) fn take_bytes(&mut self) -> Vec<u8> {
        let Head { bytes, .. } = std::mem::take(self);
        self.is_complete = true;
        bytes
    }

    /// Nothing more comes of it. Says whether something did.
    pub(super) fn end(&mut self) -> bool {
        self.is_complete = !self.bytes.is_empty();
        self.is_complete
    }

    /// Finds the line and the fields.
    pub(super) fn parse(&mut self) {
        let bytes = &self.bytes;
        let mut at = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1);
        self.line = trimmed(bytes, 0..at).into();
        self.block = (at..bytes.len()).into();
        self.fields.clear();
        while at < bytes.len() && self.fields.len() < MAX_FIELDS {
            let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |n| at + n + 1);
            let is_folded = matches!(bytes[at], b' ' | b'\t');
            if let (true, Some(last)) = (is_folded, self.fields.last_mut()) {
                last.value = trimmed(bytes, last.value.start as usize..end).into();
            } else if let Some(colon) = memchr::memchr(b':', &bytes[at..end]) {
                self.fields.push(Field {
                    name: trimmed(bytes, at..at + colon).into(),
                    value: trimmed(bytes, at + colon + 1..end).into(),
                });
            } else if !bytes[at..end].trim_ascii().is_empty() {
                self.fields.push(Field {
                    name: Span::default(),
                    value: trimmed(bytes, at..end).into(),
                });
            }
            at = end;
        }
    }

    fn span(&self, span: Span) -> &[u8] {
        let range = span.start as usize..span.end as usize;
        self.bytes.get(range).unwrap_or_default()
    }

    fn line(&self) -> &[u8] {
        self.span(self.line)
    }

    fn words(&self) -> impl Iterator<Item = &[u8]> {
        let words = self.line().split(|byte| matches!(byte, b' ' | b'\t'));
        words.filter(|word| !word.is_empty())
    }

    /// The method of a request.
    pub(super) fn method(&self) -> &[u8] {
        self.words().next().unwrap_or_default()
    }

    /// What stands between the method and the version: all of it, where it
    /// has blanks.
    pub(super) fn target(&self) -> &[u8] {
        let line = self.line();
        let rest = line[self.method().len()..].trim_ascii_start();
        match memchr::memmem::rfind(rest, b" HTTP/") {
            Some(end) => rest[..end].trim_ascii_end(),
            None => rest.trim_ascii_end(),
        }
    }

    pub(super) fn version(&self, direction: Direction) -> &[u8] {
        match direction {
            Direction::ToClient => self.words().next().unwrap_or_default(),
            Direction::ToServer => {
                let start = memchr::memmem::rfind(self.line(), b" HTTP/");
                start.map_or(&[], |start| &self.line()[start + 1..])
            }
        }
    }

    fn status_text(&self) -> &[u8] {
        self.words().nth(1).unwrap_or_default()
    }

    /// The status code of a response.
    pub(super) fn status(&self) -> Option<u16> {
        std::str::from_utf8(self.status_text()).ok()?.parse().ok()
    }

    /// Whether a response with this status can have a body (RFC 9110, section
    /// 6.4.1).
    pub(super) fn may_have_body(&self) -> bool {
        !matches!(self.status(), Some(100..=199 | 204 | 304))
    }

    fn name(&self, field: &Field) -> &[u8] {
        self.span(field.name)
    }

    fn value(&self, field: &Field) -> &[u8] {
        self.span(field.value)
    }

    /// The values of the fields of a name in lower case.
    fn values(&self, name: &str) -> impl DoubleEndedIterator<Item = &[u8]> {
        let is_named = move |field: &&Field| self.name(field).eq_ignore_ascii_case(name.as_bytes());
        self.fields
            .iter()
            .filter(is_named)
            .map(|field| self.value(field))
    }

    /// The value of the first field of a name in lower case.
    pub(super) fn field(&self, name: &str) -> Option<&[u8]> {
        self.values(name).next()
    }

    /// The value of the last one.
    pub(super) fn last_field(&self, name: &str) -> Option<&[u8]> {
        self.values(name).next_back()
    }

    /// The values of all fields of a name, separated by commas.
    pub(super) fn write_field(&self, name: &[u8], out: &mut Vec<u8>) -> bool {
        let mut is_there = false;
        for field in &self.fields {
            if self.name(field).eq_ignore_ascii_case(name) {
                if is_there {
                    out.extend_from_slice(b", ");
                }
                // Of a value that is folded the lines are joined.
                let lines = self
                    .value(field)
                    .split(|byte| matches!(byte, b'\r' | b'\n'));
                lines.for_each(|line| out.extend_from_slice(line));
                is_there = true;
            }
        }
        is_there
    }

    /// The fields by name, each once in the place of its first, with all its
    /// values.
    fn distinct(&self) -> impl Iterator<Item = &[u8]> {
        self.fields.iter().enumerate().filter_map(|(index, field)| {
            let name = self.name(field);
            let is_known = (self.fields[..index].iter())
                .any(|earlier| self.name(earlier).eq_ignore_ascii_case(name));
            (!is_known).then_some(name)
        })
    }

    /// Writes a part of the head, and says whether it has it.
    pub(super) fn write_part(
        &self,
        buffer: Buffer,
        direction: Direction,
        out: &mut Vec<u8>,
    ) -> bool {
        if buffer.direction().is_some_and(|side| side != direction) {
            return false;
        }
        let plain = match buffer {
            Buffer::HttpMethod => self.method(),
            Buffer::HttpRawUri => self.target(),
            Buffer::HttpProtocol => self.version(direction),
            Buffer::HttpRequestLine | Buffer::HttpResponseLine => self.line(),
            Buffer::HttpStatusCode => self.status_text(),
            Buffer::HttpStatusMessage => self.reason(),
            Buffer::HttpRawHeader => self.span(self.block),
            Buffer::HttpUri => return uri::write_normal(self.target(), out),
            Buffer::HttpHost => return self.write_host(out),
            Buffer::HttpRawHost => return self.write_field(b"host", out),
            Buffer::HttpCookie => return self.write_field(cookie_field(direction), out),
            Buffer::HttpHeader => return self.write_fields(Some(cookie_field(direction)), out),
            Buffer::HttpStart => {
                out.extend_from_slice(self.line());
                out.extend_from_slice(b"\r\n");
                self.write_fields(None, out);
                out.extend_from_slice(b"\r\n");
                return true;
            }
            Buffer::HttpHeaderNames => {
                out.extend_from_slice(b"\r\n");
                for name in self.distinct() {
                    out.extend_from_slice(name);
                    out.extend_from_slice(b"\r\n");
                }
                out.extend_from_slice(b"\r\n");
                return !self.fields.is_empty();
            }
            other => {
                let field = other.header_field();
                return field.is_some_and(|field| self.write_field(field.as_bytes(), out));
            }
        };
        out.extend_from_slice(plain);
        !plain.is_empty()
    }

    fn reason(&self) -> &[u8] {
        let code = self.status_text();
        let at = memchr::memmem::find(self.line(), code).unwrap_or(0);
        self.line()[at + code.len()..].trim_ascii()
    }

    fn write_fields(&self, left_out: Option<&[u8]>, out: &mut Vec<u8>) -> bool {
        for name in self.distinct() {
            if left_out.is_some_and(|left_out| name.eq_ignore_ascii_case(left_out)) {
                continue;
            }
            out.extend_from_slice(name);
            out.extend_from_slice(b": ");
            self.write_field(name, out);
            out.extend_from_slice(b"\r\n");
        }
        !self.fields.is_empty()
    }

    /// The host's name, and the colon and port where they follow it: from the
    /// target, or from the field.
    fn host(&self) -> Option<(&[u8], &[u8])> {
        let authority = uri::authority(self.target()).or_else(|| self.field("host"))?;
        let end = match authority {
            [b'[', ..] => memchr::memchr(b']', authority).map(|end| end + 1),
            _ => memchr::memchr(b':', authority),
        };
        Some(authority.split_at(end.unwrap_or(authority.len())))
    }

    /// The host's name in lower case, without its port.
    pub(super) fn write_host(&self, out: &mut Vec<u8>) -> bool {
        let Some((name, _)) = self.host() else {
            return false;
        };
        out.extend(name.iter().map(u8::to_ascii_lowercase));
        !name.is_empty()
    }

    /// The host's port, where the request names one.
    pub(super) fn port(&self) -> Option<u16> {
        let (_, port) = self.host()?;
        let digits = std::str::from_utf8(port.strip_prefix(b":")?).ok()?;
        digits.parse().ok()
    }
}

/// Whether the last of several lines has nothing in front of its end.
fn ends_with_empty_line(bytes: &[u8]) -> bool {
    bytes.strip_suffix(b"\n").is_some_and(|mut line| {
        while let [rest @ .., b'\r'] = line {
            line = rest;
        }
        line.ends_with(b"\n")
    })
}

fn cookie_field(direction: Direction) -> &'static [u8] {
    match direction {
        Direction::ToServer => b"cookie",
        Direction::ToClient => b"set-cookie",
    }
}

/// A value whose lines are joined, where it is folded.
pub(super) fn unfolded(value: &[u8]) -> impl Iterator<Item = &u8> {
    value.iter().filter(|byte| !matches!(byte, b'\r' | b'\n'))
}

/// A range without the blanks and line ends around it.
fn trimmed(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let text = &bytes[range.clone()];
    let start = range.start + (text.len() - text.trim_ascii_start().len());
    start..start + text.trim_ascii().len()
}
