//! Where ESP goes, or is found, in an IP packet: after which headers.

use weir_packet::wire::protocol::{
    AH, DESTINATION_OPTIONS, FRAGMENT, HIP, HOP_BY_HOP, MOBILITY, ROUTING, SHIM6,
};

use crate::header::{IPV4_BYTES, IPV6_BYTES, version};

/// A place between two headers of an IP packet. Offsets count from the start
/// of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joint {
    /// Where the headers before it end.
    pub offset: usize,
    /// Where the header before it says what follows.
    pub next_field: usize,
    /// What follows, by that field.
    pub next_protocol: u8,
}

/// More extension headers than this are nobody's packet (the same bound as
/// [`weir_packet::wire::Headers`] has).
const MAX_EXTENSION_HEADERS: usize = 16;

/// The joint where transport mode puts ESP: after the IPv4 header and its
/// options, or after the IPv6 headers that routers on the way read: hop-by-hop
/// options, routing, fragment, and destination options that precede a routing
/// header (RFC 4303, section 3.1.1; RFC 8200, section 4.1). `None` where the
/// packet ends before.
pub fn before_payload(packet: &[u8]) -> Option<Joint> {
    let mut joint = first_joint(packet)?;
    let mut best = joint;
    for _ in 0..MAX_EXTENSION_HEADERS {
        if version(packet) != 6 || !is_read_on_the_way(joint.next_protocol) {
            break;
        }
        let ended = joint.next_protocol;
        joint = after(packet, joint)?;
        // Destination options stay in front only if a routing header follows.
        if ended != DESTINATION_OPTIONS {
            best = joint;
        }
    }
    Some(best)
}

/// The joint in front of the first header that is no IPv6 extension: where a
/// received packet has its ESP or UDP header.
pub fn before_protocol(packet: &[u8]) -> Option<Joint> {
    let mut joint = first_joint(packet)?;
    for _ in 0..MAX_EXTENSION_HEADERS {
        if version(packet) != 6 || !is_extension(joint.next_protocol) {
            break;
        }
        joint = after(packet, joint)?;
    }
    Some(joint)
}

/// The joint behind the IP header proper.
fn first_joint(packet: &[u8]) -> Option<Joint> {
    let (offset, next_field) = match version(packet) {
        4 => (usize::from(packet.first()? & 0x0f) * 4, 9),
        6 => (IPV6_BYTES, 6),
        _ => return None,
    };
    let is_inside = offset >= IPV4_BYTES && offset <= packet.len();
    is_inside.then_some(Joint {
        offset,
        next_field,
        next_protocol: *packet.get(next_field)?,
    })
}

/// The joint behind the extension header that follows `joint`.
fn after(packet: &[u8], joint: Joint) -> Option<Joint> {
    let &[next_protocol, length, ..] = packet.get(joint.offset..)? else {
        return None;
    };
    let header_bytes = match joint.next_protocol {
        FRAGMENT => 8,
        AH => (usize::from(length) + 2) * 4,
        _ => (usize::from(length) + 1) * 8,
    };
    let offset = joint.offset + header_bytes;
    (offset <= packet.len()).then_some(Joint {
        offset,
        next_field: joint.offset,
        next_protocol,
    })
}

fn is_read_on_the_way(protocol: u8) -> bool {
    matches!(
        protocol,
        HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION_OPTIONS
    )
}

fn is_extension(protocol: u8) -> bool {
    is_read_on_the_way(protocol) || matches!(protocol, AH | MOBILITY | HIP | SHIM6)
}

#[cfg(test)]
mod tests {
    use weir_packet::wire::protocol::{ESP, TCP, UDP};

    use super::*;

    /// An IPv6 header, then the given extension headers of 8 bytes each, then
    /// `last` and 4 bytes of it.
    fn ipv6(extensions: &[u8], last: u8) -> Vec<u8> {
        let mut packet = vec![0u8; 40];
        packet[0] = 0x60;
        let chain: Vec<u8> = extensions.iter().copied().chain([last]).collect();
        packet[6] = chain[0];
        for next in &chain[1..] {
            packet.extend([*next, 0, 0, 0, 0, 0, 0, 0]);
        }
        packet.extend([1, 2, 3, 4]);
        packet
    }

    #[test]
    fn ipv4_options_stay_in_front() {
        let mut packet = vec![0u8; 28];
        packet[0] = 0x47;
        packet[9] = UDP;
        let joint = Joint {
            offset: 28,
            next_field: 9,
            next_protocol: UDP,
        };
        assert_eq!(before_payload(&packet), Some(joint));
        assert_eq!(before_protocol(&packet), Some(joint));
    }

    #[test]
    fn headers_for_routers_stay_in_front() {
        for (extensions, offset, next_field, next_protocol) in [
            (&[][..], 40, 6, TCP),
            (&[HOP_BY_HOP], 48, 40, TCP),
            (&[DESTINATION_OPTIONS], 40, 6, DESTINATION_OPTIONS),
            (
                &[HOP_BY_HOP, DESTINATION_OPTIONS],
                48,
                40,
                DESTINATION_OPTIONS,
            ),
            (&[HOP_BY_HOP, DESTINATION_OPTIONS, ROUTING], 64, 56, TCP),
            (
                &[DESTINATION_OPTIONS, ROUTING, FRAGMENT, DESTINATION_OPTIONS],
                64,
                56,
                DESTINATION_OPTIONS,
            ),
        ] {
            let joint = Joint {
                offset,
                next_field,
                next_protocol,
            };
            assert_eq!(
                before_payload(&ipv6(extensions, TCP)),
                Some(joint),
                "{extensions:?}"
            );
        }
    }

    #[test]
    fn esp_is_found_behind_every_extension() {
        let packet = ipv6(&[HOP_BY_HOP, ROUTING, DESTINATION_OPTIONS], ESP);
        assert_eq!(
            before_protocol(&packet),
            Some(Joint {
                offset: 64,
                next_field: 56,
                next_protocol: ESP
            })
        );
    }

    #[test]
    fn packets_that_end_early_have_no_joint() {
        let packet = ipv6(&[HOP_BY_HOP, ROUTING], TCP);
        for bytes in 0..56 {
            assert_eq!(before_payload(&packet[..bytes]), None, "{bytes}");
            assert_eq!(before_protocol(&packet[..bytes]), None, "{bytes}");
        }
        assert_eq!(before_payload(&[0x44; 40]), None, "a header of 16 bytes");
        assert_eq!(before_payload(&[0x55; 40]), None, "no IP version");
    }
}
