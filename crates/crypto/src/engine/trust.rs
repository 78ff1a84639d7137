//! Which tier's kernels process packets: the widest, up to the active one, that
//! reproduces the known answers on this machine. The self-test runs when the
//! first key of a family is made, once per process.

use std::sync::OnceLock;

use weir_simd::Tier;

use super::self_test;
use crate::header;
use crate::mac::Algorithm;
use crate::suite::{Aead, Suite};

/// Suites and MACs that are processed by the same kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    /// AES-GCM.
    Gcm,
    /// AES-CCM.
    Ccm,
    /// AES-GMAC.
    Gmac,
    /// AES-OCB3.
    Ocb3,
    /// AES-CTR and a universal-hash MAC.
    CtrMac,
    /// A cipher and HMAC, or HMAC alone.
    EncryptThenMac,
    /// UMAC.
    Umac,
    /// MMH-MAC.
    Mmh,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
    /// Masks of [`crate::header`], which belong to no suite. The last one.
    HeaderProtection,
}

/// The verdict on each family, in the order of their declaration.
static VERDICTS: [OnceLock<Option<Tier>>; FAMILIES] = [const { OnceLock::new() }; FAMILIES];

const FAMILIES: usize = Family::HeaderProtection as usize + 1;

impl Family {
    pub(crate) fn of(suite: Suite) -> Family {
        match suite {
            Suite::Aead(Aead::AesGcm16(_)) => Family::Gcm,
            Suite::Aead(Aead::ChaCha20Poly1305) => Family::ChaCha20Poly1305,
            Suite::Aead(Aead::AesCcm8(_) | Aead::AesCcm12(_) | Aead::AesCcm16(_)) => Family::Ccm,
            Suite::Aead(Aead::AesGmac(_)) => Family::Gmac,
            Suite::Aead(Aead::AesOcb3(_)) => Family::Ocb3,
            Suite::Aead(Aead::AesCtrMac(_)) => Family::CtrMac,
            Suite::EncryptThenMac(..) => Family::EncryptThenMac,
            Suite::Mac(Algorithm::Umac(_)) => Family::Umac,
            Suite::Mac(Algorithm::Mmh(_)) => Family::Mmh,
            Suite::Mac(Algorithm::Gmac(_)) => Family::Gmac,
            Suite::Mac(Algorithm::Poly1305) => Family::ChaCha20Poly1305,
            Suite::Mac(Algorithm::Hmac(_)) => Family::EncryptThenMac,
        }
    }

    /// Where the verdict is kept.
    #[inline]
    fn verdict(self) -> &'static OnceLock<Option<Tier>> {
        &VERDICTS[self as usize]
    }
}

/// The tier whose kernels may be used for a new key; none where no tier's
/// kernels passed.
#[inline]
pub(crate) fn trusted_tier(family: Family) -> Option<Tier> {
    *family.verdict().get_or_init(|| ask(family))
}

/// The tier of packets whose keys exist, so that the self-test has run: without
/// such keys there are no such packets, and the result does not matter.
#[inline]
pub(crate) fn tier_in_use(family: Family) -> Tier {
    let verdict = family.verdict().get();
    verdict.copied().flatten().unwrap_or(Tier::Scalar)
}

fn ask(family: Family) -> Option<Tier> {
    widest_that_passes(weir_simd::tier(), |tier| {
        if family == Family::HeaderProtection {
            return header::passes(tier);
        }
        let macs = Algorithm::all().map(Suite::Mac);
        let mut suites = Suite::all()
            .chain(macs)
            .filter(|suite| Family::of(*suite) == family);
        suites.all(|suite| self_test::of(suite, tier).is_ok())
    })
}

fn widest_that_passes(in_force: Tier, passes: impl Fn(Tier) -> bool) -> Option<Tier> {
    let mut narrower = Tier::ALL.into_iter().rev();
    narrower.find(|tier| *tier <= in_force && passes(*tier))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_that_fails_is_passed_over() {
        let widest = |in_force, failing: &[Tier]| {
            widest_that_passes(in_force, |tier| !failing.contains(&tier))
        };
        for (i, &tier) in Tier::ALL.iter().enumerate() {
            let narrower = i.checked_sub(1).map(|i| Tier::ALL[i]);
            assert_eq!(widest(tier, &[]), Some(tier));
            assert_eq!(widest(tier, &[tier]), narrower);
            assert_eq!(widest(tier, &Tier::ALL), None);
        }
    }
}
