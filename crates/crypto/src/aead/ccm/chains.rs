//! Messages on their way through the lanes: where one ends, the next begins.

use weir_simd::Tier;

use super::MOST_PACKETS;
use super::message::Message;
use crate::cipher::{Block, MOST_ROUND_KEYS, rounds};
use crate::mode::{ChainLanes, MOST_CHAINS};
use crate::simd::wipe;
use crate::suite::AesKeySize;
use crate::tags::Tags;

/// Bytes of each message that are chained at once.
const CHUNK: usize = 256;

pub(super) struct Chains<'a> {
    chains: ChainLanes,
    lanes: [Option<Lane<'a>>; MOST_CHAINS],
    scratch: [[u8; CHUNK]; MOST_CHAINS],
}

struct Lane<'a> {
    /// Where the last block of the chain goes.
    place: usize,
    message: Message<'a>,
}

impl<'a> Chains<'a> {
    /// Lanes for keys of one size.
    pub(super) fn new(tier: Tier, size: AesKeySize) -> Chains<'a> {
        Chains {
            chains: ChainLanes::new(tier, rounds(size)),
            lanes: [const { None }; MOST_CHAINS],
            scratch: [[0; CHUNK]; MOST_CHAINS],
        }
    }

    /// Takes a message in; chains that end meanwhile go to their places.
    pub(super) fn submit(
        &mut self,
        place: usize,
        round_keys: &[Block; MOST_ROUND_KEYS],
        message: Message<'a>,
        ends: &mut Tags<MOST_PACKETS>,
    ) {
        let free = loop {
            let lanes = &self.lanes[..self.chains.lanes()];
            if let Some(free) = lanes.iter().position(Option::is_none) {
                break free;
            }
            self.advance(ends);
        };
        self.chains.begin(free, round_keys);
        self.lanes[free] = Some(Lane { place, message });
    }

    /// Brings all chains to their end.
    pub(super) fn finish(&mut self, ends: &mut Tags<MOST_PACKETS>) {
        while self.lanes.iter().any(Option::is_some) {
            self.advance(ends);
        }
    }

    /// Advances all chains by a chunk, or to the end of the shortest message.
    fn advance(&mut self, ends: &mut Tags<MOST_PACKETS>) {
        let left = self.lanes.iter().flatten().map(|lane| lane.message.bytes());
        let bytes = left.min().unwrap_or(0).min(CHUNK);
        let mut texts = [const { None }; MOST_CHAINS];
        let lanes = self.lanes.iter_mut().zip(&mut self.scratch);
        for (text, (lane, scratch)) in texts.iter_mut().zip(lanes) {
            if let Some(lane) = lane {
                let scratch = &mut scratch[..bytes];
                lane.message.fill(scratch);
                *text = Some(scratch);
            }
        }
        self.chains.absorb(texts);
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            if let Some(ended) = lane.take_if(|lane| lane.message.bytes() == 0) {
                ends.set(ended.place, self.chains.last(index));
            }
        }
    }
}

/// Texts went through the scratch.
impl Drop for Chains<'_> {
    fn drop(&mut self) {
        wipe(&mut self.scratch);
    }
}
