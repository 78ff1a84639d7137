//! What the headers in front of an IP packet say of it, where that changes: the
//! IP version and the length.

use weir_packet::wire::protocol::{ETHER_IPV4, ETHER_IPV6, ETHER_LONGEST_LLC, PPP_IPV4, PPP_IPV6};
use weir_packet::wire::{LinkType, Shim};

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
        LinkType::RawIpv4
            | LinkType::RawIpv6
            | LinkType::InfiniBand
            | LinkType::Erf
            | LinkType::Other(_)
    )
}

/// Bytes of LLC and SNAP, which the length in an Ethernet header includes.
const LLC_SNAP_BYTES: usize = 8;

/// Bytes of a PPP protocol number, which the length of PPPoE includes.
const PPP_PROTOCOL_BYTES: usize = 2;

/// The longest IP packet whose length the headers in front of it can state;
/// those without a shim, and labels, state none.
pub fn longest_packet(shim: Option<Shim>) -> usize {
    match shim {
        None | Some(Shim::Mpls) => usize::MAX,
        Some(Shim::Pppoe) => usize::from(u16::MAX) - PPP_PROTOCOL_BYTES,
        Some(Shim::LlcSnap) => usize::from(ETHER_LONGEST_LLC) - LLC_SNAP_BYTES,
    }
}

/// Sets the length that a shim states of the `packet_bytes` behind it. `header`
/// ends with the shim. Packets of more than [`longest_packet`] are not for it.
pub fn set_length(shim: Option<Shim>, header: &mut [u8], packet_bytes: usize) {
    let (bytes_behind, stated_bytes) = match shim {
        None | Some(Shim::Mpls) => return,
        Some(Shim::Pppoe) => (4, packet_bytes + PPP_PROTOCOL_BYTES),
        Some(Shim::LlcSnap) => (LLC_SNAP_BYTES + 2, packet_bytes + LLC_SNAP_BYTES),
    };
    let at = header.len().checked_sub(bytes_behind);
    if let Some(field) = at.and_then(|at| header.get_mut(at..at + 2)) {
        field.copy_from_slice(&(stated_bytes as u16).to_be_bytes());
    }
}

/// Makes a link header, with its VLAN tags and a shim, say that IP of `version`
/// follows. Addresses, tags and all else stay.
pub fn set_ip_version(link: LinkType, shim: Option<Shim>, header: &mut [u8], version: u8) {
    match shim {
        Some(Shim::Mpls) => return set_label(header, version),
        Some(Shim::Pppoe) => {
            let protocol = if version == 6 { PPP_IPV6 } else { PPP_IPV4 };
            if let Some(field) = header.last_chunk_mut() {
                *field = protocol.to_be_bytes();
            }
            return;
        }
        Some(Shim::LlcSnap) => return set_last_ether_type(header, version),
        None => {}
    }
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
        LinkType::RawIp | LinkType::RawIpv4 | LinkType::RawIpv6 => {}
        LinkType::InfiniBand | LinkType::Erf | LinkType::Other(_) => {}
    }
}

/// Of the labels, only the explicit nulls name an IP version (RFC 3032, section
/// 2.1).
fn set_label(header: &mut [u8], version: u8) {
    let Some([high, middle, low, _ttl]) = header.last_chunk_mut::<4>() else {
        return;
    };
    let is_explicit_null = *high == 0 && *middle == 0 && matches!(*low >> 4, 0 | 2);
    if is_explicit_null {
        *low = *low & 0x0f | if version == 6 { 0x20 } else { 0 };
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
            set_ip_version(link, None, &mut changed, 6);
            let mut record = changed.clone();
            record.extend(IPV6);
            let parsed = Headers::parse(link, &record);
            assert_eq!(parsed.network, Network::Ipv6, "{link:?} {changed:?}");
            assert_eq!(usize::from(parsed.network_offset), header.len());
            set_ip_version(link, None, &mut changed, 4);
            assert_eq!(changed, header, "{link:?}");
        }
    }

    #[test]
    fn shims_say_version_and_length() {
        let tagged = [&[0xaa; 12][..], &[0x81, 0, 0, 7]].concat();
        let shims: [(Shim, &[u8]); 4] = [
            (Shim::Mpls, &[0x88, 0x47, 0, 1, 0, 64, 0, 0x20, 0x11, 64]),
            (Shim::Mpls, &[0x88, 0x47, 0, 1, 0, 64, 0, 0, 0x01, 64]),
            (Shim::Pppoe, &[0x88, 0x64, 0x11, 0, 0, 9, 0, 22, 0, 0x21]),
            (Shim::LlcSnap, &[0, 28, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]),
        ];
        for (shim, bytes) in shims {
            let header = [&tagged[..], bytes].concat();
            let mut changed = header.clone();
            set_ip_version(LinkType::Ethernet, Some(shim), &mut changed, 6);
            set_length(Some(shim), &mut changed, IPV6.len());
            let record = [&changed[..], &IPV6, &[0; 9]].concat();
            let parsed = Headers::parse(LinkType::Ethernet, &record);
            assert_eq!(parsed.network, Network::Ipv6, "{changed:02x?}");
            assert_eq!((parsed.fault, parsed.shim()), (None, Some(shim)));
            assert_eq!(usize::from(parsed.network_offset), header.len());
            set_ip_version(LinkType::Ethernet, Some(shim), &mut changed, 4);
            set_length(Some(shim), &mut changed, 20);
            assert_eq!(changed, header, "{shim:?}");
        }
        assert_eq!(longest_packet(Some(Shim::LlcSnap)), 1492);
        assert_eq!(longest_packet(Some(Shim::Pppoe)), 65_533);
    }
}
