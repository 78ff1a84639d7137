//! What the thesis states: the table, and the numbers in its words.

/// The rows, as comma-separated values.
const TABLE: &str = include_str!("published.csv");

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// Its name.
    pub id: String,
    /// Chapter, table or figure.
    pub place: String,
    /// What is stated.
    pub quantity: String,
    /// The value, in the thesis's words.
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

/// All rows.
pub fn published() -> Vec<Published> {
    TABLE
        .lines()
        .skip(1)
        .filter_map(|line| {
            let [id, place, quantity, value, unit, conditions] =
                <[String; 6]>::try_from(fields(line)).ok()?;
            Some(Published {
                id,
                place,
                quantity,
                value,
                unit,
                conditions,
            })
        })
        .collect()
}

/// The names of rows, in ranges.
pub(super) fn names(rows: &[Published]) -> String {
    let series = |row: &Published| row.id.rsplit_once('-').map(|(series, _)| series.to_owned());
    let ranges: Vec<String> = rows
        .chunk_by(|one, other| series(one) == series(other))
        .filter_map(|rows| Some(format!("{} to {}", rows.first()?.id, rows.last()?.id)))
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
    use std::collections::BTreeSet;

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
    fn the_table_is_whole() {
        let rows = published();
        assert_eq!(rows.len(), 107);
        assert_eq!(
            names(&rows),
            "imagine-001 to imagine-103, imagine-text-01 to imagine-text-04"
        );
        let ids: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids.len(), rows.len());
        assert!(rows.iter().all(|row| !row.value.is_empty()));
    }
}
