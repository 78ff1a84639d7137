//! IPsec ESP: associations, policies, anti-replay, and the gateway stages.

#![forbid(unsafe_code)]

pub mod chain;
pub mod ecn;
pub mod header;
pub mod lifetime;
pub mod link;
pub mod nat_t;
pub mod outer;
mod replay;
pub mod sequence;

pub use replay::ReplayWindow;
