//! The tables of docs/speed.md: every measured row of ciphers, MACs, sketches and the search.

use std::fmt::Write;

use crate::bars;
use crate::harness::{FLOOR, Row, SEALING, Verdict, WEIR};
use crate::mac::is_mac;
use crate::matching::is_matching;
use crate::sketch::is_sketch;

/// Columns of the first table, by how their subjects' names begin.
const PEERS: [&str; 5] = ["ipsec-mb", "OpenSSL", "aws-lc-rs", "ring", "RustCrypto"];

/// Columns of the MACs' table; of the last, the row is about another MAC.
const MAC_PEERS: [&str; 4] = ["Nettle", "ipsec-mb", "OpenSSL", "GMAC, ipsec-mb"];

/// Columns of the sketches' table.
const SKETCH_PEERS: [&str; 3] = ["datasketches", "hashbrown", FLOOR];

/// Columns of the table of contents.
const MATCH_PEERS: [&str; 4] = [
    "Hyperscan",
    "Vectorscan",
    "aho-corasick",
    "weir, segmented filters",
];

/// The tables in Markdown, one after the other: all rows, also where Weir is slower. Times are
/// nanoseconds per packet; of a peer that took part in several forms the best.
pub fn markdown(rows: &[Row]) -> String {
    let contests = || {
        rows.chunk_by(|one, other| {
            (&one.work, one.bytes, &one.keys) == (&other.work, other.bytes, &other.keys)
        })
        .filter_map(|contest| Some((weir(contest)?, contest)))
    };
    let mut tables = String::new();
    let columns = "| work | bytes | keys | Weir |";
    header(&mut tables, columns, &PEERS, "best peer / Weir | target |");
    let is_other = |work: &str| !is_mac(work) && !is_sketch(work) && !is_matching(work);
    for (weir, contest) in contests().filter(|(weir, _)| is_other(&weir.work)) {
        line(&mut tables, weir, contest);
    }
    tables.push('\n');
    header(
        &mut tables,
        "| MAC | bytes | Weir |",
        &MAC_PEERS,
        "target |",
    );
    for (weir, contest) in contests().filter(|(weir, _)| is_mac(&weir.work)) {
        let bytes = weir.bytes.to_string();
        line_with_ratios(&mut tables, &bytes, weir, contest, &MAC_PEERS);
    }
    tables.push('\n');
    let columns = "| sketch | stream | Weir |";
    header(&mut tables, columns, &SKETCH_PEERS, "target |");
    for (weir, contest) in contests().filter(|(weir, _)| is_sketch(&weir.work)) {
        line_with_ratios(&mut tables, &weir.keys, weir, contest, &SKETCH_PEERS);
    }
    tables.push('\n');
    let columns = "| search | patterns | Weir |";
    header(&mut tables, columns, &MATCH_PEERS, "target |");
    for (weir, contest) in contests().filter(|(weir, _)| is_matching(&weir.work)) {
        line_with_ratios(&mut tables, &weir.keys, weir, contest, &MATCH_PEERS);
    }
    tables
}

/// Weir's row.
fn weir(contest: &[Row]) -> Option<&Row> {
    contest.iter().find(|row| row.subject == WEIR)
}

/// The names of the columns, and below how they are aligned: words to the left,
/// numbers to the right.
fn header(table: &mut String, front: &str, peers: &[&str], end: &str) {
    let _ = writeln!(table, "{front} {} | {end}", peers.join(" | "));
    let names = front.split(" | ").chain(peers.iter().copied());
    for name in names.chain(end.trim_end_matches(" |").split(" | ")) {
        let is_words = [
            "work", "MAC", "sketch", "search", "patterns", "keys", "stream", "target",
        ]
        .contains(&name.trim_matches(['|', ' ']));
        table.push_str(if is_words { "| --- " } else { "| ---: " });
    }
    table.push_str("|\n");
}

/// The peers' columns.
fn times(table: &mut String, contest: &[Row], peers: &[&str]) {
    for peer in peers {
        let _ = match best(contest, peer).and_then(|row| row.ns_per_packet) {
            Some(ns) => write!(table, " {ns:.1} |"),
            None => write!(table, " |"),
        };
    }
}

/// A row of which `second` is the second column, each bar with how far Weir got.
fn line_with_ratios(table: &mut String, second: &str, weir: &Row, contest: &[Row], peers: &[&str]) {
    let own_ns = weir.ns_per_packet.unwrap_or(f64::NAN);
    let _ = write!(table, "| {} | {second} | {own_ns:.1} |", weir.work);
    times(table, contest, peers);
    let bars = weir.bars.iter().map(|verdict| {
        let ratio = verdict
            .ratio
            .map_or(String::new(), |ratio| format!(" ({ratio:.2})"));
        format!(
            "{} x {}: {}{ratio}",
            bars::factor(verdict.at_least),
            column(&verdict.against, peers),
            met(verdict)
        )
    });
    let bars: Vec<String> = bars.collect();
    let _ = match bars.is_empty() {
        true => writeln!(table, " |"),
        false => writeln!(table, " {} |", bars.join("; ")),
    };
}

/// The column that a subject stands in, or the subject.
fn column<'a>(subject: &'a str, peers: &[&'a str]) -> &'a str {
    let mut columns = peers.iter();
    columns
        .find(|column| subject.starts_with(**column))
        .map_or(subject, |column| *column)
}

fn line(table: &mut String, weir: &Row, contest: &[Row]) {
    let Row {
        work, bytes, keys, ..
    } = weir;
    let own_ns = weir.ns_per_packet.unwrap_or(f64::NAN);
    let _ = write!(table, "| {work} | {bytes} | {keys} | {own_ns:.1} |");
    times(table, contest, &PEERS);
    let peers = PEERS.iter().filter_map(|peer| best(contest, peer));
    let ratio = peers.min_by(|one, other| by_time(one, other));
    let _ = match ratio.and_then(|row| row.ratio_to_weir) {
        Some(ratio) => write!(table, " {ratio:.2} |"),
        None => write!(table, " |"),
    };
    let bars: Vec<String> = weir.bars.iter().map(bar).collect();
    let _ = match bars.is_empty() {
        true => writeln!(table, " |"),
        false => writeln!(table, " {} |", bars.join(", ")),
    };
}

/// The row of a peer's best form.
fn best<'a>(contest: &'a [Row], peer: &str) -> Option<&'a Row> {
    let forms = contest
        .iter()
        .filter(|row| row.subject.starts_with(peer) && row.ns_per_packet.is_some());
    forms.min_by(|one, other| by_time(one, other))
}

fn by_time(one: &Row, other: &Row) -> std::cmp::Ordering {
    let time = |row: &Row| row.ns_per_packet.unwrap_or(f64::INFINITY);
    time(one).total_cmp(&time(other))
}

fn bar(verdict: &Verdict) -> String {
    let what = if verdict.against == SEALING {
        format!("{} x sealing", bars::factor(verdict.at_least))
    } else if PEERS.iter().any(|peer| verdict.against.starts_with(peer)) {
        format!("{} x", bars::factor(verdict.at_least))
    } else {
        format!("{} x {}", bars::factor(verdict.at_least), verdict.against)
    };
    format!("{what} {}", met(verdict))
}

fn met(verdict: &Verdict) -> &'static str {
    match verdict.met {
        Some(true) => "met",
        Some(false) => "not met",
        None => "undecided",
    }
}
