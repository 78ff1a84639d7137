//! ESP in UDP, to pass through address translators (RFC 3948).

use weir_packet::wire::protocol::{PORT_NAT_T, TCP, UDP};
use weir_packet::wire::{Checksum, Fragment, Headers, Network};

/// Bytes of a UDP header.
pub const UDP_BYTES: usize = 8;

/// The UDP ports that ESP is carried between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UdpPorts {
    /// Of the sender.
    pub source: u16,
    /// Of the receiver, which is how it knows ESP from other traffic.
    pub destination: u16,
}

impl Default for UdpPorts {
    /// 4500 on both sides.
    fn default() -> UdpPorts {
        UdpPorts {
            source: PORT_NAT_T,
            destination: PORT_NAT_T,
        }
    }
}

/// What a datagram to the ESP port carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagram {
    /// An ESP packet (RFC 3948, section 2.1).
    Esp,
    /// IKE, behind four zero bytes where ESP has its SPI (section 2.2).
    Ike,
    /// The single byte 0xff that keeps a translator's mapping alive
    /// (section 2.3).
    Keepalive,
    /// Too short to be any of them.
    Other,
}

impl Datagram {
    /// Determines the kind from the UDP payload.
    pub fn of(payload: &[u8]) -> Datagram {
        match *payload {
            [0xff] => Datagram::Keepalive,
            [0, 0, 0, 0, ..] => Datagram::Ike,
            [_, _, _, _, ..] => Datagram::Esp,
            _ => Datagram::Other,
        }
    }
}

/// The UDP header in front of `esp_bytes` of ESP. Its checksum is zero, which
/// says none (RFC 3948, section 2.1); over IPv6 [`set_checksum`] follows when
/// the packet is sealed.
pub fn udp_header(ports: UdpPorts, esp_bytes: u16) -> [u8; UDP_BYTES] {
    let [s0, s1] = ports.source.to_be_bytes();
    let [d0, d1] = ports.destination.to_be_bytes();
    let [l0, l1] = esp_bytes.saturating_add(UDP_BYTES as u16).to_be_bytes();
    [s0, s1, d0, d1, l0, l1, 0, 0]
}

/// Sets the checksum that RFC 8200, section 8.1, asks of UDP over IPv6.
/// `addresses` are both addresses of the IPv6 header, 32 bytes.
pub fn set_checksum(addresses: &[u8], datagram: &mut [u8]) {
    let sum = Checksum::new()
        .add_pseudo_header(addresses, UDP, datagram.len() as u32)
        .add(datagram)
        .finish();
    if let Some(field) = datagram.get_mut(6..UDP_BYTES) {
        // Zero would say that there is none.
        let sum = if sum == 0 { 0xffff } else { sum };
        field.copy_from_slice(&sum.to_be_bytes());
    }
}

/// Computes the checksum of a TCP segment or UDP datagram anew, whose addresses a translator
/// has changed since the sender summed them up: the second way of RFC 3948, section 3.1.2.
/// ESP vouches for all that it covers but the addresses. A datagram over IPv4 without a
/// checksum stays without one, and a fragment or a cut header as it is.
#[cold]
pub fn renew_checksum(headers: &Headers, record: &mut [u8]) {
    if headers.fragment != Fragment::Whole || headers.fault.is_some() {
        return;
    }
    let field_offset = match headers.protocol {
        TCP => 16,
        UDP => 6,
        _ => return,
    };
    let addresses = match headers.network {
        Network::Ipv6 => 8..40,
        _ => 12..20,
    };
    let transport = usize::from(headers.transport_offset)..headers.end_offset as usize;
    let Some((front, segment)) = record
        .get_mut(..transport.end)
        .and_then(|packet| packet.split_at_mut_checked(transport.start))
    else {
        return;
    };
    let Some(addresses) = front
        .get(usize::from(headers.network_offset)..)
        .and_then(|packet| packet.get(addresses))
    else {
        return;
    };
    let is_udp = headers.protocol == UDP;
    // What follows a datagram by its own length is no part of it.
    let segment_bytes = match *segment {
        [_, _, _, _, high, low, ..] if is_udp => usize::from(u16::from_be_bytes([high, low])),
        _ => segment.len(),
    };
    let Some(segment) = segment.get_mut(..segment_bytes) else {
        return;
    };
    let Some(field) = segment.get_mut(field_offset..field_offset + 2) else {
        return;
    };
    if is_udp && headers.network == Network::Ipv4 && *field == [0, 0] {
        return;
    }
    field.fill(0);
    let sum = Checksum::new()
        .add_pseudo_header(addresses, headers.protocol, segment_bytes as u32)
        .add(segment)
        .finish();
    // Zero would say that a datagram has none.
    let sum = if is_udp && sum == 0 { 0xffff } else { sum };
    segment[field_offset..field_offset + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_datagrams() {
        assert_eq!(Datagram::of(&[0xff]), Datagram::Keepalive);
        assert_eq!(Datagram::of(&[0, 0, 0, 0]), Datagram::Ike);
        assert_eq!(Datagram::of(&[0, 0, 0, 0, 9]), Datagram::Ike);
        assert_eq!(Datagram::of(&[0, 0, 16, 0, 0, 0, 0, 1]), Datagram::Esp);
        for short in [&[][..], &[0], &[1], &[1, 2, 3]] {
            assert_eq!(Datagram::of(short), Datagram::Other);
        }
    }

    #[test]
    fn header_and_checksum() {
        let mut datagram = udp_header(UdpPorts::default(), 4).to_vec();
        assert_eq!(datagram, [0x11, 0x94, 0x11, 0x94, 0, 12, 0, 0]);
        datagram.extend([1, 2, 3, 4]);
        let addresses = [7u8; 32];
        set_checksum(&addresses, &mut datagram);
        let sum = Checksum::new()
            .add_pseudo_header(&addresses, UDP, 12)
            .add(&datagram);
        assert_eq!(sum.finish(), 0);
    }
}
