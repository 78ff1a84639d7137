//! What became of the packets of a batch.

use super::BATCH_PACKETS;

/// Which packets of a batch are good: sealed, or authentic and decrypted. Packets are numbered
/// from 0 in the order in which they were taken into the batch; those that were refused do not
/// count.
///
/// A packet is bad until its tag has been written or compared, so that one which a kernel
/// skipped is bad.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[must_use = "a packet may be used only where its verdict is good"]
pub struct Verdicts {
    good: [u64; BATCH_PACKETS / 64],
    packets: u16,
}

impl Verdicts {
    /// Of a batch whose packets are all bad so far.
    #[inline]
    pub(crate) fn none_of(packets: usize) -> Verdicts {
        Verdicts {
            good: [0; BATCH_PACKETS / 64],
            // A batch has at most 256.
            packets: packets as u16,
        }
    }

    #[inline(always)]
    pub(crate) fn set_good(&mut self, index: usize) {
        if let Some(word) = self.good.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }

    /// The packet is bad after all.
    pub(super) fn set_bad(&mut self, index: usize) {
        if let Some(word) = self.good.get_mut(index / 64) {
            *word &= !(1 << (index % 64));
        }
    }

    /// Of the four packets from `first` on, a multiple of four, those are good whose bit is set.
    #[inline(always)]
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "for kernels of x86-64")
    )]
    pub(crate) fn set_four_good(&mut self, first: usize, good: u8) {
        if let Some(word) = self.good.get_mut(first / 64) {
            *word |= u64::from(good & 0xf) << ((first % 64) & !3);
        }
    }

    /// The packets with these indexes are good.
    pub(super) fn set_all_good(&mut self, indexes: impl Iterator<Item = usize>) {
        indexes.for_each(|index| self.set_good(index));
    }

    /// Packets of the batch.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.packets)
    }

    /// Whether the batch had no packets.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Whether packet `index` is good. There are no good packets beyond the batch.
    #[inline]
    pub fn is_good(&self, index: usize) -> bool {
        let word = self.good.get(index / 64).copied().unwrap_or(0);
        word >> (index % 64) & 1 == 1
    }

    /// How many packets are good.
    #[inline]
    pub fn good(&self) -> usize {
        let ones = self.good.iter().map(|word| word.count_ones() as usize);
        ones.sum()
    }

    /// Whether all packets are.
    #[inline]
    pub fn all_good(&self) -> bool {
        self.good() == self.len()
    }

    /// The verdict of each packet, in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = bool> + '_ {
        (0..self.len()).map(|index| self.is_good(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_bad_until_they_are_good() {
        let mut verdicts = Verdicts::none_of(BATCH_PACKETS);
        assert_eq!((verdicts.good(), verdicts.all_good()), (0, false));
        for index in [0, 63, 64, 255] {
            verdicts.set_good(index);
        }
        verdicts.set_good(BATCH_PACKETS);
        let good: Vec<usize> = (0..2 * BATCH_PACKETS)
            .filter(|i| verdicts.is_good(*i))
            .collect();
        assert_eq!(good, [0, 63, 64, 255]);
        assert_eq!(verdicts.iter().filter(|good| *good).count(), 4);
        assert!(Verdicts::none_of(0).all_good());
    }
}
