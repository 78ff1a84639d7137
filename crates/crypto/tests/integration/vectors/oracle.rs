//! Other crates, one packet at a time: what is not published of a packet.

use aes::cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt,
    BlockSizeUser, KeyInit, KeyIvInit, StreamCipher,
    consts::{U8, U11, U12, U16},
};
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes128Gcm, Aes256Gcm, AesGcm};
use ccm::Ccm;
use chacha20poly1305::ChaCha20Poly1305;
use hmac::Hmac;
use ocb3::Ocb3;
use weir_crypto::{Aead, AesKeySize, Cipher, Mac, Suite};

use super::case::Case;
use super::private_use;

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

/// Ciphertext and tag of a packet of any suite.
pub fn seal(case: &Case) -> Option<(Vec<u8>, Vec<u8>)> {
    Some(match case.suite {
        Suite::Mac(_) => return None,
        Suite::Aead(Aead::AesCtrMac(mac)) => private_use::seal(mac, case),
        Suite::Aead(aead) => {
            let (key, salt) = case.key.split_at(case.suite.key_bytes());
            let nonce = [salt, &case.iv].concat();
            seal_aead(aead, key, &nonce, &case.associated(), &case.payload)
        }
        Suite::EncryptThenMac(_, mac) => {
            let sealed = encrypt(case.suite, &case.key, &case.iv, &case.payload);
            let tag = tag(mac, &case.integrity_key, &[&case.authenticated(&sealed)]);
            (sealed, tag)
        }
    })
}

/// Ciphertext and tag. The nonce is salt and IV.
pub fn seal_aead(
    aead: Aead,
    key: &[u8],
    nonce: &[u8],
    aad: &[u8],
    payload: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    use AesKeySize::{Aes128 as Of128, Aes192 as Of192, Aes256 as Of256};

    let seal = match aead {
        Aead::AesGcm16(Of128) => seal_with::<Aes128Gcm>,
        Aead::AesGcm16(Of192) => seal_with::<AesGcm<Aes192, U12>>,
        Aead::AesGcm16(Of256) => seal_with::<Aes256Gcm>,
        Aead::AesCcm8(Of128) => seal_with::<Ccm<Aes128, U8, U11>>,
        Aead::AesCcm8(Of192) => seal_with::<Ccm<Aes192, U8, U11>>,
        Aead::AesCcm8(Of256) => seal_with::<Ccm<Aes256, U8, U11>>,
        Aead::AesCcm12(Of128) => seal_with::<Ccm<Aes128, U12, U11>>,
        Aead::AesCcm12(Of192) => seal_with::<Ccm<Aes192, U12, U11>>,
        Aead::AesCcm12(Of256) => seal_with::<Ccm<Aes256, U12, U11>>,
        Aead::AesCcm16(Of128) => seal_with::<Ccm<Aes128, U16, U11>>,
        Aead::AesCcm16(Of192) => seal_with::<Ccm<Aes192, U16, U11>>,
        Aead::AesCcm16(Of256) => seal_with::<Ccm<Aes256, U16, U11>>,
        Aead::AesOcb3(Of128) => seal_with::<Ocb3<Aes128, U12>>,
        Aead::AesOcb3(Of192) => seal_with::<Ocb3<Aes192, U12>>,
        Aead::AesOcb3(Of256) => seal_with::<Ocb3<Aes256, U12>>,
        Aead::ChaCha20Poly1305 => seal_with::<ChaCha20Poly1305>,
        Aead::AesCtrMac(_) => panic!("{aead} is of private use, no crate has it"),
        // RFC 4543 section 3.3: the IV is authenticated, too.
        Aead::AesGmac(_) => {
            let message = [aad, &nonce[4..], payload].concat();
            return (payload.to_vec(), gmac(key, nonce, &message));
        }
    };
    seal(key, nonce, aad, payload)
}

fn seal_with<A: AeadInOut + KeyInit>(
    key: &[u8],
    nonce: &[u8],
    aad: &[u8],
    payload: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    let mut payload = payload.to_vec();
    let tag = A::new_from_slice(key)
        .expect("a key")
        .encrypt_inout_detached(
            nonce.try_into().expect("the suite's nonce"),
            aad,
            payload.as_mut_slice().into(),
        )
        .expect("a short packet");
    (payload, tag.to_vec())
}

/// GMAC is GCM without a payload (SP 800-38D section 3).
pub fn gmac(key: &[u8], nonce: &[u8], message: &[u8]) -> Vec<u8> {
    let seal = match key.len() {
        16 => seal_with::<Aes128Gcm>,
        24 => seal_with::<AesGcm<Aes192, U12>>,
        _ => seal_with::<Aes256Gcm>,
    };
    seal(key, nonce, message, &[]).1
}

/// The ciphertext of a packet whose suite encrypts and then authenticates.
fn encrypt(suite: Suite, key: &[u8], iv: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut sealed = payload.to_vec();
    match suite {
        Suite::EncryptThenMac(Cipher::AesCbc(AesKeySize::Aes128), _) => {
            cbc_encrypt::<Aes128>(key, iv, &mut sealed);
        }
        Suite::EncryptThenMac(Cipher::AesCbc(AesKeySize::Aes192), _) => {
            cbc_encrypt::<Aes192>(key, iv, &mut sealed);
        }
        Suite::EncryptThenMac(Cipher::AesCbc(AesKeySize::Aes256), _) => {
            cbc_encrypt::<Aes256>(key, iv, &mut sealed);
        }
        Suite::EncryptThenMac(Cipher::TripleDesCbc, _) => {
            cbc_encrypt::<des::TdesEde3>(key, iv, &mut sealed);
        }
        // Neither differs from its inverse.
        _ => return decrypt(suite, key, iv, payload),
    }
    sealed
}

fn cbc_encrypt<C: BlockCipherEncrypt + KeyInit>(key: &[u8], iv: &[u8], payload: &mut [u8]) {
    let (blocks, rest) = Array::slice_as_chunks_mut(payload);
    assert!(rest.is_empty());
    cbc::Encryptor::<C>::new_from_slices(key, iv)
        .expect("lengths are the suite's")
        .encrypt_blocks(blocks);
}

/// The payload of a packet whose suite encrypts and then authenticates.
pub fn decrypt(suite: Suite, key: &[u8], iv: &[u8], sealed: &[u8]) -> Vec<u8> {
    let Suite::EncryptThenMac(cipher, _) = suite else {
        panic!("{suite} has published ciphertexts of its own");
    };
    let mut payload = sealed.to_vec();
    match cipher {
        Cipher::Null => {}
        Cipher::AesCbc(AesKeySize::Aes128) => cbc::<Aes128>(key, iv, &mut payload),
        Cipher::AesCbc(AesKeySize::Aes192) => cbc::<Aes192>(key, iv, &mut payload),
        Cipher::AesCbc(AesKeySize::Aes256) => cbc::<Aes256>(key, iv, &mut payload),
        Cipher::AesCtr(AesKeySize::Aes128) => ctr::<Aes128>(key, iv, &mut payload),
        Cipher::AesCtr(AesKeySize::Aes192) => ctr::<Aes192>(key, iv, &mut payload),
        Cipher::AesCtr(AesKeySize::Aes256) => ctr::<Aes256>(key, iv, &mut payload),
        Cipher::TripleDesCbc => cbc::<des::TdesEde3>(key, iv, &mut payload),
    }
    payload
}

fn cbc<C: BlockCipherDecrypt + KeyInit>(key: &[u8], iv: &[u8], payload: &mut [u8]) {
    let (blocks, rest) = Array::slice_as_chunks_mut(payload);
    assert!(rest.is_empty());
    cbc::Decryptor::<C>::new_from_slices(key, iv)
        .expect("lengths are the suite's")
        .decrypt_blocks(blocks);
}

/// RFC 3686 section 4: salt, IV, and a block counter that starts at 1.
fn ctr<C>(key: &[u8], iv: &[u8], payload: &mut [u8])
where
    C: BlockSizeUser<BlockSize = U16> + BlockCipherEncrypt + KeyInit,
{
    let (key, salt) = key.split_last_chunk::<4>().expect("a salt");
    let counter_block = [salt, iv, &[0, 0, 0, 1]].concat();
    ctr::Ctr32BE::<C>::new_from_slices(key, &counter_block)
        .expect("lengths are the suite's")
        .apply_keystream(payload);
}
