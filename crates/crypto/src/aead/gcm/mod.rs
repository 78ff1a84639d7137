//! Galois/Counter Mode as ESP uses it: SP 800-38D, RFC 4106, a tag of 16 bytes.
//!
//! A batch is planned first ([`plan`]): packets whose keys are in the same form
//! go through one kernel, ordered by length. Kernels place either one packet in
//! each 128-bit lane of a vector or one packet in all of them; the planner
//! takes whichever was measured to be faster. A packet is a row of *slots* of
//! one block each, and every slot has a counter block and a block to hash:
//!
//! ```text
//! slot            0             1        2     …     n        n + 1
//! counter block   1 (J0)        2        3     …     n + 1
//! enciphers       the tag       text     text  …     text
//! hashed          associated    text     text  …     text     lengths
//! times           Hⁿ⁺²          Hⁿ⁺¹     Hⁿ    …     H²       H
//! ```
//!
//! The associated data and the tag's counter block share slot 0, so that a
//! packet whose associated data fits one block wastes no lane on either. Packets
//! of a few blocks have their text first instead (`simd/avx512/short.rs`).

mod batch;
mod field;
pub(crate) mod gmac;
mod key;
mod narrow;
mod packet;
mod plan;
mod scalar;
mod simd;
mod sums;
#[cfg(test)]
mod tests;

pub(crate) use batch::{Columns, process};
pub(crate) use key::{GcmKey, KeyForm, KeyView};
pub(crate) use plan::takes_raw_keys;
