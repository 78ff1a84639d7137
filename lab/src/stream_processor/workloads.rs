//! What the stream processor runs: programs, whose packets are timed, and
//! kernels, whose schedules are replayed.

use std::collections::BTreeMap;

use crate::shared::model::{
    Activity, Bench, Failure, Metric, Run, Trace, WorkFile, WorkKey, Workload, WorkloadKind,
};
use crate::stream_processor::applications::{self, Entry, ProgramEntry, ProgramFailure, Size};
use crate::stream_processor::cost::power;
use crate::stream_processor::execute::{Arguments, Scratchpads, execute};
use crate::stream_processor::failure::ModelError;
use crate::stream_processor::kernel::Kernel;
use crate::stream_processor::machine::Machine;
use crate::stream_processor::schedule::Schedule;
use crate::stream_processor::stream::{self, Outcome, Program, Task, Unit};

mod kernel_file;

/// A kernel that a user wrote.
pub(super) const KERNEL_FILE: WorkloadKind = WorkloadKind {
    name: "kernel file",
    kind: "kernel",
    about: "a kernel from a file",
    source: "",
    keys: &[],
};

/// The packets of a program.
const PACKETS: [WorkKey; 4] = [
    WorkKey::count("work.packets", "packets", 64, [1, 1_000_000]),
    WorkKey::count("work.bytes", "bytes of each packet", 1536, [1, 65_536]),
    WorkKey::count("work.key_agile", "1: a key for each packet", 0, [0, 1]),
    WorkKey::count(
        "work.dual",
        "1: kernels take two blocks at a time",
        0,
        [0, 1],
    ),
];

/// All programs and kernels.
pub(super) fn kinds() -> Vec<WorkloadKind> {
    let programs = applications::programs()
        .into_iter()
        .map(|entry| WorkloadKind {
            name: entry.name,
            kind: "program",
            about: entry.about,
            source: entry.source,
            keys: &PACKETS,
        });
    let kernels = applications::kernels()
        .into_iter()
        .map(|entry| WorkloadKind {
            name: entry.name,
            kind: "kernel",
            about: entry.about,
            source: entry.source,
            keys: &[],
        });
    programs.chain(kernels).collect()
}

/// Runs a program or a kernel.
pub(super) fn run(bench: &Bench, workload: &Workload) -> Result<Run, Failure> {
    let machine = Machine::of(&bench.parameters(&[])?)?;
    if let Some(file) = workload.file() {
        return run_kernel_file(file, &machine);
    }
    let name = workload.kind().name;
    match (applications::program(name), applications::kernel(name)) {
        (Some(entry), _) => run_program(&entry, bench, &machine, workload),
        (None, Some(entry)) => run_kernel(&entry, &machine),
        (None, None) => Err(Failure::Workload(format!(
            "no program or kernel is called {name}"
        ))),
    }
}

/// Metrics are of one span: from the program's first barrier, when kernels, tables
/// and keys are in place, to its last, or to its end.
fn run_program(
    entry: &ProgramEntry,
    bench: &Bench,
    machine: &Machine,
    workload: &Workload,
) -> Result<Run, Failure> {
    let size = Size {
        packets: workload.count("work.packets"),
        bytes: workload.count("work.bytes"),
        key_agile: workload.count("work.key_agile") == 1,
        dual: workload.count("work.dual") == 1,
    };
    if size.packets * size.bytes > Size::MOST_BYTES {
        return Err(Failure::Workload(format!(
            "{} packets of {} bytes: a run takes {} bytes at most",
            size.packets,
            size.bytes,
            Size::MOST_BYTES
        )));
    }
    let key = format!("program {} {} {size:?}", entry.name, machine.clusters);
    let program = bench
        .input(&key, || (entry.build)(machine.clusters, &size))
        .map_err(|error: ProgramFailure| ModelError::from(error))?;
    let whole = stream::run(&program, machine).map_err(ModelError::from)?;
    let measured = whole.measured();
    let mut metrics = metrics(entry, machine, &size, &measured);
    metrics.extend(of_kernels(&program, &whole, &measured));
    Ok(Run {
        metrics,
        trace: trace(&program, machine, &whole),
        outputs: Vec::new(),
    })
}

fn metrics(entry: &ProgramEntry, machine: &Machine, size: &Size, played: &Outcome) -> Vec<Metric> {
    let clock = machine.clock_mhz;
    let packet_bytes = (entry.packet_bytes)(size);
    let bytes = (size.packets * packet_bytes) as f64;
    let power = power(played, machine);
    let cycles = played.cycles;
    let per_s = |bytes| played.gigabytes_per_s(bytes, clock);
    let (cycles_per_packet, gbit_per_s) = (
        cycles / size.packets as f64,
        8.0 * bytes / cycles * clock / 1000.0,
    );
    let overlap = played.overlap_cycles / played.kernel_cycles.max(1.0);
    let joules_per_byte = power.joules / bytes;
    let mut metrics: Vec<Metric> = [
        (
            "cycles_per_packet",
            "time of a packet",
            cycles_per_packet,
            "cycles",
        ),
        ("gbit_per_s", "throughput", gbit_per_s, "Gbit/s"),
        (
            "kernel_share",
            "kernels' share of the time",
            played.kernel_share(),
            "",
        ),
        ("watts", "mean power", power.total_watts(), "W"),
        ("cycles", "time", cycles, "cycles"),
        ("bytes", "bytes processed", bytes, "bytes"),
        (
            "packet_bytes",
            "bytes processed of each packet",
            packet_bytes as f64,
            "bytes",
        ),
        (
            "overlap_share",
            "share of the kernels' time in which memory moves streams",
            overlap,
            "",
        ),
        (
            "memory_gbyte_per_s",
            "memory bandwidth",
            per_s(played.memory_bytes),
            "GB/s",
        ),
        (
            "srf_gbyte_per_s",
            "bandwidth of the stream register file",
            per_s(played.srf_bytes),
            "GB/s",
        ),
        (
            "register_gbyte_per_s",
            "bandwidth of local registers",
            per_s(played.register_bytes),
            "GB/s",
        ),
        (
            "most_srf_bytes",
            "most of the stream register file in use",
            played.most_srf_bytes as f64,
            "bytes",
        ),
        (
            "microcode_loads",
            "loads of microcode",
            f64::from(played.microcode_loads),
            "",
        ),
        ("gops", "operations", per_s(played.operations), "GOPS"),
        (
            "operations_per_memory_word",
            "operations per memory word",
            played.operations_per_memory_word(),
            "",
        ),
        (
            "picojoules_per_operation",
            "energy of an operation",
            power.picojoules_per_operation,
            "pJ",
        ),
        (
            "nanojoules_per_byte",
            "energy of a byte",
            1e9 * joules_per_byte,
            "nJ",
        ),
    ]
    .into_iter()
    .map(|(key, name, value, unit)| Metric::new(key, name, value, unit))
    .collect();
    let stalls = played.stalls.iter();
    metrics.extend(stalls.map(|(cause, &cycles)| {
        let name = cause.name();
        let key = format!("stall_cycles.{}", name.replace(' ', "_"));
        Metric::new(key, format!("kernels wait for {name}"), cycles, "cycles")
    }));
    metrics
}

/// Cycles and calls of each kernel in the span that is measured.
fn of_kernels(program: &Program, whole: &Outcome, measured: &Outcome) -> Vec<Metric> {
    let begins = whole.barriers.first().map_or(0.0, |first| first.cycles);
    let ends = begins + measured.cycles;
    let mut of_kernels: BTreeMap<&str, (f64, u32)> = BTreeMap::new();
    for (kernel, cycles) in program.kernels().iter().zip(&measured.by_kernel) {
        of_kernels.entry(kernel.name()).or_default().0 += cycles;
    }
    for activity in &whole.activities {
        if let Task::Kernel(number) = activity.task
            && activity.begins >= begins
            && activity.ends <= ends
        {
            let name = program.kernels()[number].name();
            of_kernels.entry(name).or_default().1 += 1;
        }
    }
    of_kernels.retain(|_, (cycles, _)| *cycles > 0.0);
    let metrics = of_kernels.into_iter().flat_map(|(name, (cycles, calls))| {
        let calls = f64::from(calls);
        [
            ("cycles", "time", cycles, "cycles"),
            ("calls", "calls", calls, ""),
        ]
        .map(|(key, what, value, unit)| {
            let key = format!("kernel_{key}.{name}");
            Metric::new(key, format!("{what} of kernel {name}"), value, unit)
        })
    });
    metrics.collect()
}

fn trace(program: &Program, machine: &Machine, played: &Outcome) -> Trace {
    let mut units: Vec<Unit> = played.activities.iter().map(|it| it.unit).collect();
    let mut tasks: Vec<Task> = played.activities.iter().map(|it| it.task).collect();
    units.sort_unstable();
    units.dedup();
    tasks.sort_unstable();
    tasks.dedup();
    let cycle_ns = 1000.0 / machine.clock_mhz;
    let kernel = |number: usize| program.kernels()[number].name();
    Trace {
        // Sorted lists, which hold every unit and task.
        activities: played
            .activities
            .iter()
            .map(|it| Activity {
                unit: units.partition_point(|unit| *unit < it.unit),
                name: tasks.partition_point(|task| *task < it.task),
                begins_ns: it.begins * cycle_ns,
                length_ns: (it.ends - it.begins) * cycle_ns,
            })
            .collect(),
        units: units
            .iter()
            .map(|unit| match unit {
                Unit::Host => "host".to_owned(),
                Unit::AddressGenerator(number) => format!("address generator {number}"),
                Unit::NetworkStream(number) => format!("network stream {number}"),
                Unit::Clusters => "clusters".to_owned(),
            })
            .collect(),
        names: tasks
            .iter()
            .map(|task| match task {
                Task::Load => "load".to_owned(),
                Task::Store => "store".to_owned(),
                Task::Microcode(number) => format!("microcode of {}", kernel(*number)),
                Task::Kernel(number) => kernel(*number).to_owned(),
                Task::Length => "stream length".to_owned(),
                Task::Barrier => "barrier".to_owned(),
            })
            .collect(),
    }
}

/// A kernel of the applications, with example streams.
fn run_kernel(entry: &Entry, machine: &Machine) -> Result<Run, Failure> {
    let kernel = (entry.build)(machine.clusters).map_err(ModelError::from)?;
    let (given, pads) = entry.example(&kernel, machine.clusters);
    let records = entry.records * machine.clusters;
    let words = given.inputs.iter().map(Vec::len).sum();
    Ok(replay(&kernel, machine, [records, words], &given, &pads)?.0)
}

fn run_kernel_file(file: &WorkFile, machine: &Machine) -> Result<Run, Failure> {
    let call = kernel_file::call(file, machine.clusters)?;
    let (run, streams) = replay(
        &call.kernel,
        machine,
        [call.records, call.words],
        &call.arguments,
        &call.pads,
    )?;
    Ok(Run {
        outputs: call.outputs(streams),
        ..run
    })
}

/// The schedule is replayed on some records and words, and its outputs are compared with the executor's.
fn replay(
    kernel: &Kernel,
    machine: &Machine,
    [records, words]: [usize; 2],
    given: &Arguments,
    pads: &Scratchpads,
) -> Result<(Run, Vec<Vec<u32>>), Failure> {
    let schedule = Schedule::of(kernel, machine).map_err(ModelError::from)?;
    let failed = |error: &dyn std::fmt::Display| Failure::Run(error.to_string());
    let expected = execute(
        kernel,
        machine.clusters,
        &mut given.clone(),
        &mut pads.clone(),
    )
    .map_err(|error| failed(&error))?;
    let (found, cycles) = schedule
        .replay(&mut given.clone(), &mut pads.clone())
        .map_err(|error| failed(&error))?;
    let name = kernel.name();
    if found != expected {
        return Err(Failure::Run(format!(
            "kernel {name}: the replayed schedule and the executor compute different outputs"
        )));
    }
    let cycles = cycles as f64;
    let records = records as f64;
    let words_out: usize = found.iter().map(Vec::len).sum();
    let instructions = f64::from(schedule.instructions());
    let gbit_per_s = 32.0 * words as f64 / cycles * machine.clock_mhz / 1000.0;
    let metrics = [
        ("cycles", "time of a call", cycles, "cycles"),
        (
            "cycles_per_record",
            "time of a record",
            cycles / records.max(1.0),
            "cycles",
        ),
        ("records", "records of each input stream", records, ""),
        (
            "instructions",
            "instructions of microcode",
            instructions,
            "",
        ),
        (
            "input_gbit_per_s",
            "throughput of input streams, of the clusters alone",
            gbit_per_s,
            "Gbit/s",
        ),
        (
            "output_words",
            "words written, padding included",
            words_out as f64,
            "",
        ),
    ];
    let run = Run {
        metrics: metrics
            .into_iter()
            .map(|(key, name, value, unit)| Metric::new(key, name, value, unit))
            .collect(),
        trace: Trace {
            units: vec!["clusters".to_owned()],
            names: vec![name.to_owned()],
            activities: vec![Activity {
                unit: 0,
                name: 0,
                begins_ns: 0.0,
                length_ns: cycles * 1000.0 / machine.clock_mhz,
            }],
        },
        outputs: Vec::new(),
    };
    Ok((run, found))
}
