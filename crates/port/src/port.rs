//! What every port has: packets, counts, a state.

use std::fmt;
use std::num::NonZeroU16;
#[cfg(unix)]
use std::os::fd::BorrowedFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::frames::{FramePool, Frames};

/// A received packet and how it came.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The packet from its link header on, a VLAN tag included.
    pub bytes: &'a [u8],
    /// How it came.
    pub arrival: Arrival,
}

/// How a packet came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// When, in nanoseconds since 1970-01-01 UTC.
    pub arrival_ns: u64,
    /// The packet's length on the wire; more than it has where the port cut it.
    pub wire_bytes: u32,
    /// What its sender left to others.
    pub offload: Offload,
}

/// Work on a packet that its sender left to the interface, as operating systems do with packets
/// that may never be on a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// What is known of the checksum of its transport header.
    pub checksum: ChecksumState,
    /// Into what it is to be split; nothing where it is one packet.
    pub segments: Option<Segments>,
}

/// What is known of the checksum of a packet's transport header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChecksumState {
    /// Nobody looked.
    #[default]
    Unknown,
    /// The packet comes from this machine and never was on a wire: the checksum is not computed
    /// yet, and the field holds a part of it.
    NotReady,
    /// The interface or the kernel verified it.
    Valid,
}

/// How a packet of more than an MTU is split: its headers are those of each segment, its
/// payload is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// The transport protocol.
    pub transport: Transport,
    /// Payload of each segment but the last, which may have less; what follows the transport
    /// header.
    pub payload_bytes: NonZeroU16,
}

/// Transport protocols whose packets are split and merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP: sequence numbers go on.
    Tcp,
    /// UDP: each segment is a datagram.
    Udp,
}

/// What a port's packets begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkLayer {
    /// An Ethernet header.
    Ethernet,
    /// An IPv4 or IPv6 header.
    Ip,
}

impl LinkLayer {
    /// Bytes in front of the network header, without VLAN tags.
    pub fn header_bytes(self) -> usize {
        match self {
            LinkLayer::Ethernet => ETHERNET_BYTES,
            LinkLayer::Ip => 0,
        }
    }
}

/// Whether a port can do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortState {
    /// Packets pass.
    Up,
    /// None do, until the reason has gone.
    Down {
        /// Why.
        reason: DownReason,
    },
}

impl PortState {
    /// Whether packets pass.
    pub fn is_up(&self) -> bool {
        *self == PortState::Up
    }
}

impl fmt::Display for PortState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortState::Up => f.write_str("up"),
            PortState::Down { reason } => write!(f, "down: {reason}"),
        }
    }
}

/// Why no packets pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DownReason {
    /// The interface is switched off.
    Disabled,
    /// The interface is switched on, and nothing is at the other end of its cable.
    NoCarrier,
    /// The interface, or the other end of a queue, does not exist any more.
    Removed,
    /// The operating system refuses to work with the interface.
    Failed {
        /// The system's words.
        error: String,
    },
}

impl fmt::Display for DownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DownReason::Disabled => f.write_str("the interface is switched off"),
            DownReason::NoCarrier => f.write_str("the interface has no carrier"),
            DownReason::Removed => f.write_str("the interface is removed"),
            DownReason::Failed { error } => f.write_str(error),
        }
    }
}

/// A port that receives.
pub trait Rx: Send {
    /// What its packets begin with.
    fn link_layer(&self) -> LinkLayer;

    /// The pool that its packets' frames are of.
    fn pool(&self) -> &FramePool;

    /// Adds up to `limit` packets that have arrived to `frames`, in order, and returns how many.
    /// Does not wait. Nothing is added while the pool has no free frame, or while `frames` holds
    /// packets of another pool ([`Frames::accepts`]); packets wait in the port then, and those
    /// that it has no space for are missed.
    fn fill(&mut self, frames: &mut Frames, limit: usize) -> usize;

    /// Waits until [`Self::fill`] has something to add, at most for `timeout`; it may return
    /// earlier. A port that is down is examined meanwhile.
    ///
    /// A caller that waits for several ports by [`Self::fd`] calls this afterwards with a timeout
    /// of zero: it takes errors from the descriptor, and looks after the port's state.
    fn wait(&mut self, timeout: Duration) -> &PortState;

    /// What is readable when packets have arrived, for a caller that waits for several ports.
    /// It is another one after the port has been down. Nothing where the port is without.
    #[cfg(unix)]
    fn fd(&self) -> Option<BorrowedFd<'_>>;

    /// Whether packets come, as far as is known.
    fn state(&self) -> &PortState;

    /// What was received and missed since the port was opened.
    fn counters(&mut self) -> RxCounters;
}

/// Counts of a port that receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxCounters {
    /// Packets that were received, those that wait for [`Rx::fill`] included where the port
    /// counts them.
    pub received: u64,
    /// Packets that came but for which the port had no space.
    pub missed: u64,
    /// Packets whose description in the port's memory contradicts itself; they are left out.
    pub malformed: u64,
}

/// A packet to be sent.
#[derive(Clone, Copy, Debug)]
pub enum Outgoing<'a> {
    /// A packet of the [`Frames`] that are given with it. A port of the same pool may send it
    /// without a copy: it takes the frame then, and gives it back to the pool later.
    Frame(usize),
    /// A packet elsewhere, with what is left to do to it.
    Bytes(&'a [u8], Offload),
}

impl<'a> From<&'a [u8]> for Outgoing<'a> {
    fn from(bytes: &'a [u8]) -> Outgoing<'a> {
        Outgoing::Bytes(bytes, Offload::default())
    }
}

impl<'a> Outgoing<'a> {
    /// The packet's bytes; none where its frame was taken out.
    pub(crate) fn bytes(self, frames: &'a Frames) -> &'a [u8] {
        match self {
            Outgoing::Frame(index) => frames.bytes(index),
            Outgoing::Bytes(bytes, _) => bytes,
        }
    }

    /// What is left to do to it.
    pub(crate) fn offload(self, frames: &Frames) -> Offload {
        match self {
            Outgoing::Frame(index) => frames.arrival(index).offload,
            Outgoing::Bytes(_, offload) => offload,
        }
    }
}

/// A port that sends.
pub trait Tx: Send {
    /// What its packets begin with.
    fn link_layer(&self) -> LinkLayer;

    /// Sends packets in their order and returns how many were accepted. The others are dropped
    /// and counted by reason ([`Self::counters`]): a port without space waits a bounded time
    /// only. A frame that the port took is missing in `frames` afterwards; all others are still
    /// there.
    ///
    /// # Panics
    /// There is no packet of a number in `packets`.
    fn send(&mut self, frames: &mut Frames, packets: &[Outgoing<'_>]) -> usize;

    /// Waits until packets that were accepted have left the port, at most for `timeout`.
    /// Returns whether they have.
    fn flush(&mut self, timeout: Duration) -> bool;

    /// Bytes in front of a packet that the port writes to. Callers that leave them free spare
    /// it a copy.
    fn headroom_bytes(&self) -> usize;

    /// Longest packet that is sent, in bytes behind the link header and one VLAN tag. A packet
    /// with [`Segments`] may be longer, where each of them is not.
    fn mtu_bytes(&self) -> usize;

    /// Whether packets leave, as far as is known. The port looks after its interface where it did
    /// not for a while: nothing has to be sent for that.
    fn state(&mut self) -> &PortState;

    /// What was sent and dropped since the port was opened.
    fn counters(&self) -> TxCounters;
}

/// Counts of a port that sends. Every packet is in one of them but `retries`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxCounters {
    /// Packets accepted.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets dropped because they are longer than the MTU allows.
    pub too_long: u64,
    /// Packets dropped because they are shorter than an Ethernet header.
    pub too_short: u64,
    /// Packets dropped because the port had no space for them, also after retries.
    pub no_space: u64,
    /// Packets dropped because the port was down.
    pub port_down: u64,
    /// Packets that the operating system refused for another reason.
    pub refused: u64,
    /// How often a packet was sent again because there was no space.
    pub retries: u64,
}

/// Bytes of an Ethernet header.
pub(crate) const ETHERNET_BYTES: usize = 14;
/// Bytes of a VLAN tag.
pub(crate) const VLAN_TAG_BYTES: usize = 4;

/// What a packet has to do with an MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    Fits,
    TooLong,
    TooShort,
}

/// Whether a packet may be sent where the MTU is `mtu_bytes`. One VLAN tag is not counted, as
/// Linux does it. A packet that is to be split is as long as its caller says its segments are.
pub(crate) fn fit(packet: &[u8], offload: Offload, link: LinkLayer, mtu_bytes: usize) -> Fit {
    let payload_bytes = match packet.len().checked_sub(link.header_bytes()) {
        Some(bytes) if !packet.is_empty() => bytes,
        _ => return Fit::TooShort,
    };
    let is_tagged =
        link == LinkLayer::Ethernet && matches!(packet[12..14], [0x81, 0x00] | [0x88, 0xa8]);
    let tag_bytes = if is_tagged { VLAN_TAG_BYTES } else { 0 };
    let longest = match offload.segments {
        None => mtu_bytes + tag_bytes,
        Some(_) => MAX_SPLIT_BYTES,
    };
    if payload_bytes > longest {
        Fit::TooLong
    } else {
        Fit::Fits
    }
}

/// Now, in nanoseconds since 1970-01-01 UTC.
pub(crate) fn now_ns() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |time| time.as_nanos() as u64)
}

/// Longest IP packet.
const MAX_SPLIT_BYTES: usize = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(packet: &[u8], mtu_bytes: usize) -> Fit {
        super::fit(packet, Offload::default(), LinkLayer::Ethernet, mtu_bytes)
    }

    #[test]
    fn one_tag_is_not_counted() {
        let mut packet = vec![0; ETHERNET_BYTES + 1500];
        assert_eq!(fit(&packet, 1500), Fit::Fits);
        packet.extend([0; 4]);
        assert_eq!(fit(&packet, 1500), Fit::TooLong);
        packet[12..14].copy_from_slice(&[0x81, 0x00]);
        assert_eq!(fit(&packet, 1500), Fit::Fits);
        packet.push(0);
        assert_eq!(fit(&packet, 1500), Fit::TooLong);
        assert_eq!(fit(&packet[..13], 1500), Fit::TooShort);
        assert_eq!(fit(&packet[..14], 1500), Fit::Fits);
    }

    #[test]
    fn an_ip_packet_counts_from_its_first_byte() {
        let packet = [0; 1501];
        let none = Offload::default();
        let fit =
            |bytes: usize, offload| super::fit(&packet[..bytes], offload, LinkLayer::Ip, 1500);
        assert_eq!(fit(0, none), Fit::TooShort);
        assert_eq!(
            (fit(1500, none), fit(1501, none)),
            (Fit::Fits, Fit::TooLong)
        );
        let segments = Segments {
            transport: Transport::Tcp,
            payload_bytes: NonZeroU16::MIN,
        };
        let split = Offload {
            segments: Some(segments),
            ..none
        };
        assert_eq!(fit(1501, split), Fit::Fits);
    }
}
