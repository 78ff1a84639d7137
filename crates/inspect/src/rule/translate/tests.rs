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
        ("a(?=b)", "look-around"),
        ("(?<!a)b", "look-around"),
        ("(a)\\1", "back-reference"),
        ("(?>a)", "atomic group"),
        ("a++", "possessive quantifier"),
        ("(?R)", "recursion"),
        ("a(?m)$", "inline flags"),
        ("\\x{263a}", "characters of more than one byte"),
        ("\\p{L}", "\\p"),
    ];
    for (pcre, expected) in pairs {
        assert_eq!(text(pcre), Err(unsupported(expected)), "{pcre}");
    }
    for wrong in ["a**", "+", "a|*", "[a", "(?<n", "a\\"] {
        assert!(matches!(text(wrong), Err(FaultKind::Pattern(_))), "{wrong}");
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
        pattern.is_match(text, 0)
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
