//! `weir-lab cost`: what a machine takes of a chip, and of energy.

use std::process::ExitCode;

use serde::Serialize;
use weir_console::{Outcome, table};
use weir_lab::stream_processor::cost::{Process, Shape};
use weir_lab::stream_processor::machine::Machine;

use super::machine;
use super::results::Results;
use crate::cli;

/// A cost of a machine.
#[derive(Serialize)]
struct CostRow {
    kind: &'static str,
    item: &'static str,
    value: f64,
    unit: &'static str,
    /// Of the whole area, where it is one.
    share: Option<f64>,
}

impl CostRow {
    fn cells(&self) -> Vec<String> {
        vec![
            self.kind.to_owned(),
            self.item.to_owned(),
            format!("{:.3}", self.value),
            self.unit.to_owned(),
            self.share
                .map_or(String::new(), |share| format!("{:.1}", 100.0 * share)),
        ]
    }
}

/// A machine that has grown.
#[derive(Serialize)]
struct ScalingRow {
    clusters: u32,
    alus: u32,
    square_mm: f64,
    /// Area for each arithmetic unit, over that of 8 clusters of 5.
    area_per_alu: f64,
    /// Energy for each operation, over that of 8 clusters of 5.
    energy_per_operation: f64,
    picojoules_per_operation: f64,
    cluster_switch_fo4: f64,
    switch_fo4: f64,
}

pub fn cost(arguments: &cli::Cost) -> Outcome<ExitCode> {
    let results = Results::asked_for(&arguments.places)?;
    let machine = machine(&arguments.machine)?;
    if arguments.scaling {
        let rows = scaling(&machine);
        return results.show(&rows, || scaling_table(&rows));
    }
    let rows = costs(&machine);
    results.show(&rows, || {
        let cells = rows.iter().map(CostRow::cells).collect();
        let header = ["", "", "value", "unit", "% of area"];
        table::wrapped(machine.name(), &header, &[2, 4], cells)
    })
}

fn costs(machine: &Machine) -> Vec<CostRow> {
    let shape = Shape::of(machine);
    let process = Process::of(&machine.costs.technology);
    let area = shape.area();
    let parts = [
        ("clusters", area.clusters * area.cluster),
        ("stream register file", area.clusters * area.srf_bank),
        ("microcontroller", area.microcontroller),
        ("switch between clusters", area.switch),
        ("all", area.total()),
    ];
    let areas = parts.map(|(item, grids)| CostRow {
        kind: "area",
        item,
        value: process.square_mm(grids),
        unit: "mm²",
        share: Some(grids / area.total()),
    });

    let each = shape.energies();
    let actions = [
        ("arithmetic operation", each.alu),
        ("registers of an operation", each.registers),
        ("scratchpad access", each.scratchpad),
        ("word over a cluster's switch", each.cluster_switch),
        ("word between clusters", each.switch),
        ("word of a stream", each.stream_buffer + each.srf_word),
        ("word of an indexed stream", each.indexed_word),
        ("instruction, to all clusters", each.instruction),
        ("cycle in which all units work", shape.busy_cycle()),
    ];
    let energies = actions.map(|(item, energy)| CostRow {
        kind: "energy",
        item,
        value: 1e12 * process.joules(energy),
        unit: "pJ",
        share: None,
    });

    let cycle = machine.costs.delay.cycle_fo4;
    let [within, between] = shape.delays_fo4();
    let delays =
        [("within a cluster", within), ("between clusters", between)].map(|(item, fo4)| CostRow {
            kind: "delay",
            item,
            value: fo4 / cycle,
            unit: "cycles",
            share: None,
        });
    let power = CostRow {
        kind: "power",
        item: "all units at work",
        value: process.joules(shape.busy_cycle()) * machine.clock_mhz * 1e6,
        unit: "W",
        share: None,
    };
    areas
        .into_iter()
        .chain(energies)
        .chain(delays)
        .chain([power])
        .collect()
}

/// More units in 8 clusters, and more clusters of 5 units, all else growing
/// with them.
fn scaling(machine: &Machine) -> Vec<ScalingRow> {
    let costs = machine.costs;
    let process = Process::of(&costs.technology);
    let shape_of =
        |clusters: u32, alus: u32| Shape::scaled(f64::from(clusters), f64::from(alus), costs);
    let per_alu = |shape: &Shape| {
        let units = shape.clusters * shape.alus;
        [shape.area().total() / units, shape.busy_cycle() / units]
    };
    let [base_area, base_energy] = per_alu(&shape_of(8, 5));
    let within = (2..=16).map(|alus| (8, alus));
    let between = [1, 2, 4, 8, 16, 32, 64, 128, 256].map(|clusters| (clusters, 5));
    within
        .chain(between)
        .map(|(clusters, alus)| {
            let shape = shape_of(clusters, alus);
            let [area, energy] = per_alu(&shape);
            let [cluster_switch_fo4, switch_fo4] = shape.delays_fo4();
            ScalingRow {
                clusters,
                alus,
                square_mm: process.square_mm(shape.area().total()),
                area_per_alu: area / base_area,
                energy_per_operation: energy / base_energy,
                picojoules_per_operation: 1e12 * process.joules(energy),
                cluster_switch_fo4,
                switch_fo4,
            }
        })
        .collect()
}

fn scaling_table(rows: &[ScalingRow]) -> String {
    let header = [
        "clusters",
        "ALUs each",
        "mm²",
        "area/ALU",
        "energy/op",
        "pJ/op",
        "FO4 within",
        "FO4 between",
    ];
    let cells = |row: &ScalingRow| {
        vec![
            row.clusters.to_string(),
            row.alus.to_string(),
            format!("{:.1}", row.square_mm),
            format!("{:.3}", row.area_per_alu),
            format!("{:.3}", row.energy_per_operation),
            format!("{:.0}", row.picojoules_per_operation),
            format!("{:.1}", row.cluster_switch_fo4),
            format!("{:.1}", row.switch_fo4),
        ]
    };
    let right: Vec<usize> = (0..header.len()).collect();
    let rows = rows.iter().map(cells).collect();
    table::wrapped(
        "area and energy, over 8 clusters of 5",
        &header,
        &right,
        rows,
    )
}
