//! Modes of operation over the block ciphers, for one packet in place.

mod cbc;
mod ctr;
mod iv;

pub(crate) use cbc::{CbcCipher, CbcDecryptKey, CbcEncryptKey, CbcKey};
pub(crate) use ctr::CtrKey;
pub(crate) use iv::CbcIvKey;
