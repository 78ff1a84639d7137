use aho_corasick::AhoCorasick;
use proptest::prelude::*;
use proptest::sample::Index;
use weir_simd::for_each_tier;

use super::*;
use crate::{Pattern, Profile};

/// All matches by the automaton of aho-corasick, in this crate's order.
fn expected(patterns: &[Pattern], haystack: &[u8]) -> Vec<Match> {
    let mut matches = Vec::new();
    for is_nocase in [false, true] {
        let (numbers, bytes): (Vec<usize>, Vec<&[u8]>) = patterns
            .iter()
            .enumerate()
            .filter(|(_, pattern)| pattern.is_nocase() == is_nocase && !pattern.bytes().is_empty())
            .map(|(number, pattern)| (number, pattern.bytes()))
            .unzip();
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(is_nocase)
            .build(bytes)
            .expect("few patterns");
        let found = automaton.find_overlapping_iter(haystack);
        matches.extend(found.map(|found| Match {
            pattern: numbers[found.pattern().as_usize()],
            start: found.start(),
            end: found.end(),
        }));
    }
    matches.sort_by_key(|found| (found.end, found.start, found.pattern));
    matches
}

/// The matches in a haystack that comes in chunks.
fn in_stream(scanner: &mut Scanner<'_>, chunks: &[&[u8]]) -> Vec<Match> {
    let (mut stream, mut matches) = (Stream::default(), Vec::new());
    let longest = scanner.database.longest_bytes();
    for chunk in chunks {
        let begins_at = stream.bytes();
        scanner.for_each_match_in_stream(&mut stream, chunk, |found| {
            assert!(found.end > begins_at, "it ended in a chunk before");
            matches.push(found);
        });
        assert!(stream.kept_bytes() < longest.max(1));
    }
    assert!(matches.is_sorted_by_key(|found| found.end));
    matches
}

/// Every interface under every tier, by filters and by sets of byte classes.
fn check(patterns: &[Pattern], haystacks: &[Vec<u8>], cuts: &[Index]) {
    let all: Vec<Vec<Match>> = haystacks.iter().map(|h| expected(patterns, h)).collect();
    let whole: Vec<&[u8]> = haystacks.iter().map(Vec::as_slice).collect();
    for_each_tier(|tier| {
        for has_sets in [false, true] {
            let database = Database::with_sets(patterns, &Profile::new(), tier, has_sets)
                .expect("few patterns");
            let mut scanner = database.scanner();
            for (haystack, expected) in whole.iter().zip(&all) {
                let found: Vec<Match> = scanner.find_iter(haystack).collect();
                assert_eq!(found, *expected, "{tier}, sets: {has_sets}");
                let mut cuts: Vec<usize> = cuts
                    .iter()
                    .map(|cut| cut.index(haystack.len() + 1))
                    .collect();
                cuts.extend([0, haystack.len()]);
                cuts.sort_unstable();
                let chunks: Vec<&[u8]> = cuts
                    .windows(2)
                    .map(|ends| &haystack[ends[0]..ends[1]])
                    .collect();
                let found = in_stream(&mut scanner, &chunks);
                assert_eq!(found, *expected, "{tier}, sets: {has_sets}, {cuts:?}");
            }
            let mut found = vec![Vec::new(); whole.len()];
            scanner.for_each_match_in_batch(&whole, |index, each| found[index].push(each));
            assert_eq!(found, all, "{tier}, sets: {has_sets}");
        }
    });
}

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        8 => proptest::sample::select(b"aAb\0 ".to_vec()),
        1 => any::<u8>()
    ];
    let run = (byte, prop_oneof![3 => 1usize..2, 1 => 1usize..90]);
    let runs = proptest::collection::vec(run, 0..most.max(1));
    runs.prop_map(move |runs| {
        let bytes = runs
            .iter()
            .flat_map(|(byte, run)| std::iter::repeat_n(*byte, *run));
        bytes.take(most).collect()
    })
}

fn patterns() -> impl Strategy<Value = Vec<Pattern>> {
    let pattern = (prop_oneof![bytes(5), bytes(12), bytes(100)], any::<bool>());
    let pattern = pattern.prop_map(|(bytes, is_nocase)| match is_nocase {
        true => Pattern::nocase(bytes),
        false => Pattern::exact(bytes),
    });
    proptest::collection::vec(pattern, 0..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn matches_are_those_of_aho_corasick(
        patterns in patterns(),
        pieces in proptest::collection::vec(
            proptest::collection::vec((any::<Index>(), bytes(150)), 0..6), 0..4),
        cuts in proptest::collection::vec(any::<Index>(), 0..5),
    ) {
        let haystacks: Vec<Vec<u8>> = pieces
            .iter()
            .map(|pieces| {
                let mut haystack = Vec::new();
                for (index, filling) in pieces {
                    if !patterns.is_empty() {
                        haystack.extend(patterns[index.index(patterns.len())].bytes());
                    }
                    haystack.extend(filling);
                }
                haystack
            })
            .collect();
        check(&patterns, &haystacks, &cuts);
    }
}

/// Longer than several pieces, with patterns across their ends, runs across
/// them, and a pattern that is longer than a piece.
#[test]
fn long_haystacks_are_searched_in_pieces() {
    let long: Vec<u8> = (0..65_000u32).map(|at| ((at * at) >> 7) as u8).collect();
    let patterns = [
        Pattern::exact("across"),
        Pattern::nocase("zzzzzzz"),
        Pattern::exact("zz"),
        Pattern::exact("Q"),
        Pattern::exact(long.clone()),
    ];
    for patterns in [&patterns[..4], &patterns[..]] {
        let mut haystack = vec![b'.'; 600_000];
        for piece in [PIECE_BYTES, 2 * PIECE_BYTES, 4 * 65_000] {
            haystack[piece - 3..piece + 3].copy_from_slice(b"across");
            haystack[piece - 90..piece - 70].fill(b'Z');
        }
        haystack[3 * PIECE_BYTES - 20..3 * PIECE_BYTES + 20].fill(b'z');
        haystack[300_000..365_000].copy_from_slice(&long);
        *haystack.last_mut().expect("bytes") = b'Q';
        let expected = expected(patterns, &haystack);
        let database = Database::new(patterns).expect("few patterns");
        let mut scanner = database.scanner();
        assert_eq!(scanner.find_iter(&haystack).collect::<Vec<_>>(), expected);
        let chunks: Vec<&[u8]> = haystack.chunks(70_001).collect();
        assert_eq!(in_stream(&mut scanner, &chunks), expected);
    }
}

/// What is lost of a stream joins nothing.
#[test]
fn no_match_reaches_across_what_is_skipped() {
    let database = Database::new(&[Pattern::exact("border")]).expect("one pattern");
    let mut scanner = database.scanner();
    let (mut stream, mut starts) = (Stream::default(), Vec::new());
    let mut feed = |stream: &mut Stream, chunk: &[u8]| {
        scanner.for_each_match_in_stream(stream, chunk, |found| starts.push(found.start));
    };
    feed(&mut stream, b"bor");
    stream.skip(10);
    feed(&mut stream, b"der bor");
    feed(&mut stream, b"der");
    assert_eq!(starts, [17]);
    assert_eq!(stream.bytes(), 23);
}

/// Memory for matches is bounded by a piece, not by the haystack.
#[test]
fn an_iterator_searches_as_far_as_it_is_used() {
    let database = Database::new(&[Pattern::exact("a")]).expect("one pattern");
    let haystack = vec![b'a'; 1 << 22];
    let mut scanner = database.scanner();
    assert_eq!(scanner.find_iter(&haystack).take(10).count(), 10);
    assert!(scanner.matches.len() <= PIECE_BYTES);
    assert_eq!(scanner.find_iter(&haystack).count(), haystack.len());
    assert!(scanner.matches.capacity() <= 2 * PIECE_BYTES);
}
