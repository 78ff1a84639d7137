//! Messages in pieces, and their parts.

use std::io::Write;

use super::*;
use crate::message::Derived;
use Direction::{ToClient, ToServer};

/// What a part was at the last event, over all messages of a direction that
/// came in pieces of a length.
fn part(stream: &[u8], direction: Direction, buffer: Buffer, piece: usize) -> Vec<Vec<u8>> {
    let (mut http, mut found) = (Http::default(), Vec::<Vec<u8>>::new());
    for bytes in stream.chunks(piece) {
        http.feed(direction, bytes, &mut |event| {
            let mut derived = Derived::default();
            let EventContent::Http(view) = event.content else {
                panic!("an event of HTTP");
            };
            if view.is_new {
                found.push(Vec::new());
            }
            if let Part::Here(text, _) = event.content.part(buffer, &mut derived) {
                *found.last_mut().expect("a message") = text.to_vec();
            }
        });
    }
    found
}

const REQUESTS: &[u8] =
    b"\r\nGET /a%20b?c HTTP/1.1\r\nHost: Example.ORG:80\r\nUser-Agent:  x y \r\n\
    Cookie: k=v\r\nAccept: a\r\naccept: b\r\n\r\n\
    POST /p HTTP/1.0\nContent-Length: 3\n\nabcPUT /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
    2;x=1\r\nab\r\n0003\r\ncde\r\n0\r\nT: x\r\n\r\nHEAD / HTTP/1.1\r\n\r\n";

#[test]
fn requests_have_the_same_parts_however_they_come() {
    let cases: &[(Buffer, [&str; 4])] = &[
        (Buffer::HttpMethod, ["GET", "POST", "PUT", "HEAD"]),
        (Buffer::HttpUri, ["/a b?c", "/p", "/c", "/"]),
        (Buffer::HttpRawUri, ["/a%20b?c", "/p", "/c", "/"]),
        (
            Buffer::HttpProtocol,
            ["HTTP/1.1", "HTTP/1.0", "HTTP/1.1", "HTTP/1.1"],
        ),
        (Buffer::HttpHost, ["example.org", "", "", ""]),
        (Buffer::HttpRawHost, ["Example.ORG:80", "", "", ""]),
        (Buffer::HttpUserAgent, ["x y", "", "", ""]),
        (Buffer::HttpCookie, ["k=v", "", "", ""]),
        (Buffer::HttpAccept, ["a, b", "", "", ""]),
        (Buffer::HttpRequestBody, ["", "abc", "abcde", ""]),
        (
            Buffer::HttpHeader,
            [
                "Host: Example.ORG:80\r\nUser-Agent: x y\r\nAccept: a, b\r\n",
                "Content-Length: 3\r\n",
                "Transfer-Encoding: chunked\r\n",
                "",
            ],
        ),
        (
            Buffer::HttpHeaderNames,
            [
                "\r\nHost\r\nUser-Agent\r\nCookie\r\nAccept\r\n\r\n",
                "\r\nContent-Length\r\n\r\n",
                "\r\nTransfer-Encoding\r\n\r\n",
                "",
            ],
        ),
        (Buffer::HttpStatusCode, ["", "", "", ""]),
    ];
    for (buffer, expected) in cases {
        for piece in [1, 7, REQUESTS.len()] {
            let found = part(REQUESTS, ToServer, *buffer, piece);
            let found: Vec<_> = found
                .iter()
                .map(|text| String::from_utf8_lossy(text))
                .collect();
            assert_eq!(found, expected, "{buffer:?} in pieces of {piece}");
        }
    }
    let start = part(REQUESTS, ToServer, Buffer::HttpStart, 9).swap_remove(1);
    assert_eq!(start, b"POST /p HTTP/1.0\r\nContent-Length: 3\r\n\r\n");
    let raw = part(REQUESTS, ToServer, Buffer::HttpRawHeader, 9).swap_remove(1);
    assert_eq!(raw, b"Content-Length: 3\n\n");
}

/// Lines that are no fields are looked at, and values that are folded are one.
#[test]
fn heads_that_break_the_rules_keep_what_they_hold() {
    let request = b"GET / HTTP/1.1\r\nno field\r\nUser-Agent: a \r\n b\r\nnor this\r\n\r\n";
    for piece in [1, 9, 200] {
        let of = |buffer| part(request, ToServer, buffer, piece).swap_remove(0);
        assert_eq!(
            String::from_utf8_lossy(&of(Buffer::HttpHeader)),
            ": no field, nor this\r\nUser-Agent: a  b\r\n"
        );
        assert_eq!(of(Buffer::HttpUserAgent), b"a  b");
    }
}

/// A response that is said to come in chunks and does not is looked at as it is.
#[test]
fn what_are_no_chunks_is_the_body() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (body, expected) in [
        ("no chunks", "no chunks"),
        ("2\r\nab\r\nno chunk", "abno chunk"),
        (" \r2\r\nab\r\n0\r\n\r\n", "ab"),
    ] {
        for piece in [1, 7, 200] {
            let answer = format!("{head}{body}");
            let found = part(answer.as_bytes(), ToClient, Buffer::HttpResponseBody, piece);
            assert_eq!(found, [expected.as_bytes()], "in pieces of {piece}");
        }
    }
}

#[test]
fn answers_end_where_they_say() {
    let answers = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\
        Server: s\r\n\r\nnoHTTP/1.0 200 OK\r\n\r\nuntil the end";
    for piece in [1, 5, 200] {
        let codes = part(answers, ToClient, Buffer::HttpStatusCode, piece);
        assert_eq!(codes, [b"100", b"404", b"200"]);
        let reasons = part(answers, ToClient, Buffer::HttpStatusMessage, piece);
        assert_eq!(reasons[1], b"Not Found");
        let bodies = part(answers, ToClient, Buffer::HttpResponseBody, piece);
        assert_eq!(bodies, [&b""[..], b"no", b"until the end"]);
    }
}

#[test]
fn bodies_are_decompressed_within_their_bound() {
    let text = b"a text that is said again, a text that is said again";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(text).expect("memory");
    zlib.write_all(text).expect("memory");
    raw.write_all(text).expect("memory");
    bomb.write_all(&vec![0; 8 << 20]).expect("memory");
    let cases = [
        ("gzip", gzip.finish().expect("memory"), &text[..]),
        ("deflate", zlib.finish().expect("memory"), text),
        ("deflate", raw.finish().expect("memory"), text),
        ("gzip", b"no gzip".to_vec(), b"no gzip"),
        (
            "gzip",
            bomb.finish().expect("memory"),
            &vec![0; body::MAX_BODY_BYTES],
        ),
    ];
    for (encoding, bytes, expected) in &cases {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\n\r\n");
        let answer = [head.as_bytes(), bytes].concat();
        for piece in [7, answer.len()] {
            let found = part(&answer, ToClient, Buffer::HttpResponseBody, piece);
            assert!(
                found == [expected.to_vec()],
                "{encoding} in pieces of {piece}"
            );
        }
        let head = format!(
            "POST / HTTP/1.1\r\nContent-Encoding: {encoding}\r\nContent-Length: {}\r\n\r\n",
            bytes.len()
        );
        let request = [head.as_bytes(), bytes].concat();
        let found = part(&request, ToServer, Buffer::HttpRequestBody, request.len());
        assert!(found == [expected.to_vec()], "{encoding} of a request");
    }
}

#[test]
fn every_field_of_a_name_counts() {
    let answer =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n\
                   4\r\nbody\r\n0\r\n\r\n";
    let found = part(answer, ToClient, Buffer::HttpResponseBody, answer.len());
    assert_eq!(found, [b"body".to_vec()]);
}

#[test]
fn no_body_follows_head_and_a_tunnel_follows_connect() {
    let mut http = Http::default();
    let mut events = 0;
    http.feed(
        ToServer,
        b"HEAD / HTTP/1.1\r\n\r\nCONNECT a:1 HTTP/1.1\r\n\r\n",
        &mut |_| (),
    );
    http.feed(
        ToClient,
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 Go\r\n\r\nHTTP/1.1 no\r\n\r\n",
        &mut |_| events += 1,
    );
    assert_eq!(events, 2);
    assert_eq!(
        (http.request.state, http.answer.state),
        (State::Tunnel, State::Tunnel)
    );
    let tunnel = http.tunnel().expect("a tunnel");
    assert_eq!((tunnel.bytes_to_server, tunnel.bytes_to_client), (0, 15));
    assert_eq!(tunnel.transactions, 2);
}

#[test]
fn heads_without_end_are_looked_at_so_far() {
    let mut http = Http::default();
    let mut events = 0;
    http.feed(ToServer, b"GET / HTTP/1.1\r\n", &mut |_| events += 1);
    for _ in 0..MAX_HEAD_BYTES {
        http.feed(ToServer, b"X: y\r\n", &mut |_| events += 1);
    }
    assert_eq!((events, http.request.state == State::Lost), (1, true));
    assert!(http.memory_bytes() < 4 * MAX_HEAD_BYTES);
}

/// The first response of a connection may have no status line: all of it is a body.
#[test]
fn responses_without_a_status_line_are_bodies() {
    let text = b"<html>\r\n\r\nnothing of HTTP/1.1 200 in front</html>";
    for piece in [1, 3, 7, 100] {
        let mut http = Http::default();
        http.feed(ToServer, b"GET / HTTP/1.1\r\n\r\n", &mut |_| {});
        let mut body = Vec::new();
        let mut events = 0;
        let mut keep = |event: Event<'_>| {
            let EventContent::Http(view) = event.content else {
                panic!("an event of HTTP");
            };
            events += usize::from(view.is_new);
            if let Part::Here(text, _) = view.body(Buffer::HttpResponseBody) {
                body = text.to_vec();
            }
        };
        for bytes in text.chunks(piece) {
            http.feed(ToClient, bytes, &mut keep);
        }
        http.stop(ToClient, &mut keep);
        assert_eq!((&body[..], events), (&text[..], 1), "pieces of {piece}");
    }
    // Behind a response, and without a request, it is none.
    let later = b"HTTP/1.1 304 Not Modified\r\n\r\nplain text\n\n";
    assert_eq!(
        part(later, ToClient, Buffer::HttpResponseBody, 100).len(),
        2
    );
}

/// A line of carriage returns alone ends a head, and transfer codings are undone too.
#[test]
fn heads_end_with_any_empty_line_and_transfer_codings_are_undone() {
    use flate2::{Compression, write::GzEncoder};
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(b"the page").expect("memory");
    let gzip = gzip.finish().expect("memory");
    let mut coded = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\r\n".to_vec();
    write!(coded, "{:x}\r\n", gzip.len()).expect("memory");
    coded.extend([&gzip[..], b"\r\n0\r\n\r\n"].concat());
    for piece in [1, 7, 1000] {
        let pages = part(&coded, ToClient, Buffer::HttpResponseBody, piece);
        assert_eq!(pages, [b"the page"], "pieces of {piece}");
    }
}

/// A coding whose name only contains the word is none of chunks: who does not know it goes by the
/// length.
#[test]
fn chunks_are_a_coding_of_that_name_alone() {
    for (coding, expected) in [
        ("xchunked", ["/", "/x"]),
        ("chunked-not", ["/", "/x"]),
        ("identity", ["/", "/x"]),
    ] {
        let stream = format!(
            "POST / HTTP/1.1\r\nTransfer-Encoding: {coding}\r\nContent-Length: 3\r\n\r\nabc\
             GET /x HTTP/1.1\r\n\r\n"
        );
        let found = part(stream.as_bytes(), ToServer, Buffer::HttpUri, 7);
        assert_eq!(
            found,
            expected.map(|uri| uri.as_bytes().to_vec()),
            "{coding}"
        );
    }
    for coding in [
        "chunked",
        "Chunked ",
        "gzip, chunked",
        "chunked,identity",
        " ,\tchunked\x0b",
    ] {
        let stream = format!(
            "POST / HTTP/1.1\r\nTransfer-Encoding: {coding}\r\nContent-Length: 1\r\n\r\n\
             1\r\nx\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n"
        );
        let found = part(stream.as_bytes(), ToServer, Buffer::HttpUri, 7);
        assert_eq!(found, [b"/".to_vec(), b"/x".to_vec()], "{coding}");
    }
}

/// Servers refuse requests with several lengths, and Suricata goes by the first; curl goes by the
/// last one of a response.
#[test]
fn of_several_lengths_one_counts() {
    let lengths = "Content-Length: 2\r\nContent-Length: 5\r\n\r\n";
    let request = format!("POST / HTTP/1.1\r\n{lengths}abGET /x HTTP/1.1\r\n\r\n");
    let found = part(request.as_bytes(), ToServer, Buffer::HttpRequestBody, 7);
    assert_eq!(found, [b"ab".to_vec(), b"".to_vec()]);
    let response = format!("HTTP/1.1 200 OK\r\n{lengths}abcdeHTTP/1.1 404 No\r\n\r\n");
    let found = part(response.as_bytes(), ToClient, Buffer::HttpResponseBody, 7);
    assert_eq!(found, [b"abcde".to_vec(), b"".to_vec()]);
}
