//! Weir's live ports beside forwarders that call the kernel directly: the same packets, rings and
//! way of waiting, in interleaved rounds of one run. Linux, as root.
//!
//! ```text
//! xdp      AF_XDP in copy mode, from one interface to another
//! packet   AF_PACKET: TPACKET_V3 in, sendmmsg out
//! tun      TCP between two TUN devices with segmentation offload
//! ```
//!
//! The sender has core 0, the forwarder core 1, with the kernel's work for what it sends. `bare` calls
//! the kernel, `weir-port` goes through Weir's ports, and `weir` through its engine, which parses each
//! packet, finds its flow and counts it. Rows tell the CPU time of the forwarder's thread per packet,
//! what was lost on the way, and how long packets took. DPDK's testpmd takes part where it is installed
//! (`dpdk`); it polls, so that its CPU time is no measure.

#![cfg_attr(not(target_os = "linux"), allow(unused))]
#![deny(unsafe_code)]

#[cfg(target_os = "linux")]
mod bare;
#[cfg(target_os = "linux")]
mod engine;
#[cfg(target_os = "linux")]
mod latency;
#[cfg(target_os = "linux")]
mod packets;
#[cfg(target_os = "linux")]
mod ports;
#[cfg(target_os = "linux")]
mod rounds;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod streams;
#[cfg(target_os = "linux")]
mod testpmd;

#[cfg(target_os = "linux")]
pub(crate) use rounds::{Candidate, Measured};

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    rounds::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("live ports need Linux");
}

/// Packets that are handed on at once.
pub(crate) const BATCH: usize = 64;
/// Frames of an AF_XDP forwarder.
pub(crate) const FRAMES: u32 = 8192;
pub(crate) const FRAME_BYTES: usize = 2048;
pub(crate) const RING_PACKETS: u32 = 2048;
/// The ring of an AF_PACKET forwarder.
pub(crate) const BLOCK_BYTES: usize = 1 << 18;
pub(crate) const BLOCKS: usize = 64;
pub(crate) const BLOCK_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(1);
