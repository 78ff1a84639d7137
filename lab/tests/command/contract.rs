//! What `weir-lab` promises, as all programs do: exit statuses, one line per error, JSON where it is
//! asked for, silence where that is asked for.

use std::fs::OpenOptions;
use std::process::Stdio;

use weir_processes::{Folder, Said, json_file};

use crate::{command, lab};

/// Every verb, with arguments that take no time to speak of.
const CALLS: [&[&str]; 9] = [
    &["list"],
    &["schedule", "aes-core"],
    &["run", "aes", "--set", "work.packets=4"],
    &[
        "sweep",
        "aes",
        "--set",
        "work.packets=4",
        "--over",
        "clusters=4,8",
    ],
    &["cost"],
    &["lengths", "../examples/traffic.pcapng"],
    &["experiment", "several-headers"],
    &["reproduce", "--short", "imagine-092"],
    &[
        "sensitivity",
        "microcode.start_cycles",
        "--row",
        "imagine-055",
    ],
];

fn with(call: &[&str], more: &[&str]) -> Said {
    lab([call, more].concat())
}

#[test]
fn every_verb_ends_with_0_and_is_quiet_when_told() {
    for call in CALLS {
        let said = with(call, &["--quiet"]).done();
        assert!(said.stdout.is_empty() && said.stderr.is_empty(), "{call:?}");
        assert!(!with(call, &[]).done().stdout.is_empty(), "{call:?}");
    }
}

#[test]
fn every_verb_writes_one_document() {
    let folder = Folder::new();
    let json = folder.name("rows.json");
    for call in CALLS {
        with(call, &["--json", &json]).done();
        let document = with(call, &["--json", "-"]).done().json();
        assert_eq!(json_file(json.as_ref()), document, "{call:?}");
        assert_eq!(document["schema"], "weir-lab");
        assert_eq!(document["version"], 2);
        assert_eq!(document["command"], "lab");
        assert_eq!(document["weir_version"], env!("CARGO_PKG_VERSION"));
        assert!(document["rows"].is_array(), "{call:?}");
    }
    assert_eq!(folder.names(), ["rows.json"]);
}

#[test]
fn wrong_command_lines_end_with_2_and_one_line() {
    lab(["nonsense"]).failed(2, &["weir-lab: ", "nonsense", "--help"]);
    lab::<&str>([]).failed(2, &["no command", "--help"]);
    lab(["lisst"]).failed(2, &["list"]);
    for call in CALLS {
        with(call, &["--nonsense"]).failed(2, &["--nonsense", "--help"]);
        with(call, &["--json"]).failed(2, &["--json"]);
        with(call, &["--json", "nowhere/rows.json"]).failed(2, &["nowhere", "create it first"]);
        with(call, &["--json", "-", "--parquet", "-"]).failed(2, &["two outputs"]);
    }
    lab(["lengths", "not there"]).failed(2, &["not there", "No such file"]);
    let said = lab(["run", "des", "--log-format", "json"]);
    assert_eq!(said.status, Some(2));
    let line: serde_json::Value = serde_json::from_str(&said.stderr).expect("one line of JSON");
    assert_eq!(line["level"], "error");
}

#[test]
fn help_completions_and_pages_name_every_command() {
    let help = lab(["--help"]).done();
    let version = lab(["--version"]).done();
    let expected = format!("weir-lab {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(version.text(), expected);
    let folder = Folder::new();
    lab(["man", &folder.name("pages")]).failed(2, &["pages", "does not exist"]);
    lab(["man", &folder.name("")]).done();
    let completions = lab(["completions", "bash"]).done();
    for verb in CALLS.map(|call| call[0]) {
        assert!(help.text().contains(&format!("\n  {verb} ")), "{verb}");
        assert!(completions.text().contains(verb), "{verb}");
        let usage = lab([verb, "--help"]).done();
        assert!(usage.text().contains("Usage: weir-lab "), "{verb}");
        let page = std::fs::read_to_string(folder.path(&format!("weir-lab-{verb}.1")));
        assert!(page.expect("a page").contains(".SH SYNOPSIS"), "{verb}");
    }
    assert!(folder.path("weir-lab.1").is_file());
}

#[test]
fn outputs_that_close_or_are_full_are_told_apart() {
    let mut closed = command(["list"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(closed.stdout.take());
    let said = Said::of(closed).done();
    assert_eq!(said.stderr, "");
    let full = OpenOptions::new().write(true).open("/dev/full");
    let child = command(["list"])
        .stdout(full.expect("a device"))
        .stderr(Stdio::piped())
        .spawn();
    let said = Said::of(child.expect("the program starts"));
    said.failed(1, &["standard output", "No space left"]);
}
