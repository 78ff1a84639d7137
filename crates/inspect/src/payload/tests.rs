//! Options against payloads: a table of cases, and every choice of
//! occurrences tried one by one.

use proptest::prelude::*;

use super::*;
use crate::rule::Variables as RuleVariables;
use crate::rule_set::{RuleFile, RuleSet};

fn payload_of(options: &str) -> Payload {
    let text = format!("alert ip any any -> any any ({options} sid:1;)");
    let file = RuleFile {
        name: "test",
        text: text.as_bytes(),
    };
    let (rules, report) = RuleSet::load(&[file], &RuleVariables::default()).expect("an engine");
    assert_eq!(report.loaded, 1, "{options}: {:?}", report.skipped);
    rules.rules()[0].payload.clone()
}

#[test]
fn options_mean_what_snort_and_suricata_mean() {
    let cases: &[(&str, &[u8], bool)] = &[
        // Strings, bytes, case.
        (r#"content:"abc";"#, b"xxabcxx", true),
        (r#"content:"abc";"#, b"xxABCxx", false),
        (r#"content:"aBc"; nocase;"#, b"xxAbCxx", true),
        (r#"content:"a|62 63|d";"#, b"abcd", true),
        (r#"content:"|00|"; nocase;"#, b"\x20", false),
        (r#"content:"abc";"#, b"", false),
        (r#"content:!"abc";"#, b"", true),
        (r#"content:!"abc";"#, b"xabc", false),
        // Offset and depth; depth counts from offset.
        (r#"content:"abc"; depth:3;"#, b"abcd", true),
        (r#"content:"abc"; depth:3;"#, b"xabc", false),
        (r#"content:"abc"; offset:1;"#, b"abcx", false),
        (r#"content:"abc"; offset:1; depth:3;"#, b"xabc", true),
        (r#"content:"abc"; offset:1; depth:3;"#, b"xxabc", false),
        (r#"content:"abc"; offset:9;"#, b"abc", false),
        (r#"content:!"abc"; offset:1;"#, b"abc", true),
        (r#"content:!"abc"; depth:4;"#, b"xxabc", true),
        // Distance and within: from the end of the last match.
        (
            r#"content:"ab"; content:"cd"; distance:0;"#,
            b"ab..cd",
            true,
        ),
        (r#"content:"ab"; content:"cd"; distance:0;"#, b"cdab", false),
        (
            r#"content:"ab"; content:"cd"; distance:3;"#,
            b"ab..cd",
            false,
        ),
        (r#"content:"ab"; content:"cd"; within:2;"#, b"abcd", true),
        (r#"content:"ab"; content:"cd"; within:2;"#, b"ab.cd", false),
        (
            r#"content:"ab"; content:"cd"; distance:1; within:2;"#,
            b"ab.cd",
            true,
        ),
        (
            r#"content:"ab"; content:"cd"; distance:1; within:3;"#,
            b"ab...cd",
            false,
        ),
        (r#"content:"ab"; content:"ba"; distance:-1;"#, b"aba", true),
        (r#"content:"ab"; content:"ba"; distance:0;"#, b"aba", false),
        (r#"content:"ab"; content:"xa"; distance:-9;"#, b"xab", true),
        // The first content is relative to the start.
        (r#"content:"ab"; distance:1; within:2;"#, b"xab", true),
        (r#"content:"ab"; within:2;"#, b"xab", false),
        // Another occurrence of an earlier content may be needed.
        (r#"content:"a"; content:"b"; within:1;"#, b"axxab", true),
        (
            r#"content:"a"; content:"b"; within:1; content:"c"; within:1;"#,
            b"abxabc",
            true,
        ),
        (
            r#"content:"a"; offset:1; content:"b"; within:1;"#,
            b"abxa",
            false,
        ),
        (
            r#"content:"a"; depth:1; content:"b"; within:1;"#,
            b"axab",
            false,
        ),
        (r#"content:"aa"; content:"b"; within:1;"#, b"aaab", true),
        (r#"content:"a"; content:"bb"; within:2;"#, b"aabb", true),
        // A content without distance or within starts anew.
        (r#"content:"b"; content:"a";"#, b"ab", true),
        (
            r#"content:"b"; content:"a"; content:"b"; distance:0;"#,
            b"ba",
            false,
        ),
        // Negated relative contents hold for the cursor that is chosen.
        (r#"content:"a"; content:!"b"; within:1;"#, b"ab", false),
        (r#"content:"a"; content:!"b"; within:1;"#, b"abac", true),
        (r#"content:"a"; content:!"b"; distance:0;"#, b"cba", true),
        (
            r#"content:"a"; content:!"b"; within:1; content:"c"; within:1;"#,
            b"abac",
            true,
        ),
        (
            r#"content:"a"; content:!"b"; within:1; content:"c"; within:1;"#,
            b"acab",
            true,
        ),
        (
            r#"content:"a"; content:!"x"; content:"b"; within:1;"#,
            b"axb",
            false,
        ),
        // Patterns.
        (r#"pcre:"/^a.c$/";"#, b"abc\n", true),
        (r#"pcre:"/^a.c$/";"#, b"a\nc", false),
        (r#"pcre:"/^a.c$/s";"#, b"a\nc", true),
        (r#"pcre:"/^A/i";"#, b"abc", true),
        (r#"pcre:"/^b/";"#, b"a\nb", false),
        (r#"pcre:"/^b/m";"#, b"a\nb", true),
        (r#"pcre:"/b/A";"#, b"ab", false),
        (r#"pcre:"/a b/x";"#, b"ab", true),
        (r#"pcre:!"/a/";"#, b"b", true),
        (r#"pcre:!"/a/";"#, b"ba", false),
        (r#"pcre:"/\xff\x00/";"#, b"\xff\x00", true),
        (r#"content:"ab"; pcre:"/^c/R";"#, b"abc", true),
        (r#"content:"ab"; pcre:"/^c/R";"#, b"cab", false),
        (r#"content:"ab"; pcre:"/^c/R";"#, b"ab.abc", true),
        (r#"content:"ab"; pcre:!"/c/R";"#, b"cab", true),
        (r#"content:"ab"; pcre:!"/c/R";"#, b"abc", false),
        (r#"pcre:"/a+/"; content:"b"; within:1;"#, b"aaxab", true),
        (r#"pcre:"/a+?/G"; content:"b"; within:1;"#, b"aab", true),
        (
            r#"content:"x"; pcre:"/[0-9]/R"; content:"y"; within:1;"#,
            b"x1 2y",
            true,
        ),
        (
            r#"content:"x"; pcre:"/[0-9]/R"; content:"y"; within:1;"#,
            b"2yx1 2",
            false,
        ),
        // Modifiers in the words of Snort 3.
        (r#"content:"AB",nocase,offset 1,depth 2;"#, b"xab", true),
        (r#"content:"AB", nocase, offset 1, depth 2;"#, b"abx", false),
        (
            r#"content:"a"; content:"b",distance 1,within 1;"#,
            b"axb",
            true,
        ),
        // Ends.
        (r#"content:"ab"; startswith;"#, b"abc", true),
        (r#"content:"ab"; startswith;"#, b"xab", false),
        (r#"content:"ab"; endswith;"#, b"abxab", true),
        (r#"content:"ab"; endswith;"#, b"abx", false),
        (
            r#"content:"x"; content:"ab"; distance:0; endswith;"#,
            b"xab",
            true,
        ),
        (r#"content:!"ab"; endswith;"#, b"abx", true),
        (r#"content:!"ab"; isdataat:!1,relative;"#, b"abx", true),
        (r#"content:!"ab"; isdataat:!1,relative;"#, b"xab", false),
        (r#"content:"ab"; fast_pattern:only;"#, b"xab", true),
        (r#"content:"ab"; fast_pattern:only;"#, b"xba", false),
        (r#"content:"ab"; rawbytes;"#, b"ab", true),
        (r#"content:"ab"; rawbytes;"#, b"a", false),
        // Bytes that are there or not.
        (r#"isdataat:3;"#, b"abcd", true),
        (r#"isdataat:3;"#, b"abc", false),
        (r#"isdataat:!3;"#, b"abc", true),
        (r#"content:"a"; isdataat:2,relative;"#, b"abc", true),
        (r#"content:"a"; isdataat:2,relative;"#, b"ab", false),
        (r#"content:"a"; isdataat:!1,relative;"#, b"ba", true),
        (r#"content:"a"; isdataat:!1,relative;"#, b"ab", false),
        // Numbers.
        (r#"byte_test:2,=,258,1;"#, b"x\x01\x02", true),
        (r#"byte_test:2,=,513,1,little;"#, b"x\x01\x02", true),
        (r#"byte_test:2,=,258,1;"#, b"x\x01", false),
        (r#"byte_test:1,!=,1,0;"#, b"\x02", true),
        (r#"byte_test:1,!=,1,0;"#, b"", false),
        (r#"byte_test:1,&,0x80,0;"#, b"\xff", true),
        (r#"byte_test:1,!&,0x80,0;"#, b"\x7f", true),
        (r#"byte_test:1,^,5,0;"#, b"\x05", false),
        (r#"byte_test:1,<=,5,0; byte_test:1,>=,5,0;"#, b"\x05", true),
        (r#"byte_test:1,<,5,0;"#, b"\x05", false),
        (r#"byte_test:1,>,4,0;"#, b"\x05", true),
        (r#"byte_test:1,=,3,0,bitmask 0x30;"#, b"\x3f", true),
        (r#"byte_test:2,=,3,0,string,hex,bitmask 0x30;"#, b"3f", true),
        (
            r#"byte_test:2,=,3,0,string,hex,bitmask 0x30;"#,
            b"2f",
            false,
        ),
        (
            r#"byte_extract:1,0,n; byte_test:n,=,258,1;"#,
            b"\x02\x01\x02",
            true,
        ),
        (
            r#"byte_extract:1,0,n; byte_test:n,=,258,1;"#,
            b"\x01\x01\x02",
            false,
        ),
        (
            r#"byte_extract:1,0,n; byte_test:n,=,0,1;"#,
            b"\x00\x00\x00",
            false,
        ),
        (
            r#"byte_extract:1,0,n; byte_test:n,>,0,1;"#,
            b"\x09123456789",
            false,
        ),
        (
            r#"byte_extract:1,0,n,bitmask 0xf0; content:"b"; offset:n; depth:1;"#,
            b"\x2fab",
            true,
        ),
        (
            r#"byte_extract:1,0,n,bitmask 0xf0; content:"b"; offset:n; depth:1;"#,
            b"\x1fab",
            false,
        ),
        (
            r#"content:"exec"; byte_jump:0,0,relative,post_offset -3; content:"x"; within:1;"#,
            b"exec",
            true,
        ),
        (
            r#"content:"exec"; byte_jump:0,0,relative,post_offset -3; content:"c"; within:1;"#,
            b"exec",
            false,
        ),
        (
            r#"byte_jump:1,0,bitmask 0x0f; content:"b"; within:1;"#,
            b"\x11ab",
            true,
        ),
        (
            r#"byte_jump:1,0,bitmask 0x0f; content:"b"; within:1;"#,
            b"\x12ab",
            false,
        ),
        (
            r#"byte_jump:1,0,from_end,post_offset -2; content:"a"; within:1;"#,
            b"\x00xab",
            true,
        ),
        (
            r#"byte_jump:1,0,from_end,post_offset -2; content:"a"; within:1;"#,
            b"\x00abx",
            false,
        ),
        (r#"bsize:33<>34;"#, &[0; 34], true),
        (r#"bsize:33<>34;"#, &[0; 35], false),
        (r#"bsize:33<>35;"#, &[0; 35], false),
        (r#"pcre:"/a"b;?c/i";"#, b"A\"Bc", true),
        (r#"pcre:"/a"b;?c/i";"#, b"Abc", false),
        (r#"byte_test:4,=,1234,0,string,dec;"#, b"1234", true),
        (r#"byte_test:0,>,99,1,string,dec;"#, b"x100y", true),
        (r#"byte_test:4,=,255,0,string,hex;"#, b"0xff", true),
        (r#"byte_test:3,=,8,0,string,oct;"#, b"010", true),
        (r#"byte_test:2,=,8,0,string,dec;"#, b"xy", false),
        (
            r#"content:"a"; byte_test:1,=,2,1,relative;"#,
            b"a1a\x01\x02",
            true,
        ),
        (
            r#"content:"a"; byte_test:1,=,2,-2,relative;"#,
            b"\x02a",
            true,
        ),
        (
            r#"content:"a"; byte_test:1,=,2,-3,relative;"#,
            b"\x02a",
            false,
        ),
        (r#"byte_jump:1,0; content:"b"; within:1;"#, b"\x02xxb", true),
        (
            r#"byte_jump:1,0; content:"b"; within:1;"#,
            b"\x02xbx",
            false,
        ),
        (r#"byte_jump:1,0; isdataat:0,relative;"#, b"\x09x", false),
        (
            r#"byte_jump:1,0,align; content:"b"; within:1;"#,
            b"\x02xxxxb",
            true,
        ),
        (
            r#"byte_jump:1,0,multiplier 2; content:"b"; within:1;"#,
            b"\x02xxxxb",
            true,
        ),
        (
            r#"byte_jump:1,0,from_beginning; content:"b"; within:1;"#,
            b"\x02xb",
            true,
        ),
        (
            r#"byte_jump:1,0,from_end,post_offset -3; content:"b"; within:1;"#,
            b"\x01xxb.",
            true,
        ),
        (
            r#"byte_jump:1,0,post_offset 1; content:"b"; within:1;"#,
            b"\x01xxb",
            true,
        ),
        (
            r#"content:"a"; byte_jump:1,0,relative; content:"b"; within:1;"#,
            b"a\x09a\x01xb",
            true,
        ),
        (
            r#"byte_extract:1,0,n; byte_test:1,=,n,1;"#,
            b"\x07x\x07\x07",
            false,
        ),
        (
            r#"byte_extract:1,0,n; byte_test:1,=,n,1;"#,
            b"\x07\x07",
            true,
        ),
        (
            r#"content:"a"; byte_extract:1,0,n,relative; content:"b"; within:n;"#,
            b"a\x01xxxba\x03xxb",
            true,
        ),
        (
            r#"content:"a"; byte_extract:1,0,n,relative; content:"b"; distance:n;"#,
            b"a\x03xxb",
            false,
        ),
        (
            r#"byte_extract:1,0,n,multiplier 2; isdataat:n;"#,
            b"\x02...",
            false,
        ),
        (
            r#"byte_extract:1,0,n; content:"b"; offset:n;"#,
            b"\x02.b",
            true,
        ),
        // Lengths.
        (r#"bsize:3;"#, b"abc", true),
        (r#"bsize:>3;"#, b"abc", false),
    ];
    let mut cursors = Cursors::default();
    for (options, payload, expected) in cases {
        let matches = payload_of(options).matches(Text::whole(payload), &mut cursors);
        assert_eq!(
            matches,
            *expected,
            "{options} over {:?}",
            payload.escape_ascii().to_string()
        );
        assert!(!cursors.is_limited);
    }
}

#[test]
fn the_longest_content_that_must_be_there_leads() {
    let longest = |options| {
        payload_of(options)
            .search_content()
            .map(|(content, _)| content)
    };
    let options = r#"content:"ABC"; content:!"longest"; content:"de"; pcre:"/pattern/";"#;
    assert_eq!(longest(options), Some(weir_match::Pattern::exact("ABC")));
    assert_eq!(longest(r#"content:!"longest"; pcre:"/pattern/";"#), None);
}

/// A pattern whose every match must be followed up meets its bound, and says
/// so; contents have none.
#[test]
fn hostile_payloads_are_given_up_or_linear() {
    let mut cursors = Cursors::default();
    let many = vec![b'a'; 60_000];
    let pattern = payload_of(r#"content:"a"; pcre:"/^a[^b]/R"; content:"b"; within:1;"#);
    assert!(!pattern.matches(Text::whole(&many), &mut cursors));
    assert!(cursors.is_limited);
    // A packet's share is used up in the end.
    while cursors.may_look() {
        assert!(!pattern.matches(Text::whole(&many), &mut cursors));
    }
    cursors.start_packet();
    let chain = r#"content:"a"; distance:0;"#.repeat(40) + r#"content:"b"; distance:0;"#;
    assert!(!payload_of(&chain).matches(Text::whole(&many), &mut cursors));
    assert!(!cursors.is_limited);
    // Every occurrence of the first is followed by none of the second.
    cursors.start_packet();
    let unless = payload_of(r#"content:"a"; content:!"b"; distance:0; content:"c"; distance:0;"#);
    assert!(!unless.matches(Text::whole(&many), &mut cursors));
    assert!(cursors.may_look(), "each step is one pass");
}

fn fixed(amount: Amount) -> i64 {
    amount.value(&Variables::default())
}

/// Every choice of occurrences, one by one, by the definition.
fn holds_for_some_choice(steps: &[Step], payload: &[u8], cursor: usize) -> bool {
    let Some((step, later)) = steps.split_first() else {
        return true;
    };
    let ends: Vec<usize> = match &step.test {
        Test::Content {
            content,
            place,
            ends_text,
            ..
        } => {
            let occurs = |at: usize| content.find(&payload[at..at + content.len()]).is_some();
            let fits = |at: usize| {
                let (first, last) = (at as i64, (at + content.len()) as i64);
                let (start, length) = match *place {
                    Place::Absolute { offset, depth } => (fixed(offset), depth),
                    Place::Relative { distance, within } => {
                        (cursor as i64 + fixed(distance), within)
                    }
                };
                (!ends_text || at + content.len() == payload.len())
                    && first >= start
                    && length.is_none_or(|length| last <= start + fixed(length))
            };
            (0..(payload.len() + 1).saturating_sub(content.len()))
                .filter(|at| occurs(*at) && fits(*at))
                .map(|at| at + content.len())
                .collect()
        }
        Test::Pattern { pattern, relative } => {
            let start = if *relative { cursor } else { 0 };
            let mut ends = Vec::new();
            let all = pattern.visit_ends(&payload[start..], 0, &mut 0, |end, _| {
                ends.push(start + end);
                true
            });
            assert_eq!(all, Ok(()));
            ends
        }
        _ => unreachable!("only contents and patterns are drawn"),
    };
    if step.negated {
        ends.is_empty() && holds_for_some_choice(later, payload, cursor)
    } else {
        (ends.into_iter()).any(|end| holds_for_some_choice(later, payload, end))
    }
}

fn content_step() -> impl Strategy<Value = Step> {
    let bytes = proptest::collection::vec(proptest::sample::select(b"aaabbA".to_vec()), 1..4);
    let window = proptest::option::of(0u32..4);
    let ends_text = proptest::bool::weighted(0.2);
    (
        bytes,
        any::<bool>(),
        0..4,
        0u32..5,
        -3i32..3,
        window,
        (0..5, ends_text),
    )
        .prop_map(
            |(bytes, nocase, absolute, offset, distance, window, (negated, ends_text))| {
                let window = window.map(|more| Amount::Fixed(i64::from(more) + bytes.len() as i64));
                let place = if absolute == 0 {
                    Place::Absolute {
                        offset: Amount::Fixed(offset.into()),
                        depth: window,
                    }
                } else {
                    Place::Relative {
                        distance: Amount::Fixed(distance.into()),
                        within: window,
                    }
                };
                Step::content(
                    Content::new(bytes, nocase),
                    place,
                    ends_text,
                    false,
                    negated == 0,
                )
            },
        )
}

fn pattern_step() -> impl Strategy<Value = Step> {
    let texts = ["^a", "b\\z", "a+b?", "[ab]{2}", "", "(?:a|ab)b"];
    (
        proptest::sample::select(texts.to_vec()),
        any::<[bool; 2]>(),
        0..4,
    )
        .prop_map(|(text, [relative, dollar], negated)| {
            let pattern = PatternText {
                text: text.to_owned(),
                case_insensitive: false,
                dot_matches_newline: false,
                multi_line: false,
                ungreedy: false,
                also_before_last_newline: dollar,
                backtracks: false,
            };
            let pattern = Pattern::new(&pattern).expect("a pattern");
            Step::pattern(pattern, relative, negated == 0)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// Sets of cursors find a choice of occurrences if and only if there is
    /// one.
    #[test]
    fn sets_of_cursors_equal_every_choice(
        steps in proptest::collection::vec(prop_oneof![4 => content_step(), 1 => pattern_step()], 1..6),
        text in proptest::collection::vec(proptest::sample::select(b"aaaabbbA\n".to_vec()), 0..16),
    ) {
        let payload = Payload::new(steps.clone());
        let mut cursors = Cursors::default();
        let matches = payload.matches(Text::whole(&text), &mut cursors);
        prop_assume!(!cursors.is_limited);
        prop_assert_eq!(matches, holds_for_some_choice(&steps, &text, 0));
        if let (true, Some((content, _))) = (matches, payload.search_content()) {
            prop_assert!(content.occurs_in(&text));
        }
    }
}
