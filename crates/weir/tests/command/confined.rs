//! A gateway in its sandbox: what it can still do, and what not.

use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;
use weir_netlab::{Cable, inside};
use weir_processes::Beside;

use crate::processes::{Folder, example, example_name, until, weir};

fn status(socket: &str) -> Value {
    weir(["status", "--socket", socket, "--json", "-"])
        .done()
        .json()
}

/// Whether every thread is filtered.
fn is_filtered(pid: &Value) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("threads");
    let mut texts = tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    texts.all(|text| text.lines().any(|line| line == "Seccomp:\t2"))
}

/// Rules, logs and interfaces are opened again; files elsewhere are not.
#[test]
fn a_confined_gateway_reloads_rotates_and_finds_its_interface_again() {
    for kind in ["interface", "xdp"] {
        inside(Cable::default(), |namespace| {
            let (folder, elsewhere) = (Folder::new(), Folder::new());
            let rules = std::fs::read(example("example.rules")).expect("read");
            folder.write("my.rules", &rules);
            let other = elsewhere.write("my.rules", &rules);
            let config = |rules: &str| {
                format!(
                    r#"
                    [[port]]
                    name = "lan"
                    kind = "{kind}"
                    side = "plain"
                    interface = "b"
                    [pipeline.sensor]
                    from = "lan"
                    stages = ["inspect"]
                    [inspect]
                    rules = ["{rules}"]
                    alerts = "alerts.jsonl"
                    prometheus = "metrics.prom"
                    "#
                )
            };
            let path = folder.write("weir.toml", config("my.rules"));
            let socket = folder.name("control");
            let control = format!("--control={socket}");
            let mut command = namespace.command(env!("CARGO_BIN_EXE_weir"));
            command.args(["run", &path, "-q", &control]);
            let mut running = Beside::start(command);
            until(|| Path::new(&socket).exists().then_some(()));
            let pid = status(&socket)["pid"].clone();
            until(|| is_filtered(&pid).then_some(()));

            let reload = || weir(["reload", "--socket", &socket, "-q"]);
            // A file that takes the place of another one, as editors write them.
            std::fs::rename(folder.path("my.rules"), folder.path("old")).expect("renamed");
            folder.write("my.rules", &rules);
            reload().done();
            folder.write("weir.toml", config(&other));
            reload().failed(1, &["ermission denied"]);
            folder.write("weir.toml", config("my.rules"));
            reload().done();
            assert_eq!(status(&socket)["generation"], 2);

            let log = folder.path("alerts.jsonl");
            std::fs::rename(&log, folder.path("alerts.old")).expect("renamed");
            running.signal(Signal::HUP);
            until(|| log.exists().then_some(()));

            let received = || status(&socket)["packets"].as_u64().unwrap_or_default();
            let until_more = |before: u64| {
                until(|| {
                    let traffic = example_name("traffic.pcapng");
                    let mut replay = namespace.command(env!("CARGO_BIN_EXE_weir"));
                    replay.args(["replay", &traffic, "-i", "a", "--rate", "50000", "-q"]);
                    // The interface is small: what is too long for it is not sent.
                    weir_processes::run(replay, b"");
                    (received() > before).then_some(())
                });
            };
            until_more(0);
            namespace.ip("link delete dev a");
            let state = || {
                let status = status(&socket);
                let state = status["queues"][0]["state"].as_str();
                state.unwrap_or_default().to_owned()
            };
            until(|| state().starts_with("down").then_some(()));
            namespace.ip("link add name a type veth peer name b");
            namespace.ip("link set dev a up");
            namespace.ip("link set dev b up");
            until(|| (state() == "up").then_some(()));
            until_more(received());
            running.signal(Signal::TERM);
            running.wait().done();
            assert!(!Path::new(&socket).exists());
        });
    }
}
