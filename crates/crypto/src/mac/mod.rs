//! Message authentication codes over the parts of one packet.

mod hmac;

pub(crate) use hmac::HmacKey;
