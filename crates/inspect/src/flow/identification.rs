//! Which application protocol a flow speaks, by its first bytes.
//!
//! Ports are not looked at: a web server on port 4711 speaks HTTP, and what
//! runs over port 443 need not be TLS.

use crate::application::AppProtocol;
use crate::direction::Direction;
use crate::message::{first_dns_question, http_start};

/// The protocol of a TCP connection by the first bytes that one end sent.
/// `None` where they do not tell: the other end's may.
pub(super) fn of_stream(first: &[u8], direction: Direction) -> Option<AppProtocol> {
    if is_tls(first) {
        Some(AppProtocol::Tls)
    } else if first.starts_with(b"SSH-") {
        Some(AppProtocol::Ssh)
    } else if is_smb(first) {
        Some(AppProtocol::Smb)
    } else if is_dns_over_tcp(first) {
        Some(AppProtocol::Dns)
    } else {
        match direction {
            Direction::ToServer => by_request(first),
            Direction::ToClient => by_answer(first),
        }
    }
}

/// The protocol of a datagram.
pub(super) fn of_datagram(payload: &[u8]) -> Option<AppProtocol> {
    is_dns(payload).then_some(AppProtocol::Dns)
}

fn by_request(first: &[u8]) -> Option<AppProtocol> {
    if http_start::is_request(first) || http_start::is_simple_request(first) {
        return Some(AppProtocol::Http);
    }
    let starts_with = |commands: &[&[u8]]| {
        commands.iter().any(|command| {
            first
                .get(..command.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(command))
        })
    };
    if starts_with(&[b"EHLO ", b"HELO ", b"LHLO "]) {
        Some(AppProtocol::Smtp)
    } else if starts_with(&[
        b"USER ",
        b"PASS ",
        b"FEAT\r\n",
        b"AUTH TLS\r\n",
        b"AUTH SSL\r\n",
    ]) {
        Some(AppProtocol::Ftp)
    } else {
        None
    }
}

fn by_answer(first: &[u8]) -> Option<AppProtocol> {
    if http_start::is_response(first) {
        return Some(AppProtocol::Http);
    }
    // SMTP and FTP servers greet alike, and say what they are in words.
    if !first.starts_with(b"220 ") && !first.starts_with(b"220-") {
        return None;
    }
    let greeting = first.to_ascii_uppercase();
    if memchr::memmem::find(&greeting, b"SMTP").is_some() {
        Some(AppProtocol::Smtp)
    } else if memchr::memmem::find(&greeting, b"FTP").is_some() {
        Some(AppProtocol::Ftp)
    } else {
        None
    }
}

/// A record of the handshake (22) in a known version, in which a hello begins, maybe behind empty
/// ones; or the hello of version 2.
fn is_tls(mut first: &[u8]) -> bool {
    while let [22, 3, 0..=4, 0, 0, rest @ ..] = first {
        first = rest;
    }
    match first {
        [22, 3, 0..=4, high, low, 1 | 2, ..] => {
            (1..=(1 << 14) + 2048).contains(&u16::from_be_bytes([*high, *low]))
        }
        [0x80..=0xff, _, 1, 0, 2, ..] | [0x80..=0xff, _, 1, 3, 0..=4, ..] => true,
        _ => false,
    }
}

/// A session message of RFC 1002 around a header of SMB.
fn is_smb(first: &[u8]) -> bool {
    matches!(first, [0, _, _, _, 0xfd..=0xff, b'S', b'M', b'B', ..])
}

/// Messages behind their lengths, one of which is of DNS: a server answers what it cannot read,
/// and reads on.
fn is_dns_over_tcp(mut first: &[u8]) -> bool {
    while let [high, low, rest @ ..] = first {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let (message, behind) = rest.split_at(length);
        if is_dns(message) {
            return true;
        }
        first = behind;
    }
    false
}

/// A header of RFC 1035, section 4.1.1, with a known operation, and a first question whose name,
/// type and class make sense. Servers look neither at other counts nor at flags.
fn is_dns(message: &[u8]) -> bool {
    let Some(header) = message.first_chunk::<12>() else {
        return false;
    };
    let opcode = header[2] >> 3 & 0x0f;
    matches!(opcode, 0 | 4 | 5)
        && first_dns_question(message)
            .is_some_and(|(kind, class)| kind != 0 && matches!(class, 1 | 3 | 4 | 254 | 255))
}

#[cfg(test)]
mod tests {
    use super::*;
    use AppProtocol::*;
    use Direction::{ToClient, ToServer};

    #[test]
    fn first_bytes_tell() {
        let dns =
            b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x02de\x00\x00\x01\x00\x01";
        let cases: &[(&[u8], Direction, Option<AppProtocol>)] = &[
            (b"GET / HTTP/1.1\r\nHost: a\r\n", ToServer, Some(Http)),
            (b"POST /a/long/path/that/is/cut", ToServer, Some(Http)),
            (b"BITS_POST /a HTTP/1.1\r\n", ToServer, Some(Http)),
            (b"BITS_POST /a/long/path", ToServer, None),
            (b"WHAT,NO / HTTP/1.1\r\n", ToServer, None),
            (b"OPTIONS rtsp://a/b RTSP/1.0\r\n", ToServer, None),
            (b"GETTING started", ToServer, None),
            (b"GET / HTTP/1.1\r\n", ToClient, None),
            (b"HTTP/1.0 200 OK\r\n", ToClient, Some(Http)),
            (
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                ToServer,
                Some(Tls),
            ),
            (b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76", ToClient, Some(Tls)),
            (b"\x80\x2e\x01\x03\x01\x00\x15", ToServer, Some(Tls)),
            (b"\x16\x03\x01\x02\x00\x07", ToServer, None),
            // Records of one byte, and empty ones.
            (b"\x16\x03\x01\x00\x01\x01\x16\x03", ToServer, Some(Tls)),
            (b"\x16\x03\x01\x00\x00\x16\x03\x01\x00\x00", ToServer, None),
            (
                b"\x16\x03\x01\x00\x00\x16\x03\x01\x00\x03\x01",
                ToServer,
                Some(Tls),
            ),
            (b"SSH-2.0-OpenSSH_9.2\r\n", ToClient, Some(Ssh)),
            (b"220 mail.example ESMTP\r\n", ToClient, Some(Smtp)),
            (b"220-welcome to the FTP server\r\n", ToClient, Some(Ftp)),
            (b"220 hello\r\n", ToClient, None),
            (b"ehlo a\r\n", ToServer, Some(Smtp)),
            (b"USER anonymous\r\n", ToServer, Some(Ftp)),
            (b"\x00\x00\x00\x90\xffSMBr", ToServer, Some(Smb)),
            (dns, ToServer, None),
            (&[&b"\x00\x18"[..], dns].concat(), ToServer, Some(Dns)),
            // Several, the first of which makes no sense.
            (
                &[&b"\x00\x02ab\x00\x18"[..], dns, b"\x00\x18\x12"].concat(),
                ToServer,
                Some(Dns),
            ),
            (b"", ToServer, None),
        ];
        for (first, direction, expected) in cases {
            assert_eq!(of_stream(first, *direction), *expected, "{first:?}");
        }
        assert_eq!(of_datagram(dns), Some(Dns));
        for end in 0..dns.len() {
            assert_eq!(of_datagram(&dns[..end]), None, "cut at {end}");
        }
        // An answer counted, a reserved flag, a response code, two questions.
        for (at, value) in [(7, 1), (3, 0x40), (3, 5), (5, 2)] {
            let mut odd = dns.to_vec();
            odd[at] = value;
            assert_eq!(of_datagram(&odd), Some(Dns), "{at}");
        }
        let mut too_long = dns[..12].to_vec();
        too_long.extend([b"\x3f".as_slice(), &[b'a'; 63]].concat().repeat(5));
        too_long.extend([0, 0, 1, 0, 1]);
        assert_eq!(of_datagram(&too_long), None);
    }
}
