//! How long a cycle of the processor takes now.
//!
//! The cycle counter of x86-64 counts at a fixed rate, whatever the clock does.
//! A chain of multiplications, each of which waits for the one before, runs with
//! the clock: a square of 64 bits takes three cycles on every such processor
//! since 2008 (Fog, Instruction tables: Intel from Nehalem, AMD from Zen).

use std::hint::black_box;
use std::time::Instant;

const SQUARES: u32 = 20_000;
const CYCLES_PER_SQUARE: u32 = 3;

/// Nanoseconds of a cycle; `None` where the latency is not known.
pub(crate) fn ns_per_cycle() -> Option<f64> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let mut number = black_box(3u64);
    let start = Instant::now();
    for _ in 0..SQUARES {
        number = number.wrapping_mul(number);
    }
    black_box(number);
    let ns = start.elapsed().as_nanos() as f64;
    Some(ns / f64::from(SQUARES * CYCLES_PER_SQUARE))
}
