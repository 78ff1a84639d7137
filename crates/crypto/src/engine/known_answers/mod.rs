//! What the standards say must come out, in hexadecimal.

mod aead;
mod ccm;
mod cipher;
mod ctr_mac;
mod mac;
mod ocb3;
pub(crate) mod universal;

pub(crate) use aead::AEADS;
pub(crate) use ccm::CCM;
pub(crate) use cipher::CIPHERS;
pub(crate) use ctr_mac::CTR_MAC;
pub(crate) use mac::MACS;
pub(crate) use ocb3::OCB3;

use crate::suite::{Aead, Cipher, Mac};

/// One sealed packet of an AEAD.
#[derive(Clone, Copy)]
pub(crate) struct AeadAnswer {
    /// Where it is published.
    pub(crate) source: &'static str,
    pub(crate) aead: Aead,
    /// Key and salt.
    pub(crate) key: &'static str,
    pub(crate) iv: &'static str,
    pub(crate) associated: &'static str,
    pub(crate) text: &'static str,
    pub(crate) sealed: &'static str,
    pub(crate) tag: &'static str,
}

/// One encrypted text of a cipher.
#[derive(Clone, Copy)]
pub(crate) struct CipherAnswer {
    pub(crate) source: &'static str,
    pub(crate) cipher: Cipher,
    /// Key and salt.
    pub(crate) key: &'static str,
    pub(crate) iv: &'static str,
    pub(crate) text: &'static str,
    pub(crate) sealed: &'static str,
}

/// One tag of a MAC, cut to the bytes that ESP sends.
#[derive(Clone, Copy)]
pub(crate) struct MacAnswer {
    pub(crate) source: &'static str,
    pub(crate) mac: Mac,
    pub(crate) key: &'static str,
    pub(crate) message: &'static str,
    pub(crate) tag: &'static str,
}

/// The bytes that `hex` spells, white space aside; `None` where it spells none.
pub(crate) fn unhex(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = hex
        .split_whitespace()
        .flat_map(str::chars)
        .map(|digit| digit.to_digit(16))
        .collect();
    let (pairs, []) = digits.as_deref()?.as_chunks::<2>() else {
        return None;
    };
    pairs
        .iter()
        .map(|[high, low]| u8::try_from(high * 16 + low).ok())
        .collect()
}
