//! Checksums, as the receiver verifies them: of the IPv4 header (RFC 791), of TCP,
//! UDP, ICMP and ICMPv6.

use weir_packet::wire::protocol::{ICMP, ICMPV6, TCP, UDP};
use weir_packet::wire::{Checksum, Fragment, Network, internet_checksum};

use crate::packet::Packet;

/// What is done about checksums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksums {
    /// Packets with wrong checksums are not inspected: no host takes them.
    #[default]
    Verify,
    /// Checksums are not looked at.
    Ignore,
}

/// What a packet's checksums say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sum {
    /// There is none to verify: a fragment, a cut packet, another protocol.
    Unknown,
    /// They are right.
    Whole,
    /// The sender's network card was to write one (transmit offload): it is zero,
    /// or the sum of the pseudo-header alone.
    Partial,
    /// One is wrong.
    Wrong,
}

/// Verifies the checksums of one packet, without those of what it carries.
pub(crate) fn of(packet: &Packet<'_>) -> Sum {
    let headers = &packet.headers;
    if !headers.is_ip() {
        return Sum::Unknown;
    }
    let header = of_ipv4_header(packet);
    if packet.is_checksum_trusted && header == Sum::Whole {
        return Sum::Unknown;
    }
    if header == Sum::Wrong || headers.fragment != Fragment::Whole || headers.fault.is_some() {
        return if header == Sum::Wrong {
            header
        } else {
            Sum::Unknown
        };
    }
    // What lies behind UDP's own length is not summed.
    let transport = packet.transport();
    let is_pseudo_summed = matches!(headers.protocol, TCP | UDP | ICMPV6);
    let (at, is_optional) = match headers.protocol {
        TCP => (16, false),
        UDP => (6, headers.network == Network::Ipv4),
        ICMP | ICMPV6 => (2, false),
        _ => return Sum::Unknown,
    };
    let Some(field) = transport.get(at..at + 2) else {
        return Sum::Unknown;
    };
    let field = u16::from_be_bytes([field[0], field[1]]);
    if field == 0 && is_optional {
        return Sum::Unknown;
    }
    if field == 0 && headers.protocol == UDP {
        // Over IPv6 only tunnels may do without one (RFC 6935).
        return match headers.inner(packet.bytes) {
            Some(_) => Sum::Unknown,
            None => Sum::Wrong,
        };
    }
    let pseudo = if is_pseudo_summed {
        pseudo_header(packet, transport.len())
    } else {
        Checksum::new()
    };
    let is_right = pseudo.add(transport).finish() == 0;
    match (is_right, header) {
        (true, Sum::Partial) => Sum::Partial,
        (true, _) => Sum::Whole,
        (false, _) if field == 0 || is_pseudo_summed && field == !pseudo.finish() => Sum::Partial,
        (false, _) => Sum::Wrong,
    }
}

/// An IPv4 header that was left to the network card has zero.
fn of_ipv4_header(packet: &Packet<'_>) -> Sum {
    if packet.headers.network != Network::Ipv4 {
        return Sum::Whole;
    }
    let ip_packet = packet.headers.ip_packet(packet.bytes);
    let header_bytes = ip_packet
        .first()
        .map_or(0, |first| usize::from(first & 0x0f) * 4);
    match ip_packet.get(..header_bytes) {
        Some(header) if internet_checksum(header) == 0 => Sum::Whole,
        Some([_, _, _, _, _, _, _, _, _, _, 0, 0, ..]) => Sum::Partial,
        Some(_) => Sum::Wrong,
        None => Sum::Unknown,
    }
}

fn pseudo_header(packet: &Packet<'_>, transport_bytes: usize) -> Checksum {
    let ip_packet = packet.headers.ip_packet(packet.bytes);
    let addresses = match packet.headers.network {
        Network::Ipv4 => ip_packet.get(12..20),
        _ => ip_packet.get(8..40),
    };
    let (addresses, protocol) = (addresses.unwrap_or_default(), packet.headers.protocol);
    Checksum::new().add_pseudo_header(addresses, protocol, transport_bytes as u32)
}

#[cfg(test)]
mod tests;
