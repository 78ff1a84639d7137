//! Packets in packets.

use super::headers::{Fault, Fragment, Headers, Network};
use super::link::{self, LinkHeader, LinkType};
use super::protocol::{
    ETHER_BRIDGED, ETHER_ERSPAN, ETHER_IPV4, ETHER_IPV6, ETHER_MPLS, ETHER_MPLS_UPSTREAM,
    ETHER_NSH, ETHER_PPPOE_SESSION, GRE, IPV4, IPV6, PORT_GENEVE, PORT_TEREDO, PORT_VXLAN,
    PPP_IPV4, PPP_IPV6, UDP,
};
use super::views::{EnhancedGre, Erspan, Geneve, Gre, Nsh, Vxlan};

/// Bytes of a pseudowire's control word (RFC 4448, section 4.6).
const CONTROL_WORD_BYTES: usize = 4;
/// Address and control of a PPP frame (RFC 1662, section 3.1), which may be left out.
const PPP_ADDRESS_AND_CONTROL: [u8; 2] = [0xff, 0x03];
/// Bytes of Teredo's origin indication (RFC 4380, section 5.1.1).
const TEREDO_ORIGIN_BYTES: usize = 8;
/// Bytes of Teredo's authentication without identifier and value (RFC 4380, section 5.1.1).
const TEREDO_AUTHENTICATION_BYTES: usize = 13;

impl Headers {
    /// The headers of the packet that this one carries, one level deeper:
    /// IPv4 and IPv6 in IP (RFC 2003, RFC 2473), GRE (RFC 2784, RFC 2890)
    /// with bridged Ethernet, frames mirrored by ERSPAN of type I or II or any
    /// EtherType, PPP in the GRE of PPTP (RFC 2637), VXLAN (RFC 7348), Geneve
    /// (RFC 8926) and Teredo (RFC 4380) on their UDP ports; and, of frames that
    /// carry no IP packet themselves, the Ethernet of a pseudowire (RFC 4448), what
    /// follows a network service header (RFC 8300), and PPPoE with a compressed
    /// protocol field (RFC 1661, section 6.5).
    ///
    /// `bytes` is the record that these headers were read from, and the
    /// inner offsets count from its start too, so that the call can be
    /// repeated. The inner packet ends where the outer one does at the
    /// latest. `None` where the packet is not a tunnel's, is a fragment, or
    /// its tunnel header is not whole; faults behind that are noted in the
    /// inner headers.
    pub fn inner(&self, bytes: &[u8]) -> Option<Headers> {
        let bytes = bytes.get(..self.end_offset as usize)?;
        if self.network == Network::Other && self.fault.is_none() {
            return self.inner_of_frame(bytes);
        }
        if !self.is_ip() || self.fragment != Fragment::Whole {
            return None;
        }
        let transport_offset = usize::from(self.transport_offset);
        match self.protocol {
            IPV4 => Some(by_ether_type(bytes, transport_offset, ETHER_IPV4)),
            IPV6 => Some(by_ether_type(bytes, transport_offset, ETHER_IPV6)),
            GRE if EnhancedGre::new(bytes.get(transport_offset..)?).is_some() => {
                let gre = EnhancedGre::new(bytes.get(transport_offset..)?)?;
                in_ppp(bytes, transport_offset + gre.header_bytes())
            }
            GRE => {
                let gre = Gre::new(bytes.get(transport_offset..)?)?;
                let inner_offset = transport_offset + gre.header_bytes();
                if gre.protocol_type() == ETHER_ERSPAN {
                    // Type I has no sequence number, and no header of its own.
                    let header_bytes = match gre.sequence_number() {
                        Some(_) => Erspan::new(gre.payload()).map(|_| Erspan::BYTES)?,
                        None => 0,
                    };
                    return Some(bridged(bytes, inner_offset + header_bytes));
                }
                Some(by_ether_type(bytes, inner_offset, gre.protocol_type()))
            }
            UDP if self.destination_port == PORT_VXLAN => {
                let payload_offset = usize::from(self.payload_offset);
                Vxlan::new(bytes.get(payload_offset..)?)?;
                Some(bridged(bytes, payload_offset + 8))
            }
            UDP if self.destination_port == PORT_GENEVE => {
                let payload_offset = usize::from(self.payload_offset);
                let geneve = Geneve::new(bytes.get(payload_offset..)?)?;
                let inner_offset = payload_offset + geneve.header_bytes();
                Some(by_ether_type(bytes, inner_offset, geneve.protocol_type()))
            }
            UDP if self.destination_port == PORT_TEREDO || self.source_port == PORT_TEREDO => {
                teredo(bytes, usize::from(self.payload_offset))
            }
            _ => None,
        }
    }

    /// Which of the networks between the ends of a tunnel this packet carries a packet of: the
    /// network identifier of VXLAN and Geneve, or the virtual subnet of NVGRE (RFC 7637). `None`
    /// where it carries none, or its tunnel has but one.
    pub fn virtual_network(&self, bytes: &[u8]) -> Option<u32> {
        match self.protocol {
            UDP if self.destination_port == PORT_VXLAN => {
                Vxlan::new(self.payload(bytes)).map(|vxlan| vxlan.vxlan_network_identifier())
            }
            UDP if self.destination_port == PORT_GENEVE => {
                Geneve::new(self.payload(bytes)).map(|geneve| geneve.virtual_network_identifier())
            }
            GRE => Gre::new(self.transport(bytes))
                .filter(|gre| gre.protocol_type() == ETHER_BRIDGED)
                .and_then(|gre| gre.key())
                .map(|key| key >> 8),
            _ => None,
        }
    }

    /// The headers of what a frame carries that has no network header by itself.
    fn inner_of_frame(&self, bytes: &[u8]) -> Option<Headers> {
        let offset = usize::from(self.network_offset);
        match self.ether_type {
            ETHER_MPLS | ETHER_MPLS_UPSTREAM if bytes.get(offset)? >> 4 == 0 => {
                Some(bridged(bytes, offset + CONTROL_WORD_BYTES)).filter(Headers::is_ip)
            }
            ETHER_NSH => {
                let nsh = Nsh::new(bytes.get(offset..)?)?;
                let inner_offset = offset + nsh.header_bytes();
                Some(by_ether_type(bytes, inner_offset, nsh.protocol_type()?))
            }
            // The offset is behind a protocol number of two bytes.
            ETHER_PPPOE_SESSION => in_ppp(bytes, offset.checked_sub(2)?),
            _ => None,
        }
    }
}

/// The headers of the IP packet in a PPP frame, from its address or its protocol
/// number on. An odd first byte is all of a number that was compressed.
fn in_ppp(bytes: &[u8], offset: usize) -> Option<Headers> {
    let frame = bytes.get(offset..)?;
    let numbered = frame
        .strip_prefix(&PPP_ADDRESS_AND_CONTROL)
        .unwrap_or(frame);
    let (protocol, number_bytes) = match *numbered {
        [low, ..] if low & 1 == 1 => (u16::from(low), 1),
        [high, low, ..] => (u16::from_be_bytes([high, low]), 2),
        _ => return None,
    };
    let ether_type = match protocol {
        PPP_IPV4 => ETHER_IPV4,
        PPP_IPV6 => ETHER_IPV6,
        _ => return None,
    };
    let inner_offset = offset + frame.len() - numbered.len() + number_bytes;
    Some(by_ether_type(bytes, inner_offset, ether_type))
}

/// The headers of the IPv6 packet in a datagram of Teredo, behind its authentication
/// and its origin; `None` where something else has the port.
fn teredo(bytes: &[u8], mut offset: usize) -> Option<Headers> {
    if let [0, 1, identifier_bytes, value_bytes, ..] = *bytes.get(offset..)? {
        offset +=
            TEREDO_AUTHENTICATION_BYTES + usize::from(identifier_bytes) + usize::from(value_bytes);
    }
    if let [0, 0, ..] = *bytes.get(offset..)? {
        offset += TEREDO_ORIGIN_BYTES;
    }
    Some(by_ether_type(bytes, offset, ETHER_IPV6)).filter(Headers::is_ip)
}

/// The headers of a packet, or of a bridged frame, inside a record.
fn by_ether_type(bytes: &[u8], offset: usize, ether_type: u16) -> Headers {
    match ether_type {
        ETHER_BRIDGED => bridged(bytes, offset),
        ether_type => behind(link::network_at(bytes, offset, ether_type), bytes, offset),
    }
}

/// The headers of an Ethernet frame inside a record.
fn bridged(bytes: &[u8], frame_offset: usize) -> Headers {
    let frame = bytes.get(frame_offset..).unwrap_or_default();
    let link = link::parse(LinkType::Ethernet, frame).map(|link| LinkHeader {
        network_offset: frame_offset + link.network_offset,
        vlan_offset: match link.vlan_tags {
            0 => 0,
            _ => frame_offset + link.vlan_offset,
        },
        end: frame_offset.saturating_add(link.end),
        ..link
    });
    behind(link, bytes, frame_offset)
}

/// The headers behind a link header inside a record, or what is wrong with it.
fn behind(link: Result<LinkHeader, Fault>, bytes: &[u8], offset: usize) -> Headers {
    match link {
        Ok(link) => Headers::parse_behind(&link, bytes),
        Err(fault) => Headers {
            fault: Some(fault),
            ..Headers::parse_behind(&LinkHeader::of_nothing(offset), bytes)
        },
    }
}

#[cfg(test)]
mod tests;
