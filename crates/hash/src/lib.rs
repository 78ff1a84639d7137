//! Universal hash families for sketches, filters and message authentication.
//!
//! Use it to draw hash functions with a proven collision bound: one function per row of
//! a sketch ([`Family`]), functions of byte strings ([`ByteHash`], [`string`]), Bloom
//! filters ([`bloom`]), and the families under a MAC ([`horner`], [`multilinear`], [`nh`],
//! [`tree`]). Batches of keys are hashed in SIMD lanes, with a scalar reference
//! implementation that every kernel agrees with bit for bit.
//!
//! ```
//! use weir_hash::{Buckets, Family, KeyColumns, Ms52, Seed};
//!
//! // Four functions from keys of one word (an IPv4 address) to 1,000 buckets.
//! let family = Ms52::draw(4, 1000, 1, Seed::random()?)?;
//! let one = family.bucket(0, &[0xc000_0201]);
//!
//! // The same for a batch, in SIMD lanes.
//! let mut keys = KeyColumns::new(1, 256);
//! assert!(keys.push(&[0xc000_0201]) && keys.push(&[0xc633_6407]));
//! let mut buckets = Buckets::new();
//! family.buckets(weir_simd::tier(), &keys, &mut buckets);
//! assert_eq!(buckets.row(0)[0], one);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Seeds and bounds
//!
//! A family is drawn from a [`Seed`] of 256 bits, which ChaCha20 expands to its parameters
//! ([`SeedStream`]). The bounds below are probabilities over the choice of the seed. They
//! are proven for uniform parameters and hold for every set of keys that is chosen without
//! knowledge of the seed, as long as ChaCha20 cannot be distinguished from random. Use
//! [`Seed::random`] where keys come from strangers, and [`Seed::from_u64`] in tests.
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
//! | [`ByteHash`] | P(equal keys) ≤ (⌈L/7⌉ + 1)/(2⁶¹ - 1) | up to L bytes, to 2 words |
//! | [`Fingerprint`] | P(equal) ≤ 2⁻³³; mixed, not universal | 1 to 10 words of 32 bits |
//!
//! w is the number of buckets, from 1 to [`MAX_WIDTH`].
//!
//! Families that compress whole messages state their property through [`Guaranteed`];
//! the caller supplies their keys:
//!
//! | module | families | property |
//! | --- | --- | --- |
//! | [`multilinear`] | MMH*, MMH*32, MMH32 with Toeplitz tags | almost Δ-universal, ε from 1/p to 1.5·2⁻³⁰ |
//! | [`nh`] | NMH*, NH with Toeplitz values | almost Δ-universal, 1/p and 2⁻³² |
//! | [`horner`] | polynomials modulo 2⁶¹ - 1 and over GF(2¹²⁸) | almost Δ-universal, words/\|field\| |
//! | [`tree`] | MMH32 in a tree, for any length | the sum over the levels |
//! | [`radix`] | radix conversion | none, and why |
//!
//! # Data layout
//!
//! Keys of a batch are stored in columns ([`KeyColumns`]: word 0 of all keys, then word 1,
//! …), so that each SIMD lane holds one key. Bucket numbers are returned in rows
//! ([`Buckets`]), one row per function, which is what one row of counters needs. For a
//! single key the lanes hold functions instead ([`Family::buckets_across`]).
//!
//! # Errors and panics
//!
//! Sizes out of range are a [`ShapeError`], a missing random number generator is a
//! [`SeedError`]. Functions that take a row number panic if there is no such row; nothing
//! else panics.

#![deny(unsafe_code)]

mod across;
#[cfg(test)]
mod agreement;
pub mod bloom;
mod buckets;
mod bytes;
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
pub use bytes::ByteHash;
pub use columns::{KeyColumns, MAX_KEY_WORDS};
pub use family::{Family, FourUniversal, MAX_ROWS, MAX_WIDTH, ShapeError};
pub use fingerprint::Fingerprint;
pub use guarantee::{Group, Guarantee, Guaranteed, Property};
pub use h1::{H1HalfWords, H1Words};
pub use multiply_shift::Ms52;
pub use polynomial::Polynomial;
pub use polynomial44::Poly44;
pub use seed::{Seed, SeedError, SeedStream};
pub use tabulation::Tabulation;
pub use thorup_zhang::{ThorupZhang8, ThorupZhang16};

/// Places buffers at unmapped pages where a test asks for it.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: weir_guard::GuardedAllocator = weir_guard::GuardedAllocator;
