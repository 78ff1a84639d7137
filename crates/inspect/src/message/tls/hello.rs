//! Hellos: the server's name, and the fingerprints JA3 and JA3S.
//!
//! JA3 is the text `version,ciphers,extensions,groups,point formats`, numbers
//! in decimal joined by hyphens, without the reserved values of RFC 8701, and
//! its MD5 in hexadecimal; JA3S is `version,cipher,extensions` of the server.

use std::fmt::Write;

use md5::{Digest, Md5};
use tls_parser::{
    SNIType, TlsClientHelloContents, TlsExtension, TlsServerHelloContents, parse_tls_extensions,
};

use crate::buffer::Buffer;
use crate::message::NamedParts;

/// Most extensions and groups that make a fingerprint.
const MAX_NUMBERS: usize = 512;

pub(super) fn tell_client(
    hello: &TlsClientHelloContents<'_>,
    tell: &mut dyn FnMut(&NamedParts<'_>),
) {
    let raw = hello.ext.unwrap_or_default();
    let (mut name, mut groups, mut formats) = (None, Vec::new(), Vec::new());
    if let Ok((_, extensions)) = parse_tls_extensions(raw) {
        for extension in extensions {
            match extension {
                TlsExtension::SNI(names) => {
                    let host = names.iter().find(|(kind, _)| *kind == SNIType::HostName);
                    name = name.or(host.map(|(_, host)| *host));
                }
                TlsExtension::EllipticCurves(list) => {
                    groups.extend(list.iter().map(|group| group.0));
                }
                TlsExtension::EcPointFormats(list) => {
                    formats.extend(list.iter().map(|format| u16::from(*format)));
                }
                _ => {}
            }
        }
    }
    let fields = [
        joined(hello.ciphers.iter().map(|cipher| cipher.0)),
        joined(extension_types(raw)),
        joined(groups),
        joined(formats),
    ];
    let text = format!("{},{}", hello.version.0, fields.join(","));
    let hash = md5_hexadecimal(&text);
    let parts = [
        (Buffer::Ja3Hash, hash.as_bytes()),
        (Buffer::Ja3Text, text.as_bytes()),
        (Buffer::TlsServerName, name.unwrap_or_default()),
    ];
    tell(if name.is_some() { &parts } else { &parts[..2] });
}

pub(super) fn tell_server(
    hello: &TlsServerHelloContents<'_>,
    tell: &mut dyn FnMut(&NamedParts<'_>),
) {
    let types = joined(extension_types(hello.ext.unwrap_or_default()));
    let text = format!("{},{},{types}", hello.version.0, hello.cipher.0);
    tell(&[(Buffer::Ja3ServerHash, md5_hexadecimal(&text).as_bytes())]);
}

/// Types of extensions (RFC 8446, section 4.2), in their order.
fn extension_types(mut raw: &[u8]) -> impl Iterator<Item = u16> {
    std::iter::from_fn(move || {
        let (header, rest) = raw.split_first_chunk::<4>()?;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        raw = rest.get(length..)?;
        Some(u16::from_be_bytes([header[0], header[1]]))
    })
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
        let types: Vec<u16> = extension_types(b"\0\x0a\0\x01x\0\0\0\0\0\x05\0\x09cut").collect();
        assert_eq!(types, [10, 0]);
    }
}
