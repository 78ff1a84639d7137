//! AES units: what kernels ask of a tier, in vectors of whole blocks.
//!
//! | tier | unit | blocks of a vector |
//! | --- | --- | --- |
//! | AES-NI | `AesNi` | 1 |
//! | AVX-512 | `Vaes`, and `PairedVaes` for blocks of several packets | 4, 2 |
//! | NEON | `NeonAes` | 1 |
//!
//! A kernel that tiers run alike, in vectors of other widths, is a [`Kernel`]: one body, which
//! [`run`] enters once per batch with the unit of a tier. A unit is a value that exists only
//! where the processor has the tier, so that its operations are safe to call. Bodies are always
//! inlined into the function that has the tier's features, and do without closures: what a
//! closure is passed to has no such features and may keep it from being inlined.

#[cfg(target_arch = "aarch64")]
mod neon_aes;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::cell::Cell;

use weir_simd::Tier;

use crate::cipher::Block;
#[cfg(target_arch = "x86_64")]
pub(super) use x86::Vaes;

/// Rounds of AES on vectors whose blocks may belong to several packets, each under its own key.
pub(crate) trait AesLanes: Copy {
    /// Some blocks.
    type Vector: Copy;

    /// How many.
    const BLOCKS: usize;

    /// As many blocks.
    ///
    /// # Panics
    /// There are fewer.
    fn load_blocks(self, blocks: &[Block]) -> Self::Vector;

    /// Writes as many blocks.
    ///
    /// # Panics
    /// There are fewer.
    fn store_blocks(self, vector: Self::Vector, blocks: &mut [Block]);

    /// A block of each place.
    ///
    /// # Safety
    /// There are as many places, and a block is readable at each.
    unsafe fn gather(self, places: &[*mut Block]) -> Self::Vector;

    /// Writes a block to each place.
    ///
    /// # Safety
    /// There are as many places, and a block is writable at each.
    unsafe fn scatter(self, vector: Self::Vector, places: &[*mut Block]);

    fn xor(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// A round of the cipher of FIPS 197 section 5.1, which ends with the addition of its key.
    fn round(self, state: Self::Vector, key: Self::Vector) -> Self::Vector;

    fn last_round(self, state: Self::Vector, key: Self::Vector) -> Self::Vector;
}

/// What modes do to the blocks of one packet. All operations but the last treat each block of a
/// vector by itself.
pub(crate) trait AesUnit: AesLanes {
    /// The unit for vectors whose blocks are gathered from several packets: where vectors are
    /// wide, fewer blocks are put together and taken apart at less cost.
    type Lanes: AesLanes;

    fn lanes(self) -> Self::Lanes;

    fn zero(self) -> Self::Vector;

    /// The same block in all places.
    fn broadcast(self, block: &Block) -> Self::Vector;

    /// The first bytes of a text, followed by zeros if it is shorter than a vector.
    fn load(self, text: &[Cell<u8>]) -> Self::Vector;

    /// Writes the first bytes of a text, as many as it has.
    fn store(self, vector: Self::Vector, text: &[Cell<u8>]);

    /// As [`AesUnit::load`], where it cannot be foreseen whether the text fills the vector:
    /// without a branch if the unit has masks.
    fn load_some(self, text: &[Cell<u8>]) -> Self::Vector;

    /// As [`AesUnit::store`], in the same way.
    fn store_some(self, vector: Self::Vector, text: &[Cell<u8>]);

    /// A round of the equivalent inverse cipher: FIPS 197 section 5.3.5.
    fn inverse_round(self, state: Self::Vector, key: Self::Vector) -> Self::Vector;

    fn last_inverse_round(self, state: Self::Vector, key: Self::Vector) -> Self::Vector;

    /// InvMixColumns of a block in the first place, which makes round keys of the equivalent
    /// inverse cipher.
    fn inverse_columns(self, key: Self::Vector) -> Self::Vector;

    /// The block in the first place.
    #[inline(always)]
    fn first(self, vector: Self::Vector) -> Block {
        let mut block = [0; 16];
        self.store_first(vector, &mut block);
        block
    }

    /// Writes the block in the first place.
    #[inline(always)]
    fn store_first(self, vector: Self::Vector, block: &mut Block) {
        self.store(vector, Cell::from_mut(&mut block[..]).as_slice_of_cells());
    }

    /// The bytes of each block reversed.
    fn reverse(self, vector: Self::Vector) -> Self::Vector;

    /// Counter blocks from this one on, their bytes reversed.
    fn counters(self, first: &Block) -> Self::Vector;

    /// Counters further on, modulo 2³².
    fn count_on(self, counters: Self::Vector, blocks: u32) -> Self::Vector;

    /// A little-endian word in all places.
    fn words(self, word: u32) -> Self::Vector;

    /// Of each block the bytes that the bytes of `which` number.
    fn pick(self, vector: Self::Vector, which: Self::Vector) -> Self::Vector;

    /// Each block 32 bits higher, as a little-endian number; then 64 higher, and 64 lower.
    fn up_a_word(self, vector: Self::Vector) -> Self::Vector;

    fn up_a_half(self, vector: Self::Vector) -> Self::Vector;

    fn down_a_half(self, vector: Self::Vector) -> Self::Vector;

    fn swap_halves(self, vector: Self::Vector) -> Self::Vector;

    /// The lower halves of the first blocks, in front of those of the second.
    fn low_halves(self, first: Self::Vector, second: Self::Vector) -> Self::Vector;

    /// The upper halves of the first blocks, in front of the lower ones of the second.
    fn middle_halves(self, first: Self::Vector, second: Self::Vector) -> Self::Vector;

    /// The carry-less product of the lower halves, and of the upper ones.
    fn multiply_low(self, x: Self::Vector, y: Self::Vector) -> Self::Vector;

    fn multiply_high(self, x: Self::Vector, y: Self::Vector) -> Self::Vector;

    /// The sum of the products of each one's lower and the other's upper half.
    fn multiply_crossed(self, x: Self::Vector, y: Self::Vector) -> Self::Vector;

    /// Of a row of blocks, the ones before those of `vector`, which comes behind `before`.
    fn blocks_before(self, before: Self::Vector, vector: Self::Vector) -> Self::Vector;
}

/// Work that tiers do alike.
pub(crate) trait Kernel {
    type Output;

    /// Always inlined.
    fn run<U: AesUnit>(self, unit: U) -> Self::Output;
}

/// Whether [`run`] has a unit for `tier`: the tier has one, and the processor the tier.
pub(crate) fn has_unit(tier: Tier) -> bool {
    tier != Tier::Scalar && tier.is_available()
}

/// Runs a kernel with the unit of `tier`; `None` where there is none.
#[inline]
pub(crate) fn run<K: Kernel>(tier: Tier, kernel: K) -> Option<K::Output> {
    if !has_unit(tier) {
        return None;
    }
    match tier {
        // SAFETY: the tier, and with it every feature that its kernels enable, is there.
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 => Some(unsafe { x86::run_avx512(kernel) }),
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Tier::Aesni => Some(unsafe { x86::run_aesni(kernel) }),
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        Tier::NeonAes => Some(unsafe { neon_aes::run(kernel) }),
        _ => None,
    }
}

/// As [`run`], of a kernel that gains nothing from wide vectors: that of a tier of blocks one by
/// one, which the widest tiers include.
#[inline]
pub(crate) fn run_narrow<K: Kernel>(tier: Tier, kernel: K) -> Option<K::Output> {
    if !has_unit(tier) {
        return None;
    }
    // SAFETY: the tier is there, and with it every feature that a narrower one enables.
    #[cfg(target_arch = "x86_64")]
    return Some(unsafe { x86::run_aesni(kernel) });
    // SAFETY: the tier, and with it every feature that its kernels enable, is there.
    #[cfg(target_arch = "aarch64")]
    return Some(unsafe { neon_aes::run(kernel) });
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return None;
}

/// Encrypts vectors side by side, under at least two round keys.
#[inline(always)]
pub(crate) fn encrypt<U: AesUnit, const VECTORS: usize>(
    unit: U,
    round_keys: &[Block],
    states: &mut [U::Vector; VECTORS],
) {
    let [first, middle @ .., last] = round_keys else {
        return;
    };
    let key = unit.broadcast(first);
    for state in states.iter_mut() {
        *state = unit.xor(*state, key);
    }
    for key in middle {
        let key = unit.broadcast(key);
        for state in states.iter_mut() {
            *state = unit.round(*state, key);
        }
    }
    let key = unit.broadcast(last);
    for state in states {
        *state = unit.last_round(*state, key);
    }
}

/// Decrypts vectors side by side, by the round keys of the equivalent inverse cipher in the
/// order of decryption.
#[inline(always)]
pub(crate) fn decrypt<U: AesUnit, const VECTORS: usize>(
    unit: U,
    inverse_keys: &[Block],
    states: &mut [U::Vector; VECTORS],
) {
    let [first, middle @ .., last] = inverse_keys else {
        return;
    };
    let key = unit.broadcast(first);
    for state in states.iter_mut() {
        *state = unit.xor(*state, key);
    }
    for key in middle {
        let key = unit.broadcast(key);
        for state in states.iter_mut() {
            *state = unit.inverse_round(*state, key);
        }
    }
    let key = unit.broadcast(last);
    for state in states {
        *state = unit.last_inverse_round(*state, key);
    }
}

/// Defines operations on vectors by one expression each.
macro_rules! operations {
    ($($name:ident($($vector:ident),*) = $result:expr;)*) => {$(
        #[inline(always)]
        fn $name(self $(, $vector: Self::Vector)*) -> Self::Vector {
            // SAFETY: the unit is there, so that the processor has the instructions.
            unsafe { $result }
        }
    )*};
}
use operations;
