//! The ordinary case of encapsulation, in as few steps as it takes: an IP packet
//! in a tunnel, without UDP, under a suite whose IV, ICV and padding are those
//! of GCM and ChaCha20-Poly1305. [`Encapsulation`](super::Encapsulation) is its
//! twin, which takes every other packet and says why one is refused.

use weir_packet::wire::protocol::{IPV4, IPV6};
use weir_packet::wire::{Headers, LinkType, Network};

use super::encapsulate::longest_packet;
use super::{ALIGNMENT_BYTES, ESP_HEADER_BYTES, Layout, TRAILER_BYTES, Template};
use crate::header::{self, Inherited};
use crate::link;
use crate::sequence::low_half;

const IV_BYTES: usize = 8;
const ICV_BYTES: usize = 16;

/// The end of a text by its bytes of padding: padding, pad length and next
/// header, then zeros, for which there is room in what will be the ICV.
type Ends = [[u8; 8]; ALIGNMENT_BYTES];

const fn ends(next_header: u8) -> Ends {
    [
        [0, next_header, 0, 0, 0, 0, 0, 0],
        [1, 1, next_header, 0, 0, 0, 0, 0],
        [1, 2, 2, next_header, 0, 0, 0, 0],
        [1, 2, 3, 3, next_header, 0, 0, 0],
    ]
}

static ENDS_IPV4: Ends = ends(IPV4);
static ENDS_IPV6: Ends = ends(IPV6);

/// How one record becomes a tunnel's packet.
#[derive(Clone, Copy, Debug)]
pub struct Enclosure {
    inherited: Inherited,
    inner: Network,
    link: LinkType,
    link_bytes: usize,
    outer_bytes: usize,
    payload_bytes: usize,
    text_bytes: usize,
}

impl Enclosure {
    /// Whether packets of a suite with these lengths may be composed this way.
    pub fn suits(iv_bytes: u8, tag_bytes: u8, unit_bytes: u8) -> bool {
        usize::from(iv_bytes) == IV_BYTES
            && usize::from(tag_bytes) == ICV_BYTES
            && usize::from(unit_bytes) == ALIGNMENT_BYTES
    }

    /// Decides how an association whose template
    /// [`encloses`](Template::encloses) protects a record. `None` where the twin
    /// must decide.
    #[inline]
    pub fn plan(
        template: &Template,
        link: LinkType,
        headers: &Headers,
        record: &[u8],
    ) -> Option<Enclosure> {
        let outer = template.outer.as_ref()?;
        let inner = headers.network;
        let is_ordinary = template.encloses
            && headers.is_whole_ip()
            && (inner == outer.network() || link::carries_both_versions(link));
        if !is_ordinary {
            return None;
        }
        let packet = headers.ip_packet(record);
        let outer_bytes = outer.header_bytes();
        let text_bytes = (packet.len() + TRAILER_BYTES).next_multiple_of(ALIGNMENT_BYTES);
        let packet_bytes = outer_bytes + ESP_HEADER_BYTES + IV_BYTES + text_bytes + ICV_BYTES;
        if packet_bytes > longest_packet(outer.version()).min(template.mtu_bytes as usize) {
            return None;
        }
        Some(Enclosure {
            inherited: header::inherited(packet),
            inner,
            link,
            link_bytes: usize::from(headers.network_offset),
            outer_bytes,
            payload_bytes: packet.len(),
            text_bytes,
        })
    }

    /// As [`Encapsulation::text_bytes`](super::Encapsulation::text_bytes).
    #[inline]
    pub fn text_bytes(&self) -> u64 {
        self.text_bytes as u64
    }

    /// As [`Encapsulation::kept_bytes`](super::Encapsulation::kept_bytes).
    #[inline]
    pub fn kept_bytes(&self) -> usize {
        self.link_bytes
    }

    /// As [`Encapsulation::front_bytes`](super::Encapsulation::front_bytes).
    #[inline]
    pub fn front_bytes(&self) -> usize {
        self.outer_bytes + ESP_HEADER_BYTES + IV_BYTES
    }

    /// As [`Encapsulation::back_bytes`](super::Encapsulation::back_bytes).
    #[inline]
    pub fn back_bytes(&self) -> usize {
        self.text_bytes - self.payload_bytes + ICV_BYTES
    }

    /// As [`Encapsulation::layout`](super::Encapsulation::layout).
    #[inline]
    pub fn layout(&self) -> Layout {
        Layout {
            esp_offset: (self.link_bytes + self.outer_bytes) as u32,
            text_bytes: self.text_bytes as u32,
            iv_bytes: IV_BYTES as u8,
            tag_bytes: ICV_BYTES as u8,
        }
    }

    /// As [`Encapsulation::compose`](super::Encapsulation::compose).
    #[inline]
    pub fn compose(&self, template: &Template, record: &mut [u8], sequence: u64) {
        let (Some(outer), Some((link_header, packet))) = (
            &template.outer,
            record.split_at_mut_checked(self.link_bytes),
        ) else {
            return;
        };
        let identification = low_half(sequence).wrapping_add(template.spi) as u16;
        outer.write(packet, self.inherited, identification);
        let Some(esp) = packet.get_mut(self.outer_bytes..) else {
            return;
        };
        if let Some(esp_header) = esp.first_chunk_mut::<ESP_HEADER_BYTES>() {
            let spi_and_number = u64::from(template.spi) << 32 | u64::from(low_half(sequence));
            *esp_header = spi_and_number.to_be_bytes();
        }
        let ends = match self.inner {
            Network::Ipv6 => &ENDS_IPV6,
            _ => &ENDS_IPV4,
        };
        let end_offset = ESP_HEADER_BYTES + IV_BYTES + self.payload_bytes;
        let pad_bytes = self.text_bytes - self.payload_bytes - TRAILER_BYTES;
        if let (Some(at), Some(end)) = (
            esp.get_mut(end_offset..)
                .and_then(|rest| rest.first_chunk_mut()),
            ends.get(pad_bytes),
        ) {
            *at = *end;
        }
        if outer.network() != self.inner {
            link::set_ip_version(self.link, link_header, outer.version());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;
    use weir_crypto::Suite;

    use super::*;
    use crate::esp::Encapsulation;
    use crate::lifetime::Lifetime;
    use crate::outer::{Ends, Tunnel};
    use crate::sa::{Mode, Parameters};

    fn template(suite: &str, ends: Ends, mtu_bytes: u32) -> Template {
        Template::new(&Parameters {
            name: String::new(),
            spi: 0x1234_5678,
            suite: Suite::parse(suite).expect("a suite"),
            mode: Mode::Tunnel(Tunnel::between(ends)),
            esn: false,
            replay_window: 64,
            nat_t: None,
            decrement_ttl: false,
            mtu_bytes,
            lifetime: Lifetime::UNLIMITED,
        })
    }

    /// A frame with an IP packet of this version and length.
    fn frame(link: LinkType, version: u8, contents: &[u8]) -> Vec<u8> {
        let mut frame = match link {
            LinkType::Ethernet => vec![0xaa; 12],
            _ => Vec::new(),
        };
        let at = if version == 6 {
            if link == LinkType::Ethernet {
                frame.extend([0x86, 0xdd]);
            }
            frame.extend([0x6a, 0xbc, 0xde, 0xf1]);
            frame.extend((contents.len() as u16).to_be_bytes());
            frame.extend([59, 9]);
            32
        } else {
            if link == LinkType::Ethernet {
                frame.extend([0x08, 0x00]);
            }
            frame.extend([0x45, 0xb9]);
            frame.extend((contents.len() as u16 + 20).to_be_bytes());
            frame.extend([0, 7, 0x40, 0, 9, 59, 1, 2]);
            8
        };
        frame.extend(vec![0x11; at]);
        frame.extend(contents);
        // What a link puts behind short packets.
        frame.extend([0; 3]);
        frame
    }

    /// The record as either composes it, and the layout.
    macro_rules! composed {
        ($plan:expr, $template:expr, $record:expr, $end:expr, $sequence:expr) => {{
            let plan = $plan;
            let (kept, payload) = $record[..$end].split_at(plan.kept_bytes());
            let mut grown = kept.to_vec();
            grown.extend(vec![0; plan.front_bytes()]);
            grown.extend(payload);
            grown.extend(vec![0; plan.back_bytes()]);
            plan.compose($template, &mut grown, $sequence);
            (grown, plan.layout(), plan.text_bytes())
        }};
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn composed_as_the_twin_composes(
            link in prop_oneof![Just(LinkType::Ethernet), Just(LinkType::RawIp)],
            inner_is_ipv6: bool,
            outer_is_ipv6: bool,
            contents in proptest::collection::vec(any::<u8>(), 0..200),
            mtu_bytes in prop_oneof![Just(u32::MAX), 80u32..300],
            sequence: u64,
        ) {
            let ends = if outer_is_ipv6 {
                Ends::V6 { source: Ipv6Addr::LOCALHOST, destination: Ipv6Addr::LOCALHOST }
            } else {
                let (source, destination) = (Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
                Ends::V4 { source, destination }
            };
            let template = template("aes-128-gcm-16", ends, mtu_bytes);
            let record = frame(link, if inner_is_ipv6 { 6 } else { 4 }, &contents);
            let headers = Headers::parse(link, &record);
            let end = headers.end_offset as usize;
            let twin = Encapsulation::plan(&template, link, &headers, &record);
            let plan = Enclosure::plan(&template, link, &headers, &record);
            prop_assert_eq!(plan.is_some(), twin.is_ok());
            if let (Some(plan), Ok(twin)) = (plan, twin) {
                prop_assert_eq!(
                    composed!(plan, &template, record, end, sequence),
                    composed!(twin, &template, record, end, sequence)
                );
            }
        }
    }

    #[test]
    fn other_packets_are_left_to_the_twin() {
        let ends = Ends::V4 {
            source: Ipv4Addr::LOCALHOST,
            destination: Ipv4Addr::LOCALHOST,
        };
        let whole = frame(LinkType::Ethernet, 4, &[0; 50]);
        let is_planned = |template: &Template, record: &[u8]| {
            let headers = Headers::parse(LinkType::Ethernet, record);
            Enclosure::plan(template, LinkType::Ethernet, &headers, record).is_some()
        };
        let ordinary = template("aes-128-gcm-16", ends, u32::MAX);
        assert!(is_planned(&ordinary, &whole));
        assert!(
            !is_planned(&ordinary, &whole[..60]),
            "a packet that was cut"
        );
        assert!(!is_planned(&ordinary, &[0; 60]), "no IP");
        let cbc = template("aes-128-cbc+hmac-sha1-96", ends, u32::MAX);
        assert!(!is_planned(&cbc, &whole));
        let transport = Template::of_suite(Suite::parse("aes-128-gcm-16").expect("one"), 1, false);
        assert!(!is_planned(&transport, &whole));
    }
}
