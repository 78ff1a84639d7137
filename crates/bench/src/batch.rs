//! The packets that are processed.

use weir_crypto::{BATCH_PACKETS, Descriptor, KeyId, Layout, Suite};

/// Most bytes of a batch, so that it stays in a cache beside its keys.
const MAX_BYTES: usize = 256 << 10;

/// Payloads begin where cache lines do.
const LINE_BYTES: usize = 64;

/// Packets whose payloads mean nothing, in one buffer, and whose key each needs.
#[derive(Clone)]
pub(crate) struct Packets {
    pub(crate) buffer: Vec<u8>,
    /// Bytes from one packet to the next.
    stride: usize,
    /// Where in its part of the buffer a packet begins.
    start: usize,
    layout: Layout,
    /// Indices of keys.
    pub(crate) keys: Vec<usize>,
}

impl Packets {
    /// As many packets of `suite` as a batch has, whose keys are in no order.
    pub(crate) fn new(suite: Suite, layout: Layout, keys: usize, numbers: &mut Numbers) -> Packets {
        let payload_bytes = layout.payload_bytes as usize;
        let ahead_bytes = usize::from(layout.aad_bytes) + suite.iv_bytes();
        let front_bytes = ahead_bytes.next_multiple_of(LINE_BYTES);
        let stride = front_bytes + (payload_bytes + suite.tag_bytes()).next_multiple_of(LINE_BYTES);
        let count = MAX_BYTES / payload_bytes.next_multiple_of(LINE_BYTES);
        let count = count.clamp(1, BATCH_PACKETS);
        Packets {
            buffer: (0..count * stride).map(|_| numbers.next() as u8).collect(),
            stride,
            start: front_bytes - ahead_bytes,
            layout,
            keys: (0..count).map(|_| numbers.below(keys)).collect(),
        }
    }

    /// Packets of the batch.
    pub(crate) fn count(&self) -> usize {
        self.keys.len()
    }

    /// Describes each packet.
    pub(crate) fn descriptors<'a>(
        &self,
        keys: &'a [KeyId],
    ) -> impl Iterator<Item = Descriptor> + use<'a, '_> {
        let offsets = (self.start..).step_by(self.stride);
        let layout = self.layout;
        self.keys
            .iter()
            .zip(offsets)
            .map(move |(key, offset)| Descriptor {
                key: keys[*key],
                context: 0,
                // A batch has less than a MiB.
                offset: offset as u32,
                layout,
            })
    }
}

/// Secret bytes that protect nothing.
pub(crate) fn secret(numbers: &mut Numbers, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|_| numbers.next() as u8).collect()
}

/// SplitMix64 (Steele, Lea and Flood 2014): the same numbers in every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_as_large_as_they_may_be() {
        let suite = Suite::parse("aes-128-gcm-16").expect("a suite");
        for (bytes, count) in [(16, 256), (1000, 256), (1420, 178), (9000, 29), (65_535, 4)] {
            let layout = Layout {
                payload_bytes: bytes,
                aad_bytes: 8,
                ..Layout::default()
            };
            let packets = Packets::new(suite, layout, 3, &mut Numbers(1));
            assert_eq!(packets.count(), count, "{bytes}");
            assert!(packets.keys.iter().all(|key| *key < 3));
            let last = packets
                .descriptors(&[KeyId::default(); 3])
                .last()
                .expect("a packet");
            let end = last.offset as usize + 8 + 8 + bytes as usize + 16;
            assert!(end <= packets.buffer.len());
        }
    }
}
