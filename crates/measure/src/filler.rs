//! Adding packets to the state of an interval.

use std::iter;

use weir_hash::{KeyColumns, Seed};
use weir_packet::wire::{FlowKey, Ipv4Flow};

use crate::aggregation::{self, Addition, AggregationCache, EVICTED_MAX, Update};
use crate::config::{Plan, purpose};
use crate::contents::{self, Contents, LISTED_MAX, Sketched};
use crate::key::{self, IPV4_PAIRS, IPV6_PAIRS, KeyWords, Projection};
use crate::sketch::{AddWork, LayoutMismatch};

/// Adds packets to the state of an interval: through a cache of recent keys, and hashed in
/// batches.
#[derive(Debug)]
pub(crate) struct Filler {
    projection: Projection,
    /// IPv4 keys and IPv6 keys wait apart, for the former have fewer words.
    short: Queue<IPV4_PAIRS>,
    long: Queue<IPV6_PAIRS>,
    scratch: Scratch,
    /// Cleared memory.
    spares: Vec<Sketched>,
}

/// Keys of one IP version on their way into sketches.
#[derive(Debug)]
struct Queue<const N: usize> {
    cache: AggregationCache<N>,
    is_ipv4: bool,
    /// Which words of a key are hashed.
    words: &'static [usize],
    columns: KeyColumns,
}

/// Working memory.
#[derive(Debug, Default)]
struct Scratch {
    values: Vec<i64>,
    add: AddWork,
    change: AddWork,
    fingerprints: Vec<u64>,
    unknown: Vec<usize>,
}

impl Filler {
    pub fn new(plan: &Plan) -> Filler {
        let projection = Projection::new(plan.key);
        Filler {
            projection,
            short: Queue::new(
                plan.seed.derive(purpose::IPV4_CACHE),
                true,
                projection.ipv4_words,
            ),
            long: Queue::new(
                plan.seed.derive(purpose::IPV6_CACHE),
                false,
                projection.ipv6_words,
            ),
            scratch: Scratch::default(),
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
                list.push(contents::Update {
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

    /// Adds the keys that are still in caches to the interval that they belong to.
    pub fn flush(&mut self, plan: &Plan, contents: &mut Contents) {
        if let Contents::Sketched(sketched) = contents {
            self.short.drain(plan, sketched, &mut self.scratch);
            self.long.drain(plan, sketched, &mut self.scratch);
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
        if let Some(exact) = &mut sketched.exact {
            let sum = exact.entry(flow.project(plan.key)).or_default();
            *sum = sum.saturating_add(value);
        }
        self.put(plan, sketched, flow, value, is_noted);
    }

    /// Adds to the sketches what a packet of `flow` adds, but not to a table of
    /// exact sums.
    #[inline(always)]
    pub fn put(
        &mut self,
        plan: &Plan,
        sketched: &mut Sketched,
        flow: &FlowKey,
        value: u64,
        is_noted: bool,
    ) {
        let scratch = &mut self.scratch;
        if flow.ip_version == 4 {
            let words = self.projection.ipv4(flow.into());
            let update = Update {
                words,
                value,
                is_noted,
            };
            self.short.put(plan, sketched, scratch, update);
        } else {
            let words = self.projection.ipv6(flow);
            let update = Update {
                words,
                value,
                is_noted,
            };
            self.long.put(plan, sketched, scratch, update);
        }
    }

    /// The same for at most [`aggregation::PUT_MAX`] packets of IPv4, none of which is noted.
    /// Every value [`aggregation::fits`], or is 0 for no packet.
    ///
    /// On its own, so that it has the registers for itself.
    #[inline(never)]
    pub fn put_ipv4(
        &mut self,
        plan: &Plan,
        sketched: &mut Sketched,
        flows: &[Ipv4Flow],
        values: &[u32],
    ) {
        let projection = self.projection;
        let updates = flows.iter().zip(values).map(|(flow, value)| Update {
            words: projection.ipv4(*flow),
            value: (*value).into(),
            is_noted: false,
        });
        (self.short).put_all(plan, sketched, &mut self.scratch, updates);
    }
}

impl<const N: usize> Queue<N> {
    fn new(seed: Seed, is_ipv4: bool, words: &'static [usize]) -> Queue<N> {
        Queue {
            cache: AggregationCache::new(seed),
            is_ipv4,
            words,
            columns: KeyColumns::new(words.len(), EVICTED_MAX),
        }
    }

    /// Takes what is to be added to a key.
    #[inline(always)]
    fn put(&mut self, plan: &Plan, into: &mut Sketched, scratch: &mut Scratch, update: Update<N>) {
        if aggregation::fits(update.value) {
            self.put_all(plan, into, scratch, iter::once(update));
        } else {
            self.add_alone(plan, into, scratch, &update);
        }
    }

    /// Adds to one key a value that is no common packet's. One of 2⁶³ or more counts
    /// as 2⁶³ - 1, which is all that a sketch holds.
    #[cold]
    fn add_alone(
        &mut self,
        plan: &Plan,
        into: &mut Sketched,
        scratch: &mut Scratch,
        update: &Update<N>,
    ) {
        scratch.values.clear();
        (scratch.values).push(i64::try_from(update.value).unwrap_or(i64::MAX));
        let places = self.words;
        let word = |_, word: usize| key::word(&update.words, places[word]);
        self.columns.fill(1, word);
        let is_noted = |_| update.is_noted;
        add(plan, into, &self.columns, self.is_ipv4, is_noted, scratch);
    }

    /// Takes at most [`aggregation::PUT_MAX`] updates.
    #[inline(always)]
    fn put_all(
        &mut self,
        plan: &Plan,
        into: &mut Sketched,
        scratch: &mut Scratch,
        updates: impl Iterator<Item = Update<N>>,
    ) {
        if self.cache.put_all(updates) {
            self.add_some(plan, into, scratch);
        }
    }

    /// Adds evicted keys.
    #[inline(never)]
    fn add_some(&mut self, plan: &Plan, into: &mut Sketched, scratch: &mut Scratch) {
        let additions = self.cache.take_evicted();
        add_all(
            plan,
            into,
            additions,
            self.is_ipv4,
            self.words,
            &mut self.columns,
            scratch,
        );
    }

    /// Adds all keys.
    fn drain(&mut self, plan: &Plan, into: &mut Sketched, scratch: &mut Scratch) {
        loop {
            let additions = self.cache.drain();
            if additions.is_empty() {
                break;
            }
            add_all(
                plan,
                into,
                additions,
                self.is_ipv4,
                self.words,
                &mut self.columns,
                scratch,
            );
        }
    }
}

fn add_all<const N: usize>(
    plan: &Plan,
    into: &mut Sketched,
    additions: &[Addition<N>],
    is_ipv4: bool,
    words: &[usize],
    columns: &mut KeyColumns,
    scratch: &mut Scratch,
) {
    columns.fill(additions.len(), |index, word| {
        key::word(&additions[index].words(), words[word])
    });
    scratch.values.clear();
    (scratch.values).extend(additions.iter().map(|addition| addition.value() as i64));
    let is_noted = |index: usize| additions[index].is_noted();
    add(plan, into, columns, is_ipv4, is_noted, scratch);
}

/// Hashes keys in lanes, adds to them, offers those that may be candidates.
fn add(
    plan: &Plan,
    into: &mut Sketched,
    columns: &KeyColumns,
    is_ipv4: bool,
    is_noted: impl Fn(usize) -> bool,
    scratch: &mut Scratch,
) {
    let Scratch {
        values,
        add,
        change: change_work,
        fingerprints,
        unknown,
    } = scratch;
    let Sketched {
        sums,
        candidates,
        distinct,
        change,
        ..
    } = into;
    sums.add(plan.tier, columns, values, add);
    distinct.fingerprints(columns, fingerprints);
    // A known candidate was counted among the distinct keys when it came first.
    candidates.list_unknown(fingerprints, unknown);
    for index in &*unknown {
        distinct.insert(fingerprints[*index]);
    }
    let key = |index| KeyWords::flow_key(&columns.key(index), plan.key, is_ipv4);
    let present = |key: &FlowKey| {
        let words = KeyWords::new(key, plan.key);
        sums.estimate(words.as_slice()).unsigned_abs()
    };
    let floor = candidates.floor(sums.total().unsigned_abs());
    let floor = i64::try_from(floor).unwrap_or(i64::MAX);
    let offer = |index: usize, estimate: i64| {
        let estimate = estimate.unsigned_abs();
        candidates.offer(key(index), fingerprints[index], estimate, present);
    };
    sums.above(unknown, floor, add, offer);
    if let Some(change) = change {
        change.add(plan.tier, columns, values, change_work);
        for index in (0..columns.len()).filter(|index| is_noted(*index)) {
            change.note(index, key(index), fingerprints[index], change_work);
        }
    }
}
