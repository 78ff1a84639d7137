//! Modes of operation over the block ciphers, for one packet in place.

mod cbc;
mod ctr;
pub(crate) mod ecb;
mod iv;

pub(crate) use cbc::{
    AesRoundKeys, CbcCipher, CbcDecryptKey, CbcEncryptKey, CbcKey, CbcLanes, CbcRoom, ChainLanes,
    Chained, MOST_CHAINS,
};
pub(crate) use ctr::CtrKey;
pub(crate) use iv::CbcIvKey;
