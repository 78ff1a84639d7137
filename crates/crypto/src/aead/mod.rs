//! Authenticated encryption with associated data: ChaCha20-Poly1305
//! for one packet in place, the others by the batch.

#[cfg(test)]
mod agreement;
mod ccm;
mod chacha20_poly1305;
pub(crate) mod gcm;
mod job;
mod mac_suite;
mod ocb3;
mod plan;

use chacha20poly1305::aead::{AeadInOut, Nonce, Tag};

use crate::kernel::Misshapen;
use crate::verdict::publish;

pub(crate) use ccm::CcmKey;
pub(crate) use chacha20_poly1305::ChaCha20Poly1305Key;
pub(crate) use job::{AeadJob, AeadKey, Modes, Parts, process, tag_agrees, write_tag};
pub(crate) use mac_suite::{IV_BYTES, MOST_ASSOCIATED_BYTES, MacSuiteKey};
pub(crate) use ocb3::Ocb3Key;
pub(crate) use plan::MOST_PACKETS;

fn seal<A: AeadInOut>(
    key: &A,
    nonce: &[u8],
    associated: &[u8],
    text: &mut [u8],
    tag: &mut [u8],
) -> Result<(), Misshapen> {
    let nonce = <&Nonce<A>>::try_from(nonce).map_err(|_| Misshapen)?;
    let tag = <&mut Tag<A>>::try_from(tag).map_err(|_| Misshapen)?;
    *tag = key
        .encrypt_inout_detached(nonce, associated, text.into())
        .map_err(|_| Misshapen)?;
    Ok(())
}

/// Verifies, then decrypts; the tag is compared in constant time by the kept
/// crates. `false` leaves the text as it was or partly decrypted: the caller
/// clears it.
fn open<A: AeadInOut>(
    key: &A,
    nonce: &[u8],
    associated: &[u8],
    text: &mut [u8],
    tag: &[u8],
) -> bool {
    let Ok(nonce) = <&Nonce<A>>::try_from(nonce) else {
        return false;
    };
    let Ok(tag) = <&Tag<A>>::try_from(tag) else {
        return false;
    };
    let opened = key.decrypt_inout_detached(nonce, associated, text.into(), tag);
    publish(opened.is_ok())
}
