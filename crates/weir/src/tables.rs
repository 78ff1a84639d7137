//! What happened, for people.

use std::cmp::Reverse;

use weir_console::table;
use weir_gateway::{AssociationRow, Traffic};
use weir_inspect::{AlertCount, GroupStatistics, InspectStatistics, ProfiledRule};

/// What a run read.
pub fn read_row(traffic: &Traffic) -> Vec<String> {
    let read = format!(
        "{} packets, {}",
        table::count(traffic.read.packets),
        table::captured(traffic.read.bytes, traffic.read.wire_bytes)
    );
    vec!["read".to_owned(), read]
}

/// The rows that every run's table begins with.
pub fn traffic_rows(traffic: &Traffic) -> Vec<Vec<String>> {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        read_row(traffic),
        row(
            "forwarded",
            format!(
                "{} packets, {}",
                table::count(traffic.forwarded),
                table::bytes(traffic.forwarded_bytes)
            ),
        ),
        row(
            "dropped",
            format!("{} packets", table::count(traffic.dropped())),
        ),
    ];
    let implausible = [
        ("missed", traffic.read.missed, "packets"),
        ("implausible time", traffic.read.time_implausible, "packets"),
        ("clock jumped", traffic.read.clock_jumps, "times"),
        (
            "implausible length",
            traffic.read.length_implausible,
            "packets",
        ),
    ];
    for (name, number, unit) in implausible {
        if number > 0 {
            rows.push(row(name, format!("{} {unit}", table::count(number))));
        }
    }
    for (reason, packets) in &traffic.drops {
        rows.push(row(
            &format!("  {}", reason.replace('_', " ")),
            format!("{} packets", table::count(*packets)),
        ));
    }
    rows
}

/// The rows that every run's table ends with.
pub fn speed_rows(traffic: &Traffic) -> Vec<Vec<String>> {
    let packets_per_s = if traffic.seconds > 0.0 {
        traffic.read.packets as f64 / traffic.seconds
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
                table::duration((traffic.seconds * 1e9) as u64)
            ),
        ),
        row(
            "latency",
            format!(
                "half below {}, 99 % below {}",
                table::duration(traffic.latency_ns.p50),
                table::duration(traffic.latency_ns.p99)
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

/// Alerts by rule, most frequent first.
pub fn alerts_table<'a>(counts: impl IntoIterator<Item = &'a AlertCount>) -> String {
    let mut rows: Vec<&AlertCount> = counts.into_iter().collect();
    rows.sort_by_key(|count| Reverse(count.alerts));
    if rows.is_empty() {
        return String::new();
    }
    let rows = rows
        .into_iter()
        .map(|count| {
            vec![
                table::count(count.alerts),
                count.signature_id.to_string(),
                count.signature.clone(),
            ]
        })
        .collect();
    table::table("alerts", &["packets", "sid", "rule"], &[0, 1], rows)
}

/// What the stages of the search turned away, and what groups of rules were
/// searched for, those that searched most first.
pub fn inspection_tables(statistics: &InspectStatistics, groups: &[GroupStatistics]) -> String {
    let mut text = String::new();
    let stages = statistics.false_candidates_by_stage.stages();
    let stages = stages.into_iter().filter(|(_, count)| *count > 0);
    let rows: Vec<Vec<String>> = stages
        .map(|(stage, count)| vec![stage.to_owned(), table::count(count)])
        .collect();
    if !rows.is_empty() {
        text += &table::table("false candidates", &["stage", "candidates"], &[1], rows);
    }
    let mut groups: Vec<&GroupStatistics> = groups.iter().filter(|group| group.bytes > 0).collect();
    groups.sort_by_key(|group| Reverse(group.bytes));
    if !groups.is_empty() {
        let rows = groups.iter().map(|group| {
            vec![
                group.name.clone(),
                table::count(group.contents),
                table::bytes(group.bytes),
                table::count(group.hits),
            ]
        });
        let header = ["group", "contents", "searched", "hits"];
        text += &table::table("groups of rules", &header, &[1, 2, 3], rows.collect());
    }
    text
}

/// Most rules of a profile that people are shown.
const SHOWN_RULES: usize = 20;

/// The dearest rules, if their cost was measured.
pub fn profile_table(profile: &[ProfiledRule]) -> String {
    if profile.is_empty() {
        return String::new();
    }
    let rows = profile.iter().take(SHOWN_RULES).map(|rule| {
        vec![
            table::count(rule.time_ns / 1000),
            table::count(rule.trials),
            table::count(rule.matches),
            rule.signature_id.to_string(),
            rule.signature.clone(),
        ]
    });
    let header = ["microseconds", "trials", "matches", "sid", "rule"];
    table::table("dearest rules", &header, &[0, 1, 2, 3], rows.collect())
}

/// What the associations did.
pub fn associations_table(rows: &[AssociationRow]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let rows = rows
        .iter()
        .map(|row| {
            vec![
                row.name.clone(),
                format!("0x{:08x}", row.spi),
                row.suite.clone(),
                table::count(row.packets),
                table::bytes(row.payload_bytes),
            ]
        })
        .collect();
    table::table(
        "associations",
        &["name", "SPI", "suite", "packets", "payload"],
        &[3, 4],
        rows,
    )
}
