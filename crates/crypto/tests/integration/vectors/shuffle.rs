//! Batches of all sizes and orders, the same in every run.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The most packets of a batch.
const MAX_PACKETS: usize = weir_crypto::BATCH_PACKETS;

/// Random choices that depend on a seed alone.
pub struct Shuffle(ChaCha8Rng);

impl Shuffle {
    pub fn new(seed: u64) -> Shuffle {
        Shuffle(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number below `end`, every one about as likely.
    pub fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    pub fn bytes(&mut self, bytes: usize) -> Vec<u8> {
        let mut filled = vec![0; bytes];
        self.0.fill_bytes(&mut filled);
        filled
    }

    /// Fewer than `end` bytes.
    pub fn some_bytes(&mut self, end: usize) -> Vec<u8> {
        let bytes = self.below(end);
        self.bytes(bytes)
    }

    /// All numbers below `end`, in some order.
    pub fn order(&mut self, end: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..end).collect();
        for i in (1..end).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }

    /// All numbers below `end`, in some order, cut into batches of 1 to 256.
    /// Half of the batches are small: lanes then stay empty.
    pub fn batches(&mut self, end: usize) -> Vec<Vec<usize>> {
        let order = self.order(end);
        let mut batches = Vec::new();
        let mut rest = &order[..];
        while !rest.is_empty() {
            let max_packets = [MAX_PACKETS, 20][self.below(2)];
            let packets = (1 + self.below(max_packets)).min(rest.len());
            let batch;
            (batch, rest) = rest.split_at(packets);
            batches.push(batch.to_vec());
        }
        batches
    }
}
