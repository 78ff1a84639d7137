//! What is in packets.

use std::fmt;
use std::io::Write;
use std::str::FromStr;

use super::random::Random;

/// What payloads consist of, up to the size of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PayloadModel {
    /// `random`: random bytes.
    Random,
    /// `zero`: zeros.
    Zero,
    /// `http`: text as in HTTP/1.1, each packet of a client a request, each
    /// of a server a response, cut where the packet is full.
    Http,
}

/// A payload model that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown payload {0:?}: use random, zero or http")]
pub struct PayloadModelError(String);

impl FromStr for PayloadModel {
    type Err = PayloadModelError;

    fn from_str(text: &str) -> Result<PayloadModel, PayloadModelError> {
        [PayloadModel::Random, PayloadModel::Zero, PayloadModel::Http]
            .into_iter()
            .find(|model| model.to_string() == text)
            .ok_or_else(|| PayloadModelError(text.to_owned()))
    }
}

impl fmt::Display for PayloadModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PayloadModel::Random => "random",
            PayloadModel::Zero => "zero",
            PayloadModel::Http => "http",
        })
    }
}

/// Writes payloads.
pub(super) struct Payloads {
    model: PayloadModel,
    random: Random,
    /// Text for bodies, taken from any place on, twice as long as the largest
    /// payload.
    text: Vec<u8>,
}

const TEXT_BYTES: usize = 128 * 1024;
const LARGEST_PAYLOAD_BYTES: usize = 64 * 1024;

const WORDS: [&str; 32] = [
    "stream", "packet", "river", "gate", "water", "measure", "flow", "level", "north", "lake",
    "table", "stone", "paper", "morning", "letter", "window", "garden", "number", "winter",
    "bridge", "market", "island", "station", "music", "<p>", "</p>", "<br>", "<em>", "</em>",
    "the", "and", "of",
];
/// Words at the start of the list that are not markup.
const PLAIN_WORDS: u64 = 24;
const METHODS: [&str; 4] = ["GET", "GET", "GET", "POST"];
const KINDS: [&str; 4] = ["text/html", "text/html", "text/css", "text/plain"];

impl Payloads {
    pub(super) fn new(model: PayloadModel, mut random: Random) -> Payloads {
        let mut text = Vec::new();
        if model == PayloadModel::Http {
            while text.len() < TEXT_BYTES {
                text.extend_from_slice(WORDS[random.below(WORDS.len())].as_bytes());
                text.push(b' ');
            }
        }
        Payloads {
            model,
            random,
            text,
        }
    }

    /// Appends a payload of `bytes`.
    pub(super) fn write(&mut self, out: &mut Vec<u8>, bytes: usize, is_reply: bool) {
        let start = out.len();
        let end = start + bytes;
        match self.model {
            PayloadModel::Zero => out.resize(end, 0),
            PayloadModel::Random => {
                out.resize(end, 0);
                self.random.fill(&mut out[start..]);
            }
            PayloadModel::Http => {
                self.message(out, bytes, is_reply);
                out.truncate(end);
            }
        }
    }

    /// Appends a request or response of at least `bytes`.
    fn message(&mut self, out: &mut Vec<u8>, bytes: usize, is_reply: bool) {
        let bits = self.random.next();
        let start = out.len();
        let [one, two] = [bits >> 8, bits >> 16].map(|bits| WORDS[(bits % PLAIN_WORDS) as usize]);
        let number = bits >> 32;
        // Writing to memory cannot fail.
        let _ = if is_reply {
            let status = if bits & 15 == 0 {
                "404 Not Found"
            } else {
                "200 OK"
            };
            let kind = KINDS[(bits >> 24 & 3) as usize];
            write!(
                out,
                "HTTP/1.1 {status}\r\nServer: {one}/1.{}\r\nContent-Type: {kind}\r\n\
                 Content-Length: {bytes}\r\nETag: \"{number:x}\"\r\n\r\n",
                bits >> 4 & 15,
            )
        } else {
            let method = METHODS[(bits & 3) as usize];
            write!(
                out,
                "{method} /{one}/{two}/{number}.html HTTP/1.1\r\nHost: www.{one}.example\r\n\
                 User-Agent: Mozilla/5.0 ({two})\r\nAccept: */*\r\nCookie: id={number:x}\r\n\r\n",
            )
        };
        let body_bytes = (start + bytes).saturating_sub(out.len());
        let from = self.random.below(TEXT_BYTES - LARGEST_PAYLOAD_BYTES);
        out.extend_from_slice(&self.text[from..from + body_bytes.min(LARGEST_PAYLOAD_BYTES)]);
    }

    /// Chooses one of `count` patterns.
    pub(super) fn choose(&mut self, count: usize) -> usize {
        self.random.below(count)
    }

    /// Overwrites a part of the payload with the pattern and returns where
    /// in the payload it is.
    pub(super) fn plant(&mut self, payload: &mut [u8], pattern: &[u8]) -> usize {
        let Some(last) = payload.len().checked_sub(pattern.len()) else {
            return 0;
        };
        let at = self.random.below(last + 1);
        payload[at..at + pattern.len()].copy_from_slice(pattern);
        at
    }
}
