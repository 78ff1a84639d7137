//! Rows about peak performance, area, energy and power (1.3, 7.4, 8.1).

use super::Thesis;
use super::aes::{LARGEST, SCRATCHPADS, packets, single_stream};
use super::hashing::{MMH_ADDERS, mmh_outcome, sketch_outcome};
use super::inspection;
use crate::shared::model::{Bench, Entry};
use crate::stream_processor::applications::aes::programs::Width;
use crate::stream_processor::applications::sketch::Hashing;
use crate::stream_processor::cost::{Process, Shape, power};
use crate::stream_processor::failure::ModelError;
use crate::stream_processor::machine::Machine;
use crate::stream_processor::stream::Outcome;

pub(super) static ENTRIES: &[Entry] = &[
    Entry::configuration("imagine-002", "units that issue in every cycle", |bench| {
        Ok(vec![peak_gops(bench)?])
    })
    .note(
        "Not modelled: 40 GOPS are two 16-bit operations per cycle in each of 5 arithmetic \
         units and 8 clusters, and the lab has no 16-bit operations.",
    ),
    Entry::simulated("imagine-096", "sketch-2, 1920 keys, 3 adders", |bench| {
        Ok(vec![sketch_watts(bench)?, busy_watts(bench)?])
    })
    .note(
        "Power of the update's operations, and of units that are busy in every cycle. The \
         thesis does not say which activity its 2.89 W are of; its 4 W are an estimate for \
         other applications.",
    ),
    Entry::configuration("imagine-099", "area of the machine", |bench| {
        let machine = bench.imagine(3, 1)?;
        let technology = machine.costs.technology;
        let grids = Shape::of(&machine).area().total();
        let side = Process::of(&technology).square_mm(grids).sqrt();
        Ok(vec![side, side])
    })
    .note(
        "The cost model is of a custom layout without pads and without the controllers of \
         memory, network and host; the chip is made of standard cells.",
    ),
    Entry::configuration("imagine-100", "8 clusters of 1 to 64 units", |bench| {
        Ok(vec![best_alus(bench)?])
    })
    .within(15.0),
    Entry::configuration("imagine-101", "8 and 32 clusters of 5 units", |bench| {
        Ok(vec![growth_percent(bench)?])
    })
    .within(15.0)
    .note(
        "The sign differs: the modelled area per unit falls, because the microcontroller's \
         share falls from 9 to 2 % while that of the switch between clusters grows from 4 to \
         8 %. Energy per operation grows by 0.1 %. At 128 clusters the model gives +3 and +7 %; \
         the paper's abstract has +2 and +7 %.",
    ),
    Entry::ordering(
        "imagine-103",
        "AES, dual AES, MMH, inspection and sketch updates, each with the adders of its chapter",
        |bench| Ok(vec![most_watts(bench)?]),
    )
    .note(
        "The largest of all. Inspection with 8 adders exceeds 4 W, and so does dual AES with 6; \
         with 4 adders inspection stays below 4 W.",
    ),
];

/// 10⁹ operations per second of 32-bit arithmetic units that all issue in every
/// cycle.
fn peak_gops(bench: &Bench) -> Result<f64, ModelError> {
    let machine = bench.imagine(3, 1)?;
    let units = machine.cluster.adders + machine.cluster.multipliers;
    Ok(f64::from(units) * machine.clusters as f64 * machine.clock_mhz / 1000.0)
}

/// Mean power while 1920 keys update a sketch with 2-universal hashing.
fn sketch_watts(bench: &Bench) -> Result<f64, ModelError> {
    let outcome = sketch_outcome(bench, Hashing::Two)?;
    Ok(power(&outcome, &bench.imagine(3, 1)?).total_watts())
}

/// Power of units that work in every cycle.
fn busy_watts(bench: &Bench) -> Result<f64, ModelError> {
    let machine = bench.imagine(3, 1)?;
    let process = Process::of(&machine.costs.technology);
    Ok(process.joules(Shape::of(&machine).busy_cycle()) * machine.clock_mhz * 1e6)
}

/// The largest mean power of the applications, each on the machine of its
/// chapter's runs.
fn most_watts(bench: &Bench) -> Result<f64, ModelError> {
    const DUAL_ADDERS: u32 = 6;
    let mut most: f64 = 0.0;
    let mut add = |outcome: &Outcome, machine: &Machine| {
        most = most.max(power(outcome, machine).total_watts());
    };
    let single = packets(bench, LARGEST, true)?;
    add(&single.outcome, &bench.imagine(4, SCRATCHPADS)?);
    let dual = single_stream(bench, DUAL_ADDERS, LARGEST, Width::Dual)?;
    add(&dual.outcome, &bench.imagine(DUAL_ADDERS, SCRATCHPADS)?);
    add(&mmh_outcome(bench, 1536)?, &bench.imagine(MMH_ADDERS, 1)?);
    for hashing in [Hashing::Two, Hashing::Four] {
        add(&sketch_outcome(bench, hashing)?, &bench.imagine(3, 1)?);
    }
    let inspector = bench.imagine(inspection::ADDERS, 1)?;
    for outcome in inspection::both(bench)? {
        add(&outcome, &inspector);
    }
    Ok(most)
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
