//! Contents and a payload to find them in.
//!
//! The promise of every engine: it reports what occurs and nothing else, in one
//! piece and cut into segments, under every tier. An input is two bytes that tell
//! where the payload is cut; contents, one per line, `i` in front of those whose
//! case does not matter and any other byte in front of the rest; an empty line;
//! and the payload.

mod seeds;

use weir_match::{
    Automaton, Database, Engine, Haystack, Hits, Match, Pattern, Profile, Segmented, Stream,
};
use weir_simd::Tier;

pub use seeds::{WORDS, seeds};

/// More contents add time, and nothing that fewer do not show.
const MOST_CONTENTS: usize = 200;
/// Two spans of the filter and a piece.
const MOST_PAYLOAD_BYTES: usize = 70_000;
/// More matches than these could take longer than an input should.
const MOST_MATCHES: usize = 1 << 20;

/// Panics where an engine misses a content or invents one.
pub fn check(input: &[u8]) {
    let Some((cuts, input)) = input.split_first_chunk() else {
        return;
    };
    // Whatever this is, it is no reason to panic.
    let _ = Database::from_bytes(input);
    let (needles, payload) = parse(input);
    let segments = cut(payload, *cuts);
    let occurring: Vec<u32> = (0u32..)
        .zip(&needles)
        .filter(|(_, needle)| needle.occurs_in(payload))
        .map(|(number, _)| number)
        .collect();
    let mut profile = Profile::new();
    profile.add(&payload[payload.len() / 2..]);
    let mut hits = Hits::default();
    for tier in Tier::ALL.into_iter().filter(|tier| tier.is_available()) {
        let engine = Database::with_profile(&needles, &profile, tier).expect("short contents");
        check_engine(&engine, segments, &occurring, &mut hits);
        let loaded = Database::from_bytes(&engine.to_bytes()).expect("what was saved");
        check_engine(&loaded, segments, &occurring, &mut hits);
        if needles.len() * payload.len() <= MOST_MATCHES {
            check_matches(&engine, &needles, payload, segments);
        }
    }
    let segmented = Segmented::new(&needles).expect("short contents");
    check_engine(&segmented, segments, &occurring, &mut hits);
    let automaton = Automaton::new(&needles).expect("few contents");
    check_engine(&automaton, segments, &occurring, &mut hits);
}

fn check_engine(engine: &dyn Engine, segments: [&[u8]; 3], occurring: &[u32], hits: &mut Hits) {
    let mut scan = |text: Haystack<'_>| -> Vec<u32> {
        engine.scan(&[text], hits);
        hits.in_order().iter().map(|hit| hit.pattern).collect()
    };
    let sorted = |mut numbers: Vec<u32>| {
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    let whole = sorted(scan(Haystack::whole(&segments.concat())));
    assert_eq!(whole, occurring, "{}", engine.name());
    let (whole, mut numbers, mut end) = (segments.concat(), Vec::new(), 0);
    for segment in segments {
        let carried = end.min(engine.longest_pattern_bytes().saturating_sub(1));
        let start = end - carried;
        end += segment.len();
        numbers.extend(scan(Haystack::continued(&whole[start..end], carried)));
    }
    assert_eq!(
        sorted(numbers),
        occurring,
        "{} over segments",
        engine.name()
    );
}

/// Matches are what they say, all patterns that occur have some, and chunks of a stream hold those of
/// the whole.
fn check_matches(database: &Database, patterns: &[Pattern], payload: &[u8], segments: [&[u8]; 3]) {
    let mut scanner = database.scanner();
    let whole: Vec<Match> = scanner.find_iter(payload).collect();
    let mut found = vec![false; patterns.len()];
    for each in &whole {
        assert!(patterns[each.pattern].matches(&payload[each.start..each.end]));
        found[each.pattern] = true;
    }
    for (pattern, found) in patterns.iter().zip(found) {
        assert_eq!(found, pattern.occurs_in(payload));
    }
    let (mut stream, mut in_chunks) = (Stream::default(), Vec::new());
    for segment in segments {
        scanner.for_each_match_in_stream(&mut stream, segment, |each| in_chunks.push(each));
    }
    assert_eq!(in_chunks, whole);
    let mut in_batch = Vec::new();
    scanner.for_each_match_in_batch(&[payload], |_, each| in_batch.push(each));
    assert_eq!(in_batch, whole);
}

/// Three segments of a payload, cut at so many 256ths of it and of the rest.
fn cut(payload: &[u8], cuts: [u8; 2]) -> [&[u8]; 3] {
    let [first, second] = cuts.map(usize::from);
    let (one, rest) = payload.split_at(payload.len() * first / 256);
    let (two, three) = rest.split_at(rest.len() * second / 256);
    [one, two, three]
}

fn parse(input: &[u8]) -> (Vec<Pattern>, &[u8]) {
    let mut needles = Vec::new();
    let mut rest = input;
    while needles.len() < MOST_CONTENTS {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            break;
        };
        let (line, behind) = (&rest[..end], &rest[end + 1..]);
        rest = behind;
        let Some((case, content)) = line.split_first() else {
            break;
        };
        needles.push(match case {
            b'i' => Pattern::nocase(content),
            _ => Pattern::exact(content),
        });
    }
    (needles, &rest[..rest.len().min(MOST_PAYLOAD_BYTES)])
}
