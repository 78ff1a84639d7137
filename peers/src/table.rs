//! The README's table: works with a bar, Weir beside each peer.

use std::fmt::Write;

use crate::bars;
use crate::harness::{Row, SEALING, WEIR};

/// Columns, by how their subjects' names begin.
const PEERS: [&str; 6] = [
    "ipsec-mb",
    "OpenSSL",
    "aws-lc-rs",
    "ring",
    "RustCrypto",
    "datasketches",
];

/// The table in Markdown. Times are nanoseconds per packet; of a peer that took
/// part in several forms the best.
pub fn markdown(rows: &[Row]) -> String {
    let mut table = String::new();
    let _ = write!(table, "| work | bytes | keys | Weir |");
    for peer in PEERS {
        let _ = write!(table, " {peer} |");
    }
    table.push_str(" best peer / Weir | bar |\n| --- | ---: | --- | ---: |");
    for _ in PEERS {
        table.push_str(" ---: |");
    }
    table.push_str(" ---: | --- |\n");

    let contests = rows.chunk_by(|one, other| {
        (&one.work, one.bytes, &one.keys) == (&other.work, other.bytes, &other.keys)
    });
    for contest in contests {
        let weir = contest.iter().find(|row| row.subject == WEIR);
        if let Some(weir) = weir.filter(|weir| !weir.bars.is_empty()) {
            line(&mut table, weir, contest);
        }
    }
    table
}

fn line(table: &mut String, weir: &Row, contest: &[Row]) {
    let Row {
        work, bytes, keys, ..
    } = weir;
    let own_ns = weir.ns_per_packet.unwrap_or(f64::NAN);
    let _ = write!(table, "| {work} | {bytes} | {keys} | {own_ns:.1} |");
    for peer in PEERS {
        let _ = match best(contest, peer).and_then(|row| row.ns_per_packet) {
            Some(ns) => write!(table, " {ns:.1} |"),
            None => write!(table, " |"),
        };
    }
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

fn bar(verdict: &crate::harness::Verdict) -> String {
    let what = if verdict.against == SEALING {
        format!("{} x sealing", bars::factor(verdict.at_least))
    } else if PEERS.iter().any(|peer| verdict.against.starts_with(peer)) {
        format!("{} x", bars::factor(verdict.at_least))
    } else {
        format!("{} x {}", bars::factor(verdict.at_least), verdict.against)
    };
    let met = match verdict.met {
        Some(true) => "met",
        Some(false) => "**not met**",
        None => "undecided",
    };
    format!("{what} {met}")
}
