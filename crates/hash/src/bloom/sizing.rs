//! Size of a Bloom filter, and its rate of false positives.

use std::f64::consts::LN_2;

/// Bits of all arrays together, number of functions, number of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizing {
    /// m, for filters of several segments a multiple of k.
    pub bits: usize,
    /// k.
    pub functions: usize,
    /// n.
    pub keys: usize,
}

/// A size out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SizingError {
    /// A rate of false positives out of range.
    #[error("a false-positive rate of {0}: use one above 0 and below 1")]
    Rate(f64),
    /// More bits than hashes of 32 bits can index.
    #[error("{0} keys at a rate of {1} take more than 2^32 bits")]
    Bits(usize, f64),
}

/// Most bits: those that a hash can choose among.
const MOST_BITS: f64 = (1u64 << 32) as f64;

/// Bits of a block of [`super::Blocked`].
pub(super) const BLOCK_BITS: usize = 512;

/// Of the rates of a [`super::Blocked`] filter's blocks.
#[derive(Clone, Copy, Default)]
struct BlockMoments {
    /// Mean.
    rate: f64,
    /// Mean square.
    square: f64,
    /// Covariance with the number of a block's keys.
    with_keys: f64,
}

impl Sizing {
    /// The smallest filter for `keys` keys with the given rate of false
    /// positives: m = -n ln p / ln² 2 and k = (m/n) ln 2, rounded (section
    /// 5.1.1), then as many more bits as the rounding takes.
    ///
    /// # Errors
    /// [`SizingError`]
    pub fn for_rate(keys: usize, rate: f64) -> Result<Sizing, SizingError> {
        if !(rate > 0.0 && rate < 1.0) {
            return Err(SizingError::Rate(rate));
        }
        let n = keys.max(1) as f64;
        let functions = (-rate.ln() / LN_2).round().max(1.0);
        // 1 - (1 - k/m)^n = p^(1/k), solved for m.
        let filled = rate.powf(1.0 / functions);
        let bits = functions / -((1.0 - filled).ln() / n).exp_m1();
        if bits > MOST_BITS {
            return Err(SizingError::Bits(keys, rate));
        }
        let functions = functions as usize;
        Ok(Sizing {
            bits: (bits.ceil() as usize).next_multiple_of(functions),
            functions,
            keys,
        })
    }

    /// Equation 5.1, before its approximation: of a key that is none of the
    /// set, under [`super::Classic`].
    pub fn rate_of_classic(&self) -> f64 {
        let (m, k, n) = self.parameters();
        let empty = (k * n * (-1.0 / m).ln_1p()).exp();
        (1.0 - empty).powf(k)
    }

    /// The same under [`super::Segmented`] and [`super::Counting`] (section
    /// 5.2.1).
    pub fn rate_of_segmented(&self) -> f64 {
        let (m, k, n) = self.parameters();
        let empty = (n * (-k / m).ln_1p()).exp();
        (1.0 - empty).powf(k)
    }

    /// The same under [`super::Blocked`]: a block has i of the keys with the
    /// binomial probability of n draws among m/512 blocks, and is then a filter
    /// of 512 bits with k - 1 functions.
    pub fn rate_of_blocked(&self) -> f64 {
        self.moments_of_blocks().rate
    }

    fn moments_of_blocks(&self) -> BlockMoments {
        let (m, k, n) = self.parameters();
        let blocks = (m / BLOCK_BITS as f64).ceil();
        let inner = k - 1.0;
        let empty = (inner * (-1.0 / BLOCK_BITS as f64).ln_1p()).exp();
        let share = 1.0 / blocks;
        let mean_keys = n * share;
        // P(i + 1 keys) from P(i keys), in logarithms: the first may underflow.
        let mut log = n * (-share).ln_1p();
        let mut moments = BlockMoments::default();
        for keys in 0..=self.keys {
            let i = keys as f64;
            let rate = (1.0 - empty.powf(i)).powf(inner);
            moments.rate += log.exp() * rate;
            moments.square += log.exp() * rate * rate;
            moments.with_keys += log.exp() * rate * (i - mean_keys);
            log += ((n - i) / (i + 1.0)).ln() + share.ln() - (-share).ln_1p();
        }
        moments
    }

    /// Standard deviation of the rate among filters of other hashes, by their
    /// bits that are set: with c = kn/m these are normal with the variance
    /// m (e^-c - (1 + c) e^-2c), and the rate is their share to the power of k.
    /// For [`super::Classic`], [`super::Segmented`] and [`super::Counting`].
    pub fn deviation(&self) -> f64 {
        let (m, k, n) = self.parameters();
        let c = k * n / m;
        let empty = (-c).exp();
        let of_share = ((empty - (1.0 + c) * empty * empty).max(0.0) / m).sqrt();
        k * of_share / (1.0 - empty) * self.rate_of_classic()
    }

    /// The same under [`super::Blocked`], whose blocks have more or fewer keys.
    /// As all blocks together have n, the part of a block's rate that grows
    /// with its keys in proportion adds up to the same in every filter, and only
    /// the rest varies; beside it the bits that are set vary, as above.
    pub fn deviation_of_blocked(&self) -> f64 {
        let (m, _, n) = self.parameters();
        let blocks = (m / BLOCK_BITS as f64).ceil();
        let moments = self.moments_of_blocks();
        let of_block = moments.square - moments.rate * moments.rate;
        // Of the binomial number of a block's keys.
        let of_keys = n / blocks * (1.0 - 1.0 / blocks);
        let explained = match of_keys > 0.0 {
            true => moments.with_keys * moments.with_keys / of_keys,
            false => 0.0,
        };
        let of_blocks = (of_block - explained).max(0.0) / blocks;
        let of_bits = self.deviation() * moments.rate / self.rate_of_classic();
        (of_blocks + of_bits * of_bits).sqrt()
    }

    fn parameters(&self) -> (f64, f64, f64) {
        (self.bits as f64, self.functions as f64, self.keys as f64)
    }
}
