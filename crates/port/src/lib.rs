//! Live ports: packets from network interfaces and to them, in batches.
//!
//! A port that receives is an [`Rx`]: [`Rx::fill`] lends the packets that have arrived, and
//! [`Rx::wait`] waits for more. A port that sends is a [`Tx`]. On Linux, `InterfaceRx` and
//! `InterfaceTx` are the two ends of a network interface (packet sockets, AF_PACKET);
//! [`memory_queue`] connects a sender and a receiver in memory, for tests.
//!
//! ```
//! use std::time::Duration;
//! use weir_port::{Rx, Tx, memory_queue};
//!
//! let (mut tx, mut rx) = memory_queue(16, 1500);
//! tx.send(&[&[0xff; 60], &[0xfe; 64]]);
//!
//! let mut received = Vec::new();
//! while received.len() < 2 {
//!     received.extend(rx.fill().map(|packet| packet.bytes.len()));
//!     rx.wait(Duration::from_millis(100));
//! }
//! assert_eq!(received, [60, 64]);
//! ```
//!
//! # Lent packets
//!
//! Packets lie where the kernel wrote them, in a block that it shares with this process. They
//! are borrowed from the port, and the block goes back to the kernel with the next call of the
//! port, so that no packet can be kept beyond it:
//!
//! ```compile_fail,E0499
//! # use weir_port::{Rx, memory_queue};
//! # let (_tx, mut rx) = memory_queue(16, 1500);
//! let packets: Vec<_> = rx.fill().collect();
//! let more: Vec<_> = rx.fill().collect(); // gives back the block of `packets`
//! println!("{}", packets.len());
//! ```
//!
//! # State and counts
//!
//! An interface that goes down or is removed is no end: the port's [`PortState`] says so, and
//! the port works again when the interface is back. What was not delivered is counted: by
//! [`RxCounters`] what the kernel had no space for, by [`TxCounters`] each packet that was not
//! sent, by reason.
//!
//! # Units
//!
//! Times are nanoseconds since 1970-01-01 UTC. Lengths are bytes and begin with the Ethernet
//! header, without the frame check sequence; an MTU counts what follows that header.

#![deny(unsafe_code)]

mod memory;
mod port;

#[cfg(target_os = "linux")]
mod interface;
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod sys;

#[cfg(target_os = "linux")]
pub use interface::{BlockPackets, InterfaceRx, InterfaceTx, OpenError, RxOptions, TxOptions};
pub use memory::{MemoryPackets, MemoryRx, MemoryTx, memory_queue};
pub use port::{ChecksumState, DownReason, Packet, PortState, Rx, RxCounters, Tx, TxCounters};
