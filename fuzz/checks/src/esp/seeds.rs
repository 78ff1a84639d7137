//! Sealed packets, whole and in other company.

use weir_packet::wire::{FlowKey, build, protocol};

use super::{GATEWAY, join};
use crate::{Seed, seed};

/// SPIs, protocols and ports that lead somewhere.
pub const WORDS: &[&[u8]] = &[
    &[0, 0, 0x10, 0x01],
    &[0, 0, 0x10, 0x02],
    &[0, 0, 0x10, 0x03],
    &[0, 0, 0x10, 0x04],
    &[0, 0, 0x10, 0x05],
    &[0, 0, 0x10, 0x06],
    &[0, 0, 0x10, 0x07],
    &[0, 0, 0, 1],
    &[0, 0, 0, 0],
    &[0xff, 0xff, 0xff, 0xff],
    &[0x11, 0x94],
    &[protocol::ESP],
    &[protocol::AH],
    &[protocol::UDP],
    &[protocol::FRAGMENT],
    &[198, 19, 255, 2],
];

/// The packets of each association, and all of them in several orders.
pub fn seeds() -> Vec<Seed> {
    let sealed = &GATEWAY.sealed;
    let names = [
        "gcm_tunnel",
        "gcm_transport_esn",
        "ctr_4in6",
        "cbc_in_udp",
        "cbc_transport_esn",
        "null_6in4",
        "chacha_6in6",
    ];
    let mut seeds = vec![seed("empty", []), seed("all", join(sealed))];
    for (name, packets) in names.into_iter().zip(sealed.chunks(3)) {
        seeds.push(seed(name, join(packets)));
    }
    seeds.push(seed("backwards", join(sealed.iter().rev())));
    seeds.push(seed("twice", join(sealed.iter().chain(sealed).step_by(3))));
    seeds.push(seed("not_esp", join(&strangers())));
    seeds
}

/// Packets that no association sealed.
fn strangers() -> Vec<Vec<u8>> {
    let mut key = FlowKey {
        source: 0xc613_ff01,
        destination: 0xc613_ff02,
        source_port: protocol::PORT_NAT_T,
        destination_port: protocol::PORT_NAT_T,
        protocol: protocol::UDP,
        ip_version: 4,
    };
    let mut packets = vec![
        // A keepalive, IKE behind its marker, and ESP too short for anything.
        build::udp_packet(&key, &[0xff]),
        build::udp_packet(&key, &[0, 0, 0, 0, 1, 2, 3, 4]),
        build::udp_packet(&key, &[0, 0, 0x10, 4]),
    ];
    key.protocol = protocol::ESP;
    for payload in [&[0, 0, 0x10, 1, 0, 0, 0, 9][..], &[0, 0, 0x10], &[0x5a; 64]] {
        let mut packet = Vec::new();
        build::ip(&mut packet, &key, &build::IpHeader::default(), |out| {
            out.extend_from_slice(payload);
        });
        packets.push(packet);
    }
    packets
}
