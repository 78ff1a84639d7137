//! The model gives what the paper's abstract and the thesis state, with no
//! parameter chosen for that; and it grows as it should.

use super::*;
use crate::stream_processor::machine::Machine;

fn costs() -> Costs {
    Machine::load("imagine", &[]).expect("a machine").costs
}

/// Area and energy for each arithmetic unit, over those of another machine.
fn over(shape: &Shape, other: &Shape) -> [f64; 2] {
    let each = |shape: &Shape| {
        let units = shape.clusters * shape.alus;
        [shape.area().total() / units, shape.busy_cycle() / units]
    };
    let ([area, energy], [base_area, base_energy]) = (each(shape), each(other));
    [area / base_area, energy / base_energy]
}

#[test]
fn between_clusters_costs_are_the_abstracts() {
    let base = Shape::scaled(8.0, 5.0, costs());
    let [area, energy] = over(&Shape::scaled(128.0, 5.0, costs()), &base);
    // 2 % and 7 %, printed without decimals.
    assert!((area - 1.02).abs() < 0.015, "{area}");
    assert!((energy - 1.07).abs() < 0.015, "{energy}");
}

#[test]
fn within_clusters_five_units_are_best() {
    let base = Shape::scaled(8.0, 5.0, costs());
    for alus in 1..=32 {
        let [area, energy] = over(&Shape::scaled(8.0, f64::from(alus), costs()), &base);
        assert!(area >= 1.0 && energy >= 1.0, "{alus}: {area} {energy}");
    }
}

#[test]
fn parts_sum_up_and_grow() {
    let machine = Machine::load("imagine", &[]).expect("a machine");
    let cost = |key: &str, value: f64| {
        let shape = Shape::of(&machine.with(key, value).expect("a machine"));
        [shape.area().total(), shape.busy_cycle()]
    };
    let as_it_is = cost("clusters", 8.0);
    for (key, value) in [
        ("clusters", 16.0),
        ("cluster.adders", 4.0),
        ("cluster.multipliers", 3.0),
        ("cluster.scratchpads", 2.0),
        ("cluster.scratchpad_words", 1024.0),
        ("cluster.communicators", 2.0),
        ("srf.bytes", 262_144.0),
        ("microcode.instructions", 2048.0),
        ("microcode.instruction_bits", 1024.0),
    ] {
        let [area, energy] = cost(key, value);
        assert!(area > as_it_is[0] && energy > as_it_is[1], "{key}");
    }
    let [within, between] = Shape::of(&machine).delays_fo4();
    let cycle = machine.costs.delay.cycle_fo4;
    assert!(0.0 < within && within < between && between < cycle);
}

#[test]
fn energy_of_a_track_is_the_papers() {
    let then = crate::stream_processor::machine::Technology {
        feature_um: 0.18,
        supply_v: 1.8,
        ..costs().technology
    };
    let process = Process::of(&then);
    assert!((process.track_fj / 0.093 - 1.0).abs() < 1e-3, "{process:?}");
    // Smaller wires at a lower supply take less.
    assert!(Process::of(&costs().technology).track_fj < process.track_fj);
}

#[test]
fn a_run_takes_the_energy_of_what_it_did() {
    use crate::stream_processor::applications::{Size, program};
    let size = Size {
        packets: 8,
        bytes: 512,
        key_agile: false,
        dual: false,
    };
    let machine = Machine::load("imagine", &[]).expect("a machine");
    let program = (program("aes").expect("aes").build)(8, &size).expect("a program");
    let outcome = crate::stream_processor::stream::run(&program, &machine).expect("a run");
    let once = power(&outcome, &machine);
    let most = Process::of(&machine.costs.technology).joules(Shape::of(&machine).busy_cycle())
        * machine.clock_mhz
        * 1e6;
    assert!(
        once.total_watts() > 0.1 * most && once.total_watts() < most,
        "{once:?}"
    );
    let mut idle = outcome.clone();
    idle.cycles *= 2.0;
    let twice = power(&idle, &machine);
    assert!((once.total_watts() / twice.total_watts() - 2.0).abs() < 1e-9);
    assert!((once.joules / twice.joules - 1.0).abs() < 1e-9);
}
