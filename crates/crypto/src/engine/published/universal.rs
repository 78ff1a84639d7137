//! What universal-hash MACs must put out, all under the key `abcdefghijklmnop`
//! and the nonce `bcdefghi`.

/// The tags of one message in all four lengths.
#[derive(Clone, Copy)]
pub(crate) struct TagsAnswer {
    /// The message: this unit, in hexadecimal, so many times.
    pub(crate) unit: &'static str,
    pub(crate) count: usize,
    /// Of 4, 8, 12 and 16 bytes.
    pub(crate) tags: [&'static str; 4],
}

pub(crate) const KEY: &[u8; 16] = b"abcdefghijklmnop";

pub(crate) const NONCE: u64 = u64::from_be_bytes(*b"bcdefghi");

/// RFC 4418 appendix, which stops at tags of 12 bytes; the last four bytes are
/// those of OpenSSH's and of GNU Nettle's tests.
pub(crate) const UMAC: &[TagsAnswer] = &[
    TagsAnswer {
        unit: "",
        count: 0,
        tags: [
            "113145fb",
            "6e155fad26900be1",
            "32fedb100c79ad58f07ff764",
            "32fedb100c79ad58f07ff7643cc60465",
        ],
    },
    TagsAnswer {
        unit: "61",
        count: 3,
        tags: [
            "3b91d102",
            "44b5cb542f220104",
            "185e4fe905cba7bd85e4c2dc",
            "185e4fe905cba7bd85e4c2dc3d117d8d",
        ],
    },
    TagsAnswer {
        unit: "61",
        count: 1024,
        tags: [
            "599b350b",
            "26bf2f5d60118bd9",
            "7a54abe04af82d60fb298c3c",
            "7a54abe04af82d60fb298c3cbd195bcb",
        ],
    },
    TagsAnswer {
        unit: "61",
        count: 32768,
        tags: [
            "58dcf532",
            "27f8ef643b0d118d",
            "7b136bd911e4b734286ef2be",
            "7b136bd911e4b734286ef2be501f2c3c",
        ],
    },
    TagsAnswer {
        unit: "61",
        count: 1 << 20,
        tags: [
            "db6364d1",
            "a4477e87e9f55853",
            "f8acfa3ac31cfeea047f7b11",
            "f8acfa3ac31cfeea047f7b115b03bef5",
        ],
    },
    TagsAnswer {
        unit: "616263",
        count: 1,
        tags: [
            "abf3a3a0",
            "d4d7b9f6bd4fbfcf",
            "883c3d4b97a61976ffcf2323",
            "883c3d4b97a61976ffcf232308cba5a5",
        ],
    },
    TagsAnswer {
        unit: "616263",
        count: 500,
        tags: [
            "abeb3c8b",
            "d4cf26ddefd5c01a",
            "8824a260c53c66a36c9260a6",
            "8824a260c53c66a36c9260a62cb83aa1",
        ],
    },
];

/// Worked out by a program of a few lines that knows the definition only
/// ([`crate::mac`]): multiplication and remainder of whole numbers.
pub(crate) const MMH: &[TagsAnswer] = &[
    TagsAnswer {
        unit: "",
        count: 0,
        tags: [
            "9c88e134",
            "e2eea13939223a82",
            "0f04cd1237774a33ce38eac2",
            "37b7d6cdb65ab1071ad920644d84baa8",
        ],
    },
    TagsAnswer {
        unit: "61",
        count: 3,
        tags: [
            "dce13db3",
            "2248feb7ffc6d217",
            "4f5d2991fd1be3c87c96e2b0",
            "7710334c7cff499dc8361952c22e5f42",
        ],
    },
    TagsAnswer {
        unit: "61",
        count: 1024,
        tags: [
            "f7bd7ad7",
            "3d243bdc656dc554",
            "6a3966b563c2d5052cee46f2",
            "92ec6f70e2a53cda788e7d9351b2669d",
        ],
    },
    TagsAnswer {
        unit: "61",
        count: 1025,
        tags: [
            "5354e32a",
            "562b8c0d5a1918f9",
            "6aa70e72a7f0d511fd2da285",
            "64b80ba95373f9f11174ab912f3d0901",
        ],
    },
    TagsAnswer {
        unit: "616263",
        count: 500,
        tags: [
            "c7230b56",
            "764e5ab23f95ff30",
            "423d9ca3fd46117cf26c8d04",
            "c5e2fdf57e28d46623e25f1d5d622bd4",
        ],
    },
    TagsAnswer {
        unit: "61",
        count: 65536,
        tags: [
            "31de67dd",
            "bd70e2561438a100",
            "02850cd59a5f80904294d229",
            "e74e044a01c8d9f01601032f08ce4d62",
        ],
    },
];
