//! The modelled filter beside `weir-hash`, and beside the segmented engine of
//! `weir-match`.

use std::collections::BTreeSet;

use weir_hash::bloom::{Segmented as Filter, Sizing};
use weir_hash::string::{StringFamily, Tabulation};
use weir_hash::{Seed, SeedStream};
use weir_lab::shared::random::Random;
use weir_lab::stream_processor::applications::inspect::programs::pipeline;
use weir_lab::stream_processor::applications::inspect::{
    FILTER_WORDS, Family, Functions, LENGTHS, SHORTEST,
};
use weir_match::{Engine, Haystack, Hits, Pattern, Segmented};

use crate::capture::packets;

const CLUSTERS: usize = 8;
/// Processors, each with a filter for four lengths.
const PROCESSORS: usize = 4;
const LONGEST: usize = SHORTEST + LENGTHS * PROCESSORS - 1;
/// Bits of a segment. The modelled filter takes a hash's low bits, the product's
/// its high ones.
const SEGMENT_BITS: u32 = 32 * FILTER_WORDS;
const PLACE_BITS: u32 = SEGMENT_BITS.ilog2();

/// Payloads of the example capture, and patterns of which a part occurs in them.
fn traffic() -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let mut random = Random::new(17);
    let mut payloads: Vec<Vec<u8>> = packets().into_iter().map(|it| it.payload).collect();
    payloads.retain(|payload| payload.len() >= LONGEST);
    payloads.sort_unstable();
    payloads.dedup();
    assert!(payloads.len() > 100, "{}", payloads.len());
    let payloads: Vec<Vec<u8>> = payloads.into_iter().step_by(5).take(40).collect();
    let mut patterns = BTreeSet::new();
    for number in 0..600 {
        let length = SHORTEST + random.below(LONGEST - SHORTEST + 1);
        let payload = &payloads[random.below(payloads.len())];
        let at = random.below(payload.len() - length + 1);
        let mut pattern = payload[at..at + length].to_vec();
        if number % 2 == 1 {
            pattern[random.below(length)] ^= 1 + random.below(255) as u8;
        }
        patterns.insert(pattern);
    }
    (payloads, patterns.into_iter().collect())
}

/// Shift-add-xor as figure 3.1 of the thesis has it: shifts by 6 and 2, and no mixing
/// at the end.
struct ThesisShiftAddXor(Vec<u32>);

impl StringFamily for ThesisShiftAddXor {
    const NAME: &'static str = "shift-add-xor of the thesis";

    fn draw(functions: usize, _: usize, seed: Seed) -> Self {
        let mut stream = SeedStream::new(seed);
        ThesisShiftAddXor(
            (0..functions)
                .map(|_| stream.next_bits(32) as u32)
                .collect(),
        )
    }

    fn functions(&self) -> usize {
        self.0.len()
    }

    fn start(&self, function: usize) -> u32 {
        self.0[function]
    }

    fn append(&self, _: usize, h: u32, _: usize, byte: u8) -> u32 {
        h ^ (h << 6).wrapping_add(h >> 2).wrapping_add(byte.into())
    }

    fn finish(&self, _: usize, state: u32) -> u32 {
        state << (u32::BITS - PLACE_BITS)
    }
}

/// H1 of the number that a string is to the base 512, with the digit 256 for a byte of
/// zero (section 5.3.1).
struct ThesisH1(Vec<[u64; 2]>);

const PRIME: u64 = (1 << 31) - 1;

impl StringFamily for ThesisH1 {
    const NAME: &'static str = "H1 of the thesis";

    fn draw(functions: usize, _: usize, seed: Seed) -> Self {
        let mut stream = SeedStream::new(seed);
        let mut below_prime = || 1 + stream.next_bits(31) % (PRIME - 1);
        ThesisH1(
            (0..functions)
                .map(|_| [below_prime(), below_prime()])
                .collect(),
        )
    }

    fn functions(&self) -> usize {
        self.0.len()
    }

    fn start(&self, _: usize) -> u32 {
        0
    }

    fn append(&self, _: usize, number: u32, _: usize, byte: u8) -> u32 {
        let digit = if byte == 0 { 256 } else { u64::from(byte) };
        ((u64::from(number) * 512 + digit) % PRIME) as u32
    }

    fn finish(&self, function: usize, number: u32) -> u32 {
        let [multiplier, addend] = self.0[function];
        let hash = (multiplier * u64::from(number) + addend) % PRIME;
        (hash as u32) << (u32::BITS - PLACE_BITS)
    }
}

/// What the clusters have for a family of the product: hashes whose low bits are the
/// high ones of the family's.
fn tables(family: &Tabulation) -> Functions {
    let words = (0..LONGEST).flat_map(|place| {
        (0..=u8::MAX).flat_map(move |byte| {
            (0..CLUSTERS).map(move |function| {
                let before = if place == 0 {
                    family.start(function)
                } else {
                    0
                };
                let word = family.append(function, before, place, byte);
                word.rotate_left(PLACE_BITS)
            })
        })
    });
    Functions::tabulation(CLUSTERS, words.collect())
}

/// Where a pattern of which length may begin, by the product's filter over a family.
fn candidates(
    family: &impl StringFamily,
    shortest: usize,
    patterns: &[Vec<u8>],
    payload: &[u8],
) -> Vec<(usize, usize)> {
    let lengths = shortest..shortest + LENGTHS;
    let hashes = |string: &[u8]| -> Vec<u32> {
        let functions = 0..family.functions();
        functions
            .map(|function| family.hash(function, string))
            .collect()
    };
    let mut filter = Filter::new(Sizing {
        bits: SEGMENT_BITS as usize * CLUSTERS,
        functions: CLUSTERS,
        keys: patterns.len(),
    });
    for pattern in patterns.iter().filter(|it| lengths.contains(&it.len())) {
        filter.insert(&hashes(pattern));
    }
    let mut found: Vec<(usize, usize)> = lengths
        .flat_map(|length| payload.windows(length).enumerate())
        .filter(|(_, window)| filter.contains(&hashes(window)))
        .map(|(at, window)| (at, window.len()))
        .collect();
    found.sort_unstable();
    found
}

/// The modelled pipeline of processors has the candidates of the product's filter over
/// the same functions, and those that a comparison confirms are the hits of the
/// product's segmented engine.
fn check(family: &impl StringFamily, modelled: Family, functions: &Functions) {
    let (payloads, patterns) = traffic();
    let stages = pipeline(modelled, functions, PROCESSORS, &patterns, &payloads);
    let stages = stages.expect("programs");
    let mut confirmed = BTreeSet::new();
    let mut refuted = 0;
    for (number, payload) in payloads.iter().enumerate() {
        for stage in &stages {
            let found = stage.matches(number);
            let shortest = stage.design().shortest();
            let expected = candidates(family, shortest, &patterns, payload);
            assert_eq!(
                found, expected,
                "payload {number}, patterns from {shortest} bytes"
            );
            for (at, length) in found {
                match patterns.binary_search_by(|it| it[..].cmp(&payload[at..at + length])) {
                    Ok(pattern) => {
                        confirmed.insert((number as u32, pattern as u32));
                    }
                    Err(_) => refuted += 1,
                }
            }
        }
    }

    let literals: Vec<Pattern> = patterns
        .iter()
        .map(|it| Pattern::exact(it.as_slice()))
        .collect();
    let engine = Segmented::new(&literals).expect("an engine");
    let texts: Vec<Haystack<'_>> = payloads.iter().map(|it| Haystack::whole(it)).collect();
    let mut hits = Hits::default();
    engine.scan(&texts, &mut hits);
    let engine_hits: BTreeSet<(u32, u32)> = hits
        .reported()
        .iter()
        .map(|hit| (hit.haystack, hit.pattern))
        .collect();
    assert_eq!(confirmed, engine_hits);
    assert!(confirmed.len() > 200, "{}", confirmed.len());
    // A filter that lets everything pass would have the same hits.
    let windows: usize = payloads
        .iter()
        .map(|it| LENGTHS * PROCESSORS * it.len())
        .sum();
    assert!(100 * refuted < windows, "{refuted} of {windows}");
}

#[test]
fn the_modelled_filter_with_the_products_tabulation() {
    let family = Tabulation::draw(CLUSTERS, LONGEST, Seed::from_u64(5));
    check(&family, Family::Tabulation, &tables(&family));
}

#[test]
fn the_modelled_filter_with_the_thesiss_shift_add_xor() {
    let family = ThesisShiftAddXor::draw(CLUSTERS, LONGEST, Seed::from_u64(5));
    let functions = Functions::shift_add_xor(family.0.clone());
    check(&family, Family::ShiftAddXor, &functions);
}

#[test]
fn the_modelled_filter_with_the_thesiss_h1() {
    let family = ThesisH1::draw(CLUSTERS, LONGEST, Seed::from_u64(5));
    let parameters = family.0.iter().flatten().map(|&it| it as u32);
    check(&family, Family::H1, &Functions::h1(parameters.collect()));
}
