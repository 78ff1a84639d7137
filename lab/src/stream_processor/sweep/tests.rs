//! Every combination is run, once and alike on any number of threads; nonsense
//! is refused by name.

use super::*;
use crate::stream_processor::applications;

const SIZE: Size = Size {
    packets: 2,
    bytes: 256,
    key_agile: false,
    dual: false,
};

fn sweep(axes: &[&str]) -> Result<Sweep, SweepError> {
    let axes: Vec<Axis> = axes
        .iter()
        .map(|axis| Axis::parse(axis))
        .collect::<Result<_, _>>()?;
    Sweep::new(&Machine::load("imagine", &[])?, SIZE, &axes)
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
        (&["clusters"][..], "clusters: write KEY=VALUE"),
        (&["clusters="], " is not a number"),
        (&["clusters=x"], "x is not a number"),
        (&["clusters=1,inf"], "inf is not a number"),
        (&["clusters=4..1"], "the range has no values"),
        (&["clusters=1..4:0"], "the range has no values"),
        (&["clusters=1..4:-1"], "the range has no values"),
        (&["clusters=1..1e300"], "at most 100000"),
        (
            &["clock_mhz=1..1000", "host.bus_mhz=1..1000"],
            "at most 100000",
        ),
        (&["clusters=1", "clusters=2"], "clusters: it is given twice"),
        (&["doors=1"], "imagine, doors: there is no such parameter"),
        (
            &["cluster.adders=3,-1"],
            "cluster.adders: -1 is not from 1 to 64",
        ),
        (&["cluster.adders=2.5"], "2.5 is not a whole number"),
        (&["clusters=8,12"], "clusters: 12 is no power of two"),
        (&["work.colour=1"], "work.colour: there is no such part"),
        (&["work.bytes=0"], "work.bytes: 0 is not a whole number"),
        (&["work.bytes=1e12"], "the workload is over"),
    ] {
        let error = sweep(axes).expect_err("an error").to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn every_combination_is_run() {
    let sweep = sweep(&[
        "clusters=4,8",
        "work.bytes=256,512",
        "memory.bytes_per_cycle=4,8",
        "memory.stream_bytes_per_cycle=4,8",
    ])
    .expect("a sweep");
    assert_eq!(sweep.points().len(), 16);
    let aes = applications::program("aes").expect("aes");
    let run = |threads: usize| {
        sweep.run(
            &aes,
            NonZero::new(threads).expect("not 0"),
            |machine, size, outcome| {
                let cycles = outcome.map(|outcome| outcome.cycles);
                (machine.clusters, size.bytes, cycles)
            },
        )
    };
    let rows = run(1);
    assert_eq!(rows, run(5));
    for (point, (clusters, bytes, cycles)) in sweep.points().iter().zip(&rows) {
        // A stream that is faster than memory is the only contradiction.
        let excluded = point[2].1 < point[3].1;
        assert_eq!(cycles.is_err(), excluded, "{point:?}");
        if !excluded {
            assert_eq!((*clusters as f64, *bytes as f64), (point[0].1, point[1].1));
        }
    }
}

#[test]
fn a_combination_that_does_not_fit_has_the_reason() {
    let sweep = sweep(&["srf.bytes=1024,131072"]).expect("a sweep");
    let aes = applications::program("aes").expect("aes");
    let ran = sweep.run(&aes, parallel::cores(), |_, _, outcome| {
        outcome.err().map(|error| error.to_string())
    });
    let reason = ran[0].as_deref().expect("a reason");
    assert!(
        reason.contains("bytes of the stream register file"),
        "{reason}"
    );
    assert_eq!(ran[1], None);
}
