//! Published answers of the MACs, under keys of the length that ESP uses.

use super::MacAnswer;
use crate::suite::Mac;

pub(super) const MACS: &[MacAnswer] = &[
    MacAnswer {
        source: "RFC 2202 section 3 test case 1",
        mac: Mac::HmacSha1_96,
        key: "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
        message: "4869205468657265",
        tag: "b617318655057264e28bc0b6",
    },
    MacAnswer {
        source: "RFC 2202 section 3 test case 3",
        mac: Mac::HmacSha1_96,
        key: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        message: "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd \
             dddddddddddddddddddddddddddddddddddd",
        tag: "125d7342b9ac11cd91a39af4",
    },
    MacAnswer {
        source: "RFC 2202 section 3 test case 5",
        mac: Mac::HmacSha1_96,
        key: "0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c",
        message: "546573742057697468205472756e636174696f6e",
        tag: "4c1a03424b55e07fe7f27be1",
    },
    MacAnswer {
        source: "RFC 4868 section 2.7.2 AUTH256-1",
        mac: Mac::HmacSha2_256_128,
        key: "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
        message: "4869205468657265",
        tag: "198a607eb44bfbc69903a0f1cf2bbdc5",
    },
    MacAnswer {
        source: "RFC 4868 section 2.7.2 AUTH256-2",
        mac: Mac::HmacSha2_256_128,
        key: "4a6566654a6566654a6566654a6566654a6566654a6566654a6566654a656665",
        message: "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
        tag: "167f928588c5cc2eef8e3093caa0e87c",
    },
    MacAnswer {
        source: "RFC 4868 section 2.7.2 AUTH256-3",
        mac: Mac::HmacSha2_256_128,
        key: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        message: "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd \
             dddddddddddddddddddddddddddddddddddd",
        tag: "cdcb1220d1ecccea91e53aba3092f962",
    },
    MacAnswer {
        source: "RFC 4868 section 2.7.2 AUTH256-4",
        mac: Mac::HmacSha2_256_128,
        key: "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20",
        message: "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd \
             cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd",
        tag: "372efcf9b40b35c2115b1346903d2ef4",
    },
    MacAnswer {
        source: "RFC 4868 section 2.7.2 AUTH384-1",
        mac: Mac::HmacSha2_384_192,
        key: "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b \
             0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
        message: "4869205468657265",
        tag: "b6a8d5636f5c6a7224f9977dcf7ee6c7fb6d0c48cbdee973",
    },
    MacAnswer {
        source: "RFC 4868 section 2.7.2 AUTH384-2",
        mac: Mac::HmacSha2_384_192,
        key: "4a6566654a6566654a6566654a6566654a6566654a6566654a6566654a656665 \
             4a6566654a6566654a6566654a656665",
        message: "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
        tag: "2c7353974f1842fd66d53c452ca42122b28c0b594cfb184d",
    },
    MacAnswer {
        source: "RFC 4868 section 2.7.2 AUTH384-3",
        mac: Mac::HmacSha2_384_192,
        key: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa \
             aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        message: "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd \
             dddddddddddddddddddddddddddddddddddd",
        tag: "809f439be00274321d4a538652164b53554a508184a0c316",
    },
    MacAnswer {
        source: "RFC 4868 section 2.7.2 AUTH512-1",
        mac: Mac::HmacSha2_512_256,
        key: "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b \
             0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
        message: "4869205468657265",
        tag: "637edc6e01dce7e6742a99451aae82df23da3e92439e590e43e761b33e910fb8",
    },
    MacAnswer {
        source: "RFC 4868 section 2.7.2 AUTH512-2",
        mac: Mac::HmacSha2_512_256,
        key: "4a6566654a6566654a6566654a6566654a6566654a6566654a6566654a656665 \
             4a6566654a6566654a6566654a6566654a6566654a6566654a6566654a656665",
        message: "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
        tag: "cb370917ae8a7ce28cfd1d8f4705d6141c173b2a9362c15df235dfb251b15454",
    },
    MacAnswer {
        source: "RFC 4868 section 2.7.2 AUTH512-3",
        mac: Mac::HmacSha2_512_256,
        key: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa \
             aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        message: "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd \
             dddddddddddddddddddddddddddddddddddd",
        tag: "2ee7acd783624ca9398710f3ee05ae41b9f9b0510c87e49e586cc9bf961733d8",
    },
];
