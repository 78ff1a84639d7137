//! The counter as a model.

use weir_lab::shared::model::{
    Activity, Bench, Entry, Failure, Metric, Model, Run, Trace, WorkKey, Workload, WorkloadKind,
};
use weir_lab::shared::parameters::{ParameterError, Parameters};
use weir_lab::shared::report::Plot;
use weir_lab::shared::statistics::{Histogram, SteadyMean};

use crate::simulate::{Arrivals, updates};

/// The model.
pub struct Counter;

/// What it runs.
pub const UPDATES: WorkloadKind = WorkloadKind {
    name: "updates",
    kind: "program",
    about: "updates a counter for each packet",
    source: "lab/examples/counter",
    keys: &[
        WorkKey::count("work.packets", "packets", 200_000, [1000, 1_000_000]),
        WorkKey {
            key: "work.arrivals_per_cycle",
            about: "probability that a packet arrives in a cycle",
            default: 0.2,
            least: 0.0001,
            most: 0.9999,
            is_whole: false,
        },
        WorkKey::count("work.seed", "seed of the arrivals", 1, [0, u32::MAX]),
    ],
};

/// The rows of `published.csv`.
const ENTRIES: &[Entry] = &[
    Entry::simulated("geo-d-1-load", "updates with its defaults", |bench| {
        measured(bench, "busy_share")
    })
    .within(2.0),
    Entry::simulated("geo-d-1-wait", "updates with its defaults", |bench| {
        measured(bench, "mean_wait_cycles")
    })
    .within(5.0),
];

fn measured(bench: &Bench, metric: &str) -> Result<Vec<f64>, Failure> {
    let run = Counter.run(bench, &Workload::new(UPDATES))?;
    Ok(run.metric(metric).into_iter().collect())
}

/// The one parameter.
fn update_cycles(parameters: &Parameters) -> Result<u32, ParameterError> {
    let mut take = parameters.reader(Counter.name())?;
    let cycles = take.count("update_cycles", 1, 1000);
    take.finish()?;
    Ok(cycles)
}

impl Model for Counter {
    fn name(&self) -> &'static str {
        "counter"
    }

    fn machines(&self) -> &'static [(&'static str, &'static str)] {
        &[("counter", include_str!("counter.toml"))]
    }

    fn check(&self, parameters: &Parameters) -> Result<(), ParameterError> {
        update_cycles(parameters).map(drop)
    }

    fn workloads(&self) -> Vec<WorkloadKind> {
        vec![UPDATES]
    }

    fn run(&self, bench: &Bench, workload: &Workload) -> Result<Run, Failure> {
        let update_cycles = update_cycles(&bench.parameters(&[])?)?;
        let arrivals = Arrivals {
            packets: workload.count("work.packets"),
            per_cycle: workload.value("work.arrivals_per_cycle"),
            seed: workload.count("work.seed") as u64,
        };
        if arrivals.per_cycle * f64::from(update_cycles) >= 1.0 {
            return Err(Failure::Workload(format!(
                "work.arrivals_per_cycle: with {} and updates of {update_cycles} cycles the queue \
                 grows without end",
                arrivals.per_cycle
            )));
        }
        let updates = updates(&arrivals, u64::from(update_cycles));
        let waits: Vec<f64> = updates
            .iter()
            .map(|update| (update.began - update.arrived) as f64)
            .collect();
        let steady = SteadyMean::of(&waits)
            .ok_or_else(|| Failure::Workload("work.packets: too few".to_owned()))?;
        let mut histogram = Histogram::default();
        for update in updates.iter().skip(steady.warm_up) {
            histogram.add(update.began - update.arrived);
        }
        let quantile = |share| histogram.quantile(share).unwrap_or_default() as f64;
        let cycles = updates.last().map_or(1, |last| last.ended) as f64;
        let count = updates.len() as f64;
        let metrics = [
            ("mean_wait_cycles", "mean wait", steady.mean, "cycles"),
            (
                "wait_99_cycles",
                "wait that 99 % do not exceed",
                quantile(0.99),
                "cycles",
            ),
            (
                "busy_share",
                "share of busy cycles",
                count * f64::from(update_cycles) / cycles,
                "",
            ),
            (
                "updates_per_cycle",
                "throughput",
                count / cycles,
                "updates per cycle",
            ),
            ("wait_50_cycles", "median wait", quantile(0.5), "cycles"),
            (
                "half_width_cycles",
                "mean wait, ± with 95 % confidence",
                steady.half_width,
                "cycles",
            ),
            (
                "warm_up_updates",
                "updates before the steady state",
                steady.warm_up as f64,
                "",
            ),
        ];
        Ok(Run {
            metrics: metrics
                .into_iter()
                .map(|(key, name, value, unit)| Metric::new(key, name, value, unit))
                .collect(),
            // A cycle is a nanosecond.
            trace: Trace {
                units: vec!["memory".to_owned()],
                names: vec!["update".to_owned()],
                activities: updates
                    .iter()
                    .map(|update| Activity {
                        unit: 0,
                        name: 0,
                        begins_ns: update.began as f64,
                        length_ns: (update.ended - update.began) as f64,
                    })
                    .collect(),
            },
            outputs: Vec::new(),
        })
    }

    fn published(&self) -> &'static str {
        include_str!("published.csv")
    }

    fn entries(&self) -> Vec<&'static Entry> {
        ENTRIES.iter().collect()
    }

    fn title(&self) -> [&'static str; 2] {
        [
            "A counter beside the queue Geo/D/1",
            "Values of the closed form, each beside the value of the simulation.",
        ]
    }

    fn figures(&self, _: &Bench) -> Result<Vec<Plot>, Failure> {
        Ok(Vec::new())
    }
}
