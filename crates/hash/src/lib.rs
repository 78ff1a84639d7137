//! Universal hash families, in lanes.
//!
//! A sketch is only as good as the hash functions of its rows, so each family
//! here says which property it has, at which probability, and why. A family is
//! drawn at random from a seed ([`SeedStream`]): the bounds hold for *every*
//! set of keys over the choice of the seed, which is why a live measurement
//! takes a secret one ([`random_seed`]) and a test a fixed one.
//!
//! | type | property | keys |
//! | --- | --- | --- |
//! | [`Ms52`] | 2-universal: P(collision) ≤ (1/w)(1 + w²/2⁴⁴) | 1 to 10 words of 32 bits |
//! | [`Poly44`] | 4-universal, buckets within 3·10⁻⁶ of uniform | 1 word of 32 bits |
//! | | almost 4-universal: the same but for a probability of 6/2⁴⁴ | 2 to 10 words |
//! | [`H1HalfWords`], [`H1Words`] | 2-universal, within 3·10⁻⁶ of 1/w | 1 to 10 words |
//! | [`Polynomial<K>`] | K-universal, buckets within 2/2⁶¹ of uniform | 1 word |
//! | | almost K-universal: the same but for a probability of K²/2⁶² | 2 to 10 words |
//! | [`Tabulation`] | 3-universal, within w²/2⁶⁶ of 1/w; not 4-universal | 1 to 10 words |
//! | [`ThorupZhang16`], [`ThorupZhang8`] | 4-universal, buckets within 2⁻³² of uniform | 1 word; 1 to 10 words |
//! | [`Fingerprint`] | P(equal) ≤ 2⁻³³; mixed, not universal | 1 to 10 words of 32 bits |
//!
//! Families that condense whole messages, for authentication, say the same of
//! themselves by [`Guaranteed`]; their keys are given, not drawn:
//!
//! | module | families | property |
//! | --- | --- | --- |
//! | [`multilinear`] | MMH*, MMH*32, MMH32 with Toeplitz tags | almost Δ-universal, ε from 1/p to 1.5·2⁻³⁰ |
//! | [`nh`] | NMH*, NH with Toeplitz values | almost Δ-universal, 1/p and 2⁻³² |
//! | [`horner`] | polynomials modulo 2⁶¹ - 1 and over GF(2¹²⁸) | almost Δ-universal, words/\|field\| |
//! | [`tree`] | MMH32 in a tree, for any length | the sum over the levels |
//! | [`radix`] | radix conversion | none, and why |
//!
//! Strings have families of their own, computed by appending ([`string`]), and
//! sets of them are kept by Bloom filters ([`bloom`]).
//!
//! Keys of sketches come in columns ([`KeyColumns`]: word 0 of all keys, then word 1, …),
//! because a lane of a kernel is a key, and bucket numbers leave in rows
//! ([`Buckets`]), because a row of them is what one row of counters needs. Of a
//! single key the lanes are functions ([`Family::buckets_across`]). Each kernel has
//! a scalar twin that defines it in the module above its `simd` folder.

#![deny(unsafe_code)]

mod across;
#[cfg(test)]
mod agreement;
pub mod bloom;
mod buckets;
mod columns;
mod family;
mod field;
mod fingerprint;
mod guarantee;
mod h1;
pub mod horner;
pub mod multilinear;
mod multiply_shift;
pub mod nh;
mod polynomial;
mod polynomial44;
pub mod prime;
pub mod radix;
mod seed;
mod simd;
pub mod string;
mod tables;
mod tabulation;
mod thorup_zhang;
pub mod tree;

pub use buckets::{BucketSink, Buckets};
pub use columns::{KeyColumns, MAX_KEY_WORDS};
pub use family::{Family, FourUniversal, MAX_ROWS, MAX_WIDTH, ShapeError};
pub use fingerprint::Fingerprint;
pub use guarantee::{Group, Guarantee, Guaranteed, Property};
pub use h1::{H1HalfWords, H1Words};
pub use multiply_shift::Ms52;
pub use polynomial::Polynomial;
pub use polynomial44::Poly44;
pub use seed::{SeedError, SeedStream, random_seed};
pub use tabulation::Tabulation;
pub use thorup_zhang::{ThorupZhang8, ThorupZhang16};

/// Places buffers at unmapped pages where a test asks for it.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: weir_guard::GuardedAllocator = weir_guard::GuardedAllocator;
