//! The example rules over the example capture raise exactly the alerts that
//! are expected of them, on one shard or several.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use weir_inspect::{EveWriter, InspectStage, RuleFile, RuleSet, Variables};
use weir_packet::file::Reader;
use weir_stream::{CaptureSource, Pipeline, Stage};

fn example(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../examples", name]
        .iter()
        .collect()
}

fn rules() -> Arc<RuleSet> {
    let text = fs::read(example("example.rules")).expect("the example rules");
    let mut variables = Variables::default();
    variables
        .define("HOME_NET=[198.18.2.0/24,fd00:2::/64]")
        .expect("a definition");
    let file = RuleFile {
        name: "example.rules",
        text: &text,
    };
    let (rules, report) = RuleSet::load(&[file], &variables).expect("an engine");
    assert_eq!((report.loaded, report.rules()), (20, 20));
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
fn run(shards: usize) -> Vec<Value> {
    let rules = rules();
    let output = Shared::default();
    let reader = Reader::open(&example("traffic.pcapng")).expect("the example capture");
    let stages = (0..shards).map(|_| {
        let stage: Box<dyn Stage> = Box::new(InspectStage::new(Arc::clone(&rules)));
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
    for shards in [1, 2, 3] {
        let lines = run(shards);
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
    let lines = run(1);
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
