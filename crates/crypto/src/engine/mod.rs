//! What can seal and open packets on this machine, and whether it does so
//! rightly: the rows of `weir engines`.

mod known_answers;
#[cfg(test)]
mod published;
mod self_test;
mod trust;

use weir_simd::Tier;

use crate::mac::Algorithm;
use crate::suite::{Aead, Cipher, Suite};

pub use self_test::SelfTestError;

pub(crate) use trust::{Family, tier_in_use, trusted_tier};

#[cfg(test)]
pub(crate) use known_answers::unhex;
#[cfg(test)]
pub(crate) use published::universal;

/// One implementation of one or more suites.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Engine {
    /// Its name.
    pub name: &'static str,
    /// The CPU tier it is bound to.
    pub tier: &'static str,
    /// Whether this processor can run it.
    pub available: bool,
    /// Whether it processes the packets of its suites: it belongs to the widest
    /// tier, up to the active one, whose engines passed their self-test.
    pub in_use: bool,
    /// What it can do.
    pub suites: Vec<Suite>,
    /// The MACs by themselves that it is for.
    pub macs: Vec<Algorithm>,
}

/// Engines that there are for each tier, but for what [`kernels_under`] excepts.
const OF_EVERY_TIER: [&str; 12] = [
    "weir-gcm",
    "weir-ccm",
    "weir-gmac",
    "weir-ocb3",
    "weir-ctr-mac",
    CHACHA20_POLY1305,
    "weir-cbc-hmac",
    "weir-ctr-hmac",
    "weir-null-hmac",
    "weir-3des-hmac",
    UMAC,
    MMH_MAC,
];

const UMAC: &str = "weir-umac";
const MMH_MAC: &str = "weir-mmh-mac";

const CHACHA20_POLY1305: &str = "weir-chacha20-poly1305";

/// Every engine of this build; those in use cover [`Suite::all`].
pub fn engines() -> Vec<Engine> {
    let of_every_tier = OF_EVERY_TIER.into_iter().flat_map(|name| {
        let tiers = Tier::ALL.into_iter();
        let tiers = tiers.filter(move |tier| kernels_under(name, *tier) == *tier);
        tiers.map(move |tier| {
            let (suites, macs) = (suites_of(name), macs_of(name));
            let family = suites.first().map(|suite| Family::of(*suite));
            let family = family.or(macs.first().map(|mac| Family::of(Suite::Mac(*mac))));
            let trusted = family.and_then(trusted_tier);
            Engine {
                name,
                tier: tier.name(),
                available: tier.is_available(),
                in_use: trusted.map(|trusted| kernels_under(name, trusted)) == Some(tier),
                suites,
                macs,
            }
        })
    });
    of_every_tier.collect()
}

/// The tier whose kernels an engine runs where `tier` is in use: the scalar
/// ones, where that has none.
fn kernels_under(engine: &str, tier: Tier) -> Tier {
    match (tier, engine) {
        (
            Tier::NeonAes,
            "weir-ocb3" | "weir-null-hmac" | "weir-3des-hmac" | UMAC | MMH_MAC | CHACHA20_POLY1305,
        ) => Tier::Scalar,
        _ => tier,
    }
}

fn suites_of(engine: &str) -> Vec<Suite> {
    Suite::all()
        .filter(|suite| engine_of(*suite) == engine)
        .collect()
}

/// The MACs that have an engine of their own.
fn macs_of(engine: &str) -> Vec<Algorithm> {
    let is_of = |algorithm: &Algorithm| {
        [UMAC, MMH_MAC].contains(&engine) && engine_of(Suite::Mac(*algorithm)) == engine
    };
    Algorithm::all().filter(is_of).collect()
}

fn engine_of(suite: Suite) -> &'static str {
    match suite {
        Suite::Aead(Aead::AesGcm16(_)) => "weir-gcm",
        Suite::Aead(Aead::ChaCha20Poly1305) => CHACHA20_POLY1305,
        Suite::Aead(Aead::AesCcm8(_) | Aead::AesCcm12(_) | Aead::AesCcm16(_)) => "weir-ccm",
        Suite::Aead(Aead::AesGmac(_)) => "weir-gmac",
        Suite::Aead(Aead::AesOcb3(_)) => "weir-ocb3",
        Suite::Aead(Aead::AesCtrMac(_)) => "weir-ctr-mac",
        Suite::EncryptThenMac(Cipher::AesCbc(_), _) => "weir-cbc-hmac",
        Suite::EncryptThenMac(Cipher::AesCtr(_), _) => "weir-ctr-hmac",
        Suite::EncryptThenMac(Cipher::TripleDesCbc, _) => "weir-3des-hmac",
        Suite::EncryptThenMac(Cipher::Null, _) => "weir-null-hmac",
        Suite::Mac(Algorithm::Umac(_)) => UMAC,
        Suite::Mac(Algorithm::Mmh(_)) => MMH_MAC,
        Suite::Mac(Algorithm::Gmac(_)) => "weir-gmac",
        Suite::Mac(Algorithm::Poly1305) => CHACHA20_POLY1305,
        Suite::Mac(Algorithm::Hmac(_)) => "weir-null-hmac",
    }
}

impl Engine {
    /// Seals and opens the known-answer packets of each suite and MAC, under held and
    /// one-time keys and several packets at once. Returns the number of packets
    /// compared.
    ///
    /// # Errors
    /// The first known answer that differs, or a damaged packet that was accepted
    /// as authentic: the engine is not used.
    pub fn self_test(&self) -> Result<usize, SelfTestError> {
        let tier = self.tier.parse().unwrap_or(Tier::Scalar);
        let macs = self.macs.iter().map(|mac| Suite::Mac(*mac));
        let suites = self.suites.iter().copied().chain(macs);
        suites.map(|suite| self_test::of(suite, tier)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_that_can_run_passes_its_self_test() {
        for engine in engines().iter().filter(|engine| engine.available) {
            let packets = engine.self_test().unwrap_or_else(|error| {
                panic!("{} {}: {error}", engine.name, engine.tier);
            });
            let subjects = engine.suites.len() + engine.macs.len();
            assert!(packets >= subjects && subjects > 0, "{}", engine.name);
        }
    }

    #[test]
    fn one_engine_is_in_use_for_each_suite_and_it_is_what_the_tier_in_force_runs() {
        let engines = engines();
        for suite in Suite::all() {
            let in_use: Vec<&Engine> = engines
                .iter()
                .filter(|engine| engine.in_use && engine.suites.contains(&suite))
                .collect();
            let [engine] = in_use[..] else {
                panic!("{suite}: {in_use:?}");
            };
            let tier = kernels_under(engine.name, weir_simd::tier()).name();
            assert_eq!(engine.tier, tier, "{suite}");
        }
    }
}
