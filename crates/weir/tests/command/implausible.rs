//! Captures with records whose times or lengths cannot be.

use serde_json::{Value, json};

use crate::captures::{packets, write_records};
use crate::processes::{Folder, Said, json_file, json_lines, weir};

const SECOND_NS: u64 = 1_000_000_000;
/// 2023-11-14.
const START_NS: u64 = 1_700_000_000 * SECOND_NS;
/// 2033-05-18.
const FUTURE_NS: u64 = 2_000_000_000 * SECOND_NS;

/// An Ethernet frame with a UDP datagram of one of ten hosts.
fn udp(host: u64, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    let (ip_bytes, udp_bytes) = (28 + payload.len() as u16, 8 + payload.len() as u16);
    frame.extend([0x45, 0]);
    frame.extend(ip_bytes.to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend([198, 18, 0, (host % 10) as u8, 198, 19, 0, 1]);
    frame.extend([0x9c, 0x40, 0x9c, 0x41]);
    frame.extend(udp_bytes.to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(payload);
    frame
}

/// A capture of packets at these times.
fn capture(folder: &Folder, name: &str, times_ns: impl IntoIterator<Item = u64>) -> String {
    let records = (0..).zip(times_ns).map(|(number, time_ns)| {
        let frame = udp(number, b"payload");
        (time_ns, frame.len() as u32, frame)
    });
    write_records(folder.path(name), records.collect::<Vec<_>>());
    folder.name(name)
}

/// 601 packets of a minute.
fn minute() -> Vec<u64> {
    (0..=600).map(|n| START_NS + n * SECOND_NS / 10).collect()
}

fn measure(capture: &str, interval: &str, shards: &str) -> Value {
    let what = ["measure", capture, "--interval", interval, "--exact"];
    let how = ["--seed", "1", "--shards", shards, "--json", "-"];
    weir(what.into_iter().chain(how)).done().json()
}

/// The intervals' values of a member, in their order.
fn of_intervals(document: &Value, member: &str) -> Vec<Value> {
    let intervals = document["intervals"].as_array().expect("intervals");
    intervals.iter().map(|row| row[member].clone()).collect()
}

/// Packets from the future or the past are measured where they stand: nothing but
/// their count differs from a capture with plausible times.
#[test]
fn one_packet_out_of_time_changes_no_interval() {
    let folder = Folder::new();
    let plain = capture(&folder, "plain.pcapng", minute());
    let plain = measure(&plain, "10", "1");
    assert_eq!(plain["intervals"].as_array().expect("a list").len(), 7);
    for (number, time_ns) in [(3, FUTURE_NS), (305, FUTURE_NS), (600, FUTURE_NS), (305, 0)] {
        let mut times_ns = minute();
        times_ns[number] = time_ns;
        let odd = capture(&folder, "odd.pcapng", times_ns);
        for shards in ["1", "2", "3"] {
            let odd = measure(&odd, "10", shards);
            assert_eq!(odd["time_implausible"], 1);
            assert_eq!(odd["clock_jumps"], 0);
            for member in [
                "start",
                "packets",
                "late",
                "top",
                "distinct",
                "skipped_before",
            ] {
                let (odd, plain) = (of_intervals(&odd, member), of_intervals(&plain, member));
                // The last packet would be alone in its interval.
                let known = if number == 600 { 5 } else { 7 };
                assert_eq!(odd[..known], plain[..known], "{member} of packet {number}");
            }
            let counts = of_intervals(&odd, "time_implausible");
            let counted: u64 = counts.iter().filter_map(Value::as_u64).sum();
            assert_eq!(counted, 1);
        }
    }
}

/// A clock that is set to another time costs three packets their place in time.
#[test]
fn a_clock_that_was_set_begins_anew() {
    let folder = Folder::new();
    let second = |from_ns: u64| (0..100).map(move |n| from_ns + n * SECOND_NS / 100);
    let times_ns = second(FUTURE_NS).chain(second(START_NS));
    let back = capture(&folder, "back.pcapng", times_ns);
    let times_ns = second(START_NS).chain(second(FUTURE_NS));
    let ahead = capture(&folder, "ahead.pcapng", times_ns);
    for shards in ["1", "2", "3"] {
        let back = measure(&back, "1", shards);
        assert_eq!(of_intervals(&back, "packets"), [json!(103), json!(97)]);
        assert_eq!(of_intervals(&back, "late"), [0, 0]);
        assert_eq!(of_intervals(&back, "time_implausible"), [3, 0]);
        let set_back = of_intervals(&back, "set_back_seconds")[1].as_f64();
        assert_eq!(set_back.map(f64::ceil), Some(3e8));
        let starts = of_intervals(&back, "start");
        assert_eq!(starts[0], "2033-05-18T03:33:20.000000000Z");
        assert_eq!(starts[1], "2023-11-14T22:13:20.030000000Z");
        assert_eq!(back["clock_jumps"], 1);

        let ahead = measure(&ahead, "1", shards);
        assert_eq!(of_intervals(&ahead, "packets"), [103, 97]);
        assert_eq!(of_intervals(&ahead, "skipped_before"), [0, 299_999_999]);
        assert_eq!(ahead["clock_jumps"], 1);
    }
    let said = weir(["measure", &back, "--interval", "1"]).done();
    for words in [
        "that the clock was set back before",
        "clock jumped",
        "1 times",
    ] {
        assert!(said.text().contains(words), "{words:?}: {}", said.text());
    }
}

/// Files of other days, the newer one first, are each measured by their own times.
#[test]
fn every_capture_sets_the_clock() {
    let folder = Folder::new();
    let day_ns = 24 * 3600 * SECOND_NS;
    let newer = capture(
        &folder,
        "newer.pcapng",
        minute().into_iter().map(|t| t + day_ns),
    );
    let older = capture(&folder, "older.pcapng", minute());
    for shards in ["1", "2"] {
        let both = [
            "measure",
            &newer,
            &older,
            "--interval",
            "60",
            "--shards",
            shards,
        ];
        let both = weir(both.into_iter().chain(["--json", "-"])).done().json();
        assert_eq!(of_intervals(&both, "packets"), [600, 1, 600, 1]);
        assert_eq!(of_intervals(&both, "late"), [0, 0, 0, 0]);
        assert_eq!(both["time_implausible"], 0);
        assert_eq!(both["clock_jumps"], 1);
    }
}

/// Flows and rates outlive a packet from the future.
#[test]
fn a_packet_from_the_future_hides_no_alert() {
    let folder = Folder::new();
    let payloads = ["login", "filler", "evil", "scan", "scan", "filler", "scan"];
    let records = (0..).zip(payloads).map(|(number, payload)| {
        let time_ns = match payload {
            "filler" => FUTURE_NS,
            _ => START_NS + number * SECOND_NS,
        };
        let frame = udp(1, payload.as_bytes());
        (time_ns, frame.len() as u32, frame)
    });
    write_records(folder.path("c.pcapng"), records);
    let rules = folder.write(
        "c.rules",
        r#"
alert udp any any -> any any (content:"login"; flowbits:set,in; flowbits:noalert; sid:1;)
alert udp any any -> any any (content:"evil"; flowbits:isset,in; sid:2;)
alert udp any any -> any any (content:"scan"; threshold:type limit,track by_src,count 1,seconds 60; sid:3;)
"#,
    );
    let (input, eve) = (folder.name("c.pcapng"), folder.name("eve.jsonl"));
    let call = [
        "inspect", &input, "--rules", &rules, "--eve", &eve, "--json", "-",
    ];
    let summary = weir(call).done().json();
    let alerts = json_lines(&std::fs::read(&eve).expect("read"));
    let alerts: Vec<_> = (alerts.iter())
        .filter(|line| line["event_type"] == "alert")
        .map(|line| (&line["pcap_cnt"], &line["alert"]["signature_id"]))
        .collect();
    let (evil, scan) = ((json!(3), json!(2)), (json!(4), json!(3)));
    assert_eq!(alerts, [(&evil.0, &evil.1), (&scan.0, &scan.1)]);
    assert_eq!(summary["time_implausible"], 2);
}

/// What the capture holds is counted, whatever it claims.
#[test]
fn bytes_are_those_that_were_captured() {
    const CLAIMED: u32 = 4_093_509_168;
    let folder = Folder::new();
    let frame = udp(1, &[7; 50]);
    let captured = frame.len() as u64;
    // Whole, cut, of the longest length, and claiming more than that.
    let lengths = [frame.len() as u32, 1_514, 14 + 65_535, CLAIMED, u32::MAX];
    let records = (0..).zip(lengths).map(|(number, wire_bytes)| {
        let time_ns = START_NS + number * 1_000_000;
        (time_ns, wire_bytes, frame.clone())
    });
    write_records(folder.path("in.pcapng"), records);
    let input = folder.name("in.pcapng");
    let rules = folder.write(
        "c.rules",
        "alert udp any any -> any any (content:\"|07 07|\"; sid:1;)\n",
    );
    let out = folder.name("out.pcapng");
    let report = folder.name("report.json");
    let config = folder.write(
        "run.toml",
        format!(
            "[input]\npcap = [{input:?}]\n[pipeline]\nstages = [\"measure\"]\n[measure]\nkey = \"source\"\n\
             [output]\npcap = {out:?}\n"
        ),
    );
    let document = |said: Said| said.done().json();
    let of_run = {
        weir(["run", &config, "--json", &report, "-q"]).done();
        json_file(&folder.path("report.json"))
    };
    let summary = document(weir(["inspect", &input, "--rules", &rules, "--json", "-"]));
    let measured = document(weir(["measure", &input, "--json", "-"]));
    let longest = 14 + 65_535;
    let wire_bytes = captured + 1_514 + 3 * longest;
    let traffics = [&of_run, &summary, &measured];
    for (verb, traffic) in ["run", "inspect", "measure"].iter().zip(traffics) {
        assert_eq!(traffic["packets"], 5, "{verb}");
        assert_eq!(traffic["bytes"], 5 * captured, "{verb}");
        assert_eq!(traffic["wire_bytes"], wire_bytes, "{verb}");
        assert_eq!(traffic["length_implausible"], 2, "{verb}");
        let number = |member: &str| traffic[member].as_f64().expect("a number");
        let bits = number("gbit_per_s") * 1e9 * number("seconds");
        let expected = 8.0 * 5.0 * captured as f64;
        assert!((bits - expected).abs() < 1e-6 * expected, "{verb}: {bits}");
    }
    assert_eq!(of_run["forwarded_bytes"], 5 * captured);
    let interval = &measured["intervals"][0];
    assert_eq!(interval["bytes"], 5 * captured);
    assert_eq!(interval["wire_bytes"], wire_bytes);
    // Sums by key are of lengths on the wire.
    assert_eq!(interval["top"][0]["estimate"], wire_bytes);
    assert_eq!(packets(&out).len(), 5);
    let said = weir(["measure", &input]).done();
    for words in ["on the wire", "implausible length"] {
        assert!(said.text().contains(words), "{words:?}: {}", said.text());
    }
}
