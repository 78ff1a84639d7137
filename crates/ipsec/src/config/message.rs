//! What the TOML reader says, in words that name the way out.

/// The most edits between a misspelt name and the one that is suggested, per letter of it.
const LARGEST_DISTANCE: f64 = 0.4;

/// A message of the reader in one line: an unknown key or value with the nearest known one,
/// a key that is missing.
pub(super) fn explain(message: &str) -> String {
    // What is quoted from the file has visible line ends.
    let message = message.trim().replace('\n', "\\n").replace('\r', "\\r");
    let quoted = quoted(&message);
    let known = || quoted.get(1..).unwrap_or_default();
    match (message.split_once('`').map(|(before, _)| before), &*quoted) {
        (Some("unknown field "), [name, ..]) => {
            format!(
                "unknown key {name:?}; {}",
                suggestion(name, known(), "keys")
            )
        }
        (Some("unknown variant "), [name, ..]) => {
            format!(
                "unknown value {name:?}; {}",
                suggestion(name, known(), "values")
            )
        }
        (Some("missing field "), [name, ..]) => format!("the key {name:?} is missing"),
        (Some("duplicate field "), [name, ..]) => format!("the key {name:?} is given twice"),
        _ => message,
    }
}

/// What stands between backquotes.
fn quoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

/// The known name that is most like a misspelt one, or all of them.
fn suggestion(name: &str, known: &[&str], what: &str) -> String {
    let distance = |known: &&&str| strsim::damerau_levenshtein(name, known);
    match known.iter().min_by_key(distance) {
        None => "none is known here".to_owned(),
        Some(nearest)
            if distance(&nearest) as f64 <= LARGEST_DISTANCE * name.chars().count() as f64 =>
        {
            format!("did you mean {nearest:?}?")
        }
        Some(_) => format!("known {what}: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_nearest_word() {
        let cases = [
            (
                "unknown field `defalt`, expected `default` or `rule`",
                "unknown key \"defalt\"; did you mean \"default\"?",
            ),
            (
                "unknown field `x`, expected one of `default`, `rule`",
                "unknown key \"x\"; known keys: default, rule",
            ),
            (
                "unknown field `x`, there are no fields",
                "unknown key \"x\"; none is known here",
            ),
            (
                "unknown variant `tunel`, expected `tunnel` or `transport`",
                "unknown value \"tunel\"; did you mean \"tunnel\"?",
            ),
            ("missing field `spi`", "the key \"spi\" is missing"),
            ("duplicate field `spi`", "the key \"spi\" is given twice"),
            ("invalid type: a\nb", "invalid type: a\\nb"),
            ("", ""),
        ];
        for (message, explained) in cases {
            assert_eq!(explain(message), explained);
        }
    }
}
