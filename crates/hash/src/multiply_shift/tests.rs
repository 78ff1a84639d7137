use proptest::prelude::*;

use super::*;
use crate::agreement::{
    LongKey, assert_lanes_equal_scalar, assert_lanes_equal_scalar_over,
    assert_padding_changes_nothing,
};
use crate::family::MAX_WIDTH;

#[test]
fn sizes_out_of_range_are_refused() {
    assert_eq!(
        Ms52::draw(1, 0, 1, Seed::from_u64(0)),
        Err(ShapeError::Width(0))
    );
    let wide = MAX_WIDTH + 1;
    assert_eq!(
        Ms52::draw(1, wide, 1, Seed::from_u64(0)),
        Err(ShapeError::Width(wide.into()))
    );
    assert_eq!(
        Ms52::draw(0, 1, 1, Seed::from_u64(0)),
        Err(ShapeError::Rows(0))
    );
    assert_eq!(
        Ms52::draw(33, 1, 1, Seed::from_u64(0)),
        Err(ShapeError::Rows(33))
    );
    assert_eq!(
        Ms52::draw(1, 1, 0, Seed::from_u64(0)),
        Err(ShapeError::Words(0, 10))
    );
    assert_eq!(
        Ms52::draw(1, 1, 11, Seed::from_u64(0)),
        Err(ShapeError::Words(11, 10))
    );
    assert!(Ms52::draw(32, MAX_WIDTH, 10, Seed::from_u64(0)).is_ok());
}

/// A value worked out by hand: with a₀ = 2⁵¹ + 1, a₁ = 3 and b = 2⁵² - 1 the
/// key (1, 2) gives h = 2⁵¹ + 1 + 6 + 2⁵² - 1 mod 2⁵² = 2⁵¹ + 6, half of the
/// range, and the key (2, 0) gives h = 2⁵² + 2 + 2⁵² - 1 mod 2⁵² = 1.
#[test]
fn bucket_of_known_parameters() {
    let mut row = Row {
        multipliers: [0; MAX_KEY_WORDS],
        addend: (1 << 52) - 1,
    };
    row.multipliers[..2].copy_from_slice(&[(1 << 51) + 1, 3]);
    let family = Ms52::of_rows(1000, 2, vec![row]);
    assert_eq!(family.bucket(0, &[1, 2]), 500);
    assert_eq!(family.bucket(0, &[2]), 0);
    assert_eq!(family.bucket(0, &[0, 0]), 999);
}

/// All parameters and many pairs in miniature (10-bit arithmetic, 6-bit keys):
/// the probability that the proof bounds, counted. Wherever the lowest bit
/// that differs is bit s, at most (1/w)(1 + w²·2²ˢ⁻²²).
#[test]
fn collision_bound_by_enumeration() {
    const BITS: u32 = 10;
    for width in [3, 5, 8, 13, 16] {
        for s in 0..6 {
            for (x, odd) in [(0u64, 1), (9, 1), (3, 3)] {
                let y = (x + (odd << s)) & 63;
                if x == y || (x ^ y).trailing_zeros() != s {
                    continue;
                }
                let mut collisions = 0u64;
                for a in 0..1u64 << BITS {
                    for b in 0..1u64 << BITS {
                        let equal =
                            scale::<BITS>(a * x + b, width) == scale::<BITS>(a * y + b, width);
                        collisions += u64::from(equal);
                    }
                }
                let w = f64::from(width);
                let factor = 1.0 + w * w * f64::from(1u32 << (2 * s)) / f64::from(1u32 << 22);
                let bound = f64::from(1u32 << (2 * BITS)) / w * factor;
                assert!(
                    collisions as f64 <= bound,
                    "w {width}, {x} and {y}: {collisions} > {bound}"
                );
            }
        }
    }
}

/// Trials per pair of the statistical tests.
const TRIALS: u64 = 1 << 19;

/// The pairs that are hardest for the family (differences of large powers of
/// two) and those that are commonest (neighbouring addresses).
const PAIRS: [(&[u32], &[u32]); 6] = [
    (&[0], &[1 << 31]),
    (&[0xc612_0000], &[0xc612_0001]),
    (&[0x0a00_0001], &[0x0a00_8001]),
    (&[0, 0, 0, 0, 1], &[1 << 31, 0, 0, 1 << 31, 1]),
    (&[0x2001_0db8, 0, 0, 1, 6], &[0x2001_0db8, 0, 0, 2, 6]),
    (&[5], &[5, 0, 0, 0, 6]),
];

/// How often two keys meet over [`TRIALS`] seeds, in standard deviations above
/// the bound. Collisions are independent between seeds, so above 6.5 has a
/// chance of 4e-11 for a pair that meets at the bound.
fn deviations(width: u32, meet: impl Fn(u64) -> bool) -> f64 {
    let collisions = (0..TRIALS).filter(|seed| meet(*seed)).count() as f64;
    let w = f64::from(width);
    let p = (1.0 + w * w / 2f64.powi(44)) / w;
    let trials = TRIALS as f64;
    (collisions - trials * p) / (trials * p * (1.0 - p)).sqrt()
}

/// False alarm: 12 comparisons at 4e-11 make 5e-10.
#[test]
fn collisions_stay_at_the_bound() {
    for width in [64, 1000] {
        for (x, y) in PAIRS {
            let z = deviations(width, |seed| {
                let family = Ms52::draw(1, width, 5, Seed::from_u64(seed)).unwrap();
                family.bucket(0, x) == family.bucket(0, y)
            });
            assert!(z < 6.5, "w {width}, {x:x?} and {y:x?}: {z} deviations");
        }
    }
}

/// The same test fails for variants that look alike and are not universal: a
/// multiplier of 20 bits, the low bits of the product as bucket, the sum of
/// the words instead of their inner product.
#[test]
fn weaker_variants_are_caught() {
    let draw = |seed| {
        let mut stream = SeedStream::new(Seed::from_u64(seed));
        (stream.next_bits(BITS), stream.next_bits(BITS))
    };
    let short_multiplier = deviations(1000, |seed| {
        let (a, b) = draw(seed);
        let h = |x: u64| scale::<BITS>((a >> 32).wrapping_mul(x).wrapping_add(b), 1000);
        h(0xc612_0000) == h(0xc612_0001)
    });
    let low_bits = deviations(64, |seed| {
        let (a, b) = draw(seed);
        let h = |x: u64| a.wrapping_mul(x).wrapping_add(b) % 64;
        h(0) == h(1 << 31)
    });
    let summed_words = deviations(1000, |seed| {
        let (a, b) = draw(seed);
        let h = |x: [u64; 2]| scale::<BITS>(a.wrapping_mul(x[0] + x[1]).wrapping_add(b), 1000);
        h([1, 2]) == h([2, 1])
    });
    for z in [short_multiplier, low_bits, summed_words] {
        assert!(z > 100.0, "{z}");
    }
}

/// Rows of one family are independent: two keys meet in both of two rows as
/// often as 1/w² says. At w = 16 over 2¹⁹ seeds 2048 ± 45 times; 6.5
/// deviations, false alarm below 1e-10. Equal rows would meet 32768 times.
#[test]
fn rows_are_independent() {
    let both = (0..TRIALS)
        .filter(|seed| {
            let family = Ms52::draw(2, 16, 1, Seed::from_u64(*seed)).unwrap();
            (0..2).all(|row| family.bucket(row, &[1]) == family.bucket(row, &[2]))
        })
        .count();
    assert!(both.abs_diff(2048) < 294, "{both}");
}

/// Parameters and words at their limits, where a carry would be lost first.
#[test]
fn lanes_equal_scalar_at_the_limits() {
    let all = (1 << BITS) - 1;
    for width in [1, 2, 1000, MAX_WIDTH - 1, MAX_WIDTH] {
        let family = Ms52::of_rows(
            width,
            MAX_KEY_WORDS,
            vec![
                Row {
                    multipliers: [all; MAX_KEY_WORDS],
                    addend: all,
                },
                Row {
                    multipliers: [0; MAX_KEY_WORDS],
                    addend: all,
                },
            ],
        );
        let mut keys = KeyColumns::new(MAX_KEY_WORDS, 3);
        assert!(keys.push(&[u32::MAX; MAX_KEY_WORDS]));
        assert!(keys.push(&[1 << 31; MAX_KEY_WORDS]));
        assert!(keys.push(&[]));
        assert_lanes_equal_scalar(&family, &keys);
    }
}

proptest! {
    /// Every key length, every number of keys from 0 to 40, every number of
    /// rows, keys shorter and longer than the family counts.
    #[test]
    fn lanes_equal_scalar(
        rows in 1usize..=9,
        width in 1u32..=MAX_WIDTH,
        family_words in 1usize..=MAX_KEY_WORDS,
        key_words in 1usize..=MAX_KEY_WORDS,
        seed: u64,
        keys in prop::collection::vec(any::<LongKey>(), 0..40),
    ) {
        let family = Ms52::draw(rows, width, family_words, Seed::from_u64(seed)).unwrap();
        assert_lanes_equal_scalar_over(&family, key_words, &keys);
    }

    #[test]
    fn padding_changes_nothing(seed: u64, key: [u32; 4]) {
        let family = Ms52::draw(3, 27_183, 10, Seed::from_u64(seed)).unwrap();
        assert_padding_changes_nothing(&family, key);
    }
}
