//! Tables for people.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

/// Number of packets, bytes and the like, in groups of three digits.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Bytes in the unit that fits.
pub fn bytes(number: u64) -> String {
    scaled(number as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"])
}

/// Captured bytes, and where there were more of them on the wire, how many.
pub fn captured(captured_bytes: u64, wire_bytes: u64) -> String {
    let captured = bytes(captured_bytes);
    match wire_bytes > captured_bytes {
        true => format!("{captured} of {} on the wire", bytes(wire_bytes)),
        false => captured,
    }
}

/// Nanoseconds in the unit that fits.
pub fn duration(ns: u64) -> String {
    scaled(ns as f64, 1000.0, &["ns", "µs", "ms", "s"])
}

fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let decimals = if unit == 0 || value >= 100.0 { 0 } else { 1 };
    format!("{value:.decimals$} {}", units[unit])
}

/// A line under the header, and nothing else that is not data.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table with a title above it, if there is one; columns named in `right` are numbers. An
/// empty header has no line.
pub fn table(title: &str, header: &[&str], right: &[usize], rows: Vec<Vec<String>>) -> String {
    table_of_width(None, title, header, right, rows)
}

/// Columns that a table with long text is wrapped to, for terminals and mail.
pub const TEXT_COLUMNS: u16 = 100;

/// The same with cells wrapped, so that no line is longer than [`TEXT_COLUMNS`].
pub fn wrapped(title: &str, header: &[&str], right: &[usize], rows: Vec<Vec<String>>) -> String {
    table_of_width(Some(TEXT_COLUMNS), title, header, right, rows)
}

/// A paragraph of lines of at most [`TEXT_COLUMNS`], all but the first indented
/// by as many spaces as `first` has characters, which begins the first.
pub fn paragraph(first: &str, text: &str) -> String {
    let indent = first.chars().count();
    let mut lines = first.to_owned();
    let mut columns = indent;
    for (index, word) in text.split_whitespace().enumerate() {
        let length = word.chars().count();
        if index > 0 {
            if columns + 1 + length > usize::from(TEXT_COLUMNS) {
                lines.push('\n');
                lines.extend(std::iter::repeat_n(' ', indent));
                columns = indent;
            } else {
                lines.push(' ');
                columns += 1;
            }
        }
        lines.push_str(word);
        columns += length;
    }
    lines.push('\n');
    lines
}

fn table_of_width(
    columns: Option<u16>,
    title: &str,
    header: &[&str],
    right: &[usize],
    rows: Vec<Vec<String>>,
) -> String {
    let mut table = Table::new();
    if let Some(columns) = columns {
        table.set_width(columns);
    }
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic);
    if !header.is_empty() {
        table.set_header(header);
    }
    table.add_rows(rows);
    for column in right {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let heading = if title.is_empty() { "" } else { "\n" };
    format!("{title}{heading}{}\n\n", table.trim_fmt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_wrapped() {
        let text = "word ".repeat(60);
        let rows = vec![vec!["name".to_owned(), text.clone()]];
        let shown = wrapped("", &["a", "b"], &[], rows) + &paragraph(" 1  ", &text);
        assert!(shown.lines().count() > 7, "{shown}");
        assert!(
            shown.lines().all(|line| line.chars().count() <= 100),
            "{shown}"
        );
        assert_eq!(shown.matches("word").count(), 120);
        assert!(
            paragraph(" 1  ", &text)
                .lines()
                .skip(1)
                .all(|line| line.starts_with("    word"))
        );
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(duration(1_500_000), "1.5 ms");
    }
}
