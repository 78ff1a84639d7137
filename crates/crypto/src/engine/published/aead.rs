//! Published answers of the AEADs. GCM in ESP: the packets of
//! draft-mcgrew-gcm-test-01; GCM itself: the test cases that SP 800-38D's
//! authors submitted; ChaCha20-Poly1305: its RFCs.

use super::AeadAnswer;
use crate::suite::{Aead, AesKeySize};

pub(super) const AEADS: &[AeadAnswer] = &[
    AeadAnswer {
        source: "draft-mcgrew-gcm-test-01 section 4 case 1",
        aead: Aead::AesGcm16(AesKeySize::Aes128),
        key: "4c80cdefbb5d10da906ac73c3613a6342e443b68",
        iv: "4956ed7e3b244cfe",
        associated: "000043218765432100000000",
        text: "45000048699a000080114db7c0a80102c0a801010a9bf15638d3010000010000 \
             00000000045f736970045f756470037369700963796265726369747902646b00 \
             0021000101020201",
        sealed: "fecf537e729d5b07dc30df528dd22b768d1b98736696a6fd348509fa13ceac34 \
             cfa2436f14a3f3cf65925bf1f4a13c5d15b21e1884f5ff6247aeabb786b93bce \
             61bc17d768fd9732",
        tag: "459018148f6cbe722fd04796562dfdb4",
    },
    AeadAnswer {
        source: "draft-mcgrew-gcm-test-01 section 4 case 2",
        aead: Aead::AesGcm16(AesKeySize::Aes128),
        key: "feffe9928665731c6d6a8f9467308308cafebabe",
        iv: "facedbaddecaf888",
        associated: "0000a5f80000000a",
        text: "4500003e698f000080114dccc0a80102c0a801010a980035002a2343b2d00100 \
             0001000000000000037369700963796265726369747902646b00000100010001",
        sealed: "deb22cd9b07c72c16e3a65beeb8df304a5a5897d33ae530f1ba76d5d114d2a5c \
             3de81827c10e9a4f51330d0eec416642cfbb85a5b47e48a4ec3b9ba95d918bd1",
        tag: "83b70d3aa8bc6ee4c309e9d85a41ad4a",
    },
    AeadAnswer {
        source: "draft-mcgrew-gcm-test-01 section 4 case 3",
        aead: Aead::AesGcm16(AesKeySize::Aes256),
        key: "abbccddef00112233445566778899aababbccddef00112233445566778899aab \
             11223344",
        iv: "0102030405060708",
        associated: "4a2cbfe300000002",
        text: "4500003069a6400080062690c0a801029389155e0a9e008b2dc57ee000000000 \
             7002400020bf0000020405b40101040201020201",
        sealed: "ff425c9b724599df7a3bcd510194e00d6a78107f1b0b1cbf06efae9d65a5d763 \
             748a637985771d347f0545659f14e99def842d8e",
        tag: "b335f4eecfdbf831824b4c4915956c96",
    },
    AeadAnswer {
        source: "draft-mcgrew-gcm-test-01 section 4 case 7",
        aead: Aead::AesGcm16(AesKeySize::Aes192),
        key: "feffe9928665731c6d6a8f9467308308feffe9928665731ccafebabe",
        iv: "facedbaddecaf888",
        associated: "0000a5f80000000a",
        text: "45000028a4ad4000400678800a01038f0a010612802306b8cb712602dd6bb03e \
             501016d075680001",
        sealed: "a5b1f8066029aea40e598b8122de02420938b3ab33f828e687b8858b5bfbdbd0 \
             315b27452144cc77",
        tag: "95457b9652037f5318027b5b4cd7a636",
    },
    AeadAnswer {
        source: "draft-mcgrew-gcm-test-01 section 4 case 9",
        aead: Aead::AesGcm16(AesKeySize::Aes256),
        key: "abbccddef00112233445566778899aababbccddef00112233445566778899aab \
             73616c74",
        iv: "616e640169766563",
        associated: "17405e67156f3126dd0db99b",
        text: "45080028732c00004006e9f90a0106120a01038f06b88023dd6bafbecb712602 \
             50101f646d540001",
        sealed: "f2d69ecdbd5a0d5b8d5ef38bad4da58d1f278fde98ef67549d524a3018d9a57f \
             f4d3a31ce673119e",
        tag: "451626c2415771e3b7eebca614c89b35",
    },
    AeadAnswer {
        source: "draft-mcgrew-gcm-test-01 section 4 case 12",
        aead: Aead::AesGcm16(AesKeySize::Aes128),
        key: "7d773d00c144c525ac619d18c84a3f47d9664267",
        iv: "43457e9182443bc6",
        associated: "335467aeffffffff",
        text: "01020201",
        sealed: "437f866b",
        tag: "cb3f699fe9b0822bac961c4504bef270",
    },
    AeadAnswer {
        source: "McGrew and Viega, \"The Galois/Counter Mode of Operation\", test case 1",
        aead: Aead::AesGcm16(AesKeySize::Aes128),
        key: "0000000000000000000000000000000000000000",
        iv: "0000000000000000",
        associated: "",
        text: "",
        sealed: "",
        tag: "58e2fccefa7e3061367f1d57a4e7455a",
    },
    AeadAnswer {
        source: "McGrew and Viega, \"The Galois/Counter Mode of Operation\", test case 2",
        aead: Aead::AesGcm16(AesKeySize::Aes128),
        key: "0000000000000000000000000000000000000000",
        iv: "0000000000000000",
        associated: "",
        text: "00000000000000000000000000000000",
        sealed: "0388dace60b6a392f328c2b971b2fe78",
        tag: "ab6e47d42cec13bdf53a67b21257bddf",
    },
    AeadAnswer {
        source: "McGrew and Viega, \"The Galois/Counter Mode of Operation\", test case 4",
        aead: Aead::AesGcm16(AesKeySize::Aes128),
        key: "feffe9928665731c6d6a8f9467308308cafebabe",
        iv: "facedbaddecaf888",
        associated: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        text: "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72 \
             1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        sealed: "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e \
             21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
        tag: "5bc94fbc3221a5db94fae95ae7121a47",
    },
    AeadAnswer {
        source: "McGrew and Viega, \"The Galois/Counter Mode of Operation\", test case 8",
        aead: Aead::AesGcm16(AesKeySize::Aes192),
        key: "00000000000000000000000000000000000000000000000000000000",
        iv: "0000000000000000",
        associated: "",
        text: "00000000000000000000000000000000",
        sealed: "98e7247c07f0fe411c267e4384b0f600",
        tag: "2ff58d80033927ab8ef4d4587514f0fb",
    },
    AeadAnswer {
        source: "McGrew and Viega, \"The Galois/Counter Mode of Operation\", test case 10",
        aead: Aead::AesGcm16(AesKeySize::Aes192),
        key: "feffe9928665731c6d6a8f9467308308feffe9928665731ccafebabe",
        iv: "facedbaddecaf888",
        associated: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        text: "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72 \
             1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        sealed: "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c \
             7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710",
        tag: "2519498e80f1478f37ba55bd6d27618c",
    },
    AeadAnswer {
        source: "McGrew and Viega, \"The Galois/Counter Mode of Operation\", test case 14",
        aead: Aead::AesGcm16(AesKeySize::Aes256),
        key: "0000000000000000000000000000000000000000000000000000000000000000 \
             00000000",
        iv: "0000000000000000",
        associated: "",
        text: "00000000000000000000000000000000",
        sealed: "cea7403d4d606b6e074ec5d3baf39d18",
        tag: "d0d1c8a799996bf0265b98b5d48ab919",
    },
    AeadAnswer {
        source: "McGrew and Viega, \"The Galois/Counter Mode of Operation\", test case 16",
        aead: Aead::AesGcm16(AesKeySize::Aes256),
        key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308 \
             cafebabe",
        iv: "facedbaddecaf888",
        associated: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
        text: "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72 \
             1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        sealed: "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa \
             8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
        tag: "76fc6ece0f4e1768cddf8853bb2d551b",
    },
    AeadAnswer {
        source: "RFC 7634 appendix A",
        aead: Aead::ChaCha20Poly1305,
        key: "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f \
             a0a1a2a3",
        iv: "1011121314151617",
        associated: "0102030400000005",
        text: "45000054a6f200004001e778c6336405c000020508005b7a3a080000553bec10 \
             0007362708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223 \
             2425262728292a2b2c2d2e2f303132333435363701020204",
        sealed: "24039428b97f417e3c13753a4f05087b67c352e6a7fab1b982d466ef407ae5c6 \
             14ee8099d52844eb61aa95dfab4c02f72aa71e7c4c4f64c9befe2facc638e8f3 \
             cbec163fac469b502773f6fb94e664da9165b82829f641e0",
        tag: "76aaa8266b7fb0f7b11b369907e1ad43",
    },
    AeadAnswer {
        source: "RFC 7634 appendix B",
        aead: Aead::ChaCha20Poly1305,
        key: "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f \
             a0a1a2a3",
        iv: "1011121314151617",
        associated: "c0c1c2c3c4c5c6c7d0d1d2d3d4d5d6d72e202500000000090000004529000029",
        text: "0000000c000040010000000a00",
        sealed: "610394701f8d017f7c12924889",
        tag: "6b71bfe25236efd7cdc67066906315b2",
    },
    AeadAnswer {
        source: "RFC 8439 section 2.8.2",
        aead: Aead::ChaCha20Poly1305,
        key: "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f \
             07000000",
        iv: "4041424344454647",
        associated: "50515253c0c1c2c3c4c5c6c7",
        text: "4c616469657320616e642047656e746c656d656e206f662074686520636c6173 \
             73206f66202739393a204966204920636f756c64206f6666657220796f75206f \
             6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73 \
             637265656e20776f756c642062652069742e",
        sealed: "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6 \
             3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36 \
             92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc \
             3ff4def08e4b7a9de576d26586cec64b6116",
        tag: "1ae10b594f09e26a7e902ecbd0600691",
    },
];
