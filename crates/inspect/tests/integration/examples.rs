//! The example rules over the example capture raise exactly the alerts that
//! are expected of them, on one shard or several.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use weir_capture::CaptureSource;
use weir_inspect::{EveWriter, InspectStage, RuleFile, RuleSet, Variables};
use weir_packet::file::Reader;
use weir_stream::{Pipeline, Stage};

fn example(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../examples", name]
        .iter()
        .collect()
}

/// The example rules, or others.
fn rules(path: &Path, count: u64) -> Arc<RuleSet> {
    let text = fs::read(path).expect("rules");
    let mut variables = Variables::default();
    variables
        .define("HOME_NET=[198.18.2.0/24,fd00:2::/64]")
        .expect("a definition");
    let file = RuleFile {
        name: "example.rules",
        text: &text,
    };
    let (rules, report) = RuleSet::load(&[file], &variables).expect("an engine");
    assert_eq!((report.loaded, report.rules()), (count, count));
    Arc::new(rules)
}

/// A stream whose bytes the test can read later.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines that a run over the capture writes.
fn run(rules: &Arc<RuleSet>, shards: usize) -> Vec<Value> {
    let output = Shared::default();
    let reader = Reader::open(&example("traffic.pcapng")).expect("the example capture");
    let stages = (0..shards).map(|_| {
        let stage: Box<dyn Stage> = Box::new(InspectStage::new(Arc::clone(rules)));
        vec![stage]
    });
    let outcome = Pipeline::new(CaptureSource::new(vec![reader]))
        .shards(stages.collect())
        .sink(EveWriter::new(output.clone()))
        .run()
        .expect("a run");
    let text = String::from_utf8(output.0.lock().expect("no panic").clone()).expect("text");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    let alerts: u64 = outcome
        .stages::<InspectStage>()
        .map(|stage| stage.statistics().alerts)
        .sum();
    assert_eq!(alerts, lines.len() as u64);
    // The capture's checksums are right, also those of what is put together from fragments.
    for stage in outcome.stages::<InspectStage>() {
        let statistics = stage.statistics();
        assert_eq!(statistics.packets_refused.checksum, 0);
        assert_eq!(statistics.fragments_refused, 0);
    }
    lines
}

/// The fields that the expected list has.
type Alert = (u64, u64, String, String, String, u64, u64);

fn alert(packet: &Value, sid: &Value, line: &Value) -> Alert {
    let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
    (
        packet.as_u64().unwrap_or_default(),
        sid.as_u64().unwrap_or_default(),
        text("src_ip"),
        text("dest_ip"),
        text("proto"),
        line["src_port"].as_u64().unwrap_or_default(),
        line["dest_port"].as_u64().unwrap_or_default(),
    )
}

#[test]
fn example_rules_raise_the_expected_alerts_on_any_number_of_shards() {
    let text = fs::read_to_string(example("expected-alerts.jsonl")).expect("the expected alerts");
    let expected: BTreeSet<Alert> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .map(|line: Value| alert(&line["packet"], &line["sid"], &line))
        .collect();
    assert!(!expected.is_empty());
    let rules = rules(&example("example.rules"), 20);
    for shards in [1, 2, 3] {
        let lines = run(&rules, shards);
        let raised: BTreeSet<Alert> = lines
            .iter()
            .map(|line| alert(&line["pcap_cnt"], &line["alert"]["signature_id"], line))
            .collect();
        assert_eq!(raised.len(), lines.len(), "an alert was raised twice");
        assert_eq!(raised, expected, "with {shards} shards");
    }
}

#[test]
fn lines_have_the_layout_of_eve() {
    let lines = run(&rules(&example("example.rules"), 20), 1);
    let find = |sid: u64| {
        lines
            .iter()
            .find(|line| line["alert"]["signature_id"] == sid)
            .expect("an alert of the rule")
    };
    let line = find(1_000_006);
    let alert = &line["alert"];
    assert_eq!(line["event_type"], "alert");
    assert_eq!(line["vlan"], serde_json::json!([30]));
    assert_eq!(alert["action"], "allowed");
    assert_eq!(alert["category"], "Potential Corporate Privacy Violation");
    assert_eq!(alert["severity"], 1);
    assert!(
        line["timestamp"]
            .as_str()
            .is_some_and(|t| t.ends_with("+0000"))
    );
    assert!(line["flow_id"].as_u64().is_some_and(|id| id < 1 << 53));
    assert_eq!(
        find(1_000_001)["alert"]["metadata"],
        serde_json::json!({"created_at": ["2026_01_01"], "confidence": ["High"]})
    );
    let icmp = find(1_000_017);
    assert_eq!(
        (&icmp["icmp_type"], &icmp["icmp_code"]),
        (&8.into(), &0.into())
    );
    assert!(icmp.get("src_port").is_none() && icmp.get("vlan").is_none());
}

/// Alerts tell of HTTP, DNS and TLS what Suricata 7.0.10 told of the same
/// capture by the same rules (`transactions.jsonl`). It raises what a client
/// said when the server has answered, and tells of the answer with it; here the
/// alert comes first, and on an answer when its head is there. Fingerprints of
/// hellos are told here always, there where some rule asks for one.
#[test]
fn alerts_tell_of_transactions_what_suricata_tells() {
    const OF_ANSWERS: [&str; 9] = [
        "status",
        "http_content_type",
        "version",
        "subject",
        "issuerdn",
        "serial",
        "fingerprint",
        "notbefore",
        "notafter",
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration");
    let lines = run(&rules(&folder.join("transactions.rules"), 8), 1);
    let text = fs::read_to_string(folder.join("transactions.jsonl")).expect("what is told");
    let expected: Vec<Value> = (text.lines())
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    let kinds: BTreeSet<u64> = expected
        .iter()
        .filter_map(|line| line["sid"].as_u64())
        .collect();
    assert_eq!(kinds.len(), 8, "each rule has some");
    for theirs in &expected {
        let is_same = |ours: &&Value| {
            ours["alert"]["signature_id"] == theirs["sid"]
                && ["src_ip", "src_port", "dest_port", "direction", "tx_id"]
                    .iter()
                    .all(|name| ours[*name] == theirs[*name])
        };
        let ours = lines.iter().find(is_same);
        let ours = ours.unwrap_or_else(|| panic!("not raised: {theirs}"));
        assert_eq!(ours.get("tx_guessed"), theirs.get("tx_guessed"), "{theirs}");
        let name = ["http", "dns", "tls"]
            .into_iter()
            .find(|name| !theirs[*name].is_null());
        let name = name.expect("an object");
        let of = |line: &Value| line[name].as_object().cloned().unwrap_or_default();
        let (mut ours, mut theirs_too) = (of(ours), of(theirs));
        ours.retain(|field, _| !field.starts_with("ja3"));
        assert!(!ours.is_empty(), "{theirs}");
        // Suricata looks at the packet's bytes to their end first.
        let lengths = [&mut ours, &mut theirs_too].map(|object| object.remove("length"));
        let lengths = lengths.map(|length| length.and_then(|length| length.as_u64()));
        assert!(lengths[0] <= lengths[1], "{theirs}");
        if theirs["direction"] == "to_server" {
            let comes_later = |field: &str| OF_ANSWERS.contains(&field);
            theirs_too.retain(|field, _| !comes_later(field) || ours.contains_key(field));
        }
        assert_eq!(ours, theirs_too);
    }
}
