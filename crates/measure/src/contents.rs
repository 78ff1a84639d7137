//! What an interval has counted, and how it is filled.

use hashbrown::HashMap;
use weir_hash::KeyColumns;
use weir_packet::wire::{FlowKey, KeyKind};

use crate::accuracy::{Shape, SizeError};
use crate::candidates::Candidates;
use crate::change::{ChangePart, KeySource};
use crate::config::{ConfigError, MeasureConfig, Plan};
use crate::distinct::Distinct;
use crate::key::KeyWords;
use crate::report::StoredSketches;
use crate::sketch::{AddWork, CountMin, LayoutMismatch};

/// Packets up to which an interval is a list. Few enough that a list is small
/// beside a sketch, so that intervals of a packet each, as a lying clock makes
/// them, cost neither time nor memory worth naming.
pub(crate) const LISTED_MAX: usize = 256;

/// Keys hashed at once: enough to fill the lanes, few enough that their
/// buckets stay in the first-level cache.
const CHUNK_KEYS: usize = 64;

/// Candidates kept per key of the top list, and the fewest kept.
const CANDIDATES_PER_TOP: usize = 8;
const CANDIDATES_MIN: usize = 1024;

/// What makes the seed of the sketches that changes are looked for in.
const CHANGE_STREAM: u64 = 0x6b2d_6172_7920_7365;

/// The sums of one interval, or of one shard's part of it. Whether they are
/// listed or sketched depends on the number of packets alone, so parts put
/// together equal the whole.
#[derive(Debug)]
pub(crate) enum Contents {
    /// One entry per packet, at most [`LISTED_MAX`].
    Listed(Vec<Update>),
    Sketched(Box<Sketched>),
}

/// What one packet adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update {
    pub key: FlowKey,
    pub value: u64,
    /// Whether the packet is one of those whose keys are noted, to be asked for
    /// when changes are looked for.
    pub is_noted: bool,
}

/// The sums of an interval with many packets.
#[derive(Clone, Debug)]
pub(crate) struct Sketched {
    pub sums: CountMin,
    pub candidates: Candidates,
    pub distinct: Distinct,
    pub exact: Option<HashMap<FlowKey, u64>>,
    pub change: Option<ChangePart>,
}

impl Sketched {
    /// Nothing yet. Sums, distinct keys and what changes are looked for in hash
    /// independently, from different streams of the seed.
    pub fn new(config: &MeasureConfig, shape: Shape, seed: u64) -> Result<Sketched, ConfigError> {
        let words = KeyWords::longest(config.key);
        let mut candidates = CANDIDATES_MIN.max(CANDIDATES_PER_TOP * config.top);
        if let Some(change) = &config.change
            && change.keys == KeySource::Kept
        {
            candidates = candidates.max(change.max_keys);
        }
        let change = config.change.as_ref();
        let change = change.map(|change| ChangePart::new(change, words, seed ^ CHANGE_STREAM));
        Ok(Sketched {
            sums: CountMin::new(shape, words, seed).map_err(SizeError::from)?,
            candidates: Candidates::new(candidates),
            distinct: Distinct::new(!seed),
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

/// Fills contents: gathers keys into columns and hashes them a chunk at a time.
#[derive(Debug)]
pub(crate) struct Filler {
    /// IPv4 keys and IPv6 keys wait apart, for the former have fewer words.
    short: Chunk,
    long: Chunk,
    work: Work,
    /// Cleared memory.
    spares: Vec<Sketched>,
}

/// Working memory of [`flush`].
#[derive(Debug, Default)]
struct Work {
    add: AddWork,
    change: AddWork,
    fingerprints: Vec<u64>,
    unknown: Vec<usize>,
}

#[derive(Debug)]
struct Chunk {
    columns: KeyColumns,
    is_ipv4: bool,
    values: Vec<i64>,
    is_noted: Vec<bool>,
}

impl Chunk {
    fn new(words: usize, is_ipv4: bool) -> Chunk {
        Chunk {
            columns: KeyColumns::new(words, CHUNK_KEYS),
            is_ipv4,
            values: Vec::with_capacity(CHUNK_KEYS),
            is_noted: Vec::with_capacity(CHUNK_KEYS),
        }
    }

    /// Packets come in trains: adds to the last key if this is the same one.
    #[inline]
    fn joins(&mut self, words: &[u32], value: i64, is_noted: bool) -> bool {
        let (Some(sum), Some(noted)) = (self.values.last_mut(), self.is_noted.last_mut()) else {
            return false;
        };
        match sum.checked_add(value) {
            Some(more) if self.columns.ends_with(words) => {
                *sum = more;
                *noted |= is_noted;
                true
            }
            _ => false,
        }
    }
}

impl Filler {
    pub fn new(key: KeyKind) -> Filler {
        Filler {
            short: Chunk::new(KeyWords::of_ipv4(key), true),
            long: Chunk::new(KeyWords::longest(key), false),
            work: Work::default(),
            spares: Vec::new(),
        }
    }

    /// Adds what a packet of `flow` adds; the plan says which part of the flow
    /// is the key. It is in the contents after [`Filler::flush`].
    ///
    /// Inlined together with its callers, so that a flow stays in registers: its
    /// fields written one by one and copied as vectors would stall each packet.
    #[inline(always)]
    pub fn add(
        &mut self,
        plan: &Plan,
        contents: &mut Contents,
        flow: &FlowKey,
        value: u64,
        is_noted: bool,
    ) {
        match contents {
            Contents::Listed(list) => {
                list.push(Update {
                    key: flow.project(plan.key),
                    value,
                    is_noted,
                });
                if list.len() > LISTED_MAX {
                    self.sketch(plan, contents);
                }
            }
            Contents::Sketched(sketched) => {
                self.add_sketched(plan, sketched, flow, value, is_noted);
            }
        }
    }

    /// Puts waiting keys into the contents that they were added to.
    pub fn flush(&mut self, plan: &Plan, contents: &mut Contents) {
        if let Contents::Sketched(sketched) = contents {
            self.flush_short(plan, sketched);
            self.flush_long(plan, sketched);
        }
    }

    /// Adds `more` to `contents`, both flushed, and keeps the memory that `more`
    /// leaves behind.
    ///
    /// # Errors
    /// The contents were made from different plans.
    pub fn merge(
        &mut self,
        plan: &Plan,
        contents: &mut Contents,
        more: Contents,
    ) -> Result<(), LayoutMismatch> {
        match (&mut *contents, more) {
            (_, Contents::Listed(list)) => {
                for update in list {
                    self.add(plan, contents, &update.key, update.value, update.is_noted);
                }
                self.flush(plan, contents);
                Ok(())
            }
            (Contents::Listed(_), sketched @ Contents::Sketched(_)) => {
                let list = std::mem::replace(contents, sketched);
                self.merge(plan, contents, list)
            }
            (Contents::Sketched(here), Contents::Sketched(there)) => {
                let merged = here.merge(&there);
                self.recycle(plan, *there);
                merged
            }
        }
    }

    /// Keeps the memory of contents that were reported for another interval.
    pub fn recycle(&mut self, plan: &Plan, mut sketched: Sketched) {
        sketched.clear(&plan.blank);
        self.spares.push(sketched);
    }

    /// Takes memory that was kept.
    pub fn take_spare(&mut self) -> Option<Sketched> {
        self.spares.pop()
    }

    /// Keeps cleared memory.
    pub fn put_spare(&mut self, spare: Option<Sketched>) {
        self.spares.extend(spare);
    }

    /// Puts a list into a sketch.
    #[cold]
    pub fn sketch(&mut self, plan: &Plan, contents: &mut Contents) {
        if matches!(contents, Contents::Sketched(_)) {
            return;
        }
        let blank = self.take_spare().unwrap_or_else(|| plan.blank.clone());
        let listed = std::mem::replace(contents, Contents::Sketched(Box::new(blank)));
        if let (Contents::Listed(list), Contents::Sketched(sketched)) = (listed, contents) {
            for update in list {
                self.add_sketched(plan, sketched, &update.key, update.value, update.is_noted);
            }
        }
    }

    #[inline(always)]
    fn add_sketched(
        &mut self,
        plan: &Plan,
        sketched: &mut Sketched,
        flow: &FlowKey,
        value: u64,
        is_noted: bool,
    ) {
        let words = KeyWords::new(flow, plan.key);
        if let Some(exact) = &mut sketched.exact {
            let sum = exact.entry(flow.project(plan.key)).or_default();
            *sum = sum.saturating_add(value);
        }
        let is_short = words.as_slice().len() <= self.short.columns.words();
        let chunk = if is_short {
            &mut self.short
        } else {
            &mut self.long
        };
        // A sum beyond 2⁶³ is one the sketch could not hold.
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        if chunk.joins(words.as_slice(), value, is_noted) {
            return;
        }
        chunk.columns.push(words.as_slice());
        chunk.values.push(value);
        chunk.is_noted.push(is_noted);
        if chunk.columns.is_full() {
            if is_short {
                self.flush_short(plan, sketched);
            } else {
                self.flush_long(plan, sketched);
            }
        }
    }

    #[inline(never)]
    fn flush_short(&mut self, plan: &Plan, sketched: &mut Sketched) {
        flush(&mut self.short, plan, sketched, &mut self.work);
    }

    #[inline(never)]
    fn flush_long(&mut self, plan: &Plan, sketched: &mut Sketched) {
        flush(&mut self.long, plan, sketched, &mut self.work);
    }
}

/// Hashes a chunk in lanes, adds it, offers the keys that may be candidates.
fn flush(chunk: &mut Chunk, plan: &Plan, into: &mut Sketched, work: &mut Work) {
    let Chunk {
        columns,
        is_ipv4,
        values,
        is_noted,
    } = chunk;
    let Sketched {
        sums,
        candidates,
        distinct,
        change,
        ..
    } = into;
    sums.add(plan.tier, columns, values, &mut work.add);
    distinct.fingerprints(columns, &mut work.fingerprints);
    let fingerprints = &work.fingerprints;
    // A known candidate was counted among the distinct keys when it came first.
    candidates.list_unknown(fingerprints, &mut work.unknown);
    for index in &work.unknown {
        distinct.insert(fingerprints[*index]);
    }
    let key = |index| KeyWords::flow_key(&columns.key(index), plan.key, *is_ipv4);
    let present = |key: &FlowKey| {
        let words = KeyWords::new(key, plan.key);
        sums.estimate(words.as_slice()).unsigned_abs()
    };
    let floor = i64::try_from(candidates.floor()).unwrap_or(i64::MAX);
    let offer = |index: usize, estimate: i64| {
        let estimate = estimate.unsigned_abs();
        candidates.offer(key(index), fingerprints[index], estimate, present);
    };
    sums.above(&work.unknown, floor, &mut work.add, offer);
    if let Some(change) = change {
        change.add(plan.tier, columns, values, &mut work.change);
        let noted = is_noted.iter().enumerate().filter(|(_, noted)| **noted);
        for (index, _) in noted {
            change.note(index, key(index), fingerprints[index], &work.change);
        }
    }
    columns.clear();
    values.clear();
    is_noted.clear();
}
