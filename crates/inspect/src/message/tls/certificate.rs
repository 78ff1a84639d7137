//! Certificates (RFC 5280): subject, issuer, serial number, bytes.

use std::fmt::Write;

use tls_parser::TlsCertificateContents;
use x509_parser::parse_x509_certificate;

use crate::buffer::Buffer;
use crate::message::NamedParts;

/// Tells every certificate of a chain; the first, the server's own, with its
/// names.
pub(super) fn tell_chain(
    chain: &TlsCertificateContents<'_>,
    tell: &mut dyn FnMut(&NamedParts<'_>),
) {
    for (index, raw) in chain.cert_chain.iter().enumerate() {
        let bytes = (Buffer::TlsCertificates, raw.data);
        let parsed = parse_x509_certificate(raw.data).ok().filter(|_| index == 0);
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
