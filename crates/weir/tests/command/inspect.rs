//! `weir inspect`.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::processes::{Folder, Said, command, example, example_name, json_file, json_lines, weir};

const HOME: &str = "HOME_NET=[198.18.2.0/24,fd00:2::/64]";

/// `weir inspect` over the example's capture by its rules, with more arguments.
fn arguments(more: &[&str]) -> Vec<String> {
    let (traffic, rules) = (
        example_name("traffic.pcapng"),
        example_name("example.rules"),
    );
    let first = ["inspect", &traffic, "--rules", &rules, "--set", HOME];
    first
        .iter()
        .chain(more)
        .map(|word| (*word).to_owned())
        .collect()
}

/// The same with the summary, which ends the lines and is the document, beside the alerts.
fn summarized(more: &[&str]) -> (Said, Vec<Value>, Value) {
    let folder = Folder::new();
    let json = folder.name("summary.json");
    let said = weir(arguments(&[&["--json", &json], more].concat())).done();
    let mut lines = json_lines(&said.stdout);
    let last = lines.pop().expect("a summary");
    let document = json_file(json.as_ref());
    for (member, value) in last.as_object().expect("an object") {
        assert_eq!(document[member], *value, "{member}");
    }
    (said, lines, document)
}

/// Packet, rule and flow of an alert, as `expected-alerts.jsonl` has them.
fn in_short(alert: &Value) -> Value {
    let mut short = json!({
        "packet": alert["pcap_cnt"],
        "sid": alert["alert"]["signature_id"],
    });
    for field in ["src_ip", "src_port", "dest_ip", "dest_port", "proto"] {
        if let Some(value) = alert.get(field) {
            short[field] = value.clone();
        }
    }
    short
}

/// The alerts of the example, packet by packet and rule by rule.
pub fn expected() -> Vec<Value> {
    json_lines(&std::fs::read(example("expected-alerts.jsonl")).expect("read"))
}

/// Alerts of EVE lines in the order and form of [`expected`].
pub fn alerts(lines: &[Value]) -> Vec<Value> {
    let mut alerts: Vec<Value> = lines
        .iter()
        .filter(|line| line["event_type"] == "alert")
        .map(in_short)
        .collect();
    alerts.sort_by_key(|alert| (alert["packet"].as_u64(), alert["sid"].as_u64()));
    alerts
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let (traffic, sa) = (example_name("traffic.pcapng"), example_name("sa.toml"));
    let protect = ["protect", &traffic, "-", "--sa", &sa, "--quiet"];
    for mut started in [command(arguments(&["--quiet"])), command(protect)] {
        let mut child = started
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("weir");
        drop(child.stdout.take());
        let said = Said::of(child).done();
        assert_eq!(said.messages().count(), 0, "{said:?}");
    }
}

#[test]
fn the_examples_raise_what_they_are_to_raise() {
    for shards in ["1", "2"] {
        let (_, lines, summary) = summarized(&["--shards", shards]);
        assert_eq!(alerts(&lines), expected());
        assert!(lines.iter().all(|line| line["event_type"] == "alert"));
        assert_eq!(summary["packets"], 3564);
        assert_eq!(summary["rules_loaded"], 20);
        assert_eq!(summary["rules_skipped"], json!({}));
        assert_eq!(summary["alerts"], expected().len());
        assert_eq!(summary["truncated"], false);
        assert_eq!(summary["interrupted"], false);
        let number = |field: &str| summary[field].as_f64().expect("a number");
        assert!(number("bytes") > 0.0 && number("seconds") > 0.0 && number("gbit_per_s") > 0.0);
        assert!(number("candidates") >= number("false_candidates"));
        if shards == "1" {
            let order: Vec<_> = lines.iter().map(|a| a["pcap_cnt"].as_u64()).collect();
            assert!(order.is_sorted());
        }
    }
}

#[test]
fn an_alert_says_what_was_seen_where_and_by_which_rule() {
    let said = weir(arguments(&["-q"])).done();
    let lines = json_lines(&said.stdout);
    let alert = lines
        .iter()
        .find(|line| line["pcap_cnt"] == 126)
        .expect("an alert");
    assert_eq!(alert["timestamp"], "2026-11-21T02:13:38.265938+0000");
    assert_eq!(alert["in_iface"], "a0");
    assert_eq!(alert["icmp_type"], 8);
    let rule = json!({
        "action": "allowed", "gid": 1, "signature_id": 1_000_017, "rev": 1,
        "signature": "EXAMPLE large echo", "category": "Potentially Bad Traffic", "severity": 2,
    });
    assert_eq!(alert["alert"], rule);
}

#[test]
fn several_captures_are_one_stream_and_lines_go_to_a_file() {
    let folder = Folder::new();
    let eve = folder.write("eve.jsonl", "what an older run left\n");
    let mut twice = arguments(&["--eve", &eve, "--json", "-"]);
    twice.insert(1, example_name("traffic.pcapng"));
    let summary = weir(twice).done().json();
    assert_eq!(summary["packets"], 2 * 3564);
    let lines = json_lines(&std::fs::read(&eve).expect("read"));
    let last = lines
        .iter()
        .filter_map(|line| line["pcap_cnt"].as_u64())
        .max();
    assert!(last.expect("alerts") > 3564);
}

#[test]
fn faulty_rules_are_named_and_the_rest_loads() {
    let folder = Folder::new();
    let rules = folder.write(
        "local.rules",
        "# a comment\n\
         alert udp any any -> any 53 (msg:\"in order\"; content:\"|07|example\"; sid:1;)\n\
         alert udp any any -> any 53 (msg:\"odd digits\"; content:\"|0|\"; sid:2;)\n\
         alert udp any any -> any 53000000 (msg:\"a port\"; sid:3;)\n\
         alert udp $NOWHERE any -> any any (msg:\"a variable\"; sid:4;)\n\
         alert udp any any -> any any (msg:\"a keyword\"; nonsense:5; sid:5;)\n\
         alert udp any any -> any any (msg:\"no end\"; sid:6\n\
         alert icmp any any -> any any (msg:\"also in order\"; dsize:>900; sid:7;)\n",
    );
    let traffic = example_name("traffic.pcapng");
    let eve = folder.name("eve.jsonl");
    let call = ["inspect", &traffic, "--rules", &rules, "--eve", &eve];
    let said = weir([&call[..], &["--json", "-"]].concat()).done();
    let summary = said.json();
    let skipped = summary["rules_skipped"].as_object().expect("reasons");
    let skipped_rules: u64 = skipped.values().filter_map(Value::as_u64).sum();
    assert_eq!(
        summary["rules_loaded"].as_u64().expect("a number") + skipped_rules,
        7
    );
    assert_eq!(skipped["keyword nonsense"], 1);
    let told = |line: u32, word: &str| {
        let place = format!("local.rules:{line}:");
        let fault = said.stderr.lines().find(|told| told.contains(&place));
        let fault = fault.unwrap_or_else(|| panic!("{place} is not in {}", said.stderr));
        assert!(fault.starts_with("weir: "), "{fault}");
        assert!(fault.contains(word), "{word} is not in {fault}");
        let column = fault
            .split(&place)
            .nth(1)
            .and_then(|rest| rest.split(':').next());
        assert!(
            column.is_some_and(|text| text.parse::<u32>().is_ok()),
            "{fault}"
        );
    };
    told(3, "hexadecimal digits");
    told(4, "53000000");
    told(5, "NOWHERE");
    let alerts = json_lines(&std::fs::read(&eve).expect("read"));
    assert!(alerts.iter().any(|line| line["alert"]["signature_id"] == 7));
    // A rule that asks for what is not there has no fault: it is told apart.
    assert!(!said.stderr.contains("local.rules:6:"));
    let said = weir([
        "inspect",
        &traffic,
        "--rules",
        &rules,
        "-q",
        "--show-skipped",
    ])
    .done();
    assert!(said.stderr.contains("local.rules:6:"), "{}", said.stderr);
    assert!(said.stderr.contains("not supported: keyword nonsense"));
}

#[test]
fn files_without_rules_are_wrong_unless_they_are_allowed() {
    let folder = Folder::new();
    let rules = folder.write("empty.rules", "# no rule\n");
    let traffic = example_name("traffic.pcapng");
    let call = ["inspect", &traffic, "--rules", &rules, "-q"];
    weir(call).failed(2, &["no rules in", "empty.rules", "--allow-empty"]);
    let said = weir([&call[..], &["--allow-empty"]].concat()).done();
    let [summary] = &json_lines(&said.stdout)[..] else {
        panic!("not the summary alone");
    };
    assert_eq!(summary["event_type"], "summary");
    let config = |allowed: &str| {
        format!(
            "[input]\npcap = {traffic:?}\n[pipeline]\nstages = \"inspect\"\n\
             [inspect]\nrules = {rules:?}\n{allowed}"
        )
    };
    let refused = folder.write("refused.toml", config(""));
    weir(["check", &refused, "-q"]).failed(2, &["empty.rules", "allow_empty"]);
    let allowed = folder.write("allowed.toml", config("allow_empty = true\n"));
    weir(["run", &allowed, "-q"]).done();
}

#[test]
fn a_file_without_any_rule_that_loads_is_wrong() {
    let folder = Folder::new();
    let rules = folder.write(
        "bad.rules",
        "alert udp any any -> any any (nonsense:1; sid:1;)\n",
    );
    let traffic = example_name("traffic.pcapng");
    let said = weir(["inspect", &traffic, "--rules", &rules, "-q"]);
    said.failed(2, &["none of 1 rules", "nonsense"]);
    let set = |definition| weir(arguments(&["-q", "--set", definition]));
    set("HOME_NET=[198.18.2.0/24").failed(2, &["HOME_NET"]);
    set("no equals sign").failed(2, &["no equals sign"]);
}

/// Whatever finds the contents, and whatever it learned: the same alerts.
#[test]
fn engines_and_profiles_change_no_alert() {
    let folder = Folder::new();
    let profile = folder.name("traffic.profile");
    let traffic = example_name("traffic.pcapng");
    weir(["inspect", &traffic, "--train", &profile]).done();
    for engine in ["cascade", "segmented", "aho-corasick"] {
        let more = [
            "--engine",
            engine,
            "--traffic-profile",
            &profile,
            "--explain-plan",
        ];
        let said = weir(arguments(&more)).done();
        assert_eq!(alerts(&json_lines(&said.stdout)), expected(), "{engine}");
        let told = &said.stderr;
        assert!(told.contains(engine) && told.contains("contents"), "{told}");
    }
}

/// With any number of shards: the packets of the alerts are all there, in
/// order, and with them later ones of their flows, but not all packets.
#[test]
fn packets_of_alerted_flows_go_to_a_capture() {
    let folder = Folder::new();
    let captures = ["1", "3"].map(|shards| {
        let name = format!("{shards}.pcapng");
        let path = folder.name(&name);
        let more = ["--shards", shards, "--alerted-pcap", &path];
        let (_, lines, summary) = summarized(&more);
        let mut alerted: Vec<u64> = (lines.iter())
            .filter_map(|line| line["pcap_cnt"].as_u64())
            .collect();
        alerted.sort_unstable();
        alerted.dedup();
        let counts = &summary["alerted_pcap"];
        let written = counts["packets"].as_u64().expect("a number");
        assert!((alerted.len() as u64..3564).contains(&written), "{written}");
        assert_eq!(counts["flows_forgotten"], 0);
        std::fs::read(&path).expect("a capture")
    });
    assert!(captures[0] == captures[1]);
    let to = |path: &str| weir(arguments(&["--alerted-pcap", path]));
    to(&example_name("traffic.pcapng")).failed(2, &["the output is the input"]);
    to("-").failed(2, &["two outputs"]);
}

/// To people as tables, to scripts in the summary, to Prometheus in a file.
#[test]
fn what_the_search_did_is_told_by_stage_and_group() {
    let folder = Folder::new();
    let metrics = folder.name("weir.prom");
    for shards in ["1", "2"] {
        let (said, _, summary) = summarized(&["--shards", shards, "--prometheus", &metrics]);
        let stages = summary["false_candidates_by_stage"].as_object();
        let stages = stages.expect("stages");
        let of_rules = ["conditions", "bits", "texts"];
        let sum: u64 = of_rules
            .iter()
            .filter_map(|stage| stages[*stage].as_u64())
            .sum();
        assert_eq!(summary["false_candidates"], sum);
        assert!(stages["filter"].as_u64() > Some(0), "{stages:?}");
        let groups = summary["groups"].as_array().expect("groups");
        let udp = groups.iter().find(|group| group["name"] == "udp packets");
        let searched = udp.expect("a group")["bytes"].as_u64();
        assert!(said.stderr.contains("udp packets"), "{}", said.stderr);
        assert!(said.stderr.contains("group compare") || stages["group_compare"] == 0);
        let text = std::fs::read_to_string(&metrics).expect("metrics");
        for line in [
            format!("weir_inspect_alerts_total {}", expected().len()),
            format!(
                "weir_inspect_false_candidates_total{{stage=\"filter\"}} {}",
                stages["filter"]
            ),
            format!(
                "weir_inspect_searched_bytes_total{{group=\"udp packets\"}} {}",
                searched.expect("a number")
            ),
        ] {
            assert!(
                text.lines().any(|known| known == line),
                "{line} is not in {text}"
            );
        }
    }
    let nowhere = arguments(&["--prometheus", "/dev/null/weir.prom"]);
    weir(nowhere).failed(2, &["/dev/null"]);
}
