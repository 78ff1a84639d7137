//! The functions that make code of an instruction set.

use super::super::packet::Task;
use super::group;
use super::poly1305::{Limbs26, Limbs44};
use crate::simd::vector::{Avx2, Avx512};

macro_rules! kernels {
    ($tier:ident, $features:tt, $isa:ty, $field:ty) => {
        pub(super) mod $tier {
            use super::*;

            /// Processes the packets of a task.
            #[target_feature(enable = $features)]
            pub(in super::super) fn run<const OPEN: bool>(task: &mut Task<'_, '_>) {
                // SAFETY: the caller has found the tier.
                let isa = unsafe { <$isa>::new() };
                group::run::<$field, _, OPEN>(isa, task);
            }

            /// Poly1305 of eight messages, padded to whole blocks.
            #[cfg(test)]
            #[target_feature(enable = $features)]
            pub(in super::super) fn poly1305(
                keys: &[[u8; 32]; 8],
                messages: &[Vec<u8>; 8],
            ) -> [crate::cipher::Block; 8] {
                // SAFETY: as above.
                let isa = unsafe { <$isa>::new() };
                super::super::poly1305::of_messages::<$field, _>(isa, keys, messages)
            }
        }
    };
}
kernels!(avx2, "avx2", Avx2, Limbs26<Avx2>);
kernels!(
    avx512,
    "avx512f,avx512bw,avx512vl,avx512vbmi2,avx512ifma,bmi2",
    Avx512,
    Limbs44
);
