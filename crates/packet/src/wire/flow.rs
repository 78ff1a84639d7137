//! Flow keys: the 5-tuple of a packet, or parts of it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use super::headers::{Fragment, Headers, Network};
use super::protocol;

/// Addresses, protocol and ports of a packet, or the part of them that a
/// [`KeyKind`] keeps (the rest is zero).
///
/// An IPv4 address takes the low 32 bits of its number; `network` says which
/// family it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FlowKey {
    /// Source address as a number.
    pub source: u128,
    /// Destination address as a number.
    pub destination: u128,
    /// Source port of TCP, UDP or SCTP.
    pub source_port: u16,
    /// Destination port of TCP, UDP or SCTP.
    pub destination_port: u16,
    /// IP protocol.
    pub protocol: u8,
    /// 4 or 6; 0 in a key that was never filled.
    pub ip_version: u8,
}

impl FlowKey {
    /// The 5-tuple of an IP packet; `None` for others. Fragments have no
    /// ports, so that all fragments of a datagram share one key.
    #[inline]
    pub fn from_headers(headers: &Headers, bytes: &[u8]) -> Option<FlowKey> {
        let (source, destination) = headers.address_numbers(bytes)?;
        let whole = headers.fragment == Fragment::Whole;
        Some(FlowKey {
            source,
            destination,
            source_port: if whole { headers.source_port } else { 0 },
            destination_port: if whole { headers.destination_port } else { 0 },
            protocol: headers.protocol,
            ip_version: if headers.network == Network::Ipv4 {
                4
            } else {
                6
            },
        })
    }

    /// The key of packets in the other direction.
    #[must_use]
    pub fn reversed(&self) -> FlowKey {
        FlowKey {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            ..*self
        }
    }

    /// The one of the two directions that sorts first, and whether it is the
    /// reversed one: both directions of a flow share it.
    pub fn canonical(&self) -> (FlowKey, bool) {
        let reversed = self.reversed();
        if reversed < *self {
            (reversed, true)
        } else {
            (*self, false)
        }
    }

    /// Source address.
    pub fn source_address(&self) -> IpAddr {
        self.address(self.source)
    }

    /// Destination address.
    pub fn destination_address(&self) -> IpAddr {
        self.address(self.destination)
    }

    fn address(&self, number: u128) -> IpAddr {
        if self.ip_version == 4 {
            Ipv4Addr::from_bits(number as u32).into()
        } else {
            Ipv6Addr::from_bits(number).into()
        }
    }

    /// Keeps the part that `kind` names.
    #[must_use]
    pub fn project(&self, kind: KeyKind) -> FlowKey {
        let mut key = FlowKey {
            ip_version: self.ip_version,
            ..FlowKey::default()
        };
        match kind {
            KeyKind::Source => key.source = self.source,
            KeyKind::Destination => key.destination = self.destination,
            KeyKind::Pair => {
                key.source = self.source;
                key.destination = self.destination;
            }
            KeyKind::FiveTuple => key = *self,
            KeyKind::SourcePrefix(lengths) => {
                key.source = lengths.mask(self.source, self.ip_version)
            }
            KeyKind::DestinationPrefix(lengths) => {
                key.destination = lengths.mask(self.destination, self.ip_version);
            }
        }
        key
    }

    /// The key as 32-bit words for hashing: version and protocol, ports,
    /// source, destination. Different keys have different words.
    pub fn words(&self) -> [u32; 10] {
        let [s0, s1, s2, s3] = words(self.source);
        let [d0, d1, d2, d3] = words(self.destination);
        [
            u32::from(self.ip_version) << 8 | u32::from(self.protocol),
            u32::from(self.source_port) << 16 | u32::from(self.destination_port),
            s0,
            s1,
            s2,
            s3,
            d0,
            d1,
            d2,
            d3,
        ]
    }

    /// Writes the part of the key that `kind` keeps, as in `198.18.0.0/16`
    /// or `198.18.0.1:80 > 198.18.0.2:4711 tcp`.
    pub fn display(self, kind: KeyKind) -> impl fmt::Display {
        fmt::from_fn(move |f| match kind {
            KeyKind::Source => write!(f, "{}", self.source_address()),
            KeyKind::Destination => write!(f, "{}", self.destination_address()),
            KeyKind::Pair => write!(
                f,
                "{} > {}",
                self.source_address(),
                self.destination_address()
            ),
            KeyKind::FiveTuple => write!(f, "{self}"),
            KeyKind::SourcePrefix(lengths) => {
                write!(
                    f,
                    "{}/{}",
                    self.source_address(),
                    lengths.of(self.ip_version)
                )
            }
            KeyKind::DestinationPrefix(lengths) => write!(
                f,
                "{}/{}",
                self.destination_address(),
                lengths.of(self.ip_version)
            ),
        })
    }
}

fn words(number: u128) -> [u32; 4] {
    [
        number as u32,
        (number >> 32) as u32,
        (number >> 64) as u32,
        (number >> 96) as u32,
    ]
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |f: &mut fmt::Formatter<'_>, address: IpAddr, port: u16| match (port, address) {
            (0, address) => write!(f, "{address}"),
            (port, IpAddr::V4(address)) => write!(f, "{address}:{port}"),
            (port, IpAddr::V6(address)) => write!(f, "[{address}]:{port}"),
        };
        end(f, self.source_address(), self.source_port)?;
        f.write_str(" > ")?;
        end(f, self.destination_address(), self.destination_port)?;
        match protocol::name(self.protocol) {
            Some(name) => write!(f, " {name}"),
            None => write!(f, " protocol {}", self.protocol),
        }
    }
}

impl Headers {
    /// A hash of the flow that is the same in both directions, and the same
    /// for all fragments of a datagram; 0 for packets without IP. It steers
    /// flows to shards; it is not a universal hash.
    #[inline]
    pub fn symmetric_flow_hash(&self, bytes: &[u8]) -> u32 {
        // Sum and exclusive-or are symmetric, and together they lose nothing
        // but the order.
        let (sum, difference) = match (self.network, self.address_numbers(bytes)) {
            (_, None) => return 0,
            (Network::Ipv4, Some((source, destination))) => {
                let (source, destination) = (source as u64, destination as u64);
                (source + destination, source ^ destination)
            }
            (_, Some((source, destination))) => (
                fold(source.wrapping_add(destination)),
                fold(source ^ destination),
            ),
        };
        let (source_port, destination_port, protocol) = match self.fragment {
            Fragment::Whole => (self.source_port, self.destination_port, self.protocol),
            // An IPv6 fragment need not know the datagram's protocol.
            _ if self.network == Network::Ipv6 => (0, 0, protocol::FRAGMENT),
            Fragment::First | Fragment::Later => (0, 0, self.protocol),
        };
        let ports = u64::from(source_port ^ destination_port) << 32
            | (u64::from(source_port) + u64::from(destination_port)) << 8
            | u64::from(protocol);
        let mixed = mix(
            sum ^ 0x9e37_79b9_7f4a_7c15,
            difference ^ 0xd1b5_4a32_d192_ed03,
        );
        (mix(mixed ^ ports, 0xff51_afd7_ed55_8ccd) >> 32) as u32
    }
}

#[inline]
fn fold(number: u128) -> u64 {
    (number >> 64) as u64 ^ number as u64
}

/// Folded 64-bit multiplication.
#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// Prefix lengths for the two families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PrefixLengths {
    /// 0 to 32 bits.
    ipv4_bits: u8,
    /// 0 to 128 bits.
    ipv6_bits: u8,
}

impl PrefixLengths {
    fn of(self, ip_version: u8) -> u8 {
        if ip_version == 4 {
            self.ipv4_bits
        } else {
            self.ipv6_bits
        }
    }

    /// The network of an address of version 4 or 6: its host bits set to zero.
    pub fn mask(self, address: u128, ip_version: u8) -> u128 {
        let (width, bits) = if ip_version == 4 {
            (32, u32::from(self.ipv4_bits))
        } else {
            (128, u32::from(self.ipv6_bits))
        };
        let host_bits = width - bits;
        address
            .checked_shr(host_bits)
            .and_then(|network| network.checked_shl(host_bits))
            .unwrap_or(0)
    }
}

/// The 5-tuple of an IPv4 packet in 16 bytes, or nothing: what fits into a column.
///
/// ```text
/// bits      0 to 31          32 to 63             64 to 79          80 to 95     96 to 103
///           source address   destination address  destination port  source port  protocol
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Ipv4Flow([u64; 2]);

impl Ipv4Flow {
    /// Bits of the second half that are of the 5-tuple.
    const REST: u64 = (1 << 40) - 1;
    /// Above them: there is one.
    const IS_SOMETHING: u64 = 1 << 40;

    /// The 5-tuple of an IPv4 packet; nothing for others. Fragments have no ports.
    #[inline(always)]
    pub fn from_headers(headers: &Headers, bytes: &[u8]) -> Ipv4Flow {
        let Some(addresses) = headers.ipv4_addresses(bytes) else {
            return Ipv4Flow::default();
        };
        let ports = u64::from(headers.source_port) << 16 | u64::from(headers.destination_port);
        let is_whole = headers.fragment == Fragment::Whole;
        let ports = if is_whole { ports } else { 0 };
        let protocol = u64::from(headers.protocol) << 32;
        Ipv4Flow([
            addresses.rotate_left(32),
            Ipv4Flow::IS_SOMETHING | protocol | ports,
        ])
    }

    /// Whether there is a 5-tuple.
    #[inline(always)]
    pub fn is_something(self) -> bool {
        self.0[1] & Ipv4Flow::IS_SOMETHING != 0
    }

    /// The 5-tuple as two words of 64 bits, the lower half first; zero where there
    /// is none.
    #[inline(always)]
    pub fn words(self) -> [u64; 2] {
        [self.0[0], self.0[1] & Ipv4Flow::REST]
    }

    /// The 5-tuple, where there is one.
    #[inline(always)]
    pub fn key(self) -> Option<FlowKey> {
        let [addresses, rest] = self.0;
        self.is_something().then_some(FlowKey {
            source: u128::from(addresses as u32),
            destination: u128::from(addresses >> 32),
            source_port: (rest >> 16) as u16,
            destination_port: rest as u16,
            protocol: (rest >> 32) as u8,
            ip_version: 4,
        })
    }
}

impl From<&FlowKey> for Ipv4Flow {
    /// Nothing for a key of another IP version.
    #[inline(always)]
    fn from(key: &FlowKey) -> Ipv4Flow {
        if key.ip_version != 4 {
            return Ipv4Flow::default();
        }
        let ports = u64::from(key.source_port) << 16 | u64::from(key.destination_port);
        Ipv4Flow([
            (key.destination as u64) << 32 | key.source as u64,
            Ipv4Flow::IS_SOMETHING | u64::from(key.protocol) << 32 | ports,
        ])
    }
}

/// A part of a [`FlowKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// Source address.
    Source,
    /// Destination address.
    Destination,
    /// Source and destination address.
    Pair,
    /// Addresses, protocol and ports.
    FiveTuple,
    /// Source prefix.
    SourcePrefix(PrefixLengths),
    /// Destination prefix.
    DestinationPrefix(PrefixLengths),
}

/// An unknown kind of key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown key {0:?}: use source, destination, pair, 5-tuple, source/24 or destination/24,48 \
     (prefix bits for IPv4, then for IPv6)"
)]
pub struct KeyKindError(String);

impl FromStr for KeyKind {
    type Err = KeyKindError;

    fn from_str(text: &str) -> Result<Self, KeyKindError> {
        let unknown = || KeyKindError(text.to_owned());
        let Some((side, lengths)) = text.split_once('/') else {
            return match text {
                "source" => Ok(KeyKind::Source),
                "destination" => Ok(KeyKind::Destination),
                "pair" => Ok(KeyKind::Pair),
                "5-tuple" => Ok(KeyKind::FiveTuple),
                _ => Err(unknown()),
            };
        };
        let (ipv4, ipv6) = match lengths.split_once(',') {
            Some((ipv4, ipv6)) => (ipv4, Some(ipv6)),
            None => (lengths, None),
        };
        let ipv4_bits: u8 = ipv4.parse().map_err(|_| unknown())?;
        // Without a separate length, IPv6 gets the customary doubling: a
        // /24 of IPv4 and a /48 of IPv6 both name a site.
        let ipv6_bits = match ipv6 {
            Some(bits) => bits.parse().map_err(|_| unknown())?,
            None => ipv4_bits.saturating_mul(2),
        };
        if ipv4_bits > 32 || ipv6_bits > 128 {
            return Err(unknown());
        }
        let lengths = PrefixLengths {
            ipv4_bits,
            ipv6_bits,
        };
        match side {
            "source" => Ok(KeyKind::SourcePrefix(lengths)),
            "destination" => Ok(KeyKind::DestinationPrefix(lengths)),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyKind::Source => f.write_str("source"),
            KeyKind::Destination => f.write_str("destination"),
            KeyKind::Pair => f.write_str("pair"),
            KeyKind::FiveTuple => f.write_str("5-tuple"),
            KeyKind::SourcePrefix(l) => write!(f, "source/{},{}", l.ipv4_bits, l.ipv6_bits),
            KeyKind::DestinationPrefix(l) => {
                write!(f, "destination/{},{}", l.ipv4_bits, l.ipv6_bits)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::LinkType;
    use proptest::prelude::*;

    fn key(version: u8) -> FlowKey {
        FlowKey {
            source: 0xc612_0101,
            destination: 0xc612_0202,
            source_port: 4711,
            destination_port: 80,
            protocol: protocol::TCP,
            ip_version: version,
        }
    }

    #[test]
    fn keys_read_as_people_write_them() {
        let kind: KeyKind = "source/24".parse().expect("a kind");
        assert_eq!(kind.to_string(), "source/24,48");
        assert_eq!(
            key(4).project(kind).display(kind).to_string(),
            "198.18.1.0/24"
        );
        assert_eq!(key(4).to_string(), "198.18.1.1:4711 > 198.18.2.2:80 tcp");
        for wrong in ["", "src", "source/33", "pair/8", "source/8,129", "source/a"] {
            assert!(wrong.parse::<KeyKind>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn prefix_of_no_bits_is_everything() {
        let kind: KeyKind = "destination/0,0".parse().expect("a kind");
        assert_eq!(key(6).project(kind).destination, 0);
        assert_eq!(key(4).project(kind).destination, 0);
    }

    #[test]
    fn both_directions_share_key_and_hash() {
        let key = key(4);
        assert_eq!(key.canonical().0, key.reversed().canonical().0);
        assert_ne!(key.canonical().1, key.reversed().canonical().1);
    }

    /// An IPv4 packet with UDP ports and the given addresses.
    fn udp4(source: u32, destination: u32, ports: (u16, u16), more_fragments: bool) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, protocol::UDP, 0, 0];
        packet[6] = if more_fragments { 0x20 } else { 0 };
        packet.extend(source.to_be_bytes());
        packet.extend(destination.to_be_bytes());
        packet.extend(ports.0.to_be_bytes());
        packet.extend(ports.1.to_be_bytes());
        packet.extend([0, 8, 0, 0]);
        packet
    }

    fn hash(packet: &[u8]) -> u32 {
        Headers::parse(LinkType::RawIp, packet).symmetric_flow_hash(packet)
    }

    proptest! {
        #[test]
        fn hash_is_symmetric(s: u32, d: u32, sp: u16, dp: u16) {
            prop_assert_eq!(
                hash(&udp4(s, d, (sp, dp), false)),
                hash(&udp4(d, s, (dp, sp), false))
            );
        }

        #[test]
        fn fragments_of_one_datagram_share_a_hash(s: u32, d: u32, sp: u16, dp: u16) {
            let first = udp4(s, d, (sp, dp), true);
            let mut later = udp4(s, d, (1, 2), false);
            later[7] = 1;
            prop_assert_eq!(hash(&first), hash(&later));
        }
    }

    /// Over 2^16 flows in 16 shards each shard expects 4096 ± 62. A bound of
    /// 8 standard deviations fails for a right hash with probability below
    /// 16 * 2 * 6.2e-16 = 2e-14; a hash that ignored the ports would put
    /// everything in one shard.
    #[test]
    fn flows_spread_over_shards() {
        let mut shards = [0u32; 16];
        for port in 0..=u16::MAX {
            shards[(hash(&udp4(1, 2, (port, 80), false)) >> 28) as usize] += 1;
        }
        for count in shards {
            assert!(count.abs_diff(4096) < 8 * 62, "{shards:?}");
        }
    }
}
