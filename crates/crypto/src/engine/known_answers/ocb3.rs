//! Published answers of OCB3: the samples of RFC 7253 appendix A, which are
//! AES-128's, and what its iterated test comes to under each key size.

use super::AeadAnswer;
use crate::suite::{Aead, AesKeySize};

pub(crate) const OCB3: &[AeadAnswer] = &[
    AeadAnswer {
        source: "RFC 7253 appendix A, nonce ...01",
        aead: Aead::AesOcb3(AesKeySize::Aes128),
        key: "000102030405060708090a0b0c0d0e0fbbaa9988",
        iv: "7766554433221101",
        associated: "0001020304050607",
        text: "0001020304050607",
        sealed: "6820b3657b6f615a",
        tag: "5725bda0d3b4eb3a257c9af1f8f03009",
    },
    AeadAnswer {
        source: "RFC 7253 appendix A, nonce ...04",
        aead: Aead::AesOcb3(AesKeySize::Aes128),
        key: "000102030405060708090a0b0c0d0e0fbbaa9988",
        iv: "7766554433221104",
        associated: "000102030405060708090a0b0c0d0e0f",
        text: "000102030405060708090a0b0c0d0e0f",
        sealed: "571d535b60b277188be5147170a9a22c",
        tag: "3ad7a4ff3835b8c5701c1ccec8fc3358",
    },
    AeadAnswer {
        source: "RFC 7253 appendix A, nonce ...0D",
        aead: Aead::AesOcb3(AesKeySize::Aes128),
        key: "000102030405060708090a0b0c0d0e0fbbaa9988",
        iv: "776655443322110d",
        associated: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
                     2021222324252627",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
               2021222324252627",
        sealed: "d5ca91748410c1751ff8a2f618255b68a0a12e093ff454606e59f9c1d0ddc54b \
                 65e8628e568bad7a",
        tag: "ed07ba06a4a69483a7035490c5769e60",
    },
    AeadAnswer {
        source: "RFC 7253 appendix A, nonce ...0F",
        aead: Aead::AesOcb3(AesKeySize::Aes128),
        key: "000102030405060708090a0b0c0d0e0fbbaa9988",
        iv: "776655443322110f",
        associated: "",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
               2021222324252627",
        sealed: "4412923493c57d5de0d700f753cce0d1d2d95060122e9f15a5ddbfc5787e50b5 \
                 cc55ee507bcb084e",
        tag: "479ad363ac366b95a98ca5f3000b1479",
    },
];

/// The tag that the iterated test ends with.
pub(crate) const fn iterated(size: AesKeySize) -> &'static str {
    match size {
        AesKeySize::Aes128 => "67e944d23256c5e0b6c61fa22fdf1ea2",
        AesKeySize::Aes192 => "f673f2c3e7174aae7bae986ca9f29e17",
        AesKeySize::Aes256 => "d90eb8e9c977c88b79dd793d7ffa161c",
    }
}
