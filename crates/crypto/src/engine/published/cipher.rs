//! Published answers of the ciphers that need a MAC. AES-CBC: RFC 3602 for
//! 128 bits and SP 800-38A for all key sizes; AES-CTR: RFC 3686; 3DES-CBC: the
//! multi-block test of NIST's validation program.

use super::CipherAnswer;
use crate::suite::{AesKeySize, Cipher};

pub(super) const CIPHERS: &[CipherAnswer] = &[
    CipherAnswer {
        source: "RFC 3602 section 4 case 1",
        cipher: Cipher::AesCbc(AesKeySize::Aes128),
        key: "06a9214036b8a15b512e03d534120006",
        iv: "3dafba429d9eb430b422da802c9fac41",
        text: "53696e676c6520626c6f636b206d7367",
        sealed: "e353779c1079aeb82708942dbe77181a",
    },
    CipherAnswer {
        source: "RFC 3602 section 4 case 2",
        cipher: Cipher::AesCbc(AesKeySize::Aes128),
        key: "c286696d887c9aa0611bbb3e2025a45a",
        iv: "562e17996d093d28ddb3ba695a2e6f58",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        sealed: "d296cd94c2cccf8a3a863028b5e1dc0a7586602d253cfff91b8266bea6d61ab1",
    },
    CipherAnswer {
        source: "RFC 3602 section 4 case 3",
        cipher: Cipher::AesCbc(AesKeySize::Aes128),
        key: "6c3ea0477630ce21a2ce334aa746c2cd",
        iv: "c782dc4c098c66cbd9cd27d825682c81",
        text: "5468697320697320612034382d62797465206d65737361676520286578616374 \
             6c7920332041455320626c6f636b7329",
        sealed: "d0a02b3836451753d493665d33f0e8862dea54cdb293abc7506939276772f8d5 \
             021c19216bad525c8579695d83ba2684",
    },
    CipherAnswer {
        source: "RFC 3602 section 4 case 4",
        cipher: Cipher::AesCbc(AesKeySize::Aes128),
        key: "56e47a38c5598974bc46903dba290349",
        iv: "8ce82eefbea0da3c44699ed7db51b7d9",
        text: "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf \
             c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf",
        sealed: "c30e32ffedc0774e6aff6af0869f71aa0f3af07a9a31a9c684db207eb0ef8e4e \
             35907aa632c3ffdf868bb7b29d3d46ad83ce9f9a102ee99d49a53e87f4c3da55",
    },
    CipherAnswer {
        source: "RFC 3602 section 4 case 5 (ESP)",
        cipher: Cipher::AesCbc(AesKeySize::Aes128),
        key: "90d382b410eeba7ad938c46cec1a82bf",
        iv: "e96e8c08ab465763fd098d45dd3ff893",
        text: "08000ebda70a00008e9c083db95b070008090a0b0c0d0e0f1011121314151617 \
             18191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637 \
             0102030405060708090a0b0c0d0e0e01",
        sealed: "f663c25d325c18c6a9453e194e120849a4870b66cc6b9965330013b4898dc856 \
             a4699e523a55db080b59ec3a8e4b7e52775b07d1db34ed9c538ab50c551b874a \
             a269add047ad2d5913ac19b7cfbad4a6",
    },
    CipherAnswer {
        source: "NIST SP 800-38A section F.2.1",
        cipher: Cipher::AesCbc(AesKeySize::Aes128),
        key: "2b7e151628aed2a6abf7158809cf4f3c",
        iv: "000102030405060708090a0b0c0d0e0f",
        text: "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51 \
             30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
        sealed: "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2 \
             73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7",
    },
    CipherAnswer {
        source: "NIST SP 800-38A section F.2.3",
        cipher: Cipher::AesCbc(AesKeySize::Aes192),
        key: "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
        iv: "000102030405060708090a0b0c0d0e0f",
        text: "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51 \
             30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
        sealed: "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a \
             571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd",
    },
    CipherAnswer {
        source: "NIST SP 800-38A section F.2.5",
        cipher: Cipher::AesCbc(AesKeySize::Aes256),
        key: "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
        iv: "000102030405060708090a0b0c0d0e0f",
        text: "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51 \
             30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
        sealed: "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d \
             39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b",
    },
    CipherAnswer {
        source: "RFC 3686 section 6 test vector 1",
        cipher: Cipher::AesCtr(AesKeySize::Aes128),
        key: "ae6852f8121067cc4bf7a5765577f39e00000030",
        iv: "0000000000000000",
        text: "53696e676c6520626c6f636b206d7367",
        sealed: "e4095d4fb7a7b3792d6175a3261311b8",
    },
    CipherAnswer {
        source: "RFC 3686 section 6 test vector 2",
        cipher: Cipher::AesCtr(AesKeySize::Aes128),
        key: "7e24067817fae0d743d6ce1f32539163006cb6db",
        iv: "c0543b59da48d90b",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        sealed: "5104a106168a72d9790d41ee8edad388eb2e1efc46da57c8fce630df9141be28",
    },
    CipherAnswer {
        source: "RFC 3686 section 6 test vector 3",
        cipher: Cipher::AesCtr(AesKeySize::Aes128),
        key: "7691be035e5020a8ac6e618529f9a0dc00e0017b",
        iv: "27777f3f4a1786f0",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
             20212223",
        sealed: "c1cf48a89f2ffdd9cf4652e9efdb72d74540a42bde6d7836d59a5ceaaef31053 \
             25b2072f",
    },
    CipherAnswer {
        source: "RFC 3686 section 6 test vector 4",
        cipher: Cipher::AesCtr(AesKeySize::Aes192),
        key: "16af5b145fc9f579c175f93e3bfb0eed863d06ccfdb7851500000048",
        iv: "36733c147d6d93cb",
        text: "53696e676c6520626c6f636b206d7367",
        sealed: "4b55384fe259c9c84e7935a003cbe928",
    },
    CipherAnswer {
        source: "RFC 3686 section 6 test vector 5",
        cipher: Cipher::AesCtr(AesKeySize::Aes192),
        key: "7c5cb2401b3dc33c19e7340819e0f69c678c3db8e6f6a91a0096b03b",
        iv: "020c6eadc2cb500d",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        sealed: "453243fc609b23327edfaafa7131cd9f8490701c5ad4a79cfc1fe0ff42f4fb00",
    },
    CipherAnswer {
        source: "RFC 3686 section 6 test vector 6",
        cipher: Cipher::AesCtr(AesKeySize::Aes192),
        key: "02bf391ee8ecb159b959617b0965279bf59b60a786d3e0fe0007bdfd",
        iv: "5cbd60278dcc0912",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
             20212223",
        sealed: "96893fc55e5c722f540b7dd1ddf7e758d288bc95c69165884536c811662f2188 \
             abee0935",
    },
    CipherAnswer {
        source: "RFC 3686 section 6 test vector 7",
        cipher: Cipher::AesCtr(AesKeySize::Aes256),
        key: "776beff2851db06f4c8a0542c8696f6c6a81af1eec96b4d37fc1d689e6c1c104 \
             00000060",
        iv: "db5672c97aa8f0b2",
        text: "53696e676c6520626c6f636b206d7367",
        sealed: "145ad01dbf824ec7560863dc71e3e0c0",
    },
    CipherAnswer {
        source: "RFC 3686 section 6 test vector 8",
        cipher: Cipher::AesCtr(AesKeySize::Aes256),
        key: "f6d66d6bd52d59bb0796365879eff886c66dd51a5b6a99744b50590c87a23884 \
             00faac24",
        iv: "c1585ef15a43d875",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        sealed: "f05e231b3894612c49ee000b804eb2a9b8306b508f839d6a5530831d9344af1c",
    },
    CipherAnswer {
        source: "RFC 3686 section 6 test vector 9",
        cipher: Cipher::AesCtr(AesKeySize::Aes256),
        key: "ff7a617ce69148e4f1726e2f43581de2aa62d9f805532edff1eed687fb54153d \
             001cc5b7",
        iv: "51a51d70a1c11148",
        text: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
             20212223",
        sealed: "eb6c52821d0bbbf7ce7594462aca4faab407df866569fd07f48cc0b583d6071f \
             1ec0e6b8",
    },
    CipherAnswer {
        source: "NIST CAVP TCBCMMT3, ENCRYPT, COUNT 9",
        cipher: Cipher::TripleDesCbc,
        key: "9b162a0df8ad9b61c88676e3d586434570b902f12a2046e0",
        iv: "ebd6fefe029ad54b",
        text: "f4c1c918e77355c8156f0fd778da52bff121ae5f2f44eaf4d2754946d0e10d1f \
             18ce3a0176e69c18b7d20b6e0d0bee5eb5edfe4bd60e4d92adcd86bce72e76f9 \
             4ee5cbcaa8b01cfddcea2ade575e66ac",
        sealed: "1ff3c8709f403a8eff291aedf50c010df5c5ff64a8b205f1fce68564798897a3 \
             90db16ee0d053856b75898009731da290fcc119dad987277aacef694872e880c \
             4bb41471063fae05c89f25e4bd0cad6a",
    },
];
