//! An SA file with associations more or fewer than it was read with.

use std::path::Path;
use std::sync::Arc;

use super::document::{Document, Fragment, UnmatchedWord};
use super::error::Blame;
use super::file::outbound;
use super::resolve::{Resolved, resolve};
use super::{ConfigError, SaFile, Secrets};
use crate::databases::Databases;
use crate::policy::{Action, Policy};
use crate::sa::Parameters;
use crate::slots::Slots;

impl SaFile {
    /// This file and the associations and policies in `text`, which has the form of an SA file but
    /// no settings. A policy with the selectors and direction of one that protects joins it:
    /// its associations take a part of the flows. Others stand in front, so that what is to
    /// be protected is. `path` is for messages.
    ///
    /// # Errors
    /// What is wrong with the text, or what it conflicts with.
    pub(crate) fn with_added(&self, path: &Path, text: &str) -> Result<SaFile, ConfigError> {
        let blame = Blame { path, text };
        let fragment: Fragment = toml::from_str(text).map_err(|error| blame.toml(&error))?;
        let added = resolve(self.document_of(fragment), blame, None)?;
        let refuse = |message: String| ConfigError::File {
            path: path.into(),
            message,
        };
        if added.associations.is_empty() {
            return Err(refuse("it has no [[sa]]: nothing to add".into()));
        }
        self.check_conflicts(&added.associations).map_err(refuse)?;
        let policies = self.policies_with(&added).map_err(refuse)?;
        let associations = [self.associations(), &added.associations].concat();
        let secrets = self.secrets.iter().cloned().chain(added.secrets).collect();
        Ok(self.edited(associations, secrets, policies, added.warnings))
    }

    /// This file without the association at `place`. Policies that are left without one stay and
    /// drop what they match: nothing passes in clear text for it.
    pub(crate) fn without(&self, place: u32) -> SaFile {
        let is_kept = |(other, _): &(u32, _)| *other != place;
        let associations = (0..).zip(self.associations());
        let secrets = (0..).zip(&self.secrets);
        let mut policies = self.policies.clone();
        for policy in &mut policies {
            if let Action::Protect(by) = &mut policy.action {
                by.retain(|other| *other != place);
                by.iter_mut()
                    .filter(|other| **other > place)
                    .for_each(|other| *other -= 1);
            }
        }
        self.edited(
            associations
                .filter(is_kept)
                .map(|(_, one)| one.clone())
                .collect(),
            secrets
                .filter(|(other, _)| *other != place)
                .map(|(_, one)| one.clone())
                .collect(),
            policies,
            Vec::new(),
        )
    }

    /// A fragment under the settings of this file.
    fn document_of(&self, fragment: Fragment) -> Document {
        Document {
            default: UnmatchedWord::Discard,
            inbound_policy: true,
            allow: Vec::new(),
            insecure_example: false,
            allow_legacy: self.permits.legacy,
            legacy_encrypt: self.legacy_encrypt,
            allow_private_use: self.permits.private_use,
            sa: fragment.sa,
            policy: fragment.policy,
        }
    }

    fn check_conflicts(&self, added: &[Arc<Parameters>]) -> Result<(), String> {
        for new in added {
            for present in self.associations() {
                if present.name == new.name {
                    return Err(format!(
                        "sa {:?}: an association of this name is in force: remove it first, or \
                         choose another name",
                        new.name
                    ));
                }
                if present.collides_with(new) {
                    return Err(format!(
                        "sa {:?}: spi: {:#x} is also that of sa {:?}, which is in force; a receiver \
                         cannot tell the two apart: choose another",
                        new.name, new.spi, present.name
                    ));
                }
            }
        }
        Ok(())
    }

    /// The policies of this file and those of a fragment, whose associations come behind this
    /// file's.
    fn policies_with(&self, added: &Resolved) -> Result<Vec<Policy>, String> {
        let mut present = self.policies.clone();
        let mut in_front = Vec::new();
        let before = self.associations().len() as u32;
        for policy in &added.policies {
            let Action::Protect(by) = &policy.action else {
                return Err(
                    "policy: only policies with action = \"protect\" can be added: change the SA \
                     file for others, and reload it"
                        .into(),
                );
            };
            let by = by.iter().map(|place| place + before);
            let same = present.iter_mut().find(|other| {
                other.direction == policy.direction && other.selector == policy.selector
            });
            match same.map(|policy| &mut policy.action) {
                Some(Action::Protect(present)) => present.extend(by),
                Some(Action::Bypass | Action::Discard) => {
                    return Err(
                        "policy: one that bypasses or discards has the same selectors: change the \
                         SA file, and reload it"
                            .into(),
                    );
                }
                None => in_front.push(Policy {
                    action: Action::Protect(by.collect()),
                    ..policy.clone()
                }),
            }
        }
        in_front.append(&mut present);
        Ok(in_front)
    }

    fn edited(
        &self,
        associations: Vec<Arc<Parameters>>,
        secrets: Vec<Secrets>,
        policies: Vec<Policy>,
        warnings: Vec<String>,
    ) -> SaFile {
        let slots = Slots::first(associations.len());
        let databases = Databases::new(associations, &policies, self.defaults.clone(), &slots);
        SaFile {
            path: self.path.clone(),
            databases: Arc::new(databases),
            slots,
            outbound: outbound(&policies),
            policies,
            defaults: self.defaults.clone(),
            secrets,
            legacy_encrypt: self.legacy_encrypt,
            permits: self.permits,
            insecure_example: self.insecure_example,
            key_files: self.key_files.clone(),
            warnings,
        }
    }
}
