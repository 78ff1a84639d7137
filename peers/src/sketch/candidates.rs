//! The candidates: Weir's sketches and their peers.

use anyhow::{Result, anyhow};
use datasketches::countmin::CountMinSketch;
use hashbrown::HashMap;
use weir_hash::{Buckets, ByteHash, Family, KeyColumns, Seed};
use weir_measure::{AddWork, CountMin, Layout, Shape, SharedCountMin, Updater};
use weir_simd::Tier;

use super::streams::Stream;

/// Updates that Weir's candidates take at once.
const CHUNK: usize = 256;

const SEED: Seed = Seed::from_u64(0x5eed);

/// Weir's sketch of a family.
pub struct Weir<F: Family> {
    sketch: CountMin<F>,
    columns: KeyColumns,
    work: AddWork,
    tier: Tier,
}

impl<F: Family> Weir<F> {
    pub fn new(shape: Shape, words: usize) -> Result<Weir<F>> {
        Ok(Weir {
            sketch: CountMin::of_layout(Layout::new(shape, words, SEED)?),
            columns: KeyColumns::new(words, CHUNK),
            work: AddWork::default(),
            tier: weir_simd::tier(),
        })
    }

    /// Adds all updates of a stream in batches; returns the sum of the values that were
    /// added.
    pub fn add(&mut self, stream: &Stream) -> u64 {
        self.add_part(&stream.keys, &stream.values)
    }

    /// The same of a part of a stream.
    pub fn add_part(&mut self, keys: &[u32], values: &[u32]) -> u64 {
        let before = self.sketch.total();
        for (keys, values) in keys.chunks(CHUNK).zip(values.chunks(CHUNK)) {
            self.columns.assign(&[keys]);
            self.sketch
                .add(self.tier, &self.columns, values, &mut self.work);
        }
        (self.sketch.total() - before) as u64
    }

    /// Adds updates whose keys stand in columns.
    pub fn add_columns(&mut self, columns: &[Vec<u32>], values: &[u32]) -> u64 {
        let before = self.sketch.total();
        for (number, values) in values.chunks(CHUNK).enumerate() {
            let first = number * CHUNK;
            let mut chunk: [&[u32]; weir_hash::MAX_KEY_WORDS] = [&[]; _];
            for (part, column) in chunk.iter_mut().zip(columns) {
                *part = &column[first..first + values.len()];
            }
            self.columns.assign(&chunk[..columns.len()]);
            self.sketch
                .add(self.tier, &self.columns, values, &mut self.work);
        }
        (self.sketch.total() - before) as u64
    }

    /// Adds another sketch, as shards do at the end of an interval, and empties
    /// it.
    pub fn take(&mut self, other: &mut Weir<F>) -> Result<()> {
        self.sketch.combine(&other.sketch)?;
        other.sketch.clear();
        Ok(())
    }

    /// Bytes of the counters.
    pub fn memory_bytes(&self) -> usize {
        let Shape { rows, width } = self.sketch.shape();
        rows * width as usize * size_of::<u64>()
    }

    /// Mean of estimate less truth over the keys of a stream that was added
    /// once.
    pub fn mean_error(&self, truth: &Exact) -> f64 {
        truth.mean_error(|key| self.sketch.estimate(&[key]) as f64)
    }
}

/// Weir's sketch of a family behind its buffer, one update at a time by keys of bytes.
pub struct Buffered<F: Family> {
    updater: Updater<CountMin<F>>,
}

impl<F: Family> Buffered<F> {
    pub fn new(shape: Shape) -> Result<Buffered<F>> {
        let sketch = CountMin::of_layout(Layout::new(shape, ByteHash::KEY_WORDS, SEED)?);
        Ok(Buffered {
            updater: Updater::new(sketch),
        })
    }

    /// Adds all updates of a stream; returns the sum of the values that were added.
    pub fn add(&mut self, stream: &Stream) -> u64 {
        let before = self.updater.sketch().total();
        for (key, value) in stream.keys.iter().zip(&stream.values) {
            self.updater.update(&key.to_be_bytes(), (*value).into());
        }
        (self.updater.sketch().total() - before) as u64
    }
}

/// One sketch in shared memory.
pub struct Shared {
    sketch: SharedCountMin,
}

impl Shared {
    pub fn new(shape: Shape) -> Result<Shared> {
        let sketch = SharedCountMin::new(shape, 1, SEED)?;
        Ok(Shared { sketch })
    }

    /// Adds a part of a stream.
    pub fn add_part(&self, keys: &[u32], values: &[u32]) {
        let mut columns = KeyColumns::new(1, CHUNK);
        let mut buckets = Buckets::new();
        for (keys, values) in keys.chunks(CHUNK).zip(values.chunks(CHUNK)) {
            columns.assign(&[keys]);
            self.sketch
                .add(weir_simd::tier(), &columns, values, &mut buckets);
        }
    }

    pub fn total(&self) -> u64 {
        self.sketch.total()
    }
}

/// The `datasketches` crate's Count-Min sketch, a packet at a time, as it is
/// meant to be used.
pub struct Peer {
    sketch: CountMinSketch<u64>,
}

impl Peer {
    pub fn new(shape: Shape) -> Result<Peer> {
        let sketch = CountMinSketch::new(shape.rows as u8, shape.width);
        let sketch = sketch.map_err(|error| anyhow!("datasketches: {error}"))?;
        Ok(Peer { sketch })
    }

    pub fn add(&mut self, stream: &Stream) -> u64 {
        let before = self.sketch.total_weight();
        for (key, value) in stream.keys.iter().zip(&stream.values) {
            self.sketch.update_with_weight(*key, u64::from(*value));
        }
        self.sketch.total_weight() - before
    }
}

impl Peer {
    /// Mean of estimate less truth over the keys of a stream that was added
    /// once.
    pub fn mean_error(&self, truth: &Exact) -> f64 {
        truth.mean_error(|key| self.sketch.estimate(key) as f64)
    }
}

/// An exact table of all keys.
#[derive(Default)]
pub struct Exact {
    sums: HashMap<u32, u64, ahash::RandomState>,
}

impl Exact {
    pub fn add(&mut self, stream: &Stream) -> u64 {
        let mut total = 0;
        for (key, value) in stream.keys.iter().zip(&stream.values) {
            let value = u64::from(*value);
            *self.sums.entry(*key).or_default() += value;
            total += value;
        }
        total
    }
}

impl Exact {
    fn mean_error(&self, estimate: impl Fn(u32) -> f64) -> f64 {
        let errors = self.sums.iter();
        let sum: f64 = errors
            .map(|(key, truth)| estimate(*key) - *truth as f64)
            .sum();
        sum / self.sums.len().max(1) as f64
    }

    /// Bytes of the table, without its control bytes.
    pub fn memory_bytes(&self) -> usize {
        self.sums.capacity() * size_of::<(u32, u64)>()
    }
}

/// An update without hashing: additions to counters whose positions were computed
/// before, without overflow checks.
pub struct Floor {
    shape: Shape,
    places: Vec<Buckets>,
    counters: Vec<u32>,
}

impl Floor {
    pub fn new<F: Family>(shape: Shape, stream: &Stream) -> Result<Floor> {
        let family = F::draw(shape.rows, shape.width, 1, SEED)?;
        let mut columns = KeyColumns::new(1, CHUNK);
        let places = stream.keys.chunks(CHUNK).map(|keys| {
            let mut buckets = Buckets::new();
            columns.assign(&[keys]);
            family.buckets(weir_simd::tier(), &columns, &mut buckets);
            buckets
        });
        Ok(Floor {
            shape,
            places: places.collect(),
            counters: vec![0; shape.rows * shape.width as usize],
        })
    }

    pub fn add(&mut self, stream: &Stream) -> u64 {
        let mut total = 0;
        let width = self.shape.width as usize;
        for (buckets, values) in self.places.iter().zip(stream.values.chunks(CHUNK)) {
            for (row, counters) in self.counters.chunks_exact_mut(width).enumerate() {
                for (bucket, value) in buckets.row(row).iter().zip(values) {
                    let counter = &mut counters[*bucket as usize];
                    *counter = counter.wrapping_add(*value);
                }
            }
            total += values.iter().map(|value| u64::from(*value)).sum::<u64>();
        }
        total
    }
}
