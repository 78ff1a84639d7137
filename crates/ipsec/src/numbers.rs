//! Where the sequence numbers of an SA file's associations come from, and where
//! those that were received are kept.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use weir_crypto::{IvSource, Suite};
use weir_ledger::{Fingerprint, KeyIdentity, Kind, Ledger, Marks, NewKeys, Owner, Progress};
use weir_ledger::{Reservations, SeenBound};

use crate::config::SaFile;
use crate::error::GatewayError;
use crate::fingerprint;
use crate::lifetime::{LONGEST_TEXT_BYTES, Lifetime};
use crate::sa::Parameters;

/// Where the sequence numbers of outbound associations come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sequences {
    /// A ledger, in which ranges are reserved before they are used.
    Ledger {
        /// Its directory ([`weir_ledger::default_path`]).
        path: PathBuf,
        /// Keys that it may learn.
        new_keys: NewKeys,
        /// How many numbers are reserved at a time
        /// ([`Sequences::RESERVED_AT_A_TIME`]).
        reserve: u64,
    },
    /// From 1 in every run, and every IV alike: two runs over different
    /// packets give both away. For examples and tests.
    RepeatableInsecure,
}

impl Sequences {
    /// A usual size of reservations: a commit per half a million packets.
    pub const RESERVED_AT_A_TIME: u64 = 1 << 20;
}

/// Where protected packets go, or packets to open come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A file: packets wait for the ledger, and one may be opened as often as one
    /// likes.
    Capture,
    /// A network: packets that the ledger has granted no number yet are dropped,
    /// and none is accepted twice, also after a restart.
    Live,
}

/// Where replay windows begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Windows {
    /// Empty, in every run.
    Empty,
    /// Where the last run ended, for associations that say `replay_state =
    /// "keep"`, or say nothing and receive from a network.
    Ledger {
        /// Its directory. It is created where it is missing.
        path: PathBuf,
        /// Where packets come from.
        input: Output,
        /// A directory in memory that survives the process, for the highest number of each
        /// window that receives from a network ([`weir_ledger::default_marks`]).
        marks: Option<PathBuf>,
    },
}

/// By place in the file: the reservations of each association, and how far its key has come.
type ByAssociation<T, P> = HashMap<u32, (T, P)>;

impl SaFile {
    /// Whether [`protect`](SaFile::protect) could open the ledger at `path` now,
    /// but for keys that are in use. Nothing is written.
    ///
    /// # Errors
    /// As there.
    pub fn check_ledger(&self, path: &Path, new_keys: &NewKeys) -> Result<(), GatewayError> {
        let keys = self.sealing_keys(&self.outbound, new_keys)?;
        if self.is_insecure_example() || keys.is_empty() {
            return Ok(());
        }
        Ok(weir_ledger::check(path, &keys)?)
    }

    /// The fingerprint of what an association's nonces are counted under.
    pub(crate) fn fingerprint(&self, index: u32) -> Option<Fingerprint> {
        let (parameters, secrets) = self.association(index)?;
        let cipher_key = secrets.key.get(..parameters.suite.key_bytes())?;
        let integrity_key = &secrets.integrity_key;
        Some(fingerprint::of_sealing(cipher_key, integrity_key))
    }

    /// The fingerprint of what an association's window is kept under: its keys, SPI and
    /// destination.
    pub(crate) fn window_fingerprint(&self, place: u32) -> Option<Fingerprint> {
        let (parameters, secrets) = self.association(place)?;
        Some(fingerprint::of_window(
            &secrets.key,
            &secrets.integrity_key,
            parameters.spi,
            parameters.destination(),
        ))
    }

    /// What the ledger must know to seal by the associations at these places of the file.
    fn sealing_keys(
        &self,
        places: &[u32],
        new_keys: &NewKeys,
    ) -> Result<Vec<KeyIdentity>, GatewayError> {
        if let NewKeys::Of(names) = new_keys
            && let Some(name) = names.iter().find(|name| {
                let mut known = self.associations().iter();
                !known.any(|association| association.name == **name)
            })
        {
            return Err(GatewayError::UnknownAssociation {
                path: self.path.clone(),
                name: name.clone(),
            });
        }
        let identity = |place: &u32| {
            let (parameters, _) = self.association(*place)?;
            Some(KeyIdentity {
                kind: Kind::Sealing,
                fingerprint: self.fingerprint(*place)?,
                owner: owner(parameters),
                may_be_new: new_keys.contains(&parameters.name),
            })
        };
        Ok(places.iter().filter_map(identity).collect())
    }

    /// Opens what the numbers of the associations at these places of the file come from.
    pub(crate) fn reservations(
        &self,
        places: &[u32],
        sequences: &Sequences,
        output: Output,
    ) -> Result<(ByAssociation<Reservations, Progress>, IvSource), GatewayError> {
        let Sequences::Ledger {
            path,
            new_keys,
            reserve,
        } = sequences
        else {
            return match output {
                Output::Live => Err(GatewayError::RepeatableLive),
                Output::Capture => Ok((HashMap::new(), IvSource::RepeatableInsecure)),
            };
        };
        if self.is_insecure_example() {
            return Err(GatewayError::InsecureExample {
                path: self.path.clone(),
            });
        }
        let keys = self.sealing_keys(places, new_keys)?;
        if keys.is_empty() {
            return Ok((HashMap::new(), IvSource::Random));
        }
        // A configured number may raise the ledger's, never lower it.
        let raised = |parameters: &Parameters, used: Progress| Progress {
            next_sequence: (parameters.expected_sequence).map_or(used.next_sequence, |expected| {
                expected.max(used.next_sequence)
            }),
            ..used
        };
        let step = |parameters: &Parameters| step(*reserve, parameters.suite, &parameters.lifetime);
        // A network's first packets must not wait.
        let end = |parameters: &Parameters, used: Progress| match output {
            Output::Live => used.plus(step(parameters)),
            Output::Capture => used,
        };
        let (ledger, progress) = Ledger::open(path, &keys, |number, used| {
            let (parameters, _) = self.association(*places.get(number)?)?;
            let used = raised(parameters, used);
            (output == Output::Live).then(|| end(parameters, used))
        })?;
        let mut by_association = HashMap::with_capacity(progress.len());
        for ((key, index), used) in (0..).zip(places).zip(progress) {
            let Some((parameters, _)) = self.association(*index) else {
                continue;
            };
            let next_sequence = used.next_sequence;
            if let Some(expected) = parameters.expected_sequence
                && expected < next_sequence
            {
                return Err(GatewayError::SequenceUsed {
                    path: self.path.clone(),
                    association: parameters.name.clone(),
                    expected,
                    next_sequence,
                });
            }
            let used = raised(parameters, used);
            let waits = output == Output::Capture;
            let (step, end) = (step(parameters), end(parameters, used));
            let reservations = Reservations::new(&ledger, key, step, end, waits);
            by_association.insert(*index, (reservations, used));
        }
        Ok((by_association, IvSource::Random))
    }

    /// Opens what kept windows are counted in: of each, the bound and the highest
    /// number that counts as seen.
    pub(crate) fn seen_bounds(
        &self,
        places: &[u32],
        windows: &Windows,
    ) -> Result<ByAssociation<SeenBound, u64>, GatewayError> {
        let Windows::Ledger { path, input, marks } = windows else {
            return Ok(HashMap::new());
        };
        let mut indices = Vec::new();
        let mut keys = Vec::new();
        for index in places.iter().copied() {
            let (Some((parameters, _)), Some(fingerprint)) =
                (self.association(index), self.window_fingerprint(index))
            else {
                continue;
            };
            if !parameters.keeps_window(*input) {
                continue;
            }
            indices.push(index);
            keys.push(KeyIdentity {
                kind: Kind::ReplayWindow,
                fingerprint,
                owner: owner(parameters),
                // To receive needs no nonce: an unknown key has seen nothing.
                may_be_new: true,
            });
        }
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        // A network's first packets must not wait. Where numbers were received before, a crash
        // would cost more of them each time.
        let waits = *input == Output::Capture;
        let first = |seen: Progress| match !waits && seen.next_sequence <= 1 {
            true => SeenBound::first(seen),
            false => seen,
        };
        let (ledger, progress) = Ledger::open(path, &keys, |_, seen| {
            Some(first(seen)).filter(|end| end.next_sequence != seen.next_sequence)
        })?;
        let marks = marks.as_ref().filter(|_| *input == Output::Live);
        let marks = marks.and_then(|directory| Marks::open(directory, ledger.id()));
        let mark = |key: u32| marks.as_ref()?.of(ledger.slot(key)?);
        let bounds = (0..).zip(indices).zip(progress);
        let bounds = bounds.map(|((key, index), seen)| {
            let bound = SeenBound::new(
                &ledger,
                key,
                seen,
                first(seen).next_sequence,
                waits,
                mark(key),
            );
            (index, bound)
        });
        Ok(bounds.collect())
    }
}

/// A reservation takes at most this fraction of a lifetime (1 / `LIFETIME_PARTS`),
/// so that a crash costs no more.
const LIFETIME_PARTS: u64 = 16;

/// How much is reserved at a time for a key: `sequences` numbers, or fewer where
/// the lifetime or the suite's limit is short.
fn step(sequences: u64, suite: Suite, lifetime: &Lifetime) -> Progress {
    let limits = suite.limits();
    let most_packets = lifetime.hard.packets.min(limits.packets.most);
    let most_bytes = lifetime
        .hard
        .bytes
        .min(limits.blocks.most.saturating_mul(limits.block_bytes as u64));
    let sequences = sequences.min(most_packets / LIFETIME_PARTS).max(1);
    let bytes = sequences
        .saturating_mul(LONGEST_TEXT_BYTES)
        .min(most_bytes / LIFETIME_PARTS)
        .max(1);
    Progress {
        next_sequence: sequences,
        bytes,
    }
}

fn owner(parameters: &Parameters) -> Owner {
    Owner::new("sa", &*parameters.name)
}
