//! One packet of every suite as the standards say that it must come out: what kernels are
//! held against before they are used. All other published packets are tests of this crate.

use crate::suite::Suite;

/// A packet before and after sealing.
#[derive(PartialEq, Default)]
pub(super) struct KnownAnswer {
    /// Where it is published.
    pub(super) published_in: &'static str,
    /// Key and salt of the cipher, or of the MAC where it is one with a nonce.
    pub(super) key: Vec<u8>,
    /// Key of HMAC.
    pub(super) integrity_key: Vec<u8>,
    pub(super) aad: Vec<u8>,
    pub(super) esn: bool,
    pub(super) number: u64,
    pub(super) iv: Vec<u8>,
    pub(super) payload: Vec<u8>,
    pub(super) sealed: Vec<u8>,
    pub(super) tag: Vec<u8>,
}

/// The answers; their format is described at the head of the file.
const ANSWERS: &str = include_str!("known_answers.txt");

impl KnownAnswer {
    /// The answer of `suite`, if there is one that can be read.
    pub(super) fn of(suite: Suite) -> Option<KnownAnswer> {
        let name = suite.to_string();
        let mut paragraphs = ANSWERS.split("\n\n");
        let paragraph = paragraphs.find(|paragraph| field(paragraph, "suite") == Some(&name))?;
        KnownAnswer::parse(paragraph)
    }

    fn parse(paragraph: &'static str) -> Option<KnownAnswer> {
        let bytes = |name| match field(paragraph, name) {
            None => Some(Vec::new()),
            Some(hex) => match hex.split_once(" x ") {
                None => unhex(hex),
                Some((unit, count)) => Some(unhex(unit)?.repeat(count.parse().ok()?)),
            },
        };
        let number = field(paragraph, "number").map_or(Some(0), |number| number.parse().ok())?;
        let payload = bytes("payload")?;
        let sealed = match field(paragraph, "sealed") {
            None => payload.clone(),
            Some(sealed) => unhex(sealed)?,
        };
        Some(KnownAnswer {
            published_in: field(paragraph, "from")?,
            key: bytes("key")?,
            integrity_key: bytes("integrity-key")?,
            aad: bytes("aad")?,
            esn: field(paragraph, "esn") == Some("yes"),
            number,
            iv: bytes("iv")?,
            payload,
            sealed,
            tag: bytes("tag")?,
        })
    }
}

/// What a line of the paragraph says behind `name`.
fn field(paragraph: &'static str, name: &str) -> Option<&'static str> {
    let mut lines = paragraph.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
}

/// The bytes that `hex` spells, white space aside; `None` where it spells none.
pub(crate) fn unhex(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = hex
        .split_whitespace()
        .flat_map(str::chars)
        .map(|digit| digit.to_digit(16))
        .collect();
    let (pairs, []) = digits.as_deref()?.as_chunks::<2>() else {
        return None;
    };
    pairs
        .iter()
        .map(|[high, low]| u8::try_from(high * 16 + low).ok())
        .collect()
}
