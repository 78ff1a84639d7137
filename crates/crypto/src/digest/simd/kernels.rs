//! The bodies of all kernels, and the functions that make code of an instruction set of them.

use super::super::rounds::{md5::Md5, sha1::Sha1, sha2::Sha256, sha2::Sha512};
use super::lanes::InLanes;
use super::sha_ni::{Ni, NiSha1, NiSha256};
use super::{HmacRow, MOST_LANES, States, Streams, Word, Words};
use crate::simd::vector::{Avx2, Avx512};

/// A compression function in the lanes of an instruction set. A value is proof that the processor
/// has it, so that its instructions are safe. Everything is inlined into a kernel, which enables
/// them.
pub(super) trait Lanes<W>: Copy {
    /// States of all lanes, and one block of each.
    type State: Copy;
    type Block: Copy;

    fn load_state(self, states: &States<W>) -> Self::State;
    fn store_state(self, state: &Self::State, states: &mut States<W>);

    /// The states behind the inner and the outer pad.
    fn load_pads(self, pads: &[&[[W; 8]; 2]; MOST_LANES]) -> [Self::State; 2];

    /// The block at byte `at` of every stream.
    ///
    /// # Safety
    /// The streams of all lanes go on for a block from there.
    unsafe fn load_block(self, streams: &Streams<'_>, at: usize) -> Self::Block;

    fn block_of_words(self, words: &Words<W>) -> Self::Block;

    /// The first words of a state, and the words of `padding` behind them.
    fn block_of_digest(
        self,
        state: &Self::State,
        digest_words: usize,
        padding: &Words<W>,
    ) -> Self::Block;

    fn compress(self, state: &mut Self::State, block: Self::Block);
}

/// The body of a kernel that takes blocks of streams.
///
/// # Safety
/// The streams of all lanes have at least `blocks` blocks.
#[inline(always)]
unsafe fn take_streams<W: Word, L: Lanes<W>>(
    lanes: L,
    state: &mut L::State,
    streams: &Streams<'_>,
    blocks: usize,
) {
    for block in 0..blocks {
        // SAFETY: the block lies within the streams, as the caller promises.
        let block = unsafe { lanes.load_block(streams, block * W::BLOCK_BYTES) };
        lanes.compress(state, block);
    }
}

/// The body of a kernel that is given words.
#[inline(always)]
fn take_words<W: Word, L: Lanes<W>>(lanes: L, states: &mut States<W>, words: &Words<W>) {
    let mut state = lanes.load_state(states);
    lanes.compress(&mut state, lanes.block_of_words(words));
    lanes.store_state(&state, states);
}

/// The body of an HMAC kernel: states do not leave the registers between the hashes.
///
/// # Safety
/// The streams of all lanes have at least `body_blocks` and `end_blocks` blocks.
#[inline(always)]
unsafe fn hmac<W: Word, L: Lanes<W>>(lanes: L, row: &HmacRow<'_, W>, states: &mut States<W>) {
    let [mut inner, mut outer] = lanes.load_pads(&row.pads);
    // SAFETY: as the caller promises.
    unsafe {
        take_streams(lanes, &mut inner, &row.bodies, row.body_blocks);
        take_streams(lanes, &mut inner, &row.ends, row.end_blocks);
    }
    let block = lanes.block_of_digest(&inner, row.digest_words, row.outer);
    lanes.compress(&mut outer, block);
    lanes.store_state(&outer, states);
}

/// Kernels of an instruction set, of which `$lanes` makes the proof.
macro_rules! kernels {
    ($tier:ident, $features:tt; $($name:ident: $word:ty, $lanes:expr;)*) => {
        pub(super) mod $tier {
            use super::*;

            $(pub(in super::super) mod $name {
                use super::*;

                /// # Safety
                /// The processor has the instructions; the streams of all lanes have at least
                /// `blocks` blocks.
                #[target_feature(enable = $features)]
                pub(in super::super::super) unsafe fn advance(
                    states: &mut States<$word>,
                    streams: &Streams<'_>,
                    blocks: usize,
                ) {
                    // SAFETY: as the caller promises.
                    unsafe {
                        let lanes = $lanes;
                        let mut state = lanes.load_state(states);
                        take_streams(lanes, &mut state, streams, blocks);
                        lanes.store_state(&state, states);
                    }
                }

                /// # Safety
                /// The processor has the instructions.
                #[target_feature(enable = $features)]
                pub(in super::super::super) unsafe fn take_words(
                    states: &mut States<$word>,
                    words: &Words<$word>,
                ) {
                    // SAFETY: as the caller promises.
                    super::super::take_words(unsafe { $lanes }, states, words);
                }

                /// # Safety
                /// The processor has the instructions; the streams of all lanes have the blocks
                /// of `row`.
                #[target_feature(enable = $features)]
                pub(in super::super::super) unsafe fn hmac(
                    row: &HmacRow<'_, $word>,
                    states: &mut States<$word>,
                ) {
                    // SAFETY: as the caller promises.
                    unsafe { super::super::hmac($lanes, row, states) };
                }
            })*
        }
    };
}

kernels! {
    avx512, "avx512f,avx512bw,avx512vl";
    md5: u32, InLanes::new(Avx512::new(), Md5);
    sha1: u32, InLanes::new(Avx512::new(), Sha1);
    sha256: u32, InLanes::new(Avx512::new(), Sha256);
    sha512: u64, InLanes::new(Avx512::new(), Sha512);
}
kernels! {
    avx2, "avx2";
    md5: u32, InLanes::new(Avx2::new(), Md5);
    sha1: u32, InLanes::new(Avx2::new(), Sha1);
    sha256: u32, InLanes::new(Avx2::new(), Sha256);
    sha512: u64, InLanes::new(Avx2::new(), Sha512);
}
kernels! {
    sha_ni, "sha,ssse3,sse4.1";
    sha1: u32, Ni::<NiSha1>::new();
    sha256: u32, Ni::<NiSha256>::new();
}
