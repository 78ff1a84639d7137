//! The plan: at which of its grams each pattern is looked for.
//!
//! Every window that a pattern has would do. The plan takes the one that
//! traffic meets least. A text passes the filter at a gram if both bits that
//! its neighbours choose are set; so what a pattern adds to a word is
//!
//! ```text
//!  traffic that passes = (Σ traffic of set low bits) · (Σ traffic of set high bits) / traffic of the word
//! ```
//!
//! as if neighbours were independent, and nothing where the bits are set
//! already. Of two-byte grams a text asks for one of the bits, and the sums are
//! added. Short patterns have few windows and choose first; when all have
//! chosen, each chooses once more among the choices of the others.

use super::buckets::{Entry, GROUP};
use super::gram::Grams;
use super::marks::{Mark, Marked};
use super::profile::{BITS, Profile};
use super::units::Unit;

/// A window is looked for among so many first bytes of a pattern, or behind
/// them where they are a run of one byte.
const MOST_PLACES: usize = 4096;

/// Price of a bit that traffic has never asked for, in units of looks.
const PRICE_OF_BIT: f64 = 0.05;
/// Share of a gram's own traffic that is counted where its bits are set
/// already: it will visit the bucket.
const PRICE_OF_VISIT: f64 = 0.1;
/// Price of each entry that a bucket has.
const PRICE_OF_ENTRY: f64 = 0.02;

/// Where each unit has its window.
pub(super) struct Plan {
    /// In the order of the units.
    pub(super) places: Vec<u16>,
    /// Looks of the profile's traffic that would pass the filter, by its bytes.
    pub(super) expected_rate: f64,
}

/// Makes the plan for units that are long enough for a window.
pub(super) fn plan(
    grams: Grams,
    units: &[&Unit],
    (log2_words, log2_heads): (u32, u32),
    profile: &Profile,
) -> Plan {
    let mut order: Vec<Candidate> = units.iter().map(|unit| Candidate::new(unit)).collect();
    let by_length = by_length(units);
    let mut planner = Planner::new(grams, log2_words, log2_heads, profile);
    for index in &by_length {
        let candidate = &mut order[*index];
        candidate.place = planner.best(&candidate.marked());
        planner.update(&candidate.marked(), candidate.place, true);
    }
    for index in &by_length {
        let candidate = &mut order[*index];
        planner.update(&candidate.marked(), candidate.place, false);
        candidate.place = planner.best(&candidate.marked());
        planner.update(&candidate.marked(), candidate.place, true);
    }
    Plan {
        places: order
            .iter()
            .map(|candidate| candidate.place as u16)
            .collect(),
        expected_rate: planner.passing() / (profile.payload_bytes() as f64).max(1.0),
    }
}

/// Indices of units, the shortest first.
pub(super) fn by_length(units: &[&Unit]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..units.len()).collect();
    order.sort_by_key(|index| units[*index].pattern.bytes().len());
    order
}

/// The first stage's words and the entries behind them, of units that have their
/// windows at `places`.
pub(super) fn enter(
    grams: Grams,
    units: &[&Unit],
    places: &[u16],
    log2_words: u32,
) -> (Vec<u32>, Vec<Entry>) {
    let mut words = vec![0; 1 << log2_words];
    let mut entries = Vec::with_capacity(units.len() * grams.step());
    for index in by_length(units) {
        let unit = units[index];
        let candidate = Candidate::new(unit);
        let mark = |mark: Mark| {
            words[(mark.hash >> (32 - log2_words)) as usize] |= mark.bits;
            let entry = mark.entry.map(|place| Entry::new(mark.hash, unit, place));
            entries.extend(entry);
        };
        candidate
            .marked()
            .for_each(grams, places[index].into(), mark);
    }
    (words, entries)
}

/// Whether a pattern may have its window at `place`.
pub(super) fn is_window(grams: Grams, folded: &[u8], place: usize) -> bool {
    let places = (folded.len() + 2).saturating_sub(grams.bytes() + grams.step());
    // A short pattern's window lies at its start, or has a third byte.
    let is_useless = grams == Grams::Two && place > 0 && place + 2 >= folded.len();
    let may_hold = |step| grams.may_hold_window(folded, place + step);
    place < places && !is_useless && (0..grams.step()).all(may_hold)
}

/// A pattern that has its window at `place`.
struct Candidate<'a> {
    unit: &'a Unit,
    folded: Vec<u8>,
    place: usize,
}

impl Candidate<'_> {
    fn new<'a>(unit: &'a Unit) -> Candidate<'a> {
        Candidate {
            unit,
            folded: super::gram::folded(unit.pattern.bytes()),
            place: 0,
        }
    }

    fn marked(&self) -> Marked<'_> {
        Marked {
            bytes: self.unit.pattern.bytes(),
            folded: &self.folded,
            is_nocase: self.unit.pattern.is_nocase(),
        }
    }
}

/// What was entered so far.
struct Planner {
    grams: Grams,
    word_shift: u32,
    head_shift: u32,
    /// How often traffic asks for each bit of each word.
    traffic: Vec<u32>,
    /// Patterns that set a bit.
    owners: Vec<u16>,
    words: Vec<Word>,
    /// Entries in each bucket.
    loads: Vec<u32>,
}

/// Traffic of one word.
#[derive(Clone, Copy, Default)]
struct Word {
    total: f64,
    /// Of the bits that are set: those that the byte before chooses, and those
    /// that the byte behind chooses.
    before: f64,
    behind: f64,
}

impl Word {
    /// Looks that pass.
    fn passing(&self, grams: Grams) -> f64 {
        match grams {
            Grams::Four => self.before * self.behind / self.total.max(1.0),
            // Every place looks at one side of a word, every second at either.
            Grams::Two => (self.before + self.behind) / 2.0,
        }
    }

    fn side_of(&mut self, bit: usize) -> &mut f64 {
        if bit < 16 {
            &mut self.before
        } else {
            &mut self.behind
        }
    }
}

impl Planner {
    fn new(grams: Grams, log2_words: u32, log2_heads: u32, profile: &Profile) -> Planner {
        let traffic = profile.counts(grams, log2_words);
        let total = |bits: &[u32]| {
            // Every look asks for one bit behind it.
            bits[16..].iter().map(|count| f64::from(*count)).sum()
        };
        Planner {
            grams,
            word_shift: 32 - log2_words,
            head_shift: 32 - log2_heads,
            words: (traffic.chunks_exact(BITS))
                .map(|bits| Word {
                    total: total(bits),
                    ..Word::default()
                })
                .collect(),
            owners: vec![0; traffic.len()],
            traffic,
            loads: vec![0; 1 << log2_heads],
        }
    }

    /// The place of the cheapest window.
    fn best(&self, pattern: &Marked<'_>) -> usize {
        let (grams, folded) = (self.grams, pattern.folded);
        let (mut best, mut least) = (0, f64::INFINITY);
        let places = (folded.len() + 2).saturating_sub(grams.bytes() + grams.step());
        for place in 0..places {
            if place >= MOST_PLACES && least < f64::INFINITY {
                break;
            }
            if !is_window(grams, folded, place) {
                continue;
            }
            let mut price = 0.0;
            pattern.for_each(grams, place, |mark| price += self.price(mark));
            if price < least {
                (best, least) = (place, price);
            }
        }
        best
    }

    /// What it costs to enter a mark.
    fn price(&self, mark: Mark) -> f64 {
        let grams = self.grams;
        let index = (mark.hash >> self.word_shift) as usize;
        let word = self.words[index];
        let traffic = &self.traffic[index * BITS..][..BITS];
        let owners = &self.owners[index * BITS..][..BITS];

        let (mut more, mut own) = (
            word,
            Word {
                before: 0.0,
                behind: 0.0,
                ..word
            },
        );
        let mut price = 0.0;
        let mut bits = mark.bits;
        while bits != 0 {
            let bit = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let looks = f64::from(traffic[bit]);
            *own.side_of(bit) += looks;
            if owners[bit] == 0 {
                *more.side_of(bit) += looks;
                price += PRICE_OF_BIT;
            }
        }
        price += more.passing(grams) - word.passing(grams);
        if mark.entry.is_none() {
            return price;
        }
        let load = self.loads[(mark.hash >> self.head_shift) as usize];
        let visits = own.passing(grams);
        price += PRICE_OF_VISIT * visits + PRICE_OF_ENTRY * f64::from(load);
        if load as usize >= GROUP {
            price += f64::from(load) + visits / GROUP as f64;
        }
        price
    }

    /// Enters a pattern at its window, or takes it out again.
    fn update(&mut self, pattern: &Marked<'_>, place: usize, enters: bool) {
        pattern.for_each(self.grams, place, |mark| {
            if mark.entry.is_some() {
                let load = &mut self.loads[(mark.hash >> self.head_shift) as usize];
                *load = if enters { *load + 1 } else { *load - 1 };
            }
            let index = (mark.hash >> self.word_shift) as usize;
            let mut bits = mark.bits;
            while bits != 0 {
                let bit = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let owners = &mut self.owners[index * BITS + bit];
                let was_set = *owners > 0;
                *owners = match (enters, *owners) {
                    // Nobody knows how many there are: the bit stays.
                    (_, u16::MAX) => u16::MAX,
                    (true, count) => count + 1,
                    (false, count) => count - 1,
                };
                let is_set = *owners > 0;
                let looks = f64::from(self.traffic[index * BITS + bit]);
                let side = self.words[index].side_of(bit);
                match (was_set, is_set) {
                    (false, true) => *side += looks,
                    (true, false) => *side -= looks,
                    _ => {}
                }
            }
        });
    }

    fn passing(&self) -> f64 {
        self.words.iter().map(|word| word.passing(self.grams)).sum()
    }
}
