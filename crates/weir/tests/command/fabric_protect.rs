//! `weir fabric protect` and `weir fabric unprotect`, and the stages in `weir run`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;
use weir_packet::file::{Format, Interface, Writer};
use weir_packet::wire::LinkType;

use crate::captures::packets;
use crate::fabric::{frame_of, native_of};
use crate::processes::{Folder, json_file, weir};

/// Frames of RoCEv2 and packets of InfiniBand that the fabric file lists, and others.
pub fn capture(folder: &Folder) -> String {
    let path = folder.name("plain.pcapng");
    let mut writer = Writer::create(Path::new(&path), Format::PcapNg).expect("created");
    let links = [LinkType::Ethernet, LinkType::InfiniBand];
    for link in links {
        writer
            .add_interface(&Interface::new(link))
            .expect("declared");
    }
    let mut write = |interface, record: &[u8]| {
        let bytes = record.len() as u32;
        let written = writer.write(interface, 1_700_000_000_000_000_000, bytes, record);
        written.expect("written");
    };
    for psn in 0..40 {
        // SEND Only, an acknowledgement's number stays behind; a plain one of another queue pair.
        write(0, &frame_of(0x04, 0x17, psn, b"disk"));
        write(1, &native_of(0x04, 0x17, psn, b"native"));
        write(0, &frame_of(0x04, 0x18, psn, b"others"));
    }
    writer.finish().expect("finished");
    path
}

const FILE: &str = r#"
[[partition]]
name = "storage"
partition_key = 0x8001
mode = "allow"
secret = "17c29ba23bb9d221730bf93a1f25f8228cabaf51a47bd0927e3c0a1f25f8228c"

[[queue_pair]]
name = "disk"
partition = "storage"
transport = "rc"
local = { address = "198.18.0.1", queue_pair = 0x16 }
remote = { address = "198.18.0.2", queue_pair = 0x17 }
session_random = "0f0e0d0c0b0a09080706050403020100"

[[queue_pair]]
name = "native"
partition = "storage"
transport = "rc"
local = { address = 1, queue_pair = 0x16 }
remote = { address = 2, queue_pair = 0x17 }
session_random = "0f0e0d0c0b0a09080706050403020101"
"#;

fn private(folder: &Folder, name: &str, text: &str) -> String {
    let path = folder.write(name, text);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("a mode");
    path
}

/// The files of both sides.
pub fn files(folder: &Folder) -> [String; 2] {
    let other = FILE
        .replace("local", "else")
        .replace("remote", "local")
        .replace("else", "remote");
    [
        private(folder, "one.toml", FILE),
        private(folder, "other.toml", &other),
    ]
}

fn records(path: &str) -> Vec<Vec<u8>> {
    let records = packets(path).into_iter();
    records.map(|packet| packet.bytes).collect()
}

#[test]
fn captures_come_back_as_they_were() {
    let folder = Folder::new();
    let (plain, [one, other]) = (capture(&folder), files(&folder));
    let (secure, restored) = (folder.name("secure.pcapng"), folder.name("restored.pcapng"));
    let ledger = folder.name("ledger");
    let protect = |more: &[&str]| {
        let arguments = [
            "fabric", "protect", &plain, &secure, "--fabric", &one, "--state", &ledger, "--json",
            "-", "-q",
        ];
        weir([&arguments[..], more].concat())
    };
    protect(&[]).failed(2, &["no ledger", "queue_pair \"disk\"", "--new-key disk"]);
    protect(&["--new-key", "nobody"]).failed(2, &["nobody"]);
    let found = protect(&["--new-key", "all", "--workers", "2"])
        .done()
        .json();
    assert_eq!(found["schema"], "weir-fabric-protect");
    assert_eq!(
        [&found["packets"], &found["protected"], &found["bypassed"]],
        [&json!(120), &json!(80), &json!(40)]
    );
    let rows = found["queue_pairs"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["name"], "disk");
    assert_eq!(rows[0]["packets"], 40);
    assert_eq!(rows[1]["from"], "LID 1");

    let unprotect = |file: &str| {
        weir([
            "fabric",
            "unprotect",
            &secure,
            &restored,
            "--fabric",
            file,
            "--json",
            "-",
            "-q",
        ])
    };
    let found = unprotect(&other).done().json();
    assert_eq!(
        [
            &found["unprotected"],
            &found["bypassed"],
            &found["fabric_alarms"]
        ],
        [&json!(80), &json!(40), &json!(0)]
    );
    assert!(records(&restored) == records(&plain));
    // As often as one likes, and by a sender that starts again.
    unprotect(&other).done();
    let before = records(&secure);
    protect(&[]).done();
    assert!(records(&secure) != before);
    unprotect(&other).done();
    assert!(records(&restored) == records(&plain));
    let said = weir([
        "fabric",
        "unprotect",
        &secure,
        &restored,
        "--fabric",
        &one,
        "-q",
    ]);
    said.failed(1, &["no packet verified", "session randoms"]);
}

#[test]
fn wrong_files_are_refused_with_line_and_column() {
    let folder = Folder::new();
    let (plain, [one, _]) = (capture(&folder), files(&folder));
    let out = folder.name("out.pcapng");
    let protect = |file: &str| {
        let arguments = ["fabric", "protect", &plain, &out, "--fabric", file];
        weir([&arguments[..], &["--repeatable-insecure", "-q"]].concat())
    };
    let wrong = FILE.replace("transport = \"rc\"", "transport = \"xx\"");
    let wrong = private(&folder, "wrong.toml", &wrong);
    protect(&wrong).failed(2, &["wrong.toml:11:13", "rc"]);
    let named = FILE.replacen("secret = \"17", "secret_file = \"17", 1);
    let named = private(&folder, "named.toml", &named);
    protect(&named).failed(2, &["named.toml:6:15", "secret_file", "cannot open"]);
    std::fs::set_permissions(&one, PermissionsExt::from_mode(0o644)).expect("a mode");
    protect(&one).failed(2, &["one.toml", "chmod 600"]);
    protect("not there").failed(2, &["not there", "cannot open"]);
    let none = private(&folder, "none.toml", "");
    protect(&none).failed(1, &["no packet was protected"]);
    assert!(!Path::new(&out).exists());
}

#[test]
fn stages_run_over_captures() {
    let folder = Folder::new();
    let plain = capture(&folder);
    files(&folder);
    let run = |input: &str, output: &str, file: &str, stages: &str| {
        let config = folder.write(
            "weir.toml",
            format!(
                "[input]\npcap = {input:?}\n[output]\npcap = {output:?}\n\
                 [pipeline]\nstages = [{stages}]\n\
                 [fabric]\nfile = {file:?}\nrepeatable_insecure = true\n\
                 [fabric-filter]\n[[fabric-filter.port]]\nname = \"input\"\n\
                 partition_keys = [0x8001]\n"
            ),
        );
        weir(["check", &config, "-q"]).done();
        let json = folder.name("run.json");
        weir(["run", &config, "--json", &json, "-q"]).done();
        json_file(json.as_ref())
    };
    let (secure, restored) = (folder.name("secure.pcapng"), folder.name("restored.pcapng"));
    let stages = "\"fabric-filter\", \"fabric-protect\"";
    let found = run(&plain, &secure, "one.toml", stages);
    assert_eq!(
        (&found["protected"], &found["bypassed"]),
        (&80.into(), &40.into())
    );
    let found = run(&secure, &restored, "other.toml", "\"fabric-unprotect\"");
    assert_eq!(found["unprotected"], 80);
    assert_eq!(found["queue_pairs"][0]["direction"], "unprotect");
    assert!(records(&restored) == records(&plain));

    let unnamed = folder.write(
        "unnamed.toml",
        format!(
            "[input]\npcap = {plain:?}\n[pipeline]\nstages = \"fabric-filter\"\n[fabric-filter]\n"
        ),
    );
    weir(["check", &unnamed]).failed(2, &["fabric-filter.port", "\"input\""]);
    let unknown = folder.write(
        "unknown.toml",
        format!(
            "[input]\npcap = {plain:?}\n[pipeline]\nstages = \"fabric-filter\"\n\
             [fabric-filter]\nscheme = \"off\"\n"
        ),
    );
    weir(["check", &unknown]).failed(2, &["unknown.toml:6:10", "stateful"]);
}
