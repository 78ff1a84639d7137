//! Ports at the two ends of a veth pair, in a network namespace of each test's own.
//!
//! They need Linux, root, and `ip`. Where one is missing they say so and pass, unless
//! `WEIR_REQUIRE_PEERS=1`.
#![cfg(target_os = "linux")]

mod packets;
mod ports;
mod relay;
mod states;
mod tun;
mod xdp;
