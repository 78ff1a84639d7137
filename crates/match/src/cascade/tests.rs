use proptest::prelude::*;
use weir_guard::{Side, guarded};
use weir_simd::for_each_tier;

use super::classes::{self, Classes};
use super::filter::{self, Filter};
use super::gram::Grams;
use super::table::Sieve;
use super::*;
use crate::Hit;

/// Small numbers from one seed (Marsaglia's xorshift): texts and patterns that
/// are much alike need no better ones.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % sides
    }

    /// Bytes of one of several alphabets, with runs.
    fn bytes(&mut self, alphabet: usize, length: usize) -> Vec<u8> {
        const ALPHABETS: [&[u8]; 5] = [
            b"aAbB",
            b"ab\0 @`",
            b"\0\x01\xff \r\n",
            b"abcdefghijABCDEFGHIJ",
            b"\0\0\0\0\0\x20 aA@`[",
        ];
        let alphabet = ALPHABETS[alphabet];
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            let byte = alphabet[self.roll(alphabet.len())];
            let run = match (self.roll(4), self.roll(8)) {
                (0, 0) => 1 + self.roll(200),
                (0, _) => 1 + self.roll(8),
                _ => 1,
            };
            bytes.extend(std::iter::repeat_n(byte, run.min(length - bytes.len())));
        }
        bytes
    }
}

/// The definition of what an engine reports.
fn expected(patterns: &[Pattern], texts: &[Haystack<'_>]) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (haystack, text) in (0u32..).zip(texts) {
        for (number, pattern) in (0u32..).zip(patterns) {
            // What ends behind the carried bytes lies behind this place.
            let from = (text.carried() + 1).saturating_sub(pattern.bytes().len());
            if pattern.occurs_in(text.bytes().get(from..).unwrap_or_default()) {
                hits.push(Hit {
                    haystack,
                    pattern: number,
                });
            }
        }
    }
    hits
}

fn found(engine: &dyn Engine, texts: &[Haystack<'_>], hits: &mut Hits) -> Vec<Hit> {
    engine.scan(texts, hits);
    let mut found = hits.in_order().to_vec();
    assert!(found.is_sorted_by_key(|hit| hit.haystack));
    found.sort_unstable();
    found
}

/// Patterns and haystacks that are much alike, with patterns planted, whole and
/// carried, under every tier.
fn check(seed: u64) {
    let mut dice = Dice(seed | 1);
    for _ in 0..8 {
        dice.roll(2);
    }
    let alphabet = dice.roll(5);
    let most = if dice.roll(2) == 0 { 20 } else { 300 };
    let least = if dice.roll(2) == 0 { 1 } else { 5 };
    let patterns: Vec<Pattern> = (0..1 + dice.roll(most))
        .map(|_| {
            let most = if dice.roll(6) == 0 { 90 } else { 9 };
            let length = least + dice.roll(most);
            let bytes = dice.bytes(alphabet, length);
            match dice.roll(2) {
                0 => Pattern::exact(bytes),
                _ => Pattern::nocase(bytes),
            }
        })
        .collect();
    let mut haystacks: Vec<(Vec<u8>, usize)> = (0..24)
        .map(|_| {
            let length = match dice.roll(12) {
                0 => dice.roll(1500),
                1 => 0,
                _ => dice.roll(150),
            };
            let mut haystack = dice.bytes(alphabet, length);
            for _ in 0..dice.roll(5) {
                let planted = patterns[dice.roll(patterns.len())].bytes();
                if planted.len() <= length {
                    let at = dice.roll(length - planted.len() + 1);
                    haystack[at..at + planted.len()].copy_from_slice(planted);
                }
            }
            let carried = if dice.roll(2) == 0 {
                0
            } else {
                dice.roll(length + 1)
            };
            (haystack, carried)
        })
        .collect();
    if seed.is_multiple_of(16) {
        // Longer than two spans, with a pattern across each of their ends.
        let mut long = dice.bytes(alphabet, 2 * SPAN_BYTES + 100);
        for end in [SPAN_BYTES, 2 * SPAN_BYTES] {
            let planted = patterns[dice.roll(patterns.len())].bytes();
            let at = end - dice.roll(planted.len() + 1);
            long[at..at + planted.len()].copy_from_slice(planted);
        }
        haystacks.push((long, dice.roll(100)));
    }
    let texts: Vec<Haystack<'_>> = haystacks
        .iter()
        .map(|(bytes, carried)| Haystack::continued(bytes, *carried))
        .collect();
    let expected = expected(&patterns, &texts);
    let mut profile = Profile::new();
    if dice.roll(2) == 0 {
        profile.add(&dice.bytes(alphabet, 2000));
    }
    let mut hits = Hits::default();
    for_each_tier(|tier| {
        let has_sets = dice.roll(2) == 0;
        let engine =
            Database::with_sets(&patterns, &profile, tier, has_sets).expect("few patterns");
        assert_eq!(
            found(&engine, &texts, &mut hits),
            expected,
            "{tier}, seed {seed}, sets: {has_sets}"
        );
        let mut one_by_one = Vec::new();
        for (haystack, text) in (0u32..).zip(&texts) {
            let hits = found(&engine, &[*text], &mut hits);
            one_by_one.extend(hits.iter().map(|hit| Hit { haystack, ..*hit }));
        }
        assert_eq!(one_by_one, expected, "{tier}, one by one, seed {seed}");
    });
}

#[test]
fn hits_are_those_of_a_plain_search() {
    for seed in 0..160 {
        check(seed);
    }
}

/// Haystacks, patterns and tables between unmapped pages: an access beyond one ends the
/// program.
#[test]
fn a_search_keeps_within_its_buffers() {
    for side in Side::ALL {
        for seed in 160..184 {
            guarded(side, || check(seed));
        }
    }
}

proptest! {
    #[test]
    fn hits_are_those_of_a_plain_search_for_other_seeds(seed: u64) {
        check(seed);
    }
}

/// Every kernel of the first stage reports the places and runs of its scalar reference.
#[test]
fn kernels_equal_the_scalar_reference() {
    for seed in 0..200 {
        let mut dice = Dice(seed * 2 + 1);
        let alphabet = dice.roll(5);
        let lengths = [
            0,
            1,
            2,
            3,
            4,
            5,
            63,
            64,
            65,
            66,
            67,
            68,
            128,
            131,
            1000,
            SPAN_BYTES + 70,
        ];
        let length = lengths[seed as usize % lengths.len()] + dice.roll(3);
        let text = dice.bytes(alphabet, length);
        let carried = dice.roll(length + 1);
        for grams in [Grams::Four, Grams::Two] {
            let words = (0..1 << 13).map(|_| (dice.roll(1 << 32) | dice.roll(1 << 32)) as u32);
            let filter = Sieve::Filter(Filter::new(grams, words.collect()));
            check_kernels(&filter, &text, carried, &format!("{grams:?}, seed {seed}"));
        }
        for eights in 1..=3 {
            let mut eight = || -> classes::Set {
                std::array::from_fn(|_| {
                    weir_simd::Lanes(std::array::from_fn(|_| {
                        (dice.roll(1 << 8) | dice.roll(1 << 8) | dice.roll(1 << 8)) as u8
                    }))
                })
            };
            let classes = Sieve::Classes(Classes {
                eights: (0..eights).map(|_| eight()).collect(),
                notes_runs: seed % 2 == 0,
            });
            check_kernels(
                &classes,
                &text,
                carried,
                &format!("{eights} eights, seed {seed}"),
            );
        }
    }
}

fn check_kernels(sieve: &Sieve, text: &[u8], carried: usize, context: &str) {
    for side in Side::ALL {
        let text = guarded(side, || text.to_vec());
        check_kernels_in(sieve, &text, carried, context);
    }
}

fn check_kernels_in(sieve: &Sieve, text: &[u8], carried: usize, context: &str) {
    for from in (0..text.len()).step_by(SPAN_BYTES) {
        let mut scalar = filter::Passed::new(0);
        match sieve {
            Sieve::Filter(filter) => filter.look_scalar(text, from, carried, &mut scalar),
            Sieve::Classes(classes) => classes.look_scalar(text, from, &mut scalar),
        }
        for_each_tier(|tier| {
            let mut passed = filter::Passed::new(0);
            sieve.look(tier, text, from, carried, &mut passed);
            let context = format!("{tier}, {context}, from {from}, {} bytes", text.len());
            assert_eq!(passed.places(), scalar.places(), "{context}");
            assert_eq!(passed.runs(), scalar.runs(), "{context}");
        });
    }
}

/// Thousands of patterns that share all their grams: a bucket of any size
/// works, and so does one whose survivors are more than fit at once.
#[test]
fn buckets_may_be_of_any_size() {
    let patterns: Vec<Pattern> = (5..905)
        .flat_map(|length| {
            let bytes: Vec<u8> = b"xy".iter().copied().cycle().take(length).collect();
            [Pattern::exact(bytes.clone()), Pattern::nocase(bytes)]
        })
        .collect();
    let text: Vec<u8> = b"xyxyxyXy".iter().copied().cycle().take(700).collect();
    let mut pure = b"xy".repeat(350);
    pure.push(b'z');
    let texts = [
        Haystack::whole(&text),
        Haystack::whole(&pure),
        Haystack::continued(&pure, 650),
    ];
    let expected = expected(&patterns, &texts);
    for_each_tier(|tier| {
        let engine =
            Database::with_profile(&patterns, &Profile::new(), tier).expect("few patterns");
        assert!(engine.explanation().tables[0].largest_bucket > 255);
        assert_eq!(
            found(&engine, &texts, &mut Hits::default()),
            expected,
            "{tier}"
        );
    });
}

/// One working memory serves many engines, as when patterns are replaced.
#[test]
fn engines_may_take_turns() {
    let mut hits = Hits::default();
    let text = [Haystack::whole(b"one two AAAAAAAA three")];
    for round in 0..3 {
        for patterns in [
            vec![Pattern::exact("one"), Pattern::nocase("aaaaaa")],
            vec![
                Pattern::exact("aaaaaa"),
                Pattern::exact("three"),
                Pattern::exact("w"),
            ],
        ] {
            let engine =
                Database::with_profile(&patterns, &Profile::new(), weir_simd::tier()).expect("few");
            for _ in 0..2 {
                let found = found(&engine, &text, &mut hits);
                assert_eq!(found, expected(&patterns, &text), "round {round}");
            }
        }
    }
}

#[test]
fn patterns_that_no_engine_takes_are_refused() {
    let long = [Pattern::exact("a"), Pattern::exact(vec![7; 65_536])];
    let error = Database::with_profile(&long, &Profile::new(), Tier::Scalar).expect_err("too long");
    assert_eq!(
        error.to_string(),
        "pattern 1 has 65536 bytes: use at most 65535"
    );
    let none = Database::with_profile(&[Pattern::exact("")], &Profile::new(), weir_simd::tier())
        .expect("none");
    assert!(found(&none, &[Haystack::whole(b"text")], &mut Hits::default()).is_empty());
}
