//! Distribution of latencies, in counters that another thread may read.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of buckets for the values of one power of two: a bucket is as wide as one part in 128 of
/// its lower bound.
const BUCKETS_LOG2: u32 = 7;

/// Latencies above this count as this: 2³⁶ ns, more than a minute.
const MAX_LATENCY_NS: u64 = (1 << 36) - 1;

const BUCKETS: usize = ((36 - BUCKETS_LOG2 as usize) + 1) << BUCKETS_LOG2;

/// Buckets that one thread adds to.
#[derive(Debug)]
pub(crate) struct LatencyMeter(Box<[AtomicU64]>);

impl LatencyMeter {
    pub fn new() -> LatencyMeter {
        LatencyMeter((0..BUCKETS).map(|_| AtomicU64::new(0)).collect())
    }

    /// Counts `records` with one latency. Only the owner of the meter calls this.
    #[inline]
    pub fn add(&self, latency_ns: u64, records: u64) {
        let bucket = &self.0[bucket(latency_ns)];
        bucket.store(bucket.load(Ordering::Relaxed) + records, Ordering::Relaxed);
    }
}

/// What one or several meters have counted.
#[derive(Clone, Debug)]
pub(crate) struct Latencies(Vec<u64>);

impl Latencies {
    pub fn none() -> Latencies {
        Latencies(vec![0; BUCKETS])
    }

    pub fn add_meter(&mut self, meter: &LatencyMeter) {
        for (sum, bucket) in self.0.iter_mut().zip(&meter.0) {
            *sum += bucket.load(Ordering::Relaxed);
        }
    }

    pub fn add(&mut self, other: &Latencies) {
        for (sum, count) in self.0.iter_mut().zip(&other.0) {
            *sum += count;
        }
    }

    /// The least latency that at least this part of the records does not exceed, rounded up by
    /// at most one part in 128; 0 where there are no records.
    pub fn quantile(&self, quantile: f64) -> u64 {
        let records: u64 = self.0.iter().sum();
        let wanted = (quantile.clamp(0.0, 1.0) * records as f64).ceil().max(1.0) as u64;
        let mut passed = 0;
        let reaches = |count: &u64| {
            passed += count;
            passed >= wanted
        };
        self.0.iter().position(reaches).map_or(0, upper_bound)
    }
}

/// The bucket of a latency: linear up to 2⁷, then 2⁷ buckets per power of two.
#[inline]
fn bucket(latency_ns: u64) -> usize {
    let ns = latency_ns.min(MAX_LATENCY_NS);
    let power = (u64::BITS - (ns >> BUCKETS_LOG2).leading_zeros()).saturating_sub(1);
    // The leading one of values from 2⁷ on adds the offset of their power.
    ((u64::from(power) << BUCKETS_LOG2) + (ns >> power)) as usize
}

/// The largest latency of a bucket.
fn upper_bound(bucket: usize) -> u64 {
    let (bucket, per_power) = (bucket as u64, 1 << BUCKETS_LOG2);
    if bucket < 2 * per_power {
        return bucket;
    }
    let power = (bucket >> BUCKETS_LOG2) - 1;
    let place = per_power + bucket % per_power;
    ((place + 1) << power) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_hold_what_is_put_there() {
        let mut last = 0;
        for exponent in 0..36 {
            for ns in
                [0, 1, 3, 77, 120, 127].map(|part| (1u64 << exponent) + (part << exponent) / 128)
            {
                let bucket = bucket(ns);
                assert!(bucket >= last && bucket < BUCKETS, "{ns}");
                let upper_ns = upper_bound(bucket);
                assert!(upper_ns >= ns && upper_ns - ns <= ns / 128, "{ns}");
                last = bucket;
            }
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(upper_bound(BUCKETS - 1), MAX_LATENCY_NS);
    }

    #[test]
    fn quantiles_are_those_of_the_records() {
        let meter = LatencyMeter::new();
        for ns in 1..=100 {
            meter.add(ns, 1);
        }
        let mut latencies = Latencies::none();
        assert_eq!(latencies.quantile(0.5), 0);
        latencies.add_meter(&meter);
        let quantiles = [0.0, 0.5, 0.99, 1.0].map(|quantile| latencies.quantile(quantile));
        assert_eq!(quantiles, [1, 50, 99, 100]);
    }
}
