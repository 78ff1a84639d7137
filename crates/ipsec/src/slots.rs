//! Slots: the numbers by which packets name associations.
//!
//! An SA file lists its associations, and policies name them by their place in that list. A
//! running gateway replaces the file: places change, and packets that were classified by the
//! old file are still on their way. So stages and packets name an association by its slot,
//! which it keeps as long as it is there, and which no other one gets while packets may
//! still name it.

use std::collections::{BTreeSet, HashMap};

use crate::policy::{Action, Policy};

/// The slot of each association of a file.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    /// By place in the file.
    slots: Vec<u32>,
    /// Slots are below this.
    capacity: usize,
    generation: u32,
    /// Of associations that were in their slots before this file: the number that steers
    /// their packets. Their counters are on one shard, and stay there.
    kept_homes: HashMap<u32, u32>,
    /// The same of new ones that follow others.
    preferred_homes: HashMap<u32, u32>,
}

impl Slots {
    /// Those of the first file: its places.
    pub fn first(associations: usize) -> Slots {
        Slots {
            slots: (0..associations as u32).collect(),
            capacity: associations,
            generation: 0,
            kept_homes: HashMap::new(),
            preferred_homes: HashMap::new(),
        }
    }

    /// Those of a file that replaces one of these slots.
    pub fn next(
        &self,
        slots: Vec<u32>,
        capacity: usize,
        kept_homes: HashMap<u32, u32>,
        preferred_homes: HashMap<u32, u32>,
    ) -> Slots {
        Slots {
            slots,
            capacity: capacity.max(self.capacity),
            generation: self.generation.wrapping_add(1),
            kept_homes,
            preferred_homes,
        }
    }

    /// The slot of the association at a place of the file; one that is always empty where there
    /// is no such place.
    pub fn of(&self, place: u32) -> u32 {
        self.slots.get(place as usize).copied().unwrap_or(NO_SLOT)
    }

    /// Slots in the order of the file.
    pub fn by_place(&self) -> &[u32] {
        &self.slots
    }

    /// How many slots there are, with and without an association.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// A policy that names associations by slot instead of place.
    pub fn in_slots(&self, policy: &Policy) -> Policy {
        let action = match &policy.action {
            Action::Protect(places) => {
                Action::Protect(places.iter().map(|place| self.of(*place)).collect())
            }
            other => other.clone(),
        };
        Policy {
            action,
            ..policy.clone()
        }
    }

    /// By slot, the number that steers an association's packets. `groups` are equal for
    /// associations that should live together: new ones join those of their group that are
    /// kept, or go where their group is best off.
    pub fn homes(&self, groups: Vec<u32>) -> Vec<u32> {
        if self.kept_homes.is_empty() && self.preferred_homes.is_empty() {
            return groups;
        }
        let mut home_of_group: HashMap<u32, u32> = HashMap::new();
        for homes in [&self.kept_homes, &self.preferred_homes] {
            for (slot, group) in (0..).zip(&groups) {
                if let Some(home) = homes.get(&slot) {
                    home_of_group.entry(*group).or_insert(*home);
                }
            }
        }
        let mut taken: BTreeSet<u32> = home_of_group.values().copied().collect();
        taken.extend(self.kept_homes.values());
        let mut next = 0;
        let mut fresh = || {
            while !taken.insert(next) {
                next += 1;
            }
            next
        };
        (0..)
            .zip(groups)
            .map(|(slot, group)| match self.kept_homes.get(&slot) {
                Some(home) => *home,
                None => *home_of_group.entry(group).or_insert_with(&mut fresh),
            })
            .collect()
    }
}

/// No association is ever in it.
const NO_SLOT: u32 = MOST_SLOTS;

/// Slots are below this, so that the generation's lowest bit fits beside a slot.
pub(crate) const MOST_SLOTS: u32 = (1 << 31) - 1;

/// A slot and the generation that chose it, as a packet's work has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tagged(u32);

impl Tagged {
    #[inline(always)]
    pub fn new(slot: u32, generation: u32) -> Tagged {
        Tagged(generation << 31 | slot & MOST_SLOTS)
    }

    #[inline(always)]
    pub fn from_argument(argument: u32) -> Tagged {
        Tagged(argument)
    }

    #[inline(always)]
    pub fn argument(self) -> u32 {
        self.0
    }

    #[inline(always)]
    pub fn slot(self) -> u32 {
        self.0 & MOST_SLOTS
    }

    /// The lowest bit of the generation.
    #[inline(always)]
    pub fn parity(self) -> usize {
        (self.0 >> 31) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn associations_that_stay_keep_their_homes() {
        let first = Slots::first(4);
        assert_eq!(first.homes(vec![0, 1, 1, 2]), [0, 1, 1, 2]);
        // Slot 1 is gone; 4 and 5 are new, 4 of one group with slot 3, 5 alone.
        let kept = HashMap::from([(0, 0), (2, 1), (3, 2)]);
        let next = first.next(vec![3, 4, 0, 5, 2], 6, kept.clone(), HashMap::new());
        assert_eq!(next.homes(vec![0, 1, 2, 3, 3, 4]), [0, 3, 1, 2, 2, 4]);
        // 5 follows one that was at home at 9, and 4 one elsewhere, but its group is kept.
        let preferred = HashMap::from([(5, 9), (4, 7)]);
        let led = first.next(vec![3, 4, 0, 5, 2], 6, kept, preferred);
        assert_eq!(led.homes(vec![0, 1, 2, 3, 3, 4]), [0, 3, 1, 2, 2, 9]);
        assert_eq!((next.generation(), next.capacity()), (1, 6));
        assert_eq!((next.of(1), next.of(5)), (4, NO_SLOT));
    }

    #[test]
    fn a_slot_and_a_generation_share_a_word() {
        for (slot, generation) in [(0, 0), (7, 1), (MOST_SLOTS - 1, 3), (9, 4)] {
            let tagged = Tagged::new(slot, generation);
            assert_eq!(Tagged::from_argument(tagged.argument()), tagged);
            assert_eq!(tagged.slot(), slot);
            assert_eq!(tagged.parity(), generation as usize % 2);
        }
    }
}
