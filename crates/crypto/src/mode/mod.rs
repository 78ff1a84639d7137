//! Modes of operation over the block ciphers, for one packet in place.

mod cbc;
mod ctr;
pub(crate) mod ecb;
mod iv;

pub(crate) use cbc::{
    CbcCipher, CbcDecryptKey, CbcEncryptKey, CbcKey, CbcLanes, CbcRoom, ChainLanes, Chained,
    MOST_CHAINS, decrypt_blocks, has_lanes, invert,
};
pub(crate) use ctr::{CtrKey, CtrText, apply_each};
pub(crate) use iv::{CbcIvSource, IVS_TOGETHER};
