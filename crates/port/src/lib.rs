//! Live ports: packets from network interfaces and to them, in batches.
//!
//! A port that receives is an [`Rx`]: [`Rx::fill`] adds the packets that have arrived to a set of
//! [`Frames`], and [`Rx::wait`] waits for more. A port that sends is a [`Tx`]. All are trait
//! objects, so that a worker has a list of them:
//!
//! | port | packets |
//! | --- | --- |
//! | `InterfaceRx`, `InterfaceTx` | of a network interface, beside the kernel's network stack (AF_PACKET) |
//! | `open_xdp` | of the receive queues of a network interface, before the kernel's network stack (AF_XDP) |
//! | `open_tun` | that the kernel routes to a device of its own, whole or in packets of up to 64 KiB (TUN) |
//! | `udp_port` | of a UDP socket, whose datagrams are packets with their headers |
//! | [`memory_queue`] | of a sender in memory, for tests |
//!
//! All but the last need Linux; the first three need root or a capability.
//!
//! ```
//! use std::time::Duration;
//! use weir_port::{FrameLayout, FramePool, Frames, Outgoing, Rx, Tx, memory_queue};
//!
//! let pool = FramePool::new(FrameLayout::default())?;
//! let (mut tx, mut rx) = memory_queue(&pool, 16, 1500);
//! let mut frames = Frames::of(&pool);
//! tx.send(&mut frames, &[Outgoing::from(&[0xff; 60][..]), Outgoing::from(&[0xfe; 64][..])]);
//!
//! while rx.fill(&mut frames, 256) == 0 {
//!     rx.wait(Duration::from_millis(100));
//! }
//! let lengths: Vec<usize> = frames.packets().map(|packet| packet.bytes.len()).collect();
//! assert_eq!(lengths, [60, 64]);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Frames
//!
//! Packets lie in frames: parts of one size of a [`FramePool`], each with space in front of the
//! packet and behind it, so that headers and trailers are added in place. A frame has one owner:
//! the pool, a set of [`Frames`], a [`Frame`] that was taken out of it, or a port on behalf of
//! the kernel. A port that sends from the pool of the port that received takes the frame as it
//! is, without a copy.
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
//! Times are nanoseconds since 1970-01-01 UTC. Lengths are bytes and begin with the link header
//! ([`LinkLayer`]), without the frame check sequence; an MTU counts what follows that header.

#![deny(unsafe_code)]

mod frames;
mod memory;
mod offload;
mod port;

#[cfg(target_os = "linux")]
mod interface;
#[allow(unsafe_code)]
mod sys;
#[cfg(target_os = "linux")]
mod tun;
#[cfg(target_os = "linux")]
mod udp;
#[cfg(unix)]
mod wait;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(target_os = "linux")]
mod xdp;

pub use frames::{Frame, FrameLayout, FramePool, Frames};
#[cfg(target_os = "linux")]
pub use interface::{InterfaceRx, InterfaceTx, RxOptions, TxOptions};
pub use memory::{MemoryRx, MemoryTx, memory_queue};
pub use offload::{Merged, SegmentedRx, Split, complete_checksum, merge, verify_checksum};
pub use port::{
    Arrival, ChecksumState, DownReason, LinkLayer, Offload, Outgoing, Packet, PortState, Rx,
    RxCounters, Segments, Transport, Tx, TxCounters,
};
#[cfg(target_os = "linux")]
pub use sys::SharedWords;
#[cfg(target_os = "linux")]
pub use tun::{TunOptions, TunRx, TunTx, open_tun};
#[cfg(target_os = "linux")]
pub use udp::{UdpOpenError, UdpOptions, UdpRx, UdpTx, udp_port};
#[cfg(unix)]
pub use wait::{Sleeper, Waker, sleeper, wait_for_any};
#[cfg(target_os = "linux")]
pub use watch::OpenError;
#[cfg(target_os = "linux")]
pub use xdp::{XdpMode, XdpOptions, XdpRx, XdpStatistics, XdpTx, open_xdp, receive_queues};
