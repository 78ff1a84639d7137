//! Commands at network interfaces, in namespaces of their own.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;
use weir_netlab::{Cable, Namespace, inside};
use weir_processes::{Beside, Said};

use crate::captures::packets;
use crate::processes::{Folder, example_name, json_file, json_lines, until, weir};

/// Interfaces that take every packet of the examples.
pub fn widen(namespace: &Namespace, interfaces: &[&str]) {
    for interface in interfaces {
        namespace.ip(&format!("link set dev {interface} mtu 9000"));
    }
}

pub fn start(namespace: &Namespace, arguments: &[&str]) -> Beside {
    let mut command = namespace.command(env!("CARGO_BIN_EXE_weir"));
    command.args(arguments);
    Beside::start(command)
}

pub fn run(namespace: &Namespace, arguments: &[&str]) -> Said {
    let mut command = namespace.command(env!("CARGO_BIN_EXE_weir"));
    command.args(arguments);
    weir_processes::run(command, b"")
}

/// What a gateway says of itself, once it serves its socket.
pub fn status(socket: &str) -> Value {
    until(|| Path::new(socket).exists().then_some(()));
    weir(["status", "--socket", socket, "--json", "-"])
        .done()
        .json()
}

/// The status of a gateway, once it lists `queues` queues and all of them are up.
pub fn until_up(socket: &str, queues: usize) -> Value {
    until(|| {
        let status = status(socket);
        let told = status["queues"].as_array()?;
        let are_up = told.iter().all(|queue| queue["state"] == "up");
        (told.len() == queues && are_up).then(|| status.clone())
    })
}

/// Waits until a gateway has received so many packets.
pub fn until_received(socket: &str, packets: u64) {
    until(|| (status(socket)["packets"].as_u64() >= Some(packets)).then_some(()));
}

/// No thread has capabilities but those of ports and files, and none can get others.
fn check_privileges(pid: &Value) {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("threads");
    let mut threads = 0;
    for task in tasks.flatten() {
        // A thread that served a client may have ended meanwhile.
        let Ok(text) = std::fs::read_to_string(task.path().join("status")) else {
            continue;
        };
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.expect("a line").trim().to_owned()
        };
        for set in ["CapEff:", "CapPrm:"] {
            let set = u64::from_str_radix(&value(set), 16).expect("a number");
            assert_eq!(set & !OF_PORTS, 0, "{set:x}");
        }
        assert_eq!(value("NoNewPrivs:"), "1");
        threads += 1;
    }
    assert!(threads >= 3, "{threads}");
}

/// By <linux/capability.h>: DAC_OVERRIDE, DAC_READ_SEARCH, NET_ADMIN, NET_RAW, IPC_LOCK, BPF.
const OF_PORTS: u64 = 1 << 1 | 1 << 2 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 39;

/// Workers run where `--cpus` says, and only there.
#[test]
fn workers_are_bound_to_processors() {
    inside(Cable::default(), |namespace| {
        let folder = Folder::new();
        let socket = folder.name("control");
        let rules = folder.write("test.rules", "");
        let control = format!("--control={socket}");
        let started = |cpus: &str| {
            let arguments = [
                "inspect",
                "-i",
                "b",
                "--rules",
                &rules,
                "--allow-empty",
                "-q",
                &control,
                "--cpus",
                cpus,
            ];
            start(namespace, &arguments)
        };
        let allowed = allowed_cpus("self");
        let first = allowed.split(['-', ',']).next().expect("a processor");
        let mut running = started(first);
        let pid = until_up(&socket, 1)["pid"].clone();
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("threads");
        let workers = tasks.flatten().filter(|task| {
            let name = std::fs::read_to_string(task.path().join("comm"));
            name.is_ok_and(|name| name.starts_with("weir-worker"))
        });
        let cpus: Vec<String> = workers
            .map(|task| allowed_cpus(&format!("{pid}/task/{}", task.file_name().display())))
            .collect();
        assert_eq!(cpus, [first]);
        running.signal(Signal::INT);
        running.wait().done();
        started("100000")
            .wait()
            .failed(2, &["may not use processor 100000"]);
    });
}

fn allowed_cpus(process: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a status");
    let mut lines = text.lines();
    let list = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.expect("a list").trim().to_owned()
}

/// An inline filter, watched while it runs.
#[test]
fn a_filter_stands_between_two_interfaces() {
    inside(Cable::default(), |namespace| {
        Cable::default().connect((namespace, "c"), (namespace, "d"));
        widen(namespace, &["a", "b", "c", "d"]);
        namespace.ip("link set dev lo up");
        let folder = Folder::new();
        let config = |action: &str| {
            format!(
                r#"
                [[port]]
                name = "left"
                kind = "interface"
                side = "plain"
                interface = "b"
                [[port]]
                name = "right"
                kind = "interface"
                side = "plain"
                interface = "c"
                [pipeline.forth]
                from = "left"
                to = "right"
                stages = ["filter"]
                [pipeline.back]
                from = "right"
                to = "left"
                stages = []
                [filter]
                default = "allow"
                [[filter.rule]]
                action = "{action}"
                protocol = "udp"
                [report]
                json = "report.json"
                "#
            )
        };
        let path = folder.write("weir.toml", config("deny"));
        let socket = folder.name("control");
        let control = format!("--control={socket}");
        let mut running = start(
            namespace,
            &["run", &path, "-q", &control, "--metrics", "9898"],
        );
        let first = until_up(&socket, 4);
        check_privileges(&first["pid"]);
        let out = folder.name("out.pcapng");
        let mut recording = start(namespace, &["record", "-i", "d", &out, "-q"]);
        until(|| Path::new(&out).exists().then_some(()));
        let traffic = example_name("traffic.pcapng");
        let send = || {
            run(
                namespace,
                &["replay", &traffic, "-i", "a", "--rate", "20000", "-q"],
            )
            .done()
        };
        send();
        until_received(&socket, 3564);
        let denied = status(&socket)["traffic"]["drops"]["filter_denied"].as_u64();
        let denied = denied.expect("UDP is denied");
        assert!((100..3564).contains(&denied), "{denied}");
        // A reload takes no packet away.
        folder.write("weir.toml", config("allow"));
        weir(["reload", "--socket", &socket, "-q"]).done();
        send();
        until_received(&socket, 2 * 3564);
        // Workers say ten times a second what their ports have counted.
        let of_ports = || {
            let status = status(&socket);
            let queues = status["queues"].as_array()?.iter();
            let received = queues.filter_map(|queue| queue["rx"]["received"].as_u64());
            (received.sum::<u64>() >= 2 * 3564).then_some(())
        };
        until(of_ports);
        let metrics = namespace.enter(|| {
            let mut stream = TcpStream::connect("127.0.0.1:9898").expect("connected");
            stream
                .write_all(b"GET /metrics HTTP/1.1\r\n\r\n")
                .expect("sent");
            let mut text = String::new();
            stream.read_to_string(&mut text).expect("a response");
            text
        });
        for line in [
            "weir_packets_total 7128\n".to_owned(),
            format!("weir_drops_total{{reason=\"filter_denied\"}} {denied}\n"),
            format!("weir_forwarded_total {}\n", 2 * 3564 - denied),
            "weir_port_received_total{port=\"left\",queue=\"0\"} 7128\n".to_owned(),
            "weir_configuration_generation 1\n".to_owned(),
        ] {
            assert!(metrics.contains(&line), "no {line}: {metrics}");
        }
        running.signal(Signal::TERM);
        running.wait().done();
        let expected = (2 * 3564 - denied) as usize;
        until(|| (std::fs::metadata(&out).map_or(0, |file| file.len()) > 3_000_000).then_some(()));
        recording.signal(Signal::INT);
        recording.wait().done();
        assert_eq!(packets(&out).len(), expected);
        let report = json_file(&folder.path("report.json"));
        assert_eq!(report["packets"], 7128);
        assert_eq!(report["forwarded"], expected);
        assert_eq!(report["filter"][0]["packets"], 2 * denied);
        for (number, name, packets, forwarded) in [(0, "back", 0, 0), (1, "forth", 7128, expected)]
        {
            let row = &report["pipelines"][number];
            assert_eq!(row["name"], name);
            assert_eq!(row["packets"], packets);
            assert_eq!(row["forwarded"], forwarded);
        }
    });
}

#[test]
fn the_verbs_take_an_interface() {
    inside(Cable::default(), |namespace| {
        widen(namespace, &["a", "b"]);
        let folder = Folder::new();
        let (rules, traffic) = (
            example_name("example.rules"),
            example_name("traffic.pcapng"),
        );
        let (eve, json) = (folder.name("eve.jsonl"), folder.name("inspect.json"));
        let sockets = [folder.name("inspect"), folder.name("measure")];
        let controls = sockets
            .each_ref()
            .map(|socket| format!("--control={socket}"));
        let mut inspecting = start(
            namespace,
            &[
                "inspect",
                "-i",
                "b",
                "--rules",
                &rules,
                "--eve",
                &eve,
                "--json",
                &json,
                "-q",
                &controls[0],
                "--workers",
                "2",
            ],
        );
        let measured = folder.name("measure.json");
        let mut measuring = start(
            namespace,
            &[
                "measure",
                "-i",
                "b",
                "--interval",
                "1",
                "--json",
                &measured,
                "-q",
                &controls[1],
            ],
        );
        for socket in &sockets {
            status(socket);
        }
        run(
            namespace,
            &["replay", &traffic, "-i", "a", "--rate", "3000", "-q"],
        )
        .done();
        for socket in &sockets {
            until_received(socket, 3564);
        }
        inspecting.signal(Signal::INT);
        inspecting.wait().done();
        measuring.signal(Signal::INT);
        measuring.wait().done();
        let document = json_file(json.as_ref());
        assert_eq!(document["packets"], 3564);
        assert_eq!(document["missed"], 0);
        let alerts = json_lines(&std::fs::read(&eve).expect("read")).len();
        assert_eq!(document["alerts"], alerts);
        assert!(alerts > 0);
        let document = json_file(measured.as_ref());
        let intervals = document["intervals"].as_array().expect("a list");
        let packets = intervals
            .iter()
            .filter_map(|interval| interval["packets"].as_u64());
        assert_eq!(packets.sum::<u64>(), 3564);

        // What is wrong is said at once.
        run(namespace, &["inspect", "-i", "nowhere", "--rules", &rules]).failed(2, &["nowhere"]);
        run(namespace, &["measure", "-i", "lo", "--fit"]).failed(2, &["--fit"]);
    });
}
