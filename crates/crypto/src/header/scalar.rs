//! The scalar reference implementation: four samples of a key at once, as bit planes.

use std::ptr;

use super::Lane;
use crate::cipher::bitslice::{BLOCKS, PlaneKeys};

/// Encrypts the sample of each lane.
pub(super) fn encrypt<const ROUND_KEYS: usize>(lanes: &mut [Lane<'_, ROUND_KEYS>]) {
    for alike in lanes.chunk_by_mut(|a, b| ptr::eq(a.round_keys, b.round_keys)) {
        let keys = PlaneKeys::new(alike[0].round_keys);
        for lanes in alike.chunks_mut(BLOCKS) {
            let mut blocks = [[0; 16]; BLOCKS];
            for (block, lane) in blocks.iter_mut().zip(&*lanes) {
                *block = *lane.block;
            }
            keys.encrypt(&mut blocks);
            for (lane, block) in lanes.iter_mut().zip(blocks) {
                *lane.block = block;
            }
        }
    }
}
