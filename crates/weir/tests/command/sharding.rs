//! The number of shards changes nothing but the time that a run takes.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::captures::{Packet, ip_range, packets, write_frames};
use crate::inspect::alerts;
use crate::processes::{Folder, example_both_ways, example_name, json_lines, weir};

/// What a run did with its packets.
#[derive(PartialEq)]
struct Done {
    /// Accounts, alerts by rule, associations and measured intervals.
    report: BTreeMap<&'static str, Value>,
    alerts: Vec<Value>,
    /// The output, flow by flow, each in its order.
    flows: BTreeMap<Vec<u8>, Vec<Packet>>,
}

/// What must stay in order: the packets of an association, a connection, or a
/// datagram in fragments.
fn flow(packet: &Packet) -> Vec<u8> {
    let bytes = &packet.bytes;
    let (Some((start, _)), Some(addresses)) = (ip_range(bytes), packet.addresses()) else {
        return bytes[12..14].to_vec();
    };
    let mut flow = addresses.to_vec();
    match (packet.esp(), bytes[start] >> 4) {
        (Some(esp), _) => flow.extend(&esp[..4]),
        (None, 4) => {
            let fragment = &bytes[start + 4..start + 8];
            let is_fragment = fragment[2] & 0x3f != 0 || fragment[3] != 0;
            let ports = start + 4 * usize::from(bytes[start] & 15);
            flow.push(bytes[start + 9]);
            flow.extend(match is_fragment {
                true => &fragment[..2],
                false => bytes.get(ports..ports + 4).unwrap_or_default(),
            });
        }
        (None, _) => flow.extend(&bytes[start + 40..start + 44]),
    }
    flow
}

const REPORTED: [&str; 11] = [
    "packets",
    "bytes",
    "forwarded",
    "forwarded_bytes",
    "drops",
    "alerts",
    "protected",
    "unprotected",
    "bypassed",
    "associations",
    "filter",
];

/// Stages, and the files that they work on.
struct Setup<'a> {
    stages: &'a str,
    /// Read one after the other.
    captures: &'a [&'a str],
    rules: String,
    sa: String,
}

impl<'a> Setup<'a> {
    /// With the rules and associations of the examples.
    fn of_examples(stages: &'a str, captures: &'a [&'a str]) -> Setup<'a> {
        Setup {
            stages,
            captures,
            rules: example_name("example.rules"),
            sa: example_name("gateway-sa.toml"),
        }
    }

    /// The same, with associations to open by.
    fn with_associations(self, sa: String) -> Setup<'a> {
        Setup { sa, ..self }
    }
}

fn run(setup: &Setup<'_>, shards: u32) -> Done {
    let folder = Folder::new();
    let Setup {
        stages,
        captures,
        rules,
        sa,
    } = setup;
    let config = folder.write(
        "weir.toml",
        format!(
            r#"
            [input]
            pcap = {captures:?}
            [pipeline]
            stages = {stages}
            [output]
            pcap = "out.pcapng"
            [filter]
            default = "allow"
            [[filter.rule]]
            name = "no telnet"
            action = "deny"
            protocol = "tcp"
            destination_port = "23"
            [inspect]
            rules = [{rules:?}]
            set = {{ HOME_NET = "[198.18.2.0/24,fd00:2::/64]" }}
            alerts = "alerts.jsonl"
            [measure]
            interval = 1
            exact = true
            seed = 1
            [ipsec]
            sa = {sa:?}
            "#
        ),
    );
    let shards = shards.to_string();
    let said = weir(["run", &config, "-q", "--json", "-", "--shards", &shards]).done();
    let mut document = said.json();
    let mut report: BTreeMap<&str, Value> = BTreeMap::new();
    for name in REPORTED {
        report.insert(name, document[name].take());
    }
    report.insert("intervals", document["intervals"].take());
    let rules = document["alerts_by_rule"].as_array_mut().expect("rules");
    rules.sort_by_key(|rule| rule["signature_id"].as_u64());
    report.insert("alerts_by_rule", document["alerts_by_rule"].take());
    let lines = std::fs::read(folder.path("alerts.jsonl")).unwrap_or_default();
    let mut flows: BTreeMap<Vec<u8>, Vec<Packet>> = BTreeMap::new();
    for packet in packets(folder.path("out.pcapng")) {
        flows.entry(flow(&packet)).or_default().push(packet);
    }
    Done {
        report,
        alerts: alerts(&json_lines(&lines)),
        flows,
    }
}

/// Returns what every number of shards does alike.
#[track_caller]
fn same_with_any_number(setup: &Setup<'_>) -> Done {
    let one = run(setup, 1);
    for shards in 2..=4 {
        let several = run(setup, shards);
        for (name, value) in &one.report {
            assert_eq!(several.report[name], *value, "{name}, {shards} shards");
        }
        assert_eq!(several.alerts, one.alerts, "{shards} shards");
        assert!(several.flows == one.flows, "output of {shards} shards");
    }
    one
}

/// What another gateway protected, and the associations of one that opens it and
/// protects by its own.
fn protected(folder: &Folder) -> (String, String) {
    let traffic = example_name("traffic.pcapng");
    let (remote, sa) = example_both_ways(folder);
    let protected = folder.name("protected.pcapng");
    weir(["protect", &traffic, &protected, "--sa", &remote, "-q"]).done();
    (protected, sa)
}

#[test]
fn filter_inspect_measure_protect() {
    let traffic = example_name("traffic.pcapng");
    let stages = r#"["filter", "inspect", "measure", "protect"]"#;
    let done = same_with_any_number(&Setup::of_examples(stages, &[&traffic, &traffic]));
    assert_eq!(done.report["packets"], 2 * 3564);
    assert!(done.report["protected"].as_u64() > Some(5000));
    assert!(!done.alerts.is_empty());
}

/// The second time, ESP packets are replays.
#[test]
fn unprotect_filter_inspect_measure() {
    let folder = Folder::new();
    let (protected, sa) = protected(&folder);
    let stages = r#"["unprotect", "filter", "inspect", "measure"]"#;
    let captures = [protected.as_str(), &protected];
    let setup = Setup::of_examples(stages, &captures).with_associations(sa);
    let done = same_with_any_number(&setup);
    assert_eq!(done.report["unprotected"], 2973);
    assert_eq!(done.report["drops"]["replay"], 2973);
    assert!(!done.alerts.is_empty());
}

#[test]
fn unprotect_protect() {
    let folder = Folder::new();
    let (protected, sa) = protected(&folder);
    let captures = [protected.as_str()];
    let setup = Setup::of_examples(r#"["unprotect", "protect"]"#, &captures);
    let done = same_with_any_number(&setup.with_associations(sa));
    assert_eq!(done.report["unprotected"], 2973);
    assert_eq!(done.report["protected"], 2973);
    assert_eq!(done.report["drops"], serde_json::json!({}));
}

#[test]
fn inspect_protect() {
    let traffic = example_name("traffic.pcapng");
    let done = same_with_any_number(&Setup::of_examples(
        r#"["inspect", "protect"]"#,
        &[&traffic],
    ));
    assert_eq!(done.report["protected"], 2973);
    assert!(!done.alerts.is_empty());
}

/// A TCP segment without options between a client's port and port 80 of the
/// server, with its checksums left out.
fn segment(client: u8, port: u16, from_server: bool, flags: u8, payload: &[u8]) -> Vec<u8> {
    let (client, server) = ([198, 18, 1, client], [198, 18, 2, 9]);
    let (addresses, ports) = match from_server {
        false => ([client, server].concat(), [port, 80]),
        true => ([server, client].concat(), [80, port]),
    };
    let sent = |is_data: bool| u32::from(is_data);
    let greeted = payload == b"needle";
    let (sequence, acknowledged) = match from_server {
        false => (100 + sent(flags != 2), 500 + 6 * sent(greeted)),
        true => (500 + sent(!payload.is_empty()), 101),
    };
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00, 0x45, 0];
    frame.extend((40 + payload.len() as u16).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 6, 0, 0]);
    frame.extend(addresses);
    frame.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    frame.extend(u32::to_be_bytes(sequence));
    frame.extend(u32::to_be_bytes(acknowledged));
    frame.extend([0x50, flags, 0x20, 0, 0, 0, 0, 0]);
    frame.extend(payload);
    frame
}

/// The two directions of a connection have associations with different homes.
#[test]
fn alerts_that_need_both_directions() {
    let folder = Folder::new();
    let capture = folder.name("connections.pcapng");
    let frames = (1..40u8).flat_map(|client| {
        let port = 40_000 + u16::from(client);
        [
            segment(client, port, false, 0x02, b""),
            segment(client, port, true, 0x12, b""),
            segment(client, port, true, 0x18, b"hello"),
            segment(client, port, false, 0x18, b"needle"),
        ]
    });
    write_frames(&capture, &frames.collect::<Vec<_>>());
    let rules = folder.write(
        "both.rules",
        "alert tcp any 80 -> any any (msg:\"greeting\"; content:\"hello\"; \
         flowbits:set,greeted; sid:1;)\n\
         alert tcp any any -> any 80 (msg:\"needle\"; content:\"needle\"; \
         flowbits:isset,greeted; sid:2;)\n",
    );
    let mut sa = "insecure_example = true\ndefault = \"bypass\"\n".to_owned();
    let policies = [
        (
            "source = \"198.18.1.0/24\"\ndestination_port = \"80\"",
            "there",
        ),
        ("source = \"198.18.2.9\"\nsource_port = \"80\"", "back"),
    ];
    for (number, (_, name)) in policies.iter().enumerate() {
        sa += &format!(
            "[[sa]]\nname = {name:?}\nspi = {}\nsuite = \"aes-128-gcm-16\"\n\
             key = \"{}\"\nmode = \"transport\"\ndirection = \"outbound\"\n",
            0x1001 + number,
            ["17", "2e"][number].repeat(20)
        );
    }
    for (selector, name) in policies {
        sa += &format!(
            "[[policy]]\n{selector}\nprotocol = \"tcp\"\naction = \"protect\"\nsa = {name:?}\n"
        );
    }
    let done = same_with_any_number(&Setup {
        stages: r#"["inspect", "protect"]"#,
        captures: &[&capture],
        rules,
        sa: folder.write("sa.toml", sa),
    });
    assert_eq!(done.report["alerts"], 2 * 39);
    assert_eq!(done.report["protected"], 4 * 39);
}
