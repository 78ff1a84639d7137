//! One sketch of each kind, narrow and wide counters, and one that saturated.

use weir_hash::KeyColumns;
use weir_measure::{AddWork, CountMin, KAry, RealKAry, Seed as HashSeed, Shape};
use weir_simd::Tier;

use crate::{Seed, seed};

/// Parts of the header, and numbers at the ends of their ranges.
pub const WORDS: &[&[u8]] = &[
    b"WeirSkch",
    b"\x02\0\x01\x01",
    b"\x01\0\0\0",
    b"\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\0\0\0\0\0\0\0\x80",
    b"\0\0\0\0\0\0\xf8\x7f",
];

const SHAPE: Shape = Shape { rows: 2, width: 5 };

fn keys() -> KeyColumns {
    let mut keys = KeyColumns::new(2, 3);
    for key in 0..3 {
        keys.push(&[key, 1]);
    }
    keys
}

fn count_min(values: &[i64]) -> CountMin {
    let mut sketch = CountMin::new(SHAPE, 2, HashSeed::from_u64(3)).expect("a shape");
    sketch.add(Tier::Scalar, &keys(), values, &mut AddWork::default());
    sketch
}

/// The seeds.
pub fn seeds() -> Vec<Seed> {
    let mut k_ary = KAry::new(SHAPE, 2, HashSeed::from_u64(3)).expect("a shape");
    k_ary.add(
        Tier::Scalar,
        &keys(),
        &[-5i64, 1 << 33, 7],
        &mut AddWork::default(),
    );
    let mut real = RealKAry::from(&k_ary);
    real.scale(0.3);
    let whole = count_min(&[1, 2, 3]).encode();
    vec![
        seed("empty", []),
        seed("count_min", whole.clone()),
        seed("cut_short", &whole[..84]),
        seed("wide", count_min(&[5, 1 << 40, 0]).encode()),
        seed("saturated", count_min(&[i64::MAX, i64::MAX, 1]).encode()),
        seed("k_ary", k_ary.encode()),
        seed("real_k_ary", real.encode()),
    ]
}
