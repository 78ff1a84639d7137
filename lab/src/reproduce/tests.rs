//! Every row is reported, with the value that is on record.

use super::*;

/// The values of all rows, exactly, at [`Effort::SHORT`]. A change of a kernel, a
/// parameter, the simulator or the way a row is measured changes values here. It
/// is listed with its reason in docs/decisions, and the file is written again by
/// `cargo run -p weir-lab --example golden > golden.csv`, with that file moved
/// here.
const GOLDEN: &str = include_str!("golden.csv");

#[test]
fn every_row_has_a_verdict_and_its_golden_values() {
    let rows = reproduce(&[], Effort::SHORT, |_, _| {}).expect("rows");
    assert_eq!(rows.len(), 107);
    for row in &rows {
        let id = &row.published.id;
        let is_reference = row.class == Class::Reference;
        assert_eq!(row.verdict == Verdict::ReferenceOnly, is_reference, "{id}");
        assert_eq!(row.modelled.is_none(), is_reference, "{id}");
        let needs_reason = matches!(row.verdict, Verdict::Differs | Verdict::SourceInconsistent);
        assert!(
            !needs_reason || !row.note.is_empty(),
            "{id} has no reason: {row:?}"
        );
        // All fitted rows are of AES.
        assert!(!row.fitted || row.published.place.contains("2."), "{id}");
    }
    let found: Vec<(&str, &[f64])> = rows
        .iter()
        .map(|row| (row.published.id.as_str(), row.values.as_slice()))
        .collect();
    let golden: Vec<(&str, Vec<f64>)> = GOLDEN
        .lines()
        .skip(1)
        .map(|line| {
            let (id, values) = line.split_once(',').expect("an id and values");
            let values = values.split_whitespace();
            (id, values.map(|it| it.parse().expect("a number")).collect())
        })
        .collect();
    assert_eq!(found.len(), golden.len());
    for ((id, values), (golden_id, golden)) in found.into_iter().zip(golden) {
        assert_eq!(id, golden_id);
        // Elementary functions may differ in the last bits between platforms.
        let same = |(one, other): (&f64, &f64)| (one - other).abs() <= 1e-9 * other.abs();
        assert!(
            values.len() == golden.len() && values.iter().zip(&golden).all(same),
            "{id}: {values:?}, and golden.csv has {golden:?}"
        );
    }
}

#[test]
fn quantities_count_once_by_their_worst_row() {
    let rows = reproduce(
        &["imagine-057", "imagine-058", "imagine-059", "imagine-001"].map(str::to_owned),
        Effort::SHORT,
        |_, _| {},
    )
    .expect("rows");
    let tally = tally(&rows);
    let of = |outcome: &str| {
        let line = tally.iter().find(|line| line.outcome == outcome);
        line.map(|line| (line.rows, line.quantities))
    };
    assert_eq!(of("reference only"), Some(([1, 4], [1, 3])));
    let near = of("simulated and predicted, within 15 %").expect("a line");
    assert_eq!((near.0[1], near.1[1]), (3, 2));
    // One row of the shared quantity is far off, so the quantity is.
    assert!(rows[2].error_percent.expect("an error").abs() > 30.0);
    let nearly = of("simulated and predicted, within 30 %").expect("a line");
    assert!(nearly.1[0] <= 1, "{nearly:?}");
}

#[test]
fn an_unknown_row_is_an_error() {
    for id in ["imagine-104", "ixp-001", "1"] {
        let error = reproduce(&[id.to_owned()], Effort::SHORT, |_, _| {}).expect_err("an error");
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("no row is called {id}; there are imagine-001 to")),
            "{text}"
        );
    }
    let row = Published {
        id: "ixp-001".to_owned(),
        ..published().remove(0)
    };
    let error = with_model(row).err();
    assert_eq!(error, Some(ReproduceError::NoModel("ixp-001".to_owned())));
}

/// The calibrated latencies are those of all combinations in their ranges that
/// come closest to table 2.2.
#[test]
fn calibration_is_the_best_within_its_ranges() {
    use crate::applications::aes;
    use crate::schedule::Schedule;
    const TABLE: [(f64, f64, f64); 8] = [
        (1.0, 3.0, 25.0),
        (1.0, 4.0, 25.0),
        (1.0, 6.0, 25.0),
        (2.0, 3.0, 21.0),
        (2.0, 4.0, 17.0),
        (2.0, 6.0, 17.0),
        (4.0, 4.0, 13.0),
        (4.0, 6.0, 12.0),
    ];
    const RANGES: [(&[&str], [f64; 2]); 5] = [
        (&["operation.add.latency"], [1.0, 2.0]),
        (&["operation.logic.latency"], [1.0, 2.0]),
        (&["operation.shift.latency"], [1.0, 2.0]),
        (
            &["operation.shuffle.latency", "operation.select.latency"],
            [1.0, 2.0],
        ),
        (&["operation.scratch_read.latency"], [2.0, 3.0]),
    ];
    let core = aes::core().expect("a kernel");
    let badness = |changes: &[(String, f64)]| -> f64 {
        let errors = TABLE.map(|(scratchpads, adders, cycles)| {
            let mut changes = changes.to_vec();
            changes.push(("cluster.scratchpads".to_owned(), scratchpads));
            changes.push(("cluster.adders".to_owned(), adders));
            let machine = Machine::load("imagine", &changes).expect("a machine");
            let schedule = Schedule::of(&core, &machine).expect("a schedule");
            let rounds = schedule.block_of("rounds").expect("the rounds");
            (f64::from(rounds.cycles) / cycles - 1.0).powi(2)
        });
        errors.iter().sum()
    };
    let set = badness(&[]);
    for branch in [0.0, 1.0, 2.0] {
        for choice in 0..1 << RANGES.len() {
            let mut changes = vec![("cluster.branch_cycles".to_owned(), branch)];
            for (bit, (keys, values)) in RANGES.iter().enumerate() {
                let value = values[choice >> bit & 1];
                changes.extend(keys.iter().map(|key| ((*key).to_owned(), value)));
            }
            assert!(badness(&changes) >= set - 1e-12, "{changes:?}");
        }
    }
}

fn study(ids: &[&str], assumptions: &[Assumption]) -> Study {
    let mut rows = published();
    rows.retain(|row| ids.contains(&row.id.as_str()));
    sensitivity::of_rows(
        &rows,
        assumptions,
        Effort::SHORT,
        crate::parallel::cores(),
        || {},
    )
    .expect("rows")
}

#[test]
fn results_depend_on_what_they_should() {
    let parameters = ["host.bus_cycles_per_word", "operation.multiply.latency"];
    let assumed = assumptions(&parameters.map(str::to_owned)).expect("parameters");
    let found = study(
        &[
            "imagine-030",
            "imagine-044",
            "imagine-045",
            "imagine-054",
            "imagine-103",
        ],
        &assumed,
    );
    let depends = |parameter: &str, id: &str| {
        let mut moved = found.moved.iter();
        moved.any(|it| it.parameter == parameter && it.id == id)
    };
    // The rate of small packets is the host's, that of large ones is not, and
    // AES does not multiply.
    assert!(depends(parameters[0], "imagine-044"));
    assert!(!depends(parameters[0], "imagine-045"));
    assert!(!depends(parameters[1], "imagine-045"));
    assert!(assumptions(&["cluster.doors".to_owned()]).is_err());
    // A lower supply brings all applications below 4 W.
    let low = Assumption {
        parameter: "technology.supply_v".to_owned(),
        value: 1.5,
        source: String::new(),
        range: Some([1.0, 1.5]),
    };
    let moved = study(&["imagine-103"], &[low]).moved;
    assert!(moved.iter().any(|it| it.flips), "{moved:?}");
}

#[test]
fn sensitivity_covers_declared_ranges_from_the_reported_values() {
    let keys = [
        "microcode.start_cycles",
        "operation.add64.interval",
        "srf.bytes",
    ];
    let assumed = assumptions(&keys.map(str::to_owned)).expect("parameters");
    // srf.bytes is printed, and so no assumption.
    assert_eq!(assumed.len(), 2);
    assert_eq!(assumed[0].trials(), [100.0]);
    assert_eq!(assumed[1].trials(), [4.0]);
    let found = study(&["imagine-055", "imagine-059"], &assumed);
    assert_eq!(found.refused, []);
    let moved = |key: &str, id: &str| {
        let mut moved = found.moved.iter();
        moved.find(|it| it.parameter == key && it.id == id)
    };
    let start = moved(keys[0], "imagine-055").expect("kernel starts carry MMH");
    assert!(start.after < 0.8 * start.before, "{start:?}");
    assert!(moved(keys[1], "imagine-059").is_some());
    let reported = reproduce(&["imagine-055".to_owned()], Effort::SHORT, |_, _| {});
    assert_eq!(reported.expect("a row")[0].values[0], start.before);
    let refused = Assumption {
        parameter: "memory.stream_bytes_per_cycle".to_owned(),
        value: 4.0,
        source: String::new(),
        range: Some([4.0, 8.0]),
    };
    let found = study(&["imagine-088"], &[refused]);
    assert_eq!(found.refused.len(), 1);
    assert!(found.moved.is_empty());
}

#[test]
fn experiments_differ_in_adders_and_scratchpads_alone() {
    let bench = Bench::new(Effort::SHORT);
    let [one, other] = [(3, 1), (8, 4)].map(|(adders, scratchpads)| {
        let machine = bench.imagine(adders, scratchpads).expect("a machine");
        let parameters = machine.parameters().iter();
        parameters
            .map(|(key, it)| (key.to_owned(), it.value))
            .collect::<Vec<_>>()
    });
    let differing: Vec<&str> = one
        .iter()
        .zip(&other)
        .filter(|(one, other)| one != other)
        .map(|((key, _), _)| key.as_str())
        .collect();
    assert_eq!(differing, ["cluster.adders", "cluster.scratchpads"]);
}
