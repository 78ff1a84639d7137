//! Every combination is run, once and alike on any number of threads; nonsense
//! is refused by name.

use super::*;
use crate::shared::model::{Entry, Run, Trace, WorkKey, WorkloadKind};
use crate::shared::report::Plot;

/// Adds its two parameters and the workload's.
struct Sum;

const MACHINE: &str = "model = \"sum\"\n\
    large = { value = 8, source = \"P a test\" }\n\
    small = { value = 4, source = \"P a test\" }\n";

const ITEMS: WorkloadKind = WorkloadKind {
    name: "items",
    kind: "program",
    about: "",
    source: "",
    keys: &[WorkKey::count("work.items", "items", 1, [1, 1000])],
};

impl Sum {
    fn read(parameters: &Parameters) -> Result<[f64; 2], ParameterError> {
        let mut take = parameters.reader("sum")?;
        let large = f64::from(take.power_of_two("large", 64));
        let small = f64::from(take.count("small", 1, 64));
        take.finish()?;
        if small > large {
            return Err(ParameterError::Contradiction {
                file: parameters.name().to_owned(),
                key: "small".to_owned(),
                reason: "it is over large".to_owned(),
            });
        }
        Ok([large, small])
    }
}

impl Model for Sum {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn machines(&self) -> &'static [(&'static str, &'static str)] {
        &[("test", MACHINE)]
    }

    fn check(&self, parameters: &Parameters) -> Result<(), ParameterError> {
        Sum::read(parameters).map(drop)
    }

    fn workloads(&self) -> Vec<WorkloadKind> {
        vec![ITEMS]
    }

    fn run(&self, bench: &Bench, workload: &Workload) -> Result<Run, Failure> {
        let [large, small] = Sum::read(&bench.parameters(&[])?)?;
        let sum = large + small + workload.value("work.items");
        Ok(Run {
            metrics: vec![Metric::new("sum", "the sum", sum, "")],
            trace: Trace::default(),
            outputs: Vec::new(),
        })
    }

    fn published(&self) -> &'static str {
        ""
    }

    fn entries(&self) -> Vec<&'static Entry> {
        Vec::new()
    }

    fn title(&self) -> [&'static str; 2] {
        ["", ""]
    }

    fn figures(&self, _: &Bench) -> Result<Vec<Plot>, Failure> {
        Ok(Vec::new())
    }
}

fn sweep(axes: &[&str]) -> Result<Sweep<'static>, SweepError> {
    let axes: Vec<Axis> = axes
        .iter()
        .map(|axis| Axis::parse(axis))
        .collect::<Result<_, _>>()?;
    let machine = Parameters::parse("test", MACHINE).expect("a machine");
    Sweep::new(&Sum, &machine, &Workload::new(ITEMS), &axes)
}

#[test]
fn axes_are_lists_and_ranges() {
    let values = |text: &str| Axis::parse(text).expect("an axis").values;
    assert_eq!(values("a=3, 4,6.5"), [3.0, 4.0, 6.5]);
    assert_eq!(values("a=2..5"), [2.0, 3.0, 4.0, 5.0]);
    assert_eq!(values("a=2..9:3"), [2.0, 5.0, 8.0]);
    assert_eq!(values("a=0.1..0.3:0.1").len(), 3);
    assert_eq!(values("a=-1..-1"), [-1.0]);
}

#[test]
fn nonsense_is_refused_by_name() {
    for (axes, says) in [
        (&["large"][..], "large: write KEY=VALUE"),
        (&["large="], " is not a number"),
        (&["large=x"], "x is not a number"),
        (&["large=1,inf"], "inf is not a number"),
        (&["large=4..1"], "the range has no values"),
        (&["large=1..4:0"], "the range has no values"),
        (&["large=1..4:-1"], "the range has no values"),
        (&["large=1..1e300"], "at most 100000"),
        (
            &["work.items=1..1000", "small=1..64", "large=1,2"],
            "at most 100000",
        ),
        (&["small=1", "small=2"], "small: it is given twice"),
        (&["doors=1"], "test, doors: there is no such parameter"),
        (&["small=3,-1"], "small: -1 is not from 1 to 64"),
        (&["small=2.5"], "2.5 is not a whole number"),
        (&["large=8,12"], "large: 12 is no power of two"),
        (
            &["work.colour=1"],
            "work.colour: items has no such parameter of the workload; there are work.items",
        ),
        (
            &["work.items=0"],
            "work.items: 0 is not a whole number from 1 to 1000",
        ),
        (&["work.items=1.5"], "work.items: 1.5 is not a whole number"),
        (&["work.items=1e12"], "from 1 to 1000"),
    ] {
        let error = sweep(axes).err().expect("an error").to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn every_combination_is_run() {
    let sweep = sweep(&["large=4,8", "work.items=1,2,3", "small=2,6"]).expect("a sweep");
    assert_eq!(sweep.points().len(), 12);
    let run = |threads: usize| {
        let done = std::sync::atomic::AtomicUsize::new(0);
        let threads = NonZero::new(threads).expect("not 0");
        let runs = sweep.run(threads, || {
            done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        });
        assert_eq!(done.into_inner(), 12);
        runs
    };
    let runs = run(1);
    assert_eq!(runs, run(5));
    for (point, run) in sweep.points().iter().zip(&runs) {
        let [large, items, small] = [point[0].1, point[1].1, point[2].1];
        match run {
            Ok(metrics) => assert_eq!(metrics[0].value, large + items + small),
            Err(error) => assert!(error.to_string().contains("it is over large")),
        }
        assert_eq!(run.is_err(), small > large, "{point:?}");
    }
}
