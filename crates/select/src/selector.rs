//! Selectors, and the fields of packets that they are compared with.

use weir_packet::wire::protocol::{SCTP, TCP, UDP};
use weir_packet::wire::{Fault, FlowKey, Fragment, Headers};

use crate::{AddressSet, PortSet, ProtocolSet};

/// The fields of a packet that selectors are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuple {
    /// Addresses, protocol and ports. With an `ip_version` other than 4 and 6
    /// there are none of them, and only `any` matches.
    pub key: FlowKey,
    /// The interface that the packet came from.
    pub interface: u16,
    /// Whether the packet contains the ports of `key`. Where not, as in
    /// fragments and in protocols without ports, a port set other than `any`
    /// does not match (RFC 4301, section 4.4.1.1: OPAQUE is matched by ANY).
    pub ports_known: bool,
}

impl Tuple {
    /// The tuple of a packet; without a key where it is not IP. Fragments have
    /// no ports in it.
    #[inline]
    pub fn from_headers(headers: &Headers, bytes: &[u8], interface: u16) -> Tuple {
        let has_ports = headers.fragment == Fragment::Whole && shows_ports(headers);
        match FlowKey::from_headers(headers, bytes) {
            Some(key) => Tuple {
                key,
                interface,
                ports_known: has_ports,
            },
            None => Tuple {
                interface,
                ..Tuple::default()
            },
        }
    }

    /// Whether its protocol has ports and they are not known.
    #[inline]
    pub fn lacks_ports(&self) -> bool {
        !self.ports_known && matches!(self.key.protocol, TCP | UDP | SCTP)
    }

    /// The tuple of the datagram that a packet is, or is the first fragment of:
    /// with the ports that the fragment shows. For all others it is that of
    /// [`from_headers`](Tuple::from_headers).
    pub fn of_datagram(headers: &Headers, bytes: &[u8], interface: u16) -> Tuple {
        let mut tuple = Tuple::from_headers(headers, bytes, interface);
        if headers.fragment == Fragment::First && headers.is_ip() && shows_ports(headers) {
            tuple.key.source_port = headers.source_port;
            tuple.key.destination_port = headers.destination_port;
            tuple.ports_known = true;
        }
        tuple
    }
}

/// Whether the transport header shows ports, if the packet has it.
#[inline]
fn shows_ports(headers: &Headers) -> bool {
    matches!(headers.protocol, TCP | UDP | SCTP)
        && matches!(headers.fault, None | Some(Fault::PacketCut))
}

/// A conjunction of sets. The default matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    /// Source addresses.
    pub source: AddressSet,
    /// Destination addresses.
    pub destination: AddressSet,
    /// IP protocols.
    pub protocol: ProtocolSet,
    /// Source ports.
    pub source_port: PortSet,
    /// Destination ports.
    pub destination_port: PortSet,
    /// The interface that packets come from; `None` for any.
    pub interface: Option<u16>,
}

impl Selector {
    /// Whether the selector matches: the reference that [`Table`] agrees with.
    ///
    /// [`Table`]: crate::Table
    pub fn matches(&self, tuple: &Tuple) -> bool {
        let key = &tuple.key;
        let is_ip = matches!(key.ip_version, 4 | 6);
        let port_matches =
            |set: &PortSet, port| set.is_any() || (tuple.ports_known && set.contains(port));
        self.interface
            .is_none_or(|number| number == tuple.interface)
            && (self.protocol.is_any() || (is_ip && self.protocol.contains(key.protocol)))
            && port_matches(&self.destination_port, key.destination_port)
            && port_matches(&self.source_port, key.source_port)
            && self.destination.contains(key.ip_version, key.destination)
            && self.source.contains(key.ip_version, key.source)
    }

    /// Whether it restricts ports.
    pub fn selects_ports(&self) -> bool {
        !(self.source_port.is_any() && self.destination_port.is_any())
    }

    /// Whether it restricts the protocol or ports.
    pub fn looks_behind_addresses(&self) -> bool {
        self.selects_ports() || !self.protocol.is_any()
    }

    /// Whether both may match packets between the same addresses, of the same
    /// protocol.
    pub fn shares_addresses_with(&self, other: &Selector) -> bool {
        self.source.intersects(&other.source)
            && self.destination.intersects(&other.destination)
            && self.protocol.intersects(&other.protocol)
    }

    /// The same selector for any port.
    #[must_use]
    pub fn without_ports(&self) -> Selector {
        Selector {
            source_port: PortSet::any(),
            destination_port: PortSet::any(),
            ..self.clone()
        }
    }

    /// The same selector for any protocol and port.
    #[must_use]
    pub fn without_protocol(&self) -> Selector {
        Selector {
            protocol: ProtocolSet::any(),
            ..self.without_ports()
        }
    }

    /// The selector of packets in the other direction.
    #[must_use]
    pub fn reversed(&self) -> Selector {
        Selector {
            source: self.destination.clone(),
            destination: self.source.clone(),
            protocol: self.protocol.clone(),
            source_port: self.destination_port.clone(),
            destination_port: self.source_port.clone(),
            interface: self.interface,
        }
    }
}
