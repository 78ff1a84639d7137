//! The parts of a message that a rule can ask for instead of the payload:
//! buffers, in the names that rules give them.

use crate::application::AppProtocol;
use crate::direction::Direction;
use crate::rule::{Keyword, KeywordEffect};

/// Which part of a flow a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs, reason = "named after the keywords of `NAMES`")]
pub enum Buffer {
    /// The bytes of a packet, or of a stream.
    Payload,
    HttpUri,
    HttpRawUri,
    HttpMethod,
    HttpProtocol,
    HttpRequestLine,
    HttpResponseLine,
    HttpStatusCode,
    HttpStatusMessage,
    HttpHeader,
    HttpRawHeader,
    HttpHeaderNames,
    HttpStart,
    HttpHost,
    HttpRawHost,
    HttpUserAgent,
    HttpReferer,
    HttpCookie,
    HttpAccept,
    HttpAcceptEncoding,
    HttpAcceptLanguage,
    HttpConnection,
    HttpContentType,
    HttpContentLength,
    HttpServer,
    HttpLocation,
    HttpRequestBody,
    HttpResponseBody,
    DnsQuery,
    TlsServerName,
    TlsSubject,
    TlsIssuer,
    TlsSerial,
    TlsCertificates,
    Ja3Hash,
    Ja3Text,
    Ja3ServerHash,
}

/// Number of buffers.
pub(crate) const BUFFERS: usize = Buffer::Ja3ServerHash as usize + 1;

use Buffer::*;
use Direction::{ToClient, ToServer};

/// Keywords after which contents are meant for a buffer (sticky buffers): the
/// names of Suricata, then those of its older versions and of Snort 2.9.
const STICKY: &[(&str, Buffer)] = &[
    ("http.uri", HttpUri),
    ("http.uri.raw", HttpRawUri),
    ("http.method", HttpMethod),
    ("http.protocol", HttpProtocol),
    ("http.request_line", HttpRequestLine),
    ("http.response_line", HttpResponseLine),
    ("http.stat_code", HttpStatusCode),
    ("http.stat_msg", HttpStatusMessage),
    ("http.header", HttpHeader),
    ("http.header.raw", HttpRawHeader),
    ("http.header_names", HttpHeaderNames),
    ("http.start", HttpStart),
    ("http.host", HttpHost),
    ("http.host.raw", HttpRawHost),
    ("http.user_agent", HttpUserAgent),
    ("http.referer", HttpReferer),
    ("http.cookie", HttpCookie),
    ("http.accept", HttpAccept),
    ("http.accept_enc", HttpAcceptEncoding),
    ("http.accept_lang", HttpAcceptLanguage),
    ("http.connection", HttpConnection),
    ("http.content_type", HttpContentType),
    ("http.content_len", HttpContentLength),
    ("http.server", HttpServer),
    ("http.location", HttpLocation),
    ("http.request_body", HttpRequestBody),
    ("http.response_body", HttpResponseBody),
    ("file.data", HttpResponseBody),
    ("dns.query", DnsQuery),
    ("tls.sni", TlsServerName),
    ("tls.cert_subject", TlsSubject),
    ("tls.cert_issuer", TlsIssuer),
    ("tls.cert_serial", TlsSerial),
    ("tls.certs", TlsCertificates),
    ("ja3.hash", Ja3Hash),
    ("ja3.string", Ja3Text),
    ("ja3s.hash", Ja3ServerHash),
    ("pkt_data", Payload),
    ("http_header_names", HttpHeaderNames),
    ("http_start", HttpStart),
    ("http_protocol", HttpProtocol),
    ("http_request_line", HttpRequestLine),
    ("http_response_line", HttpResponseLine),
    ("http_referer", HttpReferer),
    ("http_accept", HttpAccept),
    ("http_accept_enc", HttpAcceptEncoding),
    ("http_accept_lang", HttpAcceptLanguage),
    ("http_connection", HttpConnection),
    ("http_content_type", HttpContentType),
    ("http_content_len", HttpContentLength),
    ("file_data", HttpResponseBody),
    ("dns_query", DnsQuery),
    ("tls_sni", TlsServerName),
    ("tls_cert_subject", TlsSubject),
    ("tls_cert_issuer", TlsIssuer),
    ("tls_cert_serial", TlsSerial),
    ("ja3_hash", Ja3Hash),
    ("ja3_string", Ja3Text),
    ("ja3s_hash", Ja3ServerHash),
];

/// Keywords that send the content in front of them to a buffer (content
/// modifiers).
const MODIFIERS: &[(&str, Buffer)] = &[
    ("http_uri", HttpUri),
    ("http_raw_uri", HttpRawUri),
    ("http_method", HttpMethod),
    ("http_header", HttpHeader),
    ("http_raw_header", HttpRawHeader),
    ("http_cookie", HttpCookie),
    ("http_host", HttpHost),
    ("http_raw_host", HttpRawHost),
    ("http_user_agent", HttpUserAgent),
    ("http_client_body", HttpRequestBody),
    ("http_server_body", HttpResponseBody),
    ("http_stat_code", HttpStatusCode),
    ("http_stat_msg", HttpStatusMessage),
];

fn find(names: &[(&str, Buffer)], keyword: &[u8]) -> Option<Buffer> {
    let entry = names.iter().find(|(name, _)| name.as_bytes() == keyword)?;
    Some(entry.1)
}

impl Buffer {
    /// Every buffer.
    pub(crate) fn all() -> impl Iterator<Item = Buffer> {
        let named = STICKY.iter().map(|(_, buffer)| *buffer);
        let mut seen = [false; BUFFERS];
        named.filter(move |buffer| !std::mem::replace(&mut seen[*buffer as usize], true))
    }

    /// Every keyword that names a buffer.
    pub(crate) fn keywords() -> impl Iterator<Item = Keyword> {
        let of = |(name, effect)| Keyword {
            name,
            effect,
            meaning: "",
        };
        let sticky = STICKY
            .iter()
            .map(|(name, buffer)| (*name, KeywordEffect::Selects(*buffer)));
        let modifiers = MODIFIERS
            .iter()
            .map(|(name, buffer)| (*name, KeywordEffect::Sends(*buffer)));
        sticky.chain(modifiers).map(of)
    }

    /// The buffer that a keyword makes sticky.
    pub(crate) fn sticky(keyword: &[u8]) -> Option<Buffer> {
        find(STICKY, keyword)
    }

    /// The buffer to which a keyword sends the content in front of it.
    pub(crate) fn modifier(keyword: &[u8]) -> Option<Buffer> {
        find(MODIFIERS, keyword)
    }

    /// The buffer that a flag of `pcre` names.
    pub(crate) fn pattern_flag(flag: u8) -> Option<Buffer> {
        Some(match flag {
            b'U' => HttpUri,
            b'I' => HttpRawUri,
            b'P' => HttpRequestBody,
            b'Q' => HttpResponseBody,
            b'H' => HttpHeader,
            b'D' => HttpRawHeader,
            b'M' => HttpMethod,
            b'C' => HttpCookie,
            b'S' => HttpStatusCode,
            b'Y' => HttpStatusMessage,
            b'V' => HttpUserAgent,
            b'W' => HttpHost,
            b'Z' => HttpRawHost,
            _ => return None,
        })
    }

    /// Its first name.
    pub fn name(self) -> &'static str {
        let entry = STICKY.iter().find(|(_, buffer)| *buffer == self);
        entry.map_or("payload", |(name, _)| name)
    }

    /// The direction whose messages have it; `None` where both do.
    pub fn direction(self) -> Option<Direction> {
        match self {
            HttpUri | HttpRawUri | HttpMethod | HttpRequestLine | HttpHost | HttpRawHost
            | HttpUserAgent | HttpReferer | HttpAccept | HttpAcceptEncoding
            | HttpAcceptLanguage | HttpRequestBody | DnsQuery | TlsServerName | Ja3Hash
            | Ja3Text => Some(ToServer),
            HttpResponseLine | HttpStatusCode | HttpStatusMessage | HttpServer | HttpLocation
            | HttpResponseBody | TlsSubject | TlsIssuer | TlsSerial | TlsCertificates
            | Ja3ServerHash => Some(ToClient),
            Payload | HttpProtocol | HttpHeader | HttpRawHeader | HttpHeaderNames | HttpStart
            | HttpCookie | HttpConnection | HttpContentType | HttpContentLength => None,
        }
    }

    /// The protocol whose messages have it.
    pub(crate) fn protocol(self) -> AppProtocol {
        match self {
            DnsQuery => AppProtocol::Dns,
            TlsServerName | TlsSubject | TlsIssuer | TlsSerial | TlsCertificates | Ja3Hash
            | Ja3Text | Ja3ServerHash => AppProtocol::Tls,
            _ => AppProtocol::Http,
        }
    }

    /// Whether more of it comes while the message goes on.
    pub(crate) fn grows(self) -> bool {
        matches!(self, HttpRequestBody | HttpResponseBody)
    }

    /// The field of an HTTP header whose value it is, in lower case.
    pub(crate) fn header_field(self) -> Option<&'static str> {
        Some(match self {
            HttpUserAgent => "user-agent",
            HttpReferer => "referer",
            HttpAccept => "accept",
            HttpAcceptEncoding => "accept-encoding",
            HttpAcceptLanguage => "accept-language",
            HttpConnection => "connection",
            HttpContentType => "content-type",
            HttpContentLength => "content-length",
            HttpServer => "server",
            HttpLocation => "location",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_buffer_has_one_place_and_a_name() {
        let all: Vec<Buffer> = Buffer::all().collect();
        assert_eq!(all.len(), BUFFERS);
        for buffer in all {
            assert_eq!(
                Buffer::sticky(buffer.name().as_bytes()).unwrap_or(Payload),
                buffer
            );
        }
        assert_eq!(Buffer::modifier(b"http_uri"), Some(HttpUri));
        assert_eq!(Buffer::modifier(b"http.uri"), None);
    }
}
