//! The kept crates, one packet at a time: what is not published of a packet.

use aes::cipher::{
    Array, BlockCipherDecrypt, BlockModeDecrypt, BlockSizeUser, KeyInit, KeyIvInit, StreamCipher,
    consts::U16,
};
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::aead::{AeadInOut, consts::U12};
use aes_gcm::{Aes128Gcm, Aes256Gcm, AesGcm};
use hmac::Hmac;
use weir_crypto::{AesKeySize, Cipher, Mac, Suite};

/// The tag of `mac` over the joined `parts`, cut to what ESP sends.
pub fn tag(mac: Mac, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut whole = match mac {
        Mac::HmacSha1_96 => hmac::<Hmac<sha1::Sha1>>(key, parts),
        Mac::HmacSha2_256_128 => hmac::<Hmac<sha2::Sha256>>(key, parts),
        Mac::HmacSha2_384_192 => hmac::<Hmac<sha2::Sha384>>(key, parts),
        Mac::HmacSha2_512_256 => hmac::<Hmac<sha2::Sha512>>(key, parts),
    };
    whole.truncate(Suite::EncryptThenMac(Cipher::Null, mac).tag_bytes());
    whole
}

fn hmac<H: KeyInit + hmac::Mac>(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut state = <H as KeyInit>::new_from_slice(key).expect("HMAC takes any key");
    for part in parts {
        state.update(part);
    }
    state.finalize().into_bytes().to_vec()
}

/// A key of the hash's own length that makes the same pads as `key` (RFC 2104
/// section 2); `None` for lengths between that and the hash's block.
pub fn equal_hmac_key(mac: Mac, key: &[u8]) -> Option<Vec<u8>> {
    use sha1::Digest;

    let bytes = Suite::EncryptThenMac(Cipher::Null, mac).integrity_key_bytes();
    let block_bytes = if bytes > 32 { 128 } else { 64 };
    if key.len() <= bytes {
        let mut filled = key.to_vec();
        filled.resize(bytes, 0);
        return Some(filled);
    }
    (key.len() > block_bytes).then(|| match mac {
        Mac::HmacSha1_96 => sha1::Sha1::digest(key).to_vec(),
        Mac::HmacSha2_256_128 => sha2::Sha256::digest(key).to_vec(),
        Mac::HmacSha2_384_192 => sha2::Sha384::digest(key).to_vec(),
        Mac::HmacSha2_512_256 => sha2::Sha512::digest(key).to_vec(),
    })
}

/// GMAC is GCM without a text (SP 800-38D section 3).
pub fn gmac(key: &[u8], nonce: &[u8], message: &[u8]) -> Vec<u8> {
    fn tag<A: AeadInOut + KeyInit>(key: &[u8], nonce: &[u8], message: &[u8]) -> Vec<u8> {
        let nonce = nonce.try_into().expect("12 bytes");
        let tag = A::new_from_slice(key)
            .expect("a key")
            .encrypt_inout_detached(nonce, message, (&mut [][..]).into());
        tag.expect("a short message").to_vec()
    }
    match key.len() {
        16 => tag::<Aes128Gcm>(key, nonce, message),
        24 => tag::<AesGcm<Aes192, U12>>(key, nonce, message),
        _ => tag::<Aes256Gcm>(key, nonce, message),
    }
}

/// The text of a packet whose suite encrypts and then authenticates.
pub fn decrypt(suite: Suite, key: &[u8], iv: &[u8], sealed: &[u8]) -> Vec<u8> {
    let Suite::EncryptThenMac(cipher, _) = suite else {
        panic!("{suite} has published ciphertexts of its own");
    };
    let mut text = sealed.to_vec();
    match cipher {
        Cipher::Null => {}
        Cipher::AesCbc(AesKeySize::Aes128) => cbc::<Aes128>(key, iv, &mut text),
        Cipher::AesCbc(AesKeySize::Aes192) => cbc::<Aes192>(key, iv, &mut text),
        Cipher::AesCbc(AesKeySize::Aes256) => cbc::<Aes256>(key, iv, &mut text),
        Cipher::AesCtr(AesKeySize::Aes128) => ctr::<Aes128>(key, iv, &mut text),
        Cipher::AesCtr(AesKeySize::Aes192) => ctr::<Aes192>(key, iv, &mut text),
        Cipher::AesCtr(AesKeySize::Aes256) => ctr::<Aes256>(key, iv, &mut text),
        Cipher::TripleDesCbc => cbc::<des::TdesEde3>(key, iv, &mut text),
    }
    text
}

fn cbc<C: BlockCipherDecrypt + KeyInit>(key: &[u8], iv: &[u8], text: &mut [u8]) {
    let (blocks, rest) = Array::slice_as_chunks_mut(text);
    assert!(rest.is_empty());
    cbc::Decryptor::<C>::new_from_slices(key, iv)
        .expect("lengths are the suite's")
        .decrypt_blocks(blocks);
}

/// RFC 3686 section 4: salt, IV, and a block counter that starts at 1.
fn ctr<C>(key: &[u8], iv: &[u8], text: &mut [u8])
where
    C: BlockSizeUser<BlockSize = U16> + aes::cipher::BlockCipherEncrypt + KeyInit,
{
    let (key, salt) = key.split_last_chunk::<4>().expect("a salt");
    let counter_block = [salt, iv, &[0, 0, 0, 1]].concat();
    ctr::Ctr32BE::<C>::new_from_slices(key, &counter_block)
        .expect("lengths are the suite's")
        .apply_keystream(text);
}
