//! Compact selectors that can be stored where they are used.

use weir_packet::wire::FlowKey;

use crate::ranges::{Point, Ranges};
use crate::{AddressSet, Selector, Tuple};

/// A [`Selector`] with one range per field at most and no IPv6 addresses, in half a cache
/// line and without pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranged {
    source: (u32, u32),
    destination: (u32, u32),
    source_port: (u16, u16),
    destination_port: (u16, u16),
    interface: (u16, u16),
    protocol: (u8, u8),
    needs: Needs,
    needs_ports: bool,
}

/// What a packet must be before its fields are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Anything,
    Ip,
    Ipv4,
}

impl Ranged {
    /// The compact form of `selector`; `None` where a field has several ranges or none, or
    /// there are IPv6 addresses.
    pub fn of(selector: &Selector) -> Option<Ranged> {
        let Selector {
            source,
            destination,
            protocol,
            source_port,
            destination_port,
            interface,
        } = selector;
        let ports = [source_port, destination_port];
        Some(Ranged {
            source: ipv4_range(source)?,
            destination: ipv4_range(destination)?,
            source_port: range(source_port.ranges(), (0, u16::MAX))?,
            destination_port: range(destination_port.ranges(), (0, u16::MAX))?,
            interface: interface.map_or((0, u16::MAX), |number| (number, number)),
            protocol: range(protocol.ranges(), (0, u8::MAX))?,
            needs: if !(source.is_any() && destination.is_any()) {
                Needs::Ipv4
            } else if !protocol.is_any() {
                Needs::Ip
            } else {
                Needs::Anything
            },
            needs_ports: ports.iter().any(|set| !set.is_any()),
        })
    }

    /// As [`Selector::matches`].
    // A tuple that is passed would be put together in memory first.
    #[inline(always)]
    pub fn matches(&self, tuple: &Tuple) -> bool {
        let FlowKey {
            source,
            destination,
            source_port,
            destination_port,
            protocol,
            ip_version,
        } = tuple.key;
        let is_seen = match self.needs {
            Needs::Anything => true,
            Needs::Ip => matches!(ip_version, 4 | 6),
            Needs::Ipv4 => ip_version == 4,
        };
        is_seen
            && (tuple.ports_known || !self.needs_ports)
            && is_in(source as u32, self.source)
            && is_in(destination as u32, self.destination)
            && is_in(source_port, self.source_port)
            && is_in(destination_port, self.destination_port)
            && is_in(tuple.interface, self.interface)
            && is_in(protocol, self.protocol)
    }
}

#[inline]
fn is_in<T: PartialOrd>(number: T, (first, last): (T, T)) -> bool {
    first <= number && number <= last
}

/// The only range of a set, or all where the set is any.
fn range<T: Point>(ranges: Option<&Ranges<T>>, all: (T, T)) -> Option<(T, T)> {
    match ranges.map(Ranges::as_slice) {
        None => Some(all),
        Some([range]) => Some(*range),
        Some(_) => None,
    }
}

fn ipv4_range(set: &AddressSet) -> Option<(u32, u32)> {
    match set.families() {
        None => Some((0, u32::MAX)),
        Some(families) if families.ipv6.is_empty() => range(Some(&families.ipv4), (0, u32::MAX)),
        Some(_) => None,
    }
}

// Two of them fill a cache line.
const _: () = assert!(size_of::<Ranged>() <= 32);
