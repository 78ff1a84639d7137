//! The number of shards changes nothing but the time that a run takes.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::captures::{Packet, ip_range, packets};
use crate::inspect::alerts;
use crate::processes::{Folder, example_name, json_lines, weir};

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

/// Runs stages over captures that are read one after the other.
fn run(stages: &str, captures: &[&str], shards: u32) -> Done {
    let folder = Folder::new();
    let (rules, sa) = (example_name("example.rules"), example_name("sa.toml"));
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
fn same_with_any_number(stages: &str, captures: &[&str]) -> Done {
    let one = run(stages, captures, 1);
    for shards in 2..=4 {
        let several = run(stages, captures, shards);
        for (name, value) in &one.report {
            assert_eq!(several.report[name], *value, "{name}, {shards} shards");
        }
        assert_eq!(several.alerts, one.alerts, "{shards} shards");
        assert!(several.flows == one.flows, "output of {shards} shards");
    }
    one
}

fn protected(folder: &Folder) -> String {
    let (traffic, sa) = (example_name("traffic.pcapng"), example_name("sa.toml"));
    let protected = folder.name("protected.pcapng");
    weir(["protect", &traffic, &protected, "--sa", &sa, "-q"]).done();
    protected
}

#[test]
fn filter_inspect_measure_protect() {
    let traffic = example_name("traffic.pcapng");
    let stages = r#"["filter", "inspect", "measure", "protect"]"#;
    let done = same_with_any_number(stages, &[&traffic, &traffic]);
    assert_eq!(done.report["packets"], 2 * 3564);
    assert!(done.report["protected"].as_u64() > Some(5000));
    assert!(!done.alerts.is_empty());
}

/// The second time, ESP packets are replays.
#[test]
fn unprotect_filter_inspect_measure() {
    let folder = Folder::new();
    let protected = protected(&folder);
    let stages = r#"["unprotect", "filter", "inspect", "measure"]"#;
    let done = same_with_any_number(stages, &[&protected, &protected]);
    assert_eq!(done.report["unprotected"], 2973);
    assert_eq!(done.report["drops"]["replay"], 2973);
    assert!(!done.alerts.is_empty());
}

#[test]
fn unprotect_protect() {
    let folder = Folder::new();
    let protected = protected(&folder);
    let done = same_with_any_number(r#"["unprotect", "protect"]"#, &[&protected]);
    assert_eq!(done.report["unprotected"], 2973);
    assert_eq!(done.report["protected"], 2973);
    assert_eq!(done.report["drops"], serde_json::json!({}));
}

#[test]
fn inspect_protect() {
    let traffic = example_name("traffic.pcapng");
    let done = same_with_any_number(r#"["inspect", "protect"]"#, &[&traffic]);
    assert_eq!(done.report["protected"], 2973);
    assert!(!done.alerts.is_empty());
}
