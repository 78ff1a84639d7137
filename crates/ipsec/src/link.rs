//! The link header's word on what it carries, where a tunnel changes the IP
//! version.

use weir_packet::wire::LinkType;
use weir_packet::wire::protocol::{ETHER_IPV4, ETHER_IPV6};

/// Address family of IPv4, on every system.
const FAMILY_IPV4: u32 = 2;
/// Address family of IPv6 that is written behind a BSD loopback header:
/// macOS's, whose captures are the most common.
const FAMILY_IPV6_NULL: u32 = 30;
/// The same in OpenBSD's captures.
const FAMILY_IPV6_LOOP: u32 = 24;

/// Bytes of a Linux cooked v2 header, whose protocol stands first.
const SLL2_BYTES: usize = 20;

/// Whether records of this link type may hold either IP version.
pub fn carries_both_versions(link: LinkType) -> bool {
    !matches!(
        link,
        LinkType::RawIpv4 | LinkType::RawIpv6 | LinkType::Other(_)
    )
}

/// Makes a link header (with its VLAN tags) say that IP of `version` follows.
/// Addresses, tags and all else stay.
pub fn set_ip_version(link: LinkType, header: &mut [u8], version: u8) {
    match link {
        LinkType::Ethernet | LinkType::CiscoHdlc | LinkType::LinuxSll => {
            set_last_ether_type(header, version);
        }
        LinkType::LinuxSll2 if header.len() > SLL2_BYTES => set_last_ether_type(header, version),
        LinkType::LinuxSll2 => {
            if let Some(field) = header.first_chunk_mut() {
                *field = ether_type(version);
            }
        }
        LinkType::Null => set_family(header, version, FAMILY_IPV6_NULL),
        LinkType::Loop => set_family(header, version, FAMILY_IPV6_LOOP),
        LinkType::RawIp | LinkType::RawIpv4 | LinkType::RawIpv6 | LinkType::Other(_) => {}
    }
}

/// The EtherType is the last field of the header, or of its last tag.
fn set_last_ether_type(header: &mut [u8], version: u8) {
    if let Some(field) = header.last_chunk_mut() {
        *field = ether_type(version);
    }
}

fn ether_type(version: u8) -> [u8; 2] {
    let number = if version == 6 { ETHER_IPV6 } else { ETHER_IPV4 };
    number.to_be_bytes()
}

/// Keeps the byte order of the host that wrote the header.
fn set_family(header: &mut [u8], version: u8, family_ipv6: u32) {
    let Some(field) = header.first_chunk_mut::<4>() else {
        return;
    };
    let family = if version == 6 {
        family_ipv6
    } else {
        FAMILY_IPV4
    };
    let is_big_endian = field[0] == 0 && field[1] == 0;
    *field = if is_big_endian {
        family.to_be_bytes()
    } else {
        family.to_le_bytes()
    };
}

#[cfg(test)]
mod tests {
    use weir_packet::wire::{Headers, Network};

    use super::*;

    const IPV6: [u8; 40] = {
        let mut packet = [0; 40];
        packet[0] = 0x60;
        packet[6] = 59;
        packet
    };

    /// Link headers in front of IPv4.
    fn headers() -> Vec<(LinkType, Vec<u8>)> {
        let mut ethernet = vec![0xaa; 12];
        ethernet.extend([0x08, 0x00]);
        let mut tagged = vec![0xaa; 12];
        tagged.extend([0x88, 0xa8, 0, 1, 0x81, 0x00, 0, 2, 0x08, 0x00]);
        let mut sll = vec![0; 14];
        sll.extend([0x08, 0x00]);
        let mut sll2 = vec![0x08, 0x00];
        sll2.extend([0; 18]);
        let mut sll2_tagged = vec![0x81, 0x00];
        sll2_tagged.extend([0; 18]);
        sll2_tagged.extend([0, 7, 0x08, 0x00]);
        vec![
            (LinkType::Ethernet, ethernet),
            (LinkType::Ethernet, tagged),
            (LinkType::CiscoHdlc, vec![0x0f, 0, 0x08, 0x00]),
            (LinkType::LinuxSll, sll),
            (LinkType::LinuxSll2, sll2),
            (LinkType::LinuxSll2, sll2_tagged),
            (LinkType::Null, vec![2, 0, 0, 0]),
            (LinkType::Null, vec![0, 0, 0, 2]),
            (LinkType::Loop, vec![0, 0, 0, 2]),
            (LinkType::RawIp, vec![]),
        ]
    }

    #[test]
    fn ipv6_is_read_behind_every_link_header_and_ipv4_comes_back() {
        for (link, header) in headers() {
            let mut changed = header.clone();
            assert!(carries_both_versions(link));
            set_ip_version(link, &mut changed, 6);
            let mut record = changed.clone();
            record.extend(IPV6);
            let parsed = Headers::parse(link, &record);
            assert_eq!(parsed.network, Network::Ipv6, "{link:?} {changed:?}");
            assert_eq!(usize::from(parsed.network_offset), header.len());
            set_ip_version(link, &mut changed, 4);
            assert_eq!(changed, header, "{link:?}");
        }
    }
}
