//! From an SA file to the stages of every shard.

use std::collections::HashMap;
use std::sync::Arc;

use weir_crypto::{KeyError, KeyMaterial, OpeningKey, SealingKey};

use crate::config::{SaFile, Secrets};
use crate::error::GatewayError;
use crate::inbound::InboundAssociation;
use crate::numbers::{Output, Sequences, Windows};
use crate::outbound::OutboundAssociation;
use crate::sa::Parameters;
use crate::stage::{Protect, Unprotect};

impl SaFile {
    /// The stages that protect, one per shard. The ledger sees to it that
    /// stages made by another call never use the same number under a key.
    ///
    /// # Errors
    /// Why nothing may be sealed.
    pub fn protect(
        &self,
        sequences: &Sequences,
        output: Output,
        shards: usize,
    ) -> Result<Vec<Protect>, GatewayError> {
        self.check_outbound()?;
        let steering = self.databases.outbound_steering();
        let stage = |_| Protect::new(steering.clone());
        let mut stages: Vec<Protect> = (0..shards.max(1)).map(stage).collect();
        for (slot, outbound) in self.outbound_associations(&self.outbound, sequences, output)? {
            let home = self.databases.sad.home(slot) as usize % stages.len();
            if let Some(stage) = stages.get_mut(home) {
                stage.install(slot, outbound);
            }
        }
        Ok(stages)
    }

    /// What seals by the associations at these places of the file, each with its slot.
    pub(crate) fn outbound_associations(
        &self,
        places: &[u32],
        sequences: &Sequences,
        output: Output,
    ) -> Result<Vec<(u32, OutboundAssociation)>, GatewayError> {
        let (mut reservations, ivs) = self.reservations(places, sequences, output)?;
        let mut associations = Vec::with_capacity(places.len());
        for place in places.iter().copied() {
            let Some((parameters, secrets)) = self.association(place) else {
                continue;
            };
            let numbers = reservations.remove(&place);
            let first = match &numbers {
                Some((_, used)) => used.next_sequence,
                None => parameters.expected_sequence.unwrap_or(1),
            };
            let key = material(parameters, secrets)
                .and_then(|material| SealingKey::with_ivs(material, first..first, ivs))
                .map_err(|source| self.key_error(parameters, source))?;
            let association = OutboundAssociation {
                parameters: Arc::clone(parameters),
                key,
                numbers,
            };
            associations.push((self.slots.of(place), association));
        }
        Ok(associations)
    }

    /// The stages that unprotect, one per shard.
    ///
    /// # Errors
    /// The windows' ledger cannot be relied on, or a key cannot be set up.
    pub fn unprotect(
        &self,
        windows: &Windows,
        shards: usize,
    ) -> Result<Vec<Unprotect>, GatewayError> {
        let stage = |_| Unprotect::new(Arc::clone(&self.databases));
        let mut stages: Vec<Unprotect> = (0..shards.max(1)).map(stage).collect();
        for (slot, inbound) in self.inbound_associations(&self.inbound(), windows)? {
            let home = self.databases.sad.home(slot) as usize % stages.len();
            if let Some(stage) = stages.get_mut(home) {
                stage.install(slot, inbound);
            }
        }
        Ok(stages)
    }

    /// The places of the associations that may open.
    pub(crate) fn inbound(&self) -> Vec<u32> {
        let associations = (0..).zip(self.associations());
        let may_open = associations.filter(|(_, parameters)| parameters.may_open());
        may_open.map(|(place, _)| place).collect()
    }

    /// What opens by the associations at these places of the file, each with its slot.
    pub(crate) fn inbound_associations(
        &self,
        places: &[u32],
        windows: &Windows,
    ) -> Result<Vec<(u32, InboundAssociation)>, GatewayError> {
        let mut bounds = self.seen_bounds(places, windows)?;
        let mut associations = Vec::with_capacity(places.len());
        for place in places.iter().copied() {
            let Some((parameters, secrets)) = self.association(place) else {
                continue;
            };
            let key = material(parameters, secrets)
                .and_then(|material| OpeningKey::new(&material))
                .map_err(|source| self.key_error(parameters, source))?;
            let association = InboundAssociation {
                parameters: Arc::clone(parameters),
                key,
                seen: bounds.remove(&place),
            };
            associations.push((self.slots.of(place), association));
        }
        Ok(associations)
    }

    fn key_error(&self, parameters: &Parameters, source: KeyError) -> GatewayError {
        GatewayError::Key {
            path: self.path.clone(),
            association: parameters.name.clone(),
            source,
        }
    }

    pub(crate) fn association(&self, index: u32) -> Option<(&Arc<Parameters>, &Secrets)> {
        let index = index as usize;
        Some((self.associations().get(index)?, self.secrets.get(index)?))
    }

    /// What must hold before anything is sealed.
    pub(crate) fn check_outbound(&self) -> Result<(), GatewayError> {
        let fingerprints: Vec<_> = (0..self.secrets.len() as u32)
            .map(|index| self.fingerprint(index))
            .collect();
        let mut owners: HashMap<_, Vec<usize>> = HashMap::new();
        for (index, fingerprint) in fingerprints.iter().enumerate() {
            owners.entry(fingerprint).or_default().push(index);
        }
        for index in self.outbound.iter().map(|index| *index as usize) {
            let Some(parameters) = self.associations().get(index) else {
                continue;
            };
            if parameters.suite.is_legacy() && !self.legacy_encrypt {
                return Err(GatewayError::LegacyEncrypt {
                    path: self.path.clone(),
                    association: parameters.name.clone(),
                    suite: parameters.suite,
                });
            }
            let other = fingerprints
                .get(index)
                .and_then(|fingerprint| owners.get(fingerprint))
                .and_then(|owners| owners.iter().find(|owner| **owner != index))
                .and_then(|other| self.associations().get(*other));
            if let Some(other) = other {
                return Err(GatewayError::SharedKey {
                    path: self.path.clone(),
                    association: parameters.name.clone(),
                    other: other.name.clone(),
                });
            }
        }
        Ok(())
    }
}

fn material(parameters: &Parameters, secrets: &Secrets) -> Result<KeyMaterial, KeyError> {
    KeyMaterial::new(parameters.suite, &secrets.key, &secrets.integrity_key)
}
