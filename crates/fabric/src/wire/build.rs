//! Writing packets: lengths, pad and check values are computed.

use weir_packet::wire::build::{self, IpHeader};
use weir_packet::wire::{FlowKey, LinkType, protocol};

use super::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Grh, HeaderKind, Ieth, ImmDt, LinkNextHeader, Lrh,
    Opcode, Packet, ROCEV2_PORT, Rdeth, Reth, vcrc,
};

/// Extended headers for any operation: those that an operation code calls for are written, in their
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ExtendedHeaders {
    /// Of reliable datagrams.
    pub rdeth: Rdeth,
    /// Of datagrams.
    pub deth: Deth,
    /// Of RDMA WRITE and READ.
    pub reth: Reth,
    /// Of CmpSwap and FetchAdd.
    pub atomic_eth: AtomicEth,
    /// Of responses.
    pub aeth: Aeth,
    /// Of the response to CmpSwap and FetchAdd.
    pub atomic_ack_eth: AtomicAckEth,
    /// Of operations with immediate data.
    pub immediate: ImmDt,
    /// Of SEND with Invalidate.
    pub ieth: Ieth,
}

impl ExtendedHeaders {
    /// Appends the headers of an operation.
    pub fn write(&self, opcode: Opcode, out: &mut Vec<u8>) {
        for header in opcode.extended_headers() {
            match header {
                HeaderKind::Rdeth => out.extend(self.rdeth.to_bytes()),
                HeaderKind::Deth => out.extend(self.deth.to_bytes()),
                HeaderKind::Reth => out.extend(self.reth.to_bytes()),
                HeaderKind::AtomicEth => out.extend(self.atomic_eth.to_bytes()),
                HeaderKind::Aeth => out.extend(self.aeth.to_bytes()),
                HeaderKind::AtomicAckEth => out.extend(self.atomic_ack_eth.to_bytes()),
                HeaderKind::ImmDt => out.extend(self.immediate.to_bytes()),
                HeaderKind::Ieth => out.extend(self.ieth.to_bytes()),
                HeaderKind::Erf | HeaderKind::Lrh | HeaderKind::Grh | HeaderKind::Bth => {}
            }
        }
    }
}

/// What a packet says, whatever carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Message<'a> {
    /// Base transport header; its PadCnt is computed.
    pub bth: Bth,
    /// Extended headers, of which those of the operation are written.
    pub extended: ExtendedHeaders,
    /// Payload.
    pub payload: &'a [u8],
}

/// Why a packet cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Its length does not fit the fields that state it.
    #[error("{bytes} bytes from {from} to the ICRC, and {most} is the longest packet")]
    TooLong {
        /// Where the length counts from.
        from: &'static str,
        /// Length.
        bytes: usize,
        /// The most that can be stated.
        most: usize,
    },
    /// The operation has none.
    #[error("a payload for {0}, which has none")]
    UnexpectedPayload(Opcode),
    /// TVer, LVer or IPVer is not the one that there is.
    #[error("a header has an unknown version")]
    Version,
}

/// The longest native packet from LRH to ICRC, by the 11 bits of PktLen.
const NATIVE_BYTES_MAX: usize = 4 * 0x7ff;

impl Message<'_> {
    /// Appends a native packet: LRH, GRH where there is one, the message, ICRC and VCRC. LNH, PktLen,
    /// and PayLen and next header of the GRH are computed.
    ///
    /// # Errors
    /// The packet is too long, its operation has no payload, or a header's version is unknown;
    /// nothing is written.
    pub fn write_native(
        &self,
        out: &mut Vec<u8>,
        lrh: Lrh,
        grh: Option<Grh>,
    ) -> Result<(), BuildError> {
        let transport_bytes = self.transport_bytes()?;
        let grh_bytes = grh.map_or(0, |_| Grh::BYTES);
        let packet_bytes = Lrh::BYTES + grh_bytes + transport_bytes;
        if packet_bytes > NATIVE_BYTES_MAX {
            return Err(BuildError::TooLong {
                from: "the LRH",
                bytes: packet_bytes,
                most: NATIVE_BYTES_MAX,
            });
        }
        let has_versions =
            lrh.link_version == 0 && grh.is_none_or(|grh| grh.ip_version == Grh::IP_VERSION);
        if !has_versions {
            return Err(BuildError::Version);
        }
        let start = out.len();
        let lrh = Lrh {
            next_header: match grh {
                Some(_) => LinkNextHeader::Grh,
                None => LinkNextHeader::Bth,
            },
            packet_words: (packet_bytes / 4) as u16,
            ..lrh
        };
        out.extend(lrh.to_bytes());
        if let Some(grh) = grh {
            let grh = Grh {
                payload_bytes: transport_bytes as u16,
                next_header: Grh::NEXT_HEADER_BTH,
                ..grh
            };
            out.extend(grh.to_bytes());
        }
        self.write_transport(out);
        set_icrc(LinkType::InfiniBand, &mut out[start..]);
        let vcrc = vcrc(&out[start..]);
        out.extend(vcrc.to_le_bytes());
        Ok(())
    }

    /// Appends a RoCEv2 packet from its IP header on: IP, UDP, the message and the ICRC. Of `key`,
    /// version, addresses and the source port count.
    ///
    /// # Errors
    /// As for [`write_native`](Message::write_native).
    pub fn write_rocev2(
        &self,
        out: &mut Vec<u8>,
        key: &FlowKey,
        ip: &IpHeader,
    ) -> Result<(), BuildError> {
        let transport_bytes = self.transport_bytes()?;
        let (link, ip_bytes, ip_bytes_max) = match key.ip_version {
            4 => (LinkType::RawIpv4, 20, 65_535),
            _ => (LinkType::RawIpv6, 40, 40 + 65_535),
        };
        let packet_bytes = ip_bytes + 8 + transport_bytes;
        if packet_bytes > ip_bytes_max {
            return Err(BuildError::TooLong {
                from: "the IP header",
                bytes: packet_bytes,
                most: ip_bytes_max,
            });
        }
        let key = FlowKey {
            destination_port: ROCEV2_PORT,
            protocol: protocol::UDP,
            ..*key
        };
        let ip = IpHeader {
            more_fragments: false,
            fragment_offset: 0,
            ..*ip
        };
        let start = out.len();
        build::ip(out, &key, &ip, |packet| {
            build::udp(packet, &key, |datagram| self.write_transport(datagram));
        });
        let packet = &mut out[start..];
        set_icrc(link, packet);
        add_to_checksum(&mut packet[ip_bytes..]);
        Ok(())
    }

    /// Bytes from the BTH to the ICRC.
    fn transport_bytes(&self) -> Result<usize, BuildError> {
        let opcode = self.bth.opcode;
        if !self.payload.is_empty() && !opcode.may_have_payload() {
            return Err(BuildError::UnexpectedPayload(opcode));
        }
        if self.bth.transport_version != 0 {
            return Err(BuildError::Version);
        }
        let body_bytes = self.payload.len().next_multiple_of(4);
        Ok(Bth::BYTES + opcode.extended_bytes() + body_bytes + 4)
    }

    /// Appends everything from the BTH on, with zeros for the ICRC.
    fn write_transport(&self, out: &mut Vec<u8>) {
        let pad_bytes = self.payload.len().next_multiple_of(4) - self.payload.len();
        let bth = Bth {
            pad_bytes: pad_bytes as u8,
            ..self.bth
        };
        out.extend(bth.to_bytes());
        self.extended.write(bth.opcode, out);
        out.extend_from_slice(self.payload);
        out.extend_from_slice(&[0; 3][..pad_bytes]);
        out.extend([0; 4]);
    }
}

/// Writes the ICRC into the last four bytes of a packet.
fn set_icrc(link: LinkType, bytes: &mut [u8]) {
    let parsed = Packet::parse(link, bytes).ok().flatten();
    let place = parsed.and_then(|packet| packet.computed_icrc().zip(packet.icrc_range()));
    // The lengths and versions were checked, so that what was written is a packet.
    debug_assert!(place.is_some(), "a packet that cannot be read");
    if let Some((icrc, range)) = place {
        bytes[range].copy_from_slice(&icrc.to_le_bytes());
    }
}

/// Adds the ICRC, which was zero when the datagram was summed up, to the UDP checksum (RFC 1624).
fn add_to_checksum(datagram: &mut [u8]) {
    let Some((_, icrc)) = datagram.split_last_chunk::<4>() else {
        return;
    };
    let [a, b, c, d] = *icrc;
    let words = [[datagram[6], datagram[7]], [a, b], [c, d]].map(u16::from_be_bytes);
    let mut sum = u32::from(!words[0]) + u32::from(words[1]) + u32::from(words[2]);
    sum = (sum >> 16) + (sum & 0xffff);
    sum = (sum >> 16) + (sum & 0xffff);
    // Zero would say that there is no checksum.
    let checksum = match !sum as u16 {
        0 => 0xffff,
        checksum => checksum,
    };
    datagram[6..8].copy_from_slice(&checksum.to_be_bytes());
}
