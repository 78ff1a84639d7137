//! Keys: the secret bytes as they are configured, and what is computed from
//! them once, before the first packet.

mod material;
mod opening;
mod sealing;

pub use material::{KeyError, KeyMaterial};
pub use opening::OpeningKey;
pub use sealing::{Exhausted, IvSource, SealingKey, Ticket};
