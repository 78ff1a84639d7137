//! Two gateways with static keys between TUN devices: ESP in UDP over a virtual cable.

use std::path::Path;

use rustix::process::Signal;
use weir_netlab::{Cable, Namespace, inside};
use weir_processes::Beside;

use crate::processes::{Folder, Said, json_file, until, weir};

/// One of two sites: its number is that of its addresses.
struct Site<'a> {
    namespace: &'a Namespace,
    folder: Folder,
    number: u8,
    running: Option<Beside>,
}

const KEYS: [&str; 2] = [
    "00112233445566778899aabbccddeeff01020304",
    "ffeeddccbbaa9988776655443322110005060708",
];

const NEXT_KEY: &str = "a0b1c2d3e4f5061728394a5b6c7d8e9fa0b1c2d3e4f5061728394a5b6c7d8e9f01020304";

const LATER_KEY: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f001020304";

/// An association between two sites, and the policy that protects by it.
fn association([name, spi, suite, key]: [&str; 4], direction: &str, [from, to]: [u8; 2]) -> String {
    format!(
        r#"
        [[sa]]
        name = "{name}"
        spi = {spi}
        direction = "{direction}"
        suite = "{suite}"
        key = "{key}"
        mode = "tunnel"
        nat_t = true
        tunnel = {{ source = "198.18.0.{from}", destination = "198.18.0.{to}" }}
        [[policy]]
        direction = "{direction}"
        source = "192.0.2.{from}"
        destination = "192.0.2.{to}"
        action = "protect"
        sa = "{name}"
        "#
    )
}

impl<'a> Site<'a> {
    fn start(namespace: &'a Namespace, cable: &str, number: u8) -> Site<'a> {
        namespace.ip(&format!("addr add 198.18.0.{number}/24 dev {cable}"));
        let folder = Folder::new();
        let config = folder.write(
            "weir.toml",
            format!(
                r#"
                [[port]]
                name = "hosts"
                kind = "tun"
                side = "plain"
                interface = "weir0"
                [[port]]
                name = "net"
                kind = "udp"
                side = "cipher"
                address = "198.18.0.{number}:4500"
                [pipeline.out]
                from = "hosts"
                to = "net"
                stages = "protect"
                [pipeline.in]
                from = "net"
                to = "hosts"
                stages = "unprotect"
                [ipsec]
                sa = "sa.toml"
                state = "ledger"
                [report]
                json = "report.json"
                "#
            ),
        );
        let mut site = Site {
            namespace,
            folder,
            number,
            running: None,
        };
        site.write_associations("");
        let control = format!("--control={}", site.socket());
        let mut command = namespace.command(env!("CARGO_BIN_EXE_weir"));
        command.args(["run", &config, "-q", "--new-key", "all", &control]);
        site.running = Some(Beside::start(command));
        until(|| Path::new(&site.socket()).exists().then_some(()));
        namespace.ip(&format!("addr add 192.0.2.{number} dev weir0"));
        namespace.ip("link set dev weir0 mtu 1400 up");
        namespace.ip(&format!("route add 192.0.2.{} dev weir0", 3 - number));
        site
    }

    fn socket(&self) -> String {
        self.folder.name("control")
    }

    /// The associations in both directions, and what else the file is to say.
    fn write_associations(&self, more: &str) {
        let mut text = String::from("default = \"discard\"\ninbound_policy = true\n");
        for (from, key) in (1..).zip(KEYS) {
            let to = 3 - from;
            let direction = match from == self.number {
                true => "outbound",
                false => "inbound",
            };
            let name = format!("from-{from}");
            let spi = format!("0x100{from}");
            text += &association([&name, &spi, "aes-128-gcm-16", key], direction, [from, to]);
        }
        let path = self.folder.write("sa.toml", text + more);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(path, mode).expect("a mode");
    }

    /// Sends echo requests to the other site: what ping says.
    fn ping(&self, arguments: &[&str]) -> String {
        let other = format!("192.0.2.{}", 3 - self.number);
        let mut command = self.namespace.command("ping");
        let output = command.args(arguments).arg(other).output().expect("ping");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The same with twenty requests, all of which must be answered.
    fn ping_all(&self, size: &str) {
        let text = self.ping(&["-c", "20", "-i", "0.01", "-W", "20", "-s", size]);
        assert!(text.contains(" 0% packet loss"), "{text}");
    }

    /// Waits until an echo request is answered: packets are dropped until the ledger has granted
    /// the first numbers.
    fn await_other(&self) {
        until(|| {
            let text = self.ping(&["-c", "1", "-W", "1"]);
            text.contains(" 0% packet loss").then_some(())
        });
    }

    /// Runs a command at the gateway's control socket.
    fn control(&self, arguments: &[&str]) -> Said {
        weir(
            arguments
                .iter()
                .copied()
                .chain(["--socket", &self.socket()]),
        )
    }

    fn associations(&self) -> serde_json::Value {
        let listed = self.control(&["sa", "list", "--json", "-"]).done();
        listed.json()["associations"].take()
    }

    /// Protects what this site sends by another association, without a file and without a packet
    /// lost: the receiver takes it in first and gives the old one up last.
    fn rotate_with(&self, other: &Site) {
        let text = |direction: &str| {
            let (from, to) = (self.number, other.number);
            let next = ["next", "0x2000", "aes-256-gcm-16", NEXT_KEY];
            association(next, direction, [from, to])
        };
        let open_to_all = self.folder.write("open.toml", text("outbound"));
        self.control(&["sa", "add", &open_to_all])
            .failed(2, &["open.toml", "chmod 600"]);
        let insecure = "--allow-insecure-permissions";
        self.control(&["sa", "add", &open_to_all, insecure])
            .failed(1, &["next", "--new-key"]);
        let new_key = ["--new-key", "next"];
        let add = |site: &Site, direction: &str, more: &[&str]| {
            let file = site.folder.write("next.toml", text(direction));
            let mut arguments = vec!["sa", "add", &file, insecure, "--json", "-"];
            arguments.extend(more);
            let added = site.control(&arguments).done().json();
            assert_eq!(added["associations"]["added"], 1);
            assert_eq!(added["associations"]["kept"], 2);
        };
        add(other, "inbound", &[]);
        add(self, "outbound", &new_key);
        self.ping_all("100");
        let old = ["sa", "remove", &format!("from-{}", self.number)];
        let by_spi = ["sa", "remove", "--spi", "0x1001", "--direction", "outbound"];
        self.control(&by_spi).done();
        self.ping_all("101");
        other.control(&old).done();
        self.ping_all("102");
        other.control(&old).failed(1, &["no association has name"]);

        let status = self.control(&["status", "--json", "-"]).done().json();
        assert_eq!(status["associations"]["differs_from_file"], true);
        let listed = self.associations();
        assert_eq!(listed.as_array().expect("a list").len(), 2);
        let next = &listed[1];
        for (member, expected) in [
            ("name", "next"),
            ("direction", "outbound"),
            ("peer", "198.18.0.2"),
            ("suite", "aes-256-gcm-16"),
            ("mode", "tunnel"),
        ] {
            assert_eq!(next[member], expected);
        }
        assert_eq!(next["spi"], 0x2000);
        assert!(next["packets"].as_u64() >= Some(40), "{next}");
        assert_eq!(next["packets"], next["sequence"]);
        let received = &other.associations()[1];
        assert_eq!(received["packets"], next["packets"], "{received}");
        let table = self.control(&["sa", "list"]).done();
        for output in [table.text(), &listed.to_string()] {
            assert!(output.contains("next"), "{output}");
            for key in [KEYS[0], KEYS[1], NEXT_KEY] {
                assert!(!output.contains(&key[..8]), "{output}");
            }
        }
        // The file is as it was, and a reload returns to it.
        for site in [other, self] {
            site.control(&["reload", "-q"]).done();
            let listed = site.associations();
            let names: Vec<_> = listed.as_array().expect("a list").iter().collect();
            let names: Vec<_> = names.iter().map(|sa| &sa["name"]).collect();
            assert_eq!(names, ["from-1", "from-2"]);
        }
        let status = self.control(&["status", "--json", "-"]).done().json();
        assert_eq!(status["associations"]["differs_from_file"], false);
        // The window of an association that comes back waits for the ledger.
        self.await_other();
        self.ping_all("103");
    }

    fn stop(mut self) -> serde_json::Value {
        let mut running = self.running.take().expect("it runs");
        running.signal(Signal::TERM);
        running.wait().done();
        json_file(&self.folder.path("report.json"))
    }
}

#[test]
fn two_gateways_carry_what_their_hosts_send() {
    inside(Cable::default(), |namespace| {
        let other = Namespace::new().expect("a second one");
        Cable::default().connect((namespace, "left"), (&other, "right"));
        let (one, two) = (
            Site::start(namespace, "left", 1),
            Site::start(&other, "right", 2),
        );
        one.await_other();
        one.ping_all("56");
        two.ping_all("1372");
        // A policy more: the associations go on.
        one.write_associations("\n[[policy]]\nprotocol = 89\naction = \"bypass\"\n");
        let reloaded = weir(["reload", "--socket", &one.socket(), "--json", "-"]).done();
        let reloaded = reloaded.json();
        assert_eq!(reloaded["associations"]["kept"], 2);
        assert_eq!(reloaded["associations"]["is_complete"], true);
        one.write_associations("\n[[sa]]\nname = \"half\"\n");
        weir(["reload", "--socket", &one.socket()]).failed(1, &["sa.toml"]);
        one.ping_all("700");
        one.write_associations("");
        one.rotate_with(&two);
        // The first start permitted new keys.
        let later = ["later", "0x3000", "aes-128-gcm-16", LATER_KEY];
        let later = association(later, "outbound", [1, 2]).replace("192.0.2.", "192.0.3.");
        one.write_associations(&later);
        let reloaded = one.control(&["reload", "--json", "-"]).done().json();
        assert_eq!(reloaded["associations"]["added"], 1);
        one.ping_all("104");
        for report in [one.stop(), two.stop()] {
            for member in ["protected", "unprotected"] {
                assert!(
                    report[member].as_u64() > Some(60),
                    "{member}: {}",
                    report[member]
                );
            }
            let rows = report["associations"].as_array().expect("a list");
            // An association that has had no packet is not among them.
            assert_eq!(rows.len(), 3);
            assert_eq!(report["missed"], 0);
        }
    });
}
