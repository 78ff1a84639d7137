//! Candidates, interleaved rounds, and the table of them.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use serde::Serialize;

use crate::run::Run;
use crate::{bare, engine, latency, packets, ports, streams, testpmd};

/// Measures Weir's live ports beside bare forwarders.
#[derive(Parser)]
struct Arguments {
    /// Rounds; each has every candidate at every rate.
    #[arg(long, default_value_t = 11)]
    rounds: usize,
    /// How long each candidate runs in a round.
    #[arg(long, default_value_t = 0.5)]
    seconds: f64,
    /// Only works whose name contains this text: xdp, packet, tun, latency.
    #[arg(long, default_value = "")]
    only: String,
    /// Rows as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// A forwarder from an interface to another.
pub struct Candidate {
    pub work: &'static str,
    pub name: &'static str,
    pub forward: fn(&str, &str, &Run) -> u64,
}

impl Candidate {
    /// Whether its program is installed.
    pub fn is_there(&self) -> bool {
        self.name != "testpmd" || testpmd::is_installed()
    }
}

/// What one run showed.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub seconds: f64,
    pub sent: u64,
    pub arrived: u64,
    pub bytes: u64,
    /// CPU time of the forwarder's thread.
    pub cpu_ns: u64,
}

/// A line of the table.
#[derive(Serialize)]
struct Row {
    work: &'static str,
    candidate: &'static str,
    /// Packets per second that were sent, or `max`.
    rate: String,
    /// Medians with quartiles, of all rounds.
    cpu_ns_per_packet: Option<[f64; 3]>,
    /// The candidate's CPU time per packet divided by the bare forwarder's of the same round.
    ratio_to_bare: Option<[f64; 3]>,
    packets_per_s: Option<[f64; 3]>,
    gbit_per_s: Option<[f64; 3]>,
    lost_percent: Option<[f64; 3]>,
    note: Option<&'static str>,
}

pub fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let duration = Duration::try_from_secs_f64(arguments.seconds).context("--seconds")?;
    let mut rows = Vec::new();
    for work in ["xdp", "packet"] {
        if work.contains(&arguments.only) {
            rows.extend(packet_rows(work, arguments.rounds, duration));
        }
    }
    if "tun".contains(&arguments.only) {
        rows.extend(stream_rows(arguments.rounds, duration));
    }
    let mut latencies = Vec::new();
    for work in ["xdp", "packet"] {
        if format!("{work}-latency").contains(&arguments.only) {
            latencies.extend(latency::rows(work, arguments.rounds, duration));
        }
    }
    if let Some(path) = &arguments.json {
        let file = File::create(path).with_context(|| path.display().to_string())?;
        let document = serde_json::json!({ "rates": rows, "latencies": latencies });
        serde_json::to_writer_pretty(file, &document)?;
    }
    Ok(())
}

pub fn candidates(work: &str) -> Vec<Candidate> {
    let all = [
        (
            "xdp",
            "bare",
            bare::xdp::forward as fn(&str, &str, &Run) -> u64,
        ),
        ("xdp", "weir-port", ports::xdp),
        ("xdp", "weir", engine::xdp),
        ("xdp", "testpmd", testpmd::forward),
        ("packet", "bare", bare::packet::forward),
        ("packet", "weir-port", ports::packet),
        ("packet", "weir", engine::packet),
    ];
    let all = all.into_iter().map(|(work, name, forward)| Candidate {
        work,
        name,
        forward,
    });
    all.filter(|candidate| candidate.work == work).collect()
}

fn packet_rows(work: &'static str, rounds: usize, duration: Duration) -> Vec<Row> {
    let candidates = candidates(work);
    let rates = [Some(100_000), Some(300_000), None];
    let mut measured = vec![vec![Vec::new(); rates.len()]; candidates.len()];
    let namespace = packets::network();
    for round in 0..=rounds {
        for (rate_number, rate) in rates.iter().enumerate() {
            for (number, candidate) in candidates.iter().enumerate().filter(|(_, c)| c.is_there()) {
                let one = packets::measure(&namespace, candidate, *rate, duration);
                // The first round warms up.
                if round > 0 {
                    measured[number][rate_number].push(one);
                }
            }
        }
    }
    let mut rows = Vec::new();
    for (rate_number, rate) in rates.iter().enumerate() {
        for (number, candidate) in candidates.iter().enumerate() {
            let name = rate.map_or("max".to_owned(), |rate| rate.to_string());
            let own = &measured[number][rate_number];
            rows.push(Row::of(
                work,
                candidate.name,
                name,
                own,
                &measured[0][rate_number],
            ));
        }
    }
    rows
}

fn stream_rows(rounds: usize, duration: Duration) -> Vec<Row> {
    let candidates: [(&str, streams::Forward); 2] =
        [("bare", streams::plain), ("weir-port", streams::ports)];
    let mut measured = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for ((_, forward), measured) in candidates.iter().zip(&mut measured) {
            let one = streams::measure(*forward, duration);
            if round > 0 {
                measured.push(one);
            }
        }
    }
    let names = candidates.iter().zip(&measured);
    let rows =
        names.map(|((name, _), own)| Row::of("tun", name, "tcp".to_owned(), own, &measured[0]));
    rows.collect()
}

impl Row {
    /// Prints the row too.
    fn of(
        work: &'static str,
        candidate: &'static str,
        rate: String,
        own: &[Measured],
        bare: &[Measured],
    ) -> Row {
        let polls = candidate == "testpmd";
        let cpu = |one: &Measured| one.cpu_ns as f64 / one.arrived.max(1) as f64;
        let pairs = || own.iter().zip(bare);
        let row = Row {
            work,
            candidate,
            rate,
            cpu_ns_per_packet: quartiles(own.iter().map(cpu)).filter(|_| !polls),
            ratio_to_bare: quartiles(pairs().map(|(own, bare)| cpu(own) / cpu(bare)))
                .filter(|_| !polls),
            packets_per_s: quartiles(own.iter().map(|one| one.arrived as f64 / one.seconds)),
            gbit_per_s: quartiles(own.iter().map(|one| one.bytes as f64 * 8e-9 / one.seconds)),
            lost_percent: quartiles(own.iter().map(|one| {
                let lost = one.sent.saturating_sub(one.arrived);
                100.0 * lost as f64 / one.sent.max(1) as f64
            })),
            note: match (own.is_empty(), polls) {
                (true, _) => Some("not installed"),
                (false, true) => Some("polls"),
                (false, false) => None,
            },
        };
        println!(
            "{work:6} {:>7} {candidate:9} {}, {}, {}, {}, {}{}",
            row.rate,
            show("ns/packet", row.cpu_ns_per_packet, 0),
            show("ratio", row.ratio_to_bare, 3),
            show("packets/s", row.packets_per_s, 0),
            show("Gbit/s", row.gbit_per_s, 2),
            show("lost %", row.lost_percent, 3),
            row.note.map_or(String::new(), |note| format!(", {note}")),
        );
        row
    }
}

/// A column of a line.
pub fn show(name: &str, values: Option<[f64; 3]>, digits: usize) -> String {
    match values {
        None => format!("{name} -"),
        Some([lower, median, upper]) => {
            format!("{name} {median:.digits$} ({lower:.digits$}-{upper:.digits$})")
        }
    }
}

/// Lower quartile, median, upper quartile.
pub fn quartiles(values: impl Iterator<Item = f64>) -> Option<[f64; 3]> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let at = |share: f64| {
        let place = share * last as f64;
        let (low, high) = (
            values[place.floor() as usize],
            values[place.ceil() as usize],
        );
        low + (high - low) * place.fract()
    };
    Some([at(0.25), at(0.5), at(0.75)])
}

#[cfg(test)]
mod tests {
    use super::quartiles;

    #[test]
    fn quartiles_are_between_values() {
        assert_eq!(quartiles([].into_iter()), None);
        assert_eq!(quartiles([3.0].into_iter()), Some([3.0; 3]));
        let values = [5.0, 1.0, 2.0, 4.0, 3.0];
        assert_eq!(quartiles(values.into_iter()), Some([2.0, 3.0, 4.0]));
        assert_eq!(quartiles([1.0, 2.0].into_iter()), Some([1.25, 1.5, 1.75]));
    }
}
