//! Keys from a key.
//!
//! Block i of the stream of a label is AES of the label and i, each a big-endian
//! number of 8 bytes, with i from 1: the KDF of RFC 4418 section 3.2.1, whose
//! labels are the numbers from 0 to 4. Labels of other schemes are eight letters,
//! so that one key serves them all and no stream is used for two things.

use weir_simd::Tier;

use crate::cipher::Block;
use crate::mode::ecb;

/// What a stream of key is for.
#[derive(Clone, Copy)]
pub(crate) struct Label(pub(crate) [u8; 8]);

impl Label {
    /// Of RFC 4418.
    pub(crate) const fn number(index: u64) -> Label {
        Label(index.to_be_bytes())
    }

    /// The block that is encrypted to block `counter` of the stream.
    pub(crate) const fn block(self, counter: u64) -> Block {
        let number = (u64::from_be_bytes(self.0) as u128) << 64 | counter as u128;
        number.to_be_bytes()
    }
}

/// Fills `stream` from its first block on, under the round keys of the key.
pub(crate) fn fill(tier: Tier, round_keys: &[Block], label: Label, stream: &mut [Block]) {
    for (counter, block) in (1..).zip(&mut *stream) {
        *block = label.block(counter);
    }
    ecb::encrypt(tier, round_keys, stream);
}
