//! Which engine, and for which traffic.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::{Automaton, BuildError, Database, Engine, Pattern, Profile, Segmented};

/// The engines there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// [`Database`], the one to use.
    #[default]
    Cascade,
    /// [`Segmented`], the thesis's.
    Segmented,
    /// [`Automaton`], the judge of both.
    Automaton,
}

/// An engine's name that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown engine {0:?}: use one of cascade, segmented, aho-corasick")]
pub struct UnknownEngine(String);

impl EngineKind {
    /// Every engine.
    pub const ALL: [EngineKind; 3] = [
        EngineKind::Cascade,
        EngineKind::Segmented,
        EngineKind::Automaton,
    ];

    /// The name by which it is chosen and reported.
    pub const fn name(self) -> &'static str {
        match self {
            EngineKind::Cascade => "cascade",
            EngineKind::Segmented => "segmented",
            EngineKind::Automaton => "aho-corasick",
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for EngineKind {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<EngineKind, UnknownEngine> {
        EngineKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownEngine(name.to_owned()))
    }
}

/// An engine to be built.
#[derive(Clone, Debug, Default)]
pub struct EngineChoice {
    /// Which one.
    pub kind: EngineKind,
    /// The traffic that patterns are looked for in: by [`Profile::typical`]
    /// where none is given. Other engines than the cascade need none.
    pub profile: Option<Arc<Profile>>,
}

impl EngineChoice {
    /// Builds the engine, for the active tier.
    ///
    /// # Errors
    /// [`BuildError`]: the engine does not take these patterns.
    pub fn build(&self, patterns: &[Pattern]) -> Result<Box<dyn Engine>, BuildError> {
        Ok(match self.kind {
            EngineKind::Cascade => {
                let profile = match &self.profile {
                    Some(profile) => profile,
                    None => Profile::typical(),
                };
                Box::new(Database::with_profile(
                    patterns,
                    profile,
                    weir_simd::tier(),
                )?)
            }
            EngineKind::Segmented => Box::new(Segmented::new(patterns)?),
            EngineKind::Automaton => Box::new(Automaton::new(patterns)?),
        })
    }
}
