//! Captures of every format, made field by field.

use weir_packet::wire::{FlowKey, build, protocol};

use super::{gzip, zstd};
use crate::{Seed, seed};

/// Magic numbers, block types and link types.
pub const WORDS: &[&[u8]] = &[
    &[0xd4, 0xc3, 0xb2, 0xa1],
    &[0xa1, 0xb2, 0xc3, 0xd4],
    &[0x4d, 0x3c, 0xb2, 0xa1],
    &[0xa1, 0xb2, 0x3c, 0x4d],
    &[0x0a, 0x0d, 0x0d, 0x0a],
    &[0x4d, 0x3c, 0x2b, 0x1a],
    &[0x1a, 0x2b, 0x3c, 0x4d],
    &[1, 0, 0, 0],
    &[2, 0, 0, 0],
    &[3, 0, 0, 0],
    &[5, 0, 0, 0],
    &[6, 0, 0, 0],
    &[0, 0, 0, 6],
    &[0xad, 0x0b, 0, 0],
    &[12, 0, 0, 0],
    &[9, 0, 1, 0, 9, 0, 0, 0],
    &[9, 0, 1, 0, 0x80 | 30, 0, 0, 0],
    &[14, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0],
    &[0x1f, 0x8b, 8, 0],
    &[0x28, 0xb5, 0x2f, 0xfd],
];

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// One capture for each branch of the readers.
pub fn seeds() -> Vec<Seed> {
    use Order::{Big, Little};
    let mut seeds = vec![
        seed("pcap_us_little", pcap(Little, MICROSECONDS, 1)),
        seed("pcap_us_big", pcap(Big, MICROSECONDS, 1)),
        seed("pcap_ns_little", pcap(Little, NANOSECONDS, 101)),
        seed("pcap_ns_big", pcap(Big, NANOSECONDS, 276)),
        seed("pcap_unknown_link", pcap(Little, NANOSECONDS, 147)),
        seed("pcap_empty", pcap_header(Little, MICROSECONDS, 1)),
        seed("pcapng_little", pcapng(Little)),
        seed("pcapng_big", pcapng(Big)),
        seed(
            "pcapng_two_sections",
            [pcapng(Little), pcapng(Big)].concat(),
        ),
        seed("pcapng_resolutions", pcapng_resolutions()),
        seed("pcapng_empty", section(Little)),
        seed("tsh", tsh()),
        seed("pcap.gz", gzip(&pcap(Little, MICROSECONDS, 1))),
        seed("pcapng.gz", gzip(&pcapng(Little))),
        seed("pcap.zst", zstd(&pcap(Big, NANOSECONDS, 1))),
        seed("pcapng.zst", zstd(&pcapng(Big))),
        seed("empty", []),
    ];
    let mut twice = gzip(&pcap_header(Little, MICROSECONDS, 1));
    twice.extend(gzip(&pcap_record(Little, &datagram(60))));
    seeds.push(seed("pcap_in_two_gzip_members", twice));
    let mut lying = pcap(Little, MICROSECONDS, 1);
    lying.extend([0xff; 16]);
    seeds.push(seed("pcap_record_too_long", lying));
    let mut zero_length = section(Little);
    zero_length.extend([6, 0, 0, 0, 0, 0, 0, 0]);
    seeds.push(seed("pcapng_block_of_no_length", zero_length));
    let mut undeclared = section(Little);
    undeclared.extend(enhanced(Little, 7, 1, &datagram(60)));
    seeds.push(seed("pcapng_undeclared_interface", undeclared));
    seeds
}

/// An Ethernet frame with that many bytes of UDP payload.
fn datagram(payload_bytes: usize) -> Vec<u8> {
    let key = FlowKey {
        source: 0xc612_0001,
        destination: 0xc613_0002,
        source_port: 4711,
        destination_port: 4712,
        protocol: protocol::UDP,
        ip_version: 4,
    };
    let mut frame = Vec::new();
    build::ethernet(
        &mut frame,
        [2, 0, 0, 0, 0, 1],
        [2, 0, 0, 0, 0, 2],
        protocol::ETHER_IPV4,
    );
    build::ip(&mut frame, &key, &build::IpHeader::default(), |packet| {
        build::udp(packet, &key, |datagram| {
            datagram.extend((0..payload_bytes).map(|at| at as u8));
        });
    });
    frame
}

#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }

    fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }
}

fn pcap(order: Order, magic: u32, link: u32) -> Vec<u8> {
    let mut file = pcap_header(order, magic, link);
    for payload_bytes in [0, 18, 101] {
        file.extend(pcap_record(order, &datagram(payload_bytes)));
    }
    file
}

fn pcap_header(order: Order, magic: u32, link: u32) -> Vec<u8> {
    let mut header = order.u32(magic).to_vec();
    header.extend(order.u16(2));
    header.extend(order.u16(4));
    header.extend([0; 8]);
    header.extend(order.u32(65_535));
    header.extend(order.u32(link));
    header
}

fn pcap_record(order: Order, bytes: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    for field in [1_700_000_000, 999_999, bytes.len() as u32, 1500] {
        record.extend(order.u32(field));
    }
    record.extend(bytes);
    record
}

/// Two interfaces, the three kinds of packet blocks, and blocks to pass over.
fn pcapng(order: Order) -> Vec<u8> {
    let mut file = section(order);
    let options = [
        option(order, 2, b"eth0"),
        option(order, 9, &[9]),
        option(order, 0, b""),
    ];
    file.extend(interface(order, 1, 100, &options));
    file.extend(interface(order, 101, 0, &[]));
    file.extend(enhanced(order, 0, 1_700_000_000_000_000_000, &datagram(33)));
    file.extend(block(order, 4, &[0; 8]));
    file.extend(enhanced(
        order,
        1,
        1_700_000_000_000_000,
        &datagram(2)[14..],
    ));
    let mut simple = order.u32(74).to_vec();
    simple.extend(datagram(32));
    file.extend(block(order, 3, &simple));
    let mut obsolete = order.u16(1).to_vec();
    obsolete.extend(order.u16(0));
    for field in [0, 77, 42, 1500] {
        obsolete.extend(order.u32(field));
    }
    obsolete.extend(datagram(0));
    file.extend(block(order, 2, &obsolete));
    file.extend(block(order, 5, &[0; 12]));
    file.extend(block(order, 0x0000_0bad, b"custom"));
    file
}

/// Times in powers of 10 and 2, with and without an offset.
fn pcapng_resolutions() -> Vec<u8> {
    let order = Order::Little;
    let mut file = section(order);
    for resolution in [0, 6, 9, 12, 0x80, 0x80 | 20, 0x80 | 63] {
        let offset = 1_000_000_000u64.to_le_bytes();
        let options = [option(order, 9, &[resolution]), option(order, 14, &offset)];
        file.extend(interface(order, 1, 0, &options));
    }
    for number in 0..7 {
        file.extend(enhanced(order, number, 0x0123_4567_89ab_cdef, &[0xaa; 3]));
    }
    file
}

fn section(order: Order) -> Vec<u8> {
    let mut body = order.u32(0x1a2b_3c4d).to_vec();
    body.extend(order.u16(1));
    body.extend(order.u16(0));
    body.extend([0xff; 8]);
    block(order, 0x0a0d_0d0a, &body)
}

fn interface(order: Order, link: u16, snap_bytes: u32, options: &[Vec<u8>]) -> Vec<u8> {
    let mut body = order.u16(link).to_vec();
    body.extend([0; 2]);
    body.extend(order.u32(snap_bytes));
    body.extend(options.concat());
    block(order, 1, &body)
}

fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = order.u16(code).to_vec();
    option.extend(order.u16(value.len() as u16));
    option.extend(value);
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

fn enhanced(order: Order, interface: u32, ticks: u64, bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for field in [
        interface,
        (ticks >> 32) as u32,
        ticks as u32,
        bytes.len() as u32,
        bytes.len() as u32,
    ] {
        body.extend(order.u32(field));
    }
    body.extend(bytes);
    block(order, 6, &body)
}

fn block(order: Order, block_type: u32, body: &[u8]) -> Vec<u8> {
    let block_bytes = 12 + body.len().next_multiple_of(4);
    let mut block = order.u32(block_type).to_vec();
    block.extend(order.u32(block_bytes as u32));
    block.extend(body);
    block.resize(block_bytes - 4, 0);
    block.extend(order.u32(block_bytes as u32));
    block
}

/// Three NLANR records of two interfaces.
fn tsh() -> Vec<u8> {
    let mut trace = Vec::new();
    for (interface, total_length) in [(0, 40u16), (1, 1500), (0, 7)] {
        trace.extend(1_000_000_000u32.to_be_bytes());
        trace.extend([interface, 0x0f, 0x42, 0x3f]);
        trace.extend([0x45, 0]);
        trace.extend(total_length.to_be_bytes());
        trace.extend([0, 1, 0, 0, 64, 6, 0, 0, 198, 18, 0, 1, 198, 19, 0, 2]);
        trace.extend([
            0x12, 0x67, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 0xff, 0xff,
        ]);
    }
    trace
}
