//! Certificates (RFC 5280): subject, issuer, serial number, bytes.

use std::fmt::Write;

use x509_parser::parse_x509_certificate;

use super::fields::Fields;
use crate::buffer::Buffer;
use crate::message::NamedParts;

/// Tells every certificate of a chain; the first, the server's own, with its
/// names (RFC 5246, section 7.4.2).
pub(super) fn tell_chain(body: &[u8], tell: &mut dyn FnMut(&NamedParts<'_>)) -> Option<()> {
    let mut chain = Fields(Fields(body).behind_three()?);
    let certificates = std::iter::from_fn(|| chain.behind_three());
    for (index, der) in certificates.enumerate() {
        let bytes = (Buffer::TlsCertificates, der);
        let parsed = parse_x509_certificate(der).ok().filter(|_| index == 0);
        let Some((_, certificate)) = parsed else {
            tell(&[bytes]);
            continue;
        };
        tell(&[
            bytes,
            (
                Buffer::TlsSubject,
                certificate.subject.to_string().as_bytes(),
            ),
            (Buffer::TlsIssuer, certificate.issuer.to_string().as_bytes()),
            (
                Buffer::TlsSerial,
                serial(certificate.raw_serial()).as_bytes(),
            ),
        ]);
    }
    Some(())
}

/// Bytes in hexadecimal capitals, separated by colons.
fn serial(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        let separator = if index > 0 { ":" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator}{byte:02X}");
    }
    text
}
