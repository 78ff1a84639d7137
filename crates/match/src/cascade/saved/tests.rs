use proptest::prelude::*;
use weir_simd::for_each_tier;

use super::*;
use crate::Match;

fn matches(database: &Database, haystack: &[u8]) -> Vec<Match> {
    database.scanner().find_iter(haystack).collect()
}

/// The definition: every pattern at every place.
fn expected(patterns: &[Pattern], haystack: &[u8]) -> Vec<Match> {
    let mut found = Vec::new();
    for end in 1..=haystack.len() {
        for start in 0..end {
            for (number, pattern) in patterns.iter().enumerate() {
                if pattern.bytes().len() == end - start && pattern.matches(&haystack[start..end]) {
                    let pattern = number;
                    found.push(Match {
                        pattern,
                        start,
                        end,
                    });
                }
            }
        }
    }
    found
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let bytes = proptest::collection::vec(proptest::sample::select(b"aAb\0 ".to_vec()), 0..14);
    (bytes, any::<bool>()).prop_map(|(bytes, is_nocase)| match is_nocase {
        true => Pattern::nocase(bytes),
        false => Pattern::exact(bytes),
    })
}

fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&bytes[20..]);
    bytes[16..20].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn sample() -> Database {
    let patterns = ["a", "bc", "def", "long enough", "aaaaaaaa", ""].map(Pattern::nocase);
    Database::new(&patterns).expect("few patterns")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What was saved is loaded, under the same tier and others.
    #[test]
    fn a_loaded_database_is_the_one_that_was_saved(
        patterns in proptest::collection::vec(pattern(), 0..90),
        haystack in proptest::collection::vec(
            proptest::sample::select(b"aAbB\0 ".to_vec()), 0..80),
    ) {
        let expected = expected(&patterns, &haystack);
        for has_sets in [false, true] {
            let saved = Database::with_sets(&patterns, &Profile::new(), Tier::Scalar, has_sets);
            let bytes = saved.expect("few patterns").to_bytes();
            for_each_tier(|tier| {
                let database = Database::from_bytes_for(&bytes, tier).expect("what was saved");
                assert_eq!(matches(&database, &haystack), expected, "{tier}");
                if !has_sets {
                    assert_eq!(database.to_bytes(), bytes, "{tier}");
                }
            });
        }
    }

    /// A file that somebody made to harm is refused, or is a database of the
    /// patterns that it names.
    #[test]
    fn a_forged_database_is_refused_or_finds_its_patterns(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = sample().to_bytes();
        for (at, byte) in changes {
            let at = 20 + at.index(bytes.len() - 20);
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(20 + cut.index(bytes.len() - 20));
        }
        let Ok(database) = Database::from_bytes(&with_checksum(bytes)) else {
            return Ok(());
        };
        let patterns = database.records.patterns(&database.units, database.explanation.patterns);
        let mut haystack = b"aaaaaaaaa bc def LONG ENOUGH".to_vec();
        patterns.iter().for_each(|pattern| haystack.extend(pattern.bytes()));
        prop_assert_eq!(matches(&database, &haystack), expected(&patterns, &haystack));
    }
}

/// Any damage is noticed.
#[test]
fn a_damaged_database_is_refused() {
    let bytes = sample().to_bytes();
    assert!(Database::from_bytes(&bytes).is_ok());
    for at in 0..bytes.len() {
        assert!(Database::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert!(
                Database::from_bytes(&damaged).is_err(),
                "bit {bit} of byte {at}"
            );
        }
    }
    assert!(matches!(
        Database::from_bytes(b"GIF89a"),
        Err(LoadError::Format)
    ));
    assert!(matches!(
        Database::from_bytes(b"weir match 02\n\0\0"),
        Err(LoadError::Version)
    ));
    assert!(matches!(
        Database::from_bytes(&bytes[..30]),
        Err(LoadError::Checksum)
    ));
    let mut longer = bytes.clone();
    longer.push(0);
    let error = Database::from_bytes(&with_checksum(longer)).expect_err("too long");
    assert_eq!(
        error.to_string(),
        "a forged database: it goes on behind its end"
    );
}

/// A number of patterns by itself allocates nothing.
#[test]
fn patterns_are_as_many_as_there_are_bytes_for() {
    let mut bytes = [MAGIC, VERSION].concat();
    bytes.extend([0; 4]);
    bytes.extend(u32::MAX.to_le_bytes());
    let error = Database::from_bytes(&with_checksum(bytes)).expect_err("no patterns");
    assert_eq!(error.to_string(), "a forged database: it ends early");
}
