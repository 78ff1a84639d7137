//! AWS-LC by its Rust interface, one packet at a time.

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{self, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::hmac;
use aws_lc_rs::iv::FixedLength;
use weir_crypto::{Aead, AesKeySize, Cipher, Mac, Suite};

use super::case::Case;

/// Ciphertext and tag of the packet; `None` for suites of CCM, OCB3, 3DES and
/// private use.
pub fn seal(case: &Case) -> Option<(Vec<u8>, Vec<u8>)> {
    match case.suite {
        Suite::Aead(Aead::AesGcm16(size)) => Some(encrypt_and_tag(gcm(size), case)),
        Suite::Aead(Aead::ChaCha20Poly1305) => {
            Some(encrypt_and_tag(&aead::CHACHA20_POLY1305, case))
        }
        // GMAC is GCM without a payload (RFC 4543 section 3.3).
        Suite::Aead(Aead::AesGmac(size)) => {
            let (key, nonce) = key_and_nonce(case);
            let message = [&case.associated()[..], &case.iv, &case.payload].concat();
            let tag = tagged(gcm(size), key, nonce, &message, &mut []);
            Some((case.payload.clone(), tag))
        }
        Suite::Aead(
            Aead::AesCcm8(_)
            | Aead::AesCcm12(_)
            | Aead::AesCcm16(_)
            | Aead::AesOcb3(_)
            | Aead::AesCtrMac(_),
        )
        | Suite::Mac(_) => None,
        Suite::EncryptThenMac(cipher, mac) => {
            let sealed = encrypted(cipher, case)?;
            let mut tag = hmac_of(mac, &case.integrity_key, &case.authenticated(&sealed));
            tag.truncate(case.suite.tag_bytes());
            Some((sealed, tag))
        }
    }
}

fn gcm(size: AesKeySize) -> &'static aead::Algorithm {
    match size {
        AesKeySize::Aes128 => &aead::AES_128_GCM,
        AesKeySize::Aes192 => &aead::AES_192_GCM,
        AesKeySize::Aes256 => &aead::AES_256_GCM,
    }
}

fn key_and_nonce(case: &Case) -> (&[u8], [u8; 12]) {
    let (key, salt) = case.key.split_at(case.suite.key_bytes());
    let nonce = [salt, &case.iv].concat().try_into().expect("12 bytes");
    (key, nonce)
}

fn encrypt_and_tag(algorithm: &'static aead::Algorithm, case: &Case) -> (Vec<u8>, Vec<u8>) {
    let (key, nonce) = key_and_nonce(case);
    let mut payload = case.payload.clone();
    let tag = tagged(algorithm, key, nonce, &case.associated(), &mut payload);
    (payload, tag)
}

/// Encrypts `payload` in place and returns the tag.
fn tagged(
    algorithm: &'static aead::Algorithm,
    key: &[u8],
    nonce: [u8; 12],
    aad: &[u8],
    payload: &mut [u8],
) -> Vec<u8> {
    let key = LessSafeKey::new(UnboundKey::new(algorithm, key).expect("a key of its length"));
    key.seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), Aad::from(aad), payload)
        .expect("a short packet")
        .as_ref()
        .to_vec()
}

fn aes(size: AesKeySize, key: &[u8]) -> UnboundCipherKey {
    let algorithm = match size {
        AesKeySize::Aes128 => &cipher::AES_128,
        AesKeySize::Aes192 => &cipher::AES_192,
        AesKeySize::Aes256 => &cipher::AES_256,
    };
    UnboundCipherKey::new(algorithm, key).expect("a key of its length")
}

fn encrypted(cipher: Cipher, case: &Case) -> Option<Vec<u8>> {
    let (key, salt) = case.key.split_at(case.suite.key_bytes());
    let (key, first) = match cipher {
        Cipher::Null => return Some(case.payload.clone()),
        Cipher::TripleDesCbc => return None,
        Cipher::AesCbc(size) => (EncryptingKey::cbc(aes(size, key)), case.iv.clone()),
        // RFC 3686 section 4: salt, IV, and a counter of blocks from 1.
        Cipher::AesCtr(size) => (
            EncryptingKey::ctr(aes(size, key)),
            [salt, &case.iv, &[0, 0, 0, 1]].concat(),
        ),
    };
    let first: [u8; 16] = first.try_into().expect("a block");
    let mut payload = case.payload.clone();
    key.expect("a key of its length")
        .less_safe_encrypt(
            &mut payload,
            EncryptionContext::Iv128(FixedLength::from(first)),
        )
        .expect("whole blocks");
    Some(payload)
}

fn hmac_of(mac: Mac, key: &[u8], message: &[u8]) -> Vec<u8> {
    let algorithm = match mac {
        Mac::HmacSha1_96 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        Mac::HmacSha2_256_128 => hmac::HMAC_SHA256,
        Mac::HmacSha2_384_192 => hmac::HMAC_SHA384,
        Mac::HmacSha2_512_256 => hmac::HMAC_SHA512,
    };
    let key = hmac::Key::new(algorithm, key);
    hmac::sign(&key, message).as_ref().to_vec()
}
