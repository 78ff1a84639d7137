//! `weir lab`: kernels and machines on the command line.

use crate::processes::{Folder, weir};

#[test]
fn what_is_listed_can_be_run() {
    let listed = weir(["lab", "list", "--json", "-"]).done().json();
    let items = listed.as_array().expect("items");
    assert!(items.len() > 8);
    for item in items {
        let name = item["name"].as_str().expect("a name");
        match item["kind"].as_str().expect("a kind") {
            "machine" => {
                let parameters = weir(["lab", "list", "--machine", name, "--json", "-"]);
                let rows = parameters.done().json();
                let rows = rows.as_array().expect("parameters");
                assert!(rows.iter().all(|row| row["source"].as_str() != Some("")));
            }
            "kernel" => {
                let ran = weir(["lab", "run", name, "--json", "-"]).done().json();
                assert_eq!(ran[0]["outputs_agree"], true, "{name}");
            }
            _ => {
                let ran = weir(["lab", "run", name, "--packets", "8", "--json", "-"]);
                let ran = ran.done().json();
                assert!(ran[0]["cycles"].as_f64().expect("cycles") > 0.0, "{name}");
            }
        }
    }
}

#[test]
fn the_picture_has_the_cycles_of_the_report() {
    let folder = Folder::new();
    let svg = folder.name("out.svg");
    let report = weir([
        "lab",
        "schedule",
        "aes-core",
        "--machine",
        "imagine",
        "--adders",
        "4",
        "--svg",
        &svg,
        "--json",
        "-",
    ]);
    let blocks = report.done().json();
    let picture = std::fs::read_to_string(&svg).expect("a picture");
    for block in blocks.as_array().expect("blocks") {
        let label = block["block"].as_str().expect("a label");
        let shown = format!("block {label}: {} cycles", block["cycles"]);
        assert!(picture.contains(&shown), "{shown}");
    }
}

#[test]
fn a_sweep_has_every_machine() {
    let swept = weir([
        "lab",
        "sweep",
        "aes",
        "--packets",
        "4",
        "--over",
        "cluster.adders=3,4,6",
        "--over",
        "srf.bytes=1024,131072",
        "--json",
        "-",
    ]);
    let rows = swept.done().json();
    let rows = rows.as_array().expect("rows");
    assert_eq!(rows.len(), 6);
    for row in rows {
        let fits = row["set"]["srf.bytes"] == 131_072.0;
        assert_eq!(row["error"].is_null(), fits, "{row}");
        assert_eq!(row["cycles"].is_number(), fits, "{row}");
    }
}

#[test]
fn every_row_of_the_thesis_is_printed() {
    let rows = weir(["lab", "reproduce", "--short", "--json", "-"])
        .done()
        .json();
    let rows = rows.as_array().expect("rows");
    assert_eq!(rows.len(), 103);
    let keys = [
        "id",
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
    let one = weir(["lab", "reproduce", "imagine-092", "--json", "-"])
        .done()
        .json();
    assert_eq!(one[0]["verdict"], "agrees");
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
            "odd.toml, clock_mhz: no source",
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
            "clusters: it has to be",
        ),
        (
            vec!["sweep", "aes", "--over", "clusters=x"],
            "x is not a number",
        ),
        (
            vec!["reproduce", "imagine-999"],
            "no row is called imagine-999",
        ),
    ] {
        weir([vec!["lab"], arguments].concat()).failed(2, &[says]);
    }
}
