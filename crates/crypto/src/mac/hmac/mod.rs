//! HMAC (RFC 2104) over many messages at once, each under a key of its own.

mod job;
mod key;
mod lanes;
mod row;
#[cfg(test)]
mod tests;

pub(super) use job::{HmacJob, write_all};
pub use job::{MacJob, TagLengthError, write_tags};
pub use key::HmacKey;
pub(crate) use key::{PadStates, PadWord, Pads};
pub(crate) use lanes::{HmacLanes, HmacRoom};
