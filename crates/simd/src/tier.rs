//! CPU tiers: which instructions a kernel may use.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

/// Environment variable that forces a tier: `WEIR_ISA=scalar|aesni|avx512`, on
/// aarch64 `WEIR_ISA=scalar|neon-aes`.
pub const FORCE_TIER: &str = "WEIR_ISA";

/// Environment variable that lists the tiers a test run must cover, as in
/// `WEIR_REQUIRE_TIERS=scalar,aesni,avx512`; [`for_each_tier`] panics where
/// one of them is missing.
pub const REQUIRE_TIERS: &str = "WEIR_REQUIRE_TIERS";

/// A set of instructions, ordered: of one architecture, a wider tier includes
/// the narrower ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Portable code without data-dependent table look-ups or branches where
    /// secrets are handled.
    Scalar,
    /// Advanced SIMD (NEON) with the AES and PMULL instructions of Armv8's
    /// Cryptographic Extension (FEAT_AES, FEAT_PMULL).
    NeonAes,
    /// AES-NI, PCLMULQDQ, SSE4.1 and AVX2 (Haswell, Zen and later).
    Aesni,
    /// AVX-512 F/BW/DQ/VL, VBMI, VBMI2, BITALG, IFMA, VAES and VPCLMULQDQ, with
    /// BMI1, BMI2 and POPCNT (Ice Lake, Zen 4 and later).
    Avx512,
}

/// Why a tier cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TierError {
    /// The name is not one of the tiers.
    #[error("unknown CPU tier {0:?}: use one of {names}", names = names())]
    Unknown(String),
    /// The processor lacks the tier's instructions.
    #[error("this processor has no {0} tier: its widest is {widest}", widest = detect())]
    Missing(Tier),
}

impl Tier {
    /// Every tier of the architecture that this is built for, narrowest first.
    #[cfg(target_arch = "x86_64")]
    pub const ALL: [Tier; 3] = [Tier::Scalar, Tier::Aesni, Tier::Avx512];
    /// Every tier of the architecture that this is built for, narrowest first.
    #[cfg(target_arch = "aarch64")]
    pub const ALL: [Tier; 2] = [Tier::Scalar, Tier::NeonAes];
    /// Every tier of the architecture that this is built for, narrowest first.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub const ALL: [Tier; 1] = [Tier::Scalar];

    /// The name that `WEIR_ISA` takes.
    pub const fn name(self) -> &'static str {
        match self {
            Tier::Scalar => "scalar",
            Tier::NeonAes => "neon-aes",
            Tier::Aesni => "aesni",
            Tier::Avx512 => "avx512",
        }
    }

    /// Whether this processor executes the tier.
    pub fn is_available(self) -> bool {
        self.is_native() && self <= detect()
    }

    /// Whether the architecture has the tier.
    const fn is_native(self) -> bool {
        match self {
            Tier::Scalar => true,
            Tier::NeonAes => cfg!(target_arch = "aarch64"),
            Tier::Aesni | Tier::Avx512 => cfg!(target_arch = "x86_64"),
        }
    }
}

fn names() -> String {
    Tier::ALL.map(Tier::name).join(", ")
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Tier {
    type Err = TierError;

    fn from_str(name: &str) -> Result<Self, TierError> {
        Tier::ALL
            .into_iter()
            .find(|tier| tier.name() == name)
            .ok_or_else(|| TierError::Unknown(name.to_owned()))
    }
}

/// The widest tier that the processor has, whatever is forced.
pub fn detect() -> Tier {
    static WIDEST: OnceLock<Tier> = OnceLock::new();
    *WIDEST.get_or_init(ask_processor)
}

#[cfg(target_arch = "x86_64")]
fn ask_processor() -> Tier {
    let aesni = is_x86_feature_detected!("aes")
        && is_x86_feature_detected!("pclmulqdq")
        && is_x86_feature_detected!("sse4.1")
        && is_x86_feature_detected!("avx2");
    let avx512 = aesni
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("avx512bitalg")
        && is_x86_feature_detected!("avx512ifma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("vaes")
        && is_x86_feature_detected!("vpclmulqdq");
    match (avx512, aesni) {
        (true, _) => Tier::Avx512,
        (false, true) => Tier::Aesni,
        (false, false) => Tier::Scalar,
    }
}

#[cfg(target_arch = "aarch64")]
fn ask_processor() -> Tier {
    let neon_aes = std::arch::is_aarch64_feature_detected!("neon")
        && std::arch::is_aarch64_feature_detected!("aes")
        && std::arch::is_aarch64_feature_detected!("pmull");
    match neon_aes {
        true => Tier::NeonAes,
        false => Tier::Scalar,
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn ask_processor() -> Tier {
    Tier::Scalar
}

/// The tier that `WEIR_ISA` forces, or none where it is unset or empty.
///
/// # Errors
/// The name is unknown, or the processor lacks the tier. Programs call this
/// once at start and refuse to run on an error.
pub fn force_from_environment() -> Result<Option<Tier>, TierError> {
    match std::env::var(FORCE_TIER) {
        Ok(name) if !name.is_empty() => {
            let tier: Tier = name.parse()?;
            if tier.is_available() {
                Ok(Some(tier))
            } else {
                Err(TierError::Missing(tier))
            }
        }
        _ => Ok(None),
    }
}

/// The tier that stages built from now on use: the forced one, else the
/// widest. A force that cannot be followed (see [`force_from_environment`])
/// falls back to [`Tier::Scalar`], which every processor has.
pub fn tier() -> Tier {
    static TIER: OnceLock<Tier> = OnceLock::new();
    *TIER.get_or_init(|| match force_from_environment() {
        Ok(Some(forced)) => forced,
        Ok(None) => detect(),
        Err(_) => Tier::Scalar,
    })
}

/// Runs a test under every tier up to the one in force ([`tier`]) and prints
/// which ran.
///
/// # Panics
/// `WEIR_REQUIRE_TIERS` names a tier that did not run. Meant for tests.
pub fn for_each_tier(mut test: impl FnMut(Tier)) {
    let widest = tier();
    let ran: Vec<Tier> = Tier::ALL.into_iter().filter(|t| *t <= widest).collect();
    for tier in &ran {
        test(*tier);
    }
    let names: Vec<&str> = ran.iter().map(|tier| tier.name()).collect();
    println!("tiers tested: {}", names.join(", "));
    if let Ok(required) = std::env::var(REQUIRE_TIERS) {
        for name in required.split(',').map(str::trim).filter(|n| !n.is_empty()) {
            assert!(
                names.contains(&name),
                "{REQUIRE_TIERS} asks for {name}, but only {names:?} ran"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_others_are_refused() {
        for tier in Tier::ALL {
            assert_eq!(tier.name().parse(), Ok(tier));
        }
        assert_eq!(
            "sse9".parse::<Tier>(),
            Err(TierError::Unknown("sse9".into()))
        );
    }

    #[test]
    fn only_tiers_of_the_architecture_are_listed_and_available() {
        let every = [Tier::Scalar, Tier::NeonAes, Tier::Aesni, Tier::Avx512];
        assert!(every.is_sorted());
        for tier in every {
            assert_eq!(Tier::ALL.contains(&tier), tier.is_native(), "{tier}");
            assert!(tier.is_native() || !tier.is_available(), "{tier}");
        }
    }

    #[test]
    fn scalar_is_always_there_and_runs_first() {
        assert!(Tier::Scalar.is_available());
        let mut ran = Vec::new();
        for_each_tier(|tier| ran.push(tier));
        assert_eq!(ran[0], Tier::Scalar);
        assert!(ran.is_sorted());
        assert_eq!(ran.last(), Some(&tier()));
    }
}
