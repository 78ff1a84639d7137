//! Patterns of both languages side by side.

use super::*;
use crate::payload::Pattern;

fn text(pattern: &str) -> Result<String, FaultKind> {
    translate(pattern.as_bytes(), Dialect::default()).map(|pattern| pattern.text)
}

#[test]
fn spelling_is_rewritten() {
    let pairs = [
        ("a(b|c)(?<n>d)(?:e)", "a(?:b|c)(?:d)(?:e)"),
        ("x{2,3}y{z{}", "x{2,3}y\\{z\\{\\x7D"),
        (
            "[]a-z-[\\w-.&&\\x2f]",
            "[\\]a-z\\x2D\\x5B\\w\\x2D\\x2E\\x26\\x26\\x2F]",
        ),
        ("[^\\]\\b\\101-\\d]", "[^\\x5D\\x08A\\x2D\\d]"),
        ("[[:alpha:]-z][a-]", "[[:alpha:]\\x2Dz][a\\x2D]"),
        (
            "\\/\\x3a\\x{41}\\cA\\015\\e\\<",
            "\\x2F\\x3AA\\x01\\x0D\\x1B\\x3C",
        ),
        ("\\Qa.b\\E+", "a\\x2Eb+"),
        ("a+?b??", "a+?b??"),
        ("(?#note)a", "a"),
        ("ä", "\\xC3\\xA4"),
    ];
    for (pcre, expected) in pairs {
        assert_eq!(text(pcre).as_deref(), Ok(expected), "{pcre}");
        let pattern = translate(pcre.as_bytes(), Dialect::default()).map(|t| Pattern::new(&t));
        assert!(matches!(pattern, Ok(Ok(_))), "{pcre}");
    }
}

#[test]
fn what_the_engine_lacks_is_named() {
    let pairs = [
        ("(?(1)a)", "conditional group"),
        ("(?|a|b)", "branch reset"),
        ("(?R)", "recursion"),
        ("a(?m)$", "inline flags"),
        ("\\x{263a}", "characters of more than one byte"),
        ("\\p{L}", "\\p"),
    ];
    for (pcre, expected) in pairs {
        assert_eq!(text(pcre), Err(unsupported(expected)), "{pcre}");
    }
    for wrong in ["a**", "+", "a|*", "[a", "(?<n", "a\\", "(a)\\2", "\\k<n>"] {
        let pattern = translate(wrong.as_bytes(), Dialect::default());
        assert!(matches!(pattern, Err(FaultKind::Pattern(_))), "{wrong}");
    }
}

#[test]
fn blanks_are_taken_away_where_the_flag_says_so() {
    let extended = Dialect {
        extended: true,
        ..Dialect::default()
    };
    let text = translate(b"a b # c\n [ #]\\ d", extended).map(|t| t.text);
    assert_eq!(text.as_deref(), Ok("ab[\\x20\\x23]\\x20d"));
    let inline = translate(b"(?xi)a b", Dialect::default());
    assert!(inline.is_ok_and(|t| t.case_insensitive && t.text == "ab"));
}

#[test]
fn dollar_is_the_end_or_the_newline_before_it() {
    let found = |pcre: &[u8], dialect, text: &[u8]| {
        let text_of_pattern = translate(pcre, dialect).expect("a pattern");
        let pattern = Pattern::new(&text_of_pattern).expect("a pattern");
        pattern.is_match(text, 0, &mut 0) == Ok(true)
    };
    let plain = Dialect::default();
    let end_only = Dialect {
        dollar_end_only: true,
        ..plain
    };
    let lines = Dialect {
        multi_line: true,
        ..plain
    };
    let cases: [(&[u8], [bool; 3]); 4] = [
        (b"xa", [true, true, true]),
        (b"xa\n", [true, false, true]),
        (b"a\nb", [false, false, true]),
        (b"a\n\n", [false, false, true]),
    ];
    for (text, expected) in cases {
        let results = [plain, end_only, lines].map(|dialect| found(b"a$", dialect, text));
        assert_eq!(results, expected, "{text:?}");
    }
    assert!(!found(b"a\\z", plain, b"a\n") && found(b"a\\Z", plain, b"a\n"));
}

fn pattern(pcre: &[u8], dialect: Dialect) -> Pattern {
    Pattern::new(&translate(pcre, dialect).expect("a pattern")).expect("a pattern")
}

#[test]
fn look_around_references_and_possessive_quantifiers_search_bytes() {
    let cases: &[(&[u8], &[u8], bool)] = &[
        (b"a(?=\\xff)", b"a\xff", true),
        (b"a(?=\\xff)", b"a\xfe\xff", false),
        (b"(?<!\xe4)b", b"\xc3b", true),
        (b"(?<!\xe4)b", b"\xe4b", false),
        (b"(?<=a|bc)d", b"bcd", true),
        (b"(.)(.)\\2\\1", b"\xff\x80\x80\xff", true),
        (b"(.)(.)\\2\\1", b"\xff\x80\xff\x80", false),
        (b"(?P<v>\\w+)=\\k<v>;", b"x=ab; ab=ab;", true),
        (b"(?P<v>\\w+)=(?P=v);", b"ab=abc;", false),
        (b"(a)(b)\\g{-1}0", b"abb0", true),
        (b"(a)\\10", b"aa0", false),
        (b"a++a", b"aaa", false),
        (b"a{1,2}+a", b"aaa", true),
        (b"a{1,3}+a", b"aaa", false),
        (b"(?>a|ab)c", b"abc", false),
        (b"(?=a)[^\\x00-\\x7f]|\\x90(?!b)", b"\x90", true),
        (b"(?!a).$", b"b\n", true),
        (b"(?!a)b\\z", b"b\n", false),
        (b"x\\Ky", b"xy", true),
        (b"(?i)(?!b)(a)\\1", b"aA", true),
        (b"(?U)(?!b)a+(.)\\1", b"aaa", true),
        (b"(?s)(?!b)a.c", b"a\nc", true),
        (b"(?!b)a.c", b"a\nc", false),
        (b"(?!b)[[:digit:]]\\s\\W", b"1\x0b\xe4", true),
    ];
    for (pcre, text, expected) in cases {
        let shown = String::from_utf8_lossy(pcre);
        let found = pattern(pcre, Dialect::default()).is_match(text, 0, &mut 0);
        assert_eq!(found, Ok(*expected), "{shown} in {text:?}");
    }
}

#[test]
fn no_line_starts_behind_the_last_newline() {
    let lines = Dialect {
        multi_line: true,
        ..Dialect::default()
    };
    let cases: &[(&[u8], &[u8], bool)] = &[
        (b"a\\n^", b"a\n", false),
        (b"a\\n^", b"a\nb", true),
        (b"\\n^b?", b"a\n", false),
        (b"^", b"", true),
        (b"\\n^b", b"a\nb\n", true),
    ];
    for (pcre, text, expected) in cases {
        let found = pattern(pcre, lines).is_match(text, 0, &mut 0);
        assert_eq!(found, Ok(*expected), "{}", String::from_utf8_lossy(pcre));
    }
}

#[test]
fn a_boundary_of_words_asks_for_the_end() {
    let cases = [
        ("a\\b", true),
        ("a$", true),
        ("a+b", false),
        ("^a", false),
        ("a(?!b)", true),
    ];
    for (pcre, expected) in cases {
        let pattern = pattern(pcre.as_bytes(), Dialect::default());
        assert_eq!(pattern.may_ask_for_end(), expected, "{pcre}");
    }
}

#[test]
fn a_search_that_backtracks_without_end_is_given_up() {
    for pcre in [
        "(?!z)(a+)+\\1b",
        "(a|a)*+(?:(a*)*)*(?=c)\\1",
        "(?=(a+))(a|aa)+\\1c",
    ] {
        let text = [b'a'; 2000];
        let found = pattern(pcre.as_bytes(), Dialect::default()).is_match(&text, 0, &mut 0);
        assert!(found != Ok(true), "{pcre}");
    }
    let pattern = pattern(b"(?!z)(a+)+\\1b", Dialect::default());
    assert!(pattern.is_match(&[b'a'; 2000], 0, &mut 0).is_err());
}
