//! Masks of header protection, applied and removed.

use weir_crypto::header::{HeaderKey, HeaderProtector, SAMPLE_BYTES, apply_mask, remove_mask};
use weir_crypto::{Suite, memcheck};

use crate::Case;
use crate::secret::{public, secret};

/// Keys, so that neighbours in lanes have different ones.
const KEYS: usize = 3;

/// Packets: more than go through the AES unit together, and some left over.
const PACKETS: usize = 21;

/// A case for each suite that has header protection.
pub fn cases() -> Vec<Case> {
    ["aes-128-gcm-16", "aes-256-gcm-16", "chacha20-poly1305"]
        .into_iter()
        .map(|suite| {
            Case::new(format!("header protection of {suite}"), move || {
                protect_and_unprotect(Suite::parse(suite).expect("a suite"));
            })
        })
        .collect()
}

fn protect_and_unprotect(suite: Suite) {
    let mut protector = HeaderProtector::new();
    let keys: Vec<_> = (0..KEYS)
        .map(|seed| {
            let key = secret(suite.key_bytes(), seed as u8);
            protector.add(HeaderKey::new(suite, &key).expect("a key"))
        })
        .collect();
    // Ciphertext is public.
    let buffer = public(PACKETS + SAMPLE_BYTES, 7);
    let mut batch = protector.batch(&buffer);
    for packet in 0..PACKETS {
        batch
            .push(keys[packet % KEYS], packet as u32)
            .expect("taken");
    }
    for (packet, mask) in batch.run().iter().enumerate() {
        // The header's form is public; the length of the packet number is not.
        let mut first_byte = [0x40 | (packet % 4) as u8];
        let mut number = [1, 2, 3, 4];
        apply_mask(&mut first_byte[0], &mut number[..packet % 4 + 1], mask);
        memcheck::publish(&mut first_byte);
        memcheck::publish(&mut number);
        let bytes = remove_mask(&mut first_byte[0], &mut number, mask);
        let mut removed = [bytes as u8, first_byte[0], number[0], number[3]];
        memcheck::publish(&mut removed);
        let expected = [(packet % 4 + 1) as u8, 0x40 | (packet % 4) as u8, 1, 4];
        assert_eq!(removed, expected);
    }
}
