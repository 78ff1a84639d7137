//! Stored sketches.
//!
//! The promise of every kind: bytes are refused, or they are a sketch that stores
//! as these bytes, answers whatever its counters hold, and adds to itself.

mod seeds;

use weir_hash::KeyColumns;
use weir_measure::{AddWork, CountMin, KAry, RealKAry};

pub use seeds::{WORDS, seeds};

/// A mutation must not make a sketch that takes long to ask.
const MOST_BYTES: usize = 1 << 20;

/// Panics where a promise is broken.
pub fn check(input: &[u8]) {
    if input.len() > MOST_BYTES {
        return;
    }
    if let Ok(sketch) = CountMin::<weir_hash::Ms52>::decode(input) {
        assert_eq!(sketch.encode(), input, "Count-Min");
        check_count_min(sketch);
    }
    if let Ok(sketch) = KAry::<weir_hash::Poly44>::decode(input) {
        assert_eq!(sketch.encode(), input, "K-ary");
        check_k_ary(sketch);
    }
    if let Ok(sketch) = RealKAry::<weir_hash::Poly44>::decode(input) {
        assert_eq!(sketch.encode(), input, "real K-ary");
        let mut doubled = sketch.clone();
        doubled.add_scaled(1.0, &sketch).expect("the same layout");
        let _ = (doubled.f2(), doubled.estimate(&[1]));
    }
}

fn check_count_min(mut sketch: CountMin) {
    let _ = (sketch.estimate(&[1]), sketch.l2_norm(), sketch.bound());
    let copy = sketch.clone();
    sketch.combine(&copy).expect("the same layout");
    let keys = one_key(sketch.layout().words());
    let mut work = AddWork::default();
    sketch.add(weir_simd::tier(), &keys, &[i64::MAX], &mut work);
    sketch.scale(-3);
    assert_eq!(CountMin::decode(&sketch.encode()), Ok(sketch));
}

fn check_k_ary(mut sketch: KAry) {
    let _ = (sketch.estimate(&[1]), sketch.f2());
    let copy = sketch.clone();
    sketch.combine(&copy).expect("the same layout");
    let keys = one_key(sketch.layout().words());
    let mut work = AddWork::default();
    sketch.add(weir_simd::tier(), &keys, &[i64::MIN], &mut work);
    sketch.scale(3);
    assert_eq!(KAry::decode(&sketch.encode()), Ok(sketch));
}

/// A key that a sketch takes.
fn one_key(words: usize) -> KeyColumns {
    let mut keys = KeyColumns::new(words, 1);
    keys.push(&[7]);
    keys
}
