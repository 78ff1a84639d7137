//! `weir measure`.

use serde_json::Value;

use crate::captures::write_frames;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use crate::processes::{Folder, beside, example_name, json_file, json_lines, weir};

fn intervals(document: &Value) -> &[Value] {
    document["intervals"].as_array().expect("intervals")
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn estimates_are_never_below_the_truth() {
    let traffic = example_name("traffic.pcapng");
    let cases = [
        ("source", "bytes"),
        ("pair", "packets"),
        ("5-tuple", "bytes"),
    ];
    for (key, value) in cases {
        for shards in ["1", "2"] {
            // A sketch so small that keys collide.
            let arguments = [
                "measure",
                &traffic,
                "--exact",
                "--key",
                key,
                "--value",
                value,
                "--seed",
                "1",
                "--epsilon",
                "0.05",
                "--delta",
                "0.3",
                "--interval",
                "5",
                "--top",
                "100",
                "--shards",
                shards,
                "--json",
                "-",
            ];
            let document = weir(arguments).done().json();
            let mut packets = 0;
            let mut too_high = 0;
            for interval in intervals(&document) {
                packets += number(&interval["packets"]);
                let total = number(&interval[value]);
                assert!(interval["error"].is_object() || interval["error"].is_number());
                for row in interval["top"].as_array().expect("rows") {
                    let (estimate, exact) = (number(&row["estimate"]), number(&row["exact"]));
                    assert!(exact > 0 && estimate >= exact, "{row}");
                    assert!(number(&row["bound"]) <= total.div_ceil(20));
                    too_high += u64::from(estimate > exact);
                }
            }
            assert_eq!(packets, 3564, "every packet is in one interval");
            // The seed is fixed, so this cannot vary: the sketch did collide.
            assert!(key != "5-tuple" || too_high > 0);
        }
    }
}

#[test]
fn shards_measure_the_same_together() {
    let traffic = example_name("traffic.pcapng");
    let measure = |shards: &str| {
        let arguments = [
            "measure",
            &traffic,
            "--exact",
            "--interval",
            "3",
            "--seed",
            "5",
            "--shards",
            shards,
            "--json",
            "-",
        ];
        let mut document = weir(arguments).done().json();
        for field in ["seconds", "gbit_per_s", "latency_ns"] {
            document[field].take();
        }
        document
    };
    let (one, two) = (measure("1"), measure("2"));
    assert!(intervals(&one).len() > 5);
    for (one, two) in intervals(&one).iter().zip(intervals(&two)) {
        for field in [
            "start", "seconds", "packets", "bytes", "distinct", "f2", "top", "late",
        ] {
            assert_eq!(one[field], two[field], "{field}");
        }
    }
    assert_eq!(intervals(&one).len(), intervals(&two).len());
}

#[test]
fn the_document_has_the_fields_of_the_contract() {
    let traffic = example_name("traffic.pcapng");
    let plain = weir(["measure", &traffic, "--json", "-"]).done().json();
    for field in [
        "packets",
        "bytes",
        "seconds",
        "gbit_per_s",
        "drops",
        "truncated",
    ] {
        assert!(!plain[field].is_null(), "{field}");
    }
    assert_eq!(plain["packets"], 3564);
    for interval in intervals(&plain) {
        for field in [
            "start", "seconds", "packets", "bytes", "distinct", "top", "alarms",
        ] {
            assert!(!interval[field].is_null(), "{field}");
        }
        // The sum of squares is estimated where the keys are not known.
        let f2 = interval["f2"].as_f64().expect("a number");
        let bound = interval["f2_bound"].as_f64().expect("a number");
        assert!(f2 > 0.0 && bound > 0.0 && bound < f2, "{f2}, {bound}");
        assert_eq!(interval.get("error"), None);
        let rows = interval["top"].as_array().expect("rows");
        assert!((1..=10).contains(&rows.len()));
        let estimates: Vec<u64> = rows.iter().map(|row| number(&row["estimate"])).collect();
        assert!(estimates.is_sorted_by(|a, b| a >= b), "the largest first");
        for row in rows {
            assert!(row["key"].is_string() && row["bound"].is_u64());
            assert_eq!(row.get("exact"), None);
        }
    }
}

#[test]
fn keys_are_what_was_asked_for() {
    let traffic = example_name("traffic.pcapng");
    let keys = |key: &str| -> Vec<String> {
        let arguments = [
            "measure",
            &traffic,
            "--key",
            key,
            "--interval",
            "1e6",
            "--json",
            "-",
        ];
        let document = weir(arguments).done().json();
        let [interval] = intervals(&document) else {
            panic!("one interval of 11 days");
        };
        let rows = interval["top"].as_array().expect("rows");
        rows.iter()
            .map(|row| row["key"].as_str().expect("text").to_owned())
            .collect()
    };
    assert!(keys("source").contains(&"198.18.2.10".to_owned()));
    assert!(keys("destination/24").contains(&"198.18.2.0/24".to_owned()));
    assert!(keys("source/24,48").contains(&"fd00:1::/48".to_owned()));
}

#[test]
fn leaps_in_time_cost_nothing() {
    let folder = Folder::new();
    let capture = folder.path("leap.pcapng");
    write_frames(&capture, &[vec![0; 60], vec![0; 60]]);
    let mut bytes = std::fs::read(&capture).expect("read");
    // The second record comes five centuries later: the upper half of its time.
    let last = bytes.len() - (32 + 60) + 12;
    bytes[last..last + 4].copy_from_slice(&0xf000_0000_u32.to_le_bytes());
    let capture = folder.write("leap.pcapng", bytes);
    let arguments = ["measure", &capture, "--interval", "0.001", "--json", "-"];
    let said = weir(arguments).done();
    let document = said.json();
    assert_eq!(document["packets"], 2);
    assert!(
        intervals(&document).len() < 10,
        "{} intervals",
        intervals(&document).len()
    );
}

/// Five sources are planted, each for one interval of the traffic of 4,000
/// flows: the rise and the fall of each is told, since when and by whom, and
/// what else is told is no more than the ordinary swing of the largest flows.
/// The capture and the seed are fixed.
#[test]
fn planted_changes_are_found() {
    let folder = Folder::new();
    let capture = folder.name("planted.pcap");
    let surges = [
        "4.0,2,500,900",
        "8.0,2,400,900",
        "12.0,2,900,300",
        "12.0,2,300,1000",
        "16.0,2,350,800",
    ];
    let generate = ["generate", &capture, "--packets", "48000", "--rate", "2000"];
    let traffic = ["--flows", "4000", "--zipf", "0.9", "--sizes", "fixed:120"];
    let planted = surges.iter().flat_map(|surge| ["--surge", *surge]);
    let made = weir(
        generate
            .into_iter()
            .chain(traffic)
            .chain(planted)
            .chain(["--quiet", "--json", "-"]),
    )
    .done()
    .json();
    let surges = made["surges"].as_array().expect("surges");
    assert_eq!(surges.len(), 5);

    for keys_from in ["kept", "same"] {
        let measured = weir([
            "measure",
            &capture,
            "--interval",
            "2",
            "--change",
            "ma:1",
            "--keys-from",
            keys_from,
            "--seed",
            "1",
            "--json",
            "-",
        ])
        .done()
        .json();
        let all: Vec<(usize, &Value)> = intervals(&measured)
            .iter()
            .enumerate()
            .flat_map(|(number, interval)| {
                let alarms = interval["alarms"].as_array().expect("alarms");
                alarms.iter().map(move |alarm| (number, alarm))
            })
            .collect();
        for surge in surges {
            let rise = (surge["start"].as_f64().expect("seconds") / 2.0) as usize;
            let of_surge = |number: usize| {
                let found = all
                    .iter()
                    .find(|(at, alarm)| *at == number && alarm["key"] == surge["source"]);
                found
                    .unwrap_or_else(|| panic!("{surge} is missing in {number}"))
                    .1
            };
            let (up, down) = (of_surge(rise), of_surge(rise + 1));
            let sum = |alarm: &Value, field: &str| alarm[field].as_f64().expect("a number");
            let frames = sum(surge, "packets");
            assert!(sum(up, "observed") > 300.0 * frames, "{up}");
            assert!(
                sum(up, "forecast").abs() < 0.05 * sum(up, "observed"),
                "{up}"
            );
            assert!(sum(down, "forecast") > 300.0 * frames, "{down}");
            assert_eq!(up["unit"], "bytes");
            assert_eq!(up["since"], up["start"]);
            assert_eq!(up["sources"][0]["source"], surge["source"]);
        }
        let false_alarms = all
            .iter()
            .filter(|(_, alarm)| surges.iter().all(|surge| surge["source"] != alarm["key"]));
        let false_alarms = false_alarms.count();
        assert!(
            false_alarms <= 10,
            "{keys_from}: {false_alarms} false alarms"
        );
    }
}

#[test]
fn intervals_go_to_every_output_as_they_end() {
    let folder = Folder::new();
    let traffic = example_name("traffic.pcapng");
    let (lines, table, metrics) = (
        folder.name("intervals.jsonl"),
        folder.name("intervals.parquet"),
        folder.name("metrics.prom"),
    );
    let call = [
        "measure",
        &traffic,
        "--interval",
        "5",
        "--change",
        "ewma:0.5",
        "--seed",
        "1",
        "--json-lines",
        &lines,
        "--parquet",
        &table,
        "--sketches",
        "--prometheus",
        &metrics,
        "--json",
        "-",
    ];
    let document = weir(call).done().json();
    let text = std::fs::read_to_string(&lines).expect("lines");
    let told: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    assert_eq!(&told, intervals(&document), "the same, line by line");
    let rows = weir_export::read_parquet(table.as_ref()).expect("a table");
    let with_sketches = rows.iter().filter(|row| row.sums_sketch.is_some());
    assert_eq!(with_sketches.count(), told.len());
    let text = std::fs::read_to_string(&metrics).expect("metrics");
    assert!(text.contains("weir_measure_packets_total 3564"), "{text}");
    assert!(text.ends_with("# EOF\n"));
    // Lines are appended, the other files are new each time.
    weir(call).done();
    let again = std::fs::read_to_string(&lines).expect("lines");
    assert_eq!(again.lines().count(), 2 * told.len());
}

#[test]
fn a_fit_names_models_that_can_be_used() {
    let traffic = example_name("traffic.pcapng");
    let call = [
        "measure",
        &traffic,
        "--interval",
        "2",
        "--fit",
        "--json",
        "-",
    ];
    let document = weir(call).done().json();
    let models = document["models"].as_array().expect("models");
    assert_eq!(models.len(), 6, "the best of each kind");
    assert_eq!(models[0]["ratio"], 1.0);
    for row in models {
        let model = row["model"].as_str().expect("a model");
        let call = [
            "measure",
            &traffic,
            "--interval",
            "2",
            "--change",
            model,
            "-q",
        ];
        weir(call).done();
    }
    let short = weir(["measure", &traffic, "--interval", "60", "--fit"]);
    short.failed(1, &["shorter interval"]);
}

/// The pipe stays open until the table of the first interval is there.
#[test]
fn reports_leave_when_their_interval_is_over() {
    let folder = Folder::new();
    let capture = folder.name("long.pcapng");
    let traffic = "--packets 3000 --rate 1000 --flows 10 --sizes fixed:100 --quiet";
    weir(["generate", &capture].into_iter().chain(traffic.split(' '))).done();
    let packets = std::fs::read(&capture).expect("read");
    let (pipe, json) = (folder.pipe("in"), folder.name("report.json"));
    for shards in ["1", "2"] {
        let arguments = ["measure", &pipe, "--interval", "1", "--shards", shards];
        let mut running = beside(arguments);
        let mut feed = File::create(&pipe).expect("the writing end");
        // More than two of the three intervals.
        feed.write_all(&packets[..packets.len() - 1000])
            .expect("fed");
        let mut shown = BufReader::new(running.child().stdout.take().expect("a pipe"));
        let mut line = String::new();
        while !line.contains(" s: ") {
            line.clear();
            assert_ne!(shown.read_line(&mut line).expect("text"), 0);
        }
        feed.write_all(&packets[packets.len() - 1000..])
            .expect("fed");
        drop(feed);
        std::io::copy(&mut shown, &mut std::io::sink()).expect("read");
        running.wait().done();
    }

    let lines = folder.name("lines.jsonl");
    let outputs = ["--json", &json, "--json-lines", &lines, "-q"];
    weir(
        ["measure", &capture, "--interval", "0.01"]
            .into_iter()
            .chain(outputs),
    )
    .done();
    let document = json_file(&folder.path("report.json"));
    let lines = json_lines(&std::fs::read(&lines).expect("lines"));
    assert!(lines.len() > 250);
    assert_eq!(intervals(&document), lines);
    assert_eq!(document["packets"], 3000);
}
