//! Runs comparisons, prints the results and keeps the rows.

use anyhow::Result;

use super::comparison::Comparison;
use super::row::Row;
use crate::machine::Machine;

/// Runs comparisons, prints the results and keeps the rows.
pub struct Recorder {
    machine: Machine,
    only: Option<String>,
    rows: Vec<Row>,
}

impl Recorder {
    /// A recorder without rows, for the comparisons whose `WORK/BYTES/KEYS` contains
    /// `only`, or all.
    pub fn new(machine: Machine, only: Option<String>) -> Recorder {
        Recorder {
            machine,
            only,
            rows: Vec::new(),
        }
    }

    /// All rows so far.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Whether a comparison is wanted.
    pub fn wants(&self, work: &str, bytes: usize, keys: &str) -> bool {
        let name = format!("{work}/{bytes}/{keys}");
        self.only.as_ref().is_none_or(|only| name.contains(only))
    }

    /// Runs a comparison, if it is wanted.
    pub fn run(&mut self, mut comparison: Comparison<'_>) -> Result<()> {
        if !self.wants(&comparison.work, comparison.bytes, comparison.keys) {
            return Ok(());
        }
        let rows = comparison.run(&self.machine)?;
        println!(
            "\n{}, packets of {} bytes, keys: {}",
            comparison.work, comparison.bytes, comparison.keys
        );
        println!(
            "  {:44} {:>24} {:>9} {:>9}  {:>22}",
            "", "ns per packet", "M/s", "Gbit/s", "time / Weir's"
        );
        rows.iter().for_each(print);
        self.rows.extend(rows);
        Ok(())
    }
}

/// Prints a row, and below it its note and its targets.
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
    for verdict in &row.targets {
        println!("  {:44}   target {verdict}", "");
    }
}
