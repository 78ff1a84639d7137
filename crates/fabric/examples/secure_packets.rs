//! Packets and what they become when they are protected, in lines for another implementation of
//! `docs/fabric-format.md`:
//!
//! ```text
//! CARRIER MODE EPOCH SENDER SENDER_QP RECEIVER RECEIVER_QP NUMBER BITS SECONDS PLAIN SECURE
//! ```
//!
//! Packets with timestamps have `BITS` bits of them, taken at `SECONDS`; without any, `BITS` is 0.
//! Packets are in hex, from their LRH or IP header on. Secret and session random are in the first line.

use std::error::Error;
use std::net::Ipv4Addr;

use weir_fabric::secure::{
    Address, Batch, Endpoint, ExtendedMode, Flow, Places, PlainPolicy, Secret, Sender, SenderKeys,
    SessionRandom, Timestamps,
};
use weir_fabric::wire::{Bth, Carrier, ExtendedHeaders, Grh, Lrh, Message, Opcode, Transport};
use weir_packet::wire::build::IpHeader;
use weir_packet::wire::{FlowKey, LinkType};
use weir_stream::DropReason;

const SECRET: [u8; 32] = *b"a secret of 32 bytes for a test.";
const RANDOM: [u8; 16] = *b"random session..";
/// The numbers of bits of timestamps, the fewest and the most too, and when they are taken.
const TIMESTAMP_BITS: [u32; 3] = [8, 24, 38];
const NOW_SECONDS: u64 = 0x12_6789_abcd;
/// The first PSN: the last before it wraps, so that the epoch changes.
const FIRST_PSN: u32 = 0xff_ffff;
const FIRST_EPOCH: u64 = 0x12_3456_7889;
const FIRST_NUMBER: u64 = FIRST_EPOCH << 24;
const QUEUE_PAIRS: [u32; 2] = [0x12_3456, 0xab_cdef];
const LIDS: [u16; 2] = [0x1234, 0xc001];
const GIDS: [u128; 2] = [
    0xfe80_0000_0000_0000_0002_c903_0000_0001,
    // With marks of switches.
    0xfe80_0001_2345_0000_0002_c903_0000_0002,
];
const IPV4: [u32; 2] = [0xc000_0201, 0xc633_6402];
const IPV6: [u128; 2] = [0x2001_0db8 << 96 | 1, 0x2001_0db8 << 96 | 0xffff];

const PLAIN_GIDS: [u128; 2] = [GIDS[0], 0xfe80_0000_0000_0000_0002_c903_0000_0002];

fn main() -> Result<(), Box<dyn Error>> {
    println!("{} {}", hex(&SECRET), hex(&RANDOM));
    for carrier in [
        Carrier::Local,
        Carrier::Global,
        Carrier::Ipv4,
        Carrier::Ipv6,
    ] {
        for transport in [Transport::Rc, Transport::Uc, Transport::Rd, Transport::Ud] {
            for extended in [ExtendedMode::Never, ExtendedMode::Always] {
                print_packets(carrier, transport, extended, 0)?;
                for bits in TIMESTAMP_BITS {
                    // Only a GRH has a marking field.
                    if carrier == Carrier::Global {
                        print_packets(carrier, transport, extended, bits)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// A packet of every operation of a transport, and a congestion notification.
fn print_packets(
    carrier: Carrier,
    transport: Transport,
    extended: ExtendedMode,
    timestamp_bits: u32,
) -> Result<(), Box<dyn Error>> {
    let timestamps = (timestamp_bits > 0).then_some(Timestamps {
        bits: timestamp_bits,
        tolerance_seconds: 8,
    });
    let address = |side: usize| match carrier {
        Carrier::Local => Address::Lid(LIDS[side]),
        Carrier::Global => Address::Gid(PLAIN_GIDS[side].into()),
        Carrier::Ipv4 => Address::Ipv4(Ipv4Addr::from(IPV4[side])),
        Carrier::Ipv6 => Address::Gid(IPV6[side].into()),
    };
    let [sender, receiver] = [0, 1].map(|side| Endpoint {
        address: address(side),
        queue_pair: QUEUE_PAIRS[side],
    });
    let flow = Flow {
        extended,
        timestamps,
        ..Flow::new(sender, receiver, transport, 0x8001)
    };
    let keys = SenderKeys::derive(
        &Secret::new(SECRET.to_vec())?,
        SessionRandom(RANDOM),
        sender,
        receiver,
    );
    let mut protector = Sender::new(PlainPolicy::default());
    protector.add(flow, &keys, FIRST_EPOCH..FIRST_EPOCH + 2)?;

    let is_notified = matches!(transport, Transport::Rc | Transport::Uc);
    let opcodes = Opcode::all().filter(|opcode| match opcode.transport() {
        Some(Transport::Cnp) => is_notified,
        other => other == Some(transport),
    });
    let mut number = FIRST_NUMBER;
    for (at, opcode) in opcodes.enumerate() {
        let psn = FIRST_PSN.wrapping_add(at as u32) & 0xff_ffff;
        let plain = packet(carrier, opcode, psn, at, timestamps.is_some())?;
        let link = match carrier.is_rocev2() {
            true => LinkType::RawIp,
            false => LinkType::InfiniBand,
        };
        let mut buffer = plain.clone();
        buffer.extend([0; Batch::SPACE_BYTES]);
        let mut places = Places::new();
        let mut batch = places.batch(&mut buffer);
        if !batch.push(link, 0..plain.len()) {
            return Err("a batch without space".into());
        }
        protector.protect(&mut batch, NOW_SECONDS);
        let secure = batch.get(0).map_err(|reason| reason.word().name)?;
        let carried = match secure.len() == plain.len() {
            true => "-".to_owned(),
            false => {
                number += 1;
                (number - 1).to_string()
            }
        };
        let numbered = |end: Endpoint| match end.address {
            Address::Lid(lid) => format!("{lid} {}", end.queue_pair),
            address => format!("{address} {}", end.queue_pair),
        };
        println!(
            "{carrier:?} {extended:?} {FIRST_EPOCH} {} {} {carried} {timestamp_bits} {NOW_SECONDS} {} {}",
            numbered(sender),
            numbered(receiver),
            hex(&plain),
            hex(secure),
        );
    }
    Ok(())
}

fn packet(
    carrier: Carrier,
    opcode: Opcode,
    psn: u32,
    at: usize,
    is_unmarked: bool,
) -> Result<Vec<u8>, Box<dyn Error>> {
    let payload: Vec<u8> = match opcode {
        Opcode::CONGESTION_NOTIFICATION => vec![0; 16],
        _ if opcode.may_have_payload() => (0..7 * at).map(|byte| byte as u8).collect(),
        _ => Vec::new(),
    };
    let bth = Bth {
        opcode,
        solicited_event: at % 2 == 1,
        migration_request: at % 3 == 1,
        partition_key: if at.is_multiple_of(2) { 0x8001 } else { 1 },
        fecn: at % 4 == 1,
        becn: at % 4 == 2,
        destination_qp: QUEUE_PAIRS[1],
        acknowledge_request: at % 3 == 2,
        psn,
        ..Bth::default()
    };
    let mut extended = ExtendedHeaders::default();
    extended.deth.queue_key = 0x8001_0000;
    extended.deth.source_qp = QUEUE_PAIRS[0];
    extended.reth.virtual_address = 0x7f00_1234_5678_9abc;
    extended.reth.remote_key = 0xdead_beef;
    extended.aeth.msn = psn;
    extended.atomic_eth.compare = 77;
    extended.immediate.data = 0x0102_0304;
    let message = Message {
        bth,
        extended,
        payload: &payload,
    };
    let lrh = Lrh {
        virtual_lane: 3,
        service_level: 2,
        source_lid: LIDS[0],
        destination_lid: LIDS[1],
        ..Lrh::default()
    };
    let grh = Grh {
        traffic_class: 0x55,
        flow_label: 0x1_2345,
        hop_limit: 9,
        source_gid: GIDS[0],
        // What is to have the time carries no marks yet.
        destination_gid: if is_unmarked { PLAIN_GIDS[1] } else { GIDS[1] },
        ..Grh::default()
    };
    let key = |source, destination, ip_version| FlowKey {
        source,
        destination,
        source_port: 0xc123,
        destination_port: 4791,
        protocol: 17,
        ip_version,
    };
    let [ipv4, ipv6] = [
        key(IPV4[0].into(), IPV4[1].into(), 4),
        key(IPV6[0], IPV6[1], 6),
    ];
    let ip = IpHeader::default();
    let mut bytes = Vec::new();
    match carrier {
        Carrier::Local => message.write_native(&mut bytes, lrh, None)?,
        Carrier::Global => message.write_native(&mut bytes, lrh, Some(grh))?,
        Carrier::Ipv4 => message.write_rocev2(&mut bytes, &ipv4, &ip)?,
        Carrier::Ipv6 => message.write_rocev2(&mut bytes, &ipv6, &ip)?,
    }
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
