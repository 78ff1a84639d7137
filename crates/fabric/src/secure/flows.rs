//! The flows of a sender or receiver, by the packets that belong to them.

use std::collections::HashSet;

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use weir_simd::prefetch;

use super::derive::Endpoint;
use super::flow::{Flow, FlowError};
use super::place::Path;

/// A flow of one sender or receiver, and of this one only. The name of a flow that was removed names
/// no other flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowId {
    slot: u32,
    generation: u32,
}

impl FlowId {
    /// A small number, which no other flow of the sender or receiver has at the same time.
    pub(crate) fn slot(self) -> usize {
        self.slot as usize
    }
}

/// Where a flow comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was added.
    Listed,
    /// Its partition has keys for unlisted flows. Such flows give way to others.
    Unlisted,
}

/// Flows with what is kept for each.
pub(super) struct Flows<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    /// Flows by each of their paths.
    paths: HashTable<Entry>,
    hasher: DefaultHashBuilder,
    /// Whose keys are in use: two transports between the same queue pairs would share them.
    ends: HashSet<[Endpoint; 2]>,
    unlisted: usize,
    /// Where the search for a flow to give way goes on.
    hand: usize,
    /// Batches so far.
    now: u64,
}

/// On lines of its own, as the flow of each packet is fetched from memory.
#[repr(align(64))]
struct Slot<T> {
    generation: u32,
    held: Option<Held<T>>,
}

struct Held<T> {
    flow: Flow,
    origin: Origin,
    last_used: u64,
    value: T,
}

/// A path of a flow, on a cache line of its own.
#[repr(align(64))]
struct Entry {
    path: Path,
    id: FlowId,
}

/// Unlisted flows that are compared for eviction: the least recently used of them goes.
const CANDIDATES: usize = 16;

impl<T> Flows<T> {
    pub(super) fn new() -> Flows<T> {
        Flows {
            slots: Vec::new(),
            free: Vec::new(),
            paths: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            ends: HashSet::new(),
            unlisted: 0,
            hand: 0,
            now: 0,
        }
    }

    /// Another batch begins.
    pub(super) fn begin_batch(&mut self) {
        self.now += 1;
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// How many of them are not listed.
    pub(super) fn unlisted(&self) -> usize {
        self.unlisted
    }

    /// Whether a flow may be added, and which unlisted one must be removed for it.
    pub(super) fn check(&self, flow: &Flow) -> Result<Option<FlowId>, FlowError> {
        flow.check()?;
        let mut in_its_way = None;
        for path in flow.paths() {
            if let Some(found) = self.find(self.hash(&path), &path) {
                match self.origin(found.slot) {
                    Some(Origin::Unlisted) => in_its_way = Some(found),
                    Some(Origin::Listed) | None => return Err(FlowError::Exists),
                }
            }
        }
        match in_its_way.is_none() && self.ends.contains(&[flow.sender, flow.receiver]) {
            true => Err(FlowError::Exists),
            false => Ok(in_its_way),
        }
    }

    /// Adds a flow that was checked.
    pub(super) fn insert(&mut self, flow: Flow, origin: Origin, value: T) -> FlowId {
        let slot = self.free.pop().unwrap_or_else(|| {
            let (generation, held) = (0, None);
            self.slots.push(Slot { generation, held });
            (self.slots.len() - 1) as u32
        });
        self.ends.insert([flow.sender, flow.receiver]);
        self.unlisted += usize::from(origin == Origin::Unlisted);
        self.slots[slot as usize].held = Some(Held {
            flow,
            origin,
            last_used: self.now,
            value,
        });
        let id = self.id(slot);
        for path in flow.paths() {
            let hash = self.hash(&path);
            let hasher = &self.hasher;
            (self.paths).insert_unique(hash, Entry { path, id }, |entry| {
                hasher.hash_one(entry.path)
            });
        }
        id
    }

    /// Takes a flow out.
    pub(super) fn remove(&mut self, id: FlowId) -> Option<(Flow, Origin, T)> {
        let slot = self.slots.get_mut(id.slot as usize)?;
        if slot.generation != id.generation {
            return None;
        }
        let held = slot.held.take()?;
        // A slot whose names are used up stays empty.
        if let Some(next) = slot.generation.checked_add(1) {
            slot.generation = next;
            self.free.push(id.slot);
        }
        for path in held.flow.paths() {
            let hash = self.hash(&path);
            if let Ok(found) = self.paths.find_entry(hash, |entry| entry.path == path) {
                found.remove();
            }
        }
        self.ends.remove(&[held.flow.sender, held.flow.receiver]);
        self.unlisted -= usize::from(held.origin == Origin::Unlisted);
        Some((held.flow, held.origin, held.value))
    }

    /// The hash of a path, for [`Flows::find`] and [`Flows::prefetch`].
    #[inline]
    pub(super) fn hash(&self, path: &Path) -> u64 {
        self.hasher.hash_one(path)
    }

    /// Prefetches the paths that have this hash.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        for entry in self.paths.iter_hash(hash) {
            prefetch(entry);
        }
    }

    /// Prefetches what is kept for a flow.
    #[inline]
    pub(super) fn prefetch_flow(&self, id: FlowId) {
        if let Some(slot) = self.slots.get(id.slot as usize) {
            prefetch(slot);
        }
    }

    #[inline]
    pub(super) fn find(&self, hash: u64, path: &Path) -> Option<FlowId> {
        let found = self.paths.find(hash, |entry| entry.path == *path);
        found.map(|entry| entry.id)
    }

    pub(super) fn get(&self, id: FlowId) -> Option<(&Flow, &T)> {
        let slot = self.slots.get(id.slot as usize)?;
        let held = slot.held.as_ref()?;
        (slot.generation == id.generation).then_some((&held.flow, &held.value))
    }

    /// For a packet of the batch.
    #[inline]
    pub(super) fn get_mut(&mut self, id: FlowId) -> Option<(&Flow, &mut T)> {
        let now = self.now;
        let slot = self.slots.get_mut(id.slot as usize)?;
        let held = slot.held.as_mut()?;
        held.last_used = now;
        (slot.generation == id.generation).then_some((&held.flow, &mut held.value))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (FlowId, &Flow, Origin, &T)> {
        self.slots.iter().zip(0..).filter_map(|(slot, at)| {
            let held = slot.held.as_ref()?;
            Some((self.id(at), &held.flow, held.origin, &held.value))
        })
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = (&Flow, Origin, &mut T)> {
        let held = (self.slots.iter_mut()).filter_map(|slot| slot.held.as_mut());
        held.map(|held| (&held.flow, held.origin, &mut held.value))
    }

    /// The unlisted flow that should give way to another: one that was used long ago, and not in this
    /// batch.
    pub(super) fn oldest_unlisted(&mut self) -> Option<FlowId> {
        let mut found: Option<(u64, u32)> = None;
        let mut candidates = 0;
        for _ in 0..self.slots.len() {
            self.hand = (self.hand + 1) % self.slots.len();
            let held = self.slots[self.hand].held.as_ref();
            let Some(held) = held.filter(|held| held.origin == Origin::Unlisted) else {
                continue;
            };
            if held.last_used < self.now {
                let this = (held.last_used, self.hand as u32);
                found = Some(found.map_or(this, |found| found.min(this)));
            }
            candidates += 1;
            if candidates >= CANDIDATES && found.is_some() {
                break;
            }
        }
        found.map(|(_, slot)| self.id(slot))
    }

    fn origin(&self, slot: u32) -> Option<Origin> {
        let held = self.slots.get(slot as usize)?.held.as_ref()?;
        Some(held.origin)
    }

    fn id(&self, slot: u32) -> FlowId {
        FlowId {
            slot,
            generation: self.slots[slot as usize].generation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secure::derive::Address;
    use crate::wire::Transport;

    fn flow(queue_pair: u32) -> Flow {
        let end = |lid| Endpoint {
            address: Address::Lid(lid),
            queue_pair,
        };
        Flow::new(end(1), end(2), Transport::Rc, 1)
    }

    fn find(flows: &Flows<u32>, queue_pair: u32) -> Option<FlowId> {
        let path = flow(queue_pair).paths().next()?;
        flows.prefetch(flows.hash(&path));
        flows.find(flows.hash(&path), &path)
    }

    #[test]
    fn a_removed_flow_has_left_its_name_and_its_slot() {
        let mut flows = Flows::new();
        let ids: Vec<FlowId> = (0..4)
            .map(|number| flows.insert(flow(number), Origin::Listed, number))
            .collect();
        for round in 0..1000 {
            assert_eq!(flows.check(&flow(2)), Err(FlowError::Exists));
            let found = find(&flows, 2).expect("it is there");
            assert_eq!(flows.remove(found).map(|(_, _, value)| value), Some(2));
            assert!(flows.remove(found).is_none() && flows.get(found).is_none());
            assert_eq!(flows.len(), 3);
            let again = flows.insert(flow(2), Origin::Listed, 2);
            assert!(again != found && again.slot == ids[2].slot, "{round}");
        }
        assert_eq!(flows.slots.len(), 4);
    }

    #[test]
    fn unlisted_flows_give_way() {
        let mut flows = Flows::new();
        let listed = flows.insert(flow(0), Origin::Listed, 0);
        for number in 1..9 {
            flows.begin_batch();
            flows.insert(flow(number), Origin::Unlisted, number);
        }
        let in_use = find(&flows, 1);
        assert!(flows.get_mut(in_use.expect("it is there")).is_some());
        // The first one is used by this batch, and so is the last one.
        for expected in 2..8 {
            let id = flows.oldest_unlisted().expect("one");
            assert_eq!(flows.remove(id).map(|(_, _, value)| value), Some(expected));
        }
        assert_eq!((flows.oldest_unlisted(), flows.unlisted()), (None, 2));
        assert!(flows.get(listed).is_some());
        // One that is listed now takes the place of the same that was not.
        assert_eq!(flows.check(&flow(1)), Ok(in_use));
        assert_eq!(flows.check(&flow(0)), Err(FlowError::Exists));
    }
}
