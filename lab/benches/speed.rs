//! How fast the models run, with the targets of the lab.
//!
//! - a schedule of the AES core that takes two blocks at once: below a second;
//! - the stream simulator on AES with a key for each packet: at least 20
//!   million machine cycles per second and core, without writing the program
//!   (which computes the cipher text) and without scheduling. The simulator
//!   advances from event to event and does not execute each cycle;
//! - a sweep of 100 machines over the same program: below a minute on 2 cores.

use std::num::NonZero;
use std::time::{Duration, Instant};

use weir_lab::shared::model::{Model, Workload};
use weir_lab::shared::sweep::{Axis, Sweep};
use weir_lab::stream_processor::StreamProcessor;
use weir_lab::stream_processor::applications::{Size, kernel, program};
use weir_lab::stream_processor::machine::Machine;
use weir_lab::stream_processor::schedule::Schedule;
use weir_lab::stream_processor::stream::simulate;

const ROUNDS: usize = 11;
const SIZE: Size = Size {
    packets: 640,
    bytes: 1536,
    key_agile: true,
    dual: false,
};

fn main() {
    let machine = Machine::load("imagine", &[]).expect("Imagine");
    schedule(&machine);
    simulator(&machine);
    sweep(&machine);
}

/// The least and the median of several rounds.
fn timed(mut work: impl FnMut()) -> [Duration; 2] {
    let mut rounds = [Duration::ZERO; ROUNDS];
    for round in &mut rounds {
        let start = Instant::now();
        work();
        *round = start.elapsed();
    }
    rounds.sort_unstable();
    [rounds[0], rounds[ROUNDS / 2]]
}

fn schedule(machine: &Machine) {
    let entry = kernel("aes-core-dual").expect("the kernel");
    let core = (entry.build)(machine.clusters).expect("a kernel");
    let mut instructions = 0;
    let [least, median] = timed(|| {
        instructions = Schedule::of(&core, machine)
            .expect("a schedule")
            .instructions();
    });
    println!(
        "schedule of aes-core-dual ({instructions} instructions): {:.2} ms (least {:.2}); target 1000",
        1e3 * median.as_secs_f64(),
        1e3 * least.as_secs_f64(),
    );
}

fn simulator(machine: &Machine) {
    let aes = program("aes").expect("the program");
    let start = Instant::now();
    let written = (aes.build)(machine.clusters, &SIZE).expect("a program");
    let writing = start.elapsed();
    let schedules: Vec<Schedule> = written
        .kernels()
        .iter()
        .map(|kernel| Schedule::of(kernel, machine).expect("a schedule"))
        .collect();
    let mut cycles = 0.0;
    let [least, median] = timed(|| {
        cycles = simulate(&written, machine, &schedules)
            .expect("a run")
            .cycles;
    });
    let rate = |time: Duration| cycles / time.as_secs_f64() / 1e6;
    println!(
        "stream simulator on aes ({cycles:.0} cycles): {:.0} million cycles/s (most {:.0}); target 20; \
         with writing the program {:.1}",
        rate(median),
        rate(least),
        rate(writing + median),
    );
}

fn sweep(machine: &Machine) {
    let mut kinds = StreamProcessor.workloads().into_iter();
    let aes = kinds.find(|kind| kind.name == "aes").expect("the program");
    let work = [
        ("work.packets", SIZE.packets as f64),
        ("work.bytes", SIZE.bytes as f64),
        ("work.key_agile", 1.0),
    ]
    .map(|(key, value)| (key.to_owned(), value));
    let aes = Workload::new(aes).with(&work).expect("the workload");
    let axes: Vec<Axis> = [
        "cluster.adders=2..6",
        "cluster.scratchpads=1,2,4,8",
        "host.bus_mhz=50,100,200,300,400",
    ]
    .iter()
    .map(|axis| Axis::parse(axis).expect("an axis"))
    .collect();
    let sweep = Sweep::new(&StreamProcessor, machine.parameters(), &aes, &axes).expect("a sweep");
    let two = NonZero::new(2).expect("two threads");
    let start = Instant::now();
    let ran = sweep.run(two, || {});
    assert!(ran.iter().all(Result::is_ok));
    println!(
        "sweep of {} machines over aes, 2 threads: {:.2} s; target 60",
        ran.len(),
        start.elapsed().as_secs_f64(),
    );
}
