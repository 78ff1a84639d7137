//! A packet of every operation, in each of the four ways that packets are carried.
//!
//! ```text
//!  RoCEv2      | Ethernet | IPv4 or IPv6 | UDP 4791 |  BTH | extended headers | payload | pad | ICRC |
//!  InfiniBand  | ERF |      LRH     |   GRH or none  |  BTH | extended headers | payload | pad | ICRC | VCRC |
//! ```
//!
//! With a path, the packets are written there as a pcapng capture with two interfaces, which
//! Wireshark and `weir fabric check` read; without one, they are read back and listed:
//! `cargo run -p weir-fabric --example every_operation -- packets.pcapng`.

use std::error::Error;
use std::path::Path;

use weir_fabric::wire::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Deth, ExtendedHeaders, Grh, Ieth, ImmDt, Lrh, Message,
    Opcode, Packet, Rdeth, Reth, Verdict,
};
use weir_packet::file::{Format, Interface, Writer};
use weir_packet::wire::build::{self, IpHeader};
use weir_packet::wire::{FlowKey, LinkType, protocol};

/// Partitions that packets belong to, one after the other.
const PARTITION_KEYS: [u16; 3] = [0xffff, 0x8001, 0x1234];

/// Nanoseconds since 1970 of the first packet.
const START_NS: u64 = 1_700_000_000_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let packets = packets()?;
    match std::env::args_os().nth(1) {
        Some(path) => write(Path::new(&path), &packets),
        None => list(&packets),
    }
}

/// A packet as a capture has it.
struct Record {
    link: LinkType,
    bytes: Vec<u8>,
}

fn packets() -> Result<Vec<Record>, Box<dyn Error>> {
    let mut packets = Vec::new();
    for (number, opcode) in (1..).zip(Opcode::all()) {
        let payload: Vec<u8> = (0..=u8::MAX)
            .cycle()
            .take(number as usize % 64 + 20)
            .collect();
        let message = message(opcode, number, &payload);
        for ip_version in [4, 6] {
            packets.push(Record {
                link: LinkType::Ethernet,
                bytes: rocev2(&message, ip_version)?,
            });
        }
        for grh in [None, Some(global())] {
            let mut packet = Vec::new();
            message.write_native(&mut packet, local(), grh)?;
            packets.push(Record {
                link: LinkType::Erf,
                bytes: erf(&packet),
            });
        }
    }
    Ok(packets)
}

/// What each operation says: its extended headers are filled in, of which it takes its own.
fn message(opcode: Opcode, number: u32, payload: &[u8]) -> Message<'_> {
    let is_notification = opcode == Opcode::CONGESTION_NOTIFICATION;
    Message {
        bth: Bth {
            opcode,
            partition_key: PARTITION_KEYS[number as usize % PARTITION_KEYS.len()],
            becn: is_notification,
            destination_qp: 0x12,
            psn: number,
            ..Bth::default()
        },
        extended: ExtendedHeaders {
            rdeth: Rdeth {
                reserved: 0,
                ee_context: 3,
            },
            deth: Deth {
                queue_key: 0x8001_0000,
                reserved: 0,
                source_qp: 0x34,
            },
            reth: Reth {
                virtual_address: 0x7f00_0000_1000,
                remote_key: 0x1ee7,
                dma_bytes: 4096,
            },
            atomic_eth: AtomicEth {
                virtual_address: 0x7f00_0000_2000,
                remote_key: 0x1ee7,
                swap_or_add: 1,
                compare: 0,
            },
            aeth: Aeth {
                syndrome: 0x1f,
                msn: number,
            },
            atomic_ack_eth: AtomicAckEth { original: 7 },
            immediate: ImmDt { data: 0xcafe },
            ieth: Ieth { remote_key: 0x1ee7 },
        },
        payload: match (is_notification, opcode.may_have_payload()) {
            // 16 reserved bytes.
            (true, _) => &[0; 16],
            (_, true) => payload,
            (_, false) => &[],
        },
    }
}

fn rocev2(message: &Message<'_>, ip_version: u8) -> Result<Vec<u8>, Box<dyn Error>> {
    let key = FlowKey {
        // 198.18.0.1 and .2, or fd00::1 and ::2.
        source: if ip_version == 4 {
            0xc612_0001
        } else {
            0xfd00 << 112 | 1
        },
        destination: if ip_version == 4 {
            0xc612_0002
        } else {
            0xfd00 << 112 | 2
        },
        source_port: 49_152,
        destination_port: 4791,
        protocol: protocol::UDP,
        ip_version,
    };
    let mut frame = Vec::new();
    let (to, from) = ([2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]);
    build::ethernet(&mut frame, to, from, build::ether_type(&key));
    message.write_rocev2(&mut frame, &key, &IpHeader::default())?;
    Ok(frame)
}

/// A record in Endace's format around a native packet: Wireshark does not know the link type of
/// bare InfiniBand.
fn erf(packet: &[u8]) -> Vec<u8> {
    let packet_bytes = packet.len() as u16;
    let mut record = vec![0; 8];
    // Type 21 is InfiniBand; the flag says that records have different lengths.
    record.extend([21, 4]);
    record.extend((16 + packet_bytes).to_be_bytes());
    record.extend([0, 0]);
    record.extend(packet_bytes.to_be_bytes());
    record.extend(packet);
    record
}

fn local() -> Lrh {
    Lrh {
        service_level: 1,
        destination_lid: 2,
        source_lid: 1,
        ..Lrh::default()
    }
}

fn global() -> Grh {
    Grh {
        source_gid: 0xfe80 << 112 | 1,
        destination_gid: 0xfe80 << 112 | 2,
        ..Grh::default()
    }
}

fn write(path: &Path, packets: &[Record]) -> Result<(), Box<dyn Error>> {
    let mut writer = Writer::create(path, Format::PcapNg)?;
    let ethernet = writer.add_interface(&Interface::new(LinkType::Ethernet))?;
    let infiniband = writer.add_interface(&Interface::new(LinkType::Erf))?;
    for (number, record) in (0..).zip(packets) {
        let interface = match record.link {
            LinkType::Erf => infiniband,
            _ => ethernet,
        };
        let (time_ns, wire_bytes) = (START_NS + number * 1_000, record.bytes.len() as u32);
        writer.write(interface, time_ns, wire_bytes, &record.bytes)?;
    }
    writer.finish()?;
    println!("{}: {} packets", path.display(), packets.len());
    Ok(())
}

fn list(packets: &[Record]) -> Result<(), Box<dyn Error>> {
    for record in packets {
        let packet =
            Packet::parse(record.link, &record.bytes)?.ok_or("not a packet of a fabric")?;
        assert_eq!(packet.check_icrc(), Verdict::Good);
        println!(
            "{:<34} {:<7} P_Key 0x{:04x}, {:3} bytes of payload, ICRC 0x{:08x}",
            packet.bth().opcode.to_string(),
            format!("{:?}", packet.carrier()),
            packet.bth().partition_key,
            packet.payload().len(),
            packet.icrc().unwrap_or_default()
        );
    }
    Ok(())
}
