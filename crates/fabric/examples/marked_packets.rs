//! A flood with forged sources, as it arrives at a node of a mesh whose switches mark packets.
//!
//! ```text
//!  GRH:  source GID = whatever the sender wrote
//!        destination GID = prefix (10 bits) | mark (38 bits) | subnet | GUID
//! ```
//!
//! Node (2,3) of a 4x4 mesh hears from three nodes. Node (3,0) sends under the GIDs of the other two, and
//! its packets take any way. With a path, the packets are written there as a capture, which
//! `weir fabric trace --map examples/mesh.toml` reads; without one, they are traced here:
//! `cargo run -p weir-fabric --example marked_packets -- flood.pcapng`.

use std::error::Error;
use std::path::Path;

use weir_fabric::marks::{Arrival, Grid, MarkingField, Topology};
use weir_fabric::trace::{TopologyMap, Tracer};
use weir_fabric::wire::{Bth, Deth, ExtendedHeaders, Grh, Lrh, Message, Opcode};
use weir_packet::file::{Format, Interface, Writer};
use weir_packet::wire::{Headers, LinkType};

const MAP: &str = include_str!("../../../examples/mesh.toml");
/// The node that is flooded.
const VICTIM: &str = "2,3";
const VICTIM_GID: u128 = 0xfe80 << 112 | 0x2_c903_0000_0023;
/// Nodes that send under their own names.
const HONEST: [(&str, u128); 2] = [
    ("1,1", 0xfe80 << 112 | 0x2_c903_0000_0011),
    ("0,2", 0xfe80 << 112 | 0x2_c903_0000_0002),
];
const ATTACKER: &str = "3,0";
/// Nanoseconds since 1970 of the first packet.
const START_NS: u64 = 1_700_000_000_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let packets = packets()?;
    match std::env::args_os().nth(1) {
        Some(path) => write(Path::new(&path), &packets),
        None => trace(&packets),
    }
}

/// Ten packets of each honest node, and a hundred of the attacker under each of their names.
fn packets() -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let topology: Topology = "mesh:4x4".parse()?;
    let Topology::Grid(mesh) = &topology else {
        return Err("a mesh is a grid".into());
    };
    let node = |name: &str| topology.parse_node(name).ok_or("no such node");
    let mut packets = Vec::new();
    for round in 0..110 {
        for (name, gid) in HONEST {
            let is_honest = round % 11 == 10;
            let source = if is_honest { name } else { ATTACKER };
            let field = arrived(mesh, node(source)?, node(VICTIM)?, round)?;
            packets.push(packet(gid, field, packets.len() as u32)?);
        }
    }
    Ok(packets)
}

/// The field of a packet after its way: `round` steps to and fro, then straight on. The source
/// has written something into the field, which its switch clears.
fn arrived(
    mesh: &Grid,
    source: u64,
    victim: u64,
    round: u64,
) -> Result<MarkingField, Box<dyn Error>> {
    let mut field = MarkingField::new(0x12_3456_789a ^ round).ok_or("38 bits")?;
    let mut arrival = Arrival::Node;
    let mut at = source;
    let (row, column) = (source / 4, source % 4);
    let aside = if column < 3 { source + 1 } else { source - 1 };
    let detour = [aside, source]
        .into_iter()
        .cycle()
        .take(2 * (round as usize % 5));
    let rows: Vec<u64> = match row <= victim / 4 {
        true => (row + 1..=victim / 4).collect(),
        false => (victim / 4..row).rev().collect(),
    };
    let along = rows.iter().map(|row| row * 4 + column);
    let last_row = victim / 4 * 4;
    let columns = (column + 1..=victim % 4).map(|column| last_row + column);
    for next in detour.chain(along).chain(columns) {
        field = mesh.mark(field, arrival, at, next)?;
        arrival = Arrival::Switch;
        at = next;
    }
    assert_eq!(at, victim);
    Ok(field)
}

fn packet(claimed: u128, field: MarkingField, psn: u32) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut destination = VICTIM_GID.to_be_bytes();
    field.store_in(&mut destination)?;
    let message = Message {
        bth: Bth {
            opcode: Opcode(0x64),
            partition_key: 0x8001,
            destination_qp: 0x17,
            psn,
            ..Bth::default()
        },
        extended: ExtendedHeaders {
            deth: Deth {
                queue_key: 0x8001_0000,
                source_qp: 0x34,
                ..Deth::default()
            },
            ..ExtendedHeaders::default()
        },
        payload: &[0; 64],
    };
    let grh = Grh {
        source_gid: claimed,
        destination_gid: u128::from_be_bytes(destination),
        ..Grh::default()
    };
    let mut bytes = Vec::new();
    message.write_native(&mut bytes, Lrh::default(), Some(grh))?;
    Ok(bytes)
}

fn write(path: &Path, packets: &[Vec<u8>]) -> Result<(), Box<dyn Error>> {
    let mut writer = Writer::create(path, Format::PcapNg)?;
    let interface = writer.add_interface(&Interface::new(LinkType::InfiniBand))?;
    for (number, packet) in (0..).zip(packets) {
        let time_ns = START_NS + number * 1_000;
        writer.write(interface, time_ns, packet.len() as u32, packet)?;
    }
    writer.finish()?;
    println!("{}: {} packets", path.display(), packets.len());
    Ok(())
}

fn trace(packets: &[Vec<u8>]) -> Result<(), Box<dyn Error>> {
    let mut tracer = Tracer::new(TopologyMap::parse(Path::new("mesh.toml"), MAP)?);
    for (number, packet) in (1..).zip(packets) {
        let headers = Headers::parse(LinkType::InfiniBand, packet);
        tracer.trace(number, &headers, LinkType::InfiniBand, packet);
    }
    let report = tracer.report();
    for row in &report.routes {
        let claimed = row.claimed_node.as_deref().unwrap_or("unknown");
        println!("{} packets from {} as {claimed}", row.packets, row.source);
    }
    assert_eq!((report.traced, report.spoofed), (220, 200));
    Ok(())
}
