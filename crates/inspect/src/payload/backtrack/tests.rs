//! Patterns of both engines: the same matches as the linear one.

use proptest::prelude::*;
use regex::bytes::RegexBuilder;

use super::parse;

/// Patterns that both engines have, and that match no empty iteration of a loop,
/// which they end differently.
fn pattern() -> impl Strategy<Value = String> {
    let atoms = [
        "a", "b", "[ab]", "[^a]", ".", "\\xFF", "\\w", "a+?", "b{2}", "^a", "b\\z", "a\\b", "\\Bb",
    ];
    let leaf = proptest::sample::select(atoms.to_vec()).prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a + &b),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(?:{a}|{b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(?:{a}|{b})b?")),
            inner.clone().prop_map(|a| format!("({a})+")),
            inner.clone().prop_map(|a| format!("(?:{a}){{1,3}}?")),
            inner.clone().prop_map(|a| format!("(?i:{a})")),
            inner.prop_map(|a| format!("(?:{a})*b")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn matches_are_those_of_the_linear_engine(
        text in pattern(),
        payload in proptest::collection::vec(proptest::sample::select(b"aabbA\xff\n".to_vec()), 0..14),
        from in 0usize..4,
    ) {
        let program = parse(&text, false, true).expect("a program");
        let regex = RegexBuilder::new(&text).unicode(false).dot_matches_new_line(true).build();
        let expected = (from <= payload.len())
            .then(|| regex.expect("a pattern").find_at(&payload, from))
            .flatten();
        let found = program.find_at(&payload, from, &mut 0);
        prop_assert_eq!(found, Ok(expected.map(|found| found.range())));
    }
}

/// What can only begin at the start is not looked for elsewhere.
#[test]
fn anchored_patterns_take_few_steps() {
    let text = [b'a'; 100_000];
    for (pattern, is_anchored) in [
        ("^(b)\\1", true),
        ("(?:\\A(?!c)b|^c)", true),
        ("(?=a)(^b)+", true),
        ("(?:^b|c)", false),
        ("(?:^)?b", false),
        ("a?^b", false),
    ] {
        let mut steps = 0;
        let program = parse(pattern, false, false).expect("a program");
        assert_eq!(program.find_at(&text, 0, &mut steps), Ok(None), "{pattern}");
        assert_eq!(steps < 100, is_anchored, "{pattern}: {steps}");
        assert_eq!(program.find_at(&text, 1, &mut steps), Ok(None), "{pattern}");
    }
}

#[test]
fn what_is_no_program_is_refused() {
    for text in [
        "(?<=a+)b",
        "(a",
        "a)",
        "a{2,1}",
        "(?(1)a)",
        "(?:(?:ab){200}){200}",
        "[a",
        "\\1(?=b)",
        "(a)\\2",
        "(?<=(?:(?:(?:(?:a{65535}){65535}){65535}){65535}){65535})b",
        "(?:ab){99999999999999999999}",
    ] {
        assert!(parse(text, false, false).is_err(), "{text}");
    }
    let nothing = "(?:(?:(?:){4000000000}){4000000000}){4000000000}b";
    let program = parse(nothing, false, false).expect("a program");
    assert_eq!(program.find_at(b"ab", 0, &mut 0), Ok(Some(1..2)));
    let deep = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(parse(&deep, false, false).is_err());
}
