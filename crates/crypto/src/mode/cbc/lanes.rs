//! AES-CBC encryption across packets: each lane chains a packet under a key of
//! its own, and takes the next when that ends.

use super::simd::{self, KeyTable, MOST_LANES};
use crate::cipher::{AesRoundKeys, Block};

/// Something with a text to encrypt.
pub(crate) trait Chained {
    /// The text; a partial block at its end, which suites do not allow, is left
    /// alone.
    fn text(&mut self) -> &mut [u8];
}

/// Memory that the lanes work in, kept apart so that it is never moved.
pub(crate) struct CbcRoom {
    keys: KeyTable,
    chains: [Block; MOST_LANES],
}

impl CbcRoom {
    /// Room for keys of the same size as this one.
    pub(crate) fn new(like: &AesRoundKeys) -> CbcRoom {
        CbcRoom {
            keys: KeyTable::new(like.rounds),
            chains: [[0; 16]; MOST_LANES],
        }
    }
}

/// Packets on their way through the lanes, under keys of one size and tier.
pub(crate) struct CbcLanes<'r, M> {
    like: &'r AesRoundKeys,
    lanes: [Lane<M>; MOST_LANES],
    /// A bit for each lane that has a packet.
    active: u32,
    room: &'r mut CbcRoom,
}

/// A packet and how far it has come.
struct Lane<M> {
    packet: Option<M>,
    at: usize,
    bytes_left: usize,
}

impl<'r, M: Chained> CbcLanes<'r, M> {
    /// Lanes for keys of the same size and tier as this one.
    pub(crate) fn new(like: &'r AesRoundKeys, room: &'r mut CbcRoom) -> Self {
        CbcLanes {
            like,
            lanes: std::array::from_fn(|_| Lane {
                packet: None,
                at: 0,
                bytes_left: 0,
            }),
            active: 0,
            room,
        }
    }

    /// Takes a packet in, with a key of the lanes' size and tier; it is encrypted in
    /// place. Packets that end meanwhile go to `done`.
    pub(crate) fn submit(
        &mut self,
        mut packet: M,
        keys: &AesRoundKeys,
        iv: &Block,
        done: &mut impl FnMut(M),
    ) {
        let bytes = packet.text().len() / size_of::<Block>() * size_of::<Block>();
        if bytes == 0 {
            return done(packet);
        }
        let free = loop {
            let free = self.active.trailing_ones() as usize;
            if free < simd::lanes(self.like.tier) {
                break free;
            }
            self.advance(done);
        };
        self.lanes[free] = Lane {
            packet: Some(packet),
            at: 0,
            bytes_left: bytes,
        };
        self.room.keys.set(free, &keys.keys);
        self.room.chains[free] = *iv;
        self.active |= 1 << free;
    }

    /// Brings all packets to their end.
    pub(crate) fn finish(&mut self, done: &mut impl FnMut(M)) {
        while self.active != 0 {
            self.advance(done);
        }
    }

    /// Advances all lanes to the end of the shortest text.
    fn advance(&mut self, done: &mut impl FnMut(M)) {
        let mut texts = [const { None }; MOST_LANES];
        let mut bytes = usize::MAX;
        for (text, lane) in texts.iter_mut().zip(&mut self.lanes) {
            if let Some(packet) = &mut lane.packet {
                *text = packet.text().get_mut(lane.at..);
                bytes = bytes.min(lane.bytes_left);
            }
        }
        let CbcRoom { keys, chains } = &mut *self.room;
        let blocks = bytes / size_of::<Block>();
        simd::encrypt(self.like.tier, keys, chains, &mut texts, blocks);
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            if lane.packet.is_some() {
                lane.at += bytes;
                lane.bytes_left -= bytes;
                if lane.bytes_left == 0
                    && let Some(packet) = lane.packet.take()
                {
                    self.active &= !(1 << index);
                    done(packet);
                }
            }
        }
    }
}
