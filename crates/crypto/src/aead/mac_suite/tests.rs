//! Long packets against the specification. All lengths, batches and damages are
//! tested through the job interface, with those of the other suites.

use std::array::from_fn;

use weir_simd::for_each_tier;

use super::{MacSuiteKey, process};
use crate::aead::{AeadJob, AeadKey, Parts};
use crate::cipher::Block;
use crate::suite::UniversalMac;

const MACS: [UniversalMac; 4] = [
    UniversalMac::Umac64,
    UniversalMac::Umac96,
    UniversalMac::Mmh96,
    UniversalMac::Mmh128,
];

struct Sealed<'k> {
    key: &'k MacSuiteKey,
    text: Vec<u8>,
    tag: Block,
}

impl AeadJob for Sealed<'_> {
    const OPEN: bool = false;

    fn packet(&mut self) -> Option<Parts<'_>> {
        Some(Parts {
            key: AeadKey::MacSuite(self.key),
            iv: [0, 0, 0, 0, 0, 0, 0, 7],
            associated: &[0, 0, 0x10, 1, 0, 0, 0, 7],
            text: &mut self.text,
        })
    }

    fn finish(&mut self, tag: &Block) {
        self.tag = *tag;
    }
}

/// The long packets of `docs/mac-suites.md`, by the implementation in Python:
/// more than one block of the MAC.
#[test]
fn long_packets_have_the_tags_of_the_page() {
    const TAGS: [&str; 4] = [
        "838783a711bdcd92",
        "305989d587630c0c04576ed2",
        "708fb5aeb23d3b0d9fa3daed",
        "d7bea14e14bb081e3fb83cbcf864e78d",
    ];
    for_each_tier(|tier| {
        for (mac, expected) in MACS.into_iter().zip(TAGS) {
            let raw: [u8; 16] = from_fn(|i| i as u8);
            let key = MacSuiteKey::new(tier, mac, &raw).expect("a key");
            let mut jobs = [Sealed {
                key: &key,
                text: (0..1440).map(|i| (7 * i + 3) as u8).collect(),
                tag: [0; 16],
            }];
            process(|_| tier, &mut jobs);
            let tag: String = jobs[0]
                .tag
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            assert_eq!(tag, format!("{expected:0<32}"), "{mac} {tier}");
        }
    });
}
