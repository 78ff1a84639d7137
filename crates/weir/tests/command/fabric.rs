//! `weir fabric check` and `weir fabric trace`.

use std::path::Path;

use weir_fabric::marks::MarkingField;
use weir_fabric::wire::{Bth, ExtendedHeaders, Grh, Lrh, Message, Opcode, Reth};
use weir_packet::file::{Format, Interface, Writer};
use weir_packet::wire::build::{self, IpHeader};
use weir_packet::wire::{FlowKey, LinkType, protocol};

use crate::processes::{Folder, example_name, weir, weir_fed};

fn message(opcode: u8, psn: u32, payload: &[u8]) -> Message<'_> {
    Message {
        bth: Bth {
            opcode: Opcode(opcode),
            partition_key: 0x8001,
            destination_qp: 0x17,
            psn,
            ..Bth::default()
        },
        extended: ExtendedHeaders {
            reth: Reth {
                dma_bytes: 1000,
                ..Reth::default()
            },
            ..ExtendedHeaders::default()
        },
        payload,
    }
}

/// A frame of RoCEv2 to a queue pair.
pub fn frame_of(opcode: u8, queue_pair: u32, psn: u32, payload: &[u8]) -> Vec<u8> {
    let mut message = message(opcode, psn, payload);
    message.bth.destination_qp = queue_pair;
    frame(&message)
}

/// The same as a packet of native InfiniBand.
pub fn native_of(opcode: u8, queue_pair: u32, psn: u32, payload: &[u8]) -> Vec<u8> {
    let mut message = message(opcode, psn, payload);
    message.bth.destination_qp = queue_pair;
    native(&message, 0, None)
}

/// A frame of RoCEv2 with a VLAN tag.
fn frame(message: &Message<'_>) -> Vec<u8> {
    let key = FlowKey {
        source: 0xc612_0001,
        destination: 0xc612_0002,
        source_port: 49_152,
        destination_port: 4791,
        protocol: protocol::UDP,
        ip_version: 4,
    };
    let mut frame = Vec::new();
    build::ethernet(&mut frame, [2; 6], [4; 6], protocol::ETHER_VLAN);
    build::vlan_tag(&mut frame, 42, protocol::ETHER_IPV4);
    let written = message.write_rocev2(&mut frame, &key, &IpHeader::default());
    written.expect("a packet");
    frame
}

fn native(message: &Message<'_>, lane: u8, grh: Option<Grh>) -> Vec<u8> {
    let lrh = Lrh {
        virtual_lane: lane,
        source_lid: 1,
        destination_lid: 2,
        ..Lrh::default()
    };
    let mut packet = Vec::new();
    message
        .write_native(&mut packet, lrh, grh)
        .expect("a packet");
    packet
}

/// An ERF record around a native packet, padded to 8 bytes as cards do.
fn erf(packet: &[u8]) -> Vec<u8> {
    let record_bytes = (16 + packet.len()).next_multiple_of(8);
    let mut record = vec![0; 8];
    record.extend([21, 4]);
    record.extend((record_bytes as u16).to_be_bytes());
    record.extend([0, 0]);
    record.extend((packet.len() as u16).to_be_bytes());
    record.extend(packet);
    record.resize(record_bytes, 0);
    record
}

fn write(path: &str, records: &[(LinkType, Vec<u8>)]) {
    let mut writer = Writer::create(Path::new(path), Format::PcapNg).expect("created");
    let mut links: Vec<LinkType> = Vec::new();
    for (link, record) in records {
        let known = links.iter().position(|known| known == link);
        let interface = known.unwrap_or_else(|| {
            let declared = writer.add_interface(&Interface::new(*link));
            declared.expect("declared");
            links.push(*link);
            links.len() - 1
        });
        let wire_bytes = record.len() as u32;
        let written = writer.write(
            interface as u32,
            1_700_000_000_000_000_000,
            wire_bytes,
            record,
        );
        written.expect("written");
    }
    writer.finish().expect("finished");
}

/// A capture with everything that a document has a member for: every link type, good and wrong
/// check values, malformed and cut packets, packet numbers that are missing, repeated and far off.
pub fn fabric_capture(folder: &Folder) -> String {
    let path = folder.name("fabric.pcapng");
    let (ethernet, infiniband) = (LinkType::Ethernet, LinkType::InfiniBand);
    let send = frame(&message(0x04, 1, b"send"));
    let mut wrong = frame(&message(0x04, 2, b"send"));
    wrong[60] ^= 1;
    let mut moved = native(&message(0x64, 1, b"datagram"), 0, Some(Grh::default()));
    moved[0] ^= 0x10;
    let mut management = native(&message(0x64, 2, b"management"), 15, None);
    management[30] ^= 1;
    let mut version = native(&message(0x64, 3, b""), 0, None);
    version[0] |= 1;
    let records = [
        (ethernet, send.clone()),
        (ethernet, wrong),
        // Number 3 is missing, 4 comes twice.
        (ethernet, frame(&message(0x04, 4, b""))),
        (ethernet, frame(&message(0x04, 4, b""))),
        (ethernet, frame(&message(0x11, 4, b""))),
        (ethernet, frame(&message(0x81, 0, &[0; 16]))),
        (ethernet, frame(&message(0xa4, 0, b""))),
        (ethernet, send[..60].to_vec()),
        (ethernet, send[..50].to_vec()),
        (ethernet, frame(&message(0x04, 0x80_0000, b""))),
        (
            LinkType::Erf,
            erf(&native(&message(0x64, 4, b"in ERF"), 0, None)),
        ),
        (infiniband, moved),
        (infiniband, management),
        (infiniband, version),
        (LinkType::Other(147), vec![1, 2, 3]),
    ];
    write(&path, &records);
    path
}

/// A capture of what arrived at node (2,3) of the mesh in the examples: two packets from (3,0), one of
/// which claims to come from (1,1), and one without marks.
pub fn marked_capture(folder: &Folder) -> String {
    const PREFIX: u128 = 0xfe80 << 112;
    const NODES: u128 = 0x2_c903_0000_0000;
    let path = folder.name("marked.pcapng");
    let packet = |mark: u64, claimed: u128| {
        let mut destination_gid = (PREFIX | NODES | 0x23).to_be_bytes();
        let field = MarkingField::new(mark).expect("38 bits");
        field
            .store_in(&mut destination_gid)
            .expect("a link-local GID");
        let grh = Grh {
            source_gid: PREFIX | claimed,
            destination_gid: u128::from_be_bytes(destination_gid),
            ..Grh::default()
        };
        let datagram = native(&message(0x64, 1, b"datagram"), 0, Some(grh));
        (LinkType::InfiniBand, datagram)
    };
    // The first difference is -1 in three bits of which one is the sign, the second 3.
    let mark = 0b111_011;
    let records = [
        packet(mark, NODES | 0x11),
        packet(mark, NODES | 0x30),
        packet(0, NODES | 0x11),
    ];
    write(&path, &records);
    path
}

#[test]
fn forged_sources_are_named() {
    let folder = Folder::new();
    let (capture, map) = (marked_capture(&folder), example_name("mesh.toml"));
    let found = weir(["fabric", "trace", &capture, "--map", &map, "--json", "-"]);
    let found = found.done().json();
    assert_eq!(found["schema"], "weir-fabric-trace");
    assert_eq!(
        (&found["traced"], &found["spoofed"]),
        (&2.into(), &1.into())
    );
    assert_eq!(found["untraced"], serde_json::json!({"not_marked": 1}));
    let row = &found["routes"][0];
    assert_eq!(
        ["source", "destination", "claimed_node"].map(|name| &row[name]),
        ["3,0", "2,3", "1,1"]
    );
    assert_eq!(
        (&row["spoofed"], &found["routes"][1]["spoofed"]),
        (&true.into(), &false.into())
    );
    let said = weir(["fabric", "trace", &capture, "--map", &map]).done();
    for words in [
        "mesh:4x4",
        "not traced: not marked",
        "fe80::2:c903:0:11",
        "spoofed",
    ] {
        assert!(said.text().contains(words), "{words}: {}", said.text());
    }
}

#[test]
fn what_has_no_marks_is_refused() {
    let folder = Folder::new();
    let (capture, map) = (folder.name("rocev2.pcapng"), example_name("mesh.toml"));
    write(
        &capture,
        &[(LinkType::Ethernet, frame(&message(0x04, 1, b"send")))],
    );
    let traced = ["fabric", "trace", &capture, "--map", &map];
    weir(traced).failed(1, &["RoCEv2 cannot be traced"]);
    let wrong = folder.name("wrong.toml");
    std::fs::write(
        &wrong,
        "topology = \"mesh:4x4\"\n[nodes]\n\"fe80::1\" = \"1,4\"\n",
    )
    .expect("written");
    let traced = ["fabric", "trace", &capture, "--map", &wrong];
    weir(traced).failed(2, &["wrong.toml:3:13: nodes:", "no node of mesh:4x4"]);
    weir(["fabric", "trace", &capture]).failed(2, &["--map"]);
    weir(["fabric", "trace", &capture, "--map", "not there"]).failed(2, &["cannot read not there"]);
}

#[test]
fn a_capture_is_counted_and_checked() {
    let folder = Folder::new();
    let capture = fabric_capture(&folder);
    let found = weir(["fabric", "check", &capture, "--json", "-"])
        .done()
        .json();
    assert_eq!(found["schema"], "weir-fabric-check");
    assert_eq!(found["command"], "fabric check");
    let counts = [
        "packets",
        "rocev2",
        "infiniband",
        "other",
        "cut",
        "findings_total",
    ];
    let counts = counts.map(|name| found[name].as_u64().expect("a number"));
    assert_eq!(counts, [15, 9, 3, 1, 1, 10]);
    let malformed = serde_json::json!({"header_cut": 1, "link_version": 1});
    assert_eq!(found["malformed"], malformed);
    let verdicts =
        |good, wrong, absent| serde_json::json!({"good": good, "wrong": wrong, "absent": absent});
    assert_eq!(found["icrc"], verdicts(9, 2, 1));
    assert_eq!(found["icrc_wrong_on_vl15"], 1);
    assert_eq!(found["vcrc"], verdicts(1, 2, 0));
    let numbers = serde_json::json!({"gaps": 1, "missing": 1, "repeated": 2, "jumps": 1});
    assert_eq!(found["packet_numbers"], numbers);
    let names = |list: &str, member: &str| -> Vec<String> {
        let rows = found[list].as_array().expect("rows").iter();
        rows.map(|row| row[member].to_string()).collect()
    };
    assert_eq!(names("partition_keys", "partition_key"), ["\"0x8001\""]);
    let operations = names("opcodes", "name");
    assert_eq!(
        operations,
        [
            "\"RC SEND Only\"",
            "\"RC Acknowledge\"",
            "\"UD SEND Only\"",
            "\"Congestion Notification\"",
            "\"0xa4\""
        ]
    );
    assert_eq!(
        names("findings", "packet"),
        ["2", "3", "4", "8", "9", "10", "12", "13", "13", "14"]
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    );
}

#[test]
fn people_see_tables() {
    let folder = Folder::new();
    let capture = fabric_capture(&folder);
    let said = weir(["fabric", "check", &capture]).done();
    for words in [
        "9 good, 2 wrong, 1 absent",
        "of the wrong ones 1 on VL 15",
        "RC Acknowledge",
        "0x8001",
        "198.18.0.2",
        "lid:2",
        "in place of",
        "link version 1",
    ] {
        assert!(said.text().contains(words), "{words}: {}", said.text());
    }
}

#[test]
fn other_captures_hold_no_fabric() {
    let traffic = example_name("traffic.pcapng");
    let said = weir(["fabric", "check", &traffic, "--json", "-"]).done();
    assert!(said.stderr.contains("UDP port 4791"), "{}", said.stderr);
    assert_eq!(said.json()["other"], said.json()["packets"]);
    let said = weir(["fabric", "check", &traffic, "--quiet"]).done();
    assert!(said.stdout.is_empty() && said.stderr.is_empty());
}

#[test]
fn the_command_keeps_its_contract() {
    let folder = Folder::new();
    let capture = fabric_capture(&folder);
    weir(["fabric"]).failed(2, &["no command", "--help"]);
    weir(["fabric", "check"]).failed(2, &["required", "PCAP"]);
    weir(["fabric", "check", "not there"]).failed(2, &["not there", "No such file"]);
    weir(["fabric", "check", &capture, "--json", &capture]).failed(2, &["the output is the input"]);
    let bytes = std::fs::read(&capture).expect("read");
    let said = weir_fed(["fabric", "check", "-", "--json", "-", "-q"], &bytes).done();
    assert_eq!(said.json()["packets"], 15);
    // A capture cut short is checked as far as it is whole.
    let json = folder.name("cut.json");
    let short = &bytes[..bytes.len() - 3];
    let said = weir_fed(["fabric", "check", "-", "--json", &json, "-q"], short);
    said.failed(1, &["cut short"]);
    let document = crate::processes::json_file(json.as_ref());
    assert_eq!(
        (&document["packets"], &document["truncated"]),
        (&14.into(), &true.into())
    );
}
