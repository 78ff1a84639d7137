//! Tables for people.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::Traffic;

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
    let mut table = Table::new();
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

/// The rows that every run's table begins with.
pub fn traffic_rows(traffic: &Traffic) -> Vec<Vec<String>> {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row(
            "read",
            format!(
                "{} packets, {}",
                count(traffic.packets),
                captured(traffic.bytes, traffic.wire_bytes)
            ),
        ),
        row(
            "forwarded",
            format!(
                "{} packets, {}",
                count(traffic.forwarded),
                bytes(traffic.forwarded_bytes)
            ),
        ),
        row("dropped", format!("{} packets", count(traffic.dropped()))),
    ];
    let implausible = [
        ("implausible time", traffic.time_implausible, "packets"),
        ("clock jumped", traffic.clock_jumps, "times"),
        ("implausible length", traffic.length_implausible, "packets"),
    ];
    for (name, number, unit) in implausible {
        if number > 0 {
            rows.push(row(name, format!("{} {unit}", count(number))));
        }
    }
    for (reason, packets) in &traffic.drops {
        rows.push(row(
            &format!("  {}", reason.replace('_', " ")),
            format!("{} packets", count(*packets)),
        ));
    }
    rows
}

/// The row that says how full the cipher's lanes were, if there is anything to
/// say.
pub fn lane_row(efficiency: Option<f64>) -> Option<Vec<String>> {
    let percent = 100.0 * efficiency?;
    Some(vec!["lanes".to_owned(), format!("{percent:.1} % filled")])
}

/// The rows that every run's table ends with.
pub fn speed_rows(traffic: &Traffic) -> Vec<Vec<String>> {
    let packets_per_s = if traffic.seconds > 0.0 {
        traffic.packets as f64 / traffic.seconds
    } else {
        0.0
    };
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row(
            "throughput",
            format!(
                "{:.2} Gbit/s, {:.2} million packets/s, for {}",
                traffic.gbit_per_s,
                packets_per_s / 1e6,
                duration((traffic.seconds * 1e9) as u64)
            ),
        ),
        row(
            "latency",
            format!(
                "half below {}, 99 % below {}",
                duration(traffic.latency_ns.p50),
                duration(traffic.latency_ns.p99)
            ),
        ),
    ];
    if traffic.interrupted {
        rows.push(row(
            "interrupted",
            "by a signal; what was read is done".to_owned(),
        ));
    }
    if traffic.truncated {
        rows.push(row(
            "truncated",
            "the input ends inside a packet".to_owned(),
        ));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(duration(1_500_000), "1.5 ms");
    }
}
