//! What takes instructions that the language has no safe words for.

#![allow(unsafe_code)]

mod prefetch;

pub use prefetch::prefetch;
