//! How messages of HTTP/1 begin.

use crate::direction::Direction;

const METHODS: [&[u8]; 28] = [
    b"GET",
    b"PUT",
    b"POST",
    b"HEAD",
    b"TRACE",
    b"OPTIONS",
    b"CONNECT",
    b"DELETE",
    b"PATCH",
    b"PROPFIND",
    b"PROPPATCH",
    b"MKCOL",
    b"COPY",
    b"MOVE",
    b"LOCK",
    b"UNLOCK",
    b"CHECKOUT",
    b"UNCHECKOUT",
    b"CHECKIN",
    b"UPDATE",
    b"LABEL",
    b"REPORT",
    b"MKWORKSPACE",
    b"MKACTIVITY",
    b"MERGE",
    b"SEARCH",
    b"VERSION-CONTROL",
    b"BASELINE-CONTROL",
];

/// A request line, behind empty ones, which servers skip (RFC 9112, section 2.2). Where it is whole it ends with an HTTP version, which SIP and
/// RTSP, otherwise alike, do not, and any method will do; as far as it came else,
/// the method must be one that is known.
pub(crate) fn is_request(mut first: &[u8]) -> bool {
    while let [b'\r' | b'\n', rest @ ..] = first {
        first = rest;
    }
    if first.starts_with(b"PRI * HTTP/2.0\r\n") {
        return true;
    }
    let Some(method_bytes) = first.iter().take(20).position(|byte| *byte == b' ') else {
        return false;
    };
    let is_of_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    if !first[..method_bytes].iter().all(is_of_token) {
        return false;
    }
    match memchr::memchr(b'\n', first) {
        Some(end) => {
            let line = first[..end].trim_ascii_end();
            let version = line.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
            version.starts_with(b"HTTP/")
        }
        None => METHODS.contains(&&first[..method_bytes]),
    }
}

/// A request of HTTP/0.9 (RFC 1945, section 5): one line, without a version.
pub(crate) fn is_simple_request(first: &[u8]) -> bool {
    let Some(end) = memchr::memchr(b'\n', first) else {
        return false;
    };
    let mut words = first[..end].trim_ascii_end().split(|byte| *byte == b' ');
    let (method, target) = (words.next(), words.next().unwrap_or_default());
    method == Some(b"GET") && target.starts_with(b"/") && words.next().is_none()
}

/// Whether bytes begin as a message of HTTP does.
pub(super) fn is_message(first: &[u8], direction: Direction) -> bool {
    match direction {
        Direction::ToServer => is_request(first),
        Direction::ToClient => is_response(first),
    }
}

pub(crate) fn is_response(first: &[u8]) -> bool {
    first.starts_with(b"HTTP/1.") || first.starts_with(b"HTTP/0.9 ")
}
