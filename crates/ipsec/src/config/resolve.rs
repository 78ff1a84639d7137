//! From the shape of an SA file to its meaning.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use weir_crypto::Suite;

use super::document::{
    AssociationEntry, Document, ProtocolWord, ReplayStateWord, SaDirectionWord, UnmatchedWord,
};
use super::error::Blame;
use super::{ConfigError, LoadOptions, Secrets};
use crate::policy::{Action, Defaults, LinkProtocols, Policy, Unmatched};
use crate::sa::{Parameters, SaDirection};

mod keys;
pub(super) mod limits;
mod mode;
mod policies;

use keys::KeySource;

/// A file whose parts make sense together.
pub(super) struct Resolved {
    pub associations: Vec<Arc<Parameters>>,
    pub secrets: Vec<Secrets>,
    pub policies: Vec<Policy>,
    pub defaults: Defaults,
    pub warnings: Vec<String>,
}

/// Reads meaning into a document. `files` is `None` where the text stands for
/// itself and may not name files.
pub(super) fn resolve(
    document: Document,
    blame: Blame<'_>,
    files: Option<LoadOptions>,
) -> Result<Resolved, ConfigError> {
    let mut resolver = Resolver {
        blame,
        files,
        allow_legacy: document.allow_legacy,
        allow_private_use: document.allow_private_use,
        associations: Vec::new(),
        secrets: Vec::new(),
        by_name: HashMap::new(),
        by_spi: HashMap::new(),
        warnings: Vec::new(),
    };
    for entry in document.sa {
        resolver.association(entry)?;
    }
    let policies = resolver.policies(document.policy)?;
    let allowed = allowed(document.allow, blame)?;
    resolver.warn_of_unused(&policies);
    Ok(Resolved {
        associations: resolver.associations,
        secrets: resolver.secrets,
        policies,
        defaults: Defaults {
            unmatched: match document.default {
                UnmatchedWord::Discard => Unmatched::Discard,
                UnmatchedWord::Bypass => Unmatched::Bypass,
            },
            allowed,
            clear_text_is_checked: document.inbound_policy,
        },
        warnings: resolver.warnings,
    })
}

/// The protocols that may pass although they carry no IP.
fn allowed(
    words: Vec<Spanned<ProtocolWord>>,
    blame: Blame<'_>,
) -> Result<LinkProtocols, ConfigError> {
    let mut allowed = LinkProtocols::default();
    for word in words {
        let (added, shown) = match word.get_ref() {
            ProtocolWord::Name(name) => (allowed.add(name), format!("{name:?}")),
            ProtocolWord::Number(number) => {
                (allowed.add_ether_type(*number), format!("{number:#06x}"))
            }
        };
        added.map_err(|error| blame.at(word.span(), format!("allow: {shown}: {error}")))?;
    }
    Ok(allowed)
}

struct Resolver<'a> {
    blame: Blame<'a>,
    files: Option<LoadOptions>,
    allow_legacy: bool,
    allow_private_use: bool,
    associations: Vec<Arc<Parameters>>,
    secrets: Vec<Secrets>,
    by_name: HashMap<String, u32>,
    by_spi: HashMap<u32, Vec<u32>>,
    warnings: Vec<String>,
}

/// A place in the file, and what is wrong there.
type Blamed = (Range<usize>, String);

impl Resolver<'_> {
    fn association(&mut self, entry: Spanned<AssociationEntry>) -> Result<(), ConfigError> {
        let whole = entry.span();
        let entry = entry.into_inner();
        let name = entry.name.get_ref().clone();
        let blame = self.blame;
        let blamed = |(span, message): Blamed| blame.at(span, format!("sa {name:?}: {message}"));
        self.check_name(&entry.name).map_err(blamed)?;
        let suite = self.suite(&name, &entry.suite).map_err(blamed)?;
        let parameters = Parameters {
            name: name.clone(),
            spi: limits::spi(&entry.spi).map_err(blamed)?,
            direction: entry.direction.map(|word| match word {
                SaDirectionWord::Outbound => SaDirection::Outbound,
                SaDirectionWord::Inbound => SaDirection::Inbound,
            }),
            suite,
            mode: mode::mode(&entry.mode, entry.tunnel).map_err(blamed)?,
            esn: entry.esn,
            replay_window: limits::window(entry.window).map_err(blamed)?,
            expected_sequence: limits::sequence(entry.expected_sequence, entry.esn)
                .map_err(blamed)?,
            keeps_replay_state: entry.replay_state.map(|word| word == ReplayStateWord::Keep),
            nat_t: mode::udp_ports(entry.nat_t).map_err(blamed)?,
            decrement_ttl: entry.decrement_ttl,
            mtu_bytes: limits::mtu(entry.mtu).map_err(blamed)?,
            lifetime: limits::lifetime(entry.soft_lifetime, entry.hard_lifetime).map_err(blamed)?,
        };
        self.check_collision(&parameters, &entry.spi)
            .map_err(blamed)?;
        let key = KeySource {
            name: "key",
            inline: entry.key,
            file: entry.key_file,
            descriptor: entry.key_fd,
        };
        let integrity_key = KeySource {
            name: "integrity_key",
            inline: entry.integrity_key,
            file: entry.integrity_key_file,
            descriptor: entry.integrity_key_fd,
        };
        let secrets = self
            .secrets(suite, whole, key, integrity_key)
            .map_err(blamed)?;

        let index = self.associations.len() as u32;
        self.by_spi.entry(parameters.spi).or_default().push(index);
        self.by_name.insert(name, index);
        self.associations.push(Arc::new(parameters));
        self.secrets.push(secrets);
        Ok(())
    }

    /// Warns of associations that are inbound and accept nothing.
    fn warn_of_unused(&mut self, policies: &[Policy]) {
        let named: HashSet<u32> = policies
            .iter()
            .filter(|policy| policy.direction.is_inbound())
            .flat_map(|policy| match &policy.action {
                Action::Protect(associations) => associations.as_slice(),
                _ => &[],
            })
            .copied()
            .collect();
        for (index, parameters) in (0..).zip(&self.associations) {
            if parameters.direction == Some(SaDirection::Inbound) && !named.contains(&index) {
                self.warnings.push(format!(
                    "sa {:?}: no inbound policy names it, so it accepts no packet",
                    parameters.name
                ));
            }
        }
    }

    fn check_name(&self, name: &Spanned<String>) -> Result<(), Blamed> {
        let message = if name.get_ref().is_empty() {
            "name: must not be empty"
        } else if self.by_name.contains_key(name.get_ref()) {
            "name: another association has it; names must differ"
        } else {
            return Ok(());
        };
        Err((name.span(), message.into()))
    }

    fn suite(&mut self, association: &str, name: &Spanned<String>) -> Result<Suite, Blamed> {
        let suite: Suite = name
            .get_ref()
            .parse()
            .map_err(|error| (name.span(), format!("suite: {error}")))?;
        if !suite.is_esp() {
            let message = format!(
                "suite: no RFC says how ESP uses {suite}; choose another, such as aes-128-gcm-16"
            );
            return Err((name.span(), message));
        }
        if let Some(transform) = suite.private_transform()
            && !self.allow_private_use
        {
            let message = format!(
                "suite: {suite} is transform {transform} of private use, which no RFC describes; \
                 set allow_private_use = true at the top of the file if both ends are Weir's or \
                 follow docs/mac-suites.md"
            );
            return Err((name.span(), message));
        }
        if suite.is_legacy() && !self.allow_legacy {
            let message = format!(
                "suite: {suite} is legacy and no longer secure; set allow_legacy = true at the \
                 top of the file to decrypt old traffic with it"
            );
            return Err((name.span(), message));
        }
        if suite.is_legacy() {
            self.warnings.push(format!(
                "sa {association:?}: {suite} is legacy and no longer secure; use it for old \
                 traffic only"
            ));
        }
        Ok(suite)
    }

    fn check_collision(&self, parameters: &Parameters, spi: &Spanned<u32>) -> Result<(), Blamed> {
        let of_spi = self.by_spi.get(&parameters.spi);
        let other = of_spi
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .filter_map(|index| self.associations.get(*index as usize))
            .find(|other| other.collides_with(parameters));
        match other {
            None => Ok(()),
            Some(other) => {
                let message = format!(
                    "spi: {:#x} is also that of sa {:?}; a receiver cannot tell the two apart: \
                     choose another",
                    parameters.spi, other.name
                );
                Err((spi.span(), message))
            }
        }
    }
}
