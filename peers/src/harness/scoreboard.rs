//! Runs contests, prints what came out, and keeps the rows.

use anyhow::Result;

use super::contest::Contest;
use super::row::Row;
use crate::machine::Machine;

/// Runs contests, prints what came out, and keeps the rows.
pub struct Scoreboard {
    machine: String,
    only: Option<String>,
    rows: Vec<Row>,
}

impl Scoreboard {
    /// An empty one, for contests in whose `WORK/BYTES/KEYS` a text occurs.
    pub fn new(machine: &Machine, only: Option<String>) -> Scoreboard {
        Scoreboard {
            machine: machine.summary(),
            only,
            rows: Vec::new(),
        }
    }

    /// All rows so far.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Whether a contest is wanted.
    pub fn wants(&self, work: &str, bytes: usize, keys: &str) -> bool {
        let name = format!("{work}/{bytes}/{keys}");
        self.only.as_ref().is_none_or(|only| name.contains(only))
    }

    /// Runs one contest, if it is wanted.
    pub fn run(&mut self, mut contest: Contest<'_>) -> Result<()> {
        if !self.wants(&contest.work, contest.bytes, contest.keys) {
            return Ok(());
        }
        let rows = contest.run(&self.machine)?;
        println!(
            "\n{}, packets of {} bytes, keys: {}",
            contest.work, contest.bytes, contest.keys
        );
        println!(
            "  {:44} {:>24} {:>9} {:>9}  {:>22}",
            "", "ns per packet", "M/s", "Gbit/s", "time by Weir's"
        );
        rows.iter().for_each(print);
        self.rows.extend(rows);
        Ok(())
    }
}

/// A row for people, and below it what there is to say about it.
fn print(row: &Row) {
    let quartiles = (row.ns_per_packet_quartiles, row.ratio_to_weir_quartiles);
    let (Some(ns), Some(ratio), (Some(ns_outer), Some(ratio_outer))) =
        (row.ns_per_packet, row.ratio_to_weir, quartiles)
    else {
        let reason = row.note.as_deref().unwrap_or("no times");
        println!("  {:44} missing: {reason}", row.subject);
        return;
    };
    println!(
        "  {:44} {ns:>8.1} ({:>6.1}-{:>6.1}) {:>9.1} {:>9.2}  {ratio:>6.2} ({:>5.2}-{:>5.2})",
        row.subject,
        ns_outer[0],
        ns_outer[1],
        1e3 / ns,
        row.bytes as f64 * 8.0 / ns,
        ratio_outer[0],
        ratio_outer[1],
    );
    if let Some(note) = &row.note {
        println!("  {:44}   {note}", "");
    }
    for verdict in &row.bars {
        println!("  {:44}   {verdict}", "");
    }
}
