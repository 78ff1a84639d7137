//! Sketches in the stream register file (chapter 6 of the stream thesis).
//!
//! A sketch has one array of counters for each cluster, in the cluster's own
//! lane (equation 6.10). Each cluster has its own hash function of one family,
//! and all clusters hash the same key: a record of the key stream goes from the
//! cluster that read it to all others.
//!
//! - `sketch-update-2`: the key's two halfwords are hashed by two functions
//!   `a x + b` modulo 2³¹ - 1, and the values added in GF(2) (3.4).
//! - `sketch-update-4`: three polynomials of degree 3, of the halfwords and of
//!   their sum (equation 3.10).
//! - `sketch-query-2`: the estimates of keys (equation 6.4).
//! - `sketch-combine`, `sketch-forecast`, `sketch-error`, `sketch-moments` and
//!   `sketch-alarms` are the other kernels of change detection (6.5), for which
//!   `sketch-update-4-rows` gives the rows of its keys on.

use super::Entry;
use super::lanes::Lanes;
use super::mersenne;
use crate::stream_processor::kernel::{BuildError, Builder, Kernel, Over, ScalarId, Value};

pub mod change;
mod detection;
pub mod groups;
pub mod programs;
mod query;

pub use query::query_2;

/// Counters of each array: a sketch of eight has 32 KB (6.6.1).
pub const COUNTERS: u32 = 1024;

pub(super) const KERNELS: &[Entry] = &[
    Entry {
        name: "sketch-update-2",
        about: "updates a sketch with 2-universal hash functions",
        source: "Lai 2006, 6.6.1",
        records: 4,
        build: update_2,
    },
    Entry {
        name: "sketch-update-4",
        about: "updates a sketch with 4-universal hash functions",
        source: "Lai 2006, 6.6.1",
        records: 12,
        build: update_4,
    },
    Entry {
        name: "sketch-update-2-groups",
        about: "updates a sketch in each group of eight clusters",
        source: "Lai 2006, figure 8.5",
        records: 4,
        build: groups::update_2,
    },
    Entry {
        name: "sketch-query-2",
        about: "estimates keys by their smallest counter",
        source: "Lai 2006, equation 6.4",
        records: 4,
        build: query_2,
    },
    Entry {
        name: "sketch-combine",
        about: "adds two sketches",
        source: "Lai 2006, 6.4.1",
        records: 24,
        build: |_| combine(),
    },
    Entry {
        name: "sketch-forecast",
        about: "updates the moving average of the last sketches",
        source: "Lai 2006, equation 6.16",
        records: 24,
        build: |_| forecast(),
    },
    Entry {
        name: "sketch-error",
        about: "subtracts the forecast sketch from the observed one",
        source: "Lai 2006, 6.5.1",
        records: 24,
        build: |_| error(),
    },
    Entry {
        name: "sketch-update-4-rows",
        about: "as sketch-update-4, also writes the rows of keys",
        source: "Lai 2006, 6.6.1",
        records: 12,
        build: update_4_with_rows,
    },
    Entry {
        name: "sketch-moments",
        about: "sums the counters of an error sketch and their squares",
        source: "Lai 2006, equation 6.9",
        records: 24,
        build: |_| detection::moments(),
    },
    Entry {
        name: "sketch-alarms",
        about: "reports keys whose median counter exceeds a threshold",
        source: "Lai 2006, 6.5.1",
        records: 4,
        build: detection::alarms,
    },
];

/// A family of hash functions of 32-bit keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hashing {
    /// 2-universal.
    Two,
    /// 4-universal.
    Four,
}

impl Hashing {
    /// Polynomials of a function, and coefficients of each, the highest first.
    pub fn shape(self) -> (usize, usize) {
        match self {
            Hashing::Two => (2, 2),
            Hashing::Four => (3, 4),
        }
    }

    /// Parameters of a cluster's function.
    pub fn words(self) -> usize {
        let (polynomials, coefficients) = self.shape();
        polynomials * coefficients
    }
}

/// Updates with 2-universal hash functions.
pub fn update_2(clusters: usize) -> Result<Kernel, BuildError> {
    update("sketch-update-2", Hashing::Two, clusters, false)
}

/// Updates with 4-universal hash functions.
pub fn update_4(clusters: usize) -> Result<Kernel, BuildError> {
    update("sketch-update-4", Hashing::Four, clusters, false)
}

/// The same, giving the rows of keys as well: for a record of each cluster, the row
/// of every cluster's key in this one.
pub fn update_4_with_rows(clusters: usize) -> Result<Kernel, BuildError> {
    update("sketch-update-4-rows", Hashing::Four, clusters, true)
}

fn update(
    name: &str,
    hashing: Hashing,
    clusters: usize,
    gives_rows: bool,
) -> Result<Kernel, BuildError> {
    let all = |k: &mut Builder| match clusters {
        1 => vec![None],
        _ => (0..clusters as u32)
            .map(|it| Some(k.constant(it)))
            .collect(),
    };
    update_from(Builder::new(name), hashing, clusters, gives_rows, all)
}

/// An update whose clusters take keys from the clusters that `sources` names, one
/// after the other; none stands for a cluster's own.
fn update_from(
    mut k: Builder,
    hashing: Hashing,
    clusters: usize,
    gives_rows: bool,
    sources: impl FnOnce(&mut Builder) -> Vec<Option<Value>>,
) -> Result<Kernel, BuildError> {
    let parameters = k.input("parameters", 1);
    let keys = k.input("keys", 2);
    let sketch = k.indexed("sketch");
    let given = gives_rows.then(|| k.output("rows", clusters as u32));
    let function: Vec<Value> = (0..hashing.words())
        .map(|_| k.read(parameters)[0])
        .collect();
    let lanes = Lanes::new(clusters);
    let sources = sources(&mut k);
    k.repeat(Over::records(keys).label("keys").pipeline(), &[], |k, _| {
        let record = k.read(keys);
        let mut rows = Vec::with_capacity(sources.len());
        for &source in &sources {
            let [key, length] = [record[0], record[1]].map(|word| match source {
                Some(source) => k.communicate(word, source),
                None => word,
            });
            let row = row(k, hashing, &function, key);
            lanes.count(k, sketch, row, length);
            rows.push(row);
        }
        if let Some(given) = given {
            k.write(given, &rows);
        }
        vec![]
    });
    k.finish()
}

/// The row of a key's counter.
pub(super) fn row(k: &mut Builder, hashing: Hashing, function: &[Value], key: Value) -> Value {
    let mask = k.constant(COUNTERS - 1);
    let hash = hash(k, hashing, function, key);
    k.and(hash, mask)
}

fn hash(k: &mut Builder, hashing: Hashing, function: &[Value], key: Value) -> Value {
    let low_half = k.constant(0xffff);
    let low = k.and(key, low_half);
    let high = k.shift_right(key, 16);
    let mut points = vec![low, high];
    if hashing == Hashing::Four {
        points.push(k.add(low, high));
    }
    let (_, coefficients) = hashing.shape();
    let values: Vec<Value> = points
        .into_iter()
        .zip(function.chunks(coefficients))
        .map(|(point, polynomial)| evaluate(k, polynomial, point))
        .collect();
    k.xor_all(&values)
}

/// A polynomial at a point below 2¹⁷, modulo the prime 2³¹ - 1 (Horner).
///
/// A product of less than 2⁴⁹ is folded once: the bits above 31 are added to
/// those below. That leaves less than 2³¹ + 2¹⁸, which fits the next product;
/// the prime is subtracted only at the end.
fn evaluate(k: &mut Builder, polynomial: &[Value], point: Value) -> Value {
    let zero = k.constant(0);
    let mut value = polynomial[0];
    for &coefficient in &polynomial[1..] {
        let product = k.multiply_wide(value, point);
        let sum = k.add64(product, [coefficient, zero]);
        value = mersenne::fold(k, sum);
    }
    mersenne::reduce(k, value)
}

/// The sum of two sketches (equation 6.11).
pub fn combine() -> Result<Kernel, BuildError> {
    let mut k = Builder::new("sketch-combine");
    let (one, other) = (k.input("one", 1), k.input("other", 1));
    let sum = k.output("sum", 1);
    counters(&mut k, one, |k| {
        let words = [k.read(one)[0], k.read(other)[0]];
        let word = k.add(words[0], words[1]);
        k.write(sum, &[word]);
    });
    k.finish()
}

/// The average of the last `2^n` sketches from the average before it, the
/// newest sketch and the one that leaves (equation 6.16).
pub fn forecast() -> Result<Kernel, BuildError> {
    let mut k = Builder::new("sketch-forecast");
    let before = k.input("forecast before", 1);
    let (newest, leaving) = (k.input("newest", 1), k.input("leaving", 1));
    let log2_window: ScalarId = k.scalar_parameter("log2 of the window");
    let after = k.output("forecast", 1);
    let bits = k.scalar(log2_window);
    counters(&mut k, before, |k| {
        let words = [before, newest, leaving].map(|stream| k.read(stream)[0]);
        let change = k.sub(words[1], words[2]);
        let share = k.shift_right_signed_by(change, bits);
        let word = k.add(words[0], share);
        k.write(after, &[word]);
    });
    k.finish()
}

/// What was observed less what was forecast.
pub fn error() -> Result<Kernel, BuildError> {
    let mut k = Builder::new("sketch-error");
    let (observed, forecast) = (k.input("observed", 1), k.input("forecast", 1));
    let error = k.output("error", 1);
    counters(&mut k, observed, |k| {
        let words = [k.read(observed)[0], k.read(forecast)[0]];
        let word = k.sub(words[0], words[1]);
        k.write(error, &[word]);
    });
    k.finish()
}

/// A loop over the counters of a sketch.
fn counters(
    k: &mut Builder,
    stream: crate::stream_processor::kernel::InputId,
    body: impl FnOnce(&mut Builder),
) {
    k.repeat(
        Over::records(stream).label("counters").pipeline(),
        &[],
        |k, _| {
            body(k);
            vec![]
        },
    );
}

#[cfg(test)]
mod tests;
