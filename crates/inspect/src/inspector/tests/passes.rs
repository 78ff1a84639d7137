//! How far rules with the action `pass` reach: as in Suricata 7.

use super::streams::Talk;
use super::*;

const ALERT: &str = r#"alert tcp any any -> any any (content:"x"; sid:2;)"#;

fn in_talk(pass: &str, alert: &str) -> Vec<(usize, u32)> {
    let talk = Talk::new()
        .asks(b"one x")
        .answers(b"two x")
        .asks(b"three x");
    talk.sids(&[pass, alert].join("\n"))
}

#[test]
fn a_match_in_a_stream_passes_the_rest_of_its_flow() {
    let pass = |options: &str| format!("pass tcp any any -> any any ({options} sid:1;)");
    assert_eq!(in_talk(&pass(r#"content:"none";"#), ALERT).len(), 3);
    assert_eq!(in_talk(&pass(r#"content:"one";"#), ALERT), []);
    assert_eq!(in_talk(&pass(r#"content:"two";"#), ALERT), [(3, 2)]);
}

#[test]
fn a_rule_about_packets_passes_packets() {
    for options in [
        r#"content:"two"; dsize:5;"#,
        "dsize:5; flow:to_client;",
        "flow:to_client,established;",
    ] {
        let pass = format!("pass tcp any any -> any any ({options} sid:1;)");
        assert_eq!(in_talk(&pass, ALERT), [(3, 2), (5, 2)], "{options}");
    }
}

#[test]
fn a_rule_about_addresses_ports_or_protocol_alone_passes_flows() {
    for header in [
        "ip any any -> 198.18.2.2 any",
        "tcp any any -> any any",
        "tcp any 80 -> any any",
    ] {
        assert_eq!(
            in_talk(&format!("pass {header} (sid:1;)"), ALERT),
            [],
            "{header}"
        );
    }
}

#[test]
fn a_match_in_a_message_passes_later_messages() {
    let talk = |first: &str| {
        let request = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        let rules = r#"pass http any any -> any any (http.uri; content:"/p"; sid:1;)
            alert http any any -> any any (http.uri; content:"/x"; sid:2;)
            alert http any any -> any any (flow:to_client; file.data; content:"ok"; sid:3;)"#;
        let talk = Talk::new().asks(request(first).as_bytes()).answers(answer);
        talk.asks(request("/x").as_bytes())
            .answers(answer)
            .sids(rules)
    };
    assert_eq!(talk("/q"), [(4, 3), (5, 2), (6, 3)]);
    assert_eq!(talk("/p"), []);
}

#[test]
fn a_new_connection_of_the_same_ends_does_not_pass() {
    let pass = r#"pass tcp any any -> any any (content:"p"; sid:1;)"#;
    let rules = load(&[pass, ALERT].join("\n"));
    let connection = |text: &[u8]| Talk::new().asks(text).resets().records().to_vec();
    let records = [connection(b"p, x"), connection(b"x")].concat();
    let (pairs, statistics) = raised(&rules, &records);
    assert_eq!(pairs.len(), 1);
    assert!(statistics.passed_packets > 0);
}

/// What is sent one datagram after the other, and which of them alert.
fn in_datagrams(pass: &str, alert: &str, payloads: &[&[u8]]) -> Vec<usize> {
    let records: Vec<_> = (payloads.iter())
        .map(|payload| udp(ENDS, (1, 2), payload))
        .collect();
    let (pairs, _) = raised(&load(&[pass, alert].join("\n")), &records);
    pairs.into_iter().map(|(packet, _)| packet).collect()
}

#[test]
fn a_rule_that_passes_sets_bits() {
    for bits in ["flowbits:set,z", "xbits:set,z,track ip_src"] {
        let pass = format!(r#"pass udp any any -> any any (content:"p"; {bits}; sid:1;)"#);
        let asks = bits.replace("set", "isset");
        let alert = format!(r#"alert udp any any -> any any (content:"x"; {asks}; sid:2;)"#);
        assert_eq!(in_datagrams(&pass, &alert, &[b"x", b"p", b"x"]), [2]);
    }
}

#[test]
fn a_rule_that_passes_counts_its_matches() {
    let passes = |options: &str| {
        let pass = format!(r#"pass udp any any -> any any (content:"x"; {options} sid:1;)"#);
        let alert = r#"alert udp any any -> any any (content:"x"; sid:2;)"#;
        in_datagrams(&pass, alert, &[b"x" as &[u8]; 3])
    };
    assert!(passes("noalert;").is_empty());
    assert_eq!(
        passes("threshold:type limit,track by_src,count 1,seconds 60;"),
        [1, 2]
    );
    assert_eq!(
        passes("detection_filter:track by_src,count 1,seconds 60;"),
        [0]
    );
}
