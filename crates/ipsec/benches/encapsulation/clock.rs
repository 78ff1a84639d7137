//! The clock rate, measured.

use std::hint::black_box;
use std::time::Instant;

/// Multiplications per sample.
const LENGTH: usize = 64 * 1024;

/// Cycles per nanosecond, by multiplications that wait for each other: three
/// cycles each on every processor of recent years. The best of many samples.
pub fn ghz() -> f64 {
    let best_ns = (0..200)
        .map(|_| {
            let start = Instant::now();
            let mut x = black_box(3u64);
            for _ in 0..LENGTH {
                x = x.wrapping_mul(x);
            }
            black_box(x);
            start.elapsed().as_nanos() as f64 / LENGTH as f64
        })
        .fold(f64::INFINITY, f64::min);
    3.0 / best_ns
}
