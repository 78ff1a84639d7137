//! From an SA file to the stages of every shard.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use weir_crypto::{KeyError, KeyMaterial, Opener, OpeningKey, Sealer, SealingKey, Suite};
use weir_packet::wire::protocol::{ESP, UDP};
use weir_packet::wire::{Fragment, Headers};
use weir_select::{Selector, Table, Tuple};
use weir_stream::{Batch, SteeringRule};

use crate::affinity;
use crate::config::{SaFile, Secrets};
use crate::esp::Arrival;
use crate::inbound::Inbound;
use crate::ledger::LedgerError;
use crate::numbers::{Output, Sequences, Windows};
use crate::outbound::Outbound;
use crate::policy::{Action, Defaults, Policy, Spd, Verdict};
use crate::reason::DropReason;
use crate::sa::{Mode, Parameters};
use crate::sad::Sad;
use crate::stage::{Protect, Unprotect};

/// Policies and associations, which all shards share.
#[derive(Clone, Debug)]
pub struct Databases {
    pub(crate) spd: Spd,
    pub(crate) sad: Sad,
    /// Between which addresses there is ESP in transport mode for this device.
    transport_ends: Table,
}

/// What a received packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    /// ESP for this device, under this association.
    Esp(u32),
    /// Something else, or ESP that is refused.
    Other(Verdict),
}

/// Why nothing can be protected by an SA file.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The ledger cannot be relied on, or does not know a key.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A new key is announced for an association that is not there.
    #[error("{}: --new-key {name}: no sa has this name", path.display())]
    UnknownAssociation {
        /// The SA file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// The SA file wants numbers again that are used up.
    #[error(
        "{}: sa {association:?}: expected_sequence = {expected} was used before; its key goes on \
         with {next_sequence}: take the line out, or take a new key",
        path.display()
    )]
    SequenceUsed {
        /// The SA file.
        path: PathBuf,
        /// The association.
        association: String,
        /// What the file says.
        expected: u64,
        /// What the ledger says.
        next_sequence: u64,
    },
    /// The ledger's place is unknown.
    #[error("there is no home directory to keep a ledger in: name one with --state PATH")]
    NoLedgerPath,
    /// Repeatable output was requested for a network.
    #[error("--repeatable-insecure repeats nonces and is refused for live outputs; use a ledger")]
    RepeatableLive,
    /// The file's keys are public.
    #[error(
        "{}: insecure_example = true: its keys are public, so it protects with \
         --repeatable-insecure only; remove the line and take keys of your own",
        path.display()
    )]
    InsecureExample {
        /// The SA file.
        path: PathBuf,
    },
    /// A legacy suite would encrypt.
    #[error(
        "{}: sa {association:?}: {suite} is legacy and decrypts only; choose another suite, or \
         set legacy_encrypt = true in spite of its weakness",
        path.display()
    )]
    LegacyEncrypt {
        /// The SA file.
        path: PathBuf,
        /// The association.
        association: String,
        /// Its suite.
        suite: Suite,
    },
    /// An outbound association has another one's key.
    #[error(
        "{}: sa {association:?} and sa {other:?} share a key, under which nonces would repeat; \
         give each association its own",
        path.display()
    )]
    SharedKey {
        /// The SA file.
        path: PathBuf,
        /// The one that would seal.
        association: String,
        /// The other.
        other: String,
    },
    /// A key cannot be set up.
    #[error("{}: sa {association:?}: {source}", path.display())]
    Key {
        /// The SA file.
        path: PathBuf,
        /// The association.
        association: String,
        /// Why.
        source: KeyError,
    },
}

impl Databases {
    pub(crate) fn new(
        associations: Vec<Arc<Parameters>>,
        policies: &[Policy],
        defaults: Defaults,
    ) -> Databases {
        let spd = Spd::new(policies, defaults, associations.len());
        let homes = affinity::homes(associations.len(), policies, &spd);
        Databases {
            spd,
            transport_ends: transport_ends(&associations, policies),
            sad: Sad::new(associations, homes),
        }
    }

    /// The policies.
    pub fn spd(&self) -> &Spd {
        &self.spd
    }

    /// The associations.
    pub fn sad(&self) -> &Sad {
        &self.sad
    }

    /// How packets are steered that are to be protected: by the association of their
    /// flow, so that it belongs to one shard, or else by flow. Both directions
    /// of a flow go to one shard, also where policies protect only one.
    pub fn outbound_steering(self: &Arc<Databases>) -> SteeringRule {
        let databases = Arc::clone(self);
        SteeringRule::new("outbound associations", move |batch, index| {
            databases.home_of_flow(batch, index)
        })
    }

    /// How packets are steered that are to be unprotected: ESP by its association,
    /// the rest as by [`outbound_steering`](Databases::outbound_steering).
    pub fn inbound_steering(self: &Arc<Databases>) -> SteeringRule {
        let databases = Arc::clone(self);
        SteeringRule::new("inbound associations", move |batch, index| {
            let (headers, record) = (batch.headers(index), batch.record(index));
            match databases.esp_for_us(headers, record) {
                Some(Ok(association)) => databases.sad.home(association),
                _ => databases.home_of_flow(batch, index),
            }
        })
    }

    fn home_of_flow(&self, batch: &Batch, index: usize) -> u32 {
        let interface = batch.arrival(index).interface;
        let flow_hash = batch.flow_hash(index);
        let headers = batch.headers(index);
        let tuple = Tuple::from_headers(headers, batch.record(index), interface);
        let association = if headers.fragment != Fragment::Whole && self.spd.steers_fragments() {
            self.spd.association_of_fragments(&tuple, flow_hash)
        } else {
            self.spd.association_of_flow(&tuple, flow_hash)
        };
        match association {
            Some(association) => self.sad.home(association),
            None => flow_hash,
        }
    }

    /// Prefetches what [`classify_inbound`](Databases::classify_inbound) will read for
    /// the record at `index`, in two steps; the `further` one needs the data of the first.
    #[inline]
    pub(crate) fn look_ahead_inbound(&self, batch: &Batch, index: usize, further: bool) {
        if index >= batch.len() {
            return;
        }
        let headers = batch.headers(index);
        let esp = headers.payload(batch.record(index));
        if let Some(spi) = esp.first_chunk()
            && matches!(headers.protocol, ESP | UDP)
        {
            let spi = u32::from_be_bytes(*spi);
            match further {
                false => self.sad.look_ahead(spi),
                true => self.sad.look_ahead_at_rows(spi),
            }
        }
    }

    /// What a received packet is: ESP for this device, or something that the
    /// policies decide about.
    #[inline]
    pub(crate) fn classify_inbound(
        &self,
        headers: &Headers,
        record: &[u8],
        interface: u16,
    ) -> Arrived {
        match self.esp_for_us(headers, record) {
            Some(Ok(association)) => Arrived::Esp(association),
            Some(Err(reason)) => Arrived::Other(Verdict::Drop(reason)),
            None if headers.is_protocol_unknown() && self.may_be_esp_in_udp(headers, record) => {
                Arrived::Other(Verdict::Drop(DropReason::ProtocolHidden))
            }
            None => Arrived::Other(self.spd.inbound_clear_text(headers, record, interface)),
        }
    }

    /// Whether the verdict on a received fragment's datagram can depend on what
    /// only the first fragment shows: whether ESP in UDP is in it, or what the
    /// policies say.
    pub(crate) fn inbound_follows_first(
        &self,
        headers: &Headers,
        record: &[u8],
        interface: u16,
    ) -> bool {
        (headers.protocol == UDP && self.may_be_esp_in_udp(headers, record))
            || self.spd.inbound_follows_first(headers, record, interface)
    }

    /// Whether a fragment of UDP may be one of ESP for this device.
    fn may_be_esp_in_udp(&self, headers: &Headers, record: &[u8]) -> bool {
        !self.sad.nat_t_ports().is_empty()
            && headers
                .addresses(record)
                .is_some_and(|(_, destination)| self.is_for_us(headers, record, destination))
    }

    /// The association of an ESP packet for this device (RFC 4301, section 5.2,
    /// step 3), or why it is refused; `None` for all other packets.
    #[inline]
    fn esp_for_us(&self, headers: &Headers, record: &[u8]) -> Option<Result<u32, DropReason>> {
        let arrival = match Arrival::find(headers, record, self.sad.nat_t_ports()) {
            Ok(None) => return None,
            Ok(Some(arrival)) => Ok(arrival),
            Err(reason) => Err(reason),
        };
        let (_, destination) = headers.addresses(record)?;
        let found = arrival.and_then(|arrival| {
            self.sad
                .find(&arrival, destination, || {
                    self.is_transport_end(headers, record)
                })
                .ok_or(DropReason::UnknownSpi)
        });
        if found.is_err() && !self.is_for_us(headers, record, destination) {
            return None;
        }
        Some(found)
    }

    /// Whether ESP between these addresses is for this device.
    #[cold]
    fn is_for_us(&self, headers: &Headers, record: &[u8], destination: IpAddr) -> bool {
        self.sad.is_tunnel_end(destination) || self.is_transport_end(headers, record)
    }

    fn is_transport_end(&self, headers: &Headers, record: &[u8]) -> bool {
        let tuple = Tuple::from_headers(headers, record, 0);
        self.transport_ends.first(&tuple).is_some()
    }
}

/// The addresses between which inbound policies name associations in transport
/// mode.
fn transport_ends(associations: &[Arc<Parameters>], policies: &[Policy]) -> Table {
    let opens_transport = |association: &u32| {
        associations
            .get(*association as usize)
            .is_some_and(|parameters| parameters.mode == Mode::Transport && parameters.may_open())
    };
    let mut ends: Vec<Selector> = policies
        .iter()
        .filter(|policy| policy.direction.is_inbound())
        .filter(|policy| match &policy.action {
            Action::Protect(associations) => associations.iter().any(opens_transport),
            _ => false,
        })
        .map(|policy| policy.selector.without_protocol())
        .collect();
    let mut known = HashSet::new();
    ends.retain(|selector| known.insert(selector.clone()));
    Table::new(&ends)
}

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
        let shards = shards.max(1);
        self.check_outbound()?;
        let (mut reservations, ivs) = self.reservations(sequences, output)?;
        let count = self.associations().len();
        let mut by_shard: Vec<(Vec<Option<Outbound>>, Sealer)> = (0..shards)
            .map(|_| ((0..count).map(|_| None).collect(), Sealer::new()))
            .collect();
        for index in self.outbound.iter().copied() {
            let Some((parameters, secrets)) = self.association(index) else {
                continue;
            };
            let failed = |source| GatewayError::Key {
                path: self.path.clone(),
                association: parameters.name.clone(),
                source,
            };
            let material = material(parameters, secrets).map_err(failed)?;
            let shard = self.databases.sad.home(index) as usize % shards;
            let Some((associations, sealer)) = by_shard.get_mut(shard) else {
                continue;
            };
            let parameters = Arc::clone(parameters);
            let outbound = match reservations.remove(&index) {
                None => {
                    let first = parameters.expected_sequence.unwrap_or(1);
                    let key = SealingKey::with_ivs(material, first..first, ivs).map_err(failed)?;
                    Outbound::unrecorded(parameters, sealer, key)
                }
                Some((reservations, used)) => {
                    let next = used.next_sequence;
                    let key = SealingKey::with_ivs(material, next..next, ivs).map_err(failed)?;
                    Outbound::recorded(parameters, sealer, key, reservations, used)
                }
            };
            if let Some(slot) = associations.get_mut(index as usize) {
                *slot = Some(outbound);
            }
        }
        let steering = self.databases.outbound_steering();
        let stage = |(associations, sealer)| Protect::new(associations, sealer, steering.clone());
        Ok(by_shard.into_iter().map(stage).collect())
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
        let shards = shards.max(1);
        let mut bounds = self.seen_bounds(windows)?;
        let mut by_shard: Vec<(Vec<Option<Inbound>>, Opener)> =
            (0..shards).map(|_| (Vec::new(), Opener::new())).collect();
        for index in 0..self.associations().len() as u32 {
            let Some((parameters, secrets)) = self.association(index) else {
                continue;
            };
            if !parameters.may_open() {
                for (associations, _) in &mut by_shard {
                    associations.push(None);
                }
                continue;
            }
            let key = material(parameters, secrets)
                .and_then(|material| OpeningKey::new(&material))
                .map_err(|source| GatewayError::Key {
                    path: self.path.clone(),
                    association: parameters.name.clone(),
                    source,
                })?;
            let home = self.databases.sad.home(index) as usize % shards;
            let mut key = Some(key);
            for (shard, (associations, opener)) in by_shard.iter_mut().enumerate() {
                let key = if shard == home { key.take() } else { None };
                associations.push(key.map(|key| {
                    let mut inbound = Inbound::new(Arc::clone(parameters), opener.add(key));
                    if let Some((bound, highest)) = bounds.remove(&index) {
                        inbound.resume(bound, highest);
                    }
                    inbound
                }));
            }
        }
        let stage = |(associations, opener)| {
            Unprotect::new(Arc::clone(&self.databases), associations, opener)
        };
        Ok(by_shard.into_iter().map(stage).collect())
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
