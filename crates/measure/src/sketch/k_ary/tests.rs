use proptest::prelude::*;
use weir_simd::for_each_tier;

use super::*;

fn sketch(rows: usize, width: u32, seed: u64) -> KAry {
    KAry::new(Shape { rows, width }, 2, Seed::from_u64(seed)).unwrap()
}

fn add<F: FourUniversal>(sketch: &mut KAry<F>, tier: Tier, updates: &[([u32; 2], i64)]) {
    let mut work = AddWork::default();
    for chunk in updates.chunks(64) {
        let mut keys = KeyColumns::new(2, 64);
        for (key, _) in chunk {
            assert!(keys.push(key));
        }
        let values: Vec<i64> = chunk.iter().map(|(_, value)| *value).collect();
        sketch.add(tier, &keys, &values, &mut work);
    }
}

fn updates() -> impl Strategy<Value = Vec<([u32; 2], i64)>> {
    prop::collection::vec(([0u32..40, 0u32..3], -2000i64..2000), 0..200)
}

/// By hand: of a sketch with one row of w = 4, the keys a and b in different
/// buckets with sums 9 and 3: Z = 12, so a is (9 - 3)/(3/4) = 8, b is 0, and
/// F₂ = (4·90 - 144)/3 = 72.
#[test]
fn estimates_of_known_counters() {
    let mut sketch = sketch(1, 4, 1);
    let index = |key: u32| sketch.layout().indices(&[key]).next();
    let other = (1..100).find(|key| index(*key) != index(0)).unwrap();
    add(&mut sketch, Tier::Scalar, &[([0, 0], 9), ([other, 0], 3)]);
    assert_eq!(sketch.estimate(&[0]), 8.0);
    assert_eq!(sketch.estimate(&[other]), 0.0);
    assert_eq!((sketch.f2(), sketch.total()), (72.0, 12));
}

#[test]
fn median_of_what_rows_say() {
    assert_eq!(median([3.0, 9.0, 1.0].into_iter()), 3.0);
    assert_eq!(median([4.0, 9.0, 1.0, 2.0].into_iter()), 3.0);
    assert_eq!(median([7.0].into_iter()), 7.0);
}

#[test]
fn strangers_do_not_combine() {
    let mut here = sketch(4, 31, 1);
    let words = KAry::new(Shape { rows: 4, width: 31 }, 3, Seed::from_u64(1)).unwrap();
    let mut real = RealKAry::from(&here);
    let mut out = vec![1.0];
    for other in [sketch(4, 31, 2), sketch(3, 31, 1), sketch(4, 32, 1), words] {
        assert_eq!(here.combine(&other), Err(LayoutMismatch));
        assert_eq!(real.add_observed(1.0, &other), Err(LayoutMismatch));
        assert_eq!(real.add_scaled(1.0, &(&other).into()), Err(LayoutMismatch));
        let places = other
            .layout()
            .bucket_indices(Tier::Scalar, &KeyColumns::new(1, 1));
        assert_eq!(real.estimates(&places, &mut out), Err(LayoutMismatch));
        assert_eq!(here.estimates(&places, &mut out), Err(LayoutMismatch));
    }
    assert_eq!(out, [1.0]);
    assert_eq!(
        KAry::new(Shape { rows: 1, width: 1 }, 1, Seed::from_u64(1)),
        Err(ShapeError::OneBucket)
    );
}

proptest! {
    /// Every tier leaves the same sketch; halves combine to the whole; values
    /// that are taken away again leave nothing; scaling scales the estimates.
    #[test]
    fn sketches_are_linear(updates in updates(), cut in 0usize..200, seed: u64, width in 2u32..50) {
        let (first, second) = updates.split_at(cut.min(updates.len()));
        let mut sketches = Vec::new();
        for_each_tier(|tier| {
            let (mut whole, mut one, mut two) =
                (sketch(3, width, seed), sketch(3, width, seed), sketch(3, width, seed));
            add(&mut whole, tier, &updates);
            add(&mut one, tier, first);
            add(&mut two, tier, second);
            assert_eq!(one.combine(&two), Ok(()));
            assert_eq!(&one, &whole);
            sketches.push(whole);
        });
        prop_assert!(sketches.windows(2).all(|pair| pair[0] == pair[1]));

        let whole = &sketches[0];
        let mut tripled = whole.clone();
        tripled.scale(3);
        let mut combination = RealKAry::zero(whole.layout().clone()).unwrap();
        prop_assert_eq!(combination.add_observed(2.0, whole), Ok(()));
        prop_assert_eq!(combination.add_scaled(0.5, &RealKAry::from(&tripled)), Ok(()));
        combination.scale(2.0 / 7.0);
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (a.abs() + b.abs() + 1.0);
        let mut keys = KeyColumns::new(2, 200);
        for (key, _) in &updates {
            keys.push(key);
            prop_assert!(close(tripled.estimate(key), 3.0 * whole.estimate(key)));
            prop_assert!(close(combination.estimate(key), whole.estimate(key)));
        }
        prop_assert!(close(combination.f2(), whole.f2()));
        prop_assert!(close(combination.total(), whole.total() as f64));

        let places = whole.layout().bucket_indices(weir_simd::tier(), &keys);
        let (mut exact, mut real) = (Vec::new(), Vec::new());
        prop_assert_eq!(whole.estimates(&places, &mut exact), Ok(()));
        prop_assert_eq!(combination.estimates(&places, &mut real), Ok(()));
        prop_assert_eq!((exact.len(), real.len()), (updates.len(), updates.len()));
        for (((key, _), exact), real) in updates.iter().zip(exact).zip(real) {
            prop_assert_eq!(exact, whole.estimate(key));
            prop_assert_eq!(real, combination.estimate(key));
        }

        let mut nothing = whole.clone();
        let mut minus = whole.clone();
        minus.scale(-1);
        prop_assert_eq!(nothing.combine(&minus), Ok(()));
        prop_assert!(nothing.sums.counters().iter().all(|counter| counter == 0));
        nothing.clear();
        prop_assert_eq!(nothing, whole.empty_like());
    }
}

/// Whoever knows the seed can choose keys that collide.
#[test]
fn debug_shows_no_seed() {
    let seed = 0x5eed_1234_5678;
    assert!(!format!("{:?}", sketch(2, 16, seed)).contains(&seed.to_string()));
}

/// Two keys of value 1 that meet are taken for F₂ = 4, which is off by more than
/// five rows of 17 counters promise. Over 4,000 seeds 7 standard deviations above
/// δ = 2 % have a chance of 1e-12; a row alone, in which they meet once in 17, is
/// above that, and the median of five is below.
#[test]
fn second_moment_is_seldom_off_by_more_than_promised() {
    let (trials, delta) = (4000, 0.02);
    let promised = Shape { rows: 5, width: 17 }.moment_error(delta) * 2.0;
    assert!((1.8..2.0).contains(&promised), "{promised}");
    let mut keys = KeyColumns::new(1, 2);
    assert!(keys.push(&[3]) && keys.push(&[4]));
    let failed = |rows| {
        let mut work = AddWork::default();
        let failed = (0..trials).filter(|seed| {
            let mut sketch =
                KAry::new(Shape { rows, width: 17 }, 1, Seed::from_u64(*seed)).unwrap();
            sketch.add(weir_simd::tier(), &keys, &[1i64, 1], &mut work);
            (sketch.f2() - 2.0).abs() > promised
        });
        failed.count() as f64
    };
    let trials = trials as f64;
    let limit = trials * delta + 7.0 * (trials * delta * (1.0 - delta)).sqrt();
    assert!(failed(5) < limit, "{}", failed(5));
    assert!(failed(1) > limit, "{}", failed(1));
}
