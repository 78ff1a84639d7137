//! Vectors of 256 and of 512 bits, for kernels that are written once for both.
//!
//! A vector is made of quads of 128 bits, within which most instructions stay. It exists only
//! where the processor has its instructions: it comes from another one, or from an [`Isa`],
//! which is proof of them. All functions are inlined, so that the kernel which enables the
//! instructions becomes one piece of code.

mod avx2;
mod avx512;
#[cfg(test)]
mod tests;

pub(crate) use avx2::Avx2;
pub(crate) use avx512::{Avx512, Vector512};

use super::Numbers;

/// Proof that the processor has the instructions of vectors.
pub(crate) trait Isa: Copy {
    type Vector: Vector<Isa = Self>;

    fn zero(self) -> Self::Vector;
    /// One word in all lanes.
    fn all_32(self, word: u32) -> Self::Vector;
    fn all_64(self, word: u64) -> Self::Vector;
    /// The same 16 bytes in every quad.
    fn all_quads(self, bytes: &[u8; 16]) -> Self::Vector;

    /// The bytes at `at`, of any alignment.
    ///
    /// # Safety
    /// As many as a vector has are readable.
    unsafe fn load_at(self, at: *const u8) -> Self::Vector;

    /// The first bytes at `at`, at most a vector's, and zeros.
    ///
    /// # Safety
    /// They are readable.
    unsafe fn load_first(self, at: *const u8, bytes: usize) -> Self::Vector;

    /// For each quad the first bytes at its place, at most 16, and zeros.
    ///
    /// # Safety
    /// They are readable.
    unsafe fn load_first_of_quads(self, at: [*const u8; 4], bytes: [usize; 4]) -> Self::Vector;

    /// Two quads of `first`, and where a vector has more, two of `second`.
    fn load_pair(self, first: &[u8; 32], second: &[u8; 32]) -> Self::Vector;

    /// The front of `from`, which is no shorter than a vector.
    #[inline(always)]
    fn load<T: Numbers>(self, from: &T) -> Self::Vector {
        const { assert!(size_of::<T>() >= size_of::<Self::Vector>()) };
        // SAFETY: it has the bytes.
        unsafe { self.load_at(std::ptr::from_ref(from).cast()) }
    }
}

/// A vector. Lanes are words of 32 or of 64 bits, as the name of a function says.
pub(crate) trait Vector: Copy {
    type Isa: Isa<Vector = Self>;

    /// Quads of a vector.
    const QUADS: usize = size_of::<Self>() / 16;
    /// Vectors that the processor holds in registers.
    const REGISTERS: usize;

    /// The proof that a vector is.
    fn isa(self) -> Self::Isa;

    /// Writes the vector to `at`, of any alignment.
    ///
    /// # Safety
    /// As many bytes as a vector has are writable.
    unsafe fn store_at(self, at: *mut u8);

    /// Writes the first bytes to `at`, at most a vector's.
    ///
    /// # Safety
    /// They are writable.
    unsafe fn store_first(self, at: *mut u8, bytes: usize);

    /// Writes the vector to the front of `to`, which is no shorter.
    #[inline(always)]
    fn store<T: Numbers>(self, to: &mut T) {
        const { assert!(size_of::<T>() >= size_of::<Self>()) };
        // SAFETY: it has the bytes.
        unsafe { self.store_at(std::ptr::from_mut(to).cast()) }
    }

    fn xor(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    /// `self ^ b ^ c`: FIPS 180-4's Parity.
    fn xor3(self, b: Self, c: Self) -> Self;
    /// `self ? b : c`, bit by bit: FIPS 180-4's Ch.
    fn choose(self, b: Self, c: Self) -> Self;
    /// What two of three bits say: FIPS 180-4's Maj.
    fn majority(self, b: Self, c: Self) -> Self;
    /// `b ^ (self | !c)`: I of RFC 1321.
    fn xor_or_not(self, b: Self, c: Self) -> Self;

    fn add_32(self, other: Self) -> Self;
    fn add_64(self, other: Self) -> Self;
    /// The products of the lower halves of lanes of 64 bits.
    fn multiply_32(self, other: Self) -> Self;
    /// All bits of the lanes that are greater than the other's, as signed numbers.
    fn greater_64(self, other: Self) -> Self;

    /// Numbers of bits are constants, which the compiler folds into instructions.
    fn rotate_right_32<const N: i32>(self) -> Self;
    fn rotate_right_64<const N: i32>(self) -> Self;
    fn shift_right_32(self, bits: i32) -> Self;
    fn shift_right_64(self, bits: i32) -> Self;
    fn shift_left_64(self, bits: i32) -> Self;
    /// The lower 64 bits of a lane and, above it, the other's, shifted right.
    fn funnel_right_64(self, high: Self, bits: i32) -> Self;

    /// The bytes of each quad in an order of their indexes.
    fn shuffle_bytes(self, order: Self) -> Self;
    /// The lower two words of each quad of both, in turn; or its upper two.
    fn unpack_low_32(self, other: Self) -> Self;
    fn unpack_high_32(self, other: Self) -> Self;
    fn unpack_low_64(self, other: Self) -> Self;
    fn unpack_high_64(self, other: Self) -> Self;
    /// The quads with even numbers, or with odd ones, of this vector and then of the other.
    fn even_quads(self, other: Self) -> Self;
    fn odd_quads(self, other: Self) -> Self;
}

/// Turns four by four words within each quad about the diagonal: vector i of the result holds,
/// in each quad, word i of that quad of each.
#[inline(always)]
pub(crate) fn transpose_words<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 4] {
    let (ab_low, ab_high) = (a.unpack_low_32(b), a.unpack_high_32(b));
    let (cd_low, cd_high) = (c.unpack_low_32(d), c.unpack_high_32(d));
    [
        ab_low.unpack_low_64(cd_low),
        ab_low.unpack_high_64(cd_low),
        ab_high.unpack_low_64(cd_high),
        ab_high.unpack_high_64(cd_high),
    ]
}

/// Turns as many vectors as one has quads about the diagonal: vector i of the result holds quad
/// i of each. Vectors behind those are left as they are.
#[inline(always)]
pub(crate) fn transpose_quads<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 4] {
    let (even, odd) = (a.even_quads(b), a.odd_quads(b));
    match V::QUADS {
        2 => [even, odd, c, d],
        _ => {
            let (other_even, other_odd) = (c.even_quads(d), c.odd_quads(d));
            [
                even.even_quads(other_even),
                odd.even_quads(other_odd),
                even.odd_quads(other_even),
                odd.odd_quads(other_odd),
            ]
        }
    }
}

/// Turns as many vectors as one has lanes of 64 bits about the diagonal: vector i of the result
/// holds word i of each. Vectors behind those are of no interest.
#[inline(always)]
pub(crate) fn transpose_double_words<V: Vector>(rows: [V; 8]) -> [V; 8] {
    let (mut even, mut odd) = ([rows[0]; 4], [rows[0]; 4]);
    for (i, [a, b]) in rows.as_chunks().0.iter().take(V::QUADS).enumerate() {
        even[i] = a.unpack_low_64(*b);
        odd[i] = a.unpack_high_64(*b);
    }
    let (even, odd) = (transpose_quads(even), transpose_quads(odd));
    let mut words = rows;
    for quad in 0..V::QUADS {
        words[2 * quad] = even[quad];
        words[2 * quad + 1] = odd[quad];
    }
    words
}

/// Methods of a vector from one intrinsic each.
macro_rules! by_intrinsics {
    ($($name:ident($($other:ident),*) = $intrinsic:ident $(::<$constant:literal>)?;)*) => {$(
        #[inline(always)]
        fn $name(self, $($other: Self),*) -> Self {
            // SAFETY: a vector exists only where its instructions do.
            Self(unsafe { $intrinsic $(::<$constant>)? (self.0, $($other.0),*) })
        }
    )*};
}

/// The same with a number of bits.
macro_rules! by_counts {
    ($($name:ident = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, bits: i32) -> Self {
            // SAFETY: a vector exists only where its instructions do.
            Self(unsafe { $intrinsic(self.0, _mm_cvtsi32_si128(bits)) })
        }
    )*};
}
use {by_counts, by_intrinsics};
