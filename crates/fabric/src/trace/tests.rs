use std::path::Path;

use weir_packet::wire::build::IpHeader;
use weir_packet::wire::{FlowKey, Headers, LinkType};

use super::*;
use crate::ConfigError;
use crate::marks::{Arrival, MarkingField, Topology};
use crate::wire::{Bth, Grh, Lrh, Message, Opcode};

const MAP: &str = r#"
topology = "mesh:4x4"
[nodes]
"fe80::11" = "1,1"
"fec0::7:0:0:0:11" = "1,1"
"fe80::30" = "3,0"
"fe80::23" = "2,3"
"#;

fn gid(text: &str) -> u128 {
    let address: std::net::Ipv6Addr = text.parse().expect("a GID");
    address.to_bits()
}

fn parse(text: &str) -> Result<TopologyMap, ConfigError> {
    TopologyMap::parse(Path::new("mesh.toml"), text)
}

fn tracer() -> Tracer {
    Tracer::new(parse(MAP).expect("a map"))
}

/// What the switches on `path` leave in a packet for `destination` that its source has forged.
fn marked(path: &[&str], claimed: &str, destination: &str) -> Vec<u8> {
    let topology: Topology = "mesh:4x4".parse().expect("a topology");
    let Topology::Grid(mesh) = &topology else {
        panic!("a mesh is a grid");
    };
    let nodes: Vec<u64> = (path.iter())
        .map(|node| topology.parse_node(node).expect("a node"))
        .collect();
    let mut field = MarkingField::new(0x12_3456_789a).expect("38 bits");
    let mut arrival = Arrival::Node;
    for hop in nodes.windows(2) {
        field = mesh.mark(field, arrival, hop[0], hop[1]).expect("a hop");
        arrival = Arrival::Switch;
    }
    arrived(field, claimed, destination)
}

/// A packet with this field.
fn arrived(field: MarkingField, claimed: &str, destination: &str) -> Vec<u8> {
    let mut marked_gid = gid(destination).to_be_bytes();
    // What has no field stays as it is.
    let _ = field.store_in(&mut marked_gid);
    let grh = Grh {
        source_gid: gid(claimed),
        destination_gid: u128::from_be_bytes(marked_gid),
        ..Grh::default()
    };
    native(Some(grh))
}

fn native(grh: Option<Grh>) -> Vec<u8> {
    let message = Message {
        bth: Bth {
            opcode: Opcode(0x64),
            partition_key: 0x7fff,
            ..Bth::default()
        },
        payload: &[1, 2, 3, 4],
        ..Message::default()
    };
    let mut bytes = Vec::new();
    let written = message.write_native(&mut bytes, Lrh::default(), grh);
    written.expect("a packet");
    bytes
}

fn trace_all(packets: &[Vec<u8>]) -> Report {
    let mut tracer = tracer();
    for (number, packet) in (1..).zip(packets) {
        let headers = Headers::parse(LinkType::InfiniBand, packet);
        tracer.trace(number, &headers, LinkType::InfiniBand, packet);
    }
    tracer.report()
}

#[test]
fn a_source_is_named_whatever_the_packet_claims() {
    let honest = marked(&["1,1", "1,2", "1,3", "2,3"], "fe80::11", "fe80::23");
    // Around, so that marks of other paths are the same.
    let detour = [
        "3,0", "2,0", "1,0", "2,0", "3,0", "3,1", "3,2", "3,3", "2,3",
    ];
    let spoofed = marked(&detour, "fe80::11", "fe80::23");
    let unknown = marked(
        &["3,0", "2,0", "1,0", "1,1"],
        "fe80::99",
        "fec0::7:0:0:0:11",
    );
    let report = trace_all(&[honest, spoofed.clone(), unknown, spoofed]);
    assert_eq!((report.traced, report.spoofed), (4, 2));
    assert!(report.untraced.is_empty());
    let rows: Vec<_> = (report.routes.iter())
        .map(|row| {
            (
                &*row.source,
                &*row.destination,
                row.claimed_node.as_deref(),
                row.spoofed,
                (row.packets, row.first_packet),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("3,0", "2,3", Some("1,1"), Some(true), (2, 2)),
            ("1,1", "2,3", Some("1,1"), Some(false), (1, 1)),
            ("3,0", "1,1", None, None, (1, 3)),
        ]
    );
}

#[test]
fn what_cannot_be_traced_has_a_reason() {
    let some = MarkingField::new(1).expect("38 bits");
    let outside = MarkingField::new(3).expect("38 bits");
    let cases = [
        (Untraced::NoGrh, native(None)),
        (
            Untraced::NoMarkingField,
            arrived(some, "fe80::11", "ff12::23"),
        ),
        (
            Untraced::UnknownDestination,
            arrived(some, "fe80::11", "fe80::24"),
        ),
        (
            Untraced::NotMarked,
            arrived(MarkingField::ZERO, "fe80::11", "fe80::23"),
        ),
        // From (2,0) in the direction of the negative second coordinate.
        (Untraced::Outside, arrived(outside, "fe80::11", "fe80::30")),
        (Untraced::Malformed, native(None)[..9].to_vec()),
    ];
    for (reason, packet) in cases {
        let report = trace_all(&[packet]);
        assert_eq!(report.untraced(reason), 1, "{reason:?}");
        assert_eq!((report.traced, report.untraced.len()), (0, 1), "{reason:?}");
    }
}

#[test]
fn packets_over_ip_have_no_marks() {
    let message = Message {
        bth: Bth {
            opcode: Opcode(0x64),
            ..Bth::default()
        },
        ..Message::default()
    };
    let key = FlowKey {
        source: 0xfe80 << 112 | 0x11,
        destination: 0xfe80 << 112 | 0x23,
        source_port: 50_000,
        destination_port: 4791,
        protocol: 17,
        ip_version: 6,
    };
    let mut rocev2 = Vec::new();
    let written = message.write_rocev2(&mut rocev2, &key, &IpHeader::default());
    written.expect("a packet");
    let mut tracer = tracer();
    let headers = Headers::parse(LinkType::RawIp, &rocev2);
    tracer.trace(1, &headers, LinkType::RawIp, &rocev2);
    rocev2[40 + 3] ^= 1;
    let headers = Headers::parse(LinkType::RawIp, &rocev2);
    tracer.trace(2, &headers, LinkType::RawIp, &rocev2);
    let report = tracer.report();
    assert_eq!((report.untraced(Untraced::RoceV2), report.other), (1, 1));
}

#[test]
fn the_table_of_routes_is_bounded() {
    let mut tracer = tracer();
    let mark = MarkingField::new(1).expect("38 bits");
    let all = ROUTES_MAX as u64 + 10;
    for number in 1..=all {
        let claimed = format!("fe80::1:{number:x}");
        let packet = arrived(mark, &claimed, "fe80::23");
        let headers = Headers::parse(LinkType::InfiniBand, &packet);
        tracer.trace(number, &headers, LinkType::InfiniBand, &packet);
    }
    let report = tracer.report();
    assert_eq!(report.traced, all);
    assert_eq!(
        (report.routes.len(), report.routes_untracked),
        (ROUTES_MAX, 10)
    );
}

#[test]
fn errors_of_a_map_have_line_and_column() {
    for (text, expected) in [
        (
            "topology = \"ring:4\"\n[nodes]\n",
            "1:12: topology: `ring:4` is not a topology",
        ),
        ("topology = \"mesh:4x4\"\n", "1:1: missing field \"nodes\""),
        (
            "topology = \"mesh:4x4\"\n[nodes]\n\"10.0.0.1\" = \"1,1\"",
            "3:1: nodes: not a GID",
        ),
        (
            "topology = \"mesh:4x4\"\n[nodes]\n\"2001::1\" = \"1,1\"",
            "3:1: nodes: the GID is neither link-local",
        ),
        (
            "topology = \"mesh:4x4\"\n[nodes]\n\"fe80:0:1::1\" = \"1,1\"",
            "3:1: nodes: the GID is not zero in the 38 bits",
        ),
        (
            "topology = \"mesh:4x4\"\n[nodes]\n\"fe80::1\" = \"1,4\"",
            "3:13: nodes: `1,4` is no node of mesh:4x4",
        ),
        (
            "topology = \"mesh:4x4\"\n[nodes]\n\"fe80::a\" = \"1,1\"\n\"FE80::A\" = \"1,2\"",
            "nodes: the GID is given twice",
        ),
        (
            "topology = \"mesh:4x4\"\nnode = 1\n",
            "2:1: unknown field \"node\"",
        ),
    ] {
        let error = parse(text).expect_err(expected).to_string();
        assert!(error.starts_with("mesh.toml:"), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn references_describe_the_map() {
    weir_reference::Reference::of::<super::map::Document>("Topology map of Weir")
        .assert_documented("topology-map");
}
