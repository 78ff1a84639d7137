//! Signals and failures, while a run waits for more packets.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};

use rustix::process::Signal;
use serde_json::Value;

use crate::captures::packets;
use crate::inspect::{alerts, expected};
use crate::processes::{
    Beside, Folder, beside, example, example_both_ways, example_name, json_file, json_lines, until,
    weir,
};

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
        let (rules, sa) = (
            folder.write("my.rules", rules),
            example_name("gateway-sa.toml"),
        );
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
        let running = beside(["run", &config, "--quiet", "--shards", shards]);
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
        assert_eq!(said.messages().count(), 0, "{}", said.stderr);
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
        told.read_line(&mut line).expect("a line");
        assert!(line.contains("nonces repeat"), "{line}");
        line.clear();

        // Rules that make no sense change nothing.
        let rules = std::fs::read_to_string(live.folder.path("my.rules")).expect("read");
        live.folder.write("my.rules", "alert nonsense\n");
        live.running.signal(Signal::USR2);
        told.read_line(&mut line).expect("a line");
        assert!(line.contains("the configuration stays as it is"), "{line}");

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

/// Nothing is there to be reopened or reloaded.
#[test]
fn hup_and_usr2_end_no_command() {
    let folder = Folder::new();
    let (traffic, sa) = (example_name("traffic.pcapng"), example_name("sa.toml"));
    let gateway_sa = example_name("gateway-sa.toml");
    let rules = example_name("example.rules");
    let protected = folder.name("protected.pcapng");
    weir(["protect", &traffic, &protected, "--sa", &sa, "-q"]).done();
    let (pipe, out) = (folder.pipe("in"), folder.name("out.pcapng"));
    let config = folder.write(
        "weir.toml",
        format!(
            "[input]\npcap = [\"in\"]\n[pipeline]\nstages = [\"protect\"]\n\
             [output]\npcap = \"out.pcapng\"\n[ipsec]\nsa = {gateway_sa:?}\n"
        ),
    );
    let commands: [&[&str]; 5] = [
        &["run", &config, "-q"],
        &["protect", &pipe, &out, "--sa", &sa, "-q"],
        &["unprotect", &pipe, &out, "--sa", &sa, "-q"],
        &["inspect", &pipe, "--rules", &rules, "-q"],
        &["measure", &pipe, "-q"],
    ];
    for command in commands {
        let input = match command[0] {
            "unprotect" => &protected,
            _ => &traffic,
        };
        let input = std::fs::read(input).expect("read");
        let (first, second) = input.split_at(input.len() / 2);
        let mut running = beside(command);
        let mut feed = File::create(&pipe).expect("the writing end");
        feed.write_all(first).expect("fed");
        running.signal(Signal::HUP);
        running.signal(Signal::USR2);
        feed.write_all(second).expect("fed");
        drop(feed);
        running.wait().done();
    }

    let target = folder.pipe("generated.pcap");
    let mut running = beside(["generate", &target, "--packets", "5000", "-q"]);
    let mut taken = File::open(&target).expect("the reading end");
    taken.read_exact(&mut [0]).expect("a byte");
    running.signal(Signal::HUP);
    running.signal(Signal::USR2);
    std::io::copy(&mut taken, &mut std::io::sink()).expect("read");
    running.wait().done();
}

/// The other direction waits at a pipe that stays open.
#[test]
fn a_direction_that_fails_stops_the_other_one() {
    for shards in ["1", "3"] {
        let folder = Folder::new();
        let traffic = example_name("traffic.pcapng");
        let (remote, sa) = example_both_ways(&folder);
        let protected = folder.name("protected.pcapng");
        weir(["protect", &traffic, &protected, "--sa", &remote, "-q"]).done();
        let pipe = folder.pipe("in");
        let config = folder.write(
            "both.toml",
            format!(
                r#"
                [[port]]
                name = "lan"
                kind = "pcap"
                side = "plain"
                read = [{traffic:?}]
                write = "lan.pcapng"
                [[port]]
                name = "wan"
                kind = "pcap"
                side = "cipher"
                read = ["in"]
                write = "/dev/full"
                [pipeline.outbound]
                from = "lan"
                to = "wan"
                stages = ["protect"]
                [pipeline.inbound]
                from = "wan"
                to = "lan"
                stages = ["unprotect"]
                [ipsec]
                sa = {sa:?}
                "#
            ),
        );
        let mut running = beside(["run", &config, "-q", "--shards", shards]);
        let mut feed = File::create(&pipe).expect("the writing end");
        let input = std::fs::read(&protected).expect("read");
        // As much as a pipe takes before anybody reads.
        feed.write_all(&input[..50_000]).expect("fed");
        until(|| running.child().try_wait().expect("asked"));
        drop(feed);
        running.wait().failed(1, &["/dev/full", "No space left"]);
        // What the other direction did until then is whole.
        packets(folder.path("lan.pcapng"));
        let names = [
            "both-sa.toml",
            "both.toml",
            "in",
            "lan.pcapng",
            "protected.pcapng",
            "remote-sa.toml",
        ];
        assert_eq!(folder.names(), names);
    }
}
