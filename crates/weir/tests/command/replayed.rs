//! A capture that is replayed at its own times gives at an interface what it gives as a file: the
//! same alerts, and the same sums over all intervals.

use std::collections::BTreeMap;

use rustix::process::Signal;
use serde_json::Value;
use weir_netlab::{Cable, inside};
use weir_processes::{Beside, Folder, json_file, json_lines};

use crate::inspect::expected;
use crate::live::{run, start, until_received, until_up, widen};
use crate::processes::{example_name, weir};

const PACKETS: u64 = 3564;

#[test]
fn a_sensor_of_one_worker_sees_what_is_in_the_file() {
    compare("1");
}

/// Flows of one pair of hosts come by both queues, and are handed over.
#[test]
fn a_sensor_of_two_workers_sees_what_is_in_the_file() {
    compare("2");
}

/// `weir run`, `weir inspect` and `weir measure` see one replay, side by side.
fn compare(workers: &str) {
    inside(Cable::default(), |namespace| {
        widen(namespace, &["a", "b"]);
        let file = OfFile::read();
        let live = Folder::new();
        let sockets = ["run", "inspect", "measure"].map(|name| live.name(&format!("{name}.sock")));
        let port = "[[port]]\nname = \"lan\"\nkind = \"interface\"\nside = \"plain\"\n\
                    interface = \"b\"\n[pipeline.sensor]\nfrom = \"lan\"";
        let config = config(&live, port);
        let commands = [
            words(&["run", &config]),
            inspect(&live, &["-i", "b"]),
            measure(&live, &["-i", "b"]),
        ];
        let mut running: Vec<Beside> = Vec::new();
        for (socket, command) in sockets.iter().zip(commands) {
            let control = format!("--control={socket}");
            let more = words(&["--quiet", "--workers", workers, &control]);
            let arguments = [command, more].concat();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            running.push(start(namespace, &arguments));
            until_up(socket, workers.parse().expect("a number"));
        }
        let traffic = example_name("traffic.pcapng");
        run(namespace, &["replay", &traffic, "-i", "a", "-q"]).done();
        for socket in &sockets {
            until_received(socket, PACKETS);
        }
        for mut running in running {
            running.signal(Signal::INT);
            running.wait().done();
        }
        for name in ["run.json", "inspect.json", "measure.json"] {
            let document = json_file(&live.path(name));
            assert_eq!(document["packets"], PACKETS, "{name}");
            assert_eq!(document["missed"], 0, "{name}");
        }
        let report = json_file(&live.path("run.json"));
        assert_eq!(report["drops"], serde_json::json!({}));
        assert_eq!(report["lost_events"], 0);
        assert_eq!(report["interrupted"], true);
        file.require_equal(&live);
    });
}

/// What the same commands make of the file.
struct OfFile(Folder);

impl OfFile {
    fn read() -> OfFile {
        let folder = Folder::new();
        let traffic = example_name("traffic.pcapng");
        let config = config(&folder, &format!("[input]\npcap = {traffic:?}\n[pipeline]"));
        weir(["run", &config, "--quiet"]).done();
        weir(inspect(&folder, &[&traffic, "--quiet"])).done();
        weir(measure(&folder, &[&traffic, "--quiet"])).done();
        OfFile(folder)
    }

    fn require_equal(&self, live: &Folder) {
        for name in ["run-alerts.jsonl", "inspect-alerts.jsonl"] {
            let (of_file, of_live) = (alerts(&self.0, name), alerts(live, name));
            assert_eq!(of_file.len(), expected().len(), "{name}");
            assert_eq!(of_live, of_file, "{name}");
        }
        for (name, members) in [
            ("run.json", &["wire_bytes", "alerts", "alerts_by_rule"][..]),
            ("inspect.json", &["wire_bytes", "alerts", "rules_loaded"]),
            ("measure.json", &["packets", "bytes", "wire_bytes"]),
        ] {
            let documents = [&self.0, live].map(|folder| json_file(&folder.path(name)));
            for member in members {
                let values = documents.each_ref().map(|document| &document[*member]);
                assert!(!values[0].is_null(), "{name}: {member}");
                assert_eq!(values[0], values[1], "{name}: {member}");
            }
        }
        let of_runs = [&self.0, live].map(|folder| {
            Sums::of(&json_lines(
                &std::fs::read(folder.path("intervals.jsonl")).expect("read"),
            ))
        });
        let of_measures = [&self.0, live].map(|folder| {
            let document = json_file(&folder.path("measure.json"));
            Sums::of(document["intervals"].as_array().expect("a list"))
        });
        for [of_file, of_live] in [of_runs, of_measures] {
            assert!(of_file.intervals > 1 && of_live.intervals > 1);
            assert_eq!(of_file.packets, PACKETS);
            assert_eq!(of_live.packets, of_file.packets);
            assert_eq!(of_live.wire_bytes, of_file.wire_bytes);
            assert_eq!(of_live.unkeyed, of_file.unkeyed);
            assert!(of_file.by_key.len() > 10, "{:?}", of_file.by_key);
            assert_eq!(of_live.by_key, of_file.by_key);
        }
    }
}

/// A configuration that inspects and measures what comes from `input`.
fn config(folder: &Folder, input: &str) -> String {
    let rules = example_name("example.rules");
    let text = format!(
        r#"
        {input}
        stages = ["inspect", "measure"]
        [inspect]
        rules = [{rules:?}]
        set = {{ HOME_NET = "[198.18.2.0/24,fd00:2::/64]" }}
        alerts = "run-alerts.jsonl"
        [measure]
        key = "pair"
        interval = 1
        top = 10000
        exact = true
        json_lines = "intervals.jsonl"
        [report]
        json = "run.json"
        "#
    );
    folder.write("weir.toml", text)
}

fn inspect(folder: &Folder, input: &[&str]) -> Vec<String> {
    let (rules, eve, json) = (
        example_name("example.rules"),
        folder.name("inspect-alerts.jsonl"),
        folder.name("inspect.json"),
    );
    let home = "HOME_NET=[198.18.2.0/24,fd00:2::/64]";
    let outputs = [
        "--rules", &rules, "--set", home, "--eve", &eve, "--json", &json,
    ];
    words(&[&["inspect"], input, &outputs].concat())
}

fn measure(folder: &Folder, input: &[&str]) -> Vec<String> {
    let json = folder.name("measure.json");
    let options = [
        "--key",
        "5-tuple",
        "--interval",
        "0.5",
        "--top",
        "10000",
        "--exact",
        "--json",
        &json,
    ];
    words(&[&["measure"], input, &options].concat())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The alerts of a log without what tells when and where they were raised, in an order of their own.
fn alerts(folder: &Folder, name: &str) -> Vec<String> {
    let lines = json_lines(&std::fs::read(folder.path(name)).expect("read"));
    let mut alerts = Vec::new();
    for mut line in lines {
        if line["event_type"] != "alert" {
            continue;
        }
        let members = line.as_object_mut().expect("an object");
        // A connection is identified by its start, too.
        for of_place in ["timestamp", "flow_id", "pcap_cnt", "in_iface"] {
            members.remove(of_place);
        }
        if let Some(flow) = members.get_mut("flow").and_then(Value::as_object_mut) {
            flow.remove("start");
        }
        alerts.push(line.to_string());
    }
    alerts.sort();
    alerts
}

/// The sums of all intervals.
#[derive(Default)]
struct Sums {
    intervals: usize,
    packets: u64,
    wire_bytes: u64,
    unkeyed: u64,
    by_key: BTreeMap<String, u64>,
}

impl Sums {
    fn of(intervals: &[Value]) -> Sums {
        let mut sums = Sums {
            intervals: intervals.len(),
            ..Sums::default()
        };
        let count = |value: &Value| value.as_u64().expect("a count");
        for interval in intervals {
            sums.packets += count(&interval["packets"]);
            sums.wire_bytes += count(&interval["wire_bytes"]);
            sums.unkeyed += count(&interval["unkeyed"]);
            for row in interval["top"].as_array().expect("a list") {
                let key = row["key"].as_str().expect("a key").to_owned();
                *sums.by_key.entry(key).or_default() += count(&row["exact"]);
            }
        }
        sums
    }
}
