//! Bodies: their length, their chunks, their compression.

use std::io::Write;

use flate2::write::{DeflateDecoder, GzDecoder, ZlibDecoder};

use super::head::Head;

/// Most bytes of a body that are looked at, after decompression.
pub(crate) const MAX_BODY_BYTES: usize = 100 << 10;
/// Compressed bytes that are taken at once, so that a bomb bursts small.
const INFLATE_BYTES: usize = 512;

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

enum Decoder {
    /// Before the first byte: what is called gzip may be none, and what is
    /// called deflate comes with the header of zlib or without.
    Undecided {
        is_gzip: bool,
    },
    Gzip(GzDecoder<Vec<u8>>),
    Zlib(ZlibDecoder<Vec<u8>>),
    Deflate(DeflateDecoder<Vec<u8>>),
}

/// The body of a message.
#[derive(Default)]
pub(super) struct Body {
    framing: Framing,
    bytes: Vec<u8>,
    /// Bytes that came, decoded or not.
    came: bool,
    /// Bytes that were sent for it, with what is around chunks.
    sent_bytes: u64,
    decoder: Option<Decoder>,
    /// Whether the end of the connection can end it: that of a response.
    ends_with_connection: bool,
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body")
            .field("framing", &self.framing)
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

impl Body {
    pub(super) fn begin_request(&mut self, head: &Head) {
        self.begin(head, Framing::Done);
        self.ends_with_connection = false;
    }

    pub(super) fn begin_answer(&mut self, head: &Head, has_body: bool) {
        self.begin(head, Framing::UntilEnd);
        self.ends_with_connection = true;
        if !has_body {
            self.framing = Framing::Done;
        }
        self.decoder = match head.field("content-encoding") {
            Some(encoding) if contains_word(encoding, b"gzip") => {
                Some(Decoder::Undecided { is_gzip: true })
            }
            Some(encoding) if contains_word(encoding, b"deflate") => {
                Some(Decoder::Undecided { is_gzip: false })
            }
            _ => None,
        };
    }

    fn begin(&mut self, head: &Head, otherwise: Framing) {
        self.bytes.clear();
        self.came = false;
        self.sent_bytes = 0;
        self.decoder = None;
        let is_chunked = head
            .field("transfer-encoding")
            .is_some_and(|encoding| contains_word(encoding, b"chunked"));
        self.framing = if is_chunked {
            Framing::Chunked(Chunk::Size(None, false))
        } else {
            match head.field("content-length").and_then(decimal) {
                Some(0) => Framing::Done,
                Some(bytes) => Framing::Length(bytes),
                None => otherwise,
            }
        };
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes that were sent for it so far, with what is around chunks.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Whether some of it came.
    pub(super) fn is_there(&self) -> bool {
        self.came
    }

    /// Whether the message is over.
    pub(super) fn is_complete(&self) -> bool {
        self.framing == Framing::Done
    }

    /// Whether no more of it will be looked at.
    pub(super) fn is_seen(&self) -> bool {
        self.is_complete() || self.bytes.len() >= MAX_BODY_BYTES
    }

    pub(super) fn end(&mut self) {
        self.framing = Framing::Done;
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let inflating = if self.decoder.is_some() { 48 << 10 } else { 0 };
        self.bytes.capacity() + inflating
    }

    /// Takes in bytes, and tells how many are the body's.
    pub(super) fn take(&mut self, bytes: &[u8]) -> usize {
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

    /// Adds bytes of the body, decompressed, up to its bound.
    fn add(&mut self, bytes: &[u8]) {
        self.came |= !bytes.is_empty();
        for piece in bytes.chunks(INFLATE_BYTES) {
            let room = MAX_BODY_BYTES - self.bytes.len();
            if room == 0 {
                self.decoder = None;
                return;
            }
            if !self.inflate(piece) {
                let taken = piece.len().min(room);
                self.bytes.extend_from_slice(&piece[..taken]);
            }
        }
    }

    /// Decompresses a piece. Says whether that was possible: if not, it is
    /// taken as it is.
    fn inflate(&mut self, piece: &[u8]) -> bool {
        if let (Some(Decoder::Undecided { is_gzip }), Some(first)) = (&self.decoder, piece.first())
        {
            self.decoder = match (is_gzip, first) {
                (true, 0x1f) => Some(Decoder::Gzip(GzDecoder::new(Vec::new()))),
                (true, _) => None,
                (false, first) if first & 0x0f == 8 => {
                    Some(Decoder::Zlib(ZlibDecoder::new(Vec::new())))
                }
                (false, _) => Some(Decoder::Deflate(DeflateDecoder::new(Vec::new()))),
            };
        }
        let Some(decoder) = &mut self.decoder else {
            return false;
        };
        let (result, out) = match decoder {
            Decoder::Undecided { .. } => return false,
            Decoder::Gzip(decoder) => (inflate_into(decoder, piece), decoder.get_mut()),
            Decoder::Zlib(decoder) => (inflate_into(decoder, piece), decoder.get_mut()),
            Decoder::Deflate(decoder) => (inflate_into(decoder, piece), decoder.get_mut()),
        };
        let room = MAX_BODY_BYTES - self.bytes.len();
        let taken = out.len().min(room);
        self.bytes.extend_from_slice(&out[..taken]);
        out.clear();
        if result.is_err() {
            self.decoder = None;
        }
        result.is_ok()
    }
}

/// The decoders hold back what they have until they are asked to flush.
fn inflate_into(decoder: &mut impl Write, piece: &[u8]) -> std::io::Result<()> {
    decoder.write_all(piece)?;
    decoder.flush()
}

/// A number in decimal digits, as at the start of a field's value.
fn decimal(value: &[u8]) -> Option<u64> {
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit());
    let text = std::str::from_utf8(&value[..digits.count()]).ok()?;
    text.parse().ok()
}

fn contains_word(value: &[u8], word: &[u8]) -> bool {
    value
        .windows(word.len())
        .any(|part| part.eq_ignore_ascii_case(word))
}
