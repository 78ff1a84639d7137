//! Answers of OCB3: the samples of RFC 7253 appendix A, which are AES-128's, and packets of
//! its iterated test under the other key sizes. Of that test only the last tag is published,
//! which authenticates all other packets; the tests of this crate compute it.

use super::AeadAnswer;
use crate::suite::{Aead, AesKeySize};

pub(super) const OCB3: &[AeadAnswer] = &[
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
    AeadAnswer {
        source: "RFC 7253 appendix A, iterated test, packet 98",
        aead: Aead::AesOcb3(AesKeySize::Aes192),
        key: "00000000000000000000000000000000000000000000008000000000",
        iv: "0000000000000062",
        associated: "",
        text: "0000000000000000000000000000000000000000000000000000000000000000",
        sealed: "3456a692d009ecc88a427c07482d9446941b9306421735c718b3d3465df2c833",
        tag: "953892fb9df54b639a28549b5d326de2",
    },
    AeadAnswer {
        source: "RFC 7253 appendix A, iterated test, packet 121",
        aead: Aead::AesOcb3(AesKeySize::Aes192),
        key: "00000000000000000000000000000000000000000000008000000000",
        iv: "0000000000000079",
        associated: "0000000000000000000000000000000000000000000000000000000000000000 \
                     0000000000000000",
        text: "0000000000000000000000000000000000000000000000000000000000000000 \
               0000000000000000",
        sealed: "2ab97896de1bc4bb856558b3a95201c2d9d2b8f04b2e239e2c8af46d6b6554c8 \
                 e2143a4161211ab4",
        tag: "c633b74e9ac8006fa2f67e394613697f",
    },
    AeadAnswer {
        source: "RFC 7253 appendix A, iterated test, packet 98",
        aead: Aead::AesOcb3(AesKeySize::Aes256),
        key: "0000000000000000000000000000000000000000000000000000000000000080 \
              00000000",
        iv: "0000000000000062",
        associated: "",
        text: "0000000000000000000000000000000000000000000000000000000000000000",
        sealed: "19aaef02eb2ec5e4b9befd1f14db1498fa81d6d16a08b803e2364ca77daa6021",
        tag: "710c8aef92fd6eb2708f8ab08ca2abb8",
    },
    AeadAnswer {
        source: "RFC 7253 appendix A, iterated test, packet 121",
        aead: Aead::AesOcb3(AesKeySize::Aes256),
        key: "0000000000000000000000000000000000000000000000000000000000000080 \
              00000000",
        iv: "0000000000000079",
        associated: "0000000000000000000000000000000000000000000000000000000000000000 \
                     0000000000000000",
        text: "0000000000000000000000000000000000000000000000000000000000000000 \
               0000000000000000",
        sealed: "928460855a1260370f6c8e880017e627ed712bd8b62c640ddab5745b6e25e171 \
                 e382d7a8feb541e2",
        tag: "5093f98bc59caea4a771b3f476a744e4",
    },
];
