//! Which patterns share a set of byte classes, and at which window.
//!
//! A set lets through what has one of its classes at each of the eight
//! positions; by the profile, and as if positions were independent,
//!
//! ```text
//!  traffic that passes a set = Π over positions of the share of its classes
//! ```
//!
//! Each pattern takes the window and the set whose traffic grows least by it.
//! Short patterns, which leave positions open, choose first; when all have
//! chosen, each chooses once more among the choices of the others.

use super::buckets::Entry;
use super::classes::{BEFORE, CLASSES, Set, WINDOW_BYTES, class_of};
use super::gram::{Grams, folded};
use super::plan::by_length;
use super::profile::{BITS, LOG2_FOUR, Profile};
use super::units::Unit;

/// A window is looked for among so many first bytes of a pattern, or behind
/// them where they are a run of one byte.
const MOST_PLACES: usize = 256;
/// Price of a class that a set did not have, beside its traffic.
const PRICE_OF_CLASS: f64 = 0.0005;
/// Price of a candidate's later stages, in units of places that pass.
const PRICE_OF_VISIT: f64 = 0.2;

/// Where each unit has its window, and which set it shares.
pub(super) struct ClassPlan {
    /// In the order of the units.
    pub(super) choices: Vec<Choice>,
    /// Places per byte that would pass, by the profile.
    pub(super) expected_rate: f64,
}

/// Makes the plan for units of five bytes and more that are not one byte
/// repeated, with `eights` times eight sets.
pub(super) fn plan(units: &[&Unit], eights: usize, profile: &Profile) -> ClassPlan {
    let mut planner = Planner {
        shares: profile.class_shares(),
        grams: gram_shares(profile),
        sets: vec![SetCount::default(); eights * 8],
    };
    let order = by_length(units);
    let mut choices = vec![Choice::default(); units.len()];
    for index in &order {
        choices[*index] = planner.choose(units[*index]);
    }
    for index in &order {
        planner.leave(units[*index], choices[*index]);
        choices[*index] = planner.choose(units[*index]);
    }
    ClassPlan {
        choices,
        expected_rate: planner.sets.iter().map(SetCount::passing).sum(),
    }
}

/// The sets, and the entries behind them, of units that have these windows.
pub(super) fn enter(units: &[&Unit], choices: &[Choice], eights: usize) -> (Vec<Set>, Vec<Entry>) {
    let mut sets = vec![Set::default(); eights];
    let mut entries = Vec::with_capacity(units.len());
    for index in by_length(units) {
        let (unit, choice) = (units[index], choices[index]);
        let (set, place) = (usize::from(choice.set), usize::from(choice.place));
        let window = window(unit, place);
        for (position, classes) in sets[set / 8].iter_mut().zip(window) {
            for class in classes_of(classes) {
                position.0[class] |= 1 << (set % 8);
            }
        }
        let hash = Grams::Four.hash(&unit.pattern.bytes()[place..]);
        entries.push(Entry::new(hash, unit, place));
    }
    (sets, entries)
}

/// Whether a pattern may have its window at `place`.
pub(super) fn is_window(folded: &[u8], place: usize) -> bool {
    Grams::Four.places(folded.len()).contains(&place) && Grams::Four.may_hold_window(folded, place)
}

/// For each word of the profile's histogram the share of traffic whose gram it
/// counts.
fn gram_shares(profile: &Profile) -> Vec<f64> {
    let counts = profile.counts(Grams::Four, LOG2_FOUR);
    let bytes = (profile.payload_bytes() as f64).max(1.0);
    let share = |bits: &[u32]| {
        bits[16..]
            .iter()
            .map(|count| f64::from(*count))
            .sum::<f64>()
    };
    (counts.chunks_exact(BITS))
        .map(|bits| share(bits) / bytes)
        .collect()
}

/// Where a pattern is entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) set: u8,
    /// Of its gram, two bytes into the window.
    pub(super) place: u16,
}

struct Planner {
    shares: [f64; CLASSES],
    grams: Vec<f64>,
    sets: Vec<SetCount>,
}

/// Patterns of a set.
#[derive(Clone)]
struct SetCount {
    /// How many have each class at each position.
    owners: [[u32; CLASSES]; WINDOW_BYTES],
    /// Share of traffic that has one of these classes.
    shares: [f64; WINDOW_BYTES],
}

impl Default for SetCount {
    fn default() -> SetCount {
        SetCount {
            owners: [[0; CLASSES]; WINDOW_BYTES],
            shares: [0.0; WINDOW_BYTES],
        }
    }
}

impl SetCount {
    fn passing(&self) -> f64 {
        self.shares.iter().product()
    }
}

impl Planner {
    /// Enters a unit where it costs least.
    fn choose(&mut self, unit: &Unit) -> Choice {
        let folded = folded(unit.pattern.bytes());
        let (mut best, mut least) = (Choice::default(), f64::INFINITY);
        for place in Grams::Four.places(folded.len()) {
            if place >= MOST_PLACES && least < f64::INFINITY {
                break;
            }
            if !is_window(&folded, place) {
                continue;
            }
            let window = window(unit, place);
            let word = Grams::Four.hash(&folded[place..]) >> (32 - LOG2_FOUR);
            let visits = PRICE_OF_VISIT * self.grams[word as usize];
            for (number, set) in self.sets.iter().enumerate() {
                let price = self.price(set, &window) + visits;
                if price < least {
                    let choice = Choice {
                        set: number as u8,
                        place: place as u16,
                    };
                    (best, least) = (choice, price);
                }
            }
        }
        self.update(unit, best, 1);
        best
    }

    fn leave(&mut self, unit: &Unit, choice: Choice) {
        self.update(unit, choice, -1);
    }

    /// Traffic that passes a set more when it has a window's classes, too.
    fn price(&self, set: &SetCount, window: &[u64; WINDOW_BYTES]) -> f64 {
        let mut grown = 1.0;
        for ((classes, owners), share) in window.iter().zip(&set.owners).zip(&set.shares) {
            let mut share = *share;
            for class in classes_of(*classes) {
                if owners[class] == 0 {
                    share += self.shares[class] + PRICE_OF_CLASS;
                }
            }
            grown *= share;
        }
        grown - set.passing()
    }

    fn update(&mut self, unit: &Unit, choice: Choice, more: i32) {
        let set = &mut self.sets[usize::from(choice.set)];
        let window = window(unit, choice.place.into());
        for ((classes, owners), share) in window.iter().zip(&mut set.owners).zip(&mut set.shares) {
            for class in classes_of(*classes) {
                owners[class] = owners[class].wrapping_add_signed(more);
            }
            let owned = owners
                .iter()
                .zip(&self.shares)
                .filter(|(owners, _)| **owners > 0);
            *share = owned.map(|(_, share)| share).sum();
        }
    }
}

/// For each position of the window whose gram is at `place`, a bit for every
/// class that a text with the pattern may have there.
fn window(unit: &Unit, place: usize) -> [u64; WINDOW_BYTES] {
    std::array::from_fn(|index| {
        let at = (place + index).checked_sub(BEFORE);
        let Some(byte) = at.and_then(|at| unit.pattern.bytes().get(at)) else {
            return u64::MAX;
        };
        let mut classes = 1 << class_of(*byte);
        if unit.pattern.is_nocase() {
            classes |= 1 << class_of(byte.to_ascii_uppercase());
        }
        classes
    })
}

/// The bits that are set.
fn classes_of(mut classes: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let class = classes.trailing_zeros() as usize;
        classes &= classes.wrapping_sub(1);
        (class < CLASSES).then_some(class)
    })
}
