//! Two nodes with a gateway in front of each, and a wire between the gateways that the test holds.
//!
//! ```text
//!  a ── a1 [weir] w1 ── x1   the wire   x2 ── w2 [weir] b1 ── b
//! ```

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use weir_fabric::wire::{Bth, Deth, ExtendedHeaders, Message, Opcode, Packet, Reth};
use weir_netlab::{Cable, Namespace};
use weir_packet::wire::build::{self, IpHeader};
use weir_packet::wire::{FlowKey, LinkType, protocol};
use weir_port::{
    FrameLayout, FramePool, Frames, InterfaceRx, InterfaceTx, Outgoing, Rx, RxOptions, Tx,
    TxOptions,
};
use weir_processes::Beside;

use crate::live::{start, status, until_up};
use crate::processes::{Folder, Said, json_file, json_lines, weir};

/// Offsets in frames without VLAN tag over IPv4.
pub const PARTITION_KEY_AT: usize = 44;
pub const IDENTIFIER_AT: usize = 46;
pub const QUEUE_PAIR_AT: usize = 47;
pub const PSN_AT: usize = 51;

pub const SEND_ONLY: u8 = 0x04;
pub const WRITE_ONLY: u8 = 0x0a;
pub const ACKNOWLEDGE: u8 = 0x11;
pub const DATAGRAM: u8 = 0x64;

/// What a packet is to be.
#[derive(Clone, Copy)]
pub struct Spec<'a> {
    pub opcode: u8,
    /// 1 for node A, 2 for node B.
    pub from: u8,
    pub queue_pair: u32,
    pub psn: u32,
    pub partition_key: u16,
    pub payload: &'a [u8],
}

/// A frame of RoCEv2 with a right ICRC.
pub fn frame(spec: &Spec<'_>) -> Vec<u8> {
    let address = |node: u8| 0x0a00_0000 | u128::from(node);
    let key = FlowKey {
        source: address(spec.from),
        destination: address(3 - spec.from),
        source_port: 49_152,
        destination_port: 4791,
        protocol: protocol::UDP,
        ip_version: 4,
    };
    let message = Message {
        bth: Bth {
            opcode: Opcode(spec.opcode),
            partition_key: spec.partition_key,
            destination_qp: spec.queue_pair,
            psn: spec.psn,
            ..Bth::default()
        },
        extended: ExtendedHeaders {
            deth: Deth {
                queue_key: 0x1234_5678,
                source_qp: spec.queue_pair - 0x10,
                ..Deth::default()
            },
            reth: Reth {
                virtual_address: 0x7f00_0000_1000,
                remote_key: 0x00c0_ffee,
                dma_bytes: spec.payload.len() as u32,
            },
            ..ExtendedHeaders::default()
        },
        payload: spec.payload,
    };
    let mut frame = Vec::new();
    build::ethernet(&mut frame, [2; 6], [4; 6], protocol::ETHER_IPV4);
    let written = message.write_rocev2(&mut frame, &key, &IpHeader::default());
    written.expect("a packet");
    frame
}

/// The BTH of a frame, if it is RoCEv2.
pub fn bth(frame: &[u8]) -> Option<Bth> {
    let packet = Packet::parse(LinkType::Ethernet, frame).ok()??;
    Some(packet.bth())
}

/// An end of a cable.
pub struct End {
    rx: InterfaceRx,
    tx: InterfaceTx,
    frames: Frames,
}

impl End {
    fn open(name: &str) -> End {
        let layout = FrameLayout {
            frames: 512,
            frame_bytes: 4096,
            headroom_bytes: 0,
        };
        let pool = FramePool::new(layout).expect("memory for frames");
        let options = RxOptions {
            ignore_outgoing: true,
            block_timeout: Duration::from_millis(1),
            block_bytes: 1 << 18,
            ..RxOptions::default()
        };
        End {
            rx: InterfaceRx::open(name, &pool, options).expect("an interface"),
            tx: InterfaceTx::open(name, TxOptions::default()).expect("an interface"),
            frames: Frames::default(),
        }
    }

    pub fn send(&mut self, frame: &[u8]) {
        let out: [Outgoing; 1] = [frame.into()];
        assert_eq!(self.tx.send(&mut self.frames, &out), 1);
        assert!(self.tx.flush(Duration::from_secs(60)));
    }

    /// Every packet of RoCEv2 that has come.
    pub fn take(&mut self) -> Vec<Vec<u8>> {
        let mut taken = Vec::new();
        loop {
            if self.rx.fill(&mut self.frames, 256) == 0 {
                return taken;
            }
            let frames = (0..self.frames.len()).map(|index| self.frames.bytes(index).to_vec());
            taken.extend(frames.filter(|frame| bth(frame).is_some()));
            self.frames.clear();
        }
    }

    /// The next packet, where one comes within the time.
    pub fn receive_within(&mut self, limit: Duration) -> Option<Vec<u8>> {
        let begun = Instant::now();
        loop {
            let mut taken = self.take();
            assert!(taken.len() <= 1, "one at a time");
            if let Some(frame) = taken.pop() {
                return Some(frame);
            }
            if begun.elapsed() > limit {
                return None;
            }
            self.rx.wait(Duration::from_millis(1));
        }
    }

    /// The next packet. It comes.
    #[track_caller]
    pub fn receive(&mut self) -> Vec<u8> {
        self.receive_within(Duration::from_secs(60))
            .expect("a packet")
    }
}

/// The ends that the test holds.
pub struct Wire {
    pub a: End,
    pub x1: End,
    pub x2: End,
    pub b: End,
}

/// A gateway in front of a node.
pub struct Site {
    namespace: Namespace,
    pub folder: Folder,
    node: u8,
    /// Further keys of the partition.
    pub partition: &'static str,
    config: String,
    running: Option<Beside>,
}

/// A queue pair: its name, transport, number at A (at B it is 0x10 more), and session random.
pub type Pair<'a> = (&'a str, &'a str, u32, u8);

impl Site {
    fn new(node: u8, filter: &str) -> Site {
        let folder = Folder::new();
        // Of packets of node A: what enters its gateway, and what comes to the other one from the wire.
        let with_filter = |stage: &str, filtering_node: u8| match node == filtering_node {
            true if !filter.is_empty() => format!("[\"fabric-filter\", \"{stage}\"]"),
            _ => format!("[\"{stage}\"]"),
        };
        let out = with_filter("fabric-protect", 1);
        let back = with_filter("fabric-unprotect", 2);
        let (host, net) = (["a1", "b1"], ["w1", "w2"]);
        let at = usize::from(node - 1);
        let text = format!(
            r#"
            [[port]]
            name = "node"
            kind = "interface"
            side = "plain"
            interface = "{}"
            [[port]]
            name = "fabric"
            kind = "interface"
            side = "cipher"
            interface = "{}"
            [pipeline.out]
            from = "node"
            to = "fabric"
            stages = {out}
            [pipeline.in]
            from = "fabric"
            to = "node"
            stages = {back}
            [fabric]
            file = "fabric.toml"
            state = "ledger"
            alarms = "alarms.json"
            [report]
            json = "report.json"
            {filter}
            "#,
            host[at], net[at]
        );
        let namespace = Namespace::new().expect("a namespace");
        namespace.set("net/ipv6/conf/all/disable_ipv6", "1");
        namespace.set("net/ipv6/conf/default/disable_ipv6", "1");
        Site {
            config: folder.write("weir.toml", text),
            namespace,
            folder,
            node,
            partition: "",
            running: None,
        }
    }

    /// Writes the fabric file of this side.
    pub fn write(&self, head: &str, pairs: &[Pair<'_>]) {
        let mut text = format!(
            "{head}[[partition]]\nname = \"storage\"\npartition_key = 0x8001\n\
             secret = \"00112233445566778899aabbccddeeff\"\n{}",
            self.partition
        );
        for (name, transport, queue_pair, random) in pairs {
            let ends = [(1, *queue_pair), (2, queue_pair + 0x10)].map(|(node, queue_pair)| {
                format!("{{ address = \"10.0.0.{node}\", queue_pair = {queue_pair} }}")
            });
            let (local, remote) = match self.node {
                1 => (&ends[0], &ends[1]),
                _ => (&ends[1], &ends[0]),
            };
            text += &format!(
                "[[queue_pair]]\nname = \"{name}\"\npartition = \"storage\"\n\
                 transport = \"{transport}\"\nwindow = 64\nlocal = {local}\nremote = {remote}\n\
                 session_random = \"{random:032x}\"\n"
            );
        }
        let path = self.folder.write("fabric.toml", text);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(path, mode).expect("a mode");
    }

    /// Writes the configuration with another filter, for the next start.
    pub fn set_filter(&self, old: &str, new: &str) {
        let text = std::fs::read_to_string(&self.config).expect("a configuration");
        assert!(text.contains(old));
        self.folder.write("weir.toml", text.replace(old, new));
    }

    fn socket(&self) -> String {
        self.folder.name("control")
    }

    /// Starts the gateway, and waits until its ports are up.
    pub fn start(&mut self, more: &[&str]) {
        // A killed one has left its socket.
        let _ = std::fs::remove_file(self.socket());
        let control = format!("--control={}", self.socket());
        let arguments = [&["run", &self.config, "-q", &control], more].concat();
        self.running = Some(start(&self.namespace, &arguments));
        until_up(&self.socket(), 4);
    }

    /// Reads configuration and fabric file anew.
    pub fn reload(&self) -> Said {
        weir(["reload", "--socket", &self.socket(), "-q"])
    }

    pub fn kill(&mut self) {
        self.running.take().expect("it runs").kill();
    }

    /// Ends it in order: its report.
    pub fn stop(&mut self) -> Value {
        let mut running = self.running.take().expect("it runs");
        running.signal(Signal::TERM);
        running.wait().done();
        json_file(&self.folder.path("report.json"))
    }

    /// Packets that were dropped for a reason so far.
    pub fn drops(&self, reason: &str) -> u64 {
        let status = status(&self.socket());
        status["traffic"]["drops"][reason].as_u64().unwrap_or(0)
    }

    pub fn status(&self) -> Value {
        status(&self.socket())
    }

    /// The same in the report of its end.
    pub fn drops_in(&self, report: &Value, reason: &str) -> u64 {
        report["drops"][reason].as_u64().unwrap_or(0)
    }

    /// All packets that were read.
    pub fn packets(&self) -> u64 {
        status(&self.socket())["packets"]
            .as_u64()
            .expect("a number")
    }

    pub fn alarms(&self) -> Vec<Value> {
        json_lines(&std::fs::read(self.folder.path("alarms.json")).expect("alarms"))
    }
}

/// Two sites and the wire between them. Each may have a filter for the packets of node A.
pub fn connect(namespace: &Namespace, filters: [&str; 2]) -> (Wire, Site, Site) {
    let (one, other) = (Site::new(1, filters[0]), Site::new(2, filters[1]));
    for (end, site, interface) in [
        ("na", &one, "a1"),
        ("x1", &one, "w1"),
        ("x2", &other, "w2"),
        ("nb", &other, "b1"),
    ] {
        Cable::default().connect((namespace, end), (&site.namespace, interface));
    }
    let wire = Wire {
        a: End::open("na"),
        x1: End::open("x1"),
        x2: End::open("x2"),
        b: End::open("nb"),
    };
    (wire, one, other)
}
