//! Packets of every carrier and kind of operation.

use weir_fabric::wire::{Bth, ExtendedHeaders, Grh, Lrh, Message, Opcode};
use weir_packet::wire::build::{self, IpHeader};
use weir_packet::wire::{FlowKey, protocol};

use crate::{Seed, seed};

/// Operation codes, next headers and link types that lead somewhere.
pub const WORDS: &[&[u8]] = &[
    &[0x08, 0x00],
    &[0x81, 0x00],
    &[0x86, 0xdd],
    &[0x12, 0xb7],
    &[0x00, 0x02],
    &[0x00, 0x03],
    &[0x1b],
    &[21],
    &[0x95],
    &[0x0c],
    &[0x11],
    &[0x13],
    &[0x4b],
    &[0x65],
    &[0x81],
    &[0xff, 0xff],
];

/// One packet for each branch of the parser.
pub fn seeds() -> Vec<Seed> {
    let mut seeds = packets();
    seeds.push(seed("empty", []));
    seeds
}

/// The packets of [`seeds`].
pub(crate) fn packets() -> Vec<Seed> {
    let send = rocev2(0x04, 4, b"payload");
    let native_send = native(0x04, None);
    let mut tagged = Vec::new();
    build::ethernet(&mut tagged, [2; 6], [4; 6], protocol::ETHER_VLAN);
    build::vlan_tag(&mut tagged, 42, protocol::ETHER_IPV4);
    tagged.extend(&send);
    tagged.extend([0; 5]);
    let mut erf = vec![0; 8];
    erf.extend([0x95, 4, 0, 72, 0, 0, 0, native_send.len() as u8]);
    erf.extend([0; 8]);
    erf.extend(&native_send);
    erf.resize(72, 0);
    let mut wrong = send.clone();
    wrong[45] ^= 1;
    let cut = send[..50].to_vec();
    vec![
        seed("rocev2_send4", send),
        seed("rocev2_send4_wrong", wrong),
        seed("rocev2_send4_cut", cut),
        seed("rocev2_send6", rocev2(0x04, 6, b"payload")),
        seed("rocev2_write_with_immediate", rocev2(0x0b, 4, b"12345")),
        seed("rocev2_read_request", rocev2(0x0c, 4, b"")),
        seed("rocev2_acknowledge", rocev2(0x11, 4, b"")),
        seed("rocev2_atomic", rocev2(0x13, 6, b"")),
        seed("rocev2_atomic_acknowledge", rocev2(0x12, 6, b"")),
        seed("rocev2_notification", rocev2(0x81, 4, &[0; 16])),
        seed("rocev2_unknown", rocev2(0xa4, 4, b"1234")),
        seed("ethernet_vlan", tagged),
        seed("native_send", native_send),
        seed("native_global", native(0x64, Some(Grh::default()))),
        seed("native_reliable_datagram", native(0x4b, None)),
        seed("native_invalidate", native(0x17, None)),
        seed("erf", erf),
    ]
}

fn message(opcode: u8, payload: &[u8]) -> Message<'_> {
    Message {
        bth: Bth {
            opcode: Opcode(opcode),
            destination_qp: 7,
            psn: 1,
            ..Bth::default()
        },
        extended: ExtendedHeaders::default(),
        payload,
    }
}

fn rocev2(opcode: u8, ip_version: u8, payload: &[u8]) -> Vec<u8> {
    let key = FlowKey {
        source: 0xc612_0001,
        destination: 0xc612_0002,
        source_port: 0xc000,
        destination_port: 4791,
        protocol: protocol::UDP,
        ip_version,
    };
    let mut out = Vec::new();
    let written = message(opcode, payload).write_rocev2(&mut out, &key, &IpHeader::default());
    assert_eq!(written, Ok(()));
    out
}

fn native(opcode: u8, grh: Option<Grh>) -> Vec<u8> {
    let mut out = Vec::new();
    let written = message(opcode, b"payload").write_native(&mut out, Lrh::default(), grh);
    assert_eq!(written, Ok(()));
    out
}
