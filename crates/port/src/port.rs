//! What every port has: packets, counts, a state.

use std::fmt;
use std::time::Duration;

/// A received packet, lent by its port.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The packet from its Ethernet header on, a VLAN tag included.
    pub bytes: &'a [u8],
    /// Its length on the wire; more than that of `bytes` where the port cut it.
    pub wire_bytes: u32,
    /// When it arrived, in nanoseconds since 1970-01-01 UTC.
    pub arrival_ns: u64,
    /// What is known of its TCP or UDP checksum.
    pub checksum: ChecksumState,
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
            DownReason::Removed => f.write_str("the interface is removed"),
            DownReason::Failed { error } => f.write_str(error),
        }
    }
}

/// A port that receives.
pub trait Rx: Send {
    /// Packets in order of arrival.
    type Packets<'a>: Iterator<Item = Packet<'a>>
    where
        Self: 'a;

    /// Lends packets that have arrived, none where there are none, and gives back those lent
    /// before. Does not wait.
    fn fill(&mut self) -> Self::Packets<'_>;

    /// Waits until [`Self::fill`] has something to lend, at most for `timeout`; it may return
    /// earlier. A port that is down is examined meanwhile. Gives back what was lent.
    fn wait(&mut self, timeout: Duration) -> &PortState;

    /// Whether packets come, as far as is known.
    fn state(&self) -> &PortState;

    /// What was received and missed since the port was opened.
    fn counters(&mut self) -> RxCounters;
}

/// Counts of a port that receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxCounters {
    /// Packets that were lent or wait to be.
    pub received: u64,
    /// Packets that came but for which the port had no space.
    pub missed: u64,
    /// Packets whose description in the port's memory contradicts itself; they are not lent.
    pub malformed: u64,
}

/// A port that sends.
pub trait Tx: Send {
    /// Sends packets in their order, each from its Ethernet header on, and returns how many
    /// were accepted. The others are dropped and counted by reason ([`Self::counters`]): a port
    /// without space waits a bounded time only.
    fn send(&mut self, packets: &[&[u8]]) -> usize;

    /// Waits until packets that were accepted have left the port, at most for `timeout`.
    /// Returns whether they have.
    fn flush(&mut self, timeout: Duration) -> bool;

    /// Bytes in front of a packet that the port writes to. Callers that leave them free spare
    /// it a copy.
    fn headroom_bytes(&self) -> usize;

    /// Longest packet that is sent, in bytes behind the Ethernet header and one VLAN tag.
    fn mtu_bytes(&self) -> usize;

    /// Whether packets leave, as far as is known.
    fn state(&self) -> &PortState;

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

/// What an Ethernet packet has to do with an MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    Fits,
    TooLong,
    TooShort,
}

/// Whether a packet may be sent where the MTU is `mtu_bytes`. One VLAN tag is not counted, as
/// Linux does it.
pub(crate) fn fit(packet: &[u8], mtu_bytes: usize) -> Fit {
    let Some(payload_bytes) = packet.len().checked_sub(ETHERNET_BYTES) else {
        return Fit::TooShort;
    };
    let is_tagged = matches!(packet[12..14], [0x81, 0x00] | [0x88, 0xa8]);
    let tag_bytes = if is_tagged { VLAN_TAG_BYTES } else { 0 };
    if payload_bytes > mtu_bytes + tag_bytes {
        Fit::TooLong
    } else {
        Fit::Fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
