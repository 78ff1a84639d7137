//! OCB3: the samples of RFC 7253 appendix A, and the packets of its iterated
//! test.
//!
//! Of the 385 packets of that test only the last one's tag is published. It
//! authenticates what came out of all others, so that the oracle, which must
//! compute the same tag, is right about each of them.

use weir_crypto::{Aead, AesKeySize, Suite};

use super::case::{AeadVector, Case};
use super::nist::SIZES;
use super::oracle;

/// Every vector with a tag of 16 bytes.
pub fn cases() -> Vec<Case> {
    let mut cases = samples();
    for (_, size) in SIZES {
        cases.extend(iterated(size));
    }
    cases
}

/// Nonces end in the sample's number; associated data and payload are its first
/// bytes of 00 01 02 …, as many as the sample says.
fn samples() -> Vec<Case> {
    let bytes: Vec<u8> = (0..40).collect();
    SAMPLES
        .iter()
        .enumerate()
        .map(|(number, (aad_bytes, payload_bytes, out))| {
            let mut nonce = hex("bbaa99887766554433221100");
            nonce[11] = number as u8;
            let out = hex(out);
            let (sealed, tag) = out.split_at(out.len() - 16);
            let vector = AeadVector {
                key: &bytes[..16],
                nonce: &nonce,
                aad: &bytes[..*aad_bytes],
                payload: &bytes[..*payload_bytes],
                sealed,
                tag,
                is_authentic: true,
            };
            let source = format!("RFC 7253 appendix A, sample {number}");
            let suite = Suite::Aead(Aead::AesOcb3(AesKeySize::Aes128));
            Case::of_aead(source, suite, &vector).expect("a nonce of 12 bytes")
        })
        .collect()
}

fn iterated(size: AesKeySize) -> Vec<Case> {
    let suite = Suite::Aead(Aead::AesOcb3(size));
    let mut key = vec![0; suite.key_bytes()];
    *key.last_mut().expect("a key") = 128;
    let mut cases = Vec::new();
    let mut out = Vec::new();
    let zeros = [0; 127];
    for bytes in 0..128 {
        for (aad_bytes, payload_bytes) in [(bytes, bytes), (0, bytes), (bytes, 0)] {
            let case = packet(
                suite,
                &key,
                cases.len() as u64 + 1,
                &zeros[..aad_bytes],
                &zeros[..payload_bytes],
            );
            out.extend_from_slice(&case.sealed);
            out.extend_from_slice(&case.tag);
            cases.push(case);
        }
    }
    let last = packet(suite, &key, 385, &out, &[]);
    let published = match size {
        AesKeySize::Aes128 => "67e944d23256c5e0b6c61fa22fdf1ea2",
        AesKeySize::Aes192 => "f673f2c3e7174aae7bae986ca9f29e17",
        AesKeySize::Aes256 => "d90eb8e9c977c88b79dd793d7ffa161c",
    };
    assert_eq!(last.tag, hex(published), "{suite}: the oracle");
    cases.push(last);
    cases
}

fn packet(suite: Suite, key: &[u8], number: u64, aad: &[u8], payload: &[u8]) -> Case {
    let nonce = [&[0; 4][..], &number.to_be_bytes()].concat();
    let Suite::Aead(aead) = suite else {
        panic!("OCB3 is an AEAD");
    };
    let (sealed, tag) = oracle::seal_aead(aead, key, &nonce, aad, payload);
    let vector = AeadVector {
        key,
        nonce: &nonce,
        aad,
        payload,
        sealed: &sealed,
        tag: &tag,
        is_authentic: true,
    };
    let source = format!("RFC 7253 appendix A, iterated, {suite}, packet {number}");
    Case::of_aead(source, suite, &vector).expect("a nonce of 12 bytes")
}

fn hex(digits: &str) -> Vec<u8> {
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal"))
        .collect()
}

/// Bytes of associated data, bytes of payload, ciphertext and tag.
const SAMPLES: [(usize, usize, &str); 16] = [
    (0, 0, "785407bfffc8ad9edcc5520ac9111ee6"),
    (8, 8, "6820b3657b6f615a5725bda0d3b4eb3a257c9af1f8f03009"),
    (8, 0, "81017f8203f081277152fade694a0a00"),
    (0, 8, "45dd69f8f5aae72414054cd1f35d82760b2cd00d2f99bfa9"),
    (
        16,
        16,
        "571d535b60b277188be5147170a9a22c3ad7a4ff3835b8c5701c1ccec8fc3358",
    ),
    (16, 0, "8cf761b6902ef764462ad86498ca6b97"),
    (
        0,
        16,
        "5ce88ec2e0692706a915c00aeb8b2396f40e1c743f52436bdf06d8fa1eca343d",
    ),
    (
        24,
        24,
        "1ca2207308c87c010756104d8840ce1952f09673a448a122c92c62241051f57356d7f3c90bb0e07f",
    ),
    (24, 0, "6dc225a071fc1b9f7c69f93b0f1e10de"),
    (
        0,
        24,
        "221bd0de7fa6fe993eccd769460a0af2d6cded0c395b1c3ce725f32494b9f914d85c0b1eb38357ff",
    ),
    (
        32,
        32,
        "bd6f6c496201c69296c11efd138a467abd3c707924b964deaffc40319af5a48540fbba186c5553c6\
         8ad9f592a79a4240",
    ),
    (32, 0, "fe80690bee8a485d11f32965bc9d2a32"),
    (
        0,
        32,
        "2942bfc773bda23cabc6acfd9bfd5835bd300f0973792ef46040c53f1432bcdfb5e1dde3bc18a5f8\
         40b52e653444d5df",
    ),
    (
        40,
        40,
        "d5ca91748410c1751ff8a2f618255b68a0a12e093ff454606e59f9c1d0ddc54b65e8628e568bad7a\
         ed07ba06a4a69483a7035490c5769e60",
    ),
    (40, 0, "c5cd9d1850c141e358649994ee701b68"),
    (
        0,
        40,
        "4412923493c57d5de0d700f753cce0d1d2d95060122e9f15a5ddbfc5787e50b5cc55ee507bcb084e\
         479ad363ac366b95a98ca5f3000b1479",
    ),
];
