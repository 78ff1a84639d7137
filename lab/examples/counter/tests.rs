//! The simulation has the closed form's mean wait, and goes through every shared part.

use weir_lab::shared::model::{Activity, Bench, Effort, Failure, Model, Run, Workload};
use weir_lab::shared::parameters::Parameters;
use weir_lab::shared::reproduce::{Verdict, depends_on_its_inputs, reproduce};

use crate::model::{Counter, UPDATES};

fn machine() -> Parameters {
    Parameters::load("counter", Counter.machines()).expect("a machine")
}

fn set(settings: &[(&str, f64)]) -> Vec<(String, f64)> {
    let owned = settings
        .iter()
        .map(|(key, value)| ((*key).to_owned(), *value));
    owned.collect()
}

fn run(update_cycles: f64, work: &[(&str, f64)]) -> Result<Run, Failure> {
    let cycles = set(&[("update_cycles", update_cycles)]);
    let bench = Bench::new(machine(), &cycles, Effort::Full);
    Counter.run(&bench, &Workload::new(UPDATES).with(&set(work))?)
}

/// The mean wait of Geo/D/1, in cycles (Takagi 1993): arrivals with probability `p`
/// in a cycle, `s` cycles of service.
fn mean_wait(p: f64, s: f64) -> f64 {
    p * s * (s - 1.0) / (2.0 * (1.0 - p * s))
}

/// The mean of 30 batches is as far from the true mean as Student's t with 29 degrees
/// of freedom says: over 10.5 standard errors with a probability of 2e-11, and in one of
/// these 15 runs with 4e-10.
#[test]
fn the_mean_wait_is_that_of_the_closed_form() {
    for (p, s) in [
        (0.05, 4.0),
        (0.2, 4.0),
        (0.3, 2.0),
        (0.01, 60.0),
        (0.1, 8.0),
    ] {
        for seed in [1.0, 2.0, 3.0] {
            let work = [("work.arrivals_per_cycle", p), ("work.seed", seed)];
            let run = run(s, &work).expect("a run");
            let metric = |key: &str| run.metric(key).expect("a metric");
            let standard_error = metric("half_width_cycles") / 2.045;
            let error = (metric("mean_wait_cycles") - mean_wait(p, s)).abs();
            assert!(
                standard_error > 0.0 && error <= 10.5 * standard_error,
                "{p} {s}: {error}"
            );
            // A control: the interval is narrow enough to exclude a slower memory.
            let other = (metric("mean_wait_cycles") - mean_wait(p, 1.2 * s)).abs();
            assert!(other > 10.5 * standard_error, "{p} {s}: {other}");
        }
    }
}

#[test]
fn an_update_of_one_cycle_never_waits() {
    let run = run(1.0, &[("work.arrivals_per_cycle", 0.9)]).expect("a run");
    assert_eq!(run.metric("mean_wait_cycles"), Some(0.0));
    assert_eq!(run.metric("wait_99_cycles"), Some(0.0));
}

#[test]
fn a_seed_gives_one_run_whose_updates_do_not_overlap() {
    let of_seed = |seed: f64| run(4.0, &[("work.seed", seed), ("work.packets", 5000.0)]);
    let one = of_seed(1.0).expect("a run");
    assert_eq!(Ok(&one), of_seed(1.0).as_ref());
    assert_ne!(
        Ok(&one.metrics),
        of_seed(2.0).as_ref().map(|run| &run.metrics)
    );
    let updates = &one.trace.activities;
    assert_eq!(updates.len(), 5000);
    let overlap = |pair: &[Activity]| pair[0].begins_ns + pair[0].length_ns > pair[1].begins_ns;
    assert!(!updates.windows(2).any(overlap));
}

#[test]
fn a_load_without_a_steady_state_is_refused() {
    let error = run(4.0, &[("work.arrivals_per_cycle", 0.25)]).expect_err("an error");
    assert!(error.to_string().contains("grows without end"), "{error}");
    let error = run(4.0, &[("work.packets", 10.0)]).expect_err("an error");
    assert!(
        error.to_string().contains("from 1000 to 1000000"),
        "{error}"
    );
}

#[test]
fn its_rows_agree_and_depend_on_the_machine() {
    let rows = reproduce(&Counter, &machine(), &[], &[], Effort::Full, |_| {}).expect("rows");
    assert_eq!(rows.len(), 2);
    assert!(
        rows.iter().all(|row| row.verdict == Verdict::Agrees),
        "{rows:#?}"
    );
    let bench = Bench::new(machine(), &[], Effort::Full);
    let faster = bench.changed(&set(&[("update_cycles", 2.0)]));
    for entry in Counter.entries() {
        assert_eq!(
            depends_on_its_inputs(entry, &bench, &[bench.changed(&[])]),
            Ok(false)
        );
        let others = std::slice::from_ref(&faster);
        assert_eq!(depends_on_its_inputs(entry, &bench, others), Ok(true));
    }
}
