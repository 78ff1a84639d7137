//! Block ciphers as expanded keys, chosen once per key and not per packet.

mod aes;
mod triple_des;

pub(crate) use aes::{
    AesDecryptKey, AesEncryptKey, AesRoundKeys, Block, MOST_ROUND_KEYS, bitslice, expand,
    expand_each, rounds, simd,
};
pub(crate) use triple_des::{TripleDesKey, is_single_des};
