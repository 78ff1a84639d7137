use super::*;
use crate::string::{Radix, ShiftAddXor, StringFamily, Tabulation};
use crate::{Seed, SeedStream};

/// Keys that have nothing to do with one another.
fn key(number: usize) -> Vec<u8> {
    let random = SeedStream::new(Seed::from_u64(number as u64)).next_u64();
    format!("/{random:x}/").into_bytes()
}

/// Keys that are much alike.
fn numbered_key(number: usize) -> Vec<u8> {
    format!("/path/{number}/x").into_bytes()
}

fn hashes<F: StringFamily>(family: &F, key: &[u8]) -> Vec<u32> {
    let functions = 0..family.functions();
    functions
        .map(|function| family.hash(function, key))
        .collect()
}

/// Any of the filters.
trait Filter {
    fn insert(&mut self, hashes: &[u32]);
    fn contains(&self, hashes: &[u32]) -> bool;
}

macro_rules! filters {
    ($($filter:ty),*) => {
        $(impl Filter for $filter {
            fn insert(&mut self, hashes: &[u32]) {
                <$filter>::insert(self, hashes);
            }
            fn contains(&self, hashes: &[u32]) -> bool {
                <$filter>::contains(self, hashes)
            }
        })*
    };
}
filters!(Classic, Segmented, Blocked, Counting);

const KEYS: usize = 2000;
const QUERIES: usize = 60_000;

/// How many of `queries` keys pass a filter of [`KEYS`] others.
fn false_positives<F: StringFamily>(
    family: &F,
    key: impl Fn(usize) -> Vec<u8>,
    mut filter: Box<dyn Filter>,
    queries: usize,
) -> usize {
    for number in 0..KEYS {
        filter.insert(&hashes(family, &key(number)));
    }
    for number in 0..KEYS {
        assert!(filter.contains(&hashes(family, &key(number))));
    }
    (KEYS..KEYS + queries)
        .filter(|number| filter.contains(&hashes(family, &key(*number))))
        .count()
}

/// Deviations of the number of false positives from what is expected, over
/// `filters` filters of other seeds. The number of queries that pass is binomial
/// given the filters, whose rates vary, too.
fn deviations<F: StringFamily>(
    sizing: Sizing,
    (rate, among_filters): (f64, f64),
    empty: impl Fn() -> Box<dyn Filter>,
) -> f64 {
    let filters = 4;
    let false_positives: usize = (0..filters)
        .map(|seed| {
            let family = F::draw(sizing.functions, 32, Seed::from_u64(seed));
            false_positives(&family, key, empty(), QUERIES / filters as usize)
        })
        .sum();
    let expected = rate * QUERIES as f64;
    let of_filters = among_filters / (filters as f64).sqrt() * QUERIES as f64;
    (false_positives as f64 - expected) / (expected + of_filters * of_filters).sqrt()
}

/// False positives of each filter under each family are what the formula says.
/// A normal deviation beyond 7 has a chance of 3e-12; there are sixteen.
#[test]
fn false_positives_are_as_predicted() {
    let sizing = Sizing::for_rate(KEYS, 0.01).expect("a rate");
    fn all<F: StringFamily>(sizing: Sizing) -> [f64; 4] {
        [
            deviations::<F>(
                sizing,
                (sizing.rate_of_classic(), sizing.deviation()),
                || Box::new(Classic::new(sizing)),
            ),
            deviations::<F>(
                sizing,
                (sizing.rate_of_segmented(), sizing.deviation()),
                || Box::new(Segmented::new(sizing)),
            ),
            deviations::<F>(
                sizing,
                (sizing.rate_of_blocked(), sizing.deviation_of_blocked()),
                || Box::new(Blocked::new(sizing)),
            ),
            deviations::<F>(
                sizing,
                (sizing.rate_of_segmented(), sizing.deviation()),
                || Box::new(Counting::new(sizing, Counter::FourBits)),
            ),
        ]
    }
    for (family, deviations) in [
        (ShiftAddXor::NAME, all::<ShiftAddXor>(sizing)),
        (Tabulation::NAME, all::<Tabulation>(sizing)),
        (Radix::<1>::NAME, all::<Radix<1>>(sizing)),
        (Radix::<3>::NAME, all::<Radix<3>>(sizing)),
    ] {
        for deviation in deviations {
            assert!(deviation.abs() < 7.0, "{family}: {deviations:?}");
        }
    }
}

/// The same test fails where all functions are one.
#[test]
fn functions_that_are_alike_are_caught() {
    struct Alike(ShiftAddXor);
    impl StringFamily for Alike {
        const NAME: &'static str = "alike";
        fn draw(functions: usize, longest: usize, seed: Seed) -> Alike {
            Alike(ShiftAddXor::draw(functions, longest, seed))
        }
        fn functions(&self) -> usize {
            self.0.functions()
        }
        fn start(&self, _: usize) -> u32 {
            self.0.start(0)
        }
        fn append(&self, _: usize, state: u32, place: usize, byte: u8) -> u32 {
            self.0.append(0, state, place, byte)
        }
        fn finish(&self, _: usize, state: u32) -> u32 {
            self.0.finish(0, state)
        }
    }
    let sizing = Sizing::for_rate(KEYS, 0.01).expect("a rate");
    let rate = sizing.rate_of_segmented();
    let expected = (rate, sizing.deviation());
    let deviation = deviations::<Alike>(sizing, expected, || Box::new(Segmented::new(sizing)));
    assert!(deviation > 50.0, "{deviation}");
}

/// Sum over 40 filters of numbered keys of the squared deviations of the number
/// of false positives, each by its variance.
fn spread<F: StringFamily>() -> f64 {
    const QUERIES_OF_ONE: usize = 4000;
    let sizing = Sizing::for_rate(KEYS, 0.01).expect("a rate");
    let expected = sizing.rate_of_segmented() * QUERIES_OF_ONE as f64;
    let of_filters = sizing.deviation() * QUERIES_OF_ONE as f64;
    let squares = (0..40).map(|seed| {
        let family = F::draw(sizing.functions, 32, Seed::from_u64(seed));
        let filter = Box::new(Segmented::new(sizing));
        let count = false_positives(&family, numbered_key, filter, QUERIES_OF_ONE);
        (count as f64 - expected).powi(2) / (expected + of_filters * of_filters)
    });
    squares.sum()
}

/// Filters of numbered keys stray as far as the formula tells under functions
/// of which four hashes are independent, and further under H1, of which two
/// are: its hashes lie on lattices. Of a chi-squared number of 40 degrees of
/// freedom more than 140 has a chance of 3e-13.
#[test]
fn four_independent_hashes_keep_filters_together() {
    let (cubic, shift_add_xor) = (spread::<Radix<3>>(), spread::<ShiftAddXor>());
    assert!(
        cubic < 140.0 && shift_add_xor < 140.0,
        "{cubic}, {shift_add_xor}"
    );
    let h1 = spread::<Radix<1>>();
    assert!(h1 > 250.0, "{h1}");
}

/// The thesis's example: 64 K bits, 2000 keys, 16 functions make a rate of the
/// order of 1e-7.
#[test]
fn rates_of_the_thesis() {
    let sizing = Sizing {
        bits: 1 << 16,
        functions: 16,
        keys: 2000,
    };
    for rate in [sizing.rate_of_classic(), sizing.rate_of_segmented()] {
        assert!((1e-7..5e-7).contains(&rate), "{rate}");
    }
    assert!(sizing.rate_of_segmented() > sizing.rate_of_classic());
}

#[test]
fn sizes_reach_their_rate() {
    for keys in [1, 100, 30_000] {
        for rate in [0.5, 0.01, 1e-6] {
            let sizing = Sizing::for_rate(keys, rate).expect("a rate");
            assert!(sizing.rate_of_segmented() <= rate * 1.0001, "{sizing:?}");
            let best = -(keys as f64) * rate.ln() / std::f64::consts::LN_2.powi(2);
            assert!(
                (sizing.bits as f64) < 1.2 * best + 64.0,
                "{sizing:?}, {best}"
            );
        }
    }
    assert_eq!(Sizing::for_rate(1, 0.0), Err(SizingError::Rate(0.0)));
    assert!(Sizing::for_rate(usize::MAX, 0.01).is_err());
}

/// What is withdrawn is gone as if it had never been there, unless a counter
/// was full.
#[test]
fn keys_can_be_withdrawn() {
    let sizing = Sizing::for_rate(500, 0.01).expect("a rate");
    let family = ShiftAddXor::draw(sizing.functions, 32, Seed::from_u64(1));
    for counter in [Counter::FourBits, Counter::EightBits] {
        let (mut filter, mut fresh) = (
            Counting::new(sizing, counter),
            Counting::new(sizing, counter),
        );
        for number in 0..500 {
            filter.insert(&hashes(&family, &key(number)));
            if number % 2 == 0 {
                fresh.insert(&hashes(&family, &key(number)));
            }
        }
        for number in (1..500).step_by(2) {
            assert_eq!(filter.remove(&hashes(&family, &key(number))), Ok(()));
        }
        for number in 0..5000 {
            let hashes = hashes(&family, &key(number));
            assert_eq!(
                filter.contains(&hashes),
                fresh.contains(&hashes),
                "{number}"
            );
        }
        let stranger = (500..).map(|number| hashes(&family, &key(number)));
        let stranger = stranger.into_iter().find(|hashes| !filter.contains(hashes));
        assert_eq!(
            filter.remove(&stranger.unwrap_or_default()),
            Err(NotAMember)
        );
    }
}

/// A counter that is full keeps its bit, whatever is withdrawn.
#[test]
fn full_counters_stay() {
    let sizing = Sizing {
        bits: 64,
        functions: 1,
        keys: 1,
    };
    let mut filter = Counting::new(sizing, Counter::FourBits);
    let mut stream = SeedStream::new(Seed::from_u64(1));
    let hash = [stream.next_bits(32) as u32];
    (0..20).for_each(|_| filter.insert(&hash));
    (0..20).for_each(|_| assert_eq!(filter.remove(&hash), Ok(())));
    assert!(filter.contains(&hash));
}

#[test]
fn many_queries_are_one_by_one() {
    let sizing = Sizing::for_rate(40, 0.2).expect("a rate");
    let mut filter = Segmented::new(sizing);
    let mut stream = SeedStream::new(Seed::from_u64(5));
    let hashes: Vec<u32> = (0..64).map(|_| stream.next_bits(32) as u32).collect();
    hashes
        .iter()
        .take(20)
        .for_each(|hash| filter.insert(&[*hash; 8][..sizing.functions.min(8)]));
    for length in [0, 1, 63, 64] {
        let bits = filter.are_set(0, &hashes[..length]);
        for (number, hash) in hashes.iter().enumerate() {
            let expected = number < length && filter.is_set(0, *hash);
            assert_eq!(bits >> number & 1 != 0, expected);
        }
    }
}
