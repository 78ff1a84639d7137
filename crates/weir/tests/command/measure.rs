//! `weir measure`.

use serde_json::Value;

use crate::captures::write_frames;
use crate::processes::{Folder, example_name, weir};

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
        // The sum of squares is known where the keys are.
        assert_eq!(interval.get("f2"), Some(&Value::Null));
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
