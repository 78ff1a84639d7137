//! One packet of a capture, from its first header to its last check value.

use std::net::IpAddr;
use std::ops::Range;

use weir_packet::wire::{Fragment, Headers, LinkType, Network, protocol};

use super::crc::{self, IPV4_BYTES, IPV6_BYTES, UDP_BYTES, Verdict};
use super::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Fault, Grh, HeaderKind, Ieth, ImmDt, LinkNextHeader,
    Lrh, ROCEV2_PORT, Rdeth, Reth, erf,
};

/// What brings the transport headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// Native InfiniBand within a subnet: LRH.
    Local,
    /// Native InfiniBand with a global address: LRH and GRH.
    Global,
    /// RoCEv2 over IPv4.
    Ipv4,
    /// RoCEv2 over IPv6.
    Ipv6,
}

impl Carrier {
    /// Whether it is RoCEv2.
    pub fn is_rocev2(self) -> bool {
        matches!(self, Carrier::Ipv4 | Carrier::Ipv6)
    }
}

/// A packet of InfiniBand or RoCEv2 in the record of a capture.
///
/// All its headers are whole and agree about its length. Its payload may be cut
/// ([`is_cut`](Packet::is_cut)); then it has no check values. Ranges count bytes from the start of
/// the record, and lie inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    record: &'a [u8],
    carrier: Carrier,
    bth: &'a [u8; Bth::BYTES],
    /// First byte of the LRH or of the IP header.
    start: usize,
    bth_start: usize,
    payload_start: usize,
    pad_start: usize,
    /// By the packet's own length, as the starts in front; the record may end before.
    icrc_start: usize,
    /// End of what the record has of the packet, a VCRC included.
    end: usize,
}

/// Bytes of the ICRC.
const ICRC_BYTES: usize = 4;
/// Bytes of the VCRC.
const VCRC_BYTES: usize = 2;

impl<'a> Packet<'a> {
    /// The packet in a record; `None` where it is one of another network.
    ///
    /// # Errors
    /// The record begins as a packet of InfiniBand or RoCEv2 does, but its headers are cut,
    /// contradict each other, or break a rule.
    pub fn parse(link: LinkType, record: &'a [u8]) -> Result<Option<Packet<'a>>, Fault> {
        Packet::behind(&Headers::parse(link, record), link, record)
    }

    /// The same where the headers up to UDP are known already.
    ///
    /// # Errors
    /// As for [`parse`](Packet::parse).
    // A call would pass the packet through memory, in parts that do not match how it is read.
    #[inline(always)]
    pub fn behind(
        headers: &Headers,
        link: LinkType,
        record: &'a [u8],
    ) -> Result<Option<Packet<'a>>, Fault> {
        match link {
            LinkType::InfiniBand => native(record, 0, record.len()).map(Some),
            LinkType::Erf => match erf::packet_of(record)? {
                Some((start, end)) => native(record, start, end).map(Some),
                None => Ok(None),
            },
            _ => rocev2(headers, record),
        }
    }

    /// What brings it.
    #[inline(always)]
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Whether the record ends before the packet's ICRC does.
    #[inline(always)]
    pub fn is_cut(&self) -> bool {
        self.end < self.icrc_start + ICRC_BYTES
    }

    /// Bytes from the LRH or the IP header to the ICRC, by the packet's own length.
    #[inline(always)]
    pub fn packet_bytes(&self) -> usize {
        self.icrc_start + ICRC_BYTES - self.start
    }

    /// The local route header of a native packet.
    #[inline(always)]
    pub fn lrh(&self) -> Option<Lrh> {
        let bytes = self.record.get(self.lrh_range()?)?;
        bytes.first_chunk().map(Lrh::from_bytes)
    }

    /// The global route header, where there is one.
    pub fn grh(&self) -> Option<Grh> {
        let bytes = self.record.get(self.grh_range()?)?;
        bytes.first_chunk().map(Grh::from_bytes)
    }

    /// Source and destination of RoCEv2.
    pub fn ip_addresses(&self) -> Option<(IpAddr, IpAddr)> {
        let ip = self.record.get(self.ip_range()?)?;
        Some(match self.carrier {
            Carrier::Ipv4 => {
                let both: &[u8; 8] = ip.get(12..)?.first_chunk()?;
                let [a, b, c, d, e, f, g, h] = *both;
                (IpAddr::from([a, b, c, d]), IpAddr::from([e, f, g, h]))
            }
            _ => {
                let source: &[u8; 16] = ip.get(8..)?.first_chunk()?;
                let destination: &[u8; 16] = ip.get(24..)?.first_chunk()?;
                (IpAddr::from(*source), IpAddr::from(*destination))
            }
        })
    }

    /// The base transport header.
    #[inline(always)]
    pub fn bth(&self) -> Bth {
        Bth::from_bytes(self.bth)
    }

    /// The reliable datagram extended header, where the operation has one.
    pub fn rdeth(&self) -> Option<Rdeth> {
        self.extended(HeaderKind::Rdeth, Rdeth::from_bytes)
    }

    /// The datagram extended header, where the operation has one.
    #[inline(always)]
    pub fn deth(&self) -> Option<Deth> {
        self.extended(HeaderKind::Deth, Deth::from_bytes)
    }

    /// The RDMA extended header, where the operation has one.
    #[inline(always)]
    pub fn reth(&self) -> Option<Reth> {
        self.extended(HeaderKind::Reth, Reth::from_bytes)
    }

    /// The atomic extended header, where the operation has one.
    pub fn atomic_eth(&self) -> Option<AtomicEth> {
        self.extended(HeaderKind::AtomicEth, AtomicEth::from_bytes)
    }

    /// The acknowledge extended header, where the operation has one.
    pub fn aeth(&self) -> Option<Aeth> {
        self.extended(HeaderKind::Aeth, Aeth::from_bytes)
    }

    /// The atomic acknowledge extended header, where the operation has one.
    pub fn atomic_ack_eth(&self) -> Option<AtomicAckEth> {
        self.extended(HeaderKind::AtomicAckEth, AtomicAckEth::from_bytes)
    }

    /// The immediate data, where the operation has some.
    pub fn immediate(&self) -> Option<ImmDt> {
        self.extended(HeaderKind::ImmDt, ImmDt::from_bytes)
    }

    /// The invalidate extended header, where the operation has one.
    pub fn ieth(&self) -> Option<Ieth> {
        self.extended(HeaderKind::Ieth, Ieth::from_bytes)
    }

    /// Both addresses as numbers: LIDs within a subnet, else those of the GRH or of the IP header.
    #[inline(always)]
    pub(crate) fn address_bits(&self) -> [u128; 2] {
        let header = self.record.get(self.start..).unwrap_or_default();
        // A packet has its headers whole.
        let bits = |at: usize| {
            let bytes: Option<&[u8; 16]> = header.get(at..).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u128::from_be_bytes(*bytes))
        };
        match self.carrier {
            Carrier::Ipv4 => self.ipv4_addresses().unwrap_or_default().map(u128::from),
            Carrier::Ipv6 => [8, 24].map(bits),
            Carrier::Global => [8, 24].map(|at| bits(Lrh::BYTES + at)),
            Carrier::Local => {
                let lrh = self.lrh().unwrap_or_default();
                [lrh.source_lid, lrh.destination_lid].map(u128::from)
            }
        }
    }

    #[inline(always)]
    pub(crate) fn bth_bytes(&self) -> &[u8; Bth::BYTES] {
        self.bth
    }

    /// First byte of the LRH or of the IP header.
    #[inline(always)]
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Source and destination of RoCEv2 over IPv4.
    #[inline(always)]
    pub(crate) fn ipv4_addresses(&self) -> Option<[u32; 2]> {
        let both: &[u8; 8] = self.record.get(self.start + 12..)?.first_chunk()?;
        let both = u64::from_be_bytes(*both);
        (self.carrier == Carrier::Ipv4).then_some([(both >> 32) as u32, both as u32])
    }

    #[inline(always)]
    fn extended<const N: usize, T>(&self, kind: HeaderKind, read: fn(&[u8; N]) -> T) -> Option<T> {
        let mut at = self.bth_start + Bth::BYTES;
        for header in self.bth().opcode.extended_headers() {
            if header == kind {
                return self.record.get(at..)?.first_chunk().map(read);
            }
            at += header.bytes();
        }
        None
    }

    /// The payload without its pad, as far as it was captured.
    pub fn payload(&self) -> &'a [u8] {
        self.record.get(self.payload_range()).unwrap_or_default()
    }

    /// Where the LRH lies.
    #[inline(always)]
    pub fn lrh_range(&self) -> Option<Range<usize>> {
        let is_native = !self.carrier.is_rocev2();
        is_native.then_some(self.start..self.start + Lrh::BYTES)
    }

    /// Where the GRH lies.
    pub fn grh_range(&self) -> Option<Range<usize>> {
        let start = self.start + Lrh::BYTES;
        (self.carrier == Carrier::Global).then_some(start..start + Grh::BYTES)
    }

    /// Where the IP header of RoCEv2 lies.
    pub fn ip_range(&self) -> Option<Range<usize>> {
        match self.carrier {
            Carrier::Ipv4 => Some(self.start..self.start + IPV4_BYTES),
            Carrier::Ipv6 => Some(self.start..self.start + IPV6_BYTES),
            Carrier::Local | Carrier::Global => None,
        }
    }

    /// Where the UDP header of RoCEv2 lies.
    pub fn udp_range(&self) -> Option<Range<usize>> {
        let ip = self.ip_range()?;
        Some(ip.end..ip.end + UDP_BYTES)
    }

    /// Where the base transport header lies.
    #[inline(always)]
    pub fn bth_range(&self) -> Range<usize> {
        self.bth_start..self.bth_start + Bth::BYTES
    }

    /// Where the extended headers lie, none or several.
    #[inline]
    pub fn extended_range(&self) -> Range<usize> {
        self.bth_start + Bth::BYTES..self.payload_start
    }

    /// Where the payload lies, as far as it was captured.
    pub fn payload_range(&self) -> Range<usize> {
        self.captured(self.payload_start, self.pad_start)
    }

    /// Where the pad lies, as far as it was captured.
    pub fn pad_range(&self) -> Range<usize> {
        self.captured(self.pad_start, self.icrc_start)
    }

    fn captured(&self, start: usize, end: usize) -> Range<usize> {
        start.min(self.end)..end.min(self.end)
    }

    /// Where the ICRC lies.
    #[inline(always)]
    pub fn icrc_range(&self) -> Option<Range<usize>> {
        let end = self.icrc_start + ICRC_BYTES;
        (!self.is_cut()).then_some(self.icrc_start..end)
    }

    /// Where the VCRC of a native packet lies, which some captures leave out.
    #[inline(always)]
    pub fn vcrc_range(&self) -> Option<Range<usize>> {
        let start = self.icrc_start + ICRC_BYTES;
        let end = start + VCRC_BYTES;
        (!self.carrier.is_rocev2() && end <= self.end).then_some(start..end)
    }

    /// The ICRC that the packet carries.
    #[inline(always)]
    pub fn icrc(&self) -> Option<u32> {
        let bytes = self.record.get(self.icrc_range()?)?;
        bytes.first_chunk().copied().map(u32::from_le_bytes)
    }

    /// The ICRC that it should carry.
    #[inline(always)]
    pub fn computed_icrc(&self) -> Option<u32> {
        if self.is_cut() {
            return None;
        }
        crc::icrc(self.carrier, self.record.get(self.start..self.icrc_start)?)
    }

    /// Compares the two.
    #[inline(always)]
    pub fn check_icrc(&self) -> Verdict {
        Verdict::of(self.icrc(), self.computed_icrc())
    }

    /// The VCRC that the packet carries.
    #[inline(always)]
    pub fn vcrc(&self) -> Option<u16> {
        let bytes = self.record.get(self.vcrc_range()?)?;
        bytes.first_chunk().copied().map(u16::from_le_bytes)
    }

    /// The VCRC that it should carry.
    #[inline(always)]
    pub fn computed_vcrc(&self) -> Option<u16> {
        let covered = self.start..self.vcrc_range()?.start;
        self.record.get(covered).map(crc::vcrc)
    }

    /// Compares the two.
    #[inline(always)]
    pub fn check_vcrc(&self) -> Verdict {
        Verdict::of(self.vcrc(), self.computed_vcrc())
    }
}

/// A packet that begins with an LRH at `start`, and of which the record has no more than up to
/// `end`.
#[inline(always)]
fn native(record: &[u8], start: usize, end: usize) -> Result<Packet<'_>, Fault> {
    let cut = |kind| Fault::HeaderCut(kind);
    let available = record.get(start..end).unwrap_or_default();
    let lrh = available.first_chunk().map(Lrh::from_bytes);
    let lrh = lrh.ok_or(cut(HeaderKind::Lrh))?;
    if lrh.link_version != 0 {
        return Err(Fault::LinkVersion(lrh.link_version));
    }
    let icrc_end = start + 4 * usize::from(lrh.packet_words);
    let mut bth_start = start + Lrh::BYTES;
    let carrier = match lrh.next_header {
        LinkNextHeader::Bth => Carrier::Local,
        LinkNextHeader::Grh => {
            bth_start += Grh::BYTES;
            check_grh(&available[Lrh::BYTES..], icrc_end.checked_sub(bth_start))?;
            Carrier::Global
        }
        other => return Err(Fault::NoTransport(other)),
    };
    let packet = Packet {
        carrier,
        start,
        bth_start,
        ..Packet::EMPTY
    };
    finish(packet, record, icrc_end, end.min(icrc_end + VCRC_BYTES))
}

/// Checks a GRH; by the length in the LRH, `left_bytes` follow it.
#[inline(always)]
fn check_grh(available: &[u8], left_bytes: Option<usize>) -> Result<(), Fault> {
    let left_bytes = left_bytes.ok_or(Fault::TooShort(HeaderKind::Grh))?;
    let grh = available.first_chunk().map(Grh::from_bytes);
    let grh = grh.ok_or(Fault::HeaderCut(HeaderKind::Grh))?;
    if grh.ip_version != Grh::IP_VERSION {
        return Err(Fault::GrhVersion(grh.ip_version));
    }
    if grh.next_header != Grh::NEXT_HEADER_BTH {
        return Err(Fault::GrhNextHeader(grh.next_header));
    }
    if usize::from(grh.payload_bytes) != left_bytes {
        return Err(Fault::LengthsDisagree {
            outer_bytes: narrow(left_bytes),
            inner_bytes: grh.payload_bytes,
        });
    }
    Ok(())
}

/// Whether it is known from its headers that a record holds a packet of another network.
#[inline]
pub(crate) fn is_other(headers: &Headers, link: LinkType) -> bool {
    !matches!(link, LinkType::InfiniBand | LinkType::Erf) && !is_rocev2(headers)
}

#[inline]
fn is_rocev2(headers: &Headers) -> bool {
    headers.protocol == protocol::UDP && headers.destination_port == ROCEV2_PORT
}

/// A packet behind a UDP header.
#[inline(always)]
fn rocev2<'a>(headers: &Headers, record: &'a [u8]) -> Result<Option<Packet<'a>>, Fault> {
    if !is_rocev2(headers) {
        return Ok(None);
    }
    let start = usize::from(headers.network_offset);
    let udp_start = usize::from(headers.transport_offset);
    let end = headers.end_offset as usize;
    let (carrier, ip_bytes) = match headers.network {
        Network::Ipv4 => (Carrier::Ipv4, IPV4_BYTES),
        Network::Ipv6 => (Carrier::Ipv6, IPV6_BYTES),
        Network::Other | Network::Arp => return Ok(None),
    };
    if headers.fragment != Fragment::Whole {
        return Err(Fault::Fragmented);
    }
    if udp_start != start + ip_bytes {
        return Err(Fault::IpOptions);
    }
    // Where the port was read, IP and UDP header are whole.
    let number = |at: usize| match record.get(at..at + 2) {
        Some(&[high, low]) => usize::from(u16::from_be_bytes([high, low])),
        _ => 0,
    };
    let icrc_end = match carrier {
        Carrier::Ipv4 => start + number(start + 2),
        _ => udp_start + number(start + 4),
    };
    let outer_bytes = icrc_end.saturating_sub(udp_start);
    let inner_bytes = number(udp_start + 4);
    if outer_bytes != inner_bytes {
        return Err(Fault::LengthsDisagree {
            outer_bytes: narrow(outer_bytes),
            inner_bytes: narrow(inner_bytes),
        });
    }
    let packet = Packet {
        carrier,
        start,
        bth_start: udp_start + UDP_BYTES,
        ..Packet::EMPTY
    };
    finish(packet, record, icrc_end, end.min(icrc_end)).map(Some)
}

impl Packet<'static> {
    /// What parsing begins with.
    const EMPTY: Packet<'static> = Packet {
        record: &[],
        carrier: Carrier::Local,
        bth: &[0; Bth::BYTES],
        start: 0,
        bth_start: 0,
        payload_start: 0,
        pad_start: 0,
        icrc_start: 0,
        end: 0,
    };
}

/// Reads what all packets have: everything from the BTH on. The packet ends at `icrc_end` by its
/// own length (a VCRC apart), and the record has it up to `end`.
#[inline(always)]
fn finish<'a>(
    packet: Packet<'a>,
    record: &'a [u8],
    icrc_end: usize,
    end: usize,
) -> Result<Packet<'a>, Fault> {
    let require = |kind: HeaderKind, header_end: usize| match () {
        () if header_end + ICRC_BYTES > icrc_end => Err(Fault::TooShort(kind)),
        () if header_end > end => Err(Fault::HeaderCut(kind)),
        () => Ok(()),
    };
    let mut at = packet.bth_start + Bth::BYTES;
    require(HeaderKind::Bth, at)?;
    let bth = record
        .get(packet.bth_start..at)
        .and_then(<[u8]>::first_chunk);
    let bytes: &[u8; Bth::BYTES] = bth.ok_or(Fault::HeaderCut(HeaderKind::Bth))?;
    let bth = Bth::from_bytes(bytes);
    if bth.transport_version != 0 {
        return Err(Fault::TransportVersion(bth.transport_version));
    }
    for header in bth.opcode.extended_headers() {
        at += header.bytes();
        require(header, at)?;
    }
    let icrc_start = icrc_end - ICRC_BYTES;
    let body_bytes = icrc_start - at;
    if !body_bytes.is_multiple_of(4) {
        return Err(Fault::Unaligned(narrow(body_bytes)));
    }
    if body_bytes > 0 && !bth.opcode.may_have_payload() && !has_long_tag(&bth) {
        return Err(Fault::UnexpectedPayload(narrow(body_bytes)));
    }
    let Some(pad_start) = icrc_start.checked_sub(usize::from(bth.pad_bytes)) else {
        return Err(Fault::TooShort(HeaderKind::Bth));
    };
    if pad_start < at {
        return Err(Fault::PadTooLong {
            pad_bytes: bth.pad_bytes,
            available_bytes: narrow(body_bytes),
        });
    }
    Ok(Packet {
        record,
        bth: bytes,
        payload_start: at,
        pad_start,
        icrc_start,
        end,
        ..packet
    })
}

/// Whether a packet is secure, with a tag behind its headers and its payload (GCM-128).
fn has_long_tag(bth: &Bth) -> bool {
    bth.reserved_6 & 3 == 2
}

/// A length for a message: lengths in packets have 16 bits at most.
fn narrow(bytes: usize) -> u16 {
    u16::try_from(bytes).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
