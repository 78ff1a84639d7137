//! Weir inside other programs: the examples run as they are, over a capture and at an interface.
//!
//! `cargo test` builds the examples; with `--test`, which leaves them out, older ones would run.

#![cfg(target_os = "linux")]

mod embed;
mod own_stage;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use weir_gateway::{Rate, Sender};
use weir_netlab::Namespace;
use weir_processes::Said;
use weir_stream::StopFlag;

/// Packets of the example's capture.
const PACKETS: u64 = 3564;

/// The folder that everything is built in.
fn target() -> PathBuf {
    let this = std::env::current_exe().expect("a path");
    let deps = this.parent().expect("a folder");
    let profile = deps.parent().expect("a folder");
    profile.to_owned()
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("a path")
}

fn traffic() -> PathBuf {
    root().join("examples/traffic.pcapng")
}

/// A program that watches the interface `b`, shows how many packets there are so far for each line
/// of its standard input, and ends with that.
struct Watching {
    child: Child,
    input: ChildStdin,
    /// Lines before the end.
    output: BufReader<std::process::ChildStdout>,
}

impl Watching {
    fn start(namespace: &Namespace, program: &Path, arguments: &[&str]) -> Watching {
        let mut command = namespace.command(program.to_str().expect("text"));
        let mut child = command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut watching = Watching {
            child,
            input,
            output,
        };
        // It says so once its port is open.
        watching.packets();
        watching
    }

    /// Packets so far.
    fn packets(&mut self) -> u64 {
        self.input.write_all(b"\n").expect("asked");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        let count = line.strip_suffix(" packets so far\n");
        let count = count.unwrap_or_else(|| panic!("{line:?}"));
        count.parse().expect("a number")
    }

    /// What it says at its end.
    fn end(mut self) -> String {
        drop(self.input);
        let mut last = String::new();
        for line in self.output.lines() {
            last += &line.expect("text");
            last.push('\n');
        }
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status}");
        last
    }
}

/// Sends the capture to a program that watches, and returns what that says at its end.
fn watched(namespace: &Namespace, program: &Path, arguments: &[&str]) -> String {
    for interface in ["a", "b"] {
        namespace.ip(&format!("link set dev {interface} mtu 9000"));
    }
    let mut watching = Watching::start(namespace, program, arguments);
    let rate = Some(Rate::PerSecond(5000.0));
    let sender = Sender::open(&traffic(), "a", rate, 1, &StopFlag::default());
    let (sent, ended) = sender.expect("a sender").run();
    ended.expect("sent");
    assert_eq!(sent.counters.sent, PACKETS);
    weir_netlab::until(|| watching.packets() >= PACKETS);
    watching.end()
}

fn run(program: &Path, arguments: &[&str]) -> Said {
    let mut command = Command::new(program);
    command.args(arguments);
    weir_processes::run(command, b"").done()
}
