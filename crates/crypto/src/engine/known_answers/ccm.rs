//! Published answers of CCM with nonces of 11 bytes and tags of 16: Project
//! Wycheproof.

use super::AeadAnswer;
use crate::suite::{Aead, AesKeySize};

pub(crate) const CCM: &[AeadAnswer] = &[
    AeadAnswer {
        source: "Wycheproof aes_ccm_test, case 262",
        aead: Aead::AesCcm16(AesKeySize::Aes128),
        key: "82841ef7fbae35546525fbbebf4718fb b5cd81",
        iv: "8f73a36ed025b6cf",
        associated: "44f48c2a20456358",
        text: "8c2c823bb39941b1c6b75bbc82f05ba4",
        sealed: "b287c637a7554362c80d6b24d50ddfb3",
        tag: "3967277da0f856f8f0ad49282894d2bb",
    },
    AeadAnswer {
        source: "Wycheproof aes_ccm_test, case 264",
        aead: Aead::AesCcm16(AesKeySize::Aes128),
        key: "1d286e525ec2864d9ea6e7adfbdc4970 1ad448",
        iv: "79f1947abd503dce",
        associated: "1db0eaaaa1e2c848",
        text: "7b40e6c987692d0202cb6f44b423c267dd",
        sealed: "84f91f9d35b998598e50feb34dcaa0d260",
        tag: "ae4e38cc4b730944bc459df85a536f4e",
    },
    AeadAnswer {
        source: "Wycheproof aes_ccm_test, case 298",
        aead: Aead::AesCcm16(AesKeySize::Aes192),
        key: "0a3bf0a926fb14a3b716bfa021a208da0330e57bed36828a a0ba36",
        iv: "edc43d935ee94213",
        associated: "3fcd93ccb8e97956",
        text: "9ab6c109c8069d054ccbb5c33c6e70d0",
        sealed: "27d1e353233755a2fe28231637739c46",
        tag: "b9b74765ed3d53031bf3c7349e74340e",
    },
    AeadAnswer {
        source: "Wycheproof aes_ccm_test, case 300",
        aead: Aead::AesCcm16(AesKeySize::Aes192),
        key: "ffe5d2ad71d432d6cd5f1072ec2acb7d7cde9c5c615d0eb9 ea2198",
        iv: "307402a106ea4293",
        associated: "f93db4f4aec8afe8",
        text: "c9db4d10d42340ac736271edf9f6581ce8",
        sealed: "bd960c7f60392e8d0afb28ba16ea63afd3",
        tag: "f2ca88d549dff207d979756d13e865d9",
    },
    AeadAnswer {
        source: "Wycheproof aes_ccm_test, case 334",
        aead: Aead::AesCcm16(AesKeySize::Aes256),
        key: "60d6841e9e6218a2c8605a7794e74fb215dcf3a70a0015d497ed16564f2a83a0 4c93f5",
        iv: "91af92f16596554e",
        associated: "7cb0eb9aa21fe859",
        text: "c0d1e635586b0ef835c01479a32175a3",
        sealed: "0c266113544d7a901ce721e1ead6d8f9",
        tag: "8a149eaa05c8722b2663c345a6a5418c",
    },
    AeadAnswer {
        source: "Wycheproof aes_ccm_test, case 336",
        aead: Aead::AesCcm16(AesKeySize::Aes256),
        key: "b3a06e00100ffc42dbdd5317f43d2b48f8c11e4bd6e9e3edab58e9944c559278 f3d24b",
        iv: "362bf12b84b8a66a",
        associated: "0242b5e804a79188",
        text: "03b03b45f6f320b99d8158ff8b00f0ad92",
        sealed: "d127fd42b2ca4beca9f9ac86b63a1622ef",
        tag: "8a499aab9e8f4096da603c6ccfb9ac4a",
    },
];
