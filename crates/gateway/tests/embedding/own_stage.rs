//! `own_stage.rs` outside the workspace: a crate of one file, which has words of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use weir_netlab::{Cable, inside};
use weir_processes::Folder;

use crate::{root, run, target, traffic, watched};

#[test]
fn a_stage_of_another_crate_has_words_of_its_own() {
    let folder = Folder::new();
    let program = build(&folder);
    let capture = traffic();
    let of_file = run(&program, &[capture.to_str().expect("text")]);
    let (seen, words): (Vec<&str>, Vec<&str>) = of_file
        .text()
        .lines()
        .partition(|line| line.contains(" hops left: "));
    assert!(seen.len() > 2, "{seen:?}");
    assert_eq!(words, EXPECTED);
    inside(Cable::default(), |namespace| {
        let live = watched(namespace, &program, &["-i", "b"]);
        assert_eq!(live.lines().collect::<Vec<_>>(), EXPECTED);
    });
}

/// The 34 packets to multicast groups that have one hop left are taken off the work.
const EXPECTED: [&str; 3] = [
    "3564 packets",
    "too_few_hops: 2 packets. It would not live for as many hops as are configured.",
    "last_hop: 2 packets",
];

/// Builds a crate of that file with the workspace's dependencies, beside what is built already.
fn build(folder: &Folder) -> PathBuf {
    let root = root();
    let path = |name: &str| format!("{name:?}", name = root.join(name));
    folder.write(
        "Cargo.toml",
        format!(
            "[package]\nname = \"own-stage\"\nedition = \"2024\"\n\
             [[bin]]\nname = \"own-stage\"\npath = \"own_stage.rs\"\n\
             [dependencies]\nweir-capture.path = {}\nweir-packet.path = {}\nweir-port.path = {}\nweir-stream.path = {}\n\
             [workspace]\n",
            path("crates/capture"),
            path("crates/packet"),
            path("crates/port"),
            path("crates/stream"),
        ),
    );
    copy(&root.join("examples/own_stage.rs"), folder);
    copy(&root.join("Cargo.lock"), folder);
    let built = target().join("outside");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--offline", "--quiet", "--manifest-path"])
        .arg(folder.path("Cargo.toml"))
        .arg("--target-dir")
        .arg(&built);
    weir_processes::run(cargo, b"").done();
    built.join("debug/own-stage")
}

fn copy(file: &Path, folder: &Folder) {
    let name = file.file_name().expect("a name").to_str().expect("text");
    std::fs::copy(file, folder.path(name)).expect("copied");
}
