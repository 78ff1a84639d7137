//! Messages to be tagged, and the secrets for it.

use crate::numbers::Numbers;

/// A secret of the most bytes that any of the MACs takes for a key; a MAC with a
/// shorter one takes its beginning.
pub type Secret = [u8; 32];

/// A tag, or its beginning and whatever a subject left behind it.
pub type Tag = [u8; 16];

/// Keys, and messages of a batch.
pub const KEYS: usize = 64;

/// Where a message carries its counter.
const COUNTER: std::ops::Range<usize> = 8..16;

/// Messages begin where cache lines do.
const ALIGNMENT_BYTES: usize = 64;

/// A batch of messages of one size.
pub struct Messages {
    memory: Vec<u8>,
    /// Where the first message begins.
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
    /// Messages of so many bytes, at least 16; what they say means nothing.
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

    /// The tags' first bytes, as they were written last.
    pub fn tags(&self, bytes: usize) -> impl Iterator<Item = &[u8]> {
        self.tags.iter().map(move |tag| &tag[..bytes])
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

/// Different secrets for all keys. They protect nothing.
pub fn secrets() -> [Secret; KEYS] {
    let mut numbers = Numbers(1);
    std::array::from_fn(|_| std::array::from_fn(|_| numbers.next() as u8))
}
