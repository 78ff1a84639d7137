//! How long packets are on their way through each forwarder.

use std::time::Duration;

use serde::Serialize;

use crate::packets;
use crate::rounds::{candidates, quartiles, show};

/// A line of the table. Medians of all rounds, with quartiles.
#[derive(Serialize)]
pub struct Row {
    work: &'static str,
    candidate: &'static str,
    /// Of the packets of a round.
    p50_ns: Option<[f64; 3]>,
    p99_ns: Option<[f64; 3]>,
    /// Divided by the bare forwarder's of the same round.
    p50_ratio_to_bare: Option<[f64; 3]>,
    p99_ratio_to_bare: Option<[f64; 3]>,
}

/// Measures every forwarder of a work in interleaved rounds, and prints the rows too.
pub fn rows(work: &'static str, rounds: usize, duration: Duration) -> Vec<Row> {
    let candidates = candidates(work);
    let mut measured: Vec<Vec<[f64; 2]>> = vec![Vec::new(); candidates.len()];
    let namespace = packets::network();
    for round in 0..=rounds {
        for (candidate, measured) in candidates.iter().zip(&mut measured) {
            if !candidate.is_there() {
                continue;
            }
            let latencies = packets::latencies_ns(&namespace, candidate, duration);
            // The first round warms up.
            if round > 0 && !latencies.is_empty() {
                let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
                measured.push([at(0.5) as f64, at(0.99) as f64]);
            }
        }
    }
    let bare = &measured[0];
    let of = |own: &[[f64; 2]], which: usize| quartiles(own.iter().map(|one| one[which]));
    let ratio = |own: &[[f64; 2]], which: usize| {
        let pairs = own.iter().zip(bare);
        quartiles(pairs.map(|(own, bare)| own[which] / bare[which]))
    };
    let lines = candidates.iter().zip(&measured);
    let rows = lines.map(|(candidate, own)| {
        let row = Row {
            work,
            candidate: candidate.name,
            p50_ns: of(own, 0),
            p99_ns: of(own, 1),
            p50_ratio_to_bare: ratio(own, 0),
            p99_ratio_to_bare: ratio(own, 1),
        };
        println!(
            "{work:6} latency {:9} {}, {}, {}, {}",
            candidate.name,
            show("p50 ns", row.p50_ns, 0),
            show("p99 ns", row.p99_ns, 0),
            show("p50 ratio", row.p50_ratio_to_bare, 3),
            show("p99 ratio", row.p99_ratio_to_bare, 3),
        );
        row
    });
    rows.collect()
}
