//! Hazardous material: IVs of the caller's choice, kernels of a chosen tier, and single blocks.
//!
//! Under one key, an IV used for two payloads reveals their difference in a counter mode and
//! lets tags be forged in GCM and ChaCha20-Poly1305; a predictable IV breaks CBC. Only known
//! answers and measurements, whose keys protect nothing, have business here.

mod ecb;

use weir_simd::Tier;

pub use ecb::{EcbJob, EcbKey, ecb_decrypt, ecb_encrypt};

use crate::batch::{Descriptor, Opener, Refusal, SealBatch, Sealer};
use crate::keys::{IvSource, KeyError, KeyMaterial, OpeningKey, SealingKey};

/// A sealer that uses the kernels of `tier`, for keys of [`sealing_key`].
pub fn sealer(tier: Tier) -> Sealer {
    Sealer::at_tier(Some(tier))
}

/// An opener that uses the kernels of `tier`, for keys of [`opening_key`].
pub fn opener(tier: Tier) -> Opener {
    Opener::at_tier(Some(tier))
}

/// A key for the kernels of `tier`, all of whose numbers may be used.
///
/// # Errors
/// As [`SealingKey::new`].
pub fn sealing_key(material: &KeyMaterial, tier: Tier) -> Result<SealingKey, KeyError> {
    SealingKey::at_tier(material, .., IvSource::Random, tier)
}

/// A key for the kernels of `tier`.
///
/// # Errors
/// As [`OpeningKey::new`].
pub fn opening_key(material: &KeyMaterial, tier: Tier) -> Result<OpeningKey, KeyError> {
    OpeningKey::at_tier(material, tier)
}

/// Takes a packet of a held key into a batch under an IV of the caller's choice, as long as the
/// suite's, and a number, which a MAC alone takes for its nonce and extended sequence numbers
/// authenticate. Both may have been used before.
///
/// # Errors
/// As [`SealBatch::push`].
pub fn push_with_iv(
    batch: &mut SealBatch<'_>,
    packet: Descriptor,
    number: u64,
    iv: &[u8],
) -> Result<(), Refusal> {
    batch.push_with_iv(packet, number, iv)
}
