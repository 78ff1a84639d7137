//! `weir lab` starts the lab's program with its arguments.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use weir_processes::run;

use crate::processes::{Beside, Folder};

/// Puts an executable file into a folder. Another process writes it: one of this process would keep
/// it open, for a moment, in what other tests start.
fn install(folder: &Folder, from: &str, name: &str) {
    let arguments = ["-D", "-m", "755", from, &folder.name(name)];
    let done = Command::new("install").args(arguments).status();
    assert!(done.expect("install starts").success());
}

/// A copy of `weir` in a folder of its own, where no other program is on PATH.
fn weir_in(folder: &Folder) -> Command {
    install(folder, env!("CARGO_BIN_EXE_weir"), "bin/weir");
    let mut command = Command::new(folder.path("bin/weir"));
    command.env("PATH", folder.path("elsewhere"));
    command
}

/// A program in the place of `weir-lab`.
fn lab(folder: &Folder, place: &str, script: &str) {
    let script = folder.write("script", format!("#!/bin/sh\n{script}\n"));
    install(folder, &script, &format!("{place}/weir-lab"));
}

#[test]
fn the_program_beside_weir_comes_before_those_on_path() {
    let folder = Folder::new();
    let lines = "for argument; do echo \"$argument\"; done; read line; echo \"$line\" >&2; exit 7";
    lab(&folder, "elsewhere", lines);
    let mut command = weir_in(&folder);
    command.args([
        "lab", "run", "aes", "--set", "a=1", "-v", "--", "-x", "--help",
    ]);
    let said = run(command, b"input\n");
    assert_eq!(said.status, Some(7), "{}", said.stderr);
    let shown: Vec<&str> = said.text().lines().collect();
    let own = ["run", "aes", "--set", "a=1", "-v", "--", "-x", "--help"];
    assert_eq!(shown[..2], ["--color=auto", "--log-format=text"]);
    assert_eq!(shown[2..], own);
    assert_eq!(said.stderr, "input\n");

    lab(&folder, "bin", "echo beside");
    let mut command = weir_in(&folder);
    command.args(["lab", "list"]);
    assert_eq!(run(command, b"").done().text(), "beside\n");
}

#[test]
fn options_reach_the_program() {
    let folder = Folder::new();
    lab(&folder, "bin", "echo \"$@\"");
    let options = "--color=never --log-format=json --verbose";
    for (arguments, expected) in [
        (
            &["lab", "--help"][..],
            "--color=auto --log-format=text --help",
        ),
        (&["lab", "-h"], "--color=auto --log-format=text -h"),
        (&["lab"], "--color=auto --log-format=text"),
        (
            &["--color", "never", "-v", "lab", "--log-format", "json"],
            options,
        ),
        (
            &["lab", "--json", "-", "list"],
            "--color=auto --log-format=text --json - list",
        ),
    ] {
        let mut command = weir_in(&folder);
        command.args(arguments);
        assert_eq!(run(command, b"").done().text().trim_end(), expected);
    }
}

/// It is the same process, so that signals are its own.
#[test]
fn signals_reach_the_program() {
    let folder = Folder::new();
    lab(&folder, "bin", "echo $$; exec sleep 600");
    let mut command = weir_in(&folder);
    command.arg("lab").env("PATH", "/usr/bin:/bin");
    let mut running = Beside::start(command);
    let mut shown = [0; 12];
    let mut stdout = running.child().stdout.take().expect("a pipe");
    let bytes = std::io::Read::read(&mut stdout, &mut shown).expect("read");
    let id = running.child().id().to_string();
    assert_eq!(String::from_utf8_lossy(&shown[..bytes]).trim_end(), id);
    running.signal(Signal::HUP);
    let status = running.child().wait().expect("it ends");
    assert_eq!(status.signal(), Some(Signal::HUP.as_raw()));
}

#[test]
fn a_missing_program_is_told_in_one_line() {
    let folder = Folder::new();
    let mut command = weir_in(&folder);
    command.args(["lab", "list"]).stdin(Stdio::null());
    let remedy = ["weir-lab", "make install-lab", "--package weir-lab"];
    let said = run(command, b"").failed(2, &remedy);
    assert!(said.stdout.is_empty());
}
