//! Weir beside aho-corasick: the same matches in the same haystacks, in interleaved
//! rounds. Prints medians and ratios.

use std::hint::black_box;
use std::time::Instant;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use weir_match::{Database, Engine, Haystack, Hits, Pattern, Stream};

const ROUNDS: usize = 11;
const HAYSTACKS: usize = 1024;
const HAYSTACK_BYTES: usize = 1400;
/// Haystacks per call of the batch interfaces.
const BATCH: usize = 64;
const IN_STREAM: &str = "`for_each_match_in_stream`, a haystack a chunk";
const WHICH_OCCUR: &str = "`Database::scan`, 64 a call: which patterns occur";

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % sides as u64) as usize
    }

    fn word(&mut self, syllables: usize) -> String {
        const SYLLABLES: [&str; 24] = [
            "ad", "ba", "con", "da", "de", "er", "fi", "get", "in", "is", "la", "le", "mo", "na",
            "on", "per", "re", "set", "so", "ta", "ti", "user", "ver", "win",
        ];
        (0..syllables).map(|_| SYLLABLES[self.roll(24)]).collect()
    }

    /// A path, a parameter, a header or a file name.
    fn pattern(&mut self) -> Vec<u8> {
        let (first, second) = (1 + self.roll(3), 2 + self.roll(2));
        let (one, other) = (self.word(first), self.word(second));
        let pattern = match self.roll(4) {
            0 => format!("/{one}/{other}.php"),
            1 => format!("{one}={other}&"),
            2 => format!("{one}-{other}: "),
            _ => format!("{one}_{other}.exe"),
        };
        pattern.into_bytes()
    }

    /// Words, and in every other haystack a pattern.
    fn haystack(&mut self, patterns: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < HAYSTACK_BYTES {
            let syllables = 1 + self.roll(4);
            bytes.extend(self.word(syllables).as_bytes());
            let mark = [" ", "/", "=", ".", "\r\n", " the ", "0.1", "&"][self.roll(8)];
            bytes.extend(mark.as_bytes());
        }
        if self.roll(2) == 0 {
            let at = self.roll(HAYSTACK_BYTES / 2);
            let pattern = &patterns[self.roll(patterns.len())];
            bytes[at..at + pattern.len()].copy_from_slice(pattern);
        }
        bytes.truncate(HAYSTACK_BYTES);
        bytes
    }
}

/// A way to search all haystacks; returns the number of matches.
struct Row<'a> {
    name: &'a str,
    search: Box<dyn FnMut() -> usize + 'a>,
    seconds: Vec<f64>,
}

fn row<'a>(name: &'a str, search: impl FnMut() -> usize + 'a) -> Row<'a> {
    Row {
        name,
        search: Box::new(search),
        seconds: Vec::new(),
    }
}

fn median(seconds: &mut [f64]) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("tier {}", weir_simd::tier());
    println!("| patterns | search | GB/s | beside the automaton | beside the DFA |");
    println!("| ---: | --- | ---: | ---: | ---: |");
    for count in [300, 3000, 10_000] {
        compare(count)?;
    }
    println!();
    println!("| patterns | build, ms | load, ms | saved, kB | aho-corasick builds, ms |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    for count in [300, 3000, 10_000, 30_000] {
        compare_building(count)?;
    }
    Ok(())
}

/// The time to build a database, and to load it.
fn compare_building(count: usize) -> Result<(), Box<dyn std::error::Error>> {
    let mut dice = Dice(count as u64);
    let literals: Vec<Vec<u8>> = (0..count).map(|_| dice.pattern()).collect();
    let patterns: Vec<Pattern> = (literals.iter())
        .map(|it| Pattern::exact(it.as_slice()))
        .collect();
    let saved = Database::new(&patterns)?.to_bytes();
    let mut seconds = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        black_box(Database::new(&patterns)?);
        seconds[0].push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        black_box(Database::from_bytes(&saved)?);
        seconds[1].push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        black_box(AhoCorasick::new(&literals)?);
        seconds[2].push(start.elapsed().as_secs_f64());
    }
    let [build, load, peer] = seconds.map(|mut seconds| 1e3 * median(&mut seconds));
    let kilobytes = saved.len() as f64 / 1e3;
    println!("| {count} | {build:.1} | {load:.1} | {kilobytes:.0} | {peer:.1} |");
    Ok(())
}

fn compare(count: usize) -> Result<(), Box<dyn std::error::Error>> {
    let mut dice = Dice(count as u64);
    let literals: Vec<Vec<u8>> = (0..count).map(|_| dice.pattern()).collect();
    let haystacks: Vec<Vec<u8>> = (0..HAYSTACKS).map(|_| dice.haystack(&literals)).collect();
    let slices: Vec<&[u8]> = haystacks.iter().map(Vec::as_slice).collect();
    let texts: Vec<Haystack<'_>> = slices.iter().map(|bytes| Haystack::whole(bytes)).collect();
    let patterns: Vec<Pattern> = literals
        .iter()
        .map(|it| Pattern::exact(it.as_slice()))
        .collect();
    let database = Database::new(&patterns)?;
    let automaton = |kind| AhoCorasick::builder().kind(kind).build(&literals);
    let (nfa, dfa) = (automaton(None)?, automaton(Some(AhoCorasickKind::DFA))?);
    let overlapping = |automaton: &AhoCorasick| -> usize {
        let count = |bytes: &&[u8]| automaton.find_overlapping_iter(bytes).count();
        slices.iter().map(count).sum()
    };
    let mut scanners = [(); 3].map(|()| database.scanner());
    let [single, batch, chunked] = &mut scanners;
    let mut hits = Hits::default();
    let mut rows = [
        row("aho-corasick, its choice", || overlapping(&nfa)),
        row("aho-corasick, DFA", || overlapping(&dfa)),
        row("`find_iter`, a haystack a call", || {
            slices
                .iter()
                .map(|bytes| single.find_iter(bytes).count())
                .sum()
        }),
        row("`for_each_match_in_batch`, 64 a call", || {
            let mut found = 0;
            for slices in slices.chunks(BATCH) {
                batch.for_each_match_in_batch(slices, |_, _| found += 1);
            }
            found
        }),
        row(IN_STREAM, || {
            let (mut stream, mut found) = (Stream::default(), 0);
            for chunk in &slices {
                chunked.for_each_match_in_stream(&mut stream, chunk, |_| found += 1);
            }
            found
        }),
        row(WHICH_OCCUR, || {
            let scan = |texts: &[Haystack<'_>]| {
                database.scan(texts, &mut hits);
                hits.reported().len()
            };
            texts.chunks(BATCH).map(scan).sum()
        }),
    ];
    let expected = (rows[0].search)();
    let in_stream = nfa.find_overlapping_iter(&haystacks.concat()).count();
    for row in &mut rows[1..] {
        let found = (row.search)();
        let is_right = match row.name {
            IN_STREAM => found == in_stream,
            // Once per haystack.
            WHICH_OCCUR => found <= expected,
            _ => found == expected,
        };
        assert!(is_right, "{}: {found}, not {expected}", row.name);
    }
    for _ in 0..ROUNDS {
        for row in &mut rows {
            let start = Instant::now();
            black_box((row.search)());
            row.seconds.push(start.elapsed().as_secs_f64());
        }
    }
    let bytes = slices.iter().map(|bytes| bytes.len()).sum::<usize>() as f64;
    let (of_nfa, of_dfa) = (median(&mut rows[0].seconds), median(&mut rows[1].seconds));
    for row in &mut rows {
        let seconds = median(&mut row.seconds);
        println!(
            "| {count} | {} | {:.2} | {:.2} | {:.2} |",
            row.name,
            bytes / seconds / 1e9,
            of_nfa / seconds,
            of_dfa / seconds
        );
    }
    Ok(())
}
