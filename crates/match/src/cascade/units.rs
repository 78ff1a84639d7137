//! Patterns that occur in the same texts, as one; and their bytes, where the
//! last stage compares them.

use std::collections::BTreeMap;

use crate::Pattern;

/// Bytes of a slot: the records of patterns begin at whole ones.
const SLOT_BYTES: usize = 16;
/// Bytes in front of a record's pattern.
const OWNER_BYTES: usize = 4;
/// In an owner: the rest is an index of [`Records::shared`].
const SHARED: u32 = 1 << 31;

/// One pattern, however often it was asked for.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) pattern: Pattern,
    /// Where its record begins.
    pub(super) slot: u32,
}

/// What is left of a unit when the tables are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct SavedUnit {
    slot: u32,
    bytes: u16,
    is_nocase: bool,
}

impl SavedUnit {
    pub(super) fn new(unit: &Unit) -> SavedUnit {
        SavedUnit {
            slot: unit.slot,
            bytes: unit.pattern.bytes().len() as u16,
            is_nocase: unit.pattern.is_nocase(),
        }
    }
}

/// Every unit's bytes with the number of its pattern in front of them, so that
/// a hit touches one line of the cache.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    bytes: Vec<u8>,
    /// Numbers of patterns that are one unit.
    shared: Vec<Vec<u32>>,
}

/// Makes units of the patterns that can occur, in order of their bytes.
pub(super) fn units(patterns: &[Pattern]) -> (Vec<Unit>, Records) {
    let mut numbers: BTreeMap<&Pattern, Vec<u32>> = BTreeMap::new();
    for (number, pattern) in (0u32..).zip(patterns) {
        if !pattern.bytes().is_empty() {
            numbers.entry(pattern).or_default().push(number);
        }
    }
    let mut records = Records::default();
    let units = numbers
        .into_iter()
        .map(|(pattern, numbers)| Unit {
            slot: records.add(pattern.bytes(), numbers),
            pattern: pattern.clone(),
        })
        .collect();
    (units, records)
}

impl Records {
    fn add(&mut self, pattern: &[u8], numbers: Vec<u32>) -> u32 {
        let slot = self.slots();
        let owner = match numbers[..] {
            [number] => number,
            _ => {
                self.shared.push(numbers);
                SHARED | (self.shared.len() - 1) as u32
            }
        };
        self.bytes.extend(owner.to_le_bytes());
        self.bytes.extend(pattern);
        self.bytes
            .resize(self.bytes.len().next_multiple_of(SLOT_BYTES), 0);
        slot as u32
    }

    /// The patterns from which the records were made.
    pub(super) fn patterns(&self, units: &[SavedUnit], count: usize) -> Vec<Pattern> {
        let mut patterns = vec![Pattern::exact([]); count];
        for unit in units {
            let bytes = self.pattern(unit.slot, unit.bytes.into());
            self.for_each_number(unit.slot, |number| {
                patterns[number as usize] = match unit.is_nocase {
                    true => Pattern::nocase(bytes),
                    false => Pattern::exact(bytes),
                };
            });
        }
        patterns
    }

    /// Number of slots.
    pub(super) fn slots(&self) -> usize {
        self.bytes.len() / SLOT_BYTES
    }

    /// Heap memory.
    pub(super) fn memory_bytes(&self) -> usize {
        let shared = self.shared.iter().map(|numbers| numbers.len() * 4);
        self.bytes.len() + shared.sum::<usize>()
    }

    /// The first `bytes` bytes of a unit's pattern.
    #[inline(always)]
    pub(super) fn pattern(&self, slot: u32, bytes: usize) -> &[u8] {
        let start = slot as usize * SLOT_BYTES + OWNER_BYTES;
        &self.bytes[start..start + bytes]
    }

    /// Calls `report` with the number of each pattern that the unit stands for.
    #[inline(always)]
    pub(super) fn for_each_number(&self, slot: u32, mut report: impl FnMut(u32)) {
        let start = slot as usize * SLOT_BYTES;
        let owner = self.bytes[start..].first_chunk().copied();
        let owner = u32::from_le_bytes(owner.unwrap_or_default());
        if owner & SHARED == 0 {
            report(owner);
        } else {
            let numbers = self.shared.get((owner & !SHARED) as usize);
            numbers
                .into_iter()
                .flatten()
                .for_each(|number| report(*number));
        }
    }
}
