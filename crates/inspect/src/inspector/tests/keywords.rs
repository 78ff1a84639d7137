//! One conversation that matches and one that does not, for every keyword that
//! is not about the bytes of one text alone.

use super::streams::Talk;
use super::*;

const REQUEST: &[u8] = b"POST /dir/%61.php?id=1 HTTP/1.1\r\nHost: www.Example.com:8080\r\n\
    User-Agent: curl/7\r\nReferer: http://r.example/\r\nCookie: id=77\r\nAccept: text/html\r\n\
    Accept-Encoding: gzip\r\nAccept-Language: en\r\nConnection: close\r\n\
    Content-Type: text/plain\r\nContent-Length: 9\r\n\r\nuser=root";
const ANSWER: &[u8] = b"HTTP/1.1 302 Found There\r\nServer: nginx/1\r\nLocation: /next\r\n\
    Set-Cookie: s=9\r\nContent-Length: 12\r\n\r\n<html>ok<br>";

fn matches(talk: &Talk, options: &str) -> bool {
    let rule = format!("alert tcp any any -> any any ({options} sid:1;)");
    match talk.sids(&rule).len() {
        0 => false,
        1 => true,
        more => panic!("{options}: {more} alerts"),
    }
}

#[test]
fn parts_of_http_messages() {
    let talk = Talk::new().asks(REQUEST).answers(ANSWER);
    // Sticky buffer, and what is in it; then what is only elsewhere.
    let cases: &[(&str, &str, &str)] = &[
        ("http.uri", "/dir/a.php?id=1", "%61"),
        ("http.uri.raw", "%61.php", "/dir/a.php"),
        ("http.method", "POST", "/dir"),
        ("http.protocol", "HTTP/1.1", "POST"),
        (
            "http.request_line",
            "POST /dir/%61.php?id=1 HTTP/1.1",
            "Host",
        ),
        ("http.response_line", "HTTP/1.1 302 Found There", "Server"),
        ("http.stat_code", "302", "Found"),
        ("http.stat_msg", "Found There", "302"),
        ("http.header", "User-Agent: curl/7|0d 0a|", "id=77"),
        ("http.header.raw", "Cookie: id=77|0d 0a|", "POST"),
        (
            "http.header_names",
            "|0d 0a|Referer|0d 0a|Cookie|0d 0a|",
            "curl",
        ),
        ("http.start", "HTTP/1.1|0d 0a|Host: ", "user=root"),
        ("http.host", "www.example.com", "8080"),
        ("http.host.raw", "www.Example.com:8080", "curl"),
        ("http.user_agent", "curl/7", "www"),
        ("http.referer", "http://r.example/", "curl"),
        ("http.cookie", "id=77", "curl"),
        ("http.accept", "text/html", "text/plain"),
        ("http.accept_enc", "gzip", "html"),
        ("http.accept_lang", "en", "html"),
        ("http.connection", "close", "open"),
        ("http.content_type", "text/plain", "text/html"),
        ("http.content_len", "9", "8"),
        ("http.server", "nginx/1", "curl"),
        ("http.location", "/next", "/dir"),
        ("http.request_body", "user=root", "html"),
        ("http.response_body", "<html>ok<br>", "root"),
        ("file.data", "<html>ok<br>", "root"),
        ("file_data", "<html>ok<br>", "root"),
        ("http_header_names", "|0d 0a|Host|0d 0a|", "curl"),
        ("http_start", "POST ", "user=root"),
        ("http_protocol", "HTTP/1.1", "POST"),
        ("http_request_line", "POST /dir", "Host"),
        ("http_response_line", "302 Found", "Server"),
        ("http_referer", "r.example", "curl"),
        ("http_accept", "text/html", "plain"),
        ("http_accept_enc", "gzip", "html"),
        ("http_accept_lang", "en", "html"),
        ("http_connection", "close", "open"),
        ("http_content_type", "text/plain", "html"),
        ("http_content_len", "9", "8"),
    ];
    for (keyword, inside, outside) in cases {
        for (content, expected) in [(inside, true), (outside, false)] {
            // What both directions have is asked of the request.
            let flow = if keyword.contains("response") || keyword.contains("stat") {
                ""
            } else if matches!(
                *keyword,
                "http.server" | "http.location" | "file.data" | "file_data"
            ) {
                "flow:to_client;"
            } else {
                "flow:to_server;"
            };
            let options = format!("{flow} {keyword}; content:\"{content}\";");
            assert_eq!(matches(&talk, &options), expected, "{options}");
        }
    }
    let modifiers: &[(&str, &str, &str)] = &[
        ("http_uri", "/dir/a.php", "%61"),
        ("http_raw_uri", "%61", "/a.php"),
        ("http_method", "POST", "GET"),
        ("http_header", "curl/7", "id=77"),
        ("http_raw_header", "id=77", "POST"),
        ("http_cookie", "id=77", "curl"),
        ("http_host", "example.com", "8080"),
        ("http_raw_host", "8080", "curl"),
        ("http_user_agent", "curl", "Host"),
        ("http_client_body", "root", "html"),
        ("http_server_body", "html", "root"),
        ("http_stat_code", "302", "200"),
        ("http_stat_msg", "Found", "302"),
    ];
    for (keyword, inside, outside) in modifiers {
        for (content, expected) in [(inside, true), (outside, false)] {
            let options = format!("content:\"{content}\"; {keyword};");
            let flow = if keyword.contains("stat") || keyword.contains("server") {
                ""
            } else {
                "flow:to_server;"
            };
            assert_eq!(
                matches(&talk, &format!("{flow}{options}")),
                expected,
                "{options}"
            );
        }
    }
}

#[test]
fn buffers_in_the_same_rule_and_other_ways_to_name_them() {
    let talk = Talk::new()
        .asks(&REQUEST[..100])
        .asks(&REQUEST[100..])
        .answers(ANSWER);
    let cases: &[(&str, bool)] = &[
        (
            r#"http.method; content:"POST"; http.uri; content:".php"; http.request_body; content:"root";"#,
            true,
        ),
        (
            r#"http.method; content:"GET"; http.uri; content:".php"; http.request_body; content:"root";"#,
            false,
        ),
        (
            r#"http.request_body; content:"user="; content:"root"; distance:0; endswith;"#,
            true,
        ),
        (r#"http.request_body; content:"user="; endswith;"#, false),
        (
            r#"http.request_body; content:"user"; content:!"root"; distance:0;"#,
            false,
        ),
        (r#"http.host; dotprefix; content:".www.example.com";"#, true),
        (r#"http.host; content:".www.example.com";"#, false),
        (r#"http.host; bsize:15; content:"example";"#, true),
        (r#"http.host; bsize:14; content:"example";"#, false),
        (r#"urilen:15; content:"php"; http_uri;"#, true),
        (r#"urilen:<15; content:"php"; http_uri;"#, false),
        (r#"urilen:17,raw; content:"php"; http_uri;"#, true),
        (r#"urilen:15,raw; content:"php"; http_uri;"#, false),
        (r#"uricontent:"a.php";"#, true),
        (r#"uricontent:"root";"#, false),
        (r#"content:"php"; http_uri; pcre:"/id=\d$/U";"#, true),
        (r#"content:"php"; http_uri; pcre:"/id=\d\d$/U";"#, false),
        (r#"pcre:"/^user=/P";"#, true),
        (r#"pcre:"/^root/P";"#, false),
        (
            r#"pcre:"/^curl/V"; pcre:"/^POST$/M"; pcre:"/id=7+$/C"; flow:to_server;"#,
            true,
        ),
        (
            r#"pcre:"/Accept: /H"; pcre:"/\x2e%61/I"; flow:to_server;"#,
            false,
        ),
        (
            r#"http.uri; content:"php"; pkt_data; content:"HTTP/1.1|0d 0a|Host";"#,
            true,
        ),
        (
            r#"http.uri; content:"php"; pkt_data; content:"nowhere";"#,
            false,
        ),
        (
            r#"http.uri; content:"php"; content:"curl/7"; http_user_agent;"#,
            true,
        ),
        // A number option goes on where the content in front of it was sent.
        (
            r#"content:"php"; http_uri; isdataat:2,relative; content:"curl/7"; http_user_agent;"#,
            true,
        ),
        (
            r#"content:"php"; http_uri; isdataat:200,relative; content:"curl/7"; http_user_agent;"#,
            false,
        ),
        (r#"flow:to_client; http.cookie; content:"s=9";"#, true),
        (r#"flow:to_server; http.cookie; content:"s=9";"#, false),
        (
            r#"file_data; content:"<html>"; within:6; isdataat:6,relative;"#,
            true,
        ),
        (
            r#"file_data; content:"<html>"; within:6; isdataat:7,relative;"#,
            false,
        ),
    ];
    for (options, expected) in cases {
        assert_eq!(matches(&talk, options), *expected, "{options}");
    }
    let http = r#"alert http any any -> any any (content:"user=root"; sid:1;)"#;
    assert_eq!(talk.sids(http), [(4, 1)]);
    assert_eq!(talk.sids(&http.replace("http", "tls")), []);
}

#[test]
fn conditions_on_packets_and_streams() {
    let talk = Talk::new().asks(b"12345").answers(b"123");
    let cases: &[(&str, bool)] = &[
        (r#"content:"345"; stream_size:client,=,6;"#, true),
        (r#"content:"345"; stream_size:client,>,6;"#, false),
        (
            r#"flow:to_client; content:"123"; stream_size:both,>,3;"#,
            true,
        ),
        (
            r#"flow:to_client; content:"123"; stream_size:both,>=,5;"#,
            false,
        ),
        (
            r#"flow:to_client; content:"123"; stream_size:either,<,5; stream_size:server,!=,5;"#,
            true,
        ),
        (r#"content:"345"; dsize:5;"#, true),
        (r#"content:"345"; dsize:4;"#, false),
        (r#"content:"345"; flags:A;"#, true),
        (r#"content:"345"; flags:S;"#, false),
        (
            r#"flow:established,to_server; content:"345"; target:dest_ip;"#,
            true,
        ),
        (r#"flow:not_established; content:"345";"#, false),
    ];
    for (options, expected) in cases {
        assert_eq!(matches(&talk, options), *expected, "{options}");
    }
    let packet_rule = r#"alert tcp-pkt any any -> any any (content:"34"; sid:1;)"#;
    assert_eq!(talk.sids(packet_rule), [(3, 1)]);
    assert_eq!(Talk::new().asks(b"3").asks(b"4").sids(packet_rule), []);
}

#[test]
fn messages_of_icmp() {
    let cases: &[(&str, bool)] = &[
        ("itype:8;", true),
        ("itype:<8;", false),
        ("itype:0; icode:0;", false),
        ("icode:0;", true),
        ("icode:>0;", false),
        ("icmp_id:1;", true),
        ("icmp_id:2;", false),
    ];
    for (options, expected) in cases {
        let rules = load(&format!("alert icmp any any -> any any ({options} sid:1;)"));
        let (pairs, _) = raised(&rules, &[icmp(ENDS, 8, b"ping")]);
        assert_eq!(!pairs.is_empty(), *expected, "{options}");
    }
}

#[test]
fn names_that_dns_is_asked_for() {
    let query = b"\0\x01\x01\0\0\x01\0\0\0\0\0\0\x03www\x04evil\x02de\0\0\x01\0\x01";
    let cases: &[(&str, bool)] = &[
        (r#"dns.query; content:"evil.de"; endswith;"#, true),
        (r#"dns_query; content:"www"; startswith; bsize:11;"#, true),
        (r#"dns.query; content:"evil"; bsize:4;"#, false),
        (r#"dns.query; dotprefix; content:".evil.de";"#, true),
        (r#"dns.query; content:"evil|02|";"#, false),
        (r#"content:"evil|02|";"#, true),
    ];
    let over_tcp = Talk::new().asks(&[&[0, query.len() as u8][..], query].concat());
    for (options, expected) in cases {
        let rule = format!("alert dns any any -> any any ({options} sid:1;)");
        let (pairs, _) = raised(&load(&rule), &[udp(ENDS, (5, 53), query)]);
        assert_eq!(!pairs.is_empty(), *expected, "{options}");
        assert_eq!(!over_tcp.sids(&rule).is_empty(), *expected, "{options}");
    }
}

#[test]
fn what_is_remembered() {
    let talk = Talk::new()
        .asks(b"login")
        .answers(b"failed")
        .asks(b"login")
        .answers(b"failed");
    let set = r#"alert tcp any any -> any any (content:"login"; flowbits:set,tried; flowbits:noalert; sid:1;)"#;
    let with = |action: &str| {
        let rule = format!(r#"alert tcp any any -> any any (content:"failed"; {action}; sid:2;)"#);
        talk.sids(&[set, &rule].join("\n"))
    };
    let twice = [(4, 2), (6, 2)];
    assert_eq!(with("flowbits:isset,tried"), twice);
    assert_eq!(with("flowbits:isset,other|tried"), twice);
    assert_eq!(with("flowbits:isset,other&tried"), []);
    assert_eq!(with("flowbits:isnotset,tried"), []);
    assert_eq!(with("flowbits:isset,tried; flowbits:unset,tried"), twice);
    assert_eq!(
        with("flowbits:isset,tried; flowbits:toggle,seen; flowbits:isset,seen"),
        []
    );
    assert_eq!(with("noalert"), []);
    assert_eq!(
        with("threshold:type limit,track by_src,count 1,seconds 60"),
        [(4, 2)]
    );
    assert_eq!(
        with("threshold:type threshold,track by_dst,count 2,seconds 60"),
        [(6, 2)]
    );
    assert_eq!(
        with("threshold:type both,track by_rule,count 2,seconds 60"),
        [(6, 2)]
    );
    assert_eq!(
        with("detection_filter:track by_src,count 1,seconds 60"),
        [(6, 2)]
    );
    assert_eq!(with("detection_filter:track by_src,count 2,seconds 60"), []);
    let host = r#"alert tcp any any -> any any (content:"login"; xbits:set,bad,track ip_src,expire 9; noalert; sid:1;)
                  alert tcp any any -> any any (content:"failed"; xbits:isset,bad,track TRACK; sid:2;)"#;
    assert_eq!(talk.sids(&host.replace("TRACK", "ip_dst")), twice);
    assert_eq!(talk.sids(&host.replace("TRACK", "ip_src")), []);
}

/// The rule that sets a bit comes before the one that asks for it, whatever
/// their order in the file.
#[test]
fn bits_are_set_before_they_are_asked_for() {
    let rules = r#"alert tcp any any -> any any (content:"a"; flowbits:isset,x; sid:1;)
                   alert tcp any any -> any any (content:"a"; flowbits:set,x; noalert; sid:2;)"#;
    assert_eq!(Talk::new().asks(b"a").sids(rules), [(3, 1)]);
}

/// Only one of the two could act.
#[test]
fn options_of_which_one_would_be_ignored_are_refused() {
    let loads = |options: &str| {
        let text = format!("alert ip any any -> any any ({options} sid:1;)");
        let file = RuleFile {
            name: "a.rules",
            text: text.as_bytes(),
        };
        let (_, report) = RuleSet::load(&[file], &Variables::default()).expect("an engine");
        assert_eq!(report.loaded + report.faults.len() as u64, 1, "{options}");
        report.loaded == 1
    };
    let threshold = "threshold:type limit,track by_src,count 1,seconds 60;";
    let filter = "detection_filter:track by_src,count 1,seconds 60;";
    for (one, other) in [
        (threshold, filter),
        (threshold, threshold),
        (filter, filter),
        ("dsize:>1;", "dsize:<9;"),
        ("itype:8;", "itype:0;"),
        ("icode:8;", "icode:0;"),
        ("icmp_id:8;", "icmp_id:0;"),
    ] {
        assert!(loads(one) && loads(other), "{one} {other}");
        assert!(!loads(&format!("{one} {other}")), "{one} {other}");
    }
    for (one, other) in [
        ("offset:1;", "offset:2;"),
        ("depth:3;", "depth:2;"),
        ("distance:1;", "distance:2;"),
        ("within:3;", "within:2;"),
        ("startswith;", "offset:2;"),
        ("startswith;", "depth:3;"),
    ] {
        for options in [[one, other], [other, one]] {
            let content = r#"content:"x"; content:"a";"#;
            assert!(loads(&format!("{content} {}", options[0])), "{options:?}");
            let both = options.join(" ");
            assert!(!loads(&format!("{content} {both}")), "{options:?}");
        }
    }
    assert!(loads(r#"http.host; dotprefix; content:".a";"#));
    assert!(!loads(r#"dotprefix; content:".a";"#));
    // These act twice, or alike.
    assert!(loads(
        "flags:S; flags:!A; stream_size:client,>,1; stream_size:server,<,9;"
    ));
    assert!(loads(
        r#"http.uri; content:"a"; nocase; nocase; bsize:>1; bsize:<9; urilen:>1; urilen:<9;"#
    ));
}

#[test]
fn no_rule_sees_the_variables_of_another() {
    let rules = r#"alert udp any any -> any any (content:"a"; byte_extract:1,1,n; sid:1;)
        alert tcp any any -> any any (http.uri; content:"/x"; pkt_data; byte_extract:1,0,n; http.uri; content:"q"; offset:n; sid:2;)"#;
    let set = load(rules);
    let talk = Talk::new().asks(b"GET /xq HTTP/1.1\r\n\r\n");
    let datagram = udp(ENDS, (5, 53), b"a\xff");
    let alone = raised(&set, talk.records()).0;
    let after = raised(&set, &[&[datagram][..], talk.records()].concat()).0;
    assert_eq!(alone.len() + 1, after.len());
}

#[test]
fn a_flow_has_as_many_bits_as_the_rules_name() {
    let bits = 0..300;
    let set = bits.map(|bit| {
        format!(
            "alert udp any any -> any any (content:\"a\"; flowbits:set,b{bit}; noalert; sid:{};)\n",
            bit + 2
        )
    });
    let rules: String = set.collect();
    let asks = "alert udp any any -> any any (content:\"b\"; flowbits:isset,b299; sid:1;)";
    let records = [udp(ENDS, (5, 53), b"a"), udp(ENDS, (5, 53), b"b")];
    assert_eq!(raised(&load(&(rules + asks)), &records).0.len(), 1);
}

#[test]
fn a_pattern_that_goes_back_too_often_matches_nothing() {
    for negation in ["", "!"] {
        let rule = format!(
            r#"alert udp any any -> any any (content:"b"; pcre:{negation}"/(?!z)(a+)+\1c/"; sid:1;)"#
        );
        let rules = load(&rule);
        let payload = [&[b'a'; 1400][..], b"b"].concat();
        let (alerts, statistics) = raised(&rules, &[udp(ENDS, (5, 53), &payload)]);
        assert_eq!((alerts.len(), statistics.pattern_limit), (0, 1), "{rule}");
    }
}

/// A text that sets a variable is looked at before those that use it.
#[test]
fn variables_have_their_values_whatever_the_order_of_texts() {
    let sought = |options: &str, path: &str| {
        let request = format!("POST {path} HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\n\r\n1q");
        matches(&Talk::new().asks(request.as_bytes()), options)
    };
    for (options, matching, other) in [
        // The payload in front of a part, and behind it.
        (
            r#"content:"POST"; byte_extract:1,6,n,string,dec; http.uri; content:"q"; offset:n;"#,
            "/3aq",
            "/5aq",
        ),
        (
            r#"http.uri; content:"q"; byte_extract:1,1,n,string,dec; pkt_data; content:"POST"; offset:n;"#,
            "/0aq",
            "/1aq",
        ),
        // A part, another one, and the first again.
        (
            r#"http.uri; content:"a"; http.host; content:"b"; byte_extract:1,0,n; http.uri; content:"q"; offset:n;"#,
            &format!("/a{}q", "b".repeat(96)),
            &format!("/a{}q", "b".repeat(95)),
        ),
        // A body that has not come when the head is judged.
        (
            r#"http.request_body; content:"q"; byte_extract:1,0,n,string,dec; http.uri; content:"a"; offset:n; depth:1;"#,
            "/ab",
            "/ba",
        ),
    ] {
        assert!(sought(options, matching), "{options}");
        assert!(!sought(options, other), "{options}");
    }
}

#[test]
fn texts_that_need_variables_of_each_other_are_refused() {
    let rule = r#"alert tcp any any -> any any (http.uri; byte_extract:1,0,n; http.host; content:"a"; offset:n; byte_extract:1,0,m; http.uri; content:"b"; offset:m; sid:1;)"#;
    let file = RuleFile {
        name: "a.rules",
        text: rule.as_bytes(),
    };
    let (_, report) = RuleSet::load(&[file], &Variables::default()).expect("an engine");
    assert_eq!(report.loaded, 0);
}
