//! HMAC (RFC 2104) over many messages at once, each under a key of its own.
//!
//! HMAC alone is processed as encrypt-then-MAC without a cipher: [`crate::etm`].

mod key;
mod lanes;
mod row;

pub(crate) use key::{HmacKey, PadWord, digest_of, tag_one};
pub(crate) use lanes::{HmacLanes, HmacRoom};
