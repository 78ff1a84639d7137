//! Every family beside its promise, by statistics over seeds.
//!
//! Each test states its probability of a false alarm, and is shown to fail for
//! a family that promises less.

use weir_hash::{
    Family, H1HalfWords, H1Words, MAX_ROWS, Ms52, Poly44, Polynomial, Seed, Tabulation,
    ThorupZhang8, ThorupZhang16,
};

/// Calls `count` with the buckets of all `keys` under `trials` functions of a
/// family, 32 of each seed.
fn for_each_function<F: Family, const N: usize>(
    trials: u64,
    width: u32,
    keys: [&[u32]; N],
    mut count: impl FnMut([u32; N]),
) {
    let words = keys.iter().map(|key| key.len()).max().unwrap();
    for seed in 0..trials / MAX_ROWS as u64 {
        let family = F::draw(MAX_ROWS, width, words, Seed::from_u64(0x5eed_0000 + seed)).unwrap();
        let buckets = keys.map(|key| {
            let mut buckets = [0; MAX_ROWS];
            family.buckets_of_key(key, &mut buckets);
            buckets
        });
        (0..MAX_ROWS).for_each(|row| count(buckets.map(|of_key| of_key[row])));
    }
}

/// Keys that differ in one bit, in the lowest or the highest one, in several
/// words, or by a common factor.
const PAIRS: [[&[u32]; 2]; 5] = [
    [&[0xc612_0000], &[0xc612_0001]],
    [&[0], &[1 << 31]],
    [&[0x0a00_0001], &[0x0a01_0001]],
    [&[0, 0, 0, 1 << 31], &[0, 1 << 31, 0, 0]],
    [&[0x2001_0db8, 0, 0, 1, 6], &[0x2001_0db8, 0, 0, 2, 6]],
];

/// How far above 1/w the share of functions is under which two keys meet, in
/// standard deviations. Functions are independent: beyond 6.5 deviations lies a
/// chance of 4e-11. All promises are within 5e-6 of 1/w, which over these trials
/// is below 0.01 deviations.
fn collisions<F: Family>(trials: u64, width: u32, keys: [&[u32]; 2]) -> f64 {
    let mut meet = 0.0;
    for_each_function::<F, 2>(trials, width, keys, |[x, y]| {
        meet += f64::from(u8::from(x == y))
    });
    let (trials, p) = (trials as f64, 1.0 / f64::from(width));
    (meet - trials * p) / (trials * p * (1.0 - p)).sqrt()
}

/// Pearson's χ² of the 2ᵏ outcomes that k keys can have in two buckets each.
fn unevenness<F: Family, const K: usize>(trials: u64, keys: [&[u32]; K]) -> f64 {
    let mut seen = vec![0u64; 1 << K];
    for_each_function::<F, K>(trials, 2, keys, |buckets| {
        seen[buckets
            .iter()
            .fold(0, |all, bucket| 2 * all + *bucket as usize)] += 1;
    });
    let expected = trials as f64 / seen.len() as f64;
    let squares = seen.iter().map(|times| (*times as f64 - expected).powi(2));
    squares.sum::<f64>() / expected
}

/// χ² beyond these, with 3, 7 and 15 degrees of freedom, has a chance of less
/// than 1e-11 each.
const LIMIT_OF_PAIRS: f64 = 55.0;
const LIMIT_OF_TRIPLES: f64 = 66.0;
const LIMIT_OF_QUADRUPLES: f64 = 85.0;

/// The corners of rectangles, and neighbours: where linear functions and
/// tabulation by bytes are caught, and where polynomials of too low a degree are.
const QUADRUPLES: [[&[u32]; 4]; 4] = [
    [
        &[0x0001_0001],
        &[0x0001_0002],
        &[0x0002_0001],
        &[0x0002_0002],
    ],
    [
        &[0xc612_0000],
        &[0xc612_0001],
        &[0xc612_0002],
        &[0xc612_0003],
    ],
    [
        &[0x0500_0000],
        &[0x0500_0300],
        &[0x0600_0000],
        &[0x0600_0300],
    ],
    [&[0], &[1 << 31], &[1], &[(1 << 31) + 1]],
];

/// The same for keys of several words.
const LONG_QUADRUPLE: [&[u32]; 4] = [&[7, 0, 1], &[7, 0, 2], &[9, 0, 1], &[9, 0, 2]];

macro_rules! two_universal {
    ($($name:ident: $family:ty, $words:expr, $trials:expr;)*) => {$(
        /// False alarm: ten comparisons at 4e-11 and five at 1e-11.
        #[test]
        fn $name() {
            for keys in PAIRS.into_iter().filter(|keys| keys[0].len() <= $words) {
                for width in [64, 1000] {
                    let z = collisions::<$family>($trials, width, keys);
                    assert!(z < 6.5, "w {width}, {keys:x?}: {z} deviations");
                }
                let chi2 = unevenness::<$family, 2>($trials, keys);
                assert!(chi2 < LIMIT_OF_PAIRS, "{keys:x?}: {chi2}");
            }
        }
    )*};
}

two_universal! {
    multiply_shift_is_two_universal: Ms52, 10, 1 << 16;
    half_words_are_two_universal: H1HalfWords, 10, 1 << 16;
    words_are_two_universal: H1Words, 10, 1 << 16;
    lines_are_two_universal: Polynomial<2>, 10, 1 << 16;
    cubics_are_two_universal: Poly44, 10, 1 << 16;
    tabulation_is_two_universal: Tabulation, 10, 1 << 13;
    bytes_of_thorup_zhang_are_two_universal: ThorupZhang8, 10, 1 << 13;
    half_words_of_thorup_zhang_are_two_universal: ThorupZhang16, 1, 1 << 9;
}

macro_rules! four_universal {
    ($($name:ident: $family:ty, $words:expr, $trials:expr;)*) => {$(
        /// False alarm: five comparisons at 1e-11.
        #[test]
        fn $name() {
            let short = QUADRUPLES.into_iter();
            let all = short.chain([LONG_QUADRUPLE]).filter(|keys| keys[0].len() <= $words);
            for keys in all {
                let chi2 = unevenness::<$family, 4>($trials, keys);
                assert!(chi2 < LIMIT_OF_QUADRUPLES, "{keys:x?}: {chi2}");
            }
        }
    )*};
}

four_universal! {
    cubics_are_four_universal: Poly44, 10, 1 << 16;
    cubics_of_61_bits_are_four_universal: Polynomial<4>, 10, 1 << 16;
    bytes_of_thorup_zhang_are_four_universal: ThorupZhang8, 10, 1 << 13;
    half_words_of_thorup_zhang_are_four_universal: ThorupZhang16, 1, 1 << 9;
}

/// False alarm: twice four comparisons at 1e-11.
#[test]
fn tabulation_and_parabolas_are_three_universal() {
    for [a, b, c, _] in QUADRUPLES {
        for chi2 in [
            unevenness::<Tabulation, 3>(1 << 15, [a, b, c]),
            unevenness::<Polynomial<3>, 3>(1 << 18, [a, b, c]),
        ] {
            assert!(chi2 < LIMIT_OF_TRIPLES, "{a:x?}: {chi2}");
        }
    }
}

/// Families that promise less fail by far: linear functions and
/// tabulation by bytes are dependent on the corners of a rectangle.
#[test]
fn weaker_families_are_caught() {
    let rectangle = QUADRUPLES[2];
    for chi2 in [
        unevenness::<Ms52, 4>(1 << 16, rectangle),
        unevenness::<H1Words, 4>(1 << 16, rectangle),
        unevenness::<H1HalfWords, 4>(1 << 16, rectangle),
        unevenness::<Polynomial<2>, 4>(1 << 16, rectangle),
        unevenness::<Tabulation, 4>(1 << 13, rectangle),
    ] {
        assert!(chi2 > 10.0 * LIMIT_OF_QUADRUPLES, "{chi2}");
    }
    let parabolas = unevenness::<Polynomial<3>, 4>(1 << 18, QUADRUPLES[1]);
    assert!(parabolas > 3.0 * LIMIT_OF_QUADRUPLES, "{parabolas}");
    // A key cut to the words that a family counts is another key.
    let cut = collisions::<H1Words>(1 << 15, 1000, [&[1], &[1]]);
    assert!(cut > 1000.0, "{cut}");
}
