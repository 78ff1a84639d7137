//! The reference pages say what the program has: the members of its documents, and its metrics.
//! Those on configuration, SA file and drop reasons are checked in unit tests beside their types.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value;
use weir_export::{FrameMetrics, InspectMetrics, Metrics};
use weir_inspect::{Direction, KeywordEffect, keywords};
use weir_reference::{assert_page, read_page};

use crate::contract::SHORT_BENCH;
use crate::fabric::{fabric_capture, marked_capture};
use crate::processes::{Folder, example_name, json_file, weir};
use crate::run::gateway;

/// The part of a page under a heading.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let start = format!("\n## {heading}\n");
    let (_, rest) = page
        .split_once(&start)
        .unwrap_or_else(|| panic!("no section {heading}"));
    rest.split("\n## ").next().unwrap_or(rest)
}

/// The first cells of the tables of a section, without their backquotes.
fn first_cells(section: &str) -> BTreeSet<String> {
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split('`').next())
        .map(str::to_owned)
        .collect()
}

/// The members of a document, without those of maps whose names are data.
fn members(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    const MAPS: [&str; 5] = [
        "drops",
        "rules_skipped",
        "pipelines[].drops",
        "malformed",
        "untraced",
    ];
    match value {
        Value::Object(object) if !MAPS.contains(&path) => {
            for (name, value) in object {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                found.insert(path.clone());
                members(value, &path, found);
            }
        }
        Value::Array(rows) => rows
            .iter()
            .for_each(|row| members(row, &format!("{path}[]"), found)),
        _ => {}
    }
}

#[test]
fn every_member_of_a_document_is_described() {
    let folder = Folder::new();
    let (traffic, sa) = (example_name("traffic.pcapng"), example_name("sa.toml"));
    let rules = example_name("example.rules");
    let config = gateway(&folder);
    let (sealed, opened) = (folder.name("sealed.pcapng"), folder.name("opened.pcapng"));
    let (eve, alerted) = (folder.name("eve.jsonl"), folder.name("alerted.pcapng"));
    let generated = folder.name("generated.pcap");
    let fabric = fabric_capture(&folder);
    let (marked, mesh) = (marked_capture(&folder), example_name("mesh.toml"));
    let [file, other_file] = crate::fabric_protect::files(&folder);
    let plain = crate::fabric_protect::capture(&folder);
    let (guarded, restored) = (
        folder.name("guarded.pcapng"),
        folder.name("restored.pcapng"),
    );
    let calls: [(&str, &[&str]); 14] = [
        (
            "fabric protect",
            &[&plain, &guarded, "--fabric", &file, "--repeatable-insecure"],
        ),
        (
            "fabric unprotect",
            &[&guarded, &restored, "--fabric", &other_file],
        ),
        ("fabric check", &[&fabric]),
        ("fabric trace", &[&marked, "--map", &mesh]),
        ("protect", &[&traffic, &sealed, "--sa", &sa]),
        ("unprotect", &[&sealed, &opened, "--sa", &sa]),
        (
            "inspect",
            &[
                &traffic,
                "--rules",
                &rules,
                "--eve",
                &eve,
                "--rule-costs",
                "--alerted-pcap",
                &alerted,
            ],
        ),
        (
            "measure",
            &[
                &traffic,
                "--exact",
                "--interval",
                "10",
                "--change",
                "ma:1",
                "--key",
                "5-tuple",
            ],
        ),
        ("measure", &[&traffic, "--interval", "1", "--fit"]),
        (
            "generate",
            &[&generated, "--packets", "1000", "--surge", "0,1,100,100"],
        ),
        ("engines", &[]),
        ("bench", &SHORT_BENCH),
        ("check", &[&config]),
        ("run", &[&config]),
    ];
    let text = read_page("json.md");
    let of = |heading: &str| first_cells(section(&text, heading));
    let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
    let mut missing = Vec::new();
    let shared = ["Traffic", "Associations", "Fabric", "Intervals", "Search"];
    for (verb, arguments) in calls {
        let json = folder.name("document.json");
        let verbs: Vec<&str> = verb.split(' ').collect();
        let call = [&verbs, arguments, &["--json", &json, "--quiet"]].concat();
        weir(call).done();
        let mut found = BTreeSet::new();
        members(&json_file(json.as_ref()), "", &mut found);
        let own = section(&text, verb);
        let mut described = of("Every document");
        described.extend(first_cells(own));
        for heading in shared {
            if own.contains(&format!("(#{})", heading.to_lowercase())) {
                described.extend(of(heading));
            }
        }
        for member in found {
            // A pipeline has the members of the traffic.
            let known = match member.strip_prefix("pipelines[].") {
                Some(of_pipeline) => of("Traffic").contains(of_pipeline) || of_pipeline == "name",
                None => described.contains(&member),
            };
            if !known {
                missing.push(format!("{verb}: {member}"));
            }
            seen.insert((verb.to_owned(), member));
        }
    }
    assert!(missing.is_empty(), "not in docs/json.md: {missing:#?}");
    // And nothing is described that no document has.
    for heading in shared {
        for member in of(heading) {
            assert!(
                seen.iter().any(|(_, seen)| *seen == member),
                "{heading}: {member}"
            );
        }
    }
    for verb in [
        "run",
        "check",
        "protect",
        "unprotect",
        "inspect",
        "measure",
        "generate",
        "engines",
        "bench",
        "fabric check",
        "fabric trace",
        "fabric protect",
        "fabric unprotect",
    ] {
        for member in of(verb) {
            assert!(
                seen.contains(&(verb.to_owned(), member.clone())),
                "{verb}: {member}"
            );
        }
    }
}

#[test]
fn every_metric_is_described() {
    let mut text = String::from(
        "# Metrics\n\n`--metrics ADDR` of `weir run`, `weir inspect` and `weir measure` serves metrics in the text \
         format of Prometheus at `http://ADDR/metrics`; a port alone is one of the loopback interface. \
         Metrics of packets and ports (`weir_packets`, `weir_port_received` and so on) are those of live \
         ports. For runs over captures that end, `--prometheus FILE`, and `prometheus` in a \
         [configuration](configuration.md), keep a file with those of the inspection or the measurement \
         up to date, for the node exporter's textfile collector. Counters have `_total` behind their \
         names.\n\n| metric | type | meaning |\n| --- | --- | --- |\n",
    );
    let metrics = Metrics::new("source", weir_measure::Value::Bytes).text();
    let expositions = [
        FrameMetrics::default().text(),
        metrics,
        InspectMetrics::default().text(),
    ];
    for exposition in expositions {
        let mut help = "";
        for line in exposition.lines() {
            if let Some(line) = line.strip_prefix("# HELP ") {
                help = line.split_once(' ').map_or("", |(_, help)| help);
            } else if let Some((name, kind)) = line
                .strip_prefix("# TYPE ")
                .and_then(|line| line.split_once(' '))
            {
                let _ = writeln!(text, "| `{name}` | {kind} | {help} |");
            }
        }
    }
    assert_page("metrics.md", &text);
}

#[test]
fn every_keyword_of_rules_is_described() {
    let mut text = String::from(
        "# Keywords of rules\n\nEvery keyword that the [inspection](inspect.md) reads, and whether it can change which \
         packets a rule alerts on. A rule with any other keyword is skipped. For each keyword \
         [a test](../tests/interop/test_suricata_keywords.py) has traffic that matches and traffic that nearly does, \
         and holds Suricata beside Weir.\n\n| keyword | effect | meaning |\n| --- | --- | --- |\n",
    );
    for keyword in keywords() {
        let (effect, meaning) = match keyword.effect {
            KeywordEffect::Decides => ("decides", keyword.meaning.to_owned()),
            KeywordEffect::Describes => ("describes", keyword.meaning.to_owned()),
            KeywordEffect::Nothing => ("nothing", keyword.meaning.to_owned()),
            KeywordEffect::Selects(buffer) => {
                let whose = match buffer.direction() {
                    Some(Direction::ToServer) => ", of requests",
                    Some(Direction::ToClient) => ", of responses",
                    None => "",
                };
                let name = buffer.name();
                let meaning = if name == keyword.name {
                    format!("later options are about this part{whose}")
                } else {
                    format!("as `{name}`{whose}")
                };
                ("buffer", meaning)
            }
            KeywordEffect::Sends(buffer) => (
                "sends",
                format!("the content in front of it is about `{}`", buffer.name()),
            ),
        };
        let _ = writeln!(text, "| `{}` | {effect} | {meaning} |", keyword.name);
    }
    assert_page("keywords.md", &text);
}
