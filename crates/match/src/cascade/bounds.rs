//! What hostile haystacks cost, counted in work and not in time.

use std::collections::BTreeSet;

use weir_simd::for_each_tier;

use super::*;

/// Work of the stages, in units of what a byte costs in the first one, as
/// measured: a candidate costs as much as 25 bytes, each eight entries that it
/// is compared with 12, a pattern that is compared 20.
fn work_per_byte(engine: &Database, haystacks: &[Vec<u8>]) -> f64 {
    let texts: Vec<Haystack<'_>> = haystacks
        .iter()
        .map(|bytes| Haystack::whole(bytes))
        .collect();
    let mut hits = Hits::default();
    engine.scan(&texts, &mut hits);
    let done = hits.statistics();
    let bytes: usize = haystacks.iter().map(Vec::len).sum();
    let later = 25.0 * done.candidates as f64
        + 12.0 / 8.0 * done.entries as f64
        + 20.0 * done.survivors as f64;
    1.0 + (done.passed as f64 + later) / bytes as f64
}

/// Words of syllables, the beginnings of which are much alike.
struct Words(u64);

impl Words {
    /// The next number of SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn roll(&mut self, sides: u64) -> usize {
        (self.next() % sides) as usize
    }

    fn word(&mut self) -> String {
        const SYLLABLES: [&str; 24] = [
            "ad", "ba", "con", "da", "de", "er", "fi", "get", "in", "is", "la", "le", "mo", "na",
            "on", "per", "re", "set", "so", "ta", "ti", "user", "ver", "win",
        ];
        let syllables = 1 + self.roll(4);
        (0..syllables).map(|_| SYLLABLES[self.roll(24)]).collect()
    }

    /// Paths, parameters, and 500 patterns that share their first 21 bytes.
    fn patterns(&mut self) -> Vec<Pattern> {
        let mut patterns = BTreeSet::new();
        while patterns.len() < 3000 {
            let (one, other) = (self.word(), self.word());
            let bytes = match patterns.len() % 6 {
                0 => format!("GET /index.php?action={one}{other}"),
                1 | 2 => format!("/{one}/{other}.php"),
                3 => format!("{one}={other}&"),
                4 => format!("{one} {other} {}", self.word()),
                _ => format!("{}{one}\r\n{other}: ", self.word()),
            };
            patterns.insert(Pattern::exact(bytes));
        }
        patterns.into_iter().collect()
    }

    fn haystack(&mut self) -> Vec<u8> {
        let mut text = String::new();
        while text.len() < 1400 {
            text += &self.word();
            text += [" ", "/", "=", ".", "\r\n", " the ", "0.1", "&"][self.roll(8)];
        }
        text.into_bytes()
    }
}

/// The bounds that the module tells: a byte of haystacks that hold the beginnings
/// of all patterns, or runs, costs at most eight times what a byte of usual ones
/// does; of one that repeats the beginning which costs most, sixteen times.
#[test]
fn a_hostile_byte_costs_at_most_eight_usual_ones() {
    const MOST: f64 = 8.0;
    const MOST_OF_ONE: f64 = 16.0;
    let mut words = Words(8);
    let patterns = words.patterns();
    let usual: Vec<Vec<u8>> = (0..40).map(|_| words.haystack()).collect();
    let without_last = |pattern: &Pattern| pattern.bytes()[..pattern.bytes().len() - 1].to_vec();
    let prefixes: Vec<u8> = patterns.iter().flat_map(without_last).collect();
    let in_packets = |bytes: &[u8]| bytes.chunks(1400).map(<[u8]>::to_vec).collect::<Vec<_>>();
    for_each_tier(|tier| {
        for patterns in [&patterns[..], &patterns[..400]] {
            let engine =
                Database::with_profile(patterns, Profile::typical(), tier).expect("few patterns");
            let work = |haystacks: &[Vec<u8>]| work_per_byte(&engine, haystacks);
            let usual = work(&usual);
            for (name, haystacks) in [
                ("prefixes", in_packets(&prefixes)),
                ("zeros", vec![vec![0; 1400]; 20]),
                ("spaces", vec![vec![b' '; 1400]; 20]),
            ] {
                let hostile = work(&haystacks);
                assert!(
                    hostile <= MOST * usual,
                    "{name}, {tier}: {hostile} by {usual}"
                );
            }
            let one_by_one = patterns.iter().step_by(11).map(|pattern| {
                let prefix = without_last(pattern).repeat(1400 / pattern.bytes().len());
                work(&[prefix])
            });
            let most = one_by_one.fold(0.0, f64::max);
            assert!(
                most <= MOST_OF_ONE * usual,
                "one prefix, {tier}: {most} by {usual}"
            );
        }
    });
}
