//! The strings of `content` options: text with escapes and bytes in
//! hexadecimal between bars.

use super::fault::Fault;

/// A string option's value in its parts: whether it is negated, what stands
/// between the quotes, and what follows them (Snort 3's modifiers). Offsets
/// count from the start of the value.
pub(super) struct Quoted<'a> {
    pub(super) negated: bool,
    pub(super) text: &'a [u8],
    pub(super) text_offset: usize,
    pub(super) after: &'a [u8],
    pub(super) after_offset: usize,
}

/// Takes a value apart. `base` is the value's place in the file.
pub(super) fn quoted(base: usize, value: &[u8]) -> Result<Quoted<'_>, Fault> {
    let (negated, opening) = match value {
        [b'!', rest @ ..] => (true, value.len() - rest.trim_ascii_start().len()),
        _ => (false, 0),
    };
    let text_offset = opening + 1;
    if value.get(opening) != Some(&b'"') {
        return Err(Fault::syntax(base, value, "expected a string in quotes"));
    }
    let mut at = text_offset;
    while let Some(byte) = value.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => {
                return Ok(Quoted {
                    negated,
                    text: &value[text_offset..at],
                    text_offset,
                    after: &value[at + 1..],
                    after_offset: at + 1,
                });
            }
            _ => at += 1,
        }
    }
    Err(Fault::syntax(
        base + opening,
        &value[opening..],
        "the string is not closed",
    ))
}

/// The same of a pattern, whose string ends with the last quote, as in Suricata.
pub(super) fn quoted_pattern(base: usize, value: &[u8]) -> Result<Quoted<'_>, Fault> {
    let whole = quoted(base, value)?;
    let closing = memchr::memrchr(b'"', value).unwrap_or_default();
    let last = whole.text_offset..closing.max(whole.text_offset);
    Ok(Quoted {
        text: &value[last.clone()],
        after: &value[last.end + 1..],
        after_offset: last.end + 1,
        ..whole
    })
}

/// The bytes that a content stands for. `base` is the place of `text` in the
/// file.
pub(super) fn bytes(base: usize, text: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'|' => at = hexadecimal(base, text, at, &mut bytes)?,
            b'\\' => {
                match text.get(at + 1) {
                    Some(escaped) if !escaped.is_ascii_alphanumeric() => bytes.push(*escaped),
                    _ => {
                        let end = text.len().min(at + 2);
                        return Err(Fault::syntax(
                            base + at,
                            &text[at..end],
                            "a backslash stands before \\ \" ; : or |; bytes are written |0A|",
                        ));
                    }
                }
                at += 2;
            }
            _ => {
                bytes.push(*byte);
                at += 1;
            }
        }
    }
    if bytes.is_empty() {
        return Err(Fault::syntax(base, text, "a content has at least one byte"));
    }
    Ok(bytes)
}

/// Reads `|41 42|` from its first bar; returns the place behind its last.
fn hexadecimal(
    base: usize,
    text: &[u8],
    opening: usize,
    bytes: &mut Vec<u8>,
) -> Result<usize, Fault> {
    let mut high = None;
    for (at, byte) in text.iter().enumerate().skip(opening + 1) {
        let digit = (*byte as char).to_digit(16).map(|digit| digit as u8);
        match (byte, digit, high) {
            (b'|', _, None) => return Ok(at + 1),
            (_, Some(digit), None) => high = Some(digit),
            (_, Some(digit), Some(first)) => {
                bytes.push(first << 4 | digit);
                high = None;
            }
            (b' ' | b'\t', _, _) => {}
            _ => {
                return Err(Fault::syntax(
                    base + at,
                    &text[at..=at],
                    "bytes between bars are pairs of hexadecimal digits",
                ));
            }
        }
    }
    Err(Fault::syntax(
        base + opening,
        &text[opening..],
        "bytes in hexadecimal end with a bar",
    ))
}

/// A text with its escapes taken away, for people to read.
pub(super) fn plain_text(text: &[u8]) -> String {
    let mut plain = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => plain.extend(bytes.next()),
            byte => plain.push(*byte),
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_hexadecimal_and_escapes() {
        let right: &[(&[u8], &[u8])] = &[
            (b"GET /", b"GET /"),
            (b"|0d 0A|Host|3a20|", b"\r\nHost: "),
            (b"a\\;b\\\"c\\\\d\\:e\\|f", b"a;b\"c\\d:e|f"),
            (b"||x|  |", b"x"),
            (b"|3 a20|", b": "),
            (b"\xe4\x00", b"\xe4\x00"),
        ];
        for (text, expected) in right {
            assert_eq!(bytes(0, text).as_deref(), Ok(*expected));
        }
        let wrong: &[(&[u8], usize, &str)] = &[
            (b"", 0, ""),
            (b"||", 0, "||"),
            (b"ab|4", 2, "|4"),
            (b"ab|4|", 4, "|"),
            (b"ab|zz|", 3, "z"),
            (b"a\\n", 1, "\\n"),
            (b"a\\", 1, "\\"),
        ];
        for (text, offset, word) in wrong {
            let fault = bytes(100, text).expect_err("a fault");
            assert_eq!((fault.offset - 100, fault.word.as_str()), (*offset, *word));
        }
    }

    #[test]
    fn values_are_taken_apart() {
        let value = quoted(0, b"! \"a\\\"b\" , nocase").expect("a string");
        assert!(value.negated);
        assert_eq!((value.text, value.text_offset), (&b"a\\\"b"[..], 3));
        assert_eq!((value.after, value.after_offset), (&b" , nocase"[..], 8));
        let value = quoted_pattern(0, b"!\"/a\"b/i\" ").expect("a string");
        assert_eq!((value.text, value.after), (&b"/a\"b/i"[..], &b" "[..]));
        assert!(quoted_pattern(0, b"\"").is_err());
        assert!(quoted(0, b"abc").is_err() && quoted(0, b"\"abc\\\"").is_err());
        assert!(quoted(0, b"").is_err() && quoted(0, b"!").is_err());
    }
}
