//! Keys: the secret bytes as they are configured, and what is computed from
//! them once, before the first packet.
//!
//! What a key holds is wiped when it is dropped, and lies in a box of its own,
//! so that moving the key leaves no copy. The stack on which a key was expanded or
//! used is cleared; registers are not.

mod counter;
mod material;
mod opening;
mod policy;
mod sealing;

pub(crate) use counter::Counter;
pub use counter::{Exhausted, Ticket};
pub use material::{KeyError, KeyMaterial};
pub use opening::OpeningKey;
pub use policy::KeyPolicy;
pub use sealing::{IvSource, SealingKey};
