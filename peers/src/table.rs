//! The tables of docs/speed.md: every measured row.

use std::cmp::Ordering;
use std::fmt::Write;

use crate::harness::{FLOOR, PROTOTYPE, Row, Verdict, WEIR};
use crate::instructions::cannot_be_limited;
use crate::mac::is_mac;
use crate::matching::is_matching;
use crate::sketch::is_sketch;

/// A table: the works in it and the columns of its peers.
struct Table {
    has: fn(&str) -> bool,
    /// What the keys of its rows are called.
    keys: &'static str,
    /// Columns, by how the candidates' names begin.
    columns: &'static [&'static str],
    /// Whether the best of these columns is a measure of Weir.
    has_best_peer: bool,
}

const TABLES: [Table; 5] = [
    Table {
        has: |work| work.starts_with("read ") || work.starts_with("headers"),
        keys: "keys",
        columns: &["pcap-file", "pcap-parser", "cat", "etherparse"],
        has_best_peer: false,
    },
    Table {
        has: |work| work.starts_with("aes-") || work.starts_with("chacha20-"),
        keys: "keys",
        columns: &[
            PROTOTYPE,
            "ipsec-mb",
            "OpenSSL",
            "aws-lc-rs",
            "ring",
            "RustCrypto",
        ],
        has_best_peer: true,
    },
    Table {
        has: is_mac,
        keys: "keys",
        columns: &[PROTOTYPE, "Nettle", "ipsec-mb", "OpenSSL", "GMAC, ipsec-mb"],
        has_best_peer: false,
    },
    Table {
        has: is_sketch,
        keys: "stream",
        columns: &["datasketches", "hashbrown", FLOOR],
        has_best_peer: false,
    },
    Table {
        has: is_matching,
        keys: "patterns",
        columns: &[
            "Hyperscan",
            "Vectorscan",
            "aho-corasick",
            "weir, segmented filters",
        ],
        has_best_peer: false,
    },
];

/// The tables in Markdown, with a title for rows that were limited to a tier. Times
/// are nanoseconds per packet. Where several candidates belong to a column, it shows
/// the fastest one; the others, and those without column, stand behind all columns. The
/// best peer of limited rows is one that can be limited.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::new();
    let mut tiers: Vec<Option<&str>> = rows.iter().map(|row| row.tier.as_deref()).collect();
    tiers.sort_unstable();
    tiers.dedup();
    for tier in tiers {
        if let Some(tier) = tier {
            let _ = writeln!(text, "Weir and its peers limited to the tier {tier}:\n");
        }
        let of_tier: Vec<&Row> = rows
            .iter()
            .filter(|row| row.tier.as_deref() == tier)
            .collect();
        for table in &TABLES {
            table.write(&mut text, &of_tier);
        }
    }
    text
}

impl Table {
    fn write(&self, text: &mut String, rows: &[&Row]) {
        let rows: Vec<&Row> = rows
            .iter()
            .copied()
            .filter(|row| (self.has)(&row.work))
            .collect();
        if rows.is_empty() {
            return;
        }
        self.write_header(text);
        let is_same = |one: &&Row, other: &&Row| {
            (&one.work, one.bytes, &one.keys) == (&other.work, other.bytes, &other.keys)
        };
        for comparison in rows.chunk_by(is_same) {
            self.write_line(text, comparison);
        }
        text.push('\n');
    }

    fn write_header(&self, text: &mut String) {
        let _ = write!(text, "| work | bytes | {} | Weir |", self.keys);
        let mut alignments = "| --- | ---: | --- | ---: |".to_owned();
        for column in self.columns {
            let _ = write!(text, " {column} |");
            alignments.push_str(" ---: |");
        }
        text.push_str(" others |");
        alignments.push_str(" --- |");
        if self.has_best_peer {
            text.push_str(" best peer / Weir |");
            alignments.push_str(" ---: |");
        }
        let _ = writeln!(text, " target |\n{alignments} --- |");
    }

    fn write_line(&self, text: &mut String, comparison: &[&Row]) {
        let Some(first) = comparison.first() else {
            return;
        };
        let weir = comparison.iter().find(|row| row.subject == WEIR).copied();
        let _ = write!(
            text,
            "| {} | {} | {} |{}",
            first.work,
            first.bytes,
            first.keys,
            cell(weir.and_then(|row| row.ns_per_packet), 1),
        );
        let mut others: Vec<&Row> = comparison
            .iter()
            .copied()
            .filter(|row| row.subject != WEIR && row.ns_per_packet.is_some())
            .collect();
        let mut best_peer: Option<&Row> = None;
        for column in self.columns {
            let fastest = fastest(&others, column);
            text.push_str(&cell(fastest.and_then(|row| row.ns_per_packet), 1));
            others.retain(|row| fastest.is_none_or(|shown| shown.subject != row.subject));
            let is_unlimited = first.tier.is_some() && cannot_be_limited(column);
            if *column != PROTOTYPE && !is_unlimited {
                let both = best_peer.into_iter().chain(fastest);
                best_peer = both.min_by(|one, other| by_time(one, other));
            }
        }
        let others: Vec<String> = others.iter().map(|row| other(row)).collect();
        push_words(text, &others.join("; "));
        if self.has_best_peer {
            let ratio = best_peer.and_then(|row| row.ratio_to_weir);
            text.push_str(&cell(ratio, 2));
        }
        let verdicts = weir.map_or(&[][..], |row| &row.targets);
        let verdicts: Vec<String> = verdicts.iter().map(|it| self.verdict(it)).collect();
        push_words(text, &verdicts.join("; "));
        text.push('\n');
    }

    /// A verdict, with the name of the column instead of the whole name.
    fn verdict(&self, verdict: &Verdict) -> String {
        let subject = verdict.against.as_str();
        let mut columns = self.columns.iter().filter(|column| **column != PROTOTYPE);
        let column = columns.find(|column| subject.starts_with(**column));
        let verdict = Verdict {
            against: column.map_or(subject, |column| *column).to_owned(),
            ..verdict.clone()
        };
        verdict.to_string()
    }
}

/// A candidate without column of its own.
fn other(row: &Row) -> String {
    let ns = row.ns_per_packet.unwrap_or(f64::NAN);
    format!("{} {ns:.1}", row.subject)
}

fn cell(number: Option<f64>, digits: usize) -> String {
    match number {
        Some(number) => format!(" {number:.digits$} |"),
        None => " |".to_owned(),
    }
}

fn push_words(text: &mut String, words: &str) {
    let _ = match words {
        "" => write!(text, " |"),
        words => write!(text, " {words} |"),
    };
}

/// The fastest candidate of a column.
fn fastest<'a>(rows: &[&'a Row], column: &str) -> Option<&'a Row> {
    let forms = rows.iter().copied();
    forms
        .filter(|row| row.subject.starts_with(column))
        .min_by(|one, other| by_time(one, other))
}

fn by_time(one: &Row, other: &Row) -> Ordering {
    let time = |row: &Row| row.ns_per_packet.unwrap_or(f64::INFINITY);
    time(one).total_cmp(&time(other))
}

#[cfg(test)]
mod tests {
    use weir_bench::Target;

    use super::*;

    fn row(work: &str, subject: &str, ns: Option<f64>) -> Row {
        Row {
            work: work.to_owned(),
            bytes: 64,
            keys: "new".to_owned(),
            subject: subject.to_owned(),
            ns_per_packet: ns,
            ns_per_packet_quartiles: None,
            gbit_per_s: None,
            ratio_to_weir: ns.map(|ns| ns / 10.0),
            ratio_to_weir_quartiles: None,
            rounds: 35,
            targets: Vec::new(),
            note: None,
            tier: None,
            machine: String::new(),
        }
    }

    #[test]
    fn every_measured_row_is_in_a_table() {
        let mut weir = row("aes-128-gcm", WEIR, Some(10.0));
        weir.targets = [("ring 0.17", true), ("c-prototype, 64 bytes", false)]
            .map(|(against, decides)| Verdict {
                against: against.to_owned(),
                target: Target::SpeedAtLeast(2.0),
                decides,
                ratio: Some(1.9),
                ratio_quartiles: Some([1.8, 1.95]),
                met: Some(false),
            })
            .to_vec();
        let rows = [
            weir,
            row("aes-128-gcm", "c-prototype, 64 bytes", Some(5.1)),
            row("aes-128-gcm", "c-prototype, any length", Some(6.2)),
            row("aes-128-gcm", "ring 0.17", Some(19.0)),
            row("aes-128-gcm", "OpenSSL 3", None),
            row("aes-128-gcm", "something else", Some(7.5)),
            row("umac-64", WEIR, None),
            row("read pcap", WEIR, Some(3.5)),
            row("count-min 4x1024", FLOOR, Some(4.5)),
            row("match-mixed", "Hyperscan 5", Some(8.5)),
        ];
        let text = markdown(&rows);
        let line = "| aes-128-gcm | 64 | new | 10.0 | 5.1 | | | | 19.0 | | \
                    c-prototype, any length 6.2; something else 7.5 | 1.90 | \
                    >= 2 x speed of ring: not met, 1.90 (1.80-1.95); \
                    >= 2 x speed of c-prototype, 64 bytes: not met, 1.90 (1.80-1.95) \
                    (for the record) |";
        assert!(text.lines().any(|found| found == line), "{text}");
        for ns in rows.iter().filter_map(|row| row.ns_per_packet) {
            assert!(text.contains(&format!(" {ns:.1}")), "{ns}");
        }
        for line in text.lines().filter(|line| line.starts_with("| umac-64")) {
            assert_eq!(line, "| umac-64 | 64 | new | | | | | | | | |");
        }
    }

    #[test]
    fn limited_rows_have_tables_of_their_own() {
        let limited = Row {
            tier: Some("aesni".to_owned()),
            ..row("aes-128-gcm", WEIR, Some(20.0))
        };
        let peers = [("ring 0.17", 15.0), ("aws-lc-rs 1.19", 30.0)];
        let peers = peers.map(|(peer, ns)| Row {
            tier: limited.tier.clone(),
            ..row("aes-128-gcm", peer, Some(ns))
        });
        let mut rows = vec![limited, row("aes-128-gcm", WEIR, Some(10.0))];
        rows.extend(peers);
        let text = markdown(&rows);
        let (without_limit, with_limit) = text.split_once("limited to the tier aesni").unwrap();
        assert!(without_limit.contains(" 10.0 |") && !without_limit.contains(" 20.0 |"));
        assert!(with_limit.contains(" 20.0 |") && !with_limit.contains(" 10.0 |"));
        assert!(with_limit.contains(" 30.0 | 15.0 | | | 3.00 |"), "{text}");
    }
}
