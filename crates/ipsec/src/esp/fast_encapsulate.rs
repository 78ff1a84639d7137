//! Fast path of encapsulation: an IP packet in a tunnel, without UDP, under a suite whose IV,
//! ICV and padding are those of GCM and ChaCha20-Poly1305.
//! [`Encapsulation`](super::Encapsulation) is the reference implementation, which handles every
//! other packet and reports why one is refused.

use weir_packet::wire::protocol::{ESP, IPV4, IPV6};
use weir_packet::wire::{Headers, LinkType, Network};
use weir_stream::{Enclosed, Enclosing};

use super::encapsulate::longest_packet;
use super::template::OuterTemplate;
use super::{ALIGNMENT_BYTES, ESP_HEADER_BYTES, Parts, TRAILER_BYTES, Template};
use crate::header::{self, IPV6_BYTES};
use crate::link;
use crate::sequence::low_half;

pub(super) const IV_BYTES: usize = 8;
pub(super) const ICV_BYTES: usize = 16;

/// The longest link header in front of an ordinary packet: Ethernet's with more
/// VLAN tags than are read.
pub(super) const MOST_LINK_BYTES: usize = 64;

const _: () =
    assert!(MOST_LINK_BYTES + IPV6_BYTES + ESP_HEADER_BYTES + IV_BYTES <= weir_stream::FRONT_BYTES);

/// The end of a text by its bytes of padding: padding, pad length and next
/// header, then zeros, which the ICV overwrites.
type Trailers = [[u8; 8]; ALIGNMENT_BYTES];

const fn ends(next_header: u8) -> Trailers {
    [
        [0, next_header, 0, 0, 0, 0, 0, 0],
        [1, 1, next_header, 0, 0, 0, 0, 0],
        [1, 2, 2, next_header, 0, 0, 0, 0],
        [1, 2, 3, 3, next_header, 0, 0, 0],
    ]
}

static TRAILERS_IPV4: Trailers = ends(IPV4);
static TRAILERS_IPV6: Trailers = ends(IPV6);

/// How one record becomes a tunnel's packet.
#[derive(Clone, Copy, Debug)]
pub struct FastEncapsulation {
    inner: Network,
    payload_bytes: usize,
    text_bytes: usize,
}

impl FastEncapsulation {
    /// Whether packets of a suite with these lengths may be composed this way.
    pub fn suits(iv_bytes: u8, tag_bytes: u8, unit_bytes: u8) -> bool {
        usize::from(iv_bytes) == IV_BYTES
            && usize::from(tag_bytes) == ICV_BYTES
            && usize::from(unit_bytes) == ALIGNMENT_BYTES
    }

    /// The longest IP packet that an association with such an outer header and
    /// this limit may compose this way.
    pub fn most_payload_bytes(outer: &OuterTemplate, mtu_bytes: u32) -> u32 {
        let beside_text = outer.header_bytes() + ESP_HEADER_BYTES + IV_BYTES + ICV_BYTES;
        let most_bytes = longest_packet(outer.version()).min(mtu_bytes as usize);
        let most_text_bytes = most_bytes.saturating_sub(beside_text) & !(ALIGNMENT_BYTES - 1);
        most_text_bytes.saturating_sub(TRAILER_BYTES) as u32
    }

    /// Decides how an association protects a record. `None` where the
    /// reference implementation must decide.
    #[inline]
    pub fn plan(
        template: &Template,
        link: LinkType,
        headers: &Headers,
    ) -> Option<FastEncapsulation> {
        let packet = FastEncapsulation::of(headers);
        let outer = template.outer.as_ref()?;
        let link_bytes = usize::from(headers.network_offset);
        let is_ordinary = link_bytes <= MOST_LINK_BYTES
            && packet.payload_bytes <= template.max_fast_bytes as usize
            && headers.is_whole_ip()
            && headers.shim().is_none()
            && (packet.inner == outer.network() || link::carries_both_versions(link));
        is_ordinary.then_some(packet)
    }

    /// That of a record which was found to be ordinary.
    #[inline]
    pub fn of(headers: &Headers) -> FastEncapsulation {
        let payload_bytes = headers
            .end_offset
            .saturating_sub(u32::from(headers.network_offset)) as usize;
        FastEncapsulation {
            inner: headers.network,
            payload_bytes,
            text_bytes: (payload_bytes + TRAILER_BYTES + ALIGNMENT_BYTES - 1)
                & !(ALIGNMENT_BYTES - 1),
        }
    }

    /// As [`Encapsulation::text_bytes`](super::Encapsulation::text_bytes).
    #[inline]
    pub fn text_bytes(&self) -> u64 {
        self.text_bytes as u64
    }

    /// What goes around the packet.
    #[inline]
    pub fn enclosing(&self, outer: &OuterTemplate) -> Enclosing {
        let header_bytes = outer.header_bytes();
        Enclosing {
            network: outer.network(),
            protocol: ESP,
            header_bytes: header_bytes as u16,
            flow_hash: outer.flow_hash(),
            front_bytes: header_bytes + ESP_HEADER_BYTES + IV_BYTES,
            back_bytes: self.text_bytes - self.payload_bytes + ICV_BYTES,
        }
    }

    /// Writes all headers, the padding and the trailer into a record that was
    /// [enclosed](weir_stream::Enclosures::enclose) by them; what is left to do is
    /// to seal the parts. `None` where the record has other lengths.
    #[inline]
    pub fn compose<'a>(
        &self,
        template: &Template,
        outer: &OuterTemplate,
        link: LinkType,
        record: Enclosed<'a>,
        sequence: u64,
    ) -> Option<Parts<'a>> {
        let Enclosed {
            front,
            link_offset,
            rest,
        } = record;
        let (before, esp) = front.split_last_chunk_mut::<{ ESP_HEADER_BYTES + IV_BYTES }>()?;
        let packet_bytes = outer.header_bytes() + esp.len() + rest.len();
        let identification = low_half(sequence).wrapping_add(template.format.spi) as u16;
        let inherited = header::inherited(rest);
        outer.write_behind(before, packet_bytes, inherited, identification);
        if outer.network() != self.inner {
            let link_end = before.len().checked_sub(outer.header_bytes())?;
            let link_header = before.get_mut(link_offset..link_end)?;
            link::set_ip_version(link, None, link_header, outer.version());
        }
        let (esp_header, iv) = esp.split_first_chunk_mut::<ESP_HEADER_BYTES>()?;
        let spi_and_number = u64::from(template.format.spi) << 32 | u64::from(low_half(sequence));
        *esp_header = spi_and_number.to_be_bytes();
        let ends = match self.inner {
            Network::Ipv6 => &TRAILERS_IPV6,
            _ => &TRAILERS_IPV4,
        };
        let pad_bytes = self.text_bytes - self.payload_bytes - TRAILER_BYTES;
        *rest.get_mut(self.payload_bytes..)?.first_chunk_mut()? = *ends.get(pad_bytes)?;
        let (text, tag) = rest.split_last_chunk_mut::<ICV_BYTES>()?;
        Some(Parts {
            esp_header,
            iv,
            text,
            tag,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};
    use std::sync::Arc;

    use proptest::prelude::*;
    use weir_crypto::Suite;
    use weir_packet::file::Block;
    use weir_stream::{Arrival, Batch, BatchLimits};

    use super::*;
    use crate::esp::Encapsulation;
    use crate::lifetime::Lifetime;
    use crate::outer::{Tunnel, TunnelEnds};
    use crate::sa::{Mode, Parameters};

    fn template(suite: &str, ends: TunnelEnds, mtu_bytes: u32) -> Template {
        Template::new(&Parameters {
            name: String::new(),
            spi: 0x1234_5678,
            direction: None,
            suite: Suite::parse(suite).expect("a suite"),
            mode: Mode::Tunnel(Tunnel::between(ends)),
            esn: false,
            replay_window: 64,
            expected_sequence: None,
            keeps_replay_state: None,
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

    /// The record as the reference implementation composes it.
    fn by_the_twin(
        twin: &Encapsulation,
        template: &Template,
        record: &[u8],
        sequence: u64,
    ) -> Vec<u8> {
        let (kept, payload) = record.split_at(twin.kept_bytes());
        let mut grown = kept.to_vec();
        grown.extend(vec![0; twin.front_bytes()]);
        grown.extend(payload);
        grown.extend(vec![0; twin.back_bytes()]);
        twin.compose(template, &mut grown, sequence);
        grown
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn composed_as_the_twin_composes(
            link in prop_oneof![Just(LinkType::Ethernet), Just(LinkType::RawIp)],
            inner_is_ipv6: bool,
            outer_is_ipv6: bool,
            contents in proptest::collection::vec(any::<u8>(), 0..200),
            mtu_bytes in prop_oneof![Just(u32::MAX), 0u32..300],
            sequence: u64,
        ) {
            let ends = if outer_is_ipv6 {
                TunnelEnds::V6 { source: Ipv6Addr::LOCALHOST, destination: Ipv6Addr::LOCALHOST }
            } else {
                let (source, destination) = (Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST);
                TunnelEnds::V4 { source, destination }
            };
            let template = template("aes-128-gcm-16", ends, mtu_bytes);
            let record = frame(link, if inner_is_ipv6 { 6 } else { 4 }, &contents);
            let mut batch = Batch::new(BatchLimits::default());
            let arrival = Arrival { link, ..Arrival::default() };
            let block = Arc::new(Block::from(record.clone()));
            batch.receive(&block, 0, [(0, record.len() as u32, arrival)]).expect("room");
            let headers = *batch.headers(0);
            let twin = Encapsulation::plan(&template, link, &headers, &record);
            let plan = FastEncapsulation::plan(&template, link, &headers);
            prop_assert_eq!(plan.is_some(), twin.is_ok());
            if let (Some(plan), Ok(twin)) = (plan, twin) {
                prop_assert_eq!(plan.text_bytes(), twin.text_bytes());
                let end = headers.end_offset as usize;
                let expected = by_the_twin(&twin, &template, &record[..end], sequence);
                let outer = template.outer.expect("a tunnel");
                let mut enclosures = batch.enclosures(1, expected.len());
                let record = enclosures.enclose(0, &plan.enclosing(&outer)).expect("room");
                let payload_bytes = end - usize::from(headers.network_offset);
                record.rest[payload_bytes..].fill(0);
                let parts = plan
                    .compose(&template, &outer, link, record, sequence)
                    .expect("room");
                let layout = twin.layout();
                prop_assert_eq!(
                    (parts.esp_header.len(), parts.iv.len(), parts.text.len(), parts.tag.len()),
                    (8, layout.iv_bytes.into(), layout.text_bytes(), layout.tag_bytes())
                );
                prop_assert_eq!(batch.record(0), expected);
                prop_assert!(batch.is_as_parsed(0));
            }
        }
    }

    #[test]
    fn other_packets_are_left_to_the_twin() {
        let ends = TunnelEnds::V4 {
            source: Ipv4Addr::LOCALHOST,
            destination: Ipv4Addr::LOCALHOST,
        };
        let whole = frame(LinkType::Ethernet, 4, &[0; 50]);
        let is_planned = |template: &Template, record: &[u8]| {
            let headers = Headers::parse(LinkType::Ethernet, record);
            FastEncapsulation::plan(template, LinkType::Ethernet, &headers).is_some()
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
