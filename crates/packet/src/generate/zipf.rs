//! The Zipf distribution in integers.

use super::random::scale;

/// Draws ranks with probabilities proportional to `(rank + 1)^-exponent` in
/// constant time: Walker's alias table, built as by Vose (IEEE Transactions
/// on Software Engineering 17(9), 1991).
pub(super) struct Zipf {
    /// For each column: below this share of 2^32 it is itself, else its
    /// alias.
    columns: Vec<(u32, u32)>,
}

impl Zipf {
    /// Over at least one and at most 2^24 ranks.
    pub(super) fn new(ranks: u32, exponent: f64) -> Zipf {
        let count = u128::from(ranks);
        let weights: Vec<u64> = (1..=ranks)
            .map(|rank| (power(f64::from(rank), exponent) * (1u64 << 52) as f64) as u64)
            .collect();
        let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
        // Times the number of columns, each column's fair share is `total`.
        let mut rest: Vec<u128> = weights.iter().map(|w| u128::from(*w) * count).collect();
        let mut columns: Vec<(u32, u32)> = (0..ranks).map(|rank| (u32::MAX, rank)).collect();
        let (mut poor, mut rich): (Vec<usize>, Vec<usize>) =
            (0..rest.len()).partition(|rank| rest[*rank] < total);
        while let (Some(taker), Some(giver)) = (poor.pop(), rich.last().copied()) {
            columns[taker] = (((rest[taker] << 32) / total) as u32, giver as u32);
            rest[giver] -= total - rest[taker];
            if rest[giver] < total {
                rich.pop();
                poor.push(giver);
            }
        }
        Zipf { columns }
    }

    /// The rank that 64 random bits choose.
    pub(super) fn rank(&self, random: u64) -> u32 {
        // The high half of the product is the column, the low half, as
        // random as before, decides inside it.
        let column = scale(random, self.columns.len() as u64);
        let inside = (random.wrapping_mul(self.columns.len() as u64) >> 32) as u32;
        let (own, alias) = self.columns[column as usize];
        if inside < own { column as u32 } else { alias }
    }
}

/// `base^-exponent` for `base >= 1`, with basic operations only: IEEE 754
/// defines their results to the last bit, and leaves those of `powf` open.
fn power(base: f64, exponent: f64) -> f64 {
    exp_of_minus(exponent * ln(base))
}

/// Natural logarithm of a normal number, by the series of artanh.
fn ln(number: f64) -> f64 {
    let bits = number.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits(bits & !(0x7ff << 52) | 1023 << 52);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    // Terms beyond ratio^25, with a ratio below 0.172, are below 1e-20.
    let series = (0..13).rev().fold(0.0, |sum, term| {
        sum * square + 1.0 / f64::from(2 * term + 1)
    });
    2.0 * ratio * series + f64::from(exponent) * std::f64::consts::LN_2
}

/// `e^-number` for `number >= 0`, by the exponential series.
fn exp_of_minus(number: f64) -> f64 {
    let halvings = (number / std::f64::consts::LN_2 + 0.5).floor();
    if halvings > 1000.0 {
        return 0.0;
    }
    let rest = halvings * std::f64::consts::LN_2 - number;
    // Terms beyond rest^17, with a rest below 0.35, are below 1e-22.
    let series = (1..18)
        .rev()
        .fold(1.0, |sum, term| 1.0 + sum * rest / f64::from(term));
    series * f64::from_bits((1023 - halvings as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_right() {
        for base in [1.0, 2.0, 3.0, 10.0, 1_000.0, 16_777_216.0] {
            for exponent in [0.0, 0.5, 1.0, 1.1, 2.0, 16.0] {
                let expected = f64::powf(base, -exponent);
                let error = (power(base, exponent) - expected).abs() / expected;
                assert!(error < 1e-12, "{base}^-{exponent}: off by {error}");
            }
        }
        assert_eq!(power(5.0, 0.0), 1.0);
    }

    /// The share of a rank is what its column and those with it as alias add
    /// up to: exact but for the cut to 32 bits in each column.
    #[test]
    fn columns_hold_the_distribution() {
        for (ranks, exponent) in [(1, 1.0), (2, 0.0), (7, 1.3), (1000, 1.0), (1000, 16.0)] {
            let zipf = Zipf::new(ranks, exponent);
            let mut shares = vec![0.0; ranks as usize];
            for (rank, (own, alias)) in zipf.columns.iter().enumerate() {
                let own = f64::from(*own) / 2f64.powi(32) / f64::from(ranks);
                shares[rank] += own;
                shares[*alias as usize] += 1.0 / f64::from(ranks) - own;
            }
            let weight = |rank: usize| f64::powf((rank + 1) as f64, -exponent);
            let total: f64 = (0..ranks as usize).map(weight).sum();
            for (rank, share) in shares.iter().enumerate() {
                let error = (share - weight(rank) / total).abs();
                assert!(error < 1e-9, "rank {rank} of {ranks}^-{exponent}: {error}");
            }
        }
    }
}
