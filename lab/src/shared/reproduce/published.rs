//! Published values: the table, and the numbers in its words.

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// Its name.
    pub id: String,
    /// Chapter, table or figure.
    pub place: String,
    /// What is stated.
    pub quantity: String,
    /// The value, as it is printed.
    pub value: String,
    /// Its unit.
    pub unit: String,
    /// Under which conditions.
    pub conditions: String,
}

/// How a stated number is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// It is that number, as rounded.
    Is,
    /// It is below.
    Below,
    /// It is above.
    Above,
}

/// The numbers of a stated value.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// How they are meant.
    pub relation: Relation,
    /// The numbers, each with half a unit of its last printed digit.
    pub numbers: Vec<(f64, f64)>,
}

/// A registry that does not cover its table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// A line of the table that is not six fields.
    #[error("line {line} of the published values: it does not have six fields")]
    Line {
        /// The line, from 1.
        line: usize,
    },
    /// A published row without an entry.
    #[error("row {0}: no model is registered for it")]
    NoModel(String),
    /// An entry without a published row.
    #[error("entry {0}: there is no published row of that id")]
    NoRow(&'static str),
    /// An id that two rows or two entries have.
    #[error("{0}: the id is used twice")]
    Twice(String),
}

/// The rows of a table of comma-separated values.
///
/// # Errors
/// A line that does not have six fields.
pub fn published(table: &str) -> Result<Vec<Published>, RegistryError> {
    let rows = table.lines().enumerate().skip(1).map(|(index, line)| {
        let [id, place, quantity, value, unit, conditions] = <[String; 6]>::try_from(fields(line))
            .map_err(|_| RegistryError::Line { line: index + 1 })?;
        Ok(Published {
            id,
            place,
            quantity,
            value,
            unit,
            conditions,
        })
    });
    rows.collect()
}

/// The ids of rows, in ranges.
pub(super) fn names<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    let ids: Vec<&str> = ids.collect();
    let series = |id: &&'a str| id.rsplit_once('-').map(|(series, _)| series);
    let ranges: Vec<String> = ids
        .chunk_by(|one, other| series(one) == series(other))
        .filter_map(|ids| match ids {
            [] => None,
            [only] => Some((*only).to_owned()),
            [first, .., last] => Some(format!("{first} to {last}")),
        })
        .collect();
    ranges.join(", ")
}

/// The fields of a line; a field in quotes may hold commas.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            _ => {
                if let Some(field) = fields.last_mut() {
                    field.push(letter);
                }
            }
        }
    }
    fields
}

impl Claim {
    /// Reads the numbers in a value.
    pub fn of(value: &str) -> Claim {
        let relation = if value.starts_with('<') || value.starts_with("under") {
            Relation::Below
        } else if value.starts_with('>') {
            Relation::Above
        } else {
            Relation::Is
        };
        let letters: Vec<char> = value.chars().collect();
        let mut numbers = Vec::new();
        let mut at = 0;
        while at < letters.len() {
            let before = at.checked_sub(1).map(|before| letters[before]);
            let in_word = before.is_some_and(char::is_alphabetic);
            if letters[at].is_ascii_digit() && !in_word {
                let (number, next) = number(&letters, at);
                numbers.extend(number);
                at = next;
            } else {
                at += 1;
            }
        }
        Claim { relation, numbers }
    }
}

/// The number that begins at a digit, with half a unit of its last digit, and
/// where it ends.
fn number(letters: &[char], start: usize) -> (Option<(f64, f64)>, usize) {
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let mut end = start;
    let mut mantissa = String::new();
    let mut decimals: Option<i32> = None;
    let mut minus = false;
    if let Some('-') = start.checked_sub(1).and_then(|before| letters.get(before)) {
        minus = !start
            .checked_sub(2)
            .is_some_and(|at| letters[at].is_alphanumeric());
    }
    loop {
        match letters.get(end) {
            Some(digit) if digit.is_ascii_digit() => {
                mantissa.push(*digit);
                decimals = decimals.map(|count| count + 1);
            }
            // A comma between groups of digits.
            Some(',') if is_digit(end + 1) && decimals.is_none() => {}
            Some('.') if is_digit(end + 1) && decimals.is_none() => {
                mantissa.push('.');
                decimals = Some(0);
            }
            _ => break,
        }
        end += 1;
    }
    let mut exponent = 0;
    if letters.get(end) == Some(&'e') && letters.get(end + 1) == Some(&'-') && is_digit(end + 2) {
        let digits: String = letters[end + 2..]
            .iter()
            .take_while(|letter| letter.is_ascii_digit())
            .collect();
        exponent = -digits.parse().unwrap_or(0);
        end += 2 + digits.len();
    }
    let number = mantissa.parse::<f64>().ok().map(|mantissa| {
        let scale = 10f64.powi(exponent);
        let sign = if minus { -1.0 } else { 1.0 };
        let half = 0.5 * 10f64.powi(-decimals.unwrap_or(0)) * scale;
        (sign * mantissa * scale, half)
    });
    (number, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(value: &str) -> Vec<f64> {
        Claim::of(value)
            .numbers
            .iter()
            .map(|(number, _)| *number)
            .collect()
    }

    #[test]
    fn numbers_are_found_in_words() {
        assert_eq!(numbers("31.5"), [31.5]);
        assert_eq!(numbers("~400"), [400.0]);
        assert_eq!(numbers("-9"), [-9.0]);
        assert!((numbers("1.43e-8")[0] / 1.43e-8 - 1.0).abs() < 1e-12);
        assert_eq!(numbers("35 -> 85"), [35.0, 85.0]);
        assert_eq!(numbers("6:1"), [6.0, 1.0]);
        assert_eq!(
            numbers("8 hashes; 27183 counters; 869,856 bytes"),
            [8.0, 27_183.0, 869_856.0]
        );
        assert_eq!(numbers("32-bit at 200 MHz"), [32.0, 200.0]);
        assert_eq!(Claim::of("<80").relation, Relation::Below);
        assert_eq!(Claim::of(">=88").relation, Relation::Above);
        let (_, half) = Claim::of("1.43e-8").numbers[0];
        assert!((half - 0.005e-8).abs() < 1e-15);
    }

    #[test]
    fn lines_have_six_fields() {
        let table = "id,where,quantity,value,unit,conditions\na-1,p. 2,\"size, all\",4,B,\n";
        let rows = published(table).expect("rows");
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].quantity, "size, all");
        let error = published(&format!("{table}a-2,p. 2\n"));
        assert_eq!(error, Err(RegistryError::Line { line: 3 }));
        assert_eq!(names(["a-1", "a-2", "b-7"].into_iter()), "a-1 to a-2, b-7");
    }
}
