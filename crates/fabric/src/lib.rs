//! InfiniBand and RoCEv2: packets and their CRCs, what is wrong with those of a capture, ingress
//! filters against floods of invalid partition keys, and marks that name the true source of a packet.
//!
//! [`wire`] reads and writes packets. [`check`] counts them and says what is wrong with them; its
//! stage is what `weir fabric check` runs. [`filter`] and [`marks`] are pure state machines:
//! packets and states in, verdicts out. [`trace`] reads the marks of a capture. [`secure`] authenticates
//! packets in place of their ICRC; [`stage`] has the stages that protect, verify and filter.

#![deny(unsafe_code)]

pub mod check;
mod config_error;
pub mod filter;
pub mod marks;
pub mod secure;
pub mod stage;
pub mod trace;
pub mod wire;

pub use config_error::ConfigError;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
