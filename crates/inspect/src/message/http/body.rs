//! Bodies: their length, their chunks, their codings.

use super::coding::Codings;
use super::head::Head;

/// Most bytes of a body that are looked at, after decompression.
pub(crate) const MAX_BODY_BYTES: usize = 100 << 10;

/// Where a body ends.
#[derive(Debug, Default, PartialEq, Eq)]
enum Framing {
    /// After so many more bytes.
    Length(u64),
    /// With a chunk of no bytes.
    Chunked(Chunk),
    /// With the connection.
    UntilEnd,
    /// Here.
    #[default]
    Done,
}

/// Where in the chunks (RFC 9112, section 7.1).
#[derive(Debug, PartialEq, Eq)]
enum Chunk {
    /// In the line with its size: what the digits so far say, if there were any,
    /// and whether they are over.
    Size(Option<u64>, bool),
    /// In its data.
    Data(u64),
    /// In the line end after its data.
    DataEnd,
    /// In the fields after the last; whether the line is empty so far.
    Trailer(bool),
}

/// The body of a message. One that is empty takes no memory.
#[derive(Debug, Default)]
pub(super) struct Body(Option<Box<Content>>);

#[derive(Default)]
struct Content {
    framing: Framing,
    bytes: Vec<u8>,
    /// Bytes that came, decoded or not.
    came: bool,
    /// Bytes that were sent for it, with what is around chunks.
    sent_bytes: u64,
    codings: Option<Codings>,
    /// Whether the end of the connection can end it: that of a response.
    ends_with_connection: bool,
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Content")
            .field("framing", &self.framing)
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

impl Body {
    pub(super) fn begin_request(&mut self, head: &Head) {
        // As in Suricata; servers refuse requests with several.
        let length = head.field("content-length");
        *self = Body::begun(head, length, Framing::Done, false);
    }

    pub(super) fn begin_answer(&mut self, head: &Head, has_body: bool) {
        *self = match has_body {
            // As in curl.
            true => {
                let length = head.last_field("content-length");
                Body::begun(head, length, Framing::UntilEnd, true)
            }
            false => Body::default(),
        };
    }

    fn begun(
        head: &Head,
        length: Option<&[u8]>,
        otherwise: Framing,
        ends_with_connection: bool,
    ) -> Body {
        let all = |name: &[u8]| {
            let mut values = Vec::new();
            head.write_field(name, &mut values);
            values
        };
        let transfer = all(b"transfer-encoding");
        let mut words = transfer.split(|byte| *byte == b',').map(without_blanks);
        let is_chunked = words.any(|word| word.eq_ignore_ascii_case(b"chunked"));
        let framing = if is_chunked {
            Framing::Chunked(Chunk::Size(None, false))
        } else {
            match length.and_then(decimal) {
                Some(0) => Framing::Done,
                Some(bytes) => Framing::Length(bytes),
                None => otherwise,
            }
        };
        if framing == Framing::Done {
            return Body::default();
        }
        let content = all(b"content-encoding");
        Body(Some(Box::new(Content {
            framing,
            codings: Codings::of_field(&[&content, &b","[..], &transfer].concat()),
            ends_with_connection,
            ..Content::default()
        })))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |content| &content.bytes)
    }

    /// Bytes that were sent for it so far, with what is around chunks.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |content| content.sent_bytes)
    }

    /// Whether some of it came.
    pub(super) fn is_there(&self) -> bool {
        self.0.as_ref().is_some_and(|content| content.came)
    }

    /// Whether the message is over.
    pub(super) fn is_complete(&self) -> bool {
        (self.0.as_ref()).is_none_or(|content| content.framing == Framing::Done)
    }

    /// Whether no more of it will be looked at.
    pub(super) fn is_seen(&self) -> bool {
        self.is_complete() || self.bytes().len() >= MAX_BODY_BYTES
    }

    pub(super) fn end(&mut self) {
        if let Some(content) = &mut self.0 {
            content.framing = Framing::Done;
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |content| {
            let decoding = content.codings.as_ref().map_or(0, Codings::memory_bytes);
            size_of::<Content>() + content.bytes.capacity() + decoding
        })
    }

    /// Takes in bytes, and tells how many are the body's.
    pub(super) fn take(&mut self, bytes: &[u8]) -> usize {
        self.0.as_mut().map_or(0, |content| content.take(bytes))
    }
}

impl Content {
    fn take(&mut self, bytes: &[u8]) -> usize {
        let taken = self.take_framed(bytes);
        self.sent_bytes += taken as u64;
        taken
    }

    fn take_framed(&mut self, bytes: &[u8]) -> usize {
        match &mut self.framing {
            Framing::Done => 0,
            Framing::UntilEnd => {
                self.add(bytes);
                bytes.len()
            }
            Framing::Length(left) => {
                let taken = bytes
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= taken as u64;
                if *left == 0 {
                    self.framing = Framing::Done;
                }
                self.add(&bytes[..taken]);
                taken
            }
            Framing::Chunked(_) => self.take_chunks(bytes),
        }
    }

    fn take_chunks(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let (Framing::Chunked(chunk), Some(byte)) = (&mut self.framing, bytes.get(at)) {
            match chunk {
                Chunk::Size(size, is_over) => {
                    match (byte, char::from(*byte).to_digit(16)) {
                        (b'\n', _) => {
                            *chunk = match size.unwrap_or(0) {
                                0 => Chunk::Trailer(true),
                                size => Chunk::Data(size),
                            };
                        }
                        (_, Some(digit)) if !*is_over => {
                            let shifted = size.unwrap_or(0).saturating_mul(16);
                            *size = Some(shifted.saturating_add(u64::from(digit)));
                        }
                        (b' ' | b'\t' | b'\r', _) if size.is_none() => {}
                        // No chunks, whatever the head says: clients then show
                        // the response as it is.
                        _ if size.is_none() && self.ends_with_connection => {
                            self.framing = Framing::UntilEnd;
                            self.add(&bytes[at..]);
                            return bytes.len();
                        }
                        _ => *is_over = true,
                    }
                    at += 1;
                }
                Chunk::Data(left) => {
                    let taken =
                        (bytes.len() - at).min(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= taken as u64;
                    if *left == 0 {
                        *chunk = Chunk::DataEnd;
                    }
                    self.add(&bytes[at..at + taken]);
                    at += taken;
                }
                Chunk::DataEnd => {
                    at += 1;
                    if *byte == b'\n' {
                        *chunk = Chunk::Size(None, false);
                    }
                }
                Chunk::Trailer(is_empty) => {
                    at += 1;
                    match byte {
                        b'\n' if *is_empty => self.framing = Framing::Done,
                        b'\n' => *is_empty = true,
                        b'\r' => {}
                        _ => *is_empty = false,
                    }
                }
            }
        }
        at
    }

    /// Adds bytes of the body, decoded, up to its bound.
    fn add(&mut self, bytes: &[u8]) {
        self.came |= !bytes.is_empty();
        if let Some(codings) = &mut self.codings {
            if codings
                .decode(bytes, &mut self.bytes, MAX_BODY_BYTES)
                .is_ok()
            {
                return;
            }
            self.codings = None;
        }
        let taken = bytes.len().min(MAX_BODY_BYTES - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
    }
}

/// A number in decimal digits, as at the start of a field's value.
fn decimal(value: &[u8]) -> Option<u64> {
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit());
    let text = std::str::from_utf8(&value[..digits.count()]).ok()?;
    text.parse().ok()
}

/// A word without blanks and control bytes around it.
fn without_blanks(word: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| *byte <= b' ';
    let start = word.iter().take_while(|byte| is_blank(byte)).count();
    let rest = &word[start..];
    let behind = rest.iter().rev().take_while(|byte| is_blank(byte)).count();
    &rest[..rest.len() - behind]
}
