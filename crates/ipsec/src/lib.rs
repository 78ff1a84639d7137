//! IPsec ESP: associations, policies, anti-replay, and the gateway stages.

#![forbid(unsafe_code)]

pub mod lifetime;
mod replay;
pub mod sequence;

pub use replay::ReplayWindow;
