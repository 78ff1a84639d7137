//! Kernels and machines on the command line.

use std::path::Path;

use weir_packet::file::{Format, Interface, Writer};
use weir_packet::generate::{Generator, Plan};
use weir_packet::wire::LinkType;
use weir_processes::{Folder, json_file};

use crate::lab;

#[test]
fn what_is_listed_can_be_run() {
    let listed = lab(["list", "--json", "-"]).done().json()["rows"].take();
    let items = listed.as_array().expect("items");
    assert!(items.len() > 8);
    for item in items {
        let name = item["name"].as_str().expect("a name");
        match item["kind"].as_str().expect("a kind") {
            "machine" => {
                let parameters = lab(["list", "--machine", name, "--json", "-"]);
                let rows = parameters.done().json()["rows"].take();
                let rows = rows.as_array().expect("parameters");
                assert!(rows.iter().all(|row| row["source"].as_str() != Some("")));
            }
            "kernel" => {
                // With three adders some have no room in Imagine's store.
                let room = "microcode.instructions=2048";
                let ran = lab(["run", name, "--set", room, "--json", "-"]);
                let ran = ran.done().json()["rows"].take();
                assert!(ran[0]["output_words"].as_f64().is_some(), "{name}");
            }
            "experiment" => {
                let found = lab(["experiment", name, "--json", "-"]).done().json()["rows"].take();
                assert_eq!(found[0]["experiment"], name);
            }
            "workload" => assert!(name.starts_with("work."), "{name}"),
            _ => {
                let ran = lab(["run", name, "--set", "work.packets=8", "--json", "-"]);
                let ran = ran.done().json()["rows"].take();
                assert!(ran[0]["cycles"].as_f64().expect("cycles") > 0.0, "{name}");
            }
        }
    }
}

#[test]
fn a_run_reports_one_span_and_the_bytes_that_it_processes() {
    let row = |arguments: &[&str]| {
        let command = [&["run"], arguments, &["--json", "-"]].concat();
        lab(command).done().json()["rows"][0].take()
    };
    let number = |row: &serde_json::Value, key: &str| row[key].as_f64().expect("a number");
    for program in ["aes", "ocb", "mmh", "inspect", "sketch-2"] {
        let run = row(&[
            program,
            "--set",
            "work.packets=8",
            "--set",
            "work.bytes=128",
        ]);
        let cycles = number(&run, "cycles");
        // Kernels and waits are all of the span's cycles, and no more.
        let waits: f64 = run
            .as_object()
            .expect("an object")
            .iter()
            .filter(|(key, _)| key.starts_with("stall_cycles.") && !key.ends_with("SRF_bandwidth"))
            .map(|(_, cycles)| cycles.as_f64().expect("cycles"))
            .sum();
        let sum = waits + number(&run, "kernel_share") * cycles;
        assert!((sum / cycles - 1.0).abs() < 1e-6, "{program}: {run}");
        let bits = 8.0 * number(&run, "bytes");
        let gbit_per_s = bits / cycles * 0.5;
        assert!(
            (gbit_per_s / number(&run, "gbit_per_s") - 1.0).abs() < 1e-9,
            "{program}: {run}"
        );
    }
    let [one, three] = ["work.packets=1", "work.packets=3"].map(|set| row(&["ocb", "--set", set]));
    assert_eq!(number(&three, "bytes"), 3.0 * 1536.0);
    let ratio = number(&three, "cycles") / number(&one, "cycles");
    assert!((1.2..3.01).contains(&ratio), "{ratio}");
    // A sketch's update reads a key and a weight, and takes as long as the row
    // of the report says.
    let sketch = row(&["sketch-2", "--set", "work.packets=1920"]);
    assert_eq!(number(&sketch, "packet_bytes"), 8.0);
    let reported = lab(["reproduce", "imagine-080", "--json", "-"])
        .done()
        .json()["rows"]
        .take();
    let modelled = format!("{:.0}", number(&sketch, "cycles"));
    assert_eq!(reported[0]["modelled"], modelled.as_str());
}

#[test]
fn tables_fit_a_hundred_columns() {
    for arguments in [
        &["list"][..],
        &["list", "--machine", "imagine"],
        &["run", "aes", "--set", "work.packets=4"],
        &["run", "aes-core"],
        &[
            "sweep",
            "aes",
            "--set",
            "work.packets=4",
            "--over",
            "memory.stream_bytes_per_cycle=2,4",
            "--over",
            "srf.bytes=1024,131072",
        ],
        &["schedule", "inspect-2-shift-add-xor"],
        &["cost"],
        &["cost", "--scaling"],
        &["lengths", "../examples/traffic.pcapng"],
        &["experiment", "several-headers"],
        &["sensitivity", "--short", "--row", "imagine-055"],
        &[
            "reproduce",
            "--notes",
            "imagine-003",
            "imagine-045",
            "imagine-063",
        ],
    ] {
        let shown = lab(arguments).done();
        let long = shown.text().lines().find(|line| line.chars().count() > 100);
        assert_eq!(long, None, "{arguments:?}");
    }
}

#[test]
fn the_picture_has_the_cycles_of_the_report() {
    let folder = Folder::new();
    let svg = folder.name("out.svg");
    let report = lab([
        "schedule",
        "aes-core",
        "--machine",
        "imagine",
        "--set",
        "cluster.adders=4",
        "--svg",
        &svg,
        "--json",
        "-",
    ]);
    let blocks = report.done().json()["rows"].take();
    let picture = std::fs::read_to_string(&svg).expect("a picture");
    for block in blocks.as_array().expect("blocks") {
        let label = block["block"].as_str().expect("a label");
        let shown = format!("block {label}: {} cycles", block["cycles"]);
        assert!(picture.contains(&shown), "{shown}");
    }
}

#[test]
fn a_trace_has_what_the_units_did() {
    let folder = Folder::new();
    let path = folder.name("trace.json");
    let ran = lab([
        "run",
        "aes",
        "--set",
        "work.packets=8",
        "--trace",
        &path,
        "--json",
        "-",
    ]);
    let row = ran.done().json()["rows"][0].take();
    let trace = json_file(path.as_ref());
    let events = trace["traceEvents"].as_array().expect("events");
    let unit = |name: &str| {
        let mut events = events.iter();
        let named = events.find(|event| event["args"]["name"] == name);
        named.expect("the unit")["tid"].clone()
    };
    let of = |unit: serde_json::Value| {
        let of_unit = events
            .iter()
            .filter(move |it| it["ph"] == "X" && it["tid"] == unit);
        let number = |value: &serde_json::Value| value.as_f64().expect("a number");
        let spans = of_unit.map(move |it| (number(&it["ts"]), number(&it["dur"])));
        spans.collect::<Vec<(f64, f64)>>()
    };
    for name in ["host", "address generator 0", "clusters"] {
        let spans = of(unit(name));
        assert!(!spans.is_empty(), "{name}");
        let overlap = |pair: &[(f64, f64)]| pair[0].0 + pair[0].1 > pair[1].0 + 1e-6;
        assert!(!spans.windows(2).any(overlap), "{name}");
    }
    // The span of the report begins with the first packet, after the set-up.
    let set_up = ["aes-table", "aes-key-expansion"];
    let clusters = unit("clusters");
    let busy_us: f64 = events
        .iter()
        .filter(|event| event["ph"] == "X" && event["tid"] == clusters)
        .filter(|event| !set_up.iter().any(|name| event["name"] == *name))
        .map(|event| event["dur"].as_f64().expect("a number"))
        .sum();
    let number = |key: &str| row[key].as_f64().expect("a number");
    let reported_us = number("kernel_share") * number("cycles") / 500.0;
    assert!(
        (busy_us / reported_us - 1.0).abs() < 1e-9,
        "{busy_us} {reported_us}"
    );
}

#[test]
fn a_sweep_has_every_machine() {
    let folder = Folder::new();
    let (html, csv) = (folder.name("sweep.html"), folder.name("sweep.csv"));
    let swept = lab([
        "sweep",
        "aes",
        "--set",
        "work.packets=4",
        "--over",
        "cluster.adders=3,4,6",
        "--over",
        "srf.bytes=1024,131072",
        "--threads",
        "2",
        "--html",
        &html,
        "--csv",
        &csv,
        "--json",
        "-",
    ]);
    let rows = swept.done().json()["rows"].take();
    let rows = rows.as_array().expect("rows");
    assert_eq!(rows.len(), 6);
    for row in rows {
        let fits = row["set"]["srf.bytes"] == 131_072.0;
        assert_eq!(row["error"].is_null(), fits, "{row}");
        assert_eq!(row["cycles"].is_number(), fits, "{row}");
        assert_eq!(row["watts"].is_number(), fits, "{row}");
    }
    let table = std::fs::read_to_string(&csv).expect("a table");
    assert_eq!(table.lines().count(), 1 + rows.len());
    let names: Vec<&str> = table.lines().take(1).flat_map(|it| it.split(',')).collect();
    for name in ["gbit_per_s", "set.srf.bytes", "error"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let page = std::fs::read_to_string(&html).expect("a page");
    // The three machines that run are points of each picture.
    assert_eq!(
        page.matches("<svg").count() * 3,
        page.matches("<circle").count()
    );
}

/// Writes a capture of packets whose sizes are those of the Internet mix.
fn generate(path: &Path, packets: u64) {
    let plan = Plan {
        packets,
        flows: 9,
        ..Plan::default()
    };
    let mut generator = Generator::new(&plan).expect("a plan");
    let mut writer = Writer::create(path, Format::Pcap).expect("a file");
    let ethernet = Interface::new(LinkType::Ethernet);
    let number = writer.add_interface(&ethernet).expect("written");
    let mut frame = Vec::new();
    while let Some(packet) = generator.fill(&mut frame) {
        let written = writer.write(number, packet.timestamp_ns, frame.len() as u32, &frame);
        written.expect("written");
    }
    writer.finish().expect("written");
}

#[test]
fn packets_of_a_capture_fill_clusters() {
    let folder = Folder::new();
    let capture = folder.name("packets.pcap");
    generate(capture.as_ref(), 300);
    let rows = lab(["lengths", &capture, "--json", "-"]).done().json()["rows"].take();
    let rows = rows.as_array().expect("rows");
    assert_eq!(rows.len(), 7);
    assert_eq!(rows[0]["packets"], 300);
    assert_eq!(rows[0]["efficiency"], 1.0);
    let share = |row: &serde_json::Value| row["efficiency"].as_f64().expect("a share");
    assert!(
        rows.windows(2)
            .all(|pair| share(&pair[1]) < share(&pair[0]))
    );
    let empty = folder.name("empty.pcap");
    std::fs::write(&empty, &std::fs::read(&capture).expect("a capture")[..24]).expect("a file");
    lab(["lengths", &empty]).failed(2, &["no IP packets"]);
}

#[test]
fn costs_sum_up() {
    let rows = lab(["cost", "--json", "-"]).done().json()["rows"].take();
    let rows = rows.as_array().expect("rows");
    let areas: Vec<f64> = rows
        .iter()
        .filter(|row| row["kind"] == "area")
        .map(|row| row["value"].as_f64().expect("an area"))
        .collect();
    let (all, parts) = areas.split_last().expect("areas");
    assert!((parts.iter().sum::<f64>() / all - 1.0).abs() < 1e-9);
    let grown = lab(["cost", "--scaling", "--json", "-"]).done().json()["rows"].take();
    assert!(grown.as_array().expect("rows").len() > 16);
}

#[test]
fn every_row_of_the_thesis_is_printed() {
    let folder = Folder::new();
    let (html, parquet) = (folder.name("report.html"), folder.name("rows.parquet"));
    let rows = lab([
        "reproduce",
        "--short",
        "--json",
        "-",
        "--html",
        &html,
        "--parquet",
        &parquet,
    ])
    .done()
    .json()["rows"]
        .take();
    let rows = rows.as_array().expect("rows");
    assert_eq!(rows.len(), 107);
    let keys = [
        "id",
        "quantity",
        "statement",
        "class",
        "published",
        "modelled",
        "unit",
        "error_percent",
        "tolerance_percent",
        "fitted",
        "verdict",
        "note",
    ];
    for row in rows {
        for key in keys {
            assert!(row.get(key).is_some(), "{key}: {row}");
        }
    }
    let page = std::fs::read_to_string(&html).expect("a page");
    for row in rows {
        let id = row["id"].as_str().expect("a name");
        assert!(page.contains(&format!("<td>{id}</td>")), "{id}");
    }
    assert!(page.matches("<svg").count() > 4);
    let table = std::fs::read(&parquet).expect("a table");
    assert!(table.starts_with(b"PAR1") && table.ends_with(b"PAR1"));

    let one = lab(["reproduce", "imagine-092", "--json", "-"])
        .done()
        .json()["rows"]
        .take();
    assert_eq!(one[0]["verdict"], "agrees");
}

#[test]
fn rows_are_computed_on_a_changed_machine_and_explained() {
    let gbit_per_s = |more: &[&str]| {
        let arguments = [&["reproduce", "imagine-055", "--json", "-"], more].concat();
        let rows = lab(arguments).done().json()["rows"].take();
        let modelled = rows[0]["modelled"].as_str().expect("a value").to_owned();
        modelled.parse::<f64>().expect("a number")
    };
    let changed = gbit_per_s(&["--set", "microcode.start_cycles=100"]);
    assert!(changed < 0.8 * gbit_per_s(&[]), "{changed}");

    let folder = Folder::new();
    let text = include_str!("../../machines/imagine.toml");
    let slow = text.replace("clock_mhz = { value = 500", "clock_mhz = { value = 250");
    let slow = folder.write("slow.toml", &slow);
    assert!((gbit_per_s(&["--machine", &slow]) / gbit_per_s(&[]) - 0.5).abs() < 0.1);

    let note = "prologue and epilogue";
    let short = lab(["reproduce", "imagine-055"]).done();
    assert!(!short.text().contains(note), "{}", short.text());
    let explained = lab(["reproduce", "imagine-055", "--notes"]).done();
    assert!(explained.text().contains(note), "{}", explained.text());
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let folder = Folder::new();
    let machine = folder.write("odd.toml", "clock_mhz = { value = 500 }\n");
    for (arguments, says) in [
        (vec!["schedule", "aes-cor"], "no kernel is called aes-cor"),
        (vec!["run", "des"], "no program or kernel is called des"),
        (
            vec!["run", "aes", "--machine", "imagin"],
            "no machine is called imagin",
        ),
        (
            vec!["run", "aes", "--machine", &machine],
            "odd.toml, line 1, clock_mhz: no source",
        ),
        (
            vec!["run", "aes", "--set", "cluster.adders=-1"],
            "cluster.adders: -1 is not",
        ),
        (
            vec!["run", "aes", "--set", "cluster.adders"],
            "write KEY=VALUE",
        ),
        (
            vec!["run", "aes", "--set", "srf.bytes=2048"],
            "bytes of the stream register file",
        ),
        (
            vec!["sweep", "aes", "--over", "clusters=3"],
            "clusters: 3 is no power of two",
        ),
        (
            vec!["sweep", "aes", "--over", "clusters=x"],
            "x is not a number",
        ),
        (
            vec!["sweep", "aes", "--over", "cluster.adders=3,-1"],
            "cluster.adders: -1 is not from 1 to 64",
        ),
        (
            vec![
                "sweep",
                "aes",
                "--over",
                "clusters=1,2",
                "--over",
                "clusters=4",
            ],
            "clusters: it is given twice",
        ),
        (
            vec!["sweep", "aes", "--over", "clock_mhz=1..1000000"],
            "at most 100000 combinations",
        ),
        (
            vec!["sweep", "aes", "--over", "srf.bytes=1024,2048"],
            "bytes of the stream register file",
        ),
        (vec!["lengths", &machine], "odd.toml"),
        (
            vec![
                "run",
                "aes",
                "--set",
                "work.packets=1000000",
                "--set",
                "work.bytes=65536",
            ],
            "a run takes 67108864 bytes at most",
        ),
        (
            vec!["run", "aes-core", "--set", "work.packets=8"],
            "aes-core has no such parameter of the workload; it has none",
        ),
        (
            vec!["sweep", "aes", "--over", "work.bytes=64,0.5"],
            "work.bytes: 0.5 is not a whole number from 1 to 65536",
        ),
        (
            vec!["run", "aes", "--set", "cluster.register_words=12"],
            "values at once, for 12 registers",
        ),
        (
            vec!["run", "aes", "--set", "microcode.instructions=10"],
            "for a store of 10",
        ),
        (
            vec!["cost", "--set", "memory.bytes_per_cycle=65"],
            "memory cannot be faster than srf.bytes_per_cycle",
        ),
        (
            vec!["reproduce", "imagine-999"],
            "no row is called imagine-999",
        ),
        (vec!["reproduce", "ixp-001"], "no row is called ixp-001"),
        (
            vec!["reproduce", "imagine-020", "--set", "cluster.doors=1"],
            "cluster.doors: there is no such parameter",
        ),
        (
            vec!["reproduce", "imagine-020", "--machine", &machine],
            "odd.toml, line 1, clock_mhz: no source",
        ),
        (
            vec!["sensitivity", "--row", "imagine-999"],
            "no row is called imagine-999",
        ),
        (
            vec!["sensitivity", "cluster.doors"],
            "cluster.doors: there is no such parameter",
        ),
    ] {
        lab(arguments).failed(2, &[says]);
    }
}

#[test]
fn a_kernel_file_runs_on_records_and_packets_and_is_compared() {
    let folder = Folder::new();
    let kernel = folder.name("sums.kernel");
    let text = "kernel sums\ninput in 2\noutput out 1\nscalar more\n\
                loop over in {\n a, b = read in\n write out (a + b + more)\n}\n";
    std::fs::write(&kernel, text).expect("a file");
    let [records, expected, other, found, capture] =
        ["in.csv", "out.csv", "other.csv", "found.csv", "in.pcapng"].map(|name| folder.name(name));
    std::fs::write(&records, "# two words\n1,2\n0xff,1\n").expect("a file");
    std::fs::write(&expected, "10\n263\n").expect("a file");
    std::fs::write(&other, "10\n264\n").expect("a file");
    let run = |more: &[&str]| {
        let input = format!("in={records}");
        let start = ["run", &kernel, "--input", &input, "--input", "more=7"];
        lab([&start[..], more].concat())
    };
    let [found_at, expected_at, other_at] =
        [&found, &expected, &other].map(|path| format!("out={path}"));
    let ran = run(&[
        "--output",
        &found_at,
        "--expect",
        &expected_at,
        "--json",
        "-",
    ])
    .done();
    let row = ran.json()["rows"][0].take();
    // Six records more fill the eight clusters; their sums are not in the output.
    assert_eq!(row["records"], 2.0);
    assert_eq!(row["output_words"], 8.0);
    let written = std::fs::read_to_string(&found).expect("a file");
    assert_eq!(written, "0x0000000a\n0x00000107\n");

    let reason = format!("out: record 2 is [107], and {other} has [108]");
    run(&["--expect", &other_at]).failed(1, &[&reason]);

    let packets = [
        [1u8, 0, 0, 0, 2, 0, 0, 0, 9],
        [255, 255, 255, 255, 3, 0, 0, 0, 9],
    ];
    let mut writer = Writer::create(capture.as_ref(), Format::Pcap).expect("a file");
    let raw = Interface::new(LinkType::RawIp);
    let raw = writer.add_interface(&raw).expect("written");
    for packet in &packets {
        let written = writer.write(raw, 1, packet.len() as u32, packet);
        written.expect("written");
    }
    writer.finish().expect("written");
    let input = format!("in={capture}");
    lab(["run", &kernel, "--input", &input, "--output", &found_at]).done();
    let written = std::fs::read_to_string(&found).expect("a file");
    assert_eq!(written, "0x00000003\n0x00000002\n");

    let swept = ["sweep", &kernel, "--over", "clusters=4,8", "--json", "-"];
    assert_eq!(
        lab(swept).done().json()["rows"].as_array().map(Vec::len),
        Some(2)
    );
    let scheduled = lab(["schedule", &kernel]).done().stdout;
    assert!(String::from_utf8_lossy(&scheduled).contains("sums on imagine"));
}

#[test]
fn errors_of_kernel_files_name_file_and_place() {
    let folder = Folder::new();
    let kernel = folder.name("wrong.kernel");
    let good = "kernel k\ninput in 1\noutput out 1\narray t 4\n\
                loop over in {\n a = read in\n write out (t[a])\n}\n";
    let records = folder.name("in.csv");
    let fails = |text: &str, csv: &str, more: &[&str], code, expected: &str| {
        std::fs::write(&kernel, text).expect("a file");
        std::fs::write(&records, csv).expect("a file");
        let said = lab([&["run", kernel.as_str()][..], more].concat());
        said.failed(code, &[expected]);
    };
    let given = format!("in={records}");
    let given = ["--input", given.as_str()];
    fails(
        "kernel k\nx = y\n",
        "",
        &[],
        2,
        &format!("{kernel}:2:5: nothing is called y here"),
    );
    fails(
        good,
        "4\n",
        &given,
        1,
        "line 7, column 13, scratch_read: index 4 is outside array t",
    );
    fails(
        good,
        "1\n2,3\n",
        &given,
        2,
        "input in: record 2 has 2 words, not 1",
    );
    fails(
        good,
        "1\n2x\n",
        &given,
        2,
        &format!("{records}:2:1: \"2x\" is no number"),
    );
    fails(
        good,
        "",
        &["--input", "in=7"],
        2,
        "input in: it takes records, not a number",
    );
    fails(
        good,
        "",
        &["--input", "in=-1"],
        2,
        "-1 is no number of 32 bits",
    );
    fails(
        good,
        "",
        &["--input", "no=7"],
        2,
        "input no: the kernel declares no input of this name",
    );
    fails(
        good,
        "0\n",
        &[given[0], given[1], "--output", "in=x.csv"],
        2,
        "the run has no output of the name in",
    );
    fails(good, "0\n", &["--input", "in=no.pcap"], 2, "no.pcap");
    let built_in = lab(["run", "aes-core", "--input", "in=7"]);
    built_in.failed(2, &["only kernel files take inputs"]);
}

#[test]
fn a_trace_is_a_drawing_or_a_document() {
    let folder = Folder::new();
    let [drawing, document] = ["trace.svg", "trace.json"].map(|name| folder.name(name));
    for trace in [&drawing, &document] {
        lab(["run", "aes", "--set", "work.packets=2", "--trace", trace]).done();
    }
    let svg = std::fs::read_to_string(drawing).expect("a file");
    let events = json_file(document.as_ref())["traceEvents"].take();
    let activities = events.as_array().expect("events").iter();
    let activities = activities.filter(|event| event["ph"] == "X").count();
    assert_eq!(svg.matches("<g><title>").count(), activities);
    assert!(svg.contains(">clusters</text>") && svg.ends_with("</svg>\n"));
}
