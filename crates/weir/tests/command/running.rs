//! Signals, while a run waits for more packets.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use rustix::process::Signal;
use serde_json::Value;

use crate::captures::packets;
use crate::inspect::{alerts, expected};
use crate::processes::{Beside, Folder, example, example_name, json_file, json_lines, until};

/// A gateway that reads from a pipe.
struct Live {
    folder: Folder,
    running: Beside,
    feed: File,
    traffic: Vec<u8>,
}

impl Live {
    fn start(shards: &str) -> Live {
        let folder = Folder::new();
        let pipe = folder.pipe("in");
        let rules = std::fs::read(example("example.rules")).expect("read");
        let (rules, sa) = (folder.write("my.rules", rules), example_name("sa.toml"));
        let config = folder.write(
            "weir.toml",
            format!(
                r#"
                [input]
                pcap = ["in"]
                [pipeline]
                stages = ["inspect", "measure", "protect"]
                [output]
                pcap = "out.pcapng"
                [inspect]
                rules = [{rules:?}]
                set = {{ HOME_NET = "[198.18.2.0/24,fd00:2::/64]" }}
                alerts = "alerts.jsonl"
                [measure]
                [ipsec]
                sa = {sa:?}
                [report]
                json = "report.json"
                "#
            ),
        );
        let running = Beside::start(["run", &config, "--quiet", "--shards", shards]);
        Live {
            folder,
            running,
            feed: File::create(pipe).expect("the writing end"),
            traffic: std::fs::read(example("traffic.pcapng")).expect("read"),
        }
    }

    fn lines(&self, name: &str) -> Vec<Value> {
        json_lines(&std::fs::read(self.folder.path(name)).unwrap_or_default())
    }

    /// Waits until a log has so many lines.
    fn until_lines(&self, name: &str, count: usize) {
        until(|| (self.lines(name).len() >= count).then_some(()));
    }
}

#[test]
fn an_interrupted_run_is_whole_and_says_so() {
    for (shards, signal) in [("1", Signal::INT), ("2", Signal::TERM)] {
        let mut live = Live::start(shards);
        live.feed.write_all(&live.traffic).expect("fed");
        // All alerts are on disk, although more packets may come.
        live.until_lines("alerts.jsonl", expected().len());
        live.running.signal(signal);
        let Live {
            folder,
            running,
            feed,
            ..
        } = live;
        let said = running.wait().done();
        drop(feed);
        assert_eq!(said.stderr, "");
        let report = json_file(&folder.path("report.json"));
        assert_eq!(report["interrupted"], true);
        assert_eq!(report["truncated"], false);
        assert_eq!(report["packets"], 3564);
        assert_eq!(report["protected"], 2973);
        assert_eq!(packets(folder.path("out.pcapng")).len(), 3564);
        let lines = json_lines(&std::fs::read(folder.path("alerts.jsonl")).expect("read"));
        assert_eq!(alerts(&lines), expected());
        let names = [
            "alerts.jsonl",
            "in",
            "my.rules",
            "out.pcapng",
            "report.json",
            "weir.toml",
        ];
        assert_eq!(folder.names(), names);
    }
}

#[test]
fn a_log_that_was_moved_away_is_opened_again() {
    for shards in ["1", "2"] {
        let mut live = Live::start(shards);
        // Some of the alerts belong to the first part, most to the second.
        let (first, second) = live.traffic.split_at(600_000);
        live.feed.write_all(first).expect("fed");
        live.until_lines("alerts.jsonl", 1);
        let (log, old) = (
            live.folder.path("alerts.jsonl"),
            live.folder.path("alerts.1"),
        );
        std::fs::rename(&log, &old).expect("renamed");
        live.running.signal(Signal::HUP);
        until(|| log.exists().then_some(()));
        live.feed.write_all(second).expect("fed");
        drop(live.feed);
        live.running.wait().done();
        let lines = |path| json_lines(&std::fs::read(path).expect("read"));
        let (old, new) = (lines(old), lines(log));
        assert!(!old.is_empty() && !new.is_empty());
        assert_eq!(alerts(&[old, new].concat()), expected());
        let report = json_file(&live.folder.path("report.json"));
        assert_eq!(report["interrupted"], false);
    }
}

#[test]
fn rules_are_loaded_again_while_packets_run() {
    const ADDED: u32 = 9_999_999;
    for shards in ["1", "2"] {
        let mut live = Live::start(shards);
        let (first, second) = live.traffic.split_at(600_000);
        live.feed.write_all(first).expect("fed");
        live.until_lines("alerts.jsonl", 1);
        let mut told = BufReader::new(live.running.child().stderr.take().expect("a pipe"));
        let mut line = String::new();

        // Rules that make no sense change nothing.
        let rules = std::fs::read_to_string(live.folder.path("my.rules")).expect("read");
        live.folder.write("my.rules", "alert nonsense\n");
        live.running.signal(Signal::USR2);
        told.read_line(&mut line).expect("a line");
        assert!(line.contains("the rules stay as they are"), "{line}");

        let added = format!("alert ip any any -> any any (msg:\"added\"; sid:{ADDED};)\n");
        live.folder.write("my.rules", format!("{added}{rules}"));
        live.running.signal(Signal::USR2);
        line.clear();
        told.read_line(&mut line).expect("a line");
        assert!(line.contains("rules were loaded again"), "{line}");

        live.feed.write_all(second).expect("fed");
        let folder = live.folder;
        drop(live.feed);
        live.running.wait().done();
        let lines = json_lines(&std::fs::read(folder.path("alerts.jsonl")).expect("read"));
        let (of_added, of_others): (Vec<Value>, Vec<Value>) =
            (alerts(&lines).into_iter()).partition(|alert| alert["sid"] == ADDED);
        assert_eq!(of_others, expected());
        let report = json_file(&folder.path("report.json"));
        let packets = report["packets"].as_u64().expect("a number") as usize;
        assert!((1000..packets).contains(&of_added.len()));
        let counted = report["alerts_by_rule"].as_array().expect("a list");
        let counted = counted.iter().find(|row| row["signature_id"] == ADDED);
        assert_eq!(counted.expect("a row")["alerts"], of_added.len());
    }
}
