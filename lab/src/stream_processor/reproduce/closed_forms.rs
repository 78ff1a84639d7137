//! Rows that are arithmetic.

/// The probability that a Bloom filter says yes to what it does not hold:
/// `bits_per_entry` bits for each entry, `hashes` hash functions. Equation 5.1
/// prints `(1 - p)^k` with `p` the probability that a bit is still 0, and the
/// numbers in the text agree with that reading.
pub(crate) fn bloom_false_positives(bits_per_entry: f64, hashes: f64) -> f64 {
    (1.0 - (-hashes / bits_per_entry).exp()).powf(hashes)
}

/// Hash functions, counters per function and bytes of a Count-Min sketch with
/// 32-bit counters (6.3.1).
pub(super) fn count_min(epsilon: f64, delta: f64) -> [f64; 3] {
    let hashes = (1.0 / delta).ln().ceil();
    let counters = (std::f64::consts::E / epsilon).ceil();
    [hashes, counters, hashes * counters * 4.0]
}

/// The share of clusters at work on a packet of `blocks` blocks (2.2).
pub(super) fn cluster_efficiency(blocks: u64, clusters: u64) -> f64 {
    blocks as f64 / (blocks.div_ceil(clusters) * clusters) as f64
}
