//! Patterns and packets in place of Snort's rules and the captures of 5.3.1: paths
//! of scripts, lines of protocols, names of files and machine code, made here.

use std::collections::BTreeSet;

use crate::shared::random::Random;
use crate::stream_processor::applications::inspect::{Family, Functions, SHORTEST};

/// Patterns that the thesis found in the rules (5.3.1).
pub(super) const PATTERNS: usize = 2700;
/// Bytes that a pattern is cut to.
pub(super) const CUTOFF: usize = 16;
/// Hash functions, and bits of the filter for each pattern.
const FUNCTIONS: usize = 16;
const BITS_PER_PATTERN: usize = 41;
/// Clusters, and bits of each one's segment of the filter.
const CLUSTERS: usize = 8;
const SEGMENT_BITS: usize = 8192;

/// Distinct patterns, none shorter than the filter's shortest.
pub(super) fn patterns(count: usize) -> BTreeSet<Vec<u8>> {
    let mut random = Random::new(1);
    let mut made = BTreeSet::new();
    while made.len() < count {
        let pattern = fragment(&mut random);
        if pattern.len() >= SHORTEST {
            made.insert(pattern);
        }
    }
    made
}

/// Packets of text with the same words, half of them with one of the patterns.
pub(super) fn packets(count: usize, patterns: &BTreeSet<Vec<u8>>) -> Vec<Vec<u8>> {
    const BYTES: usize = 400;
    let mut random = Random::new(2);
    let patterns: Vec<&Vec<u8>> = patterns.iter().collect();
    (0..count)
        .map(|number| {
            let mut packet = Vec::with_capacity(BYTES + 64);
            while packet.len() < BYTES {
                packet.extend(fragment(&mut random));
                packet.push(b' ');
            }
            if number % 2 == 0 {
                packet.extend(patterns[random.below(patterns.len())]);
            }
            packet
        })
        .collect()
}

/// A piece of what packets and rules are made of.
fn fragment(random: &mut Random) -> Vec<u8> {
    let text = match random.below(8) {
        0 | 1 => format!("/{}/{}{}", folder(random), name(random), ending(random)),
        2 => format!("/{}{}", name(random), ending(random)),
        3 => format!(
            "/{}/{}/{}{}",
            folder(random),
            name(random),
            name(random),
            ending(random)
        ),
        4 => format!("filename=\"{}{}\"", name(random).to_uppercase(), ".EXE"),
        5 => {
            let command = random.one_of("USER", &["PASS", "SITE EXEC", "MAIL FROM:", "Host:"]);
            format!("{command} {}", name(random))
        }
        6 => format!(
            "{}{}=",
            name(random),
            random.one_of("", &["?id", "&file", "?page"])
        ),
        _ => {
            let bytes = 5 + random.below(16);
            return (0..bytes).map(|_| random.number() as u8).collect();
        }
    };
    text.into_bytes()
}

fn folder(random: &mut Random) -> &'static str {
    random.one_of(
        "cgi-bin",
        &["scripts", "admin", "docs", "iisadm", "examples", "_private"],
    )
}

fn ending(random: &mut Random) -> &'static str {
    random.one_of(".cgi", &[".pl", ".asp", ".exe", ".php", ".cfm", ".htr", ""])
}

/// A name of one to four syllables.
fn name(random: &mut Random) -> String {
    (0..1 + random.below(4))
        .map(|_| {
            random.one_of(
                "lo",
                &[
                    "gin", "se", "arch", "pass", "wd", "cmd", "count", "test", "up", "load",
                    "guest", "book", "user", "mail", "view", "print", "env", "shell", "form",
                ],
            )
        })
        .collect()
}

/// The middle of a pattern that is longer than `bytes` (figure 5.6).
fn cut(pattern: &[u8], bytes: usize) -> &[u8] {
    let from = pattern.len().saturating_sub(bytes) / 2;
    &pattern[from..pattern.len().min(from + bytes)]
}

/// The share of patterns of at most N bytes, in percent.
pub(super) fn share_up_to(bytes: usize) -> f64 {
    let patterns = patterns(PATTERNS);
    let some = patterns.iter().filter(|pattern| pattern.len() <= bytes);
    100.0 * some.count() as f64 / patterns.len() as f64
}

/// The rate at which 16 hash functions say yes to what the filter does not hold.
///
/// A rate of 10⁻⁸ is not counted in a reasonable time: functions are taken in
/// groups of four, whose rates are counted and multiplied.
pub(super) fn false_positives(family: Family, packets_looked_at: usize) -> f64 {
    const GROUP: usize = 4;
    let all = patterns(CLUSTERS * SEGMENT_BITS / BITS_PER_PATTERN);
    let held: BTreeSet<&[u8]> = all.iter().map(|pattern| cut(pattern, CUTOFF)).collect();
    let functions = Functions::example(family, FUNCTIONS, CUTOFF);
    let place = |function: usize, hash: u32| {
        function / (FUNCTIONS / CLUSTERS) * SEGMENT_BITS + hash as usize % SEGMENT_BITS
    };
    let mut filter = vec![false; CLUSTERS * SEGMENT_BITS];
    for pattern in &held {
        for function in 0..FUNCTIONS {
            filter[place(function, functions.hash(function, pattern))] = true;
        }
    }
    let mut queries = 0u64;
    let mut yes = [0u64; FUNCTIONS / GROUP];
    for packet in packets(packets_looked_at, &all) {
        for window in packet.windows(CUTOFF) {
            for length in SHORTEST..=CUTOFF {
                let string = &window[..length];
                if held.contains(string) {
                    continue;
                }
                queries += 1;
                for (group, yes) in yes.iter_mut().enumerate() {
                    let mut of_group = group * GROUP..(group + 1) * GROUP;
                    let says_yes =
                        |function: usize| filter[place(function, functions.hash(function, string))];
                    *yes += u64::from(of_group.all(says_yes));
                }
            }
        }
    }
    yes.iter().map(|&yes| yes as f64 / queries as f64).product()
}

/// The share of packets with a shortened pattern and no whole
/// one.
pub(super) fn cut_too_short(packets_looked_at: usize) -> f64 {
    let all = patterns(PATTERNS);
    let held: BTreeSet<&[u8]> = all.iter().map(|pattern| cut(pattern, CUTOFF)).collect();
    let longest = all.iter().map(Vec::len).max().unwrap_or(0);
    let has = |packet: &[u8], most: usize, holds: &dyn Fn(&[u8]) -> bool| {
        let mut starts = 0..packet.len();
        starts.any(|start| {
            let rest = &packet[start..];
            (SHORTEST..=most.min(rest.len())).any(|length| holds(&rest[..length]))
        })
    };
    let extra = packets(packets_looked_at, &all)
        .into_iter()
        .filter(|packet| {
            has(packet, CUTOFF, &|string| held.contains(string))
                && !has(packet, longest, &|string| all.contains(string))
        });
    extra.count() as f64 / packets_looked_at as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream_processor::reproduce::closed_forms::bloom_false_positives;

    #[test]
    fn patterns_are_cut_as_in_the_thesis() {
        let pattern = br#"filename=|"ICQ_GREETINGS.EXE|""#;
        assert_eq!(cut(pattern, 9), br#""ICQ_GREE"#);
        assert_eq!(cut(b"short", 9), b"short");
    }

    /// A rate four times as high is what a filter with a third less room has.
    #[test]
    fn rates_are_those_of_equation_5_1() {
        let expected = bloom_false_positives(BITS_PER_PATTERN as f64, FUNCTIONS as f64);
        for family in [Family::ShiftAddXor, Family::Tabulation] {
            let rate = false_positives(family, 8);
            assert!(
                (0.5..2.0).contains(&(rate / expected)),
                "{family:?}: {rate}"
            );
        }
    }
}
