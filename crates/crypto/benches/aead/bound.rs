//! What the AES and carry-less multiply units allow, measured.

#[path = "clock.rs"]
mod clock;

use std::fmt;

use weir_simd::Tier;

/// Rates of the instructions that GCM needs most.
pub struct Bound {
    /// Clock rate while measuring.
    pub ghz: f64,
    /// Nanoseconds per AES round instruction.
    aes_ns: f64,
    /// Nanoseconds per carry-less multiplication.
    multiply_ns: f64,
    /// Nanoseconds per ten AES rounds and four multiplications among them: less
    /// than the sum, and more than either where the units share a port.
    block_ns: f64,
    /// Blocks per instruction.
    lanes: usize,
}

impl Bound {
    /// Of the widest instructions that `tier` uses; infinitely fast for the
    /// scalar tier, which uses none.
    pub fn measure(tier: Tier) -> Bound {
        let ghz = clock::ghz();
        let (aes_ns, multiply_ns, block_ns, lanes) = units(tier);
        Bound {
            ghz,
            aes_ns,
            multiply_ns,
            block_ns,
            lanes,
        }
    }

    /// AES-128-GCM with one block of associated data: one block of cipher for
    /// the tag, one of hash for the associated data and one for the lengths; ten
    /// rounds and four multiplications a block, at the rate of the two together.
    #[allow(dead_code, reason = "this file is part of several benchmarks")]
    pub fn packet_ns(&self, payload_bytes: usize) -> f64 {
        let blocks = payload_bytes.div_ceil(16) as f64;
        ((blocks + 1.0) * self.block_ns + 4.0 * self.multiply_ns) / self.lanes as f64
    }

    /// The same if neither instruction were in the other's way.
    #[allow(dead_code, reason = "this file is part of several benchmarks")]
    pub fn packet_apart_ns(&self, payload_bytes: usize) -> f64 {
        let blocks = payload_bytes.div_ceil(16) as f64;
        let aes = 10.0 * (blocks + 1.0) * self.aes_ns;
        let multiply = 4.0 * (blocks + 2.0) * self.multiply_ns;
        aes.max(multiply) / self.lanes as f64
    }

    /// Blocks of AES-128, ten rounds each.
    #[allow(dead_code, reason = "this file is part of several benchmarks")]
    pub fn cipher_ns(&self, blocks: usize) -> f64 {
        10.0 * blocks as f64 * self.aes_ns / self.lanes as f64
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2} GHz; AES round {:.2} cycles, carry-less multiplication {:.2} cycles, \
             ten and four of them together {:.2} cycles, {} blocks each",
            self.ghz,
            self.aes_ns * self.ghz,
            self.multiply_ns * self.ghz,
            self.block_ns * self.ghz,
            self.lanes
        )
    }
}

#[cfg(target_arch = "x86_64")]
fn units(tier: Tier) -> (f64, f64, f64, usize) {
    use std::arch::x86_64::*;
    use std::hint::black_box;

    use self::clock::{LENGTH, best_ns};

    /// Eight chains, so that the unit and not the latency limits.
    macro_rules! chains {
        ($name:ident, $features:literal, $zero:ident, $step:expr) => {
            #[target_feature(enable = $features)]
            fn $name() {
                let mut x = [$zero(); 8];
                for (at, x) in x.iter_mut().enumerate() {
                    *x = black_box(*x);
                    let _ = at;
                }
                let key = black_box($zero());
                for _ in 0..LENGTH / 8 {
                    for x in &mut x {
                        *x = $step(*x, key);
                    }
                }
                black_box(x);
            }
        };
    }
    chains!(
        aes_wide,
        "avx512f,vaes",
        _mm512_setzero_si512,
        _mm512_aesenc_epi128
    );
    chains!(
        multiply_wide,
        "avx512f,vpclmulqdq",
        _mm512_setzero_si512,
        _mm512_clmulepi64_epi128::<0>
    );
    chains!(aes_narrow, "aes", _mm_setzero_si128, _mm_aesenc_si128);
    chains!(
        multiply_narrow,
        "pclmulqdq",
        _mm_setzero_si128,
        _mm_clmulepi64_si128::<0>
    );

    /// Ten rounds of eight chains, and in turns with them four multiplications
    /// for each chain, none of which waits.
    macro_rules! both {
        ($name:ident, $features:literal, $zero:ident, $aes:ident, $multiply:expr) => {
            #[target_feature(enable = $features)]
            fn $name() {
                let mut x = [$zero(); 8];
                for x in &mut x {
                    *x = black_box(*x);
                }
                let key = black_box($zero());
                let mut y = [key; 4];
                for _ in 0..LENGTH / (14 * 8) {
                    for round in 0..10 {
                        for x in &mut x {
                            *x = $aes(*x, key);
                        }
                        if round < 8 {
                            for y in &mut y {
                                *y = $multiply(*y, key);
                            }
                        }
                    }
                }
                black_box((x, y));
            }
        };
    }
    /// Instructions of a block.
    const BLOCK: f64 = 14.0;
    both!(
        both_wide,
        "avx512f,vaes,vpclmulqdq",
        _mm512_setzero_si512,
        _mm512_aesenc_epi128,
        _mm512_clmulepi64_epi128::<0>
    );
    both!(
        both_narrow,
        "aes,pclmulqdq",
        _mm_setzero_si128,
        _mm_aesenc_si128,
        _mm_clmulepi64_si128::<0>
    );

    match tier {
        // SAFETY: the active tier has the instructions.
        Tier::Avx512 => (
            best_ns(|| unsafe { aes_wide() }),
            best_ns(|| unsafe { multiply_wide() }),
            BLOCK * best_ns(|| unsafe { both_wide() }),
            4,
        ),
        // SAFETY: as above.
        Tier::Aesni => (
            best_ns(|| unsafe { aes_narrow() }),
            best_ns(|| unsafe { multiply_narrow() }),
            BLOCK * best_ns(|| unsafe { both_narrow() }),
            1,
        ),
        Tier::Scalar | Tier::NeonAes => (0.0, 0.0, 0.0, 1),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn units(_: Tier) -> (f64, f64, f64, usize) {
    (0.0, 0.0, 0.0, 1)
}
