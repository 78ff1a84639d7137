//! A second model, in one folder: a counter in memory that packets update.
//!
//! ```text
//! packets, one in a cycle     queue        memory: update_cycles
//! with a probability   ────▶ ▒▒▒▒▒▒ ────▶ read, add 1, write
//! ```
//!
//! It has one parameter and is the queue Geo/D/1, whose mean wait has a closed
//! form. `lab/docs/models.md` follows it step by step. This program runs it, sweeps
//! its load, and compares it with the closed form:
//!
//! ```sh
//! cargo run -p weir-lab --example counter
//! ```

use std::error::Error;

use weir_lab::shared::model::{Bench, Effort, Model, Workload, digits};
use weir_lab::shared::parallel;
use weir_lab::shared::parameters::Parameters;
use weir_lab::shared::reproduce::{assumptions, reproduce, sensitivity};
use weir_lab::shared::sweep::{Axis, Sweep};

use model::{Counter, UPDATES};

mod model;
mod simulate;
#[cfg(test)]
mod tests;

fn main() -> Result<(), Box<dyn Error>> {
    let machine = Parameters::load("counter", Counter.machines())?;

    println!("{} on {}", UPDATES.name, machine.name());
    let updates = Workload::new(UPDATES);
    let bench = Bench::new(machine.clone(), &[], Effort::Full);
    for metric in Counter.run(&bench, &updates)?.metrics {
        println!(
            "  {}: {} {}",
            metric.name,
            digits(metric.value),
            metric.unit
        );
    }

    println!("a sweep over the load");
    let axis = Axis::parse("work.arrivals_per_cycle=0.05,0.1,0.15,0.2,0.24")?;
    let sweep = Sweep::new(&Counter, &machine, &updates, &[axis])?;
    let runs = sweep.run(parallel::cores(), || {});
    for (point, run) in sweep.points().iter().zip(runs) {
        let metrics = run?;
        println!("  {}: {} cycles", point[0].1, digits(metrics[0].value));
    }

    println!("beside the closed form");
    for row in reproduce(&Counter, &machine, &[], &[], Effort::Full, |_| {})? {
        let modelled = row.modelled.as_deref().unwrap_or_default();
        let [quantity, value] = [&row.published.quantity, &row.published.value];
        println!(
            "  {quantity}: {value}, modelled {modelled}, {}",
            row.verdict.name()
        );
    }

    println!("at the ends of the ranges of its parameters");
    let assumed = assumptions(&machine, &[])?;
    let cores = parallel::cores();
    let study = sensitivity(
        &Counter,
        &machine,
        &[],
        &assumed,
        Effort::Full,
        cores,
        || {},
    )?;
    for row in study.moved {
        let [before, after] = [row.before, row.after].map(digits);
        println!(
            "  {} {}: {} {before}, now {after}",
            row.parameter, row.to, row.quantity
        );
    }
    Ok(())
}
