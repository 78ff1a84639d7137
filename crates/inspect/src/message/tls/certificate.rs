//! Certificates (RFC 5280): subject, issuer, serial number, bytes.

use std::fmt::Write;

use sha1::{Digest, Sha1};
use weir_packet::time::Timestamp;
use x509_parser::parse_x509_certificate;
use x509_parser::time::ASN1Time;

use super::Tell;
use super::fields::Fields;
use crate::buffer::Buffer;
use crate::message::TlsRecord;

/// Tells every certificate of a chain; the first, the server's own, with its
/// names (RFC 5246, section 7.4.2).
pub(super) fn tell_chain(body: &[u8], record: &mut TlsRecord, tell: &mut Tell<'_>) -> Option<()> {
    let mut chain = Fields(Fields(body).behind_three()?);
    let certificates = std::iter::from_fn(|| chain.behind_three());
    for (index, der) in certificates.enumerate() {
        let bytes = (Buffer::TlsCertificates, der);
        let parsed = parse_x509_certificate(der).ok().filter(|_| index == 0);
        let Some((_, certificate)) = parsed else {
            tell(record, &[bytes]);
            continue;
        };
        let subject = certificate.subject.to_string();
        let issuer = certificate.issuer.to_string();
        let serial = in_pairs(certificate.raw_serial(), |text, byte| {
            write!(text, "{byte:02X}")
        });
        let fingerprint = in_pairs(&Sha1::digest(der), |text, byte| write!(text, "{byte:02x}"));
        let validity = &certificate.validity;
        record.subject = Some(subject.clone());
        record.issuerdn = Some(issuer.clone());
        record.serial = Some(serial.clone());
        record.fingerprint = Some(fingerprint);
        record.notbefore = calendar_time(&validity.not_before);
        record.notafter = calendar_time(&validity.not_after);
        let parts = [
            bytes,
            (Buffer::TlsSubject, subject.as_bytes()),
            (Buffer::TlsIssuer, issuer.as_bytes()),
            (Buffer::TlsSerial, serial.as_bytes()),
        ];
        tell(record, &parts);
    }
    Some(())
}

/// Bytes in hexadecimal, as `write` writes each, separated by colons.
fn in_pairs(bytes: &[u8], write: impl Fn(&mut String, u8) -> std::fmt::Result) -> String {
    let mut text = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 {
            text.push(':');
        }
        // Writing to a string cannot fail.
        let _ = write(&mut text, *byte);
    }
    text
}

/// Time as in `2026-03-01T12:34:56`, UTC; `None` before 1970 and after 2554.
fn calendar_time(time: &ASN1Time) -> Option<String> {
    let since_1970_s = u64::try_from(time.timestamp()).ok()?;
    let time = Timestamp(since_1970_s.checked_mul(1_000_000_000)?).calendar();
    Some(format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        time.year, time.month, time.day, time.hour, time.minute, time.second
    ))
}
