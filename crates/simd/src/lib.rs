//! What every kernel crate needs from the processor, and nothing more.
//!
//! A kernel has one *scalar reference* that defines it, and versions for wider
//! [`Tier`]s that must agree with the reference bit for bit. The processor's
//! features are detected once; a stage keeps the tier and enters a kernel once
//! per batch. Tests run each kernel under [`for_each_tier`], so that no tier is
//! skipped silently.

#![deny(unsafe_code)]

mod lanes;
mod simd;
mod tier;

pub use lanes::Lanes;
pub use simd::prefetch;
pub use tier::{
    FORCE_TIER, REQUIRE_TIERS, Tier, TierError, detect, for_each_tier, force_from_environment, tier,
};
