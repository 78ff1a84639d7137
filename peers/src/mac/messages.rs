//! Messages to be tagged, and the secrets for it.

use crate::numbers::Numbers;

/// A secret as long as the longest key of these MACs; a MAC with shorter keys takes its
/// beginning.
pub type Secret = [u8; 32];

/// A tag; behind a shorter one the bytes have no meaning.
pub type Tag = [u8; 16];

/// Number of keys, and of messages in a batch.
pub const KEYS: usize = 64;

/// Position of a message's counter.
const COUNTER: std::ops::Range<usize> = 8..16;

/// Messages begin where cache lines do.
const ALIGNMENT_BYTES: usize = 64;

/// A batch of messages of one size.
pub struct Messages {
    memory: Vec<u8>,
    /// Position of the first message.
    start: usize,
    stride: usize,
    bytes: usize,
    keys: [u32; KEYS],
    nonces: [[u8; 16]; KEYS],
    tags: [Tag; KEYS],
}

/// The parts of a batch, each for all messages in order.
pub struct Batch<'a> {
    /// The messages, the first at the start, each `stride` bytes behind the one
    /// before.
    pub memory: &'a mut [u8],
    pub stride: usize,
    /// Of each message.
    pub bytes: usize,
    /// Numbers of the messages' keys.
    pub keys: &'a [u32],
    /// Four zeros, as salt, the counter, and four zeros.
    pub nonces: &'a [[u8; 16]],
    pub tags: &'a mut [Tag],
}

impl Messages {
    /// Random messages of `bytes` bytes, at least 16.
    pub fn new(bytes: usize) -> Messages {
        let stride = bytes.next_multiple_of(ALIGNMENT_BYTES) + ALIGNMENT_BYTES;
        let mut numbers = Numbers(bytes as u64);
        let mut memory = vec![0; KEYS * stride + ALIGNMENT_BYTES];
        let start = memory.as_ptr().align_offset(ALIGNMENT_BYTES) % ALIGNMENT_BYTES;
        memory[start..][..KEYS * stride].copy_from_slice(&numbers.bytes(KEYS * stride));
        let mut keys = std::array::from_fn(|index| index as u32);
        for index in (1..KEYS).rev() {
            keys.swap(index, numbers.below(index + 1));
        }
        Messages {
            memory,
            start,
            stride,
            bytes,
            keys,
            nonces: [[0; 16]; KEYS],
            tags: [[0; 16]; KEYS],
        }
    }

    /// The batch whose messages have this counter.
    #[inline]
    pub fn batch(&mut self, counter: u64) -> Batch<'_> {
        let counter = counter.to_be_bytes();
        for nonce in &mut self.nonces {
            nonce[4..12].copy_from_slice(&counter);
        }
        let mut batch = Batch {
            memory: &mut self.memory[self.start..][..KEYS * self.stride],
            stride: self.stride,
            bytes: self.bytes,
            keys: &self.keys,
            nonces: &self.nonces,
            tags: &mut self.tags,
        };
        for message in batch.messages_and_tags().0 {
            message[COUNTER].copy_from_slice(&counter);
        }
        batch
    }

    /// The tags' first bytes, as they were written last: beside the messages, or behind each.
    pub fn tags(&self, are_behind: bool, bytes: usize) -> Vec<Vec<u8>> {
        let slots = self.memory[self.start..].chunks_exact(self.stride);
        let behind = slots.map(|slot| &slot[self.bytes..]);
        let beside = self.tags.iter().map(|tag| &tag[..]);
        let first_bytes = |tag: &[u8]| tag[..bytes].to_vec();
        match are_behind {
            true => behind.take(KEYS).map(first_bytes).collect(),
            false => beside.map(first_bytes).collect(),
        }
    }
}

impl Batch<'_> {
    /// The messages, and their tags to be written.
    #[inline]
    pub fn messages_and_tags(
        &mut self,
    ) -> (
        impl Iterator<Item = &mut [u8]>,
        impl Iterator<Item = &mut Tag>,
    ) {
        let bytes = self.bytes;
        let slots = self.memory.chunks_exact_mut(self.stride);
        let messages = slots.map(move |slot| &mut slot[..bytes]);
        (messages, self.tags.iter_mut())
    }
}

/// Different secrets for all keys, for measurements only.
pub fn secrets() -> [Secret; KEYS] {
    let mut numbers = Numbers(1);
    std::array::from_fn(|_| std::array::from_fn(|_| numbers.next() as u8))
}
