//! The schedules of four keys, for kernels that are written for AVX-512 alone.

use std::arch::x86_64::*;

use super::schedules;
use super::unit::Vaes;

macro_rules! schedules_of_four {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty = $schedule:ident;)*) => {$(
        /// As the function of this name, one key per 128-bit lane.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,vaes")]
        pub(crate) fn $name($($argument: $type),*) -> $result {
            schedules::$schedule(Vaes::of_tier(), $($argument),*)
        }
    )*};
}

schedules_of_four! {
    next_128_lanes(key: __m512i, constant: u32) -> __m512i = next_128;
    expand_128_lanes(key: __m512i) -> [__m512i; 11] = expand_128;
    expand_192_lanes(low: __m512i, high: __m512i) -> [__m512i; 13] = expand_192;
    expand_256_lanes(low: __m512i, high: __m512i) -> [__m512i; 15] = expand_256;
}
