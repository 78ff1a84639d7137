//! What every command promises: exit statuses, one line per error, JSON where
//! it is asked for, silence where that is asked for.

use std::fs::OpenOptions;
use std::process::Stdio;

use crate::captures::packets;
use crate::processes::{Folder, Said, command, example, example_name, json_file, weir, weir_fed};

/// Arguments of a benchmark that takes no time to speak of.
pub const SHORT_BENCH: [&str; 7] = [
    "mac",
    "--algorithm",
    "umac-64",
    "--bytes",
    "64",
    "--rounds",
    "1",
];

/// Every verb that reads files, with arguments that work.
fn calls(folder: &Folder) -> Vec<(&'static str, Vec<String>)> {
    let traffic = example_name("traffic.pcapng");
    let sa = example_name("sa.toml");
    let config = folder.write(
        "weir.toml",
        format!("[input]\npcap = [{traffic:?}]\n[pipeline]\nstages = []\n"),
    );
    let protected = folder.name("protected.pcapng");
    let calls: [(&str, &[&str]); 8] = [
        ("run", &[&config]),
        ("check", &[&config]),
        ("protect", &[&traffic, &protected, "--sa", &sa]),
        (
            "unprotect",
            &[&protected, &folder.name("back.pcapng"), "--sa", &sa],
        ),
        (
            "inspect",
            &[&traffic, "--rules", &example_name("example.rules")],
        ),
        ("measure", &[&traffic]),
        ("bench", &SHORT_BENCH),
        (
            "generate",
            &[&folder.name("generated.pcap"), "--packets", "100"],
        ),
    ];
    let own = |(verb, rest): (&'static str, &[&str])| {
        let all = [&[verb], rest].concat();
        (verb, all.into_iter().map(str::to_owned).collect())
    };
    calls.into_iter().map(own).collect()
}

fn with(call: &[String], more: &[&str]) -> Said {
    weir(call.iter().map(String::as_str).chain(more.iter().copied()))
}

#[test]
fn every_verb_ends_with_0_and_is_quiet_when_told() {
    let folder = Folder::new();
    for (verb, call) in calls(&folder) {
        let said = with(&call, &["--quiet"]).done();
        assert_eq!(said.messages().count(), 0, "{verb}: {}", said.stderr);
        let is_insecure = matches!(verb, "protect" | "unprotect");
        assert_eq!(said.stderr.contains("nonces repeat"), is_insecure, "{verb}");
        // Alerts are requested output.
        assert!(said.stdout.is_empty() || verb == "inspect", "{verb}");
        let said = with(&call, &[]).done();
        assert!(!said.stderr.is_empty() || !said.stdout.is_empty(), "{verb}");
    }
}

#[test]
fn every_verb_writes_one_document() {
    let folder = Folder::new();
    let json = folder.name("report.json");
    for (verb, call) in calls(&folder) {
        with(&call, &["--json", &json]).done();
        let said = with(&call, &["--json", "-"]).done();
        let (from_file, from_stdout) = (json_file(json.as_ref()), said.json());
        assert_eq!(from_file["schema"], format!("weir-{verb}"));
        assert_eq!(from_file["version"], 2);
        assert_eq!(from_file["command"], verb);
        assert_eq!(from_file["weir_version"], env!("CARGO_PKG_VERSION"));
        // But for times, it is the same document.
        let names = |document: &serde_json::Value| -> Vec<String> {
            let object = document.as_object().expect("an object");
            object.keys().cloned().collect()
        };
        assert_eq!(names(&from_file), names(&from_stdout), "{verb}");
    }
    let leftovers = folder
        .names()
        .into_iter()
        .filter(|name| name.ends_with(".tmp"));
    assert_eq!(leftovers.count(), 0);
}

#[test]
fn wrong_command_lines_end_with_2_and_one_line() {
    weir(["--nonsense"]).failed(2, &["--nonsense", "--help"]);
    weir(["nonsense"]).failed(2, &["nonsense", "--help"]);
    weir::<&str>([]).failed(2, &["no command", "--help"]);
    let folder = Folder::new();
    for (_, call) in calls(&folder) {
        with(&call, &["--nonsense"]).failed(2, &["--nonsense", "--help"]);
        with(&call, &["--json"]).failed(2, &["--json"]);
        weir([&call[0]]).failed(2, &["required", "--help"]);
    }
    let sa = example_name("sa.toml");
    let traffic = example_name("traffic.pcapng");
    let wrong: [(&[&str], &str); 21] = [
        (&["run", "x.toml", "--shards", "0"], "1..=256"),
        (&["run", "x.toml", "--shards", "many"], "--workers"),
        (&["measure", &traffic, "--key", "nose"], "5-tuple"),
        (
            &["measure", &traffic, "--value", "money"],
            "packets or bytes",
        ),
        (&["measure", &traffic, "--interval", "0"], "positive"),
        (&["measure", &traffic, "--interval", "nan"], "positive"),
        (&["measure", &traffic, "--interval", "-1"], "positive"),
        (
            &["measure", &traffic, "--interval", "1e-12"],
            "at least 1e-9",
        ),
        (&["measure", &traffic, "--epsilon", "0"], "epsilon"),
        (&["measure", &traffic, "--delta", "2"], "delta"),
        (&["measure", &traffic, "--top", "0"], "top list"),
        (&["measure", &traffic, "--change", "ma:0"], "use 1 to"),
        (&["measure", &traffic, "--change", "magic"], "arima"),
        (&["measure", &traffic, "--threshold", "1"], "--change"),
        (
            &[
                "measure",
                &traffic,
                "--change",
                "ma:2",
                "--threshold",
                "0.001",
            ],
            "noise",
        ),
        (
            &[
                "measure",
                &traffic,
                "--change",
                "ma:2",
                "--keys-one-in",
                "3",
            ],
            "same or next",
        ),
        (&["measure", &traffic, "--sketches"], "--parquet"),
        (&["generate", "-", "--sizes", "huge"], "imix"),
        (&["generate", "-", "--zipf", "nan"], "Zipf"),
        (&["generate", "-", "--ipv6", "2"], "between 0 and 1"),
        (
            &["protect", &traffic, "-", "--sa", &sa, "--json", "-"],
            "two outputs",
        ),
    ];
    for (arguments, word) in wrong {
        let said = weir([arguments, &["--quiet"]].concat()).failed(2, &[word]);
        assert!(said.stdout.is_empty(), "{arguments:?}");
    }
    assert_eq!(folder.names(), ["weir.toml"]);
}

#[test]
fn missing_files_end_with_2_and_are_named() {
    let folder = Folder::new();
    let (no_file, out) = (folder.name("not there"), folder.name("out.pcapng"));
    let (traffic, sa) = (example_name("traffic.pcapng"), example_name("sa.toml"));
    let rules = example_name("example.rules");
    let calls: [&[&str]; 9] = [
        &["run", &no_file],
        &["check", &no_file],
        &["protect", &no_file, &out, "--sa", &sa],
        &["protect", &traffic, &out, "--sa", &no_file],
        &["unprotect", &no_file, &out, "--sa", &sa],
        &["inspect", &no_file, "--rules", &rules],
        &["inspect", &traffic, "--rules", &no_file],
        &["measure", &no_file],
        &["measure", &traffic, &no_file],
    ];
    for call in calls {
        weir([call, &["--quiet"]].concat()).failed(2, &["not there", "No such file"]);
    }
    assert!(folder.names().is_empty());
}

#[test]
fn outputs_never_overwrite_what_is_needed() {
    let folder = Folder::new();
    let sa = folder.write("sa.toml", std::fs::read(example("sa.toml")).expect("read"));
    let rules = folder.write(
        "a.rules",
        std::fs::read(example("example.rules")).expect("read"),
    );
    let traffic = std::fs::read(example("traffic.pcapng")).expect("read");
    let input = folder.write("in.pcapng", &traffic);
    let (linked, out) = (folder.name("link.pcapng"), folder.name("out.pcapng"));
    std::os::unix::fs::symlink(&input, &linked).expect("a link");
    let config = |name: &str, text: &str| folder.write(name, text);
    let same = config(
        "same.toml",
        "[input]\npcap = [\"in.pcapng\"]\n[pipeline]\nstages = []\n[output]\npcap = \"link.pcapng\"\n",
    );
    let own = config(
        "own.toml",
        "[input]\npcap = [\"in.pcapng\"]\n[pipeline]\nstages = []\n[report]\njson = \"own.toml\"\n",
    );
    let calls: [&[&str]; 12] = [
        &["protect", &input, &input, "--sa", &sa],
        &["protect", &input, &linked, "--sa", &sa],
        &["protect", &linked, &input, "--sa", &sa],
        &["protect", &input, &sa, "--sa", &sa],
        &["protect", &input, &out, "--sa", &sa, "--json", &out],
        &[
            "protect",
            &input,
            &out,
            "--sa",
            &sa,
            "--wireshark-keys",
            &input,
        ],
        &["unprotect", &input, &input, "--sa", &sa],
        &["inspect", &input, "--rules", &rules, "--json", &input],
        &["inspect", &input, "--rules", &rules, "--eve", &rules],
        &["measure", &input, "--json", &linked],
        &["run", &same],
        &["check", &own],
    ];
    let before = folder.names();
    for call in calls {
        weir([call, &["--quiet"]].concat()).failed(2, &["output"]);
    }
    assert_eq!(folder.names(), before);
    assert_eq!(std::fs::read(&input).expect("read"), traffic);
    let kept = std::fs::read(&rules).expect("read");
    assert_eq!(kept, std::fs::read(example("example.rules")).expect("read"));
}

/// A mistyped path makes no folders.
#[test]
fn folders_of_outputs_must_exist() {
    let folder = Folder::new();
    let config = |text: &str| {
        let traffic = example_name("traffic.pcapng");
        let head = format!("[input]\npcap = {traffic:?}\n[pipeline]\n");
        folder.write("weir.toml", head + text)
    };
    let (traffic, sa) = (example_name("traffic.pcapng"), example_name("sa.toml"));
    let rules = example_name("example.rules");
    let (nowhere, out) = (folder.name("nowhere/out.pcapng"), folder.name("out.pcapng"));
    let config = config("stages = []\n[output]\npcap = \"nowhere/out.pcapng\"\n");
    let inspect = ["inspect", &traffic, "--rules", &rules];
    let calls: [Vec<&str>; 9] = [
        vec!["generate", &nowhere],
        vec!["run", &config],
        vec!["protect", &traffic, &nowhere, "--sa", &sa],
        vec![
            "protect",
            &traffic,
            &out,
            "--sa",
            &sa,
            "--wireshark-keys",
            &nowhere,
        ],
        vec!["measure", &traffic, "--json", &nowhere],
        vec!["measure", &traffic, "--json-lines", &nowhere],
        vec!["measure", &traffic, "--parquet", &nowhere],
        [&inspect[..], &["--eve", &nowhere]].concat(),
        [&inspect[..], &["--alerted-pcap", &nowhere]].concat(),
    ];
    for call in calls {
        let said = weir([&call[..], &["--quiet"]].concat());
        said.failed(2, &["nowhere", "does not exist", "create it first"]);
    }
    assert_eq!(folder.names(), ["weir.toml"]);
}

/// What nothing was done to is not written, and what was there stays.
#[test]
fn without_protected_packets_there_is_no_output() {
    let folder = Folder::new();
    let traffic = example_name("traffic.pcapng");
    let sa = example_name("sa.toml");
    let out = folder.write("out.pcapng", "as it was");
    weir(["unprotect", &traffic, &out, "--sa", &sa, "-q"]).failed(1, &["no packet verified"]);
    assert_eq!(std::fs::read(&out).expect("read"), b"as it was");
    assert_eq!(folder.names(), ["out.pcapng"]);
}

#[test]
fn files_of_another_kind_are_named_as_such() {
    let folder = Folder::new();
    let binary = folder.write("binary.toml", b"[pipe\xff\xfe");
    let traffic = example_name("traffic.pcapng");
    weir(["run", &binary]).failed(2, &["binary.toml", "not a text file", "byte 5", "TOML"]);
    let out = folder.name("out.pcapng");
    let protect = |sa: &str| weir(["protect", &traffic, &out, "--sa", sa]);
    protect(&binary).failed(2, &["binary.toml", "not a text file", "byte 5"]);
    protect(&example_name("example.rules")).failed(2, &["example.rules:"]);
    weir(["run", "/dev/null"]).failed(2, &["/dev/null", "no pipeline", "[pipeline]"]);
    weir(["measure", &binary]).failed(2, &["binary.toml", "not a capture"]);
    let rules = weir(["inspect", &traffic, "--rules", &traffic, "-q"]);
    assert_eq!(rules.status, Some(2), "{}", rules.stderr);
}

#[test]
fn misspelt_names_have_a_suggestion() {
    let folder = Folder::new();
    let config = |name: &str, text: &str| {
        let traffic = example_name("traffic.pcapng");
        folder.write(name, format!("[input]\npcap = {traffic:?}\n{text}"))
    };
    let key = config("key.toml", "[pipeline]\nstage = []\n");
    weir(["check", &key]).failed(2, &["key.toml:"]);
    let stage = config("stage.toml", "[pipeline]\nstages = [\"inspekt\"]\n");
    weir(["check", &stage]).failed(
        2,
        &["stage.toml:4:", "\"inspekt\"", "did you mean \"inspect\"?"],
    );
    let table = config("table.toml", "[pipeline]\nstages = []\n[mesure]\n");
    weir(["check", &table]).failed(2, &["table.toml:5:", "did you mean \"measure\"?"]);
    weir(["protekt"]).failed(2, &["protekt", "protect"]);
}

#[test]
fn messages_have_the_form_that_is_asked_for() {
    let folder = Folder::new();
    let no_file = folder.name("not there");
    let said = weir(["measure", &no_file, "--log-format", "json"]);
    assert_eq!(said.status, Some(2));
    let line: serde_json::Value = serde_json::from_str(&said.stderr).expect("one line of JSON");
    assert_eq!(line["level"], "error");
    assert!(
        line["message"]
            .as_str()
            .is_some_and(|text| text.contains("not there"))
    );
    let said = weir(["--color", "always", "measure", &no_file]);
    assert!(
        said.stderr.starts_with("\x1b[1;31mweir: \x1b[0m"),
        "{}",
        said.stderr
    );
    let traffic = example_name("traffic.pcapng");
    let said = weir(["measure", &traffic, "--verbose", "--json", "-"]).done();
    assert!(said.stderr.contains("active ISA"), "{}", said.stderr);
    assert!(
        said.stderr.contains(&format!("reading {traffic}")),
        "{}",
        said.stderr
    );
    said.json();
    weir(["measure", &traffic, "-v", "-q"]).failed(2, &["--quiet"]);
}

#[test]
fn outputs_that_are_not_written_are_refused() {
    let folder = Folder::new();
    for name in ["out.tsh", "out.pcap.gz", "out.pcapng.zst"] {
        let out = folder.name(name);
        weir(["generate", &out, "-q"]).failed(2, &[name, "*.pcapng"]);
    }
    let in_folder = folder.name("");
    weir(["generate", &in_folder, "-q"]).failed(2, &[&in_folder]);
    assert!(folder.names().is_empty());
}

#[test]
fn standard_streams_carry_captures() {
    let traffic = std::fs::read(example("traffic.pcapng")).expect("read");
    let sa = example_name("sa.toml");
    let said = weir_fed(["protect", "-", "-", "--sa", &sa, "-q"], &traffic).done();
    let said = weir_fed(["measure", "-", "--json", "-", "-q"], &said.stdout).done();
    assert_eq!(said.json()["packets"], 3564);
    let said = weir_fed(["measure", "-", "-q"], b"");
    said.failed(2, &["standard input", "empty"]);
}

#[test]
fn the_same_arguments_generate_the_same_bytes() {
    let folder = Folder::new();
    let names = ["one.pcap", "two.pcap", "other.pcap"].map(|name| folder.name(name));
    let plan = [
        "--packets",
        "1000",
        "--flows",
        "50",
        "--payload",
        "http",
        "--plant",
        "needle",
    ];
    for (name, seed) in names.iter().zip(["7", "7", "8"]) {
        let arguments = [
            &["generate", name, "--seed", seed, "--json", "-"],
            &plan[..],
        ]
        .concat();
        let report = weir(arguments).done().json();
        assert_eq!(report["packets"], 1000);
        assert_eq!(report["interrupted"], false);
        let size = std::fs::metadata(name).expect("a file").len();
        assert_eq!(report["file_bytes"], size);
        let planted = packets(name)
            .iter()
            .filter(|packet| packet.bytes.windows(6).any(|window| window == b"needle"))
            .count();
        assert_eq!(report["planted"], planted);
    }
    let bytes = names
        .each_ref()
        .map(|name| std::fs::read(name).expect("read"));
    assert!(bytes[0] == bytes[1] && bytes[0] != bytes[2]);
    let piped = weir([&["generate", "-", "--seed", "7", "-q"], &plan[..]].concat()).done();
    let piped = folder.write("piped.pcapng", piped.stdout);
    let named: Vec<_> = packets(&names[0]).into_iter().map(|p| p.bytes).collect();
    let piped: Vec<_> = packets(piped).into_iter().map(|p| p.bytes).collect();
    assert_eq!(named, piped);
}

#[test]
fn engines_pass_their_tests() {
    let report = weir(["engines", "--json", "-"]).done().json();
    let engines = report["rows"].as_array().expect("engines");
    assert!(engines.iter().any(|engine| engine["available"] == true));
    for engine in engines {
        assert!(engine["engine"].is_string() && engine["can"].is_array());
        if engine["available"] == true {
            assert_eq!(engine["self_test"], "passed", "{engine}");
        }
    }
    let tiers = report["tiers"].as_array().expect("tiers");
    let in_use = tiers.iter().filter(|tier| tier["in_use"] == true).count();
    assert_eq!(in_use, 1);
}

#[test]
fn a_tier_is_forced_by_name() {
    let engines = |tier: &str| {
        let mut child = command(["engines", "--json", "-"]);
        child
            .env("WEIR_ISA", tier)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Said::of(child.spawn().expect("weir starts"))
    };
    let report = engines("scalar").done().json();
    let tiers = report["tiers"].as_array().expect("tiers").clone();
    let scalar = tiers.iter().find(|tier| tier["tier"] == "scalar");
    assert_eq!(scalar.expect("a tier")["in_use"], true);
    engines("abacus").failed(2, &["abacus", "scalar"]);
}

#[test]
fn help_completions_and_pages_name_every_command() {
    let help = weir(["--help"]).done();
    let version = weir(["--version"]).done();
    assert_eq!(
        version.text(),
        format!("weir {}\n", env!("CARGO_PKG_VERSION"))
    );
    let verbs = [
        "run",
        "check",
        "protect",
        "unprotect",
        "inspect",
        "measure",
        "generate",
        "engines",
        "completions",
        "man",
    ];
    let folder = Folder::new();
    let pages = folder.name("pages");
    weir(["man", &pages]).failed(2, &["pages", "does not exist"]);
    std::fs::create_dir(&pages).expect("a folder");
    weir(["man", &pages]).done();
    for verb in verbs {
        assert!(help.text().contains(&format!("\n  {verb} ")), "{verb}");
        assert!(
            weir([verb, "--help"])
                .done()
                .text()
                .contains("Usage: weir ")
        );
        let page = folder.path(&format!("pages/weir-{verb}.1"));
        let page = std::fs::read_to_string(page).expect("a page");
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"));
    }
    // The page of the program that `weir lab` starts is its own.
    let page = std::fs::read_to_string(folder.path("pages/weir.1")).expect("a page");
    assert!(page.contains("weir\\-lab(1)"), "{page}");
    assert!(!folder.path("pages/weir-lab.1").exists());
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = weir(["completions", shell]).done();
        for verb in verbs {
            assert!(script.text().contains(verb), "{shell}: {verb}");
        }
    }
    weir(["completions", "ed"]).failed(2, &["ed", "zsh"]);
}

#[test]
fn a_full_disk_is_told() {
    let full = || {
        OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .expect("open")
    };
    let folder = Folder::new();
    let (traffic, sa) = (example_name("traffic.pcapng"), example_name("sa.toml"));
    let rules = example_name("example.rules");
    let config = folder.write(
        "weir.toml",
        format!(
            "[input]\npcap = [{traffic:?}]\n[pipeline]\nstages = [\"inspect\"]\n\
             [inspect]\nrules = [{rules:?}]\nalerts = \"/dev/full\"\n"
        ),
    );
    let out = folder.name("out.pcapng");
    let calls: [&[&str]; 7] = [
        &["measure", &traffic, "--json", "/dev/full"],
        &[
            "inspect",
            &traffic,
            "--rules",
            &rules,
            "--json",
            "/dev/full",
        ],
        &["protect", &traffic, "/dev/full", "--sa", &sa],
        &[
            "protect",
            &traffic,
            "/dev/full",
            "--sa",
            &sa,
            "--workers",
            "2",
        ],
        &[
            "protect",
            &traffic,
            &out,
            "--sa",
            &sa,
            "--json",
            "/dev/full",
        ],
        &["generate", "/dev/full"],
        &["run", &config],
    ];
    for call in calls {
        weir([call, &["--quiet"]].concat()).failed(1, &["No space left on device"]);
    }
    assert!(std::fs::metadata("/dev/full").expect("a device").len() == 0);
    let device = std::fs::metadata("/dev/full")
        .expect("still there")
        .file_type();
    assert!(std::os::unix::fs::FileTypeExt::is_char_device(&device));

    let to_full = |arguments: &[&str]| {
        let child = command(arguments)
            .stdout(full())
            .stderr(Stdio::piped())
            .spawn();
        Said::of(child.expect("weir starts"))
    };
    to_full(&["measure", &traffic]).failed(1, &["standard output", "No space left"]);
    to_full(&["engines", "--json", "-"]).failed(1, &["No space left"]);
    // Where nobody can be told, the status still tells.
    let deaf = |arguments: &[&str]| {
        let mut child = command(arguments);
        let status = child.stdout(Stdio::null()).stderr(full()).status();
        status.expect("weir starts").code()
    };
    assert_eq!(deaf(&["measure", "/not/there"]), Some(2));
    assert_eq!(deaf(&["--nonsense"]), Some(2));
    assert_eq!(
        deaf(&["protect", &traffic, "/dev/null", "--sa", &sa]),
        Some(0)
    );
}
