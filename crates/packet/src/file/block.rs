//! Blocks of capture bytes that records point into, and the pool that recycles them.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Usual capacity of a block. It is written by one `read` and then scanned, so
/// it should stay in the L2 cache in between.
pub const BLOCK_BYTES: usize = 256 * 1024;

/// Immutable bytes that records point into, shared without copying. A reader
/// reuses its blocks once no record refers to them.
pub struct Block {
    /// Capacity; the first `used` bytes hold data.
    bytes: Box<[u8]>,
    used: usize,
}

impl Block {
    fn with_capacity(capacity: usize) -> Self {
        Block {
            bytes: vec![0; capacity].into_boxed_slice(),
            used: 0,
        }
    }

    /// The part of the first `limit` bytes that holds no data yet.
    pub(super) fn spare_mut(&mut self, limit: usize) -> &mut [u8] {
        let limit = limit.min(self.bytes.len());
        let used = self.used.min(limit);
        &mut self.bytes[used..limit]
    }

    /// Counts `bytes` that were written into [`Self::spare_mut`].
    pub(super) fn extend_used(&mut self, bytes: usize) {
        self.used = (self.used + bytes).min(self.bytes.len());
    }

    /// Replaces the data.
    fn refill(&mut self, data: &[u8]) {
        self.bytes[..data.len()].copy_from_slice(data);
        self.used = data.len();
    }
}

impl Deref for Block {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

/// A custom block, for records that come from no reader.
impl From<Vec<u8>> for Block {
    fn from(bytes: Vec<u8>) -> Self {
        Block {
            used: bytes.len(),
            bytes: bytes.into_boxed_slice(),
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({} bytes)", self.used)
    }
}

/// Keeps a handle on each block it lent, and lends a block again once that
/// handle is the only one left.
#[derive(Default)]
pub(super) struct BlockPool {
    lent: Vec<Arc<Block>>,
}

impl BlockPool {
    /// A block that holds `data` and has at least `capacity` bytes.
    pub fn take(&mut self, data: &[u8], capacity: usize) -> Block {
        let capacity = capacity.max(data.len());
        let mut block = match self.reclaim() {
            Some(block) if block.bytes.len() >= capacity => block,
            _ => Block::with_capacity(capacity),
        };
        block.refill(data);
        block
    }

    /// Makes a filled block shareable and remembers it.
    pub fn share(&mut self, block: Block) -> Arc<Block> {
        let block = Arc::new(block);
        if self.lent.len() < Self::MAX_LENT {
            self.lent.push(Arc::clone(&block));
        }
        block
    }

    /// Takes back a block that was not shared after all.
    pub fn put_back(&mut self, block: Block) {
        self.share(block);
    }

    fn reclaim(&mut self) -> Option<Block> {
        let free = self
            .lent
            .iter()
            .position(|block| Arc::strong_count(block) == 1)?;
        Arc::into_inner(self.lent.swap_remove(free))
    }

    /// Further blocks are not recycled, so that the memory of the pool stays bounded: a
    /// caller that holds more pays for allocations.
    const MAX_LENT: usize = 32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_recycled_only_when_nobody_holds_it() {
        let mut pool = BlockPool::default();
        let first = pool.take(b"abc", 64);
        let first_address = first.bytes.as_ptr();
        let held = pool.share(first);

        let second = pool.take(b"", 64);
        assert_ne!(second.bytes.as_ptr(), first_address);
        assert_eq!(&held[..], b"abc");

        drop(held);
        let third = pool.take(b"de", 64);
        assert_eq!(third.bytes.as_ptr(), first_address);
        assert_eq!(&third[..], b"de");
    }

    #[test]
    fn a_block_too_small_is_replaced() {
        let mut pool = BlockPool::default();
        let small = pool.take(b"", 16);
        drop(pool.share(small));
        let mut large = pool.take(b"xy", 32);
        assert_eq!(large.spare_mut(32).len(), 30);
        assert_eq!(large.spare_mut(16).len(), 14);
    }

    #[test]
    fn the_pool_stops_growing() {
        let mut pool = BlockPool::default();
        let held: Vec<_> = (0..100)
            .map(|_| {
                let block = pool.take(b"", 8);
                pool.share(block)
            })
            .collect();
        assert_eq!(pool.lent.len(), BlockPool::MAX_LENT);
        assert_eq!(held.len(), 100);
    }
}
