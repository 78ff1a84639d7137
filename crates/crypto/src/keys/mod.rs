//! Keys: the secret bytes as they are configured, and what is computed from them once, before
//! the first packet.
//!
//! What a key holds is wiped when it is dropped, and lies in a box of its own, so that moving
//! the key leaves no copy. The stack on which a key was expanded or used is cleared; registers
//! are not.

mod material;
mod nonce;
mod numbers;
mod opening;
mod sealing;
mod table;

pub use material::{KeyError, KeyMaterial};
pub use nonce::NonceRule;
pub use numbers::MAX_CONTEXTS;
pub(crate) use numbers::{Contexts, Numbers};
pub use opening::OpeningKey;
pub use sealing::{IvSource, SealingKey};
pub use table::KeyId;
pub(crate) use table::Table;
