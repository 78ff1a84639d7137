//! Rows about area, energy and power (7.4, 8.1).

use super::compare::Entry;
use super::hashing::{mmh_outcome, sketch_outcome};
use super::{Bench, inspection};
use crate::applications::aes::programs::Width;
use crate::applications::sketch::Hashing;
use crate::cost::{Process, Shape, power};
use crate::failure::ModelError;

/// The row of a number.
pub(super) fn entry(number: u32) -> Entry {
    match number {
        96 => Entry::simulated(|bench| Ok(vec![sketch_watts(bench)?, busy_watts(bench)?])).note(
            "the first is what the update's operations take, the second what units \
             take that work in every cycle; the thesis does not say which activity \
             its 2.89 W have, and its 4 W are an estimate for other applications",
        ),
        97 => Entry::configured(|bench| Ok(vec![bench.imagine(3, 1)?.costs.energy.indexed_factor]))
            .note("a parameter of the machine"),
        99 => Entry::configured(|bench| {
            let machine = bench.imagine(3, 1)?;
            let technology = machine.costs.technology;
            let grids = Shape::of(&machine).area().total();
            let side = Process::of(&technology).square_mm(grids).sqrt();
            Ok(vec![side, side])
        })
        .note(
            "the model's parts are laid out by hand as in its paper, without the \
             controllers of memory, network and host, and without pads; the chip \
             is of standard cells",
        ),
        100 => Entry::simulated(|bench| Ok(vec![best_alus(bench)?])),
        101 => Entry::simulated(|bench| Ok(vec![growth_percent(bench)?])).note(
            "the area falls, and energy grows by 0.1 %: the microcontroller's \
             share goes from 9 to 2 %, that of the switch between clusters from 4 \
             to 8 %. At 128 clusters the model has +3 and +7 %, the paper's \
             abstract +2 and +7 %",
        ),
        _ => Entry::ordering(|bench| Ok(vec![most_watts(bench)?])).note(
            "the largest of AES, MMH, inspection and the updates of sketches, with the \
             costs of Imagine as figure 8.1 has them (no second port for AES); \
             inspection has 4 adders. With the 8 adders of figure 5.9 it takes 5.8 W",
        ),
    }
}

/// Mean power while 1920 keys update a sketch with 2-universal hashing.
fn sketch_watts(bench: &Bench) -> Result<f64, ModelError> {
    let (mut outcome, cycles) = sketch_outcome(bench, Hashing::Two)?;
    outcome.cycles = cycles;
    Ok(power(&outcome, &bench.imagine(3, 1)?).total_watts())
}

/// Power of units that work in every cycle.
fn busy_watts(bench: &Bench) -> Result<f64, ModelError> {
    let machine = bench.imagine(3, 1)?;
    let process = Process::of(&machine.costs.technology);
    Ok(process.joules(Shape::of(&machine).busy_cycle()) * machine.clock_mhz * 1e6)
}

/// The largest mean power of the applications on Imagine as it is; inspection
/// has 4 adders, for its microcode has no room with 3.
fn most_watts(bench: &mut Bench) -> Result<f64, ModelError> {
    const INSPECTION_ADDERS: u32 = 4;
    let imagine = bench.imagine(3, 1)?;
    let aes = bench.single_stream(3, super::aes::LARGEST, Width::Single)?;
    let outcomes = [
        aes.outcome,
        mmh_outcome(bench, 1536)?,
        sketch_outcome(bench, Hashing::Two)?.0,
        sketch_outcome(bench, Hashing::Four)?.0,
    ];
    let inspector = bench.imagine(INSPECTION_ADDERS, 1)?;
    let inspected = inspection::with_adders(bench, INSPECTION_ADDERS)?;
    let watts = outcomes
        .iter()
        .map(|outcome| power(outcome, &imagine))
        .chain(inspected.iter().map(|outcome| power(outcome, &inspector)));
    Ok(watts.map(|power| power.total_watts()).fold(0.0, f64::max))
}

/// Units of a cluster with which area and energy for each are least, where
/// both have the same.
fn best_alus(bench: &Bench) -> Result<f64, ModelError> {
    let costs = bench.imagine(3, 1)?.costs;
    let best = |of: fn(&Shape) -> f64| {
        let each = |alus: &u32| {
            let alus = f64::from(*alus);
            of(&Shape::scaled(8.0, alus, costs)) / alus
        };
        (1..=64).min_by(|one, other| each(one).total_cmp(&each(other)))
    };
    let [area, energy] = [best(|shape| shape.area().total()), best(Shape::busy_cycle)];
    Ok(match (area, energy) {
        (Some(area), Some(energy)) if area == energy => f64::from(area),
        _ => f64::NAN,
    })
}

/// Change of the area for each unit from 8 to 32 clusters.
fn growth_percent(bench: &Bench) -> Result<f64, ModelError> {
    let costs = bench.imagine(3, 1)?.costs;
    let each = |clusters: f64| Shape::scaled(clusters, 5.0, costs).area().total() / clusters;
    Ok(100.0 * (each(32.0) / each(8.0) - 1.0))
}
