//! Estimators beside the mean and the variance that are promised of them, by
//! statistics over seeds, and shown to fail for hash functions that promise less.

use weir_hash::{
    Buckets, Family, FourUniversal, KeyColumns, Ms52, Poly44, ShapeError, ThorupZhang8,
};
use weir_measure::{AddWork, KAry, Layout, Shape};
use weir_simd::Tier;

/// Multiply-shift, passed off as more than it is.
#[derive(Clone, Debug, PartialEq)]
struct Pretender(Ms52);

impl Family for Pretender {
    const CODE: u8 = 255;

    fn draw(rows: usize, width: u32, words: usize, seed: u64) -> Result<Self, ShapeError> {
        Ms52::draw(rows, width, words, seed).map(Pretender)
    }

    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn width(&self) -> u32 {
        self.0.width()
    }

    fn words(&self) -> usize {
        self.0.words()
    }

    fn bucket(&self, row: usize, key: &[u32]) -> u32 {
        self.0.bucket(row, key)
    }

    fn buckets(&self, tier: Tier, keys: &KeyColumns, out: &mut Buckets) {
        self.0.buckets(tier, keys, out);
    }
}

impl FourUniversal for Pretender {}

const SHAPE: Shape = Shape { rows: 1, width: 16 };

/// Neighbouring addresses, which linear functions are worst at.
const KEYS: usize = 64;

/// Errors of one estimator over many seeds.
#[derive(Default)]
struct Errors {
    count: f64,
    sum: f64,
    squares: f64,
    fourth: f64,
}

impl Errors {
    fn add(&mut self, error: f64) {
        self.count += 1.0;
        self.sum += error;
        self.squares += error.powi(2);
        self.fourth += error.powi(4);
    }

    /// The mean, in standard errors.
    fn bias(&self) -> f64 {
        self.sum / self.squares.sqrt()
    }

    fn variance(&self) -> f64 {
        self.squares / self.count
    }

    /// How far the variance is above a bound, in its own standard errors.
    fn above(&self, bound: f64) -> f64 {
        let spread = (self.fourth / self.count - self.variance().powi(2)).sqrt();
        (self.variance() - bound) / (spread / self.count.sqrt())
    }
}

/// Errors of the point and F₂ estimates of one row under `seeds` seeds, and what
/// is promised of their variances: F₂/(w-1) and 2F₂²/(w-1).
fn errors<F: FourUniversal>(seeds: u64) -> ([Errors; 2], [f64; 2]) {
    let mut keys = KeyColumns::new(1, KEYS);
    // Values of both signs, as differences have them.
    let values: Vec<i64> = (0..KEYS as i64)
        .map(|n| 100 + 7 * (n % 5) - 180 * (n % 2))
        .collect();
    for key in 0..KEYS as u32 {
        assert!(keys.push(&[0xc612_0000 + key]));
    }
    let f2: f64 = values.iter().map(|value| (*value as f64).powi(2)).sum();
    let [mut point, mut second] = [Errors::default(), Errors::default()];
    let mut work = AddWork::default();
    for seed in 0..seeds {
        let layout: Layout<F> = Layout::new(SHAPE, 1, seed).unwrap();
        let mut sketch = KAry::of_layout(layout).unwrap();
        sketch.add(weir_simd::tier(), &keys, &values, &mut work);
        point.add(sketch.estimate(&[0xc612_0000]) - values[0] as f64);
        second.add(sketch.f2() - f2);
    }
    let freedom = f64::from(SHAPE.width - 1);
    ([point, second], [f2 / freedom, 2.0 * f2 * f2 / freedom])
}

/// Means and variances of sums over 20,000 independent seeds are normal enough
/// for seven standard errors to be a chance of 3e-12; eight comparisons make
/// 2e-11.
#[test]
fn k_ary_is_unbiased_and_its_variance_bounded() {
    for (errors, bounds) in [errors::<Poly44>(20_000), errors::<ThorupZhang8>(20_000)] {
        for (errors, bound) in errors.iter().zip(bounds) {
            assert!(
                errors.bias().abs() < 7.0,
                "{} standard errors",
                errors.bias()
            );
            let above = errors.above(bound);
            assert!(above < 7.0, "{above} standard errors above {bound}");
            // The bound is what the variance is, but for a key's own share.
            assert!(errors.variance() > 0.8 * bound);
        }
    }
}

/// Multiply-shift spreads neighbours evenly under most seeds and heaps them up
/// under few: its F₂ estimates vary several times as much as is allowed.
#[test]
fn two_universal_functions_are_caught() {
    let ([_, second], [_, bound]) = errors::<Pretender>(20_000);
    assert!(
        second.variance() > 1.5 * bound,
        "{} beside {bound}",
        second.variance()
    );
}

/// The median of five rows errs by more than ε·√F₂ less often than a row does,
/// which by Chebyshev is at most 1/8 at w = 1 + 8/ε². Over 4,000 seeds 7 standard
/// deviations above δ have a chance of 1e-12; a single row is above that.
#[test]
fn rows_make_large_errors_rare() {
    let accuracy = weir_measure::MomentAccuracy {
        epsilon: 0.9,
        delta: 0.02,
    };
    let shape = accuracy.shape().unwrap();
    assert_eq!((shape.rows, shape.width), (5, 11));
    let failures = |rows| {
        let mut keys = KeyColumns::new(1, 1001);
        let mut values = vec![1i64; 1001];
        values[1000] = 300;
        for key in 0..1001 {
            assert!(keys.push(&[key]));
        }
        let f2 = 1000.0 + 300.0f64.powi(2);
        let mut work = AddWork::default();
        let failed = (0..4000).filter(|seed| {
            let shape = Shape { rows, ..shape };
            let mut sketch = KAry::new(shape, 1, *seed).unwrap();
            sketch.add(weir_simd::tier(), &keys, &values, &mut work);
            (sketch.estimate(&[7]) - 1.0).abs() > accuracy.epsilon * f2.sqrt()
        });
        failed.count() as f64
    };
    let limit = 4000.0 * 0.02 + 7.0 * (4000.0f64 * 0.02 * 0.98).sqrt();
    assert!(failures(5) < limit);
    assert!(failures(1) > limit);
}
