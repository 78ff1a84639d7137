//! Packets in a buffer, on their way through a sender or a receiver.

use std::ops::Range;

use weir_crypto::{BATCH_PACKETS, Descriptor, KeyId, Layout};
use weir_packet::wire::{Checksum, Headers, LinkType, internet_checksum, protocol};

use super::flows::FlowId;
use super::format::{self, Algorithm, CUT_TAG_BYTES, EXTENDED_BYTES, TAG_BYTES};
use super::place::{self, Place};
use super::reason::DropReason;
use crate::wire::{Bth, Carrier, Lrh, Packet, erf, icrc, vcrc};

/// What is known about the packets of a batch, one batch after the other.
#[derive(Debug, Default)]
pub struct Places(Vec<Place>);

/// Up to 256 packets, which are protected or restored where they lie in one buffer.
///
/// The headers of a packet become its associated data, in front of the body, until the cipher has run;
/// behind its body is space for a whole tag:
///
/// ```text
/// │ record up to the body │ body │ ICRC │ record behind the ICRC │ 20 bytes │   as it came
/// │ record up to the body │ body │ whole tag, number │ record behind the ICRC │   while it is sealed
/// ```
#[derive(Debug)]
pub struct Batch<'b> {
    pub(super) buffer: &'b mut [u8],
    pub(super) places: &'b mut Vec<Place>,
}

impl Places {
    /// Without packets.
    pub fn new() -> Places {
        Places::default()
    }

    /// A batch without packets yet, which are going to lie in `buffer`. What was known about the batch
    /// before is forgotten.
    pub fn batch<'b>(&'b mut self, buffer: &'b mut [u8]) -> Batch<'b> {
        self.0.clear();
        Batch {
            buffer,
            places: &mut self.0,
        }
    }

    /// Where the record of packet `index` of the last batch lies in its buffer after the run.
    ///
    /// # Errors
    /// Why it is dropped.
    #[inline]
    pub fn record(&self, index: usize) -> Result<Range<usize>, DropReason> {
        self.0.get(index).ok_or(DropReason::NotRun)?.record()
    }

    /// The flow of packet `index` of the last batch, as [`Batch::flow`].
    #[inline]
    pub fn flow(&self, index: usize) -> Option<FlowId> {
        self.0.get(index)?.flow
    }
}

impl Batch<'_> {
    /// Bytes behind each record that belong to it, and may be written.
    pub const SPACE_BYTES: usize = EXTENDED_BYTES;

    /// Takes the packet out of a record of a capture or a port, which lies at `record` in the buffer with
    /// [`SPACE_BYTES`](Batch::SPACE_BYTES) behind it; false where the batch is full. One that cannot be
    /// processed takes its place, and is dropped with a reason: [`DropReason::PacketCut`] where it does not
    /// lie in the buffer.
    #[must_use]
    pub fn push(&mut self, link: LinkType, record: Range<usize>) -> bool {
        let headers = Headers::parse(link, self.buffer.get(record.clone()).unwrap_or_default());
        self.push_behind(&headers, link, record)
    }

    /// The same where the headers up to UDP are known already.
    #[must_use]
    pub fn push_behind(&mut self, headers: &Headers, link: LinkType, record: Range<usize>) -> bool {
        if self.places.len() == BATCH_PACKETS {
            return false;
        }
        self.places
            .extend_from_slice(std::slice::from_ref(&place::NOTHING));
        if let Some(place) = self.places.last_mut()
            && let Err(reason) = fill(place, self.buffer, headers, link, record)
        {
            place.outcome = Err(reason);
        }
        true
    }

    /// The buffer, into which records may be written before they are pushed.
    #[inline]
    pub fn buffer_mut(&mut self) -> &mut [u8] {
        self.buffer
    }

    /// Packets that were pushed.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The record of packet `index`, as it is after the run.
    ///
    /// # Errors
    /// Why it is dropped.
    pub fn get(&self, index: usize) -> Result<&[u8], DropReason> {
        let place = self.places.get(index).ok_or(DropReason::NotRun)?;
        self.buffer.get(place.record()?).ok_or(DropReason::NotRun)
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

    pub(super) fn drop(&mut self, index: usize, reason: DropReason) {
        self.places[index].outcome = Err(reason);
    }

    /// Drops all packets of a flow, also those that were verified.
    pub(super) fn drop_flow(&mut self, flow: FlowId, reason: DropReason) {
        for index in 0..self.len() {
            if self.flow(index) == Some(flow) && self.places[index].outcome.is_ok() {
                let body = self.body(index);
                self.buffer[body].fill(0);
                self.drop(index, reason);
            }
        }
    }

    /// Whether the packet may be processed: it was not dropped on the way in.
    pub(super) fn is_open(&self, index: usize) -> bool {
        self.places[index].outcome == Err(DropReason::NotRun)
    }

    #[inline]
    pub(super) fn body(&self, index: usize) -> Range<usize> {
        self.places[index].body()
    }

    /// The bytes behind the body.
    #[inline]
    pub(super) fn check<const N: usize>(&self, index: usize) -> [u8; N] {
        let at = self.body(index).end;
        let bytes = self.buffer.get(at..).and_then(<[u8]>::first_chunk);
        bytes.copied().unwrap_or([0; N])
    }

    /// Writes what stands behind the body.
    #[inline]
    pub(super) fn set_check(&mut self, index: usize, bytes: &[u8]) {
        let at = self.body(index).end;
        self.buffer[at..at + bytes.len()].copy_from_slice(bytes);
        self.places[index].check_bytes = bytes.len() as u32;
    }

    /// Puts what is behind the ICRC out of the way of a whole tag.
    #[inline]
    pub(super) fn make_space(&mut self, index: usize) {
        let place = &mut self.places[index];
        let to = place.body().end + CUT_TAG_BYTES + Self::SPACE_BYTES;
        place.move_trailer(self.buffer, to);
    }

    /// Writes identifier and epoch.
    #[inline]
    pub(super) fn set_fields(&mut self, index: usize, algorithm: Algorithm, epoch: u64) {
        let at = self.places[index].bth_start as usize;
        format::set_fields(&mut self.buffer[at..at + Bth::BYTES], algorithm, epoch);
    }

    /// The timestamp, where the packet has a field for one; from now on it is authenticated.
    pub(super) fn timestamp(&mut self, index: usize, bits: u32) -> Option<u64> {
        let gid = self.marked_gid(index)?;
        let stamp = format::timestamp(gid, bits)?;
        // A marking field has 38 bits.
        self.places[index].timestamp_bits = bits as u8;
        Some(stamp)
    }

    /// Writes the timestamp of a packet that has a field for one.
    pub(super) fn set_timestamp(&mut self, index: usize, stamp: u64) {
        let bits = u32::from(self.places[index].timestamp_bits);
        if bits > 0
            && let Some(gid) = self.marked_gid(index)
        {
            format::set_timestamp(gid, bits, stamp);
        }
    }

    /// The DGID of a packet of native InfiniBand.
    fn marked_gid(&mut self, index: usize) -> Option<&mut [u8; 16]> {
        let place = &self.places[index];
        let at = place.start as usize + Lrh::BYTES + DGID_OFFSET;
        let gid = (place.carrier == Carrier::Global).then(|| self.buffer.get_mut(at..));
        gid.flatten()?.first_chunk_mut()
    }

    /// Changes the lengths in the headers.
    pub(super) fn change_lengths(&mut self, index: usize, by: isize) -> Result<(), DropReason> {
        let place = &self.places[index];
        let headers = &mut self.buffer[place.start as usize..place.bth_start as usize];
        let before: [u8; MOST_OUTER_BYTES] =
            std::array::from_fn(|at| headers.get(at).copied().unwrap_or(0));
        let changed = format::change_lengths(place.carrier, headers, by);
        changed.ok_or_else(|| {
            let bytes = headers.len();
            headers.copy_from_slice(&before[..bytes]);
            DropReason::TooLong
        })?;
        let record = &mut self.buffer[place.record as usize..place.start as usize];
        match place.link {
            LinkType::Erf => erf::change_lengths(record, by).ok_or(DropReason::TooLong),
            _ => Ok(()),
        }
    }

    /// Makes the headers, as they are now, the associated data.
    #[inline]
    pub(super) fn mask(&mut self, index: usize) {
        let place = &mut self.places[index];
        let headers = &mut self.buffer[place.associated()];
        place.changeable = format::mask(
            place.carrier,
            headers,
            place.bth_in_associated(),
            place.timestamp_bits.into(),
        );
    }

    /// Makes the associated data the headers that they were.
    #[inline]
    pub(super) fn unmask(&mut self, index: usize) {
        let place = &self.places[index];
        let headers = &mut self.buffer[place.associated()];
        let bth = place.bth_in_associated();
        (place.changeable).put_back(place.carrier, headers, bth);
    }

    /// The associated data of a packet whose headers are masked.
    pub(super) fn associated(&self, index: usize) -> &[u8] {
        &self.buffer[self.places[index].associated()]
    }

    /// For the cipher, of a packet whose headers are masked.
    #[inline]
    pub(super) fn descriptor(&self, index: usize, key: KeyId) -> Descriptor {
        let place = &self.places[index];
        let associated = place.associated();
        Descriptor {
            key,
            context: 0,
            offset: associated.start as u32,
            layout: Layout {
                payload_bytes: place.body_bytes,
                // Headers are shorter than 256 bytes.
                aad_bytes: associated.len() as u16,
                ..Layout::default()
            },
        }
    }

    /// Takes number and tag of extended mode off the body, and puts the tag behind it; returns the
    /// number.
    pub(super) fn split_extended(&mut self, index: usize) -> Result<u64, DropReason> {
        let place = &mut self.places[index];
        let bytes = place.body_bytes.checked_sub(EXTENDED_BYTES as u32);
        let bytes = bytes.filter(|bytes| u32::from(place.bth().pad_bytes) <= *bytes);
        place.body_bytes = bytes.ok_or(DropReason::Malformed)?;
        let end = place.body().end;
        let number: [u8; format::NUMBER_BYTES] = self.check(index);
        let tag = end + format::NUMBER_BYTES;
        self.buffer.copy_within(tag..tag + TAG_BYTES, end);
        Ok(u64::from_be_bytes(number))
    }

    /// A packet that leaves as it came.
    #[inline]
    pub(super) fn pass(&mut self, index: usize) {
        let place = &mut self.places[index];
        let end = place.check_end();
        place.move_trailer(self.buffer, end);
        place.outcome = Ok(());
    }

    /// A packet that leaves with its check value written: checksums and VCRC are computed.
    #[inline]
    pub(super) fn finish(&mut self, index: usize) {
        self.pass(index);
        let place = &self.places[index];
        let start = place.start as usize;
        let (packet, trailer) = self.buffer[start..].split_at_mut(place.check_end() - start);
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
        self.places[index].check_bytes = CUT_TAG_BYTES as u32;
        match self.icrc(index) {
            Some(icrc) => {
                self.set_check(index, &icrc.to_le_bytes());
                self.finish(index);
            }
            None => self.drop(index, DropReason::Malformed),
        }
    }

    /// The ICRC of a packet with headers and body as they are now.
    #[inline]
    fn icrc(&self, index: usize) -> Option<u32> {
        let place = &self.places[index];
        let bytes = self.buffer.get(place.start as usize..place.body().end)?;
        icrc(place.carrier, bytes)
    }

    /// Compares the ICRC of a plain packet.
    #[inline]
    pub(super) fn check_icrc(&mut self, index: usize) {
        let carried = u32::from_le_bytes(self.check(index));
        self.places[index].has_its_icrc = self.icrc(index) == Some(carried);
    }
}

#[inline(always)]
fn fill(
    place: &mut Place,
    buffer: &[u8],
    headers: &Headers,
    link: LinkType,
    record: Range<usize>,
) -> Result<(), DropReason> {
    let space_end = record.end.checked_add(Batch::SPACE_BYTES);
    // Offsets have 32 bits.
    let is_inside = space_end.is_some_and(|end| end <= buffer.len().min(1 << 31));
    let bytes = buffer.get(record.clone()).filter(|_| is_inside);
    let bytes = bytes.ok_or(DropReason::PacketCut)?;
    match Packet::behind(headers, link, bytes) {
        Ok(Some(packet)) => place.fill(link, record, &packet),
        Ok(None) => Err(DropReason::NotFabric),
        Err(_) => Err(DropReason::Malformed),
    }
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
