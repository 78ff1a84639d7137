//! Answers of AES-CTR with a universal-hash MAC: `docs/mac-suites.md`, from an
//! implementation in Python that was written from that page.

use super::AeadAnswer;
use crate::suite::{Aead, UniversalMac};

pub(super) const CTR_MAC: &[AeadAnswer] = &[
    AeadAnswer {
        source: "docs/mac-suites.md, test vectors",
        aead: Aead::AesCtrMac(UniversalMac::Umac64),
        key: "000102030405060708090a0b0c0d0e0f",
        iv: "0000000000000007",
        associated: "0000100100000007",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
               20212223",
        sealed: "9ec3e7e5bcd88f8cd35ceca5a6f69fc5a5d5eda7d24887a2abe0bf406984a2a4 \
               603a3bca",
        tag: "f9aad1dcebf95d75",
    },
    AeadAnswer {
        source: "docs/mac-suites.md, test vectors",
        aead: Aead::AesCtrMac(UniversalMac::Umac64),
        key: "000102030405060708090a0b0c0d0e0f",
        iv: "0000000100000009",
        associated: "000010010000000100000009",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
               202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f",
        sealed: "129dcc544dc6cdc4b074103ca3596498e953c9c679bba8cae967a488d664cb55 \
               acc2b96fe35e99b7ee230ef38a6df5fd085fc3f4a04a416fe9ad46a05ea3a00c",
        tag: "864d67d94394c73d",
    },
    AeadAnswer {
        source: "docs/mac-suites.md, test vectors",
        aead: Aead::AesCtrMac(UniversalMac::Umac96),
        key: "000102030405060708090a0b0c0d0e0f",
        iv: "0000000000000007",
        associated: "0000100100000007",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
               20212223",
        sealed: "9ec3e7e5bcd88f8cd35ceca5a6f69fc5a5d5eda7d24887a2abe0bf406984a2a4 \
               603a3bca",
        tag: "4a74dbae7d279ceba347bbed",
    },
    AeadAnswer {
        source: "docs/mac-suites.md, test vectors",
        aead: Aead::AesCtrMac(UniversalMac::Umac96),
        key: "000102030405060708090a0b0c0d0e0f",
        iv: "0000000100000009",
        associated: "000010010000000100000009",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
               202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f",
        sealed: "129dcc544dc6cdc4b074103ca3596498e953c9c679bba8cae967a488d664cb55 \
               acc2b96fe35e99b7ee230ef38a6df5fd085fc3f4a04a416fe9ad46a05ea3a00c",
        tag: "205b9e74ccd98f8ed60bbbdc",
    },
    AeadAnswer {
        source: "docs/mac-suites.md, test vectors",
        aead: Aead::AesCtrMac(UniversalMac::Mmh96),
        key: "000102030405060708090a0b0c0d0e0f",
        iv: "0000000000000007",
        associated: "0000100100000007",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
               20212223",
        sealed: "9ec3e7e5bcd88f8cd35ceca5a6f69fc5a5d5eda7d24887a2abe0bf406984a2a4 \
               603a3bca",
        tag: "fe8d4b53778fc82771dc2310",
    },
    AeadAnswer {
        source: "docs/mac-suites.md, test vectors",
        aead: Aead::AesCtrMac(UniversalMac::Mmh96),
        key: "000102030405060708090a0b0c0d0e0f",
        iv: "0000000100000009",
        associated: "000010010000000100000009",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
               202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f",
        sealed: "129dcc544dc6cdc4b074103ca3596498e953c9c679bba8cae967a488d664cb55 \
               acc2b96fe35e99b7ee230ef38a6df5fd085fc3f4a04a416fe9ad46a05ea3a00c",
        tag: "d0932ee6af61461a9129d1a0",
    },
    AeadAnswer {
        source: "docs/mac-suites.md, test vectors",
        aead: Aead::AesCtrMac(UniversalMac::Mmh128),
        key: "000102030405060708090a0b0c0d0e0f",
        iv: "0000000000000007",
        associated: "0000100100000007",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
               20212223",
        sealed: "9ec3e7e5bcd88f8cd35ceca5a6f69fc5a5d5eda7d24887a2abe0bf406984a2a4 \
               603a3bca",
        tag: "0f5ea07d2a98769c44b9f118f4d45110",
    },
    AeadAnswer {
        source: "docs/mac-suites.md, test vectors",
        aead: Aead::AesCtrMac(UniversalMac::Mmh128),
        key: "000102030405060708090a0b0c0d0e0f",
        iv: "0000000100000009",
        associated: "000010010000000100000009",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
               202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f",
        sealed: "129dcc544dc6cdc4b074103ca3596498e953c9c679bba8cae967a488d664cb55 \
               acc2b96fe35e99b7ee230ef38a6df5fd085fc3f4a04a416fe9ad46a05ea3a00c",
        tag: "959d44ee657f5cc0cd33699a3fa2d75f",
    },
];
