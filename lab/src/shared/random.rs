//! A seeded generator of pseudo-random numbers: SplitMix64 (Steele, Lea and
//! Flood 2014). The same seed gives the same sequence on every platform.

/// The generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator with a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below a bound; 0 for a bound of 0. The bias of the remainder is
    /// at most `bound` / 2⁶⁴.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound.max(1) as u64) as usize
    }

    /// A number from 0 up to, not including, 1.
    pub fn share(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The number of trials up to the first success, where each succeeds with a
    /// probability: a sample of the geometric distribution, from 1 on.
    pub fn geometric(&mut self, probability: f64) -> u64 {
        let failures = (1.0 - self.share()).ln() / (1.0 - probability).ln();
        1 + failures as u64
    }

    /// One of several values.
    pub fn one_of<T: Copy>(&mut self, first: T, others: &[T]) -> T {
        match self.below(1 + others.len()) {
            0 => first,
            n => others[n - 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    /// The first outputs of the reference implementation with seed 1234567
    /// (Vigna, splitmix64.c).
    #[test]
    fn numbers_are_those_of_the_reference_implementation() {
        let mut random = Random::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(std::array::from_fn(|_| random.number()), expected);
    }

    #[test]
    fn shares_are_below_1_and_samples_have_their_mean() {
        let mut random = Random::new(7);
        assert!((0..10_000).all(|_| (0.0..1.0).contains(&random.share())));
        // The standard error of the mean is 0.0141: 0.1 is over seven of them, which a
        // correct generator exceeds with a probability of 2e-12.
        let mean = (0..100_000).map(|_| random.geometric(0.2)).sum::<u64>() as f64 / 100_000.0;
        assert!((mean - 5.0).abs() < 0.1, "{mean}");
        assert_eq!(random.geometric(1.0), 1);
        assert_eq!(random.below(0), 0);
    }
}
