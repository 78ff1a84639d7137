//! How near point queries come with sub-sketches in place of one sketch (6.6.2 and
//! 6.6.3), on a trace made here: sources with shares of Zipf's law, each there for
//! a part of the time.

use crate::shared::random::Random;
use crate::stream_processor::applications::mersenne::PRIME;
use crate::stream_processor::lengths::trace_like;

/// Sources of the thesis's trace.
const SOURCES: usize = 24_569;
/// Hash functions of a sketch.
const FUNCTIONS: usize = 8;

/// A packet, in the order of time.
struct Arrival {
    /// From 0 to 1.
    time: f64,
    source: usize,
    bytes: u64,
}

/// Packets in the order of time; every source has one at least.
pub(super) struct Trace(Vec<Arrival>);

impl Trace {
    /// A trace of about N packets.
    pub(super) fn new(packets: usize) -> Trace {
        let mut random = Random::new(3);
        let lengths = trace_like(1000);
        let harmonic: f64 = (1..=SOURCES).map(|rank| 1.0 / rank as f64).sum();
        let mut arrivals = Vec::with_capacity(packets + SOURCES);
        for source in 0..SOURCES {
            let share = 1.0 / (source + 1) as f64 / harmonic;
            let count = (share * packets as f64).max(1.0) as usize;
            let (begin, length) = (random.share(), random.share());
            arrivals.extend((0..count).map(|_| Arrival {
                time: (begin + length * random.share()).min(1.0),
                source,
                bytes: u64::from(lengths[random.below(lengths.len())]),
            }));
        }
        arrivals.sort_by(|one, other| one.time.total_cmp(&other.time));
        Trace(arrivals)
    }

    /// The average error of point queries (equation 6.18), with a sub-sketch for
    /// each of `quanta` parts of the time: each of `counters` counters for a
    /// function. A source is queried in those that it is in. Functions are
    /// drawn once, or again for each sub-sketch.
    pub(super) fn error(&self, quanta: usize, counters: usize, draws_again: bool) -> f64 {
        let mut exact = vec![0u64; SOURCES];
        let mut estimates = vec![0u64; SOURCES];
        let quantum_of = |it: &Arrival| ((it.time * quanta as f64) as usize).min(quanta - 1);
        for (quantum, arrivals) in self
            .0
            .chunk_by(|one, other| quantum_of(one) == quantum_of(other))
            .enumerate()
        {
            let functions = functions(if draws_again { quantum as u64 } else { 0 });
            let place = |function: usize, source: usize| {
                function * counters + hash(&functions[function], key(source)) % counters
            };
            let mut sketch = vec![0u64; FUNCTIONS * counters];
            let mut is_in = vec![false; SOURCES];
            for arrival in arrivals {
                exact[arrival.source] += arrival.bytes;
                is_in[arrival.source] = true;
                for function in 0..FUNCTIONS {
                    sketch[place(function, arrival.source)] += arrival.bytes;
                }
            }
            for source in (0..SOURCES).filter(|&source| is_in[source]) {
                let of_functions = (0..FUNCTIONS).map(|it| sketch[place(it, source)]);
                estimates[source] += of_functions.min().unwrap_or(0);
            }
        }
        let squares = exact.iter().zip(&estimates).map(|(&exact, &estimate)| {
            let error = (estimate - exact) as f64 / exact as f64;
            error * error
        });
        (squares.sum::<f64>() / SOURCES as f64).sqrt()
    }
}

/// A source's address.
fn key(source: usize) -> u32 {
    (source as u32 + 1).wrapping_mul(0x9e37_79b1)
}

/// Parameters of each function: of each halfword, a factor and a summand.
fn functions(number: u64) -> Vec<[u64; 4]> {
    let mut random = Random::new(100 + number);
    (0..FUNCTIONS)
        .map(|_| std::array::from_fn(|_| 1 + random.number() % u64::from(PRIME - 1)))
        .collect()
}

/// 2-universal hashing of two halfwords (3.4).
fn hash(parameters: &[u64; 4], key: u32) -> usize {
    let [low, high] = [key & 0xffff, key >> 16].map(u64::from);
    let prime = u64::from(PRIME);
    let values = [
        (parameters[0] * low + parameters[1]) % prime,
        (parameters[2] * high + parameters[3]) % prime,
    ];
    (values[0] ^ values[1]) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_fall_with_counters_and_vanish_with_many() {
        let trace = Trace::new(10_000);
        let errors = [1024, 7168, 1 << 18].map(|counters| trace.error(1, counters, false));
        assert!(errors[0] > 2.0 * errors[1], "{errors:?}");
        assert!(errors[2] < 1e-9, "{errors:?}");
        // With one part of the time there is nothing to draw again.
        assert_eq!(trace.error(1, 7168, true), errors[1]);
    }
}
