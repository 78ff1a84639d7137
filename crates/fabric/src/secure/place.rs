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
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) path: Path,
    bth: [u8; Bth::BYTES],
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

/// Which keys a packet belongs to, in numbers: it is hashed and compared for every packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path {
    source: u128,
    destination: u128,
    /// The kinds of both addresses, and the queue pair at the destination.
    kinds_and_qp: u64,
    /// Of datagrams, which name it; with the bit above it set.
    source_qp: u32,
}

/// A place of which nothing is known yet. A copy of it is read from where it has lain for long: one that is written
/// first is read in other parts than it was written in, for which the processor waits.
pub(super) static NOTHING: Place = Place::new();

impl Place {
    const fn new() -> Place {
        Place {
            path: Path {
                source: 0,
                destination: 0,
                kinds_and_qp: 0,
                source_qp: 0,
            },
            bth: [0; Bth::BYTES],
            path_hash: 0,
            found: None,
            flow: None,
            link: LinkType::Ethernet,
            carrier: Carrier::Local,
            outcome: Err(DropReason::NotRun),
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
            changeable: Changeable::NONE,
        }
    }

    /// Fills in the packet in a record that lies at `record` in the buffer.
    // In place, since a value that is returned is read in other parts than it was written in.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        link: LinkType,
        record: Range<usize>,
        packet: &Packet<'_>,
    ) -> Result<(), DropReason> {
        let icrc = packet.icrc_range().ok_or(DropReason::PacketCut)?;
        let start = packet.start();
        let header_end = packet.extended_range().end;
        if header_end > usize::from(u8::MAX) {
            return Err(DropReason::HeadersTooLong);
        }
        self.path.fill(packet).ok_or(DropReason::Malformed)?;
        // The buffer is shorter than 2 GiB.
        let offset = |in_record: usize| (record.start + in_record) as u32;
        self.bth = *packet.bth_bytes();
        self.link = link;
        self.carrier = packet.carrier();
        self.has_vcrc = packet.vcrc_range().is_some();
        self.record = offset(0);
        self.start = offset(start);
        self.bth_start = offset(packet.bth_range().start);
        self.body = offset(header_end);
        self.body_bytes = (icrc.start - header_end) as u32;
        self.check_bytes = CUT_TAG_BYTES as u32;
        self.trailer = offset(icrc.end);
        self.trailer_bytes = (record.len() - icrc.end) as u32;
        Ok(())
    }

    /// The base transport header as it came.
    #[inline(always)]
    pub(super) fn bth(&self) -> Bth {
        Bth::from_bytes(&self.bth)
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

/// In few words.
impl Hash for Path {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.kinds_and_qp);
        state.write_u32(self.source_qp);
        state.write_u128(self.source);
        state.write_u128(self.destination);
    }
}

impl Path {
    pub(super) fn new(source: Address, destination: Endpoint, source_qp: Option<u32>) -> Path {
        let (source_kind, source) = source.to_number();
        let (kind, address) = destination.address.to_number();
        let kinds = u64::from(source_kind) << 8 | u64::from(kind);
        Path {
            source,
            destination: address,
            kinds_and_qp: kinds << 32 | u64::from(destination.queue_pair),
            source_qp: source_qp.map_or(0, |queue_pair| NAMED | queue_pair),
        }
    }

    pub(super) fn source(&self) -> Address {
        Address::from_number((self.kinds_and_qp >> 40) as u8, self.source)
    }

    pub(super) fn destination(&self) -> Endpoint {
        Endpoint {
            address: Address::from_number((self.kinds_and_qp >> 32) as u8, self.destination),
            queue_pair: self.kinds_and_qp as u32,
        }
    }

    pub(super) fn source_qp(&self) -> Option<u32> {
        (self.source_qp & NAMED != 0).then_some(self.source_qp & !NAMED)
    }

    /// That of a packet; `None` where a header is missing.
    #[inline(always)]
    fn fill(&mut self, packet: &Packet<'_>) -> Option<()> {
        let destination_qp = packet.bth().destination_qp;
        let source_qp = packet.deth().map(|deth| deth.source_qp);
        if packet.carrier() == Carrier::Ipv4 {
            let [source, destination] = packet.ipv4_addresses()?;
            self.source = source.into();
            self.destination = destination.into();
            self.kinds_and_qp = IPV4_KINDS << 32 | u64::from(destination_qp);
            self.source_qp = source_qp.map_or(0, |queue_pair| NAMED | queue_pair);
            return Some(());
        }
        let [source, address] = addresses(packet)?;
        let destination = Endpoint {
            address,
            queue_pair: destination_qp,
        };
        *self = Path::new(source, destination, source_qp);
        Some(())
    }
}

/// Queue pairs have 24 bits.
const NAMED: u32 = 1 << 24;

/// Of two IPv4 addresses.
const IPV4_KINDS: u64 = 0x0404;

/// Where a packet comes from, and where it goes to.
pub(crate) fn addresses(packet: &Packet<'_>) -> Option<[Address; 2]> {
    Some(match packet.carrier() {
        Carrier::Local => {
            let lrh = packet.lrh()?;
            [lrh.source_lid, lrh.destination_lid].map(Address::Lid)
        }
        Carrier::Global => {
            let grh = packet.grh()?;
            let destination = format::unmarked(grh.destination_gid);
            [grh.source_gid, destination].map(|gid| Address::Gid(gid.into()))
        }
        Carrier::Ipv4 | Carrier::Ipv6 => {
            let (source, destination) = packet.ip_addresses()?;
            [source.into(), destination.into()]
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn a_path_is_what_its_packets_say() {
        let addresses = [
            Address::Lid(7),
            Address::Ipv4(Ipv4Addr::new(192, 0, 2, 1)),
            Address::Gid(Ipv6Addr::LOCALHOST),
        ];
        for source in addresses {
            for (address, source_qp) in addresses.into_iter().zip([None, Some(0), Some(9)]) {
                let destination = Endpoint {
                    address,
                    queue_pair: 0xff_ffff,
                };
                let path = Path::new(source, destination, source_qp);
                assert_eq!(path.source(), source);
                assert_eq!(path.destination(), destination);
                assert_eq!(path.source_qp(), source_qp);
            }
        }
        let [source, address] = [addresses[1]; 2];
        let destination = Endpoint {
            address,
            queue_pair: 0,
        };
        let path = Path::new(source, destination, None);
        assert_eq!(path.kinds_and_qp >> 32, IPV4_KINDS);
    }
}
