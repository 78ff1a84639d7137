//! Hellos: the server's name, and the fingerprints JA3 and JA3S.
//!
//! JA3 is the text `version,ciphers,extensions,groups,point formats`, numbers
//! in decimal joined by hyphens, without the reserved values of RFC 8701, and
//! its MD5 in hexadecimal; JA3S is `version,cipher,extensions` of the server.

use std::fmt::Write;

use md5::{Digest, Md5};

use super::Tell;
use super::fields::Fields;
use crate::buffer::Buffer;
use crate::message::transaction::readable;
use crate::message::{Ja3, TlsRecord};

/// Most numbers in one field of a fingerprint.
const MAX_NUMBERS: usize = 512;

const RANDOM_BYTES: usize = 32;
/// Extensions (RFC 6066, section 3; RFC 8422, section 5.1; RFC 8446, section
/// 4.2.1).
const SERVER_NAME: u16 = 0;
const SUPPORTED_GROUPS: u16 = 10;
const POINT_FORMATS: u16 = 11;
const SUPPORTED_VERSIONS: u16 = 43;

/// A ClientHello (RFC 8446, section 4.1.2); one that ends early tells nothing.
pub(super) fn tell_client(body: &[u8], record: &mut TlsRecord, tell: &mut Tell<'_>) -> Option<()> {
    let mut fields = Fields(body);
    let version = fields.number()?;
    fields.take(RANDOM_BYTES)?;
    fields.behind_byte()?;
    let ciphers = fields.behind_number()?;
    fields.behind_byte()?;
    let raw = fields.behind_number().unwrap_or_default();
    let (mut name, mut groups, mut formats) = (None, &[][..], &[][..]);
    for (kind, body) in extensions(raw) {
        match kind {
            SERVER_NAME => name = name.or_else(|| host_name(body)),
            SUPPORTED_GROUPS => groups = Fields(body).behind_number().unwrap_or_default(),
            POINT_FORMATS => formats = Fields(body).behind_byte().unwrap_or_default(),
            _ => {}
        }
    }
    let lists = [
        joined(numbers(ciphers)),
        joined(extensions(raw).map(|(kind, _)| kind)),
        joined(numbers(groups)),
        joined(formats.iter().map(|format| u16::from(*format))),
    ];
    let text = format!("{version},{}", lists.join(","));
    let hash = md5_hexadecimal(&text);
    let parts = [
        (Buffer::Ja3Hash, hash.as_bytes()),
        (Buffer::Ja3Text, text.as_bytes()),
        (Buffer::TlsServerName, name.unwrap_or_default()),
    ];
    record.sni = name.map(readable);
    record.ja3 = Some(Ja3 {
        hash: hash.clone(),
        string: text.clone(),
    });
    tell(record, if name.is_some() { &parts } else { &parts[..2] });
    Some(())
}

/// A ServerHello (RFC 8446, section 4.1.3).
pub(super) fn tell_server(body: &[u8], record: &mut TlsRecord, tell: &mut Tell<'_>) -> Option<()> {
    let mut fields = Fields(body);
    let version = fields.number()?;
    fields.take(RANDOM_BYTES)?;
    fields.behind_byte()?;
    let cipher = fields.number()?;
    fields.take(1)?;
    let raw = fields.behind_number().unwrap_or_default();
    let types = joined(extensions(raw).map(|(kind, _)| kind));
    let chosen = extensions(raw).find(|(kind, _)| *kind == SUPPORTED_VERSIONS);
    let chosen = chosen.and_then(|(_, body)| Fields(body).number());
    let text = format!("{version},{cipher},{types}");
    let hash = md5_hexadecimal(&text);
    record.version = version_name(chosen.unwrap_or(version));
    record.ja3s = Some(Ja3 {
        hash: hash.clone(),
        string: text,
    });
    tell(record, &[(Buffer::Ja3ServerHash, hash.as_bytes())]);
    Some(())
}

/// Versions as other sensors write them.
fn version_name(version: u16) -> Option<&'static str> {
    Some(match version {
        0x0300 => "SSLv3",
        0x0301 => "TLSv1",
        0x0302 => "TLS 1.1",
        0x0303 => "TLS 1.2",
        0x0304 => "TLS 1.3",
        _ => return None,
    })
}

/// The first name of type host (0) in a list of names.
fn host_name(body: &[u8]) -> Option<&[u8]> {
    let mut names = Fields(Fields(body).behind_number()?);
    loop {
        let kind = names.take(1)?;
        let name = names.behind_number()?;
        if kind == [0] {
            return Some(name);
        }
    }
}

/// Types and bodies of extensions (RFC 8446, section 4.2), in their order.
fn extensions(raw: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut fields = Fields(raw);
    std::iter::from_fn(move || Some((fields.number()?, fields.behind_number()?)))
}

fn numbers(list: &[u8]) -> impl Iterator<Item = u16> {
    let pairs = list.as_chunks::<2>().0.iter();
    pairs.map(|pair| u16::from_be_bytes(*pair))
}

fn joined(numbers: impl IntoIterator<Item = u16>) -> String {
    // Reserved values look alike in both bytes: 0x0a0a, 0x1a1a, …
    let is_reserved = |number: u16| number & 0x0f0f == 0x0a0a && number >> 8 == number & 0xff;
    let mut text = String::new();
    let kept = numbers.into_iter().filter(|number| !is_reserved(*number));
    for (index, number) in kept.take(MAX_NUMBERS).enumerate() {
        let separator = if index > 0 { "-" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator}{number}");
    }
    text
}

fn md5_hexadecimal(text: &str) -> String {
    let mut hexadecimal = String::new();
    for byte in Md5::digest(text) {
        let _ = write!(hexadecimal, "{byte:02x}");
    }
    hexadecimal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_leave_reserved_values_out() {
        assert_eq!(joined([0x0a0a, 4865, 0xfafa, 0x0a1a, 0]), "4865-2586-0");
        // The example of the paper that defines JA3.
        let text = "769,47-53-5-10-49161-49162-49171-49172-50-56-19-4,0-10-11,23-24-25,0";
        assert_eq!(md5_hexadecimal(text), "ada70206e40642a3e4461f35503241d5");
        let kinds = extensions(b"\0\x0a\0\x01x\0\0\0\0\0\x05\0\x09cut").map(|(kind, _)| kind);
        assert_eq!(kinds.collect::<Vec<u16>>(), [10, 0]);
        assert_eq!(host_name(b"\0\x09\x01\0\x01a\0\0\x02bc"), Some(&b"bc"[..]));
        assert_eq!(host_name(b"\0\x09\x01\0\x01a"), None);
    }
}
