//! The state of an interval: a list of packets, or sketches.

use hashbrown::HashMap;
use weir_hash::Seed;
use weir_packet::wire::FlowKey;

use crate::accuracy::{Shape, SizeError};
use crate::candidates::Candidates;
use crate::change::{ChangePart, KeySource};
use crate::config::{ConfigError, MeasureConfig, purpose};
use crate::distinct::DistinctCounter;
use crate::key::KeyWords;
use crate::report::StoredSketches;
use crate::sketch::{CountMin, LayoutMismatch};

/// Packets up to which an interval is a list. Few enough that a list is small
/// beside a sketch, so that intervals of a packet each, as a lying clock makes
/// them, cost neither time nor memory worth naming.
pub(crate) const LISTED_MAX: usize = 256;

/// Candidates kept per key of the top list, and the fewest kept.
const CANDIDATES_PER_TOP: usize = 8;
const CANDIDATES_MIN: usize = 1024;

/// The sums of one interval, or of one shard's part of it. Whether they are
/// listed or sketched depends on the number of packets alone, so parts put
/// together equal the whole.
#[derive(Debug)]
pub(crate) enum Contents {
    /// One entry per packet, at most [`LISTED_MAX`].
    Listed(Vec<Update>),
    Sketched(Box<Sketched>),
}

impl Contents {
    pub fn is_sketched(&self) -> bool {
        matches!(self, Contents::Sketched(_))
    }
}

/// The contribution of one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update {
    pub key: FlowKey,
    pub value: u64,
    /// Whether the packet is one of those whose keys are noted, queried
    /// in the search for changes.
    pub is_noted: bool,
}

/// The sums of an interval with many packets.
#[derive(Clone, Debug)]
pub(crate) struct Sketched {
    pub sums: CountMin,
    pub candidates: Candidates,
    pub distinct: DistinctCounter,
    pub exact: Option<HashMap<FlowKey, u64>>,
    pub change: Option<ChangePart>,
}

impl Sketched {
    /// Empty sketches. Those of sums, of distinct keys and of changes hash independently,
    /// from separate seeds.
    pub fn new(config: &MeasureConfig, shape: Shape, seed: Seed) -> Result<Sketched, ConfigError> {
        let words = KeyWords::longest(config.key);
        let mut candidates = CANDIDATES_MIN.max(CANDIDATES_PER_TOP * config.top);
        if let Some(change) = &config.change
            && change.keys == KeySource::Kept
        {
            candidates = candidates.max(change.max_keys);
        }
        let change = config.change.as_ref();
        let change =
            change.map(|change| ChangePart::new(change, words, seed.derive(purpose::CHANGE)));
        Ok(Sketched {
            sums: CountMin::new(shape, words, seed).map_err(SizeError::from)?,
            candidates: Candidates::new(candidates),
            distinct: DistinctCounter::new(seed.derive(purpose::DISTINCT)),
            exact: config.exact.then(HashMap::new),
            change: change.transpose()?,
        })
    }

    /// Adds another part of the same interval. On an error nothing is added.
    pub fn merge(&mut self, other: &Sketched) -> Result<(), LayoutMismatch> {
        self.sums.combine(&other.sums)?;
        self.distinct.merge(&other.distinct)?;
        self.candidates.merge(&other.candidates);
        if let (Some(here), Some(there)) = (&mut self.exact, &other.exact) {
            for (key, value) in there {
                let sum = here.entry(*key).or_default();
                *sum = sum.saturating_add(*value);
            }
        }
        if let (Some(here), Some(there)) = (&mut self.change, &other.change) {
            here.merge(there)?;
        }
        Ok(())
    }

    /// The sketches as bytes.
    pub fn store(&self) -> StoredSketches {
        StoredSketches {
            sums: self.sums.encode(),
            change: self.change.as_ref().map(|change| change.sums.encode()),
        }
    }

    /// Makes this equal to `blank` without new memory.
    pub fn clear(&mut self, blank: &Sketched) {
        self.sums.clear();
        self.candidates.clear();
        self.distinct = blank.distinct.clone();
        if let Some(exact) = &mut self.exact {
            exact.clear();
        }
        if let Some(change) = &mut self.change {
            change.clear();
        }
    }
}
