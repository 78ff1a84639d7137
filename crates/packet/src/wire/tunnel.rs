//! Packets in packets.

use super::headers::{Fault, Fragment, Headers};
use super::link::{self, LinkHeader, LinkType};
use super::protocol::{
    ETHER_BRIDGED, ETHER_ERSPAN, ETHER_IPV4, ETHER_IPV6, GRE, IPV4, IPV6, PORT_GENEVE, PORT_VXLAN,
    UDP,
};
use super::views::{Erspan, Geneve, Gre, Vxlan};

impl Headers {
    /// The headers of the packet that this one carries, one level deeper:
    /// IPv4 and IPv6 in IP (RFC 2003, RFC 2473), GRE (RFC 2784, RFC 2890)
    /// with bridged Ethernet, frames mirrored by ERSPAN of type II or any
    /// EtherType, VXLAN (RFC 7348) and Geneve (RFC 8926) on their UDP ports.
    ///
    /// `bytes` is the record that these headers were read from, and the
    /// inner offsets count from its start too, so that the call can be
    /// repeated. The inner packet ends where the outer one does at the
    /// latest. `None` where the packet is not a tunnel's, is a fragment, or
    /// its tunnel header is not whole; faults behind that are noted in the
    /// inner headers.
    pub fn inner(&self, bytes: &[u8]) -> Option<Headers> {
        let bytes = bytes.get(..self.end_offset as usize)?;
        if !self.is_ip() || self.fragment != Fragment::Whole {
            return None;
        }
        let transport_offset = usize::from(self.transport_offset);
        match self.protocol {
            IPV4 => Some(by_ether_type(bytes, transport_offset, ETHER_IPV4)),
            IPV6 => Some(by_ether_type(bytes, transport_offset, ETHER_IPV6)),
            GRE => {
                let gre = Gre::new(bytes.get(transport_offset..)?)?;
                let inner_offset = transport_offset + gre.header_bytes();
                if gre.protocol_type() == ETHER_ERSPAN {
                    Erspan::new(gre.payload())?;
                    return Some(bridged(bytes, inner_offset + Erspan::BYTES));
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
            _ => None,
        }
    }
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
