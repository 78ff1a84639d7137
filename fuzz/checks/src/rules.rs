//! Rule files.
//!
//! The promises of [`RuleSet::load`]: every rule is loaded or skipped for a
//! reason; faults name a place that exists, in one line fit for a terminal;
//! and a file's rules do not depend on what stands in front of them.

mod seeds;

use weir_inspect::{LoadReport, RuleFile, RuleSet, Variables};

pub use seeds::{WORDS, seeds};

/// Panics where a promise of the rule parser is broken.
pub fn check(input: &[u8]) {
    let (set, report) = load(input);
    check_report(input, &set, &report);
    check_neighbour(input, &report);
}

/// Loads one file with the usual variables.
pub(crate) fn load(text: &[u8]) -> (RuleSet, LoadReport) {
    let file = RuleFile {
        name: "fuzz.rules",
        text,
    };
    match RuleSet::load(&[file], &Variables::default()) {
        Ok(loaded) => loaded,
        Err(error) => panic!("a small file is too much for the engine: {error}"),
    }
}

/// Numbers add up, and places exist.
fn check_report(input: &[u8], set: &RuleSet, report: &LoadReport) {
    let skipped: u64 = report.skipped.values().sum();
    assert_eq!(report.rules(), report.loaded + skipped);
    assert_eq!(set.rules().len() as u64, report.loaded - report.superseded);
    assert!(report.faults.len() as u64 <= skipped);
    let lines: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
    for fault in &report.faults {
        assert!((1..=lines.len()).contains(&fault.line), "{fault}");
        let line = lines[fault.line - 1];
        assert!((1..=line.len() + 1).contains(&fault.column), "{fault}");
        let message = fault.to_string();
        assert!(message.starts_with("fuzz.rules:"));
        assert!(!message.contains(char::is_control), "{message:?}");
    }
    for rule in set.rules() {
        assert!((rule.packet.payload_bytes).is_none_or(|bytes| bytes.least <= bytes.most));
        assert!(rule.description.priority > 0);
    }
}

/// One more rule in a line of its own, in front of all others.
const NEIGHBOUR: &[u8] = b"alert icmp any any -> any any (gid:4242; sid:4242424; rev:1;)\n";

/// A rule in front loads, whatever follows, and moves the others by one line.
fn check_neighbour(input: &[u8], alone: &LoadReport) {
    let (_, report) = load(&[NEIGHBOUR, input].concat());
    assert_eq!(report.loaded, alone.loaded + 1);
    assert_eq!(report.skipped, alone.skipped);
    assert_eq!(report.faults.len(), alone.faults.len());
    for (moved, fault) in report.faults.iter().zip(&alone.faults) {
        assert_eq!(moved.line, fault.line + 1);
        assert_eq!(moved.column, fault.column);
        assert_eq!((&moved.word, &moved.kind), (&fault.word, &fault.kind));
    }
}
