//! Rows that are arithmetic.

/// The probability that a Bloom filter says yes to what it does not hold:
/// `bits_per_entry` bits for each entry, `hashes` hash functions. Equation 5.1
/// prints `(1 - p)^k` with `p` the probability that a bit is still 0, and the
/// numbers in the text agree with that reading.
pub(super) fn bloom_false_positives(bits_per_entry: f64, hashes: f64) -> f64 {
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

/// IPv4 packet lengths with the published statistics of the thesis's trace
/// (2.6.2.1, AIX-1054837521-1): half below 128 bytes, 22 % of 1500 bytes. The
/// rest is spread evenly between. Shares are in parts of 1000.
pub(super) fn trace_like_lengths() -> Vec<(u32, u64)> {
    let mut lengths = vec![(40, 320), (52, 120), (96, 60), (1500, 220)];
    lengths.extend((0..14).map(|step| (150 + 95 * step, 20)));
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_substituted_trace_has_the_published_statistics() {
        let lengths = trace_like_lengths();
        let packets: u64 = lengths.iter().map(|(_, share)| share).sum();
        let bytes: u64 = lengths
            .iter()
            .map(|&(length, share)| u64::from(length) * share)
            .sum();
        let small = lengths.iter().filter(|(length, _)| *length < 128);
        let (small, small_bytes) = small.fold((0, 0), |(count, sum), &(length, share)| {
            (count + share, sum + u64::from(length) * share)
        });
        assert_eq!((packets, small), (1000, 500));
        assert!(small_bytes * 100 < 6 * bytes);
        // Large packets carry 60 % here and 75 % there: the rest of the
        // distribution is not published.
        assert!(1500 * 220 * 100 > 55 * bytes);
    }
}
