//! Two gateways with static keys between TUN devices: ESP in UDP over a virtual cable.

use std::path::Path;

use rustix::process::Signal;
use weir_netlab::{Cable, Namespace, inside};
use weir_processes::Beside;

use crate::processes::{Folder, json_file, until, weir};

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
            text += &format!(
                r#"
                [[sa]]
                name = "from-{from}"
                spi = 0x100{from}
                direction = "{direction}"
                suite = "aes-128-gcm-16"
                key = "{key}"
                mode = "tunnel"
                nat_t = true
                tunnel = {{ source = "198.18.0.{from}", destination = "198.18.0.{to}" }}
                [[policy]]
                direction = "{direction}"
                source = "192.0.2.{from}"
                destination = "192.0.2.{to}"
                action = "protect"
                sa = "from-{from}"
                "#
            );
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
        for report in [one.stop(), two.stop()] {
            for count in ["protected", "unprotected"] {
                assert!(
                    report[count].as_u64() > Some(60),
                    "{count}: {}",
                    report[count]
                );
            }
            let associations = report["associations"].as_array().expect("a list");
            assert_eq!(associations.len(), 2);
            assert_eq!(report["missed"], 0);
        }
    });
}
