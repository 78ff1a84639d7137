//! Statistics of a simulation: the distribution of a quantity, and the mean of a
//! steady state with its confidence interval.

use std::collections::BTreeMap;

/// A histogram of whole numbers. Numbers below 128 are exact; larger ones fall
/// into classes, 64 for each power of two, so that quantiles are at most 1/64 too
/// low.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Counts, by the least number of each class.
    counts: BTreeMap<u64, u64>,
    count: u64,
}

impl Histogram {
    /// Adds a number.
    pub fn add(&mut self, number: u64) {
        // The seven leading bits.
        let dropped = (u64::BITS - number.leading_zeros()).saturating_sub(7);
        *self.counts.entry(number >> dropped << dropped).or_default() += 1;
        self.count += 1;
    }

    /// The least number of the class that has the quantile: a share of `share` of
    /// all numbers, from 0 to 1, are in this class or below. None of an empty
    /// histogram.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        self.counts.iter().find_map(|(least, count)| {
            below += count;
            (below >= rank).then_some(*least)
        })
    }
}

/// The mean of a steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyMean {
    /// The mean.
    pub mean: f64,
    /// Half the width of its confidence interval of 95 %.
    pub half_width: f64,
    /// Samples at the beginning that do not count.
    pub warm_up: usize,
}

impl SteadyMean {
    const BATCHES: usize = 30;
    /// The 97.5 % quantile of Student's t with 29 degrees of freedom.
    const STUDENT_T: f64 = 2.045;
    /// The least number of samples of a batch.
    const BATCH_LEAST: usize = 10;

    /// The mean of samples in the order of time, which may be correlated. The
    /// warm-up is removed by MSER-5 (White 1997): what is left has the smallest
    /// standard error, and is at least half of all samples. The interval is that of
    /// the means of 30 batches, which count as independent: batches have to be long
    /// beside the time over which samples are correlated. None of less than 600
    /// samples.
    pub fn of(samples: &[f64]) -> Option<SteadyMean> {
        if samples.len() < 2 * Self::BATCHES * Self::BATCH_LEAST {
            return None;
        }
        let warm_up = warm_up(samples);
        let steady = samples.get(warm_up..)?;
        let batches = steady.chunks_exact(steady.len() / Self::BATCHES);
        let means: Vec<f64> = batches.take(Self::BATCHES).map(mean).collect();
        let of_means = mean(&means);
        let squares: f64 = means.iter().map(|it| (it - of_means).powi(2)).sum();
        let batches = means.len() as f64;
        let error = (squares / (batches - 1.0) / batches).sqrt();
        Some(SteadyMean {
            mean: of_means,
            half_width: Self::STUDENT_T * error,
            warm_up,
        })
    }
}

/// MSER-5: the number of samples to drop, a multiple of five.
fn warm_up(samples: &[f64]) -> usize {
    const GROUP: usize = 5;
    let groups: Vec<f64> = samples.chunks_exact(GROUP).map(mean).collect();
    // Sums over the groups from one on to the end, without the loss of digits that
    // sums of squares of large numbers have.
    let centre = mean(&groups);
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (first, group) in groups.iter().enumerate().rev() {
        sum += group - centre;
        squares += (group - centre).powi(2);
        let left = (groups.len() - first) as f64;
        let error = (squares - sum * sum / left) / (left * left);
        // Of equal errors the one that drops least.
        if 2 * first <= groups.len() && error <= best.0 {
            best = (error, first);
        }
    }
    GROUP * best.1
}

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::random::Random;

    #[test]
    fn quantiles_are_those_of_the_sorted_numbers() {
        let mut random = Random::new(3);
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        let mut numbers: Vec<u64> = (0..5000).map(|_| random.geometric(0.002)).collect();
        for number in &numbers {
            histogram.add(*number);
        }
        numbers.sort_unstable();
        for percent in [0, 1, 10, 50, 90, 99, 100] {
            let exact = numbers[(50 * percent).max(1) - 1];
            let found = histogram.quantile(percent as f64 / 100.0).expect("numbers");
            assert!(
                found <= exact && 64 * found >= 63 * exact - 63,
                "{found} {exact}"
            );
            assert!(exact >= 128 || found == exact);
        }
        histogram.add(u64::MAX);
        assert!(histogram.quantile(1.0).expect("numbers") >= u64::MAX / 64 * 63);
    }

    /// Samples that rise to a steady state with correlated noise.
    fn samples(random: &mut Random, level: f64) -> Vec<f64> {
        let mut noise = 0.0;
        (0..6000)
            .map(|index| {
                noise = 0.5 * noise + random.share() - 0.5;
                level * (1.0 - (-f64::from(index) / 50.0).exp()) + noise
            })
            .collect()
    }

    #[test]
    fn a_warm_up_is_found_and_the_interval_holds_its_share() {
        let mut random = Random::new(4);
        let mut held = 0;
        for _ in 0..400 {
            let found = SteadyMean::of(&samples(&mut random, 10.0)).expect("enough");
            // After 100 samples the level is 1.35 below the steady one, more than
            // the range of the noise.
            assert!((100..=3000).contains(&found.warm_up), "{found:?}");
            held += u32::from((found.mean - 10.0).abs() <= found.half_width);
        }
        // Of 400 intervals of 95 % as many miss as a binomial count with a mean of
        // 20 and a deviation of 4.4; over 50 have a probability below 1e-9, and so
        // have fewer than 1 in the other direction, which is no failure.
        assert!(held >= 350, "{held}");
    }

    #[test]
    fn constant_and_short_samples() {
        let found = SteadyMean::of(&[2.5; 700]).expect("enough");
        assert_eq!((found.mean, found.half_width, found.warm_up), (2.5, 0.0, 0));
        assert_eq!(SteadyMean::of(&[1.0; 599]), None);
    }
}
