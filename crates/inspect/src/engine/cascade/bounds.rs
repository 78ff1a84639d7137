//! What hostile payloads cost, counted in work and not in time.

use std::collections::BTreeSet;

use weir_simd::for_each_tier;

use super::*;

/// Work of the stages, in units of what a byte costs in the first one, as
/// measured: a candidate costs as much as 25 bytes, each eight entries that it
/// is compared with 12, a content that is compared 20.
fn work_per_byte(engine: &Cascade, needles: &[Needle], payloads: &[Vec<u8>]) -> f64 {
    let texts: Vec<Text<'_>> = payloads.iter().map(|bytes| Text::whole(bytes)).collect();
    let mut hits = Hits::default();
    hits.start(texts.len(), needles.len());
    engine.scan(&texts, &mut hits);
    let done = hits.cascade_statistics();
    let bytes: usize = payloads.iter().map(Vec::len).sum();
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

    /// Paths, parameters, and 500 contents that share their first 21 bytes.
    fn contents(&mut self) -> Vec<Needle> {
        let mut contents = BTreeSet::new();
        while contents.len() < 3000 {
            let (one, other) = (self.word(), self.word());
            let bytes = match contents.len() % 6 {
                0 => format!("GET /index.php?action={one}{other}"),
                1 | 2 => format!("/{one}/{other}.php"),
                3 => format!("{one}={other}&"),
                4 => format!("{one} {other} {}", self.word()),
                _ => format!("{}{one}\r\n{other}: ", self.word()),
            };
            contents.insert(Needle::exact(bytes));
        }
        contents.into_iter().collect()
    }

    fn payload(&mut self) -> Vec<u8> {
        let mut text = String::new();
        while text.len() < 1400 {
            text += &self.word();
            text += [" ", "/", "=", ".", "\r\n", " the ", "0.1", "&"][self.roll(8)];
        }
        text.into_bytes()
    }
}

/// The bounds that the module tells: a byte of payloads that hold the beginnings
/// of all contents, or runs, costs at most eight times what a byte of usual ones
/// does; of one that repeats the beginning which costs most, sixteen times.
#[test]
fn a_hostile_byte_costs_at_most_eight_usual_ones() {
    const MOST: f64 = 8.0;
    const MOST_OF_ONE: f64 = 16.0;
    let mut words = Words(8);
    let contents = words.contents();
    let usual: Vec<Vec<u8>> = (0..40).map(|_| words.payload()).collect();
    let without_last = |needle: &Needle| needle.bytes()[..needle.bytes().len() - 1].to_vec();
    let prefixes: Vec<u8> = contents.iter().flat_map(without_last).collect();
    let in_packets = |bytes: &[u8]| bytes.chunks(1400).map(<[u8]>::to_vec).collect::<Vec<_>>();
    for_each_tier(|tier| {
        for needles in [&contents[..], &contents[..400]] {
            let engine = Cascade::new(needles, Profile::typical(), tier).expect("few contents");
            let work = |payloads: &[Vec<u8>]| work_per_byte(&engine, needles, payloads);
            let usual = work(&usual);
            for (name, payloads) in [
                ("prefixes", in_packets(&prefixes)),
                ("zeros", vec![vec![0; 1400]; 20]),
                ("spaces", vec![vec![b' '; 1400]; 20]),
            ] {
                let hostile = work(&payloads);
                assert!(
                    hostile <= MOST * usual,
                    "{name}, {tier}: {hostile} by {usual}"
                );
            }
            let one_by_one = needles.iter().step_by(11).map(|needle| {
                let prefix = without_last(needle).repeat(1400 / needle.bytes().len());
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
