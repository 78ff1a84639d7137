//! Authenticated encryption with associated data, by the batch.

#[cfg(test)]
mod agreement;
pub(crate) mod ccm;
pub(crate) mod chacha20_poly1305;
pub(crate) mod gcm;
mod mac_suite;
pub(crate) mod ocb3;
mod packet;
mod plan;

pub(crate) use ccm::CcmKey;
pub(crate) use chacha20_poly1305::ChaCha20Poly1305Key;
pub(crate) use mac_suite::{IV_BYTES, MOST_ASSOCIATED_BYTES, MacSuiteKey};
pub(crate) use ocb3::Ocb3Key;
pub(crate) use packet::CcmPacket;
pub(crate) use plan::{Packet, Plan};
