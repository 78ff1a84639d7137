//! What alerts say of the message that matched, in the words of Suricata's EVE
//! log (its user guide, "EVE JSON format": HTTP, DNS and TLS).

use serde::Serialize;

/// The exchange of messages that an alert is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transaction {
    /// Its place among those of its flow, from 0.
    #[serde(rename = "tx_id")]
    pub number: u64,
    /// The rule is about the stream; this was the newest transaction when it
    /// matched.
    #[serde(rename = "tx_guessed", skip_serializing_if = "is_false")]
    pub is_guessed: bool,
    /// What was said, as far as it was there when the rule matched.
    #[serde(flatten)]
    pub record: TransactionRecord,
}

/// What was said, by protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TransactionRecord {
    /// A request, and its response where that began.
    Http(HttpRecord),
    /// A query.
    Dns(DnsRecord),
    /// A handshake.
    Tls(TlsRecord),
}

/// An HTTP request, and its response (RFC 9112). Bytes that are no UTF-8 stand as
/// `\\xNN`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HttpRecord {
    /// Host requested: from the target, or from the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Its port, where that is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_port: Option<u16>,
    /// Target as it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Field `User-Agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_user_agent: Option<String>,
    /// Field `X-Forwarded-For`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xff: Option<String>,
    /// Field `Content-Type` of the response, without parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_content_type: Option<String>,
    /// Field `Referer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_refer: Option<String>,
    /// Method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_method: Option<String>,
    /// Version of the request, as in `HTTP/1.1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Status of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Field `Location` of a response that redirects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect: Option<String>,
    /// Bytes of the response's body so far, as they were sent.
    pub length: u64,
}

/// A DNS query (RFC 1035).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DnsRecord {
    /// Version of this layout.
    pub version: u8,
    /// Its questions.
    pub query: Vec<DnsQuestion>,
}

/// One question of a query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DnsQuestion {
    /// Always `query`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Identifier of the message.
    pub id: u16,
    /// Name queried, its labels separated by dots.
    pub rrname: String,
    /// Type queried, by its name where that is known.
    pub rrtype: String,
    /// Place of the message among those of its flow, from 0.
    pub tx_id: u64,
    /// Kind of query.
    pub opcode: u8,
}

/// A TLS handshake (RFC 8446, RFC 5246), as far as it is in the clear.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TlsRecord {
    /// Subject of the server's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Its issuer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuerdn: Option<String>,
    /// Its serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Its SHA-1, bytes in hexadecimal separated by colons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Host that the client named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sni: Option<String>,
    /// Version that the server chose, as in `TLS 1.2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'static str>,
    /// Time from which on the certificate is valid, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notbefore: Option<String>,
    /// Time up to which it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notafter: Option<String>,
    /// Fingerprint of the client's hello.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ja3: Option<Ja3>,
    /// Fingerprint of the server's hello.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ja3s: Option<Ja3>,
}

/// A fingerprint of a hello.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ja3 {
    /// MD5 of the text, in hexadecimal.
    pub hash: String,
    /// What it is made of.
    pub string: String,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Bytes as a text: what is no UTF-8 byte by byte, as `\xNN` where it is no
/// printable ASCII.
pub(super) fn readable(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}
