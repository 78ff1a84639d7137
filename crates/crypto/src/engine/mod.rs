//! What can seal and open packets on this machine, and whether it does so
//! rightly: the rows of `weir engines`.

mod known_answers;
mod self_test;

use crate::suite::{Aead, Cipher, Suite};

pub use self_test::SelfTestError;

#[cfg(test)]
pub(crate) use known_answers::unhex;

/// One implementation of one or more suites.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Engine {
    /// Its name.
    pub name: &'static str,
    /// The CPU tier it is bound to; [`SELF_DETECTING`] for a kept crate, which
    /// asks the processor itself and is not bound by `WEIR_ISA`.
    pub tier: &'static str,
    /// Whether this processor can run it.
    pub available: bool,
    /// What it can do.
    pub suites: Vec<Suite>,
}

/// The tier of an engine that chooses its instructions itself.
pub const SELF_DETECTING: &str = "self-detecting";

/// Every engine of this build; together they cover [`Suite::all`].
pub fn engines() -> Vec<Engine> {
    [
        "rustcrypto-gcm",
        "rustcrypto-chacha20-poly1305",
        "rustcrypto-cbc-hmac",
        "rustcrypto-ctr-hmac",
        "rustcrypto-3des-hmac",
        "rustcrypto-null-hmac",
    ]
    .map(|name| Engine {
        name,
        tier: SELF_DETECTING,
        available: true,
        suites: Suite::all()
            .filter(|&suite| engine_of(suite) == name)
            .collect(),
    })
    .into()
}

fn engine_of(suite: Suite) -> &'static str {
    match suite {
        Suite::Aead(Aead::AesGcm16(_)) => "rustcrypto-gcm",
        Suite::Aead(Aead::ChaCha20Poly1305) => "rustcrypto-chacha20-poly1305",
        Suite::EncryptThenMac(Cipher::AesCbc(_), _) => "rustcrypto-cbc-hmac",
        Suite::EncryptThenMac(Cipher::AesCtr(_), _) => "rustcrypto-ctr-hmac",
        Suite::EncryptThenMac(Cipher::TripleDesCbc, _) => "rustcrypto-3des-hmac",
        Suite::EncryptThenMac(Cipher::Null, _) => "rustcrypto-null-hmac",
    }
}

impl Engine {
    /// Seals and opens the published answers of each suite, now, and returns
    /// how many packets were compared.
    ///
    /// # Errors
    /// The first answer that came out differently, or a damaged packet that
    /// was taken for authentic: the engine must not be used.
    pub fn self_test(&self) -> Result<usize, SelfTestError> {
        self.suites
            .iter()
            .try_fold(0, |packets, &suite| Ok(packets + self_test::of(suite)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_has_an_engine_that_passes_its_self_test() {
        let engines = engines();
        for engine in &engines {
            let packets = engine.self_test().unwrap_or_else(|error| {
                panic!("{}: {error}", engine.name);
            });
            assert!(packets >= engine.suites.len(), "{}", engine.name);
        }
        for suite in Suite::all() {
            let able = engines.iter().filter(|e| e.suites.contains(&suite));
            assert_eq!(able.count(), 1, "{suite}");
        }
    }
}
