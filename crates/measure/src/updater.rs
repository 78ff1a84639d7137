//! Updates of a sketch one at a time, by keys of bytes.

use std::fmt;
use std::iter;

use weir_hash::{ByteHash, KeyColumns};
use weir_simd::Tier;

use crate::aggregation::{self, AggregationCache, EVICTED_MAX, Update};
use crate::sketch::{AddWork, Sketch};

/// What the seed of the cache is derived from that of the sketch for.
const CACHE: u32 = u32::from_be_bytes(*b"cche");

/// Words of 64 bits that a key takes in the cache, of which a [`ByteHash`] fills one.
const CACHE_WORDS: usize = 2;

/// A sketch with a buffer in front, for programs whose updates come one at a time and
/// whose keys are bytes: names, addresses, anything of any length.
///
/// Updates of recent keys are summed in a cache of 32 KB; what is evicted is hashed in
/// batches of 256 in SIMD lanes. Sums are exact: after [`Updater::flush`] the sketch is
/// the one that [`CountMin::update_bytes`](crate::CountMin::update_bytes) would have made.
///
/// ```
/// use weir_measure::{Accuracy, CountMin, Seed, Updater};
///
/// let shape = Accuracy { epsilon: 1e-4, delta: 0.01 }.shape()?;
/// let mut bytes = Updater::new(CountMin::for_bytes(shape, Seed::random()?)?);
/// bytes.update(b"192.0.2.1", 1500);
/// bytes.update(b"198.51.100.7", 40);
/// bytes.update(b"192.0.2.1", 60);
/// let sketch = bytes.into_sketch();
/// let estimate = sketch.estimate_bytes(b"192.0.2.1");
/// assert!(1560 <= estimate && estimate <= 1560 + sketch.bound() as i64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Updater<S> {
    sketch: S,
    bytes: ByteHash,
    cache: AggregationCache<CACHE_WORDS>,
    columns: KeyColumns,
    values: Vec<i64>,
    work: AddWork,
    tier: Tier,
}

impl<S: Sketch> Updater<S> {
    /// A buffer in front of `sketch`. Hash functions run with the widest instructions that
    /// the processor has, or that `WEIR_ISA` names.
    pub fn new(sketch: S) -> Updater<S> {
        let layout = sketch.layout();
        let words = layout.words().min(ByteHash::KEY_WORDS);
        Updater {
            bytes: *layout.bytes(),
            cache: AggregationCache::new(layout.seed().derive(CACHE)),
            columns: KeyColumns::new(words, EVICTED_MAX),
            values: Vec::with_capacity(EVICTED_MAX),
            work: AddWork::default(),
            tier: weir_simd::tier(),
            sketch,
        }
    }

    /// Adds `value` to `key`, now or at the next [`Updater::flush`]. Values may be negative
    /// where the sketch allows it.
    #[inline]
    pub fn update(&mut self, key: &[u8], value: i64) {
        let [low, high] = self.bytes.key(key);
        let fits = u64::try_from(value)
            .ok()
            .filter(|it| aggregation::fits(*it));
        let Some(value) = fits else {
            return self.sketch.update(&[low, high], value);
        };
        let update = Update {
            words: [u64::from(high) << 32 | u64::from(low), 0],
            value,
            is_noted: false,
        };
        if self.cache.put_all(iter::once(update)) {
            self.add_evicted();
        }
    }

    /// Adds all buffered updates to the sketch: up to 2,560 keys.
    pub fn flush(&mut self) {
        while self.add(AggregationCache::drain) {}
    }

    /// The sketch with all updates.
    pub fn sketch(&mut self) -> &S {
        self.flush();
        &self.sketch
    }

    /// The sketch with all updates, and no buffer.
    pub fn into_sketch(mut self) -> S {
        self.flush();
        self.sketch
    }

    /// The estimate of a key's sum. Flushes first, so that a query after each update is
    /// slow.
    pub fn estimate(&mut self, key: &[u8]) -> S::Estimate {
        self.flush();
        self.sketch.estimate(&self.bytes.key(key))
    }

    #[cold]
    fn add_evicted(&mut self) {
        self.add(AggregationCache::take_evicted);
    }

    /// Adds what the cache hands over to the sketch; whether it was anything.
    fn add(
        &mut self,
        from: impl Fn(&mut AggregationCache<CACHE_WORDS>) -> &[aggregation::Addition<CACHE_WORDS>],
    ) -> bool {
        let additions = from(&mut self.cache);
        self.columns.fill(additions.len(), |key, word| {
            (additions[key].words()[0] >> (32 * word)) as u32
        });
        self.values.clear();
        let values = additions.iter().map(|addition| addition.value() as i64);
        self.values.extend(values);
        self.sketch
            .add_batch(self.tier, &self.columns, &self.values, &mut self.work);
        !self.values.is_empty()
    }
}

impl<S: fmt::Debug> fmt::Debug for Updater<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updater")
            .field("sketch", &self.sketch)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::accuracy::Shape;
    use crate::{CountMin, KAry, Seed};

    const SHAPE: Shape = Shape { rows: 3, width: 50 };

    proptest! {
        /// The same sketch as that of updates one by one, whatever the values, whether the
        /// keys of the sketch have one word or several.
        #[test]
        fn buffered_updates_are_those_one_by_one(
            updates in prop::collection::vec(
                (0u32..700, prop_oneof![0i64..2000, any::<i32>().prop_map(i64::from)]),
                0..3000,
            ),
            words in 1usize..4,
            seed: u64,
        ) {
            let mut plain = KAry::new(SHAPE, words, Seed::from_u64(seed)).unwrap();
            let mut buffered = Updater::new(plain.clone());
            for (key, value) in &updates {
                let name = format!("host-{key}.example");
                buffered.update(name.as_bytes(), *value);
                plain.update_bytes(name.as_bytes(), *value);
            }
            prop_assert_eq!(
                buffered.estimate(b"host-1.example"),
                plain.estimate_bytes(b"host-1.example")
            );
            prop_assert_eq!(buffered.into_sketch(), plain);
        }
    }

    /// Many keys, each once, bypass the cache; a look in between changes nothing.
    #[test]
    fn keys_that_do_not_recur_arrive() {
        let mut updater = Updater::new(CountMin::for_bytes(SHAPE, Seed::from_u64(1)).unwrap());
        for key in 0..50_000u32 {
            updater.update(&key.to_le_bytes(), 3);
            if key % 20_000 == 0 {
                assert_eq!(updater.sketch().total(), 3 * (i64::from(key) + 1));
            }
        }
        assert_eq!(updater.into_sketch().total(), 150_000);
    }
}
