//! Where the packets of a batch lie, and what is known about each.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use weir_packet::wire::LinkType;

use super::derive::{Address, Endpoint};
use super::flows::FlowId;
use super::format::{self, CUT_TAG_BYTES, Changeable};
use super::reason::DropReason;
use crate::wire::{Bth, Carrier, Lrh, Packet};

/// Where a packet lies in the buffer, and what is known about it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) path: Path,
    pub(super) bth: Bth,
    /// Of the path, and the flow that has it, as the sender or receiver found them ahead.
    pub(super) path_hash: u64,
    pub(super) found: Option<FlowId>,
    /// Whose keys it has, once they are found.
    pub(super) flow: Option<FlowId>,
    pub(super) link: LinkType,
    pub(super) carrier: Carrier,
    pub(super) outcome: Result<(), DropReason>,
    /// Whether a packet to protect carries its own ICRC.
    pub(super) has_its_icrc: bool,
    pub(super) has_vcrc: bool,
    /// Of the marking field, where the flow has timestamps.
    pub(super) timestamp_bits: u8,
    /// Offset of the record in the buffer.
    pub(super) record: u32,
    /// Offset of the LRH or of the IP header in the buffer.
    pub(super) start: u32,
    /// Offset of the BTH in the buffer.
    pub(super) bth_start: u32,
    /// Offset of the body in the buffer.
    pub(super) body: u32,
    pub(super) body_bytes: u32,
    /// What stands behind the body: an ICRC, or another check value.
    pub(super) check_bytes: u32,
    /// The bytes behind the ICRC.
    pub(super) trailer: u32,
    pub(super) trailer_bytes: u32,
    /// What the headers have where the associated data have zeros.
    pub(super) changeable: Changeable,
}

/// Which keys a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) source: Address,
    pub(super) destination: Endpoint,
    /// Of datagrams, which say so.
    pub(super) source_qp: Option<u32>,
}

impl Place {
    /// Of the packet in a record that lies at `record` in the buffer.
    pub(super) fn of(
        link: LinkType,
        record: Range<usize>,
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
        // The buffer is shorter than 2 GiB.
        let offset = |in_record: usize| (record.start + in_record) as u32;
        Ok(Place {
            path,
            bth: *packet.bth(),
            path_hash: 0,
            found: None,
            flow: None,
            link,
            carrier: packet.carrier(),
            outcome: Err(DropReason::NotRun),
            has_its_icrc: false,
            has_vcrc: packet.vcrc_range().is_some(),
            timestamp_bits: 0,
            record: offset(0),
            start: offset(start),
            bth_start: offset(packet.bth_range().start),
            body: offset(header_end),
            body_bytes: (icrc.start - header_end) as u32,
            check_bytes: CUT_TAG_BYTES as u32,
            trailer: offset(icrc.end),
            trailer_bytes: (record.len() - icrc.end) as u32,
            changeable: Changeable::default(),
        })
    }

    pub(super) fn dropped(reason: DropReason) -> Place {
        let endpoint = Endpoint {
            address: Address::Lid(0),
            queue_pair: 0,
        };
        Place {
            path: Path {
                source: endpoint.address,
                destination: endpoint,
                source_qp: None,
            },
            bth: Bth::default(),
            path_hash: 0,
            found: None,
            flow: None,
            link: LinkType::Ethernet,
            carrier: Carrier::Local,
            outcome: Err(reason),
            has_its_icrc: false,
            has_vcrc: false,
            timestamp_bits: 0,
            record: 0,
            start: 0,
            bth_start: 0,
            body: 0,
            body_bytes: 0,
            check_bytes: 0,
            trailer: 0,
            trailer_bytes: 0,
            changeable: Changeable::default(),
        }
    }

    /// Where the record lies after the run.
    #[inline]
    pub(super) fn record(&self) -> Result<Range<usize>, DropReason> {
        self.outcome?;
        let end = self.check_end() + self.trailer_bytes as usize;
        Ok(self.record as usize..end)
    }

    #[inline]
    pub(super) fn body(&self) -> Range<usize> {
        let start = self.body as usize;
        start..start + self.body_bytes as usize
    }

    #[inline]
    pub(super) fn check_end(&self) -> usize {
        self.body().end + self.check_bytes as usize
    }

    /// The headers that are authenticated: all but an LRH in front of a GRH.
    #[inline]
    pub(super) fn associated(&self) -> Range<usize> {
        let start = match self.carrier {
            Carrier::Global => self.start as usize + Lrh::BYTES,
            _ => self.start as usize,
        };
        start..self.body as usize
    }

    #[inline]
    pub(super) fn move_trailer(&mut self, buffer: &mut [u8], to: usize) {
        let from = self.trailer as usize;
        if self.trailer_bytes > 0 && from != to {
            buffer.copy_within(from..from + self.trailer_bytes as usize, to);
        }
        self.trailer = to as u32;
    }

    /// Offset of the BTH in the associated data.
    #[inline]
    pub(super) fn bth_in_associated(&self) -> usize {
        self.bth_start as usize - self.associated().start
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
