//! What the packets of an association have in common, worked out once.

use weir_crypto::{Descriptor, KeyId, Layout};
use weir_packet::wire::protocol::{ESP, UDP};
use weir_packet::wire::{Headers, LinkType, Network, internet_checksum};

use super::encapsulate::longest_packet;
use super::{ALIGNMENT_BYTES, ESP_HEADER_BYTES, TRAILER_BYTES};
use crate::ecn::ECN_MASK;
use crate::header::{IPV4_BYTES, IPV6_BYTES, Inherited};
use crate::nat_t::{UDP_BYTES, UdpPorts};
use crate::outer::{DontFragment, Dscp, FlowLabel, Tunnel, TunnelEnds};
use crate::sa::{Mode, Parameters};

/// DF in the word that it shares with IPv4's fragment offset.
const DONT_FRAGMENT: u16 = 1 << 14;

/// The bits of an IPv6 header's first word that are a flow label.
const FLOW_LABEL: u32 = 0x000f_ffff;

/// How an association's packets are built: its [`Parameters`], as far as a
/// packet needs them, close together.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// The outer header; `None` in transport mode.
    pub outer: Option<OuterTemplate>,
    /// UDP ports, where ESP travels in UDP.
    pub nat_t: Option<UdpPorts>,
    /// What stands in the ESP packet.
    pub format: Format,
    /// Bytes that go between what stays of a record's front and its payload: outer header, UDP
    /// header, ESP header and IV.
    pub front_bytes: u8,
    /// The longest IP packet of a tunnel; in transport mode, [`Parameters::mtu_bytes`].
    pub max_packet_bytes: u32,
}

/// What both ends of an association know of its ESP packets.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Security parameters index.
    pub spi: u32,
    /// [`Parameters::esn`].
    pub esn: bool,
    /// Whether there is an IP packet inside, and not the payload of one.
    pub is_tunnel: bool,
    /// Whether ESP travels in UDP.
    pub is_in_udp: bool,
    /// [`Parameters::decrement_ttl`].
    pub decrement_ttl: bool,
    /// Bytes of the IV.
    pub iv_bytes: u8,
    /// Bytes of the ICV.
    pub tag_bytes: u8,
    /// What a plaintext's length is a multiple of, a power of two.
    pub unit_bytes: u8,
}

impl Format {
    /// The format of an association's packets.
    pub fn new(parameters: &Parameters) -> Format {
        let suite = parameters.suite;
        Format {
            spi: parameters.spi,
            esn: parameters.esn,
            is_tunnel: matches!(parameters.mode, Mode::Tunnel(_)),
            is_in_udp: parameters.nat_t.is_some(),
            decrement_ttl: parameters.decrement_ttl,
            // An IV is a block of at most 16 bytes, an ICV half a digest.
            iv_bytes: suite.iv_bytes() as u8,
            tag_bytes: suite.tag_bytes() as u8,
            unit_bytes: suite.block_bytes().max(ALIGNMENT_BYTES) as u8,
        }
    }

    /// Bytes of ESP header and IV.
    #[inline]
    pub fn header_bytes(&self) -> usize {
        ESP_HEADER_BYTES + usize::from(self.iv_bytes)
    }

    /// Bytes of payload, padding and trailer, of which there are as few as fill
    /// the cipher's block and end on a multiple of 4.
    #[inline]
    pub fn plaintext_bytes(&self, payload_bytes: usize) -> usize {
        let unit = usize::from(self.unit_bytes);
        (payload_bytes + TRAILER_BYTES + unit - 1) & !(unit - 1)
    }

    /// Bytes of payload, padding and trailer in `esp_bytes` of ESP; `None` where the
    /// association's suite cannot have made a packet of that length.
    #[inline]
    pub fn plaintext_bytes_of(&self, esp_bytes: usize) -> Option<usize> {
        let around_bytes = self.header_bytes() + usize::from(self.tag_bytes);
        let bytes = esp_bytes.checked_sub(around_bytes)?;
        let is_possible = bytes > 0 && bytes & (usize::from(self.unit_bytes) - 1) == 0;
        is_possible.then_some(bytes)
    }

    /// Describes a packet to the cipher, given where in the buffer its ESP header is.
    #[inline]
    pub fn descriptor(&self, key: KeyId, esp_offset: usize, plaintext_bytes: usize) -> Descriptor {
        Descriptor {
            key,
            context: 0,
            // A batch's memory and its packets are measured in 32 bits.
            offset: esp_offset as u32,
            layout: Layout {
                payload_bytes: plaintext_bytes as u32,
                aad_bytes: ESP_HEADER_BYTES as u16,
                gap_bytes: 0,
                esn: self.esn,
            },
        }
    }
}

impl Template {
    /// The template of an association.
    pub fn new(parameters: &Parameters) -> Template {
        let format = Format::new(parameters);
        let (protocol, udp_bytes) = match parameters.nat_t {
            Some(_) => (UDP, UDP_BYTES),
            None => (ESP, 0),
        };
        let outer = match &parameters.mode {
            Mode::Transport => None,
            Mode::Tunnel(tunnel) => Some(OuterTemplate::new(tunnel, protocol)),
        };
        let outer_bytes = outer.as_ref().map_or(0, OuterTemplate::header_bytes);
        let longest = outer.map_or(usize::MAX, |outer| longest_packet(outer.version()));
        Template {
            outer,
            nat_t: parameters.nat_t,
            format,
            // At most 72.
            front_bytes: (outer_bytes + udp_bytes + format.header_bytes()) as u8,
            max_packet_bytes: u32::try_from(longest).map_or(parameters.mtu_bytes, |longest| {
                longest.min(parameters.mtu_bytes)
            }),
        }
    }
}

/// A tunnel's outer header but for what differs from packet to packet: the
/// fields that the inner header may give, the length, and IPv4's identification
/// and checksum. [`Tunnel::write_header`] defines it.
#[derive(Clone, Copy, Debug)]
pub struct OuterTemplate {
    /// Zero where packets differ; of IPv4, the first 20 bytes.
    header: [u8; IPV6_BYTES],
    /// Sum of the 16-bit words of an IPv4 header.
    sum: u16,
    /// Of all packets, which differ in nothing that it covers.
    flow_hash: u32,
    /// Whether the inner flow label stands in the outer header.
    copies_flow_label: bool,
    /// Which bits of the inner traffic class do.
    traffic_class_copied: u8,
    /// Whether the inner DF does, as the bit itself.
    dont_fragment_copied: u16,
    is_ipv6: bool,
}

impl OuterTemplate {
    /// The header of a tunnel's packets, in which `protocol` follows.
    pub fn new(tunnel: &Tunnel, protocol: u8) -> OuterTemplate {
        let nothing = Inherited::default();
        let mut header = [0; IPV6_BYTES];
        let is_ipv6 = tunnel.ends.version() == 6;
        let header_bytes = tunnel.ends.header_bytes();
        let whole = &mut header[..header_bytes];
        tunnel.write_header(whole, nothing, protocol, 0);
        let flow_hash = Headers::parse(LinkType::RawIp, whole).symmetric_flow_hash(whole);
        if !is_ipv6 {
            header[2..4].fill(0);
            header[10..12].fill(0);
        }
        OuterTemplate {
            header,
            flow_hash,
            // A checksum is the complement of the sum that it stands for.
            sum: match tunnel.ends {
                TunnelEnds::V4 { .. } => !internet_checksum(&header[..IPV4_BYTES]),
                TunnelEnds::V6 { .. } => 0,
            },
            copies_flow_label: tunnel.flow_label == FlowLabel::Copy,
            traffic_class_copied: match tunnel.dscp {
                Dscp::Copy => 0xff,
                Dscp::Fixed(_) => ECN_MASK,
            },
            dont_fragment_copied: match tunnel.dont_fragment {
                DontFragment::Copy => DONT_FRAGMENT,
                DontFragment::Set | DontFragment::Clear => 0,
            },
            is_ipv6,
        }
    }

    /// 4 or 6.
    #[inline]
    pub fn version(&self) -> u8 {
        if self.is_ipv6 { 6 } else { 4 }
    }

    /// The same as what a packet's headers say.
    #[inline]
    pub fn network(&self) -> Network {
        if self.is_ipv6 {
            Network::Ipv6
        } else {
            Network::Ipv4
        }
    }

    /// The flow hash of packets in which a protocol without ports follows.
    #[inline]
    pub fn flow_hash(&self) -> u32 {
        self.flow_hash
    }

    /// Bytes of the header.
    #[inline]
    pub fn header_bytes(&self) -> usize {
        if self.is_ipv6 { IPV6_BYTES } else { IPV4_BYTES }
    }

    /// Writes the header of a packet of the given length into the last bytes of `front`, as
    /// [`Tunnel::write_header`] does.
    #[inline]
    pub fn write_behind(
        &self,
        front: &mut [u8],
        packet_bytes: usize,
        inner: Inherited,
        identification: u16,
    ) {
        let traffic_class = inner.traffic_class & self.traffic_class_copied;
        if self.is_ipv6 {
            let Some(header) = front.last_chunk_mut::<IPV6_BYTES>() else {
                return;
            };
            let flow_label = match self.copies_flow_label {
                true => inner.flow_label & FLOW_LABEL,
                false => 0,
            };
            let copied = u32::from(traffic_class) << 20 | flow_label;
            let payload_bytes = packet_bytes.saturating_sub(IPV6_BYTES) as u16;
            let copied = u64::from(copied) << 32 | u64::from(payload_bytes) << 16;
            *header = self.header;
            header[..8].copy_from_slice(&(self.word(0) | copied).to_be_bytes());
            return;
        }
        let Some(header) = front.last_chunk_mut::<IPV4_BYTES>() else {
            return;
        };
        let flag = match inner.dont_fragment {
            true => self.dont_fragment_copied,
            false => 0,
        };
        let packet_bytes = packet_bytes as u16;
        // Fields that packets differ in are zero in the template, so that their
        // words add up whatever their other bits are.
        let sum = u32::from(self.sum)
            + u32::from(traffic_class)
            + u32::from(packet_bytes)
            + u32::from(identification)
            + u32::from(flag);
        let sum = (sum >> 16) + (sum & 0xffff);
        let sum = (sum >> 16) + (sum & 0xffff);
        let first = u64::from(traffic_class) << 48
            | u64::from(packet_bytes) << 32
            | u64::from(identification) << 16
            | u64::from(flag);
        let second = u64::from(!(sum as u16)) << 32;
        header[..8].copy_from_slice(&(self.word(0) | first).to_be_bytes());
        header[8..16].copy_from_slice(&(self.word(8) | second).to_be_bytes());
        header[16..].copy_from_slice(&self.header[16..IPV4_BYTES]);
    }

    /// Eight bytes of the header, as a number.
    #[inline]
    fn word(&self, at: usize) -> u64 {
        self.header
            .get(at..)
            .and_then(|rest| rest.first_chunk())
            .map_or(0, |word| u64::from_be_bytes(*word))
    }
}

#[cfg(test)]
impl Template {
    /// The template of an association in transport mode.
    pub fn of_suite(suite: weir_crypto::Suite, spi: u32, esn: bool) -> Template {
        Template::new(&Parameters {
            name: String::new(),
            direction: None,
            spi,
            suite,
            mode: Mode::Transport,
            esn,
            replay_window: 64,
            expected_sequence: None,
            keeps_replay_state: None,
            nat_t: None,
            decrement_ttl: false,
            mtu_bytes: u32::MAX,
            lifetime: crate::lifetime::Lifetime::UNLIMITED,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_crypto::Suite;

    use super::*;

    fn ends() -> impl Strategy<Value = TunnelEnds> {
        let v4 = any::<([u8; 4], [u8; 4])>().prop_map(|(source, destination)| TunnelEnds::V4 {
            source: source.into(),
            destination: destination.into(),
        });
        let v6 = any::<([u8; 16], [u8; 16])>().prop_map(|(source, destination)| TunnelEnds::V6 {
            source: source.into(),
            destination: destination.into(),
        });
        prop_oneof![v4, v6]
    }

    fn tunnel() -> impl Strategy<Value = Tunnel> {
        let dscp = prop_oneof![Just(Dscp::Copy), (0u8..64).prop_map(Dscp::Fixed)];
        let flow_label = prop_oneof![
            Just(FlowLabel::Copy),
            (0u32..1 << 20).prop_map(FlowLabel::Fixed)
        ];
        let dont_fragment = prop_oneof![
            Just(DontFragment::Copy),
            Just(DontFragment::Set),
            Just(DontFragment::Clear)
        ];
        (ends(), any::<u8>(), dscp, dont_fragment, flow_label).prop_map(
            |(ends, ttl, dscp, dont_fragment, flow_label)| Tunnel {
                ends,
                ttl,
                dscp,
                dont_fragment,
                flow_label,
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        /// The reference implementation writes the header field by field and sums it up.
        #[test]
        fn a_template_writes_what_the_tunnel_writes(
            tunnel in tunnel(),
            traffic_class: u8,
            dont_fragment: bool,
            flow_label in 0u32..1 << 20,
            protocol: u8,
            identification: u16,
            packet_bytes in prop_oneof![0usize..200, 65_500usize..65_536],
        ) {
            let inner = Inherited { traffic_class, dont_fragment, flow_label };
            let mut expected = vec![0xee; packet_bytes];
            tunnel.write_header(&mut expected, inner, protocol, identification);
            let mut packet = vec![0xee; packet_bytes];
            let template = OuterTemplate::new(&tunnel, protocol);
            if let Some(header) = packet.get_mut(..template.header_bytes()) {
                template.write_behind(header, packet_bytes, inner, identification);
            }
            prop_assert!(packet == expected, "{:?} is not {:?}", &packet, &expected);
        }
    }

    #[test]
    fn every_suite_is_padded_as_it_asks() {
        for suite in Suite::all() {
            let template = Template::of_suite(suite, 0x1000, false);
            assert_eq!(usize::from(template.format.iv_bytes), suite.iv_bytes());
            assert_eq!(usize::from(template.format.tag_bytes), suite.tag_bytes());
            let unit = suite.block_bytes().max(4);
            for payload_bytes in 0..70 {
                let unpadded = payload_bytes + TRAILER_BYTES;
                let plaintext_bytes = template.format.plaintext_bytes(payload_bytes);
                assert_eq!(plaintext_bytes, unpadded.next_multiple_of(unit), "{suite}");
            }
        }
    }

    #[test]
    fn lengths_that_a_suite_cannot_have() {
        let bytes_in = |suite: &str, bytes| {
            let suite = Suite::parse(suite).expect("a suite");
            let format = Template::of_suite(suite, 0x1001, false).format;
            format.plaintext_bytes_of(bytes)
        };
        // Header 8, IV 8, tag 16.
        assert_eq!(bytes_in("aes-128-gcm-16", 32), None);
        assert_eq!(bytes_in("aes-128-gcm-16", 35), None);
        assert_eq!(bytes_in("aes-128-gcm-16", 36), Some(4));
        // Header 8, IV 16, tag 12.
        assert_eq!(bytes_in("aes-128-cbc+hmac-sha1-96", 36 + 12), None);
        assert_eq!(bytes_in("aes-128-cbc+hmac-sha1-96", 36 + 16), Some(16));
        for bytes in 0..20 {
            assert_eq!(bytes_in("null+hmac-sha1-96", bytes), None);
        }
        assert_eq!(bytes_in("null+hmac-sha1-96", 24), Some(4));
    }
}
