//! Synthetic traffic from a seed: the same bytes for the same plan on every machine.
//!
//! A [`Plan`] describes the traffic, a [`Generator`] writes it packet by packet into a
//! buffer of the caller:
//!
//! ```
//! use weir_packet::generate::{Generator, Plan};
//! let plan = Plan { packets: 3, flows: 2, ..Plan::default() };
//! let mut generator = Generator::new(&plan)?;
//! let mut frame = Vec::new();
//! let mut last_ns = 0;
//! while let Some(packet) = generator.fill(&mut frame) {
//!     assert!(packet.timestamp_ns >= last_ns && frame.len() >= 60);
//!     last_ns = packet.timestamp_ns;
//! }
//! # Ok::<(), weir_packet::generate::PlanError>(())
//! ```
//!
//! Packets are Ethernet frames with IPv4 or IPv6 and TCP or UDP, without
//! frame check sequence, padded to 60 bytes as on a wire. Clients are in
//! 198.18.0.0/16 and fd00:18::/32, servers in 198.19.0.0/16 and fd00:19::/32:
//! both within what RFC 2544 and RFC 4193 set aside. Checksums are right, and
//! the sequence numbers of TCP flows go on from packet to packet. Server
//! ports are neutral ones, with HTTP payload 80 and 8080 over TCP.
//!
//! Choices come from ChaCha8, one stream for what packets there are and one
//! for what is in them: plans that differ in payload only have the same flows
//! (but for HTTP's ports) and sizes at the same times. No result of a
//! mathematical library, whose last bits differ between machines, decides
//! about a byte.

mod flows;
mod generator;
mod payload;
mod random;
mod sizes;
mod surges;
mod zipf;

pub use generator::{Generated, Generator, Plant};
pub use payload::{PayloadModel, PayloadModelError};
pub use sizes::{SizeModel, SizeModelError};
pub use surges::{Surge, SurgeError};

/// What traffic to make.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Number of packets.
    pub packets: u64,
    /// Number of flows, both directions of one counting once: 1 to
    /// [`Plan::MAX_FLOWS`]. They take 20 bytes each, 60 at the start.
    pub flows: u32,
    /// Exponent of the Zipf distribution of packets over flows, 0 to 16: the
    /// flow of rank k gets a share proportional to `k^-zipf`; 0 gives all
    /// flows the same.
    pub zipf: f64,
    /// Sizes of packets.
    pub sizes: SizeModel,
    /// What payloads consist of.
    pub payload: PayloadModel,
    /// Patterns to insert into payloads, such as those of detection rules.
    pub planted: Vec<Vec<u8>>,
    /// How many packets in a thousand get one of `planted`, on average. If
    /// a packet is too small for all of them, the next one that is large enough gets the
    /// pattern.
    pub planted_per_mille: u32,
    /// Changes to plant: packets beside those counted in `packets`. Up to 254.
    pub surges: Vec<Surge>,
    /// Seed of all choices.
    pub seed: u64,
    /// Share of flows over IPv6, 0 to 1.
    pub ipv6_share: f64,
    /// Share of flows over UDP, 0 to 1; the others are TCP.
    pub udp_share: f64,
    /// Share of packets from the server to the client, 0 to 1.
    pub reply_share: f64,
    /// Whether the first three packets of a TCP flow are its handshake,
    /// without payload whatever `sizes` says. Without, flows are met in the
    /// middle and every packet has a size of the model.
    pub handshakes: bool,
    /// Mean rate. Gaps between packets are uniform between nothing and twice
    /// their mean.
    pub packets_per_second: u64,
    /// Time of the start in nanoseconds since 1970-01-01 UTC.
    pub start_ns: u64,
}

impl Plan {
    /// Largest number of flows.
    pub const MAX_FLOWS: u32 = 1 << 24;
}

impl Default for Plan {
    /// A million packets of the Internet mix over 10,000 flows, Zipf 1.0, a
    /// tenth of the flows over IPv6 and a sixth over UDP, half of the packets
    /// replies, random payload, nothing planted, seed 1, 100,000 packets per
    /// second from 2001-09-09 01:46:40 UTC (a billion seconds).
    fn default() -> Plan {
        Plan {
            packets: 1_000_000,
            flows: 10_000,
            zipf: 1.0,
            sizes: SizeModel::Internet,
            payload: PayloadModel::Random,
            planted: Vec::new(),
            planted_per_mille: 0,
            surges: Vec::new(),
            seed: 1,
            ipv6_share: 0.1,
            udp_share: 1.0 / 6.0,
            reply_share: 0.5,
            handshakes: false,
            packets_per_second: 100_000,
            start_ns: 1_000_000_000_000_000_000,
        }
    }
}

/// Invalid parameters of a plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// No flows, or more than memory is set aside for.
    #[error("{0} flows: 1 to {max} are possible", max = Plan::MAX_FLOWS)]
    Flows(u32),
    /// An exponent that gives no distribution.
    #[error("Zipf exponent {0} is not between 0 and 16")]
    Zipf(f64),
    /// A share out of range.
    #[error("share of {name} {share} is not between 0 and 1")]
    Share {
        /// What it is a share of.
        name: &'static str,
        /// The value at fault.
        share: f64,
    },
    /// More planted packets than packets.
    #[error("{0} planted packets in a thousand are more than all")]
    PlantedPerMille(u32),
    /// Patterns are to be planted, but there are none, or empty ones.
    #[error("nothing to plant: give patterns that are not empty")]
    NothingToPlant,
    /// More surges than there are addresses for them.
    #[error("{0} surges: up to {max} are possible", max = surges::MAX_SURGES)]
    Surges(usize),
    /// Packets of a surge that are too short for their headers.
    #[error("surge of packets of {0} bytes: at least {min} are possible", min = surges::HEADER_BYTES)]
    SurgeBytes(u16),
    /// A rate of zero, or above one packet per nanosecond.
    #[error("{0} packets per second: 1 to 1000000000 are possible")]
    PacketsPerSecond(u64),
    /// A size that no packet can have.
    #[error(transparent)]
    Size(#[from] SizeModelError),
}

#[cfg(test)]
mod tests;
