//! The README's tables: works with a bar beside each peer; and MACs.

use std::fmt::Write;

use crate::bars;
use crate::harness::{Row, SEALING, Verdict, WEIR};
use crate::mac::is_mac;

/// Columns of the first table, by how their subjects' names begin.
const PEERS: [&str; 6] = [
    "ipsec-mb",
    "OpenSSL",
    "aws-lc-rs",
    "ring",
    "RustCrypto",
    "datasketches",
];

/// Columns of the MACs' table; of the last, the row is about another MAC.
const MAC_PEERS: [&str; 4] = ["Nettle", "ipsec-mb", "OpenSSL", "GMAC, ipsec-mb"];

/// The tables in Markdown, one after the other. Times are nanoseconds per
/// packet; of a peer that took part in several forms the best.
pub fn markdown(rows: &[Row]) -> String {
    let (macs, others): (Vec<&[Row]>, Vec<&[Row]>) = rows
        .chunk_by(|one, other| {
            (&one.work, one.bytes, &one.keys) == (&other.work, other.bytes, &other.keys)
        })
        .partition(|contest| is_mac(&contest[0].work));
    let mut tables = String::new();
    let columns = "| work | bytes | keys | Weir |";
    header(&mut tables, columns, &PEERS, "best peer / Weir | bar |");
    for contest in others {
        if let Some(weir) = weir(contest).filter(|weir| !weir.bars.is_empty()) {
            line(&mut tables, weir, contest);
        }
    }
    tables.push('\n');
    header(&mut tables, "| MAC | bytes | Weir |", &MAC_PEERS, "bar |");
    for contest in macs {
        if let Some(weir) = weir(contest) {
            mac_line(&mut tables, weir, contest);
        }
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
        let is_words = ["work", "MAC", "keys", "bar"].contains(&name.trim_matches(['|', ' ']));
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

/// What a MAC's row says, each bar with how far Weir got.
fn mac_line(table: &mut String, weir: &Row, contest: &[Row]) {
    let own_ns = weir.ns_per_packet.unwrap_or(f64::NAN);
    let _ = write!(table, "| {} | {} | {own_ns:.1} |", weir.work, weir.bytes);
    times(table, contest, &MAC_PEERS);
    let bars = weir.bars.iter().map(|verdict| {
        let ratio = verdict
            .ratio
            .map_or(String::new(), |ratio| format!(" ({ratio:.2})"));
        format!(
            "{} x {}: {}{ratio}",
            bars::factor(verdict.at_least),
            column(&verdict.against),
            met(verdict)
        )
    });
    let _ = writeln!(table, " {} |", bars.collect::<Vec<_>>().join("; "));
}

/// The MACs' column that a subject stands in, or the subject.
fn column(subject: &str) -> &str {
    let mut columns = MAC_PEERS.iter();
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
    let _ = writeln!(table, " {} |", bars.join(", "));
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
        Some(false) => "**not met**",
        None => "undecided",
    }
}
