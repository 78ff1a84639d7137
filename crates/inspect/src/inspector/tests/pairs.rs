//! For every keyword one rule, traffic that matches it, and like traffic that
//! does not.

use std::collections::BTreeSet;

use super::streams::Talk;
use super::*;
use crate::buffer::Buffer;
use crate::rule::{Keyword, KeywordEffect, keywords};

/// What was sent.
enum Sent {
    /// In datagrams.
    Udp(&'static [&'static [u8]]),
    /// In messages of ICMP with this type.
    Icmp(u8, u8, u8),
    /// In a connection: requests, each with its answer.
    Talk(&'static [(&'static [u8], &'static [u8])]),
}

impl Sent {
    fn matches(&self, options: &str) -> bool {
        let (protocol, records) = match self {
            Sent::Udp(payloads) => {
                let datagram = |payload: &&[u8]| udp(ENDS, (5, 53), payload);
                ("udp", payloads.iter().map(datagram).collect())
            }
            Sent::Icmp(kind, code, identifier) => {
                let mut message = icmp(ENDS, *kind, b"ping");
                (message[21], message[25]) = (*code, *identifier);
                ("icmp", vec![message])
            }
            Sent::Talk(turns) => {
                let mut talk = Talk::new();
                for (request, answer) in *turns {
                    talk = talk.asks(request).answers(answer);
                }
                ("tcp", talk.records().to_vec())
            }
        };
        let sids = options.matches("sid:").count();
        let rules = if sids > 0 {
            options.replace("PROTOCOL", protocol)
        } else {
            format!("alert {protocol} any any -> any any ({options} sid:1;)")
        };
        !raised(&load(&rules), &records).0.is_empty()
    }
}

use Sent::{Icmp, Talk as In, Udp};

/// Keyword, rule, what matches, what does not.
fn deciding() -> Vec<(&'static str, &'static str, Sent, Sent)> {
    vec![
        (
            "flow",
            r#"flow:established; content:"a";"#,
            In(&[(b"a", b"")]),
            Udp(&[b"a"]),
        ),
        ("dsize", r#"dsize:2;"#, Udp(&[b"ab"]), Udp(&[b"abc"])),
        ("flags", r#"flags:SA;"#, In(&[]), Udp(&[b""])),
        ("itype", "itype:8;", Icmp(8, 0, 1), Icmp(0, 0, 1)),
        ("icode", "icode:3;", Icmp(3, 3, 1), Icmp(3, 0, 1)),
        ("icmp_id", "icmp_id:1;", Icmp(8, 0, 1), Icmp(8, 0, 2)),
        (
            "stream_size",
            r#"content:"b"; stream_size:client,=,3;"#,
            In(&[(b"ab", b"")]),
            In(&[(b"abc", b"")]),
        ),
        (
            "flowbits",
            r#"alert PROTOCOL any any -> any any (content:"a"; flowbits:set,x; noalert; sid:1;)
            alert PROTOCOL any any -> any any (content:"b"; flowbits:isset,x; sid:2;)"#,
            Udp(&[b"a", b"b"]),
            Udp(&[b"b", b"b"]),
        ),
        (
            "xbits",
            r#"alert PROTOCOL any any -> any any (content:"a"; xbits:set,x,track ip_src; noalert; sid:1;)
            alert PROTOCOL any any -> any any (content:"b"; xbits:isset,x,track ip_src; sid:2;)"#,
            Udp(&[b"a", b"b"]),
            Udp(&[b"b", b"b"]),
        ),
        (
            "noalert",
            r#"alert PROTOCOL any any -> any any (content:"a"; noalert; sid:1;)
            alert PROTOCOL any any -> any any (content:"b"; sid:2;)"#,
            Udp(&[b"b"]),
            Udp(&[b"a"]),
        ),
        (
            "threshold",
            r#"content:"a"; threshold:type threshold,track by_src,count 2,seconds 9;"#,
            Udp(&[b"a", b"a"]),
            Udp(&[b"a"]),
        ),
        (
            "detection_filter",
            r#"content:"a"; detection_filter:track by_src,count 2,seconds 9;"#,
            Udp(&[b"a", b"a", b"a"]),
            Udp(&[b"a", b"a"]),
        ),
        (
            "content",
            r#"content:"a|00|b";"#,
            Udp(&[b"xa\0b"]),
            Udp(&[b"xa\0c"]),
        ),
        (
            "uricontent",
            r#"uricontent:"/a";"#,
            In(&[(b"GET /a HTTP/1.1\r\n\r\n", b"")]),
            In(&[(b"GET /b HTTP/1.1\r\nX: /a\r\n\r\n", b"")]),
        ),
        (
            "nocase",
            r#"content:"aB"; nocase;"#,
            Udp(&[b"Ab"]),
            Udp(&[b"Ac"]),
        ),
        (
            "offset",
            r#"content:"a"; offset:1;"#,
            Udp(&[b"ba"]),
            Udp(&[b"ab"]),
        ),
        (
            "depth",
            r#"content:"a"; depth:1;"#,
            Udp(&[b"ab"]),
            Udp(&[b"ba"]),
        ),
        (
            "distance",
            r#"content:"a"; content:"b"; distance:1;"#,
            Udp(&[b"axb"]),
            Udp(&[b"abx"]),
        ),
        (
            "within",
            r#"content:"a"; content:"b"; within:1;"#,
            Udp(&[b"ab"]),
            Udp(&[b"axb"]),
        ),
        (
            "startswith",
            r#"content:"a"; startswith;"#,
            Udp(&[b"ab"]),
            Udp(&[b"ba"]),
        ),
        (
            "endswith",
            r#"content:"a"; endswith;"#,
            Udp(&[b"ba"]),
            Udp(&[b"ab"]),
        ),
        (
            "pcre",
            r#"content:"a"; pcre:"/^a\d+$/";"#,
            Udp(&[b"a12"]),
            Udp(&[b"a1x"]),
        ),
        (
            "urilen",
            r#"urilen:2; content:"GET"; http_method;"#,
            In(&[(b"GET /a HTTP/1.1\r\n\r\n", b"")]),
            In(&[(b"GET /ab HTTP/1.1\r\n\r\n", b"")]),
        ),
        (
            "bsize",
            r#"http.uri; content:"/"; bsize:2;"#,
            In(&[(b"GET /a HTTP/1.1\r\n\r\n", b"")]),
            In(&[(b"GET /ab HTTP/1.1\r\n\r\n", b"")]),
        ),
        (
            "dotprefix",
            r#"http.host; dotprefix; content:".a.de"; endswith;"#,
            In(&[(b"GET / HTTP/1.1\r\nHost: a.de\r\n\r\n", b"")]),
            In(&[(b"GET / HTTP/1.1\r\nHost: ba.de\r\n\r\n", b"")]),
        ),
        (
            "isdataat",
            r#"content:"a"; isdataat:2,relative;"#,
            Udp(&[b"abc"]),
            Udp(&[b"ab"]),
        ),
        (
            "byte_test",
            r#"content:"a"; byte_test:1,>,5,0,relative;"#,
            Udp(&[b"a\x06"]),
            Udp(&[b"a\x05"]),
        ),
        (
            "byte_jump",
            r#"content:"a"; byte_jump:1,0,relative; content:"b"; within:1;"#,
            Udp(&[b"a\x02xxb"]),
            Udp(&[b"a\x01xxb"]),
        ),
        (
            "byte_extract",
            r#"content:"a"; byte_extract:1,0,n,relative; content:"b"; distance:n;"#,
            Udp(&[b"a\x02xxb"]),
            Udp(&[b"a\x03xxb"]),
        ),
    ]
}

#[test]
fn every_deciding_keyword_has_a_pair() {
    let pairs = deciding();
    let named: BTreeSet<&str> = pairs.iter().map(|(keyword, ..)| *keyword).collect();
    let of_effect = |effect| {
        let all = keywords().filter(move |keyword| keyword.effect == effect);
        all.map(|keyword| keyword.name)
    };
    assert_eq!(named, of_effect(KeywordEffect::Decides).collect());
    for (keyword, rule, matching, other) in &pairs {
        assert!(rule.contains(keyword), "{rule}");
        assert!(matching.matches(rule), "{rule}");
        assert!(!other.matches(rule), "{rule}");
    }
    let described = r#"msg:"m"; gid:1; rev:2; priority:3; classtype:misc-activity; reference:cve,1; metadata:a b; target:src_ip; content:"a"; rawbytes; fast_pattern;"#;
    let told = |keyword: &str| keyword == "sid" || described.contains(keyword);
    assert!(of_effect(KeywordEffect::Describes).all(told));
    assert!(of_effect(KeywordEffect::Nothing).all(told));
    assert!(Udp(&[b"a"]).matches(described) && !Udp(&[b"b"]).matches(described));
}

const REQUEST: &[u8] = b"POST /dir/%61.php HTTP/1.1\r\nHost: www.A.com:8080\r\n\
    User-Agent: curl/7\r\nReferer: http://r.example/\r\nCookie: id=77\r\nAccept: text/html\r\n\
    Accept-Encoding: gzip\r\nAccept-Language: en\r\nConnection: close\r\n\
    Content-Type: text/plain\r\nContent-Length: 9\r\n\r\nuser=root";
const ANSWER: &[u8] = b"HTTP/1.1 302 Found There\r\nServer: nginx/1\r\nLocation: /next\r\n\
    Content-Length: 8\r\n\r\n<html>ok";
const OTHER_REQUEST: &[u8] =
    b"PUT /b HTTP/1.0\r\nHost: other\r\nX-Other: w\r\nUser-Agent: x\r\nReferer: y\r\n\
    Cookie: z\r\nAccept: a\r\nAccept-Encoding: b\r\nAccept-Language: c\r\nConnection: d\r\n\
    Content-Type: e\r\nContent-Length: 1\r\n\r\nf";
const OTHER_ANSWER: &[u8] = b"HTTP/1.0 200 OK\r\nServer: s\r\nLocation: t\r\n\
    Content-Length: 1\r\n\r\nu";

/// What is in the part of the first conversation, and not of the other.
const OF_HTTP: [(&str, &str); 29] = [
    ("uri", "/dir/a.php"),
    ("raw_uri", "/dir/%61.php"),
    ("method", "POST"),
    ("protocol", "HTTP/1.1"),
    ("request_line", "POST /dir"),
    ("response_line", "302 Found"),
    ("stat_code", "302"),
    ("stat_msg", "Found There"),
    ("header", "curl/7"),
    ("raw_header", "curl/7"),
    (
        "header_names",
        "|0d 0a|Host|0d 0a|User-Agent|0d 0a|Referer|0d 0a|",
    ),
    ("start", "POST /dir"),
    ("host", "www.a.com"),
    ("raw_host", "www.A.com|3a|8080"),
    ("user_agent", "curl/7"),
    ("referer", "r.example"),
    ("cookie", "id=77"),
    ("accept", "text/html"),
    ("accept_enc", "gzip"),
    ("accept_lang", "en"),
    ("connection", "close"),
    ("content_type", "text/plain"),
    ("content_len", "9"),
    ("server", "nginx/1"),
    ("location", "/next"),
    ("client_body", "user=root"),
    ("server_body", "<html>ok"),
    ("request_body", "user=root"),
    ("response_body", "<html>ok"),
];

/// The conversations of TLS and DNS, and what is in their parts.
const OF_OTHERS: [(&str, &str); 10] = [
    ("file_data", "<html>ok"),
    ("dns_query", "evil.de"),
    ("tls_sni", "a.example"),
    ("tls_cert_subject", "O=Weir, CN=a.example"),
    ("tls_cert_issuer", "CN=a.example"),
    ("tls_cert_serial", "12|3a|34|3a|56|3a|78|3a|90"),
    ("tls_certs", "|06 03 2b 65 70|"),
    ("ja3_hash", "0a7c04e829b4df23863cb5b4875156ed"),
    ("ja3_string", "771,4865,0-10-11,29,0"),
    ("ja3s_hash", "13b064e3d43575147f6ca25c24556a31"),
];

fn handshake(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = body.len() as u32;
    let message = [&[kind], &length.to_be_bytes()[1..], body].concat();
    [
        &[22, 3, 1][..],
        &(message.len() as u16).to_be_bytes(),
        &message,
    ]
    .concat()
}

/// Hellos of both ends, and a certificate.
pub(super) fn tls(name: &[u8; 9], cipher: u8, certificate: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let hello = [&[3, 3], &[7; 32][..], &[0, 0, 2, 0x13, cipher, 1, 0]].concat();
    let sni = [&[0, 0, 0, 14, 0, 12, 0, 0, 9], &name[..]].concat();
    let rest = [0, 10, 0, 4, 0, 2, 0, 29, 0, 11, 0, 2, 1, 0];
    let length = (sni.len() + rest.len()) as u8;
    let client = handshake(1, &[&hello[..], &[0, length], &sni, &rest].concat());
    let hello = [
        &[3, 3],
        &[7; 32][..],
        &[0, 0x13, cipher + 1, 0, 0, 4, 0, 43, 0, 0],
    ]
    .concat();
    let length = |bytes: usize| (bytes as u32).to_be_bytes()[1..].to_vec();
    let chain = [
        &length(certificate.len() + 3)[..],
        &length(certificate.len()),
        certificate,
    ];
    let server = [handshake(2, &hello), handshake(11, &chain.concat())].concat();
    (client, server)
}

/// Whether a rule about a part matches the first conversation of its protocol,
/// and whether it matches the other.
fn verdicts(keyword: &str, options: &str) -> [bool; 2] {
    let of_talk = |request: &[u8], answer: &[u8]| {
        let rule = format!("alert tcp any any -> any any ({options} sid:1;)");
        !Talk::new()
            .asks(request)
            .answers(answer)
            .sids(&rule)
            .is_empty()
    };
    if keyword.starts_with("tls") || keyword.starts_with("ja3") {
        let certificate = include_bytes!("certificate.der");
        let conversations = [
            tls(b"a.example", 1, certificate),
            tls(b"b.another", 5, b"none at all"),
        ];
        conversations.map(|(client, server)| of_talk(&client, &server))
    } else if keyword.starts_with("dns") {
        [&b"\x04evil\x02de"[..], b"\x04good\x02de"].map(|name| {
            let query = [b"\0\x01\x01\0\0\x01\0\0\0\0\0\0", name, b"\0\0\x01\0\x01"].concat();
            let rule = format!("alert udp any any -> any any ({options} sid:1;)");
            !raised(&load(&rule), &[udp(ENDS, (5, 53), &query)])
                .0
                .is_empty()
        })
    } else {
        [
            of_talk(REQUEST, ANSWER),
            of_talk(OTHER_REQUEST, OTHER_ANSWER),
        ]
    }
}

#[test]
fn every_buffer_has_a_pair() {
    for Keyword {
        name: keyword,
        effect,
        ..
    } in Buffer::keywords()
    {
        let name = keyword.replace('.', "_");
        let short = match name.strip_prefix("http_") {
            Some("uri_raw") => "raw_uri",
            Some("header_raw") => "raw_header",
            Some("host_raw") => "raw_host",
            Some(short) => short,
            None => &name,
        };
        let inside = if short == "pkt_data" {
            "user=root"
        } else {
            let known = OF_HTTP.iter().chain(&OF_OTHERS);
            let found = known.into_iter().find(|(part, _)| *part == short);
            found.unwrap_or_else(|| panic!("{keyword} has no pair")).1
        };
        let options = if matches!(effect, KeywordEffect::Selects(_)) {
            format!("{keyword}; content:\"{inside}\";")
        } else {
            format!("content:\"{inside}\"; {keyword};")
        };
        assert_eq!(verdicts(&name, &options), [true, false], "{options}");
    }
}

/// As in Suricata, a handshake is one transaction: the hello that answers a HelloRetryRequest raises
/// nothing again.
#[test]
fn a_second_hello_raises_what_the_first_did_not() {
    let certificate = include_bytes!("certificate.der");
    let (first, server) = tls(b"a.example", 1, certificate);
    let (second, _) = tls(b"b.another", 1, certificate);
    let rules = r#"alert tls any any -> any any (ja3.string; content:"771"; sid:1;)
        alert tls any any -> any any (tls.sni; content:"b.another"; sid:2;)
        alert tls any any -> any any (tls.cert_subject; content:"Weir"; sid:3;)"#;
    let talk = Talk::new().asks(&first).asks(&second).asks(&second);
    assert_eq!(talk.answers(&server).sids(rules), [(3, 1), (4, 2), (6, 3)]);
}

/// As in Suricata: parts of several messages of a handshake are parts of one transaction.
#[test]
fn a_rule_may_ask_for_parts_of_several_tls_messages() {
    let certificate = include_bytes!("certificate.der");
    let (client, server) = tls(b"a.example", 1, certificate);
    let rules = r#"
        alert tls any any -> any any (ja3s.hash; pcre:"/^[0-9a-f]{32}$/"; tls.cert_subject; content:"Weir"; sid:1;)
        alert tls any any -> any any (tls.cert_subject; content:"Weir"; ja3s.hash; pcre:"/^[0-9a-f]{32}$/"; sid:2;)
        alert tls any any -> any any (ja3s.hash; pcre:"/^[0-9a-f]{32}$/"; tls.cert_subject; content:!"other"; sid:3;)
        alert tls any any -> any any (ja3s.hash; pcre:"/^[0-9a-f]{32}$/"; tls.cert_subject; content:!"Weir"; sid:4;)
        alert tls any any -> any any (ja3s.hash; pcre:"/^[g-z]/"; tls.cert_subject; content:"Weir"; sid:5;)"#;
    let talk = Talk::new().asks(&client).answers(&server);
    assert_eq!(talk.sids(rules), [(4, 1), (4, 2), (4, 3)]);
    let mut talk = Talk::new().asks(&client);
    for part in server.chunks(7) {
        talk = talk.answers(part);
    }
    let sids: Vec<u32> = talk.sids(rules).iter().map(|(_, sid)| *sid).collect();
    assert_eq!(sids, [1, 2, 3]);
}
