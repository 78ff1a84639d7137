//! HMAC (RFC 2104) over many messages at once, each under a key of its own.

mod batch;
mod key;
mod lanes;
mod row;
#[cfg(test)]
mod tests;

pub(super) use batch::process;
pub(crate) use key::HmacKey;
pub(crate) use key::{PadStates, PadWord, Pads};
pub(crate) use lanes::{HmacLanes, HmacRoom};
