//! InfiniBand and RoCEv2: packets and their CRCs, ingress filters against floods of invalid
//! partition keys, and marks that name the true source of a packet.
//!
//! Everything here is pure: bytes and states in, verdicts out. The frame calls it from stages.

#![deny(unsafe_code)]

pub mod filter;
pub mod marks;
pub mod wire;
