//! Security associations: what both ends have agreed on for one direction of
//! protected traffic (RFC 4301, section 4.4.2).

use std::net::IpAddr;

use weir_crypto::Suite;

use crate::lifetime::Lifetime;
use crate::nat_t::UdpPorts;
use crate::numbers::Output;
use crate::outer::Tunnel;

/// What ESP protects of a packet (RFC 4303, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// What follows the IP header and those of its extensions that routers
    /// read. The addresses stay.
    Transport,
    /// The whole packet, inside a new one from one end of the tunnel to the
    /// other.
    Tunnel(Tunnel),
}

/// Which end of an association this device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SaDirection {
    /// The sender, who seals.
    Outbound,
    /// The receiver, who opens.
    Inbound,
}

/// The parameters of an association, without its keys and counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Name for people.
    pub name: String,
    /// Security parameters index, which identifies the association to the receiver; never below 256 (RFC 4303, section 2.1).
    pub spi: u32,
    /// Which end this device is; `None` leaves that to who uses the association.
    pub direction: Option<SaDirection>,
    /// Cipher and MAC.
    pub suite: Suite,
    /// Transport or tunnel.
    pub mode: Mode,
    /// Extended sequence numbers: 64 bits, of which 32 are sent (RFC 4303,
    /// section 2.2.1).
    pub esn: bool,
    /// Size of the receiver's anti-replay window, in packets.
    pub replay_window: u32,
    /// The sequence number that is expected next, where another one than the
    /// first. A sender takes it where its ledger is not beyond it.
    pub expected_sequence: Option<u64>,
    /// Whether the window survives a restart; `None` leaves it to where packets
    /// come from.
    pub keeps_replay_state: Option<bool>,
    /// The UDP ports, where ESP travels in UDP (RFC 3948).
    pub nat_t: Option<UdpPorts>,
    /// Whether the ends of a tunnel count as routers, which take one off the
    /// inner TTL or hop limit.
    pub decrement_ttl: bool,
    /// Longest protected IP packet that may be sent, in bytes.
    pub mtu_bytes: u32,
    /// Soft and hard lifetime.
    pub lifetime: Lifetime,
}

impl Parameters {
    /// Where the association's packets go; `None` in transport mode, where
    /// packets keep their own destination.
    pub fn destination(&self) -> Option<IpAddr> {
        match self.mode {
            Mode::Transport => None,
            Mode::Tunnel(tunnel) => Some(tunnel.ends.destination()),
        }
    }

    /// Whether the receiver's window survives a restart, where packets come from
    /// `input`.
    pub fn keeps_window(&self, input: Output) -> bool {
        self.keeps_replay_state.unwrap_or(input == Output::Live)
    }

    /// Whether this device may seal by it.
    pub fn may_seal(&self) -> bool {
        self.direction != Some(SaDirection::Inbound)
    }

    /// Whether this device may open by it.
    pub fn may_open(&self) -> bool {
        self.direction != Some(SaDirection::Outbound)
    }

    /// Whether an association with these parameters and the same keys can go on where one with
    /// others was, with its counter and its window.
    pub(crate) fn continues(&self, before: &Parameters) -> bool {
        self.suite == before.suite
            && self.esn == before.esn
            && self.direction == before.direction
            && self.keeps_replay_state == before.keeps_replay_state
    }

    /// Whether the two associations could not be distinguished by a receiver,
    /// which looks at SPI and destination (RFC 4301, section 4.1). One that is
    /// inbound and one that is outbound have different receivers.
    pub fn collides_with(&self, other: &Parameters) -> bool {
        let have_one_receiver =
            self.may_seal() && other.may_seal() || self.may_open() && other.may_open();
        have_one_receiver
            && self.spi == other.spi
            && match (self.destination(), other.destination()) {
                (Some(one), Some(another)) => one == another,
                _ => true,
            }
    }
}
