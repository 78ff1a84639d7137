//! `weir run` and `weir check` on configurations.

use serde_json::{Value, json};

use crate::captures::packets;
use crate::inspect::{alerts, expected};
use crate::processes::{
    Folder, example_both_ways, example_name, json_file, json_lines, weir, weir_fed,
};

/// The gateway of the examples with its outputs in a folder of the test.
pub fn gateway(folder: &Folder) -> String {
    let text = std::fs::read_to_string(example_name("gateway.toml")).expect("read");
    let mut text = text.replace("../out/", "out/");
    text = text.replace("[inspect]\n", "[inspect]\nprometheus = \"out/weir.prom\"\n");
    for name in ["traffic.pcapng", "example.rules", "gateway-sa.toml"] {
        let quoted = format!("{name:?}");
        assert!(text.contains(&quoted), "{name}");
        text = text.replace(&quoted, &format!("{:?}", example_name(name)));
    }
    std::fs::create_dir_all(folder.path("out")).expect("a folder");
    folder.write("gateway.toml", text)
}

/// The alerts that the gateway raises: those that are expected, but for the
/// packets that its firewall takes out first.
fn expected_behind_the_filter() -> Vec<Value> {
    let mut alerts = expected();
    let count = alerts.len();
    alerts.retain(|alert| alert["dest_port"] != 23);
    assert_eq!(alerts.len(), count - 3, "a scan touches telnet three times");
    alerts
}

fn sum(drops: &Value) -> u64 {
    let drops = drops.as_object().expect("drops by reason");
    drops.values().filter_map(Value::as_u64).sum()
}

#[test]
fn the_gateway_of_the_examples_does_all_its_work() {
    for shards in ["1", "2"] {
        let folder = Folder::new();
        let config = gateway(&folder);
        let said = weir(["run", &config, "--shards", shards]).done();
        // What a person reads.
        for word in [
            "no telnet",
            "EXAMPLE",
            "associations",
            "throughput",
            "latency",
            "198.18.",
        ] {
            assert!(
                said.text().contains(word),
                "{word:?} is not in {}",
                said.text()
            );
        }

        let report = json_file(&folder.path("out/report.json"));
        let count = |field: &str| report[field].as_u64().expect("a number");
        assert_eq!(count("packets"), 3564);
        assert_eq!(count("packets"), count("forwarded") + sum(&report["drops"]));
        assert_eq!(report["alerts"], expected_behind_the_filter().len());
        assert!(count("bytes") > 0);
        let searched = report["rule_groups"].as_array().expect("groups");
        assert!(
            searched
                .iter()
                .any(|group| group["bytes"].as_u64() > Some(0))
        );
        assert!(report["false_candidates_by_stage"]["filter"].is_u64());
        let metrics = std::fs::read_to_string(folder.path("out/weir.prom")).expect("metrics");
        let raised = format!("weir_inspect_alerts_total {}\n", report["alerts"]);
        assert!(metrics.contains(&raised), "{raised} is not in {metrics}");
        // What the firewall takes, nobody else sees.
        let denied = report["drops"].get("filter_denied").and_then(Value::as_u64);
        let denied = denied.unwrap_or(0);
        assert_eq!(count("protected") + count("bypassed") + denied, 3564);
        let telnet = json!({"rule": "no telnet", "packets": denied});
        assert_eq!(report["filter"][0]["rule"], telnet["rule"]);
        assert_eq!(report["filter"][0]["packets"], telnet["packets"]);
        assert_eq!(count("unprotected"), 0);
        assert!(
            report["seconds"]
                .as_f64()
                .is_some_and(|seconds| seconds > 0.0)
        );
        assert!(
            report["gbit_per_s"]
                .as_f64()
                .is_some_and(|speed| speed > 0.0)
        );
        assert!(report["latency_ns"]["p50"].as_u64() <= report["latency_ns"]["p99"].as_u64());
        assert!(report["alarms"].is_array());
        assert_eq!(report["top"].as_array().expect("top").len(), 5);
        assert_eq!(
            report["associations"]
                .as_array()
                .expect("associations")
                .len(),
            7
        );
        assert_eq!(report["truncated"], false);
        assert_eq!(report["interrupted"], false);

        let lines = json_lines(&std::fs::read(folder.path("out/alerts.jsonl")).expect("read"));
        assert_eq!(alerts(&lines), expected_behind_the_filter());
        let written = packets(folder.path("out/protected.pcapng"));
        assert_eq!(written.len() as u64, count("forwarded"));
        let esp = written
            .iter()
            .filter(|packet| packet.esp().is_some())
            .count();
        assert_eq!(esp as u64, count("protected"));
        assert_eq!(folder.names(), ["gateway.toml", "out"]);
    }
}

#[test]
fn alerts_are_appended_and_documents_replaced() {
    let folder = Folder::new();
    let config = gateway(&folder);
    let json = folder.name("out/report.json");
    weir(["run", &config, "--quiet"]).done();
    // The place of the report may be named twice.
    weir(["run", &config, "--quiet", "--json", &json]).done();
    let lines = json_lines(&std::fs::read(folder.path("out/alerts.jsonl")).expect("read"));
    assert_eq!(lines.len(), 2 * expected_behind_the_filter().len());
    assert_eq!(json_file(&folder.path("out/report.json"))["packets"], 3564);
}

/// A capture with sources that are planted from second 4 and from second 6 on, two
/// seconds each, and the gateway of the examples over it and its own traffic, with
/// `more` about what is measured.
fn gateway_with_changes(folder: &Folder, more: &str) -> String {
    let capture = folder.name("planted.pcap");
    let traffic = "--packets 40000 --rate 4000 --flows 2000 --sizes fixed:120 --quiet";
    let surges = ["--surge", "4,2,900,600", "--surge", "6,2,900,600"];
    let call = ["generate", &capture].into_iter().chain(traffic.split(' '));
    weir(call.chain(surges)).done();
    let config = gateway(folder);
    let text = std::fs::read_to_string(&config).expect("read");
    let own = format!("{:?}", example_name("traffic.pcapng"));
    let text = text.replace(&own, &format!("\"planted.pcap\", {own}"));
    let search =
        format!("[measure]\ninterval = 2\nchange = {{ model = \"ma:1\" }}\nseed = 1\n{more}");
    folder.write("changes.toml", text.replace("[measure]\n", &search))
}

/// The alarms of the report are lines among the alerts, in its order, the same with
/// one shard and two; of the planted sources each line says what and when.
#[test]
fn alarms_are_lines_of_the_event_log() {
    let mut of_one_shard = None;
    for shards in ["1", "2"] {
        let folder = Folder::new();
        let config = gateway_with_changes(&folder, "");
        weir(["run", &config, "--shards", shards, "-q"]).done();
        let report = json_file(&folder.path("out/report.json"));
        let lines = json_lines(&std::fs::read(folder.path("out/alerts.jsonl")).expect("read"));
        assert_eq!(alerts(&lines).len(), expected_behind_the_filter().len());
        let alarms: Vec<&Value> = (lines.iter())
            .filter(|line| line["event_type"] == "alarm")
            .collect();
        let objects: Vec<&Value> = alarms.iter().map(|line| &line["alarm"]).collect();
        let reported = report["alarms"].as_array().expect("alarms");
        assert_eq!(objects, reported.iter().collect::<Vec<_>>());

        for (source, start) in [("203.0.113.1", "01:46:44"), ("203.0.113.2", "01:46:46")] {
            let of_source = alarms.iter().find(|line| line["src_ip"] == source);
            let line = of_source.unwrap_or_else(|| panic!("{source}: {alarms:?}"));
            let alarm = &line["alarm"];
            assert_eq!(alarm["key"], source);
            assert_eq!(alarm["unit"], "bytes");
            assert!(
                alarm["start"]
                    .as_str()
                    .is_some_and(|text| text.contains(start)),
                "{line}"
            );
            assert_eq!(alarm["seconds"], 2.0);
            assert_eq!(alarm["since"], alarm["start"]);
            assert_eq!(alarm["sources"][0]["source"], source);
            assert!(alarm["observed"].as_f64() > Some(900_000.0), "{line}");
            assert!(alarm["forecast"].as_f64() < Some(100_000.0), "{line}");
            assert!(
                alarm["score"].as_f64() > alarm["threshold"].as_f64(),
                "{line}"
            );
            assert!(line.get("dest_ip").is_none() && line.get("pcap_cnt").is_none());
        }
        let alarms: Vec<Value> = alarms.into_iter().cloned().collect();
        assert_eq!(alarms, *of_one_shard.get_or_insert(alarms.clone()));
    }
}

#[test]
fn alarms_go_to_a_file_of_their_own_where_one_is_named() {
    let folder = Folder::new();
    let config = gateway_with_changes(&folder, "alarms = \"out/alarms.jsonl\"\n");
    weir(["run", &config, "-q"]).done();
    let report = json_file(&folder.path("out/report.json"));
    for (name, field, count) in [
        ("out/alerts.jsonl", "alert", report["alerts"].as_u64()),
        (
            "out/alarms.jsonl",
            "alarm",
            report["alarms"]
                .as_array()
                .map(|alarms| alarms.len() as u64),
        ),
    ] {
        let lines = json_lines(&std::fs::read(folder.path(name)).expect("read"));
        assert_eq!(Some(lines.len() as u64), count, "{name}");
        assert!(count > Some(0), "{name}");
        assert!(
            lines.iter().all(|line| line["event_type"] == field),
            "{name}"
        );
    }
    let config = gateway_with_changes(&folder, "alarms = \"out/alerts.jsonl\"\n");
    weir(["run", &config, "-q"]).failed(2, &["alerts.jsonl"]);
}

#[test]
fn both_directions_run_side_by_side() {
    let folder = Folder::new();
    let traffic = example_name("traffic.pcapng");
    let (remote, sa) = example_both_ways(&folder);
    let protected = folder.name("protected.pcapng");
    weir(["protect", &traffic, &protected, "--sa", &remote, "-q"]).done();
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
            read = [{protected:?}]
            write = "wan.pcapng"
            [pipeline.outbound]
            from = "lan"
            to = "wan"
            stages = ["measure", "protect"]
            [pipeline.inbound]
            from = "wan"
            to = "lan"
            stages = ["unprotect", "measure"]
            [measure]
            exact = true
            seed = 1
            [ipsec]
            sa = {sa:?}
            "#
        ),
    );
    for shards in ["1", "2"] {
        let said = weir(["run", &config, "--shards", shards, "--json", "-", "-q"]).done();
        let report = said.json();
        assert_eq!(report["packets"], 2 * 3564);
        assert_eq!(report["protected"], 2973);
        assert_eq!(report["unprotected"], 2973);
        assert_eq!(report["bypassed"], 2 * 591);
        assert_eq!(report["drops"], json!({}));
        // Both ends of the tunnel measure the same packets inside.
        let intervals = report["intervals"].as_array().expect("intervals");
        let [inbound, outbound] = &intervals[..] else {
            panic!("one interval for each direction");
        };
        assert_eq!(inbound["packets"], outbound["packets"]);
        assert_eq!(inbound["distinct"], outbound["distinct"]);
        let plain = |name: &str| {
            let mut packets: Vec<_> = packets(folder.path(name))
                .iter()
                .map(|packet| packet.without_padding())
                .collect();
            packets.sort();
            packets
        };
        let mut original: Vec<_> = packets(&traffic)
            .iter()
            .map(|p| p.without_padding())
            .collect();
        original.sort();
        assert_eq!(plain("lan.pcapng"), original);
        assert_eq!(packets(folder.path("wan.pcapng")).len(), 3564);
    }
}

/// A gateway must not open what it sealed.
#[test]
fn associations_of_a_gateway_have_a_direction() {
    let folder = Folder::new();
    let (traffic, sa) = (example_name("traffic.pcapng"), example_name("sa.toml"));
    let config = folder.write(
        "weir.toml",
        format!(
            "[input]\npcap = [{traffic:?}]\n[pipeline]\nstages = [\"protect\"]\n\
             [ipsec]\nsa = {sa:?}\n"
        ),
    );
    for command in ["check", "run"] {
        weir([command, &config, "-q"]).failed(2, &["\"a-to-b\"", "direction: missing"]);
    }
}

/// The first key of the example.
const KEY: &str = "17c29ba23bb9d221730bf93a1f25f8228cabaf51";

/// A pipe gives its contents once.
#[test]
fn a_key_comes_through_a_pipe() {
    let folder = Folder::new();
    let traffic = example_name("traffic.pcapng");
    let sa = std::fs::read_to_string(example_name("gateway-sa.toml")).expect("read");
    let inline = format!("key = \"{KEY}\"");
    assert!(sa.contains(&inline));
    folder.write("sa.toml", sa.replace(&inline, "key_fd = 0"));
    let config = folder.write(
        "weir.toml",
        format!(
            "[input]\npcap = [{traffic:?}]\n[pipeline]\nstages = [\"protect\"]\n\
             [ipsec]\nsa = \"sa.toml\"\n"
        ),
    );
    for command in ["check", "run"] {
        let said = weir_fed([command, &config, "-q"], KEY.as_bytes());
        said.done();
    }
}

#[test]
fn no_output_replaces_a_key_file() {
    let folder = Folder::new();
    let traffic = example_name("traffic.pcapng");
    let sa = std::fs::read_to_string(example_name("gateway-sa.toml")).expect("read");
    let inline = format!("key = \"{KEY}\"");
    folder.write("sa.toml", sa.replace(&inline, "key_file = \"first.key\""));
    let key = folder.write("first.key", KEY);
    let owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&key, owner).expect("private");
    let config = folder.write(
        "weir.toml",
        format!(
            "[input]\npcap = [{traffic:?}]\n[output]\npcap = \"first.key\"\n\
             [pipeline]\nstages = [\"protect\"]\n[ipsec]\nsa = \"sa.toml\"\n"
        ),
    );
    let sa = folder.name("sa.toml");
    for command in ["check", "run"] {
        weir([command, &config, "-q"]).failed(2, &["first.key", "the output is the input"]);
    }
    weir(["protect", &traffic, &key, "--sa", &sa, "-q"])
        .failed(2, &["first.key", "the output is the input"]);
    let kept = std::fs::read_to_string(&key).expect("a file");
    assert_eq!(kept, KEY);
}

#[test]
fn a_capture_on_standard_output_stays_clean() {
    let folder = Folder::new();
    let traffic = example_name("traffic.pcapng");
    let config = folder.write(
        "weir.toml",
        format!("[input]\npcap = [{traffic:?}]\n[pipeline]\nstages = []\n[output]\npcap = \"-\"\n"),
    );
    let said = weir(["run", &config]).done();
    assert!(said.stderr.contains("whole run"));
    let written = folder.write("out.pcapng", &said.stdout);
    assert_eq!(packets(&written), packets(&traffic));
}

#[test]
fn checks_find_what_is_wrong_and_change_nothing() {
    let folder = Folder::new();
    let good = gateway(&folder);
    let said = weir(["check", &good, "--json", "-", "-q"]).done();
    assert_eq!(said.json()["rules_loaded"], 20);
    assert_eq!(said.json()["rules_skipped"], 0);
    assert_eq!(said.json()["pipelines"], json!(["main"]));
    assert_eq!(folder.names(), ["gateway.toml", "out"]);
    assert_eq!(
        std::fs::read_dir(folder.path("out"))
            .expect("a folder")
            .count(),
        0
    );

    let text = std::fs::read_to_string(&good).expect("read");
    let traffic = format!("{:?}", example_name("traffic.pcapng"));
    let rules = format!("{:?}", example_name("example.rules"));
    let sa = format!("{:?}", example_name("gateway-sa.toml"));
    let wrong: [(&str, &str, Place, &str); 13] = [
        ("[input]", "[input", Place::Line, "unclosed"),
        (
            "default = \"allow\"",
            "default = \"perhaps\"",
            Place::Line,
            "perhaps",
        ),
        (
            "protocol = \"tcp\"",
            "protocol = \"tpc\"",
            Place::Line,
            "tpc",
        ),
        (
            "destination_port = \"23\"",
            "destination_port = \"70000\"",
            Place::Line,
            "70000",
        ),
        ("\"measure\", ", "\"meter\", ", Place::Line, "meter"),
        ("key = \"source\"", "key = \"sauce\"", Place::Line, "sauce"),
        ("top = 5", "top = 0", Place::None, "top list"),
        ("top = 5", "tip = 5", Place::Line, "tip"),
        ("[ipsec]", "[ipsek]", Place::Line, "ipsek"),
        (&traffic, "\"missing.pcap\"", Place::None, "missing.pcap"),
        (
            "out/report.json",
            "missing/report.json",
            Place::None,
            "create it first",
        ),
        (&rules, "\"missing.rules\"", Place::None, "missing.rules"),
        (&sa, "\"missing-sa.toml\"", Place::None, "missing-sa.toml"),
    ];
    for (from, to, place, word) in wrong {
        let place = place.of(&text, from, "bad.toml");
        let bad = folder.write("bad.toml", text.replacen(from, to, 1));
        for verb in ["check", "run"] {
            weir([verb, &bad, "--quiet"]).failed(2, &[&place, word]);
        }
        assert_eq!(folder.names(), ["bad.toml", "gateway.toml", "out"]);
    }
}

/// Where an error lies.
enum Place {
    /// On the line of the text that was replaced.
    Line,
    /// Between files.
    None,
}

impl Place {
    #[track_caller]
    fn of(self, text: &str, replaced: &str, file: &str) -> String {
        let (before, _) = text.split_once(replaced).expect("text to replace");
        match self {
            Place::Line => format!("{file}:{}:", before.matches('\n').count() + 1),
            Place::None => String::new(),
        }
    }
}

#[test]
fn sa_files_with_faults_are_refused_with_their_place() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(example_name("sa.toml")).expect("read");
    let key = "17c29ba23bb9d221730bf93a1f25f8228cabaf51";
    let wrong = [
        (key, "17c2", "a-to-b"),
        (key, "no hex at all", "a-to-b"),
        // Two that one receiver could not tell apart.
        ("spi = 0x1004", "spi = 0x1001", "a-to-b-v6"),
        ("aes-128-gcm-16", "rot-13", "rot-13"),
        ("sa = \"dns\"", "sa = \"snd\"", "snd"),
    ];
    let (traffic, out) = (example_name("traffic.pcapng"), folder.name("out.pcapng"));
    for (from, to, word) in wrong {
        let place = Place::Line.of(&text, from, "bad.toml");
        let bad = folder.write("bad.toml", text.replacen(from, to, 1));
        let said = weir(["protect", &traffic, &out, "--sa", &bad, "-q"]).failed(2, &[&place, word]);
        assert!(!said.stderr.contains(key), "a key was told");
        assert_eq!(folder.names(), ["bad.toml"]);
    }
}

/// A planted source is told in the report and, as soon as its interval is over,
/// in the lines; the configuration refuses what the search cannot do.
#[test]
fn changes_are_told_in_the_report_and_as_lines() {
    let folder = Folder::new();
    let capture = folder.name("planted.pcap");
    weir([
        "generate",
        &capture,
        "--packets",
        "12000",
        "--rate",
        "2000",
        "--sizes",
        "fixed:100",
        "--surge",
        "3,1,1000,500",
        "--quiet",
    ])
    .done();
    let config = |change: &str| {
        format!(
            "[input]\npcap = [{capture:?}]\n[pipeline]\nstages = [\"measure\"]\n\
             [measure]\ninterval = 1\nseed = 1\njson_lines = \"lines.jsonl\"\n\
             prometheus = \"weir.prom\"\nparquet = \"table.parquet\"\n\
             [measure.change]\n{change}\n[report]\njson = \"report.json\"\n"
        )
    };
    let path = folder.write("run.toml", config("model = \"ma:1\"\nthreshold = 0.5"));
    weir(["check", &path, "-q"]).done();
    for shards in ["1", "2"] {
        let said = weir(["run", &path, "--shards", shards]).done();
        assert!(said.text().contains("203.0.113.1"), "{}", said.text());
        let report = json_file(&folder.path("report.json"));
        let alarms = report["alarms"].as_array().expect("alarms");
        let keys: Vec<&Value> = alarms.iter().map(|alarm| &alarm["key"]).collect();
        assert_eq!(
            keys,
            ["203.0.113.1", "203.0.113.1"],
            "its rise and its fall"
        );
        let lines = std::fs::read(folder.path("lines.jsonl")).expect("lines");
        let lines = json_lines(&lines);
        let intervals = report["intervals"].as_array().expect("intervals");
        assert!(intervals.len() >= 6);
        assert_eq!(&lines[lines.len() - intervals.len()..], intervals);
    }
    let metrics = std::fs::read_to_string(folder.path("weir.prom")).expect("metrics");
    assert!(metrics.contains("weir_measure_alarms_total 2"), "{metrics}");
    assert!(
        !weir_export::read_parquet(&folder.path("table.parquet"))
            .expect("a table")
            .is_empty()
    );

    for (change, complaint) in [
        ("model = \"magic\"", "unknown model"),
        ("model = \"ma:2\"\nthreshold = 0.0001", "noise"),
        ("model = \"ewma:0.5\"\ndifference = \"variational\"", "ma:W"),
        ("threshold = 1", "model"),
        ("model = \"ma:2\"\ncounters = 3000000", "counters per row"),
    ] {
        let path = folder.write("wrong.toml", config(change));
        weir(["check", &path]).failed(2, &[complaint]);
    }
}

/// A run that goes on for ever has a report of bounded length.
#[test]
fn a_report_has_the_newest_intervals() {
    let folder = Folder::new();
    let capture = folder.name("long.pcapng");
    let traffic = "--packets 1500 --rate 10 --flows 10 --sizes fixed:100 --quiet";
    weir(["generate", &capture].into_iter().chain(traffic.split(' '))).done();
    let config = folder.write(
        "weir.toml",
        format!(
            "[input]\npcap = [{capture:?}]\n[pipeline]\nstages = [\"measure\"]\n\
             [measure]\ninterval = 1\nseed = 1\njson_lines = \"lines.jsonl\"\n"
        ),
    );
    let report = weir(["run", &config, "-q", "--json", "-"]).done().json();
    let lines = json_lines(&std::fs::read(folder.path("lines.jsonl")).expect("lines"));
    assert!(lines.len() > 120);
    assert_eq!(report["intervals_total"], lines.len());
    let newest = &lines[lines.len() - 100..];
    assert_eq!(
        report["intervals"].as_array().map(Vec::as_slice),
        Some(newest)
    );
    assert_eq!(report["alarms_total"], 0);
    assert_eq!(report["top"], lines[lines.len() - 1]["top"]);
}
