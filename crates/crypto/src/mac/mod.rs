//! HMAC (RFC 2104) over many messages at once, each under a key of its own.

mod hmac;
mod job;
mod lanes;
#[cfg(test)]
mod tests;

pub use hmac::HmacKey;
pub(crate) use hmac::{PadStates, PadWord, Pads};
pub use job::{MacJob, TagLengthError, write_tags};
pub(crate) use lanes::{HmacLanes, HmacRoom};
