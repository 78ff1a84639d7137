//! Packets in one buffer, on their way through a sender or a receiver.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use weir_crypto::{BATCH_PACKETS, Descriptor, KeyId, Layout};
use weir_packet::wire::{Checksum, Headers, LinkType, internet_checksum, protocol};

use super::derive::{Address, Endpoint};
use super::flows::FlowId;
use super::format::{self, Algorithm, CUT_TAG_BYTES, EXTENDED_BYTES, TAG_BYTES, associated_bytes};
use super::reason::DropReason;
use crate::wire::{Bth, Carrier, Lrh, Packet, erf, icrc, vcrc};

/// Up to 256 packets, copied into one buffer.
///
/// Each is laid out as the cipher needs it:
///
/// ```text
/// │ associated data │ record up to the payload │ body │ 24 bytes │ record behind the ICRC │
/// ```
#[derive(Debug, Default)]
pub struct Batch {
    pub(super) buffer: Vec<u8>,
    pub(super) places: Vec<Place>,
}

/// Where a packet lies in the buffer, and what is known about it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    link: LinkType,
    pub(super) carrier: Carrier,
    pub(super) bth: Bth,
    pub(super) path: Path,
    /// Whether a packet to protect carries its own ICRC.
    pub(super) has_its_icrc: bool,
    /// Of the path, and the flow that has it, as the sender or receiver found them ahead.
    pub(super) path_hash: u64,
    pub(super) found: Option<FlowId>,
    /// Offset of the associated data in the buffer.
    associated: usize,
    associated_bytes: usize,
    /// Offset of the record in the buffer.
    record: usize,
    /// Offset of the LRH or of the IP header in the buffer.
    start: usize,
    /// Offset of the BTH in the buffer.
    bth_start: usize,
    /// Offset of the body in the buffer.
    body: usize,
    pub(super) body_bytes: usize,
    /// What stands behind the body: an ICRC, or another check value.
    check_bytes: usize,
    /// Where the bytes behind the ICRC are.
    trailer: Range<usize>,
    has_vcrc: bool,
    /// Of the marking field, where the flow has timestamps.
    timestamp_bits: u32,
    /// Whose keys it has, once they are found.
    flow: Option<FlowId>,
    outcome: Result<(), DropReason>,
}

/// Which keys a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) source: Address,
    pub(super) destination: Endpoint,
    /// Of datagrams, which say so.
    pub(super) source_qp: Option<u32>,
}

/// Behind each body, for what a packet of extended mode has there.
const SPACE_BYTES: usize = EXTENDED_BYTES + CUT_TAG_BYTES;

impl Batch {
    /// Without packets.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Takes the packet out of a record of a capture or a port; false where the batch is full. One
    /// that cannot be processed takes its place, and is dropped with a reason.
    #[must_use]
    pub fn push(&mut self, link: LinkType, record: &[u8]) -> bool {
        self.push_behind(&Headers::parse(link, record), link, record)
    }

    /// The same where the headers up to UDP are known already.
    #[must_use]
    pub fn push_behind(&mut self, headers: &Headers, link: LinkType, record: &[u8]) -> bool {
        if self.places.len() == BATCH_PACKETS {
            return false;
        }
        let place = match Packet::behind(headers, link, record) {
            Ok(Some(packet)) => self.lay_out(link, record, &packet),
            Ok(None) => Err(DropReason::NotFabric),
            Err(_) => Err(DropReason::Malformed),
        };
        self.places.push(place.unwrap_or_else(Place::dropped));
        true
    }

    /// Packets that were pushed.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Takes all packets out.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.places.clear();
    }

    /// The record of packet `index`, as it is after the run.
    ///
    /// # Errors
    /// Why it is dropped.
    pub fn get(&self, index: usize) -> Result<&[u8], DropReason> {
        let place = self.places.get(index).ok_or(DropReason::NotRun)?;
        place.outcome?;
        let end = place.body + place.body_bytes + place.check_bytes + place.trailer.len();
        let record = self.buffer.get(place.record..end);
        record.ok_or(DropReason::NotRun)
    }

    /// The flow of packet `index`, under whose keys it is protected or was verified; `None` where it passes
    /// as it is.
    pub fn flow(&self, index: usize) -> Option<FlowId> {
        self.places.get(index)?.flow
    }

    pub(super) fn set_flow(&mut self, index: usize, flow: FlowId) {
        self.places[index].flow = Some(flow);
    }

    /// All of them in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<&[u8], DropReason>> {
        (0..self.len()).map(|index| self.get(index))
    }

    fn lay_out(
        &mut self,
        link: LinkType,
        record: &[u8],
        packet: &Packet<'_>,
    ) -> Result<Place, DropReason> {
        let icrc = packet.icrc_range().ok_or(DropReason::PacketCut)?;
        let first = packet.lrh_range().or(packet.ip_range());
        let start = first.ok_or(DropReason::Malformed)?.start;
        let path = Path::of(packet).ok_or(DropReason::Malformed)?;
        let header_end = packet.extended_range().end;
        if header_end > usize::from(u8::MAX) {
            return Err(DropReason::HeadersTooLong);
        }
        let associated_bytes = associated_bytes(packet.carrier(), header_end - start);
        let associated = self.buffer.len();
        let record_start = associated + associated_bytes;
        let trailer = record_start + icrc.start + SPACE_BYTES;
        // What is written in front of the record and behind the ICRC is written later.
        let front = record
            .get(..associated_bytes)
            .ok_or(DropReason::Malformed)?;
        (self.buffer).reserve(associated_bytes + record.len() + SPACE_BYTES);
        self.buffer.extend_from_slice(front);
        self.buffer.extend_from_slice(&record[..icrc.end]);
        self.buffer
            .extend_from_slice(&[0; SPACE_BYTES - CUT_TAG_BYTES]);
        self.buffer.extend_from_slice(&record[icrc.end..]);
        Ok(Place {
            link,
            carrier: packet.carrier(),
            bth: *packet.bth(),
            path,
            has_its_icrc: false,
            path_hash: 0,
            found: None,
            associated,
            associated_bytes,
            record: record_start,
            start: record_start + start,
            bth_start: record_start + packet.bth_range().start,
            body: record_start + header_end,
            body_bytes: icrc.start - header_end,
            check_bytes: CUT_TAG_BYTES,
            trailer: trailer..self.buffer.len(),
            has_vcrc: packet.vcrc_range().is_some(),
            timestamp_bits: 0,
            flow: None,
            outcome: Err(DropReason::NotRun),
        })
    }

    pub(super) fn drop(&mut self, index: usize, reason: DropReason) {
        self.places[index].outcome = Err(reason);
    }

    /// Whether the packet may be processed: it was not dropped on the way in.
    pub(super) fn is_open(&self, index: usize) -> bool {
        self.places[index].outcome == Err(DropReason::NotRun)
    }

    pub(super) fn body(&self, index: usize) -> Range<usize> {
        let place = &self.places[index];
        place.body..place.body + place.body_bytes
    }

    /// The bytes behind the body.
    pub(super) fn check<const N: usize>(&self, index: usize) -> [u8; N] {
        let at = self.body(index).end;
        let bytes = self.buffer.get(at..).and_then(<[u8]>::first_chunk);
        bytes.copied().unwrap_or([0; N])
    }

    /// Writes what stands behind the body.
    pub(super) fn set_check(&mut self, index: usize, bytes: &[u8]) {
        let at = self.body(index).end;
        self.buffer[at..at + bytes.len()].copy_from_slice(bytes);
        self.places[index].check_bytes = bytes.len();
    }

    /// Writes identifier and epoch.
    pub(super) fn set_fields(&mut self, index: usize, algorithm: Algorithm, epoch: u64) {
        let at = self.places[index].bth_start;
        format::set_fields(&mut self.buffer[at..at + Bth::BYTES], algorithm, epoch);
    }

    /// The timestamp, where the packet has a field for one; from now on it is authenticated.
    pub(super) fn timestamp(&mut self, index: usize, bits: u32) -> Option<u64> {
        let gid = self.marked_gid(index)?;
        let stamp = format::timestamp(gid, bits)?;
        self.places[index].timestamp_bits = bits;
        Some(stamp)
    }

    /// Writes the timestamp of a packet that has a field for one.
    pub(super) fn set_timestamp(&mut self, index: usize, stamp: u64) {
        let bits = self.places[index].timestamp_bits;
        if let Some(gid) = self.marked_gid(index).filter(|_| bits > 0) {
            format::set_timestamp(gid, bits, stamp);
        }
    }

    /// The DGID of a packet of native InfiniBand.
    fn marked_gid(&mut self, index: usize) -> Option<&mut [u8; 16]> {
        let place = &self.places[index];
        let at = place.start + Lrh::BYTES + DGID_OFFSET;
        let gid = (place.carrier == Carrier::Global).then(|| self.buffer.get_mut(at..));
        gid.flatten()?.first_chunk_mut()
    }

    /// Changes the lengths in the headers.
    pub(super) fn change_lengths(&mut self, index: usize, by: isize) -> Result<(), DropReason> {
        let place = &self.places[index];
        let headers = &mut self.buffer[place.start..place.bth_start];
        let before: [u8; MOST_OUTER_BYTES] =
            std::array::from_fn(|at| headers.get(at).copied().unwrap_or(0));
        let changed = format::change_lengths(place.carrier, headers, by);
        changed.ok_or_else(|| {
            let bytes = headers.len();
            headers.copy_from_slice(&before[..bytes]);
            DropReason::TooLong
        })?;
        let record = &mut self.buffer[place.record..place.start];
        match place.link {
            LinkType::Erf => erf::change_lengths(record, by).ok_or(DropReason::TooLong),
            _ => Ok(()),
        }
    }

    /// Writes the associated data of the headers as they are now.
    pub(super) fn set_associated(&mut self, index: usize) {
        let place = &self.places[index];
        let (front, rest) = self.buffer.split_at_mut(place.record);
        let headers = &rest[place.start - place.record..place.body - place.record];
        format::write_associated_data(
            place.carrier,
            headers,
            place.bth_start - place.start,
            place.timestamp_bits,
            &mut front[place.associated..],
        );
    }

    /// The associated data.
    pub(super) fn associated(&self, index: usize) -> &[u8] {
        let place = &self.places[index];
        &self.buffer[place.associated..place.associated + place.associated_bytes]
    }

    /// For the cipher.
    #[inline]
    pub(super) fn descriptor(&self, index: usize, key: KeyId) -> Descriptor {
        let place = &self.places[index];
        Descriptor {
            key,
            context: 0,
            // A batch is far shorter than 4 GiB, and headers are shorter than 256 bytes.
            offset: place.associated as u32,
            layout: Layout {
                payload_bytes: place.body_bytes as u32,
                aad_bytes: place.associated_bytes as u16,
                gap_bytes: (place.body - place.record) as u8,
                esn: false,
            },
        }
    }

    /// Takes number and tag of extended mode off the body, and puts the tag behind it; returns the
    /// number.
    pub(super) fn split_extended(&mut self, index: usize) -> Result<u64, DropReason> {
        let place = &mut self.places[index];
        let bytes = place.body_bytes.checked_sub(EXTENDED_BYTES);
        let bytes = bytes.filter(|bytes| usize::from(place.bth.pad_bytes) <= *bytes);
        place.body_bytes = bytes.ok_or(DropReason::Malformed)?;
        let end = place.body + place.body_bytes;
        let number: [u8; format::NUMBER_BYTES] = self.check(index);
        let tag = end + format::NUMBER_BYTES;
        self.buffer.copy_within(tag..tag + TAG_BYTES, end);
        Ok(u64::from_be_bytes(number))
    }

    /// A packet that leaves as it came.
    pub(super) fn pass(&mut self, index: usize) {
        let place = &mut self.places[index];
        let end = place.body + place.body_bytes + place.check_bytes;
        self.buffer.copy_within(place.trailer.clone(), end);
        place.trailer = end..end + place.trailer.len();
        place.outcome = Ok(());
    }

    /// A packet that leaves with its check value written: checksums and VCRC are computed.
    pub(super) fn finish(&mut self, index: usize) {
        self.pass(index);
        let place = &self.places[index];
        let end = place.body + place.body_bytes + place.check_bytes;
        let (packet, trailer) = self.buffer[place.start..].split_at_mut(end - place.start);
        match place.carrier {
            Carrier::Local | Carrier::Global => {
                let covered = place.has_vcrc.then(|| vcrc(packet));
                if let (Some(vcrc), Some(field)) = (covered, trailer.first_chunk_mut()) {
                    *field = vcrc.to_le_bytes();
                }
            }
            Carrier::Ipv4 => {
                let (ip, udp) = packet.split_at_mut(IPV4_BYTES);
                ip[10..12].fill(0);
                let checksum = internet_checksum(ip);
                ip[10..12].copy_from_slice(&checksum.to_be_bytes());
                set_udp_checksum(&ip[12..], udp);
            }
            Carrier::Ipv6 => {
                let (ip, udp) = packet.split_at_mut(IPV6_BYTES);
                set_udp_checksum(&ip[8..], udp);
            }
        }
    }

    /// A packet that leaves as a plain one: with its ICRC.
    pub(super) fn finish_plain(&mut self, index: usize) {
        self.set_fields(index, Algorithm::None, 0);
        self.set_timestamp(index, 0);
        self.places[index].check_bytes = CUT_TAG_BYTES;
        match self.icrc(index) {
            Some(icrc) => {
                self.set_check(index, &icrc.to_le_bytes());
                self.finish(index);
            }
            None => self.drop(index, DropReason::Malformed),
        }
    }

    /// The ICRC of a packet with headers and body as they are now.
    fn icrc(&self, index: usize) -> Option<u32> {
        let place = &self.places[index];
        let behind_bth = place.bth_start + Bth::BYTES;
        let headers = self.buffer.get(place.start..behind_bth)?;
        let rest = (self.buffer).get(behind_bth..place.body + place.body_bytes)?;
        icrc(place.carrier, headers, rest)
    }

    /// Compares the ICRC of a plain packet.
    pub(super) fn check_icrc(&mut self, index: usize) {
        let carried = u32::from_le_bytes(self.check(index));
        self.places[index].has_its_icrc = self.icrc(index) == Some(carried);
    }
}

impl Place {
    fn dropped(reason: DropReason) -> Place {
        let endpoint = Endpoint {
            address: Address::Lid(0),
            queue_pair: 0,
        };
        Place {
            link: LinkType::Ethernet,
            carrier: Carrier::Local,
            bth: Bth::default(),
            path: Path {
                source: endpoint.address,
                destination: endpoint,
                source_qp: None,
            },
            has_its_icrc: false,
            path_hash: 0,
            found: None,
            associated: 0,
            associated_bytes: 0,
            record: 0,
            start: 0,
            bth_start: 0,
            body: 0,
            body_bytes: 0,
            check_bytes: 0,
            trailer: 0..0,
            has_vcrc: false,
            timestamp_bits: 0,
            flow: None,
            outcome: Err(reason),
        }
    }
}

/// In few words, as it is done for every packet.
impl Hash for Path {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (source_kind, source) = self.source.to_number();
        let (kind, destination) = self.destination.address.to_number();
        let kinds = u64::from(source_kind) << 8 | u64::from(kind);
        let source_qp = self.source_qp.map_or(0, |queue_pair| 1 << 24 | queue_pair);
        state.write_u64(kinds << 32 | u64::from(self.destination.queue_pair));
        state.write_u32(source_qp);
        state.write_u128(source);
        state.write_u128(destination);
    }
}

impl Path {
    #[inline]
    fn of(packet: &Packet<'_>) -> Option<Path> {
        let (source, destination) = match packet.carrier() {
            Carrier::Local => {
                let lrh = packet.lrh()?;
                (
                    Address::Lid(lrh.source_lid),
                    Address::Lid(lrh.destination_lid),
                )
            }
            Carrier::Global => {
                let grh = packet.grh()?;
                let destination = format::unmarked(grh.destination_gid);
                (
                    Address::Gid(grh.source_gid.into()),
                    Address::Gid(destination.into()),
                )
            }
            Carrier::Ipv4 | Carrier::Ipv6 => {
                let (source, destination) = packet.ip_addresses()?;
                (source.into(), destination.into())
            }
        };
        Some(Path {
            source,
            destination: Endpoint {
                address: destination,
                queue_pair: packet.bth().destination_qp,
            },
            source_qp: packet.deth().map(|deth| deth.source_qp),
        })
    }
}

/// Where a packet comes from, and where it goes to.
pub(crate) fn addresses(packet: &Packet<'_>) -> Option<[Address; 2]> {
    let path = Path::of(packet)?;
    Some([path.source, path.destination.address])
}

const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
/// In a GRH.
const DGID_OFFSET: usize = 24;
/// LRH and GRH, or IPv6 and UDP.
const MOST_OUTER_BYTES: usize = 48;

/// Sums up a datagram anew, if it has a checksum at all. `addresses` begin with those of its IP header.
fn set_udp_checksum(addresses: &[u8], udp: &mut [u8]) {
    if udp[6..8] == [0, 0] {
        return;
    }
    udp[6..8].fill(0);
    let checksum = Checksum::new()
        .add_pseudo_header(addresses, protocol::UDP, udp.len() as u32)
        .add(udp)
        .finish();
    // Zero would say that there is none.
    let checksum = if checksum == 0 { 0xffff } else { checksum };
    udp[6..8].copy_from_slice(&checksum.to_be_bytes());
}
