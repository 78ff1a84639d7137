//! Packets laid out in one buffer, at any alignment, between guard bytes.

use weir_crypto::{
    BATCH_PACKETS, Descriptor, KeyId, Layout, OpenBatch, Opener, SealBatch, Sealer, Verdicts,
};

use super::{Packet, RawKey};

const GUARD: u8 = 0xa5;

/// Packets in a buffer.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Laid {
    pub buffer: Vec<u8>,
    /// The packets, whose keys are still to be named.
    pub packets: Vec<Descriptor>,
    /// In which order batches take them.
    pub order: Vec<usize>,
    /// Bytes of each packet's IV and tag.
    ends: Vec<(usize, usize)>,
}

impl Laid {
    /// Packets one behind the other.
    pub fn of(packets: &[Packet]) -> Laid {
        let mut laid = Laid::default();
        for packet in packets {
            laid.push(0, 0, packet.esn, packet.parts());
        }
        laid
    }

    /// Puts a packet behind the others, with `skipped` guard bytes in front of it
    /// and a gap of `gap` guard bytes behind its AAD.
    pub fn push(&mut self, skipped: usize, gap: usize, esn: bool, parts: [&[u8]; 4]) {
        let [aad, iv, payload, tag] = parts;
        self.guard(skipped);
        self.order.push(self.packets.len());
        self.packets.push(Descriptor {
            key: KeyId::default(),
            context: 0,
            offset: self.buffer.len().try_into().expect("a short buffer"),
            layout: Layout {
                payload_bytes: payload.len().try_into().expect("a short payload"),
                aad_bytes: aad.len().try_into().expect("short AAD"),
                gap_bytes: gap.try_into().expect("a short gap"),
                esn,
            },
        });
        self.ends.push((iv.len(), tag.len()));
        self.buffer.extend_from_slice(aad);
        self.guard(gap);
        for part in [iv, payload, tag] {
            self.buffer.extend_from_slice(part);
        }
    }

    /// Seals all packets in batches as large as can be; `push` takes each into its batch.
    /// Returns which are good.
    pub fn seal(
        &mut self,
        sealer: &mut Sealer,
        mut push: impl FnMut(&mut SealBatch<'_>, usize, Descriptor),
    ) -> Vec<bool> {
        let mut good = vec![false; self.packets.len()];
        for order in self.order.chunks(BATCH_PACKETS) {
            let mut batch = sealer.batch(&mut self.buffer);
            for &index in order {
                push(&mut batch, index, self.packets[index]);
            }
            keep(&mut good, order, &batch.run());
        }
        good
    }

    /// Opens all packets in batches as large as can be; `push` takes each into its batch.
    /// Returns which are good.
    pub fn open(
        &mut self,
        opener: &mut Opener,
        mut push: impl FnMut(&mut OpenBatch<'_>, usize, Descriptor),
    ) -> Vec<bool> {
        let mut good = vec![false; self.packets.len()];
        for order in self.order.chunks(BATCH_PACKETS) {
            let mut batch = opener.batch(&mut self.buffer);
            for &index in order {
                push(&mut batch, index, self.packets[index]);
            }
            keep(&mut good, order, &batch.run());
        }
        good
    }

    /// Seals all packets under one key; returns their numbers.
    pub fn seal_under(&mut self, sealer: &mut Sealer, key: KeyId) -> Vec<u64> {
        let mut numbers = vec![0; self.packets.len()];
        let good = self.seal(sealer, |batch, index, packet| {
            numbers[index] = batch
                .push(Descriptor { key, ..packet })
                .expect("a packet that fits");
        });
        assert!(good.into_iter().all(|good| good));
        numbers
    }

    /// Seals all packets, each under a one-time key of these bytes, with these numbers.
    pub fn seal_once(&mut self, sealer: &mut Sealer, key: &RawKey, numbers: &[u64]) {
        let good = self.seal(sealer, |batch, index, packet| {
            let key = batch
                .add_one_time_key(key.suite, &key.key, &key.integrity_key)
                .expect("lengths are the suite's");
            batch
                .push_numbered(Descriptor { key, ..packet }, numbers[index])
                .expect("a packet that fits");
        });
        assert!(good.into_iter().all(|good| good));
    }

    /// Opens all packets under one key; each must be authentic.
    pub fn open_under(&mut self, opener: &mut Opener, key: KeyId, numbers: &[u64]) {
        let good = self.open(opener, |batch, index, packet| {
            batch
                .push_numbered(Descriptor { key, ..packet }, numbers[index])
                .expect("a packet that fits");
        });
        assert!(good.into_iter().all(|good| good));
    }

    /// Opens all packets, each under a one-time key of these bytes; each must be authentic.
    pub fn open_once(&mut self, opener: &mut Opener, key: &RawKey, numbers: &[u64]) {
        let good = self.open(opener, |batch, index, packet| {
            let key = batch
                .add_one_time_key(key.suite, &key.key, &key.integrity_key)
                .expect("lengths are the suite's");
            batch
                .push_numbered(Descriptor { key, ..packet }, numbers[index])
                .expect("a packet that fits");
        });
        assert!(good.into_iter().all(|good| good));
    }

    /// A packet's AAD, IV, payload and tag.
    pub fn parts(&self, index: usize) -> [&[u8]; 4] {
        let Descriptor { offset, layout, .. } = self.packets[index];
        let (iv_bytes, tag_bytes) = self.ends[index];
        let (aad, rest) = self.buffer[offset as usize..].split_at(layout.aad_bytes.into());
        let (iv, rest) = rest[usize::from(layout.gap_bytes)..].split_at(iv_bytes);
        let (payload, rest) = rest.split_at(layout.payload_bytes as usize);
        [aad, iv, payload, &rest[..tag_bytes]]
    }

    pub fn payload(&self, index: usize) -> &[u8] {
        self.parts(index)[2]
    }

    /// Flips a bit of one of the parts of a packet.
    pub fn flip(&mut self, index: usize, part: usize, bit: usize) {
        let at = self.offset_of(self.parts(index)[part]);
        self.buffer[at + bit / 8] ^= 1 << (bit % 8);
    }

    /// Whether what belongs to no packet is as it was.
    pub fn is_guarded(&self) -> bool {
        let mut others = vec![true; self.buffer.len()];
        for index in 0..self.packets.len() {
            for part in self.parts(index) {
                let at = self.offset_of(part);
                others[at..at + part.len()].fill(false);
            }
        }
        let mut others = self.buffer.iter().zip(others);
        others.all(|(byte, is_other)| !is_other || *byte == GUARD)
    }

    fn offset_of(&self, part: &[u8]) -> usize {
        part.as_ptr().addr() - self.buffer.as_ptr().addr()
    }

    fn guard(&mut self, bytes: usize) {
        self.buffer.resize(self.buffer.len() + bytes, GUARD);
    }
}

/// Keeps the verdicts of a batch, whose packets came in this order.
fn keep(good: &mut [bool], order: &[usize], verdicts: &Verdicts) {
    assert_eq!(verdicts.len(), order.len());
    for (&index, is_good) in order.iter().zip(verdicts.iter()) {
        good[index] = is_good;
    }
}
