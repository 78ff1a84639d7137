//! The clock rate, measured.

use std::hint::black_box;
use std::time::Instant;

/// Instructions per sample.
pub const LENGTH: usize = 64 * 1024;

/// Cycles per nanosecond, by multiplications that wait for each other: three
/// cycles each on every processor of recent years.
pub fn ghz() -> f64 {
    3.0 / best_ns(multiply_chain)
}

/// Nanoseconds of one of the [`LENGTH`] instructions of a sample: the least of
/// many samples, since nothing makes an instruction faster than it is.
pub fn best_ns(sample: fn()) -> f64 {
    (0..200)
        .map(|_| {
            let start = Instant::now();
            sample();
            start.elapsed().as_nanos() as f64 / LENGTH as f64
        })
        .fold(f64::INFINITY, f64::min)
}

fn multiply_chain() {
    let mut x = black_box(3u64);
    for _ in 0..LENGTH {
        x = x.wrapping_mul(x);
    }
    black_box(x);
}
