//! The start of packets' ciphers, for libraries in C.

use weir_crypto::Suite;

use super::packets::{Batch, FirstBlock, Secrets};
use super::packets::{counted_nonce, counter_block, received_nonce};

/// The nonce in a first block.
#[inline]
pub fn nonce(block: &FirstBlock) -> &[u8; 12] {
    let [nonce @ .., _, _, _, _] = block;
    nonce
}

/// First blocks of a whole batch, written before its packets are processed, as a
/// gateway writes headers. Store forwarding fails where a library reads bytes that were
/// just written in pieces of another size: a third of the time with ipsec-mb and 64
/// bytes.
pub struct FirstBlocks {
    suite: Suite,
    seals: bool,
    salts: Vec<[u8; 4]>,
    blocks: Vec<FirstBlock>,
}

impl FirstBlocks {
    /// For packets that are sealed or opened under these secrets.
    pub fn new(secrets: &Secrets, seals: bool) -> FirstBlocks {
        FirstBlocks {
            suite: secrets.suite(),
            seals,
            salts: secrets.iter().map(|secret| secret.salt).collect(),
            blocks: Vec::new(),
        }
    }

    /// The first blocks of a batch.
    pub fn write(&mut self, batch: &mut Batch<'_>) -> &[FirstBlock] {
        let counts = self.suite.iv_is_counter();
        self.blocks.clear();
        for packet in batch.reborrow().into_packets() {
            let turn = packet.turn;
            let salt = self.salts[turn.key];
            let iv = packet.into_parts().iv;
            self.blocks.push(match (counts, self.seals) {
                (true, true) => counter_block(counted_nonce(salt, turn, iv)),
                (true, false) => counter_block(received_nonce(salt, iv)),
                (false, _) => iv.first_chunk().copied().unwrap_or_default(),
            });
        }
        &self.blocks
    }
}
