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
//! | [`Fingerprint`] | P(equal) ≤ 2⁻³³; mixed, not universal | 1 to 10 words of 32 bits |
//!
//! Keys come in columns ([`KeyColumns`]: word 0 of all keys, then word 1, …),
//! because a lane of a kernel is a key, and bucket numbers leave in rows
//! ([`Buckets`]), because a row of them is what one row of counters needs. Each
//! kernel has a scalar twin that defines it in the module above its `simd`
//! folder.

#![deny(unsafe_code)]

mod buckets;
mod columns;
mod fingerprint;
mod multiply_shift;
mod seed;

pub use buckets::Buckets;
pub use columns::{KeyColumns, MAX_KEY_WORDS};
pub use fingerprint::Fingerprint;
pub use multiply_shift::{MAX_WIDTH, Ms52, ShapeError};
pub use seed::{SeedError, SeedStream, random_seed};
