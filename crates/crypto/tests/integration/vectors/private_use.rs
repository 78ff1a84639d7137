//! Suites of private use: another crate's cipher under the key that is derived
//! for it, and Weir's own MAC over the whole in one piece, which is held against
//! its definitions elsewhere.

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use weir_crypto::mac::{Algorithm, TagWords};
use weir_crypto::{Descriptor, KeyMaterial, Layout, Sealer, SealingKey, Suite, UniversalMac};

use super::case::Case;
use super::oracle;

/// Ciphertext and tag of the packet.
pub fn seal(mac: UniversalMac, case: &Case) -> (Vec<u8>, Vec<u8>) {
    let key = &case.key;
    let aes = Aes128::new_from_slice(key).expect("16 bytes");
    let mut stream = [
        *b"ctr-key \0\0\0\0\0\0\0\x01",
        *b"ctr-key \0\0\0\0\0\0\0\x02",
    ];
    for block in &mut stream {
        aes.encrypt_block(block.into());
    }
    let key_and_salt = &stream.as_flattened()[..20];
    let cipher = Suite::parse("aes-128-ctr+hmac-sha1-96").expect("a suite");
    let sealed = oracle::decrypt(cipher, key_and_salt, &case.iv, &case.payload);

    let algorithm = match mac {
        UniversalMac::Umac64 => Algorithm::Umac(TagWords::Two),
        UniversalMac::Umac96 => Algorithm::Umac(TagWords::Three),
        UniversalMac::Mmh96 => Algorithm::Mmh(TagWords::Three),
        UniversalMac::Mmh128 => Algorithm::Mmh(TagWords::Four),
    };
    let message = [&case.associated()[..], &case.iv, &sealed].concat();
    let nonce = u64::from_be_bytes(case.iv[..].try_into().expect("8 bytes"));
    let tag = tag(algorithm, key, nonce, &message);
    (sealed, tag)
}

fn tag(algorithm: Algorithm, key: &[u8], nonce: u64, message: &[u8]) -> Vec<u8> {
    let material = KeyMaterial::new(Suite::Mac(algorithm), key, &[]).expect("a key");
    let mut sealer = Sealer::new();
    let key = sealer.add(SealingKey::new(material, nonce..).expect("an engine"));
    let mut buffer = [message, &vec![0; algorithm.tag_bytes()]].concat();
    let mut batch = sealer.batch(&mut buffer);
    let packet = Descriptor {
        key,
        layout: Layout {
            payload_bytes: message.len() as u32,
            ..Layout::default()
        },
        ..Descriptor::default()
    };
    assert_eq!(batch.push(packet), Ok(nonce));
    assert!(batch.run().all_good());
    buffer.split_off(message.len())
}
