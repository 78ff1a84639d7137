//! IP and UDP headers, as the receiver judges them: lengths that are true, options
//! and extension headers that a host takes (RFC 791, section 3.1; RFC 768; RFC 8200,
//! section 4).
//!
//! Where hosts differ, this is what Linux does with its defaults: source routes are
//! dropped (`accept_source_route`), and so are extension headers with more than eight
//! options (`max_hbh_opts_number`, `max_dst_opts_number`) or with padding that is
//! longer than needed or not zero.

use weir_packet::wire::protocol::{
    DESTINATION_OPTIONS, HOP_BY_HOP, ROUTING, UDP, extension_header_bytes,
};
use weir_packet::wire::{Fault, Fragment, Network};

use crate::packet::Packet;

const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
/// Most options of an extension header, padding not counted.
const MAX_OPTIONS: usize = 8;
/// Most padding in a row: alignment needs no more.
const MAX_PADDING_BYTES: usize = 7;

/// Whether no host takes the packet because one of its lengths is false: it ends
/// behind what the sender sent, or its datagram does. A record that was cut when it
/// was captured is given the benefit of the doubt.
pub(crate) fn has_false_length(packet: &Packet<'_>) -> bool {
    let headers = &packet.headers;
    match headers.fault {
        Some(Fault::PacketCut | Fault::TransportHeaderCut) => !packet.is_cut,
        Some(_) => false,
        None => {
            headers.protocol == UDP
                && headers.fragment == Fragment::Whole
                && packet.udp_length().is_none()
        }
    }
}

/// Whether the receiver drops the packet for its IP options or extension headers.
pub(crate) fn has_refused_options(packet: &Packet<'_>) -> bool {
    let headers = &packet.headers;
    let shortest = match headers.network {
        Network::Ipv4 => IPV4_HEADER_BYTES,
        Network::Ipv6 => IPV6_HEADER_BYTES,
        Network::Other | Network::Arp => return false,
    };
    let header_bytes = usize::from(headers.transport_offset - headers.network_offset);
    if header_bytes <= shortest {
        return false;
    }
    let Some(header) = headers.ip_packet(packet.bytes).get(..header_bytes) else {
        return false;
    };
    let (fixed, behind) = header.split_at(shortest);
    match headers.network {
        Network::Ipv4 => !are_taken_by_ipv4(behind),
        _ => {
            let states_length = fixed[4..6] != [0, 0];
            !are_taken_by_ipv6(fixed[6], states_length, behind)
        }
    }
}

fn are_taken_by_ipv4(mut options: &[u8]) -> bool {
    const END: u8 = 0;
    const NO_OPERATION: u8 = 1;
    const RECORD_ROUTE: u8 = 7;
    const TIMESTAMP: u8 = 68;
    const LOOSE_SOURCE_ROUTE: u8 = 131;
    const STRICT_SOURCE_ROUTE: u8 = 137;
    const ROUTER_ALERT: u8 = 148;
    let (mut has_route, mut has_timestamp) = (false, false);
    while let [kind, rest @ ..] = options {
        match *kind {
            END => return true,
            NO_OPERATION => {
                options = rest;
                continue;
            }
            _ => {}
        }
        let length = usize::from(*rest.first().unwrap_or(&0));
        let Some(option) = options.get(..length).filter(|_| length >= 2) else {
            return false;
        };
        let is_taken = match *kind {
            LOOSE_SOURCE_ROUTE | STRICT_SOURCE_ROUTE => false,
            RECORD_ROUTE => !std::mem::replace(&mut has_route, true) && has_slot(option, 4, 4),
            TIMESTAMP => {
                // With addresses, a slot has eight bytes.
                let slot_bytes = if option.get(3).is_some_and(|flags| flags & 15 != 0) {
                    8
                } else {
                    4
                };
                !std::mem::replace(&mut has_timestamp, true) && has_slot(option, 5, slot_bytes)
            }
            ROUTER_ALERT => length >= 4,
            _ => true,
        };
        if !is_taken {
            return false;
        }
        options = &options[length..];
    }
    true
}

/// Whether the pointer of a route or of timestamps is behind all slots, or at one that
/// has room.
fn has_slot(option: &[u8], first: usize, slot_bytes: usize) -> bool {
    let Some(pointer) = option.get(2).map(|pointer| usize::from(*pointer)) else {
        return false;
    };
    option.len() >= first - 1
        && pointer >= first
        && (pointer > option.len() || pointer - 1 + slot_bytes <= option.len())
}

/// The chain of headers from the first on, each with the number of the next.
fn are_taken_by_ipv6(mut kind: u8, states_length: bool, mut headers: &[u8]) -> bool {
    const JUMBO_PAYLOAD: u8 = 194;
    /// Home address of Mobile IPv6, segments of SRv6, of RPL: routes that a host takes.
    const TAKEN_ROUTES: [u8; 3] = [2, 3, 4];
    let mut is_first = true;
    while let [next, length, ..] = *headers {
        let Some(header_bytes) = extension_header_bytes(kind, length) else {
            return true;
        };
        let Some(header) = headers.get(..header_bytes) else {
            return false;
        };
        let is_taken = match kind {
            HOP_BY_HOP => {
                let options = match &header[2..] {
                    // The packet has the length that it says.
                    [JUMBO_PAYLOAD, 4, _, _, _, _, rest @ ..] if !states_length => rest,
                    options => options,
                };
                is_first && are_options_taken(options)
            }
            DESTINATION_OPTIONS => are_options_taken(&header[2..]),
            ROUTING => header[3] == 0 || TAKEN_ROUTES.contains(&header[2]),
            _ => true,
        };
        if !is_taken {
            return false;
        }
        headers = &headers[header_bytes..];
        (kind, is_first) = (next, false);
    }
    true
}

/// Options of hop-by-hop and destination headers (RFC 8200, section 4.2).
fn are_options_taken(mut options: &[u8]) -> bool {
    const PAD_1: u8 = 0;
    const PAD_N: u8 = 1;
    const ROUTER_ALERT: u8 = 5;
    const HOME_ADDRESS: u8 = 201;
    let (mut count, mut padding_bytes) = (0, 0);
    while let [kind, rest @ ..] = options {
        if *kind == PAD_1 {
            padding_bytes += 1;
            options = rest;
        } else {
            let Some((length, rest)) = rest.split_first() else {
                return false;
            };
            let Some((data, behind)) = rest.split_at_checked(usize::from(*length)) else {
                return false;
            };
            options = behind;
            if *kind == PAD_N {
                padding_bytes += 2 + data.len();
                if data.iter().any(|byte| *byte != 0) {
                    return false;
                }
            } else {
                (count, padding_bytes) = (count + 1, 0);
                let is_taken = match *kind {
                    ROUTER_ALERT => data.len() == 2,
                    HOME_ADDRESS => data.len() == 16,
                    // The highest bits say what a host does that does not know it.
                    unknown => unknown >> 6 == 0,
                };
                if !is_taken || count > MAX_OPTIONS {
                    return false;
                }
            }
        }
        if padding_bytes > MAX_PADDING_BYTES {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests;
