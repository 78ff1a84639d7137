//! Captures that are cut short, lie, or are none.

use std::process::Stdio;

use crate::captures::{packets, write_frames};
use crate::processes::{Folder, Said, example, example_name, json_file, weir, weir_fed};

/// The example's capture, cut inside a packet, and the packets in front.
fn truncated(folder: &Folder) -> (String, usize) {
    let traffic = std::fs::read(example("traffic.pcapng")).expect("read");
    let cut = folder.write("cut.pcapng", &traffic[..1_000_001]);
    // Count the enhanced packet blocks (type 6) that are whole.
    let (mut at, mut count) = (0, 0);
    let word = |at: usize| {
        let bytes = traffic.get(at..at + 4).expect("inside");
        u32::from_le_bytes(bytes.try_into().expect("4 bytes")) as usize
    };
    while at + word(at + 4) <= 1_000_001 {
        count += usize::from(word(at) == 6);
        at += word(at + 4);
    }
    (cut, count)
}

#[test]
fn what_is_whole_of_a_cut_capture_is_done() {
    let folder = Folder::new();
    let (cut, whole) = truncated(&folder);
    let (sa, rules) = (example_name("sa.toml"), example_name("example.rules"));
    let (out, json) = (folder.name("out.pcapng"), folder.name("report.json"));
    let config = folder.write(
        "weir.toml",
        "[input]\npcap = [\"cut.pcapng\"]\n[pipeline]\nstages = []\n[output]\npcap = \"out.pcapng\"\n",
    );
    for shards in ["1", "2"] {
        let more = ["--json", &json, "--shards", shards, "--quiet"];
        let calls: [&[&str]; 4] = [
            &["protect", &cut, &out, "--sa", &sa],
            &["inspect", &cut, "--rules", &rules],
            &["measure", &cut],
            &["run", &config],
        ];
        for call in calls {
            let said = weir([call, &more].concat());
            said.failed(1, &["cut.pcapng", "cut short", "at byte", "999"]);
            let report = json_file(json.as_ref());
            assert_eq!(report["truncated"], true, "{}", call[0]);
            assert_eq!(report["interrupted"], false);
            assert_eq!(report["packets"], whole);
            if call[0] != "inspect" && call[0] != "measure" {
                assert_eq!(packets(&out).len(), whole);
            }
        }
    }
}

#[test]
fn captures_behind_a_cut_one_still_follow() {
    let folder = Folder::new();
    let (cut, whole) = truncated(&folder);
    let traffic = example_name("traffic.pcapng");
    let json = folder.name("report.json");
    let said = weir(["measure", &traffic, &cut, &traffic, "-q", "--json", &json]);
    said.failed(1, &["cut.pcapng", "cut short"]);
    assert_eq!(json_file(json.as_ref())["packets"], 2 * 3564 + whole);
}

#[test]
fn more_captures_than_can_be_open_are_read() {
    let folder = Folder::new();
    let capture = folder.name("two.pcapng");
    write_frames(&capture, &[vec![0; 60], vec![0; 70]]);
    let many = vec![capture.as_str(); 2000];
    // A process may have 256 files open here.
    let measure = format!(
        "ulimit -n 256 && exec {:?} measure --quiet --json - {}",
        env!("CARGO_BIN_EXE_weir"),
        many.join(" ")
    );
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", &measure])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let report = Said::of(shell.spawn().expect("sh starts")).done().json();
    assert_eq!(report["packets"], 4000);
    assert_eq!(report["bytes"], 2000 * 130);
}

fn measure(name: &str) -> Said {
    weir(["measure", name, "-q", "--json", "-"])
}

#[test]
fn files_that_are_no_captures_are_wrong() {
    let folder = Folder::new();
    let random: Vec<u8> = (0..5000_u32)
        .map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let files: [(&str, &[u8], &str); 6] = [
        ("empty.pcap", b"", "it is empty"),
        ("short.pcap", b"\xd4\xc3", "only 2 bytes"),
        ("random.pcap", &random, "not a capture"),
        ("text.pcap", b"GET / HTTP/1.1\r\n\r\n", "not a capture"),
        ("packed.pcap", b"BZh91AY&SY", "bzip2 -dc"),
        (
            "header.pcap",
            b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00",
            "cut short",
        ),
    ];
    for (name, contents, words) in files {
        let file = folder.write(name, contents);
        measure(&file).failed(2, &[name, words]);
        let sa = example_name("sa.toml");
        let said = weir([
            "protect",
            &file,
            &folder.name("out.pcap"),
            "--sa",
            &sa,
            "-q",
        ]);
        said.failed(2, &[name, words]);
        let said = weir_fed(["measure", "-", "-q"], contents);
        said.failed(2, &["standard input", words]);
    }
    assert!(!folder.path("out.pcap").exists());
    measure(&folder.name("")).failed(2, &["Is a directory"]);
}

/// A pcap file of one link type with records as given: claimed captured and
/// wire lengths, and the bytes that follow.
fn pcap(snap_bytes: u32, link: u32, records: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, snap_bytes, link] {
        file.extend(word.to_le_bytes());
    }
    for (captured, wire, bytes) in records {
        for word in [1_700_000_000, 5, *captured, *wire] {
            file.extend(word.to_le_bytes());
        }
        file.extend(*bytes);
    }
    file
}

#[test]
fn lengths_that_lie_end_the_capture_there() {
    let folder = Folder::new();
    let frame = &[0_u8; 60][..];
    let whole = (60, 60, frame);
    let cases: [(&str, Vec<u8>, &str); 3] = [
        (
            "huge.pcap",
            pcap(65_535, 1, &[whole, (u32::MAX, 60, frame), whole]),
            "claims 4294967295 captured bytes",
        ),
        (
            "beyond.pcap",
            pcap(65_535, 1, &[whole, (300_000, 300_000, frame)]),
            "claims 300000 captured bytes",
        ),
        (
            "cut.pcap",
            pcap(65_535, 1, &[whole, (61, 61, frame)]),
            "cut short",
        ),
    ];
    let json = folder.name("report.json");
    for (name, contents, words) in cases {
        let file = folder.write(name, contents);
        weir(["measure", &file, "-q", "--json", &json]).failed(1, &[name, words]);
        let report = json_file(json.as_ref());
        assert_eq!(report["packets"], 1);
        assert_eq!(report["truncated"], name == "cut.pcap");
    }
    let mut zero_block = std::fs::read(example("traffic.pcapng")).expect("read");
    // The length of the block behind the section header.
    let second = u32::from_le_bytes(zero_block[4..8].try_into().expect("4 bytes")) as usize;
    zero_block[second + 4..second + 8].fill(0);
    let file = folder.write("zero.pcapng", zero_block);
    let said = weir(["measure", &file, "-q"]);
    assert!(matches!(said.status, Some(1 | 2)));
    let status = said.status.unwrap_or_default();
    said.failed(status, &["zero.pcapng", "impossible length of 0 bytes"]);
}

#[test]
fn odd_headers_are_taken_as_far_as_they_make_sense() {
    let folder = Folder::new();
    let frame = &[0_u8; 60][..];
    let count = |name: &str, contents: Vec<u8>| {
        let report = measure(&folder.write(name, contents)).done().json();
        report["packets"].as_u64().expect("a number")
    };
    // A snap length beyond reason, none, and a wire length below the captured.
    assert_eq!(count("snap.pcap", pcap(u32::MAX, 1, &[(60, 60, frame)])), 1);
    assert_eq!(count("none.pcap", pcap(0, 1, &[(60, 60, frame)])), 1);
    assert_eq!(count("wire.pcap", pcap(65_535, 1, &[(60, 3, frame)])), 1);
    assert_eq!(count("no packets.pcap", pcap(65_535, 1, &[])), 0);
    // A link type that nobody knows: packets are counted and pass unread.
    let unknown = pcap(65_535, 147, &[(60, 60, frame), (0, 0, b"")]);
    let file = folder.write("unknown.pcap", unknown);
    let (out, sa) = (folder.name("out.pcap"), example_name("sa.toml"));
    let json = folder.name("report.json");
    let said = weir(["protect", &file, &out, "--sa", &sa, "-q", "--json", &json]);
    said.failed(1, &["no packet was protected"]);
    let report = json_file(json.as_ref());
    let dropped: u64 = report["drops"]
        .as_object()
        .expect("drops")
        .values()
        .filter_map(serde_json::Value::as_u64)
        .sum();
    assert_eq!(report["packets"], 2);
    assert_eq!(report["forwarded"].as_u64().expect("a number") + dropped, 2);
}

/// A frame with an IPv4 header that claims `total_bytes`, cut after
/// `captured` bytes.
fn ipv4(total_bytes: u16, header_words: u8, captured: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend([0x40 | header_words, 0]);
    frame.extend(total_bytes.to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 1, 10, 198, 18, 2, 10]);
    frame.extend([0x80, 0, 0x80, 1, 0, 30, 0, 0]);
    frame.resize(14 + 50, 0);
    frame.truncate(captured);
    frame
}

#[test]
fn packets_that_lie_are_dropped_with_a_reason_or_pass() {
    let folder = Folder::new();
    let mut frames = vec![
        ipv4(50, 5, 64),
        // Longer than captured, shorter than its header, zero.
        ipv4(5000, 5, 64),
        ipv4(19, 5, 64),
        ipv4(0, 5, 64),
        // Header lengths below the least and beyond the packet.
        ipv4(50, 4, 64),
        ipv4(50, 15, 64),
        // IPv6 whose extension headers never end.
        {
            let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd];
            frame.extend([0x60, 0, 0, 0, 0x10, 0, 0, 64]);
            frame.extend([0xfd, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10]);
            frame.extend([0xfd, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10]);
            frame.extend([0; 0x1000]);
            frame
        },
    ];
    // Headers cut anywhere.
    frames.extend((0..64).map(|captured| ipv4(50, 5, captured)));
    let capture = folder.name("odd.pcapng");
    write_frames(&capture, &frames);
    let (sa, rules) = (example_name("sa.toml"), example_name("example.rules"));
    let (out, back) = (folder.name("out.pcapng"), folder.name("back.pcapng"));
    for shards in ["1", "2"] {
        let more = ["--shards", shards, "--quiet", "--json", "-"];
        let protect = ["protect", &capture, &out, "--sa", &sa];
        let report = weir([&protect[..], &more].concat()).done().json();
        let drops = report["drops"].as_object().expect("drops");
        let dropped: u64 = drops.values().filter_map(serde_json::Value::as_u64).sum();
        let count = |field: &str| report[field].as_u64().expect("a number");
        assert_eq!(count("packets"), frames.len() as u64);
        assert_eq!(
            count("protected") + count("bypassed") + dropped,
            count("packets")
        );
        assert_eq!(count("forwarded") + dropped, count("packets"));
        // The whole packet, at least, is in order.
        assert!(count("protected") >= 1);
        let unprotect = ["unprotect", &out, &back, "--sa", &sa];
        let report = weir([&unprotect[..], &more].concat()).done().json();
        assert_eq!(report["unprotected"], count("protected"));
        weir([&["inspect", &capture, "--rules", &rules], &more[..]].concat()).done();
        weir([&["measure", &capture, "--exact"], &more[..]].concat()).done();
    }
}
