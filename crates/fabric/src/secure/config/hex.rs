//! Bytes as they are written: hex digits in quotes.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use zeroize::Zeroizing;

/// Text that must not be shown, wiped when dropped.
pub(super) struct HiddenText(Zeroizing<String>);

/// The bytes of hex digits in pairs, with an optional `0x` in front and colons or white space in
/// between.
pub(super) fn bytes(text: &str) -> Result<Zeroizing<Vec<u8>>, &'static str> {
    let text = text.trim();
    let text = text.strip_prefix("0x").unwrap_or(text);
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len() / 2));
    let mut high = None;
    for character in text.chars() {
        if character == ':' || character.is_whitespace() {
            continue;
        }
        let digit = character
            .to_digit(16)
            .ok_or("must be hex digits (0-9, a-f)")? as u8;
        match high.take() {
            None => high = Some(digit),
            Some(high) => bytes.push(high << 4 | digit),
        }
    }
    match high {
        None => Ok(bytes),
        Some(_) => Err("has an odd number of hex digits"),
    }
}

impl HiddenText {
    pub(super) fn bytes(&self) -> Result<Zeroizing<Vec<u8>>, &'static str> {
        bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for HiddenText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HiddenText, D::Error> {
        // What is no text is refused by serde's own default, whose message would show the value, so
        // that every kind of value is taken here.
        deserializer.deserialize_any(HiddenVisitor)
    }
}

struct HiddenVisitor;

fn refuse<T, E: de::Error>() -> Result<T, E> {
    Err(E::custom("must be hex digits in quotes"))
}

impl<'de> Visitor<'de> for HiddenVisitor {
    type Value = HiddenText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hex digits in quotes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<HiddenText, E> {
        Ok(HiddenText(Zeroizing::new(text.to_owned())))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<HiddenText, E> {
        Ok(HiddenText(Zeroizing::new(text)))
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<HiddenText, E> {
        refuse()
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<HiddenText, E> {
        refuse()
    }

    fn visit_i128<E: de::Error>(self, _: i128) -> Result<HiddenText, E> {
        refuse()
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<HiddenText, E> {
        refuse()
    }

    fn visit_u128<E: de::Error>(self, _: u128) -> Result<HiddenText, E> {
        refuse()
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<HiddenText, E> {
        refuse()
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, _: A) -> Result<HiddenText, A::Error> {
        refuse()
    }

    fn visit_map<A: de::MapAccess<'de>>(self, _: A) -> Result<HiddenText, A::Error> {
        refuse()
    }
}

impl fmt::Debug for HiddenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HiddenText(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_with_and_without_ornament() {
        for text in ["00ff1a", "0x00FF1A", "00:ff:1a", " 00 ff\n1a\n"] {
            assert_eq!(
                bytes(text).as_deref(),
                Ok(&vec![0x00, 0xff, 0x1a]),
                "{text}"
            );
        }
        assert_eq!(bytes("0g").err(), Some("must be hex digits (0-9, a-f)"));
        assert_eq!(bytes("abc").err(), Some("has an odd number of hex digits"));
    }
}
