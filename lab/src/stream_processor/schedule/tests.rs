//! Schedules give what the kernel gives, and beat no bound.

use super::*;
use crate::stream_processor::applications;
use crate::stream_processor::execute::{Arguments, Scratchpads, execute};
use crate::stream_processor::kernel::{Addressing, Builder, Over, Placement};

fn machine(changes: &[(&str, f64)]) -> Machine {
    let changes: Vec<(String, f64)> = changes
        .iter()
        .map(|&(key, value)| (key.to_owned(), value))
        .collect();
    Machine::load("imagine", &changes).expect("a machine")
}

fn example(kernel: &Kernel, clusters: usize, records: usize) -> (Arguments, Scratchpads) {
    let entry = applications::Entry {
        records,
        ..applications::kernels()[0]
    };
    entry.example(kernel, clusters)
}

/// Replays a schedule and compares outputs, scratchpads, indexed streams and
/// time with the executor and the closed form.
fn check(kernel: &Kernel, machine: &Machine, records: usize) {
    let schedule = Schedule::of(kernel, machine).expect("a schedule");
    let (given, pads) = example(kernel, machine.clusters, records);
    let (mut one, mut other) = (given.clone(), given);
    let (mut one_pads, mut other_pads) = (pads.clone(), pads);
    let expected = execute(kernel, machine.clusters, &mut one, &mut one_pads).expect("a run");
    let (found, cycles) = schedule
        .replay(&mut other, &mut other_pads)
        .expect("a replay");
    assert_eq!(found, expected, "{}", kernel.name());
    assert_eq!(other, one, "{}", kernel.name());
    assert_eq!(other_pads, one_pads, "{}", kernel.name());

    let call = Call {
        records: kernel
            .inputs()
            .iter()
            .zip(kernel.records_read(records as u64))
            .map(|(_, records)| records * machine.clusters as u64)
            .collect(),
        scalars: vec![0; kernel.scalars().len()],
    };
    assert_eq!(schedule.run(&call).cycles, cycles, "{}", kernel.name());
    for block in schedule.blocks() {
        let bounds = block.bounds;
        assert!(block.steady_cycles() >= bounds.resources, "{}", block.label);
        assert!(block.cycles >= bounds.critical_path);
        if block.pipeline.is_some() {
            assert!(block.steady_cycles() >= bounds.recurrence);
        }
    }
}

#[test]
fn every_application_is_replayed_on_every_machine() {
    for entry in applications::kernels() {
        for (clusters, adders, scratchpads) in [
            (1, 3.0, 1.0),
            (2, 3.0, 2.0),
            (4, 4.0, 2.0),
            (8, 6.0, 2.0),
            (16, 6.0, 4.0),
            (32, 8.0, 1.0),
        ] {
            let kernel = (entry.build)(clusters).expect("a kernel");
            let machine = machine(&[
                ("cluster.adders", adders),
                ("cluster.scratchpads", scratchpads),
                ("clusters", clusters as f64),
                // What is written out for each of many clusters is long.
                ("microcode.instructions", 8192.0),
            ]);
            // The more clusters share a packet, the fewer records each has of it.
            let records = match (entry.records, clusters) {
                (8, 16 | 32) => 4,
                (records, _) => records,
            };
            check(&kernel, &machine, records);
        }
    }
}

#[test]
fn slow_units_change_no_output() {
    for entry in applications::kernels() {
        let kernel = (entry.build)(2).expect("a kernel");
        let machine = machine(&[
            ("clusters", 2.0),
            ("operation.add.latency", 3.0),
            ("operation.shift.interval", 2.0),
            ("operation.shift.latency", 5.0),
            ("operation.scratch_read.latency", 7.0),
            ("operation.input.latency", 4.0),
            ("microcode.instructions", 4096.0),
        ]);
        check(&kernel, &machine, entry.records);
    }
}

/// Adds records to running sums, in the way that the closure carries them.
fn pipelined(body: impl FnOnce(&mut Builder, &[Value], Value) -> Vec<Value>) -> Kernel {
    let mut k = Builder::new("pipelined");
    let (input, ends) = (k.input("in", 1), k.output("ends", 2));
    let (one, two) = (k.constant(1), k.constant(2));
    let last = k.repeat(
        Over::records(input).pipeline().label("sums"),
        &[one, two],
        |k, carried| {
            let word = k.read(input)[0];
            body(k, carried, word)
        },
    );
    k.write(ends, &last);
    k.finish().expect("a kernel")
}

#[test]
fn recurrences_bound_the_interval() {
    // A product of two products: two multiplications of 4 cycles each in a
    // ring over one iteration.
    let kernel = pipelined(|k, carried, word| {
        let first = k.multiply_low(carried[0], word);
        let second = k.multiply_low(first, word);
        vec![second, carried[0]]
    });
    let machine = machine(&[]);
    let schedule = Schedule::of(&kernel, &machine).expect("a schedule");
    let block = schedule.block_of("sums").expect("the loop");
    assert_eq!(block.bounds.recurrence, 8);
    assert_eq!(block.pipeline.expect("a pipeline").interval, 8);
    for records in 1..6 {
        check(&kernel, &machine, records);
    }
}

#[test]
fn independent_iterations_overlap_down_to_their_resources() {
    let kernel = pipelined(|k, carried, word| {
        let mut product = word;
        for _ in 0..6 {
            product = k.multiply_low(product, word);
        }
        vec![k.add(carried[0], product), carried[1]]
    });
    let machine = machine(&[]);
    let schedule = Schedule::of(&kernel, &machine).expect("a schedule");
    let block = schedule.block_of("sums").expect("the loop");
    assert_eq!(block.bounds.resources, 3);
    let pipeline = block.pipeline.expect("a pipeline");
    assert_eq!((pipeline.interval, pipeline.copies > 1), (3, true));
    for records in 1..20 {
        check(&kernel, &machine, records);
    }
}

#[test]
fn values_are_carried_over_several_iterations() {
    let kernel = pipelined(|k, carried, word| {
        let sum = k.add(carried[1], word);
        vec![sum, carried[0]]
    });
    for records in 1..9 {
        check(&kernel, &machine(&[]), records);
    }
}

#[test]
fn storage_keeps_its_order_in_overlapped_iterations() {
    let mut k = Builder::new("histogram");
    let input = k.input("in", 1);
    let array = k.array("counts", 16, Placement::Unit(0));
    let lanes = k.indexed("lanes");
    let (one, mask) = (k.constant(1), k.constant(15));
    k.repeat(
        Over::records(input).pipeline().label("keys"),
        &[],
        |k, _| {
            let key = k.read(input)[0];
            let at = k.and(key, mask);
            let count = k.scratch_read(array, at, 0);
            let count = k.add(count, one);
            k.scratch_write(array, at, 0, count);
            let sum = k.indexed_read(lanes, Addressing::Row, at);
            let sum = k.add(sum, key);
            k.indexed_write(lanes, Addressing::Row, at, sum);
            vec![]
        },
    );
    let kernel = k.finish().expect("a kernel");
    let machine = machine(&[]);
    // Read, add and write are a ring through the stream register file.
    let schedule = Schedule::of(&kernel, &machine).expect("a schedule");
    let read = machine.timing(Class::IndexedRead).latency;
    let write = machine.timing(Class::IndexedWrite).latency;
    let ring = read + machine.timing(Class::Add).latency + write;
    assert_eq!(
        schedule
            .block_of("keys")
            .expect("the loop")
            .bounds
            .recurrence,
        ring
    );
    for records in [1, 2, 7, 40] {
        check(&kernel, &machine, records);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let core = applications::aes::core_dual().expect("a kernel");
    let refused =
        |key, value| Schedule::of(&core, &machine(&[(key, value)])).expect_err("an error");
    assert!(matches!(
        refused("cluster.scratchpad_words", 256.0),
        ScheduleError::Scratchpad { room: 256, .. }
    ));
    assert!(matches!(
        refused("cluster.register_words", 16.0),
        ScheduleError::Registers { registers: 16, .. }
    ));
    assert!(matches!(
        refused("microcode.instructions", 50.0),
        ScheduleError::Microcode { room: 50, .. }
    ));
}

/// One unit of each kind, all as slow as they can be: the scheduler ends, with
/// a schedule that is no better than its bounds.
#[test]
fn the_slowest_machine_gets_a_schedule() {
    let mut changes: Vec<(String, f64)> = vec![
        ("cluster.adders".to_owned(), 1.0),
        ("cluster.multipliers".to_owned(), 1.0),
        ("cluster.dividers".to_owned(), 0.0),
        ("cluster.stream_ports".to_owned(), 1.0),
        ("cluster.register_words".to_owned(), 65_536.0),
        ("microcode.instructions".to_owned(), 1_048_576.0),
    ];
    for class in Class::ALL {
        for what in ["latency", "interval"] {
            changes.push((format!("operation.{}.{what}", class.name()), 64.0));
        }
    }
    let machine = Machine::load("imagine", &changes).expect("a machine");
    let mut given_up = 0;
    for name in ["aes-core-dual", "sketch-update-2"] {
        let entry = applications::kernel(name).expect("a kernel");
        let kernel = (entry.build)(machine.clusters).expect("a kernel");
        // The others are as these, and longer.
        if kernel.counts().total() > 800 {
            continue;
        }
        let schedule = Schedule::of(&kernel, &machine).expect("a schedule");
        for block in schedule.blocks() {
            given_up += u32::from(block.not_pipelined == Some(NotPipelined::GivenUp));
            let bounds = block.bounds;
            let least = bounds.resources.max(bounds.recurrence);
            assert!(block.steady_cycles() >= least, "{}", entry.name);
        }
    }
    assert!(given_up > 0);
}

/// On Imagine two searches are given up, those of 4-universal hashing.
#[test]
fn loops_that_do_not_overlap_say_why() {
    let machine = machine(&[]);
    let mut given_up = Vec::new();
    for entry in applications::kernels() {
        let kernel = (entry.build)(machine.clusters).expect("a kernel");
        // Some are for machines with more adders, and too long for this one.
        let Ok(schedule) = Schedule::of(&kernel, &machine) else {
            continue;
        };
        for block in schedule.blocks() {
            assert!(block.pipeline.is_none() || block.not_pipelined.is_none());
            if block.not_pipelined == Some(NotPipelined::GivenUp) {
                given_up.push(entry.name);
            }
        }
    }
    assert_eq!(given_up, ["sketch-update-4", "sketch-update-4-rows"]);
}

#[test]
fn loops_that_would_fill_the_store_are_not_pipelined() {
    let core = applications::sketch::update_2(8).expect("a kernel");
    let of = |room: f64| Schedule::of(&core, &machine(&[("microcode.instructions", room)]));
    let overlapped = of(1024.0).expect("a schedule");
    let instructions = overlapped.instructions();
    assert!(
        overlapped
            .blocks()
            .iter()
            .any(|block| block.pipeline.is_some())
    );
    let apart = of(f64::from(instructions - 1)).expect("a schedule");
    assert!(apart.instructions() < instructions);
    let kept = |block: &BlockSchedule| block.not_pipelined == Some(NotPipelined::Microcode);
    assert!(apart.blocks().iter().any(kept));
}

/// A replay finds a schedule that takes a result a cycle too early.
#[test]
fn a_wrong_schedule_gives_wrong_outputs() {
    let kernel = applications::aes::final_round().expect("a kernel");
    let machine = machine(&[("clusters", 1.0)]);
    let mut schedule = Schedule::of(&kernel, &machine).expect("a schedule");
    let block = schedule.blocks.len() - 1;
    let slot = schedule.blocks[block]
        .slots
        .iter_mut()
        .max_by_key(|slot| slot.cycle)
        .expect("an operation");
    slot.cycle -= 1;
    let (given, pads) = example(&kernel, 1, 2);
    let expected = execute(&kernel, 1, &mut given.clone(), &mut pads.clone()).expect("a run");
    let (found, _) = schedule
        .replay(&mut given.clone(), &mut pads.clone())
        .expect("a replay");
    assert_ne!(found, expected);
}

#[test]
fn pictures_show_every_operation() {
    let kernel = applications::aes::core().expect("a kernel");
    let schedule = Schedule::of(&kernel, &machine(&[])).expect("a schedule");
    let svg = schedule.svg();
    // Writes to all scratchpads would show more than once; here is one.
    assert_eq!(
        svg.matches("<title>").count() as u32,
        kernel.counts().total()
    );
    let rounds = schedule.block_of("rounds").expect("the rounds");
    assert!(svg.contains(&format!("rounds: {} cycles", rounds.cycles)));
}
