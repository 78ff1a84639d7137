//! Long packets against the specification. All lengths, batches and damages are
//! tested through the batch interface, with those of the other suites.

use std::array::from_fn;

use weir_simd::for_each_tier;

use crate::batch::{Descriptor, Layout, Sealer};
use crate::keys::{IvSource, KeyMaterial, SealingKey};
use crate::suite::{Aead, Suite, UniversalMac};

const MACS: [UniversalMac; 4] = [
    UniversalMac::Umac64,
    UniversalMac::Umac96,
    UniversalMac::Mmh96,
    UniversalMac::Mmh128,
];

const AAD: [u8; 8] = [0, 0, 0x10, 1, 0, 0, 0, 7];

const PAYLOAD_BYTES: usize = 1440;

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
            let suite = Suite::Aead(Aead::AesCtrMac(mac));
            let raw: [u8; 16] = from_fn(|i| i as u8);
            let material = KeyMaterial::new(suite, &raw, &[]).expect("16 bytes");
            let mut sealer = Sealer::at_tier(Some(tier));
            let key = SealingKey::at_tier(&material, 7.., IvSource::Random, tier);
            let key = sealer.add(key.expect("a key"));
            let payload: Vec<u8> = (0..PAYLOAD_BYTES).map(|i| (7 * i + 3) as u8).collect();
            let tag = vec![0; suite.tag_bytes()];
            let mut buffer = [&AAD[..], &[0; 8], &payload, &tag].concat();
            let mut batch = sealer.batch(&mut buffer);
            let layout = Layout {
                payload_bytes: PAYLOAD_BYTES as u32,
                aad_bytes: AAD.len() as u16,
                ..Layout::default()
            };
            let packet = Descriptor {
                key,
                layout,
                ..Descriptor::default()
            };
            assert_eq!(batch.push(packet), Ok(7));
            assert!(batch.run().all_good());
            let tag = &buffer[AAD.len() + 8 + PAYLOAD_BYTES..];
            let tag: String = tag.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(tag, expected, "{mac} {tier}");
        }
    });
}
