//! Headers and packets of InfiniBand and RoCEv2.
//!
//! [`Packet`] finds the parts of one packet of a capture: behind an LRH in native InfiniBand, and
//! in RoCEv2 behind an Ethernet, IP and UDP header. It hands out its headers, and compares
//! the ICRC and the VCRC that it carries with those that it should carry. [`Opcode`] says what an
//! operation code stands for: transport, direction, the extended headers that follow, and whether a
//! payload may. Headers are plain structs that are read from bytes and written to bytes, every bit
//! of them, and [`Message`] writes whole packets.
//!
//! ```
//! use weir_fabric::wire::{Bth, ExtendedHeaders, Message, Opcode, Operation, Packet, Transport, Verdict};
//! use weir_packet::wire::build::IpHeader;
//! use weir_packet::wire::{FlowKey, LinkType};
//!
//! let opcode = Opcode::of(Transport::Rc, Operation::SendOnly).expect("RC has SEND");
//! let bth = Bth { opcode, partition_key: 0x8001, destination_qp: 17, psn: 1, ..Bth::default() };
//! let message = Message { bth, extended: ExtendedHeaders::default(), payload: b"hello" };
//! let key = FlowKey {
//!     source: 0xc612_0001,
//!     destination: 0xc612_0002,
//!     source_port: 49_152,
//!     destination_port: 4791,
//!     protocol: 17,
//!     ip_version: 4,
//! };
//! let mut bytes = Vec::new();
//! message.write_rocev2(&mut bytes, &key, &IpHeader::default())?;
//!
//! let packet = Packet::parse(LinkType::RawIp, &bytes)?.expect("a RoCEv2 packet");
//! assert_eq!(packet.bth().destination_qp, 17);
//! assert_eq!(packet.payload(), b"hello");
//! assert_eq!(packet.check_icrc(), Verdict::Good);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Sources: InfiniBand Architecture Specification, volume 1, release 1.2.1: chapter 7 (LRH and
//! CRCs), chapter 8 (GRH), chapter 9 (transport headers and operation codes); its annex A17 for
//! RoCEv2.

mod build;
mod crc;
pub(crate) mod erf;
mod extended;
mod fault;
mod opcode;
mod packet;
mod route;
mod transport;

pub use build::{BuildError, ExtendedHeaders, Message};
pub(crate) use crc::icrc;
pub use crc::{Verdict, vcrc};
pub use extended::{Aeth, AtomicAckEth, AtomicEth, Deth, Ieth, ImmDt, Rdeth, Reth};
pub use fault::{Fault, HeaderKind};
pub use opcode::{Direction, Opcode, Operation, Transport};
pub(crate) use packet::is_other;
pub use packet::{Carrier, Packet};
pub use route::{Grh, LinkNextHeader, Lrh};
pub use transport::Bth;

/// UDP port of RoCEv2.
pub const ROCEV2_PORT: u16 = 4791;
