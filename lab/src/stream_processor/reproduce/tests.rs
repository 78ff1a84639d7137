//! Every row is reported, with the value that is on record.

use std::sync::LazyLock;

use super::*;
use crate::shared::model::{Class, Effort, Failure, Model, Standing};
use crate::shared::parallel;
use crate::shared::parameters::Parameters;
use crate::shared::reproduce::{
    Assumption, RegistryError, ReproduceError, Row, Study, Verdict, assumptions,
    depends_on_its_inputs, frozen, golden_differences, published, registry, reproduce, sensitivity,
    tally,
};
use crate::stream_processor::StreamProcessor;

/// The values of all rows, exactly, at [`Effort::Short`]. A change of a kernel, a
/// parameter, the simulator or the way a row is measured changes values here. It
/// is listed with its reason in docs/decisions, and the file is written again by
/// the example `golden`.
const GOLDEN: &str = include_str!("golden.csv");

fn imagine() -> Parameters {
    Parameters::load("imagine", StreamProcessor.machines()).expect("a machine")
}

fn rows_of(ids: &[&str], changes: &[(&str, f64)]) -> Result<Vec<Row>, ReproduceError> {
    let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
    let changes: Vec<_> = changes
        .iter()
        .map(|(key, value)| ((*key).to_owned(), *value))
        .collect();
    reproduce(
        &StreamProcessor,
        &imagine(),
        &changes,
        &ids,
        Effort::Short,
        |_| {},
    )
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| rows_of(&[], &[]).expect("rows"));

#[test]
fn every_row_has_its_golden_values() {
    assert_eq!(golden_differences(&ROWS, GOLDEN), [""; 0]);
}

#[test]
fn a_changed_golden_value_names_its_row() {
    let changed = GOLDEN.replacen("imagine-020,186\n", "imagine-020,187\n", 1);
    let found = golden_differences(&ROWS, &changed);
    assert_eq!(found, [r#"imagine-020: [186.0], golden ["187"]"#]);
    let shorter = GOLDEN.replacen("imagine-020,186\n", "", 1);
    let found = golden_differences(&ROWS, &shorter);
    assert_eq!(found, ["imagine-020: there is no golden value"]);
    let longer = format!("{GOLDEN}imagine-104,1\n");
    let found = golden_differences(&ROWS, &longer);
    assert_eq!(found, ["imagine-104: there is no such row"]);
}

/// The table of lab/docs/freeze.md.
#[test]
fn the_values_of_the_freeze_are_on_record() {
    let rows = frozen(&StreamProcessor, &[]).expect("rows");
    let of = |outcome: &str| {
        let mut lines = tally(&rows).into_iter();
        let line = lines.find(|line| line.outcome.trim() == outcome);
        line.map(|line| [line.rows, line.quantities])
    };
    assert_eq!(of("agrees"), Some([[39, 107], [29, 88]]));
    assert_eq!(of("orderings"), Some([[3, 9], [3, 9]]));
    let within = |percent: u32| of(&format!("simulated and predicted, within {percent} %"));
    assert_eq!(within(15), Some([[11, 32], [5, 21]]));
    assert_eq!(within(30), Some([[22, 32], [14, 21]]));
    let one = frozen(&StreamProcessor, &["imagine-020".to_owned()]).expect("a row");
    assert_eq!(one.len(), 1);
}

#[test]
fn every_row_has_a_verdict_and_a_reason() {
    assert_eq!(ROWS.len(), 107);
    for row in &*ROWS {
        let id = &row.published.id;
        let is_reference = row.entry.class == Class::Reference;
        assert_eq!(row.verdict == Verdict::ReferenceOnly, is_reference, "{id}");
        assert_eq!(row.modelled.is_none(), is_reference, "{id}");
        let needs_reason = matches!(row.verdict, Verdict::Differs | Verdict::SourceInconsistent);
        assert!(
            !needs_reason || !row.entry.note.is_empty(),
            "{id} has no reason: {row:?}"
        );
        // All fitted rows are of AES.
        assert!(
            !row.entry.fitted || row.published.place.contains("2."),
            "{id}"
        );
    }
}

/// Every computation computes: on one of three other machines, every simulated value
/// changes.
#[test]
fn no_row_echoes_its_published_value() {
    let bench = Bench::new(imagine(), &[], Effort::Short);
    let others = others(&bench);
    let literals: Vec<&str> = entries()
        .into_iter()
        .filter(|entry| !depends_on_its_inputs(entry, &bench, &others).expect("a value"))
        .map(|entry| entry.id)
        .collect();
    assert_eq!(literals, [""; 0]);
}

/// Benches with all assumed parameters at the upper, and at the lower ends of their
/// ranges, and one whose scratchpads take a word in every second cycle: the
/// difference of row 024 depends on nothing else.
fn others(bench: &Bench) -> [Bench; 3] {
    let assumed = assumptions(&imagine(), &[]).expect("parameters");
    let [upper, lower] = [1, 0].map(|end| {
        let ends = assumed
            .iter()
            .map(|it| (it.parameter.clone(), it.range[end]));
        bench.changed(&ends.collect::<Vec<_>>())
    });
    let writes = ("operation.scratch_write.interval".to_owned(), 2.0);
    [upper, lower, bench.changed(&[writes])]
}

#[test]
fn rows_that_echo_are_found() {
    static ECHOES: [Entry; 5] = [
        Entry::simulated("imagine-090", "", |_| Ok(vec![8.0, 2.0, 16.0])),
        // It reads the machine, and does not use it.
        Entry::simulated("imagine-026", "", |bench| {
            bench.imagine(6, 2)?;
            Ok(vec![31.5])
        }),
        Entry::configuration("imagine-006", "", |_| Ok(vec![252.0])),
        Entry::closed_form("imagine-061", &[], |_| vec![3.0]),
        Entry::closed_form(
            "imagine-065",
            &[("bits", 41.0), ("hashes", 16.0)],
            |inputs| vec![1.43e-8 * inputs[0] / 41.0],
        ),
    ];
    let bench = Bench::new(imagine(), &[], Effort::Short);
    let others = others(&bench);
    for entry in &ECHOES {
        assert_eq!(
            depends_on_its_inputs(entry, &bench, &others),
            Ok(false),
            "{}",
            entry.id
        );
    }
}

/// The tallies of rows and of independent quantities. What agrees and what does
/// not is on record, not required.
#[test]
fn quantities_count_once_by_their_worst_row() {
    let rows = rows_of(
        &["imagine-057", "imagine-058", "imagine-059", "imagine-001"],
        &[],
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
fn quantities_are_shared_by_rows_that_compute() {
    let entries = entries();
    for entry in &entries {
        let shares = entries
            .iter()
            .filter(|other| other.quantity.is_some() && other.quantity == entry.quantity);
        assert_ne!(
            shares.count(),
            1,
            "{} shares its quantity with no row",
            entry.id
        );
    }
}

#[test]
fn an_unknown_row_is_an_error() {
    for id in ["imagine-104", "ixp-001", "1"] {
        let text = rows_of(&[id], &[]).expect_err("an error").to_string();
        assert!(
            text.starts_with(&format!("no row is called {id}; there are imagine-001 to")),
            "{text}"
        );
    }
}

#[test]
fn rows_and_models_belong_together_by_full_id() {
    let rows = || published(PUBLISHED).expect("rows");
    assert_eq!(registry(rows(), &entries()).expect("a registry").len(), 107);
    // A row of another system never gets a model of this one.
    let mut with_other = rows();
    with_other[0].id = "ixp-001".to_owned();
    let error = registry(with_other, &entries()).err();
    assert_eq!(error, Some(RegistryError::NoModel("ixp-001".to_owned())));
    let mut fewer = rows();
    fewer.retain(|row| row.id != "imagine-020");
    let error = registry(fewer, &entries()).err();
    assert_eq!(error, Some(RegistryError::NoRow("imagine-020")));
    let mut twice = rows();
    twice.push(twice[3].clone());
    let error = registry(twice, &entries()).err();
    assert_eq!(error, Some(RegistryError::Twice("imagine-004".to_owned())));
    let mut twice = entries();
    twice.push(twice[0]);
    let error = registry(rows(), &twice).err();
    assert_eq!(error, Some(RegistryError::Twice("imagine-001".to_owned())));
}

#[test]
fn changes_of_the_machine_reach_every_row() {
    let value =
        |changes: &[(&str, f64)]| rows_of(&["imagine-055"], changes).expect("a row")[0].values[0];
    let started = value(&[("microcode.start_cycles", 100.0)]);
    assert!(started < 0.8 * value(&[]), "{started}");
    // A change takes precedence over what the row sets.
    assert_ne!(value(&[("cluster.adders", 2.0)]), value(&[]));
    let unknown = rows_of(&["imagine-055"], &[("cluster.doors", 1.0)]);
    assert!(matches!(
        unknown,
        Err(ReproduceError::Model(Failure::Parameters(_)))
    ));
    let refused = rows_of(&["imagine-055"], &[("cluster.adders", 2.5)]);
    assert!(refused.expect_err("an error").to_string().contains("2.5"));
}

/// The calibrated latencies are those of all combinations in their ranges that
/// come closest to table 2.2.
#[test]
fn calibration_is_the_best_within_its_ranges() {
    use crate::stream_processor::applications::aes;
    use crate::stream_processor::schedule::Schedule;
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
    let effort = Effort::Short;
    let threads = parallel::cores();
    sensitivity(
        &StreamProcessor,
        &imagine(),
        ids,
        assumptions,
        effort,
        threads,
        || {},
    )
    .expect("rows")
}

fn assumed(keys: &[&str]) -> Vec<Assumption> {
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    assumptions(&imagine(), &keys).expect("parameters")
}

#[test]
fn results_depend_on_what_they_should() {
    let parameters = ["host.bus_cycles_per_word", "operation.multiply.latency"];
    let found = study(
        &["imagine-044", "imagine-045", "imagine-054", "imagine-103"],
        &assumed(&parameters),
    );
    let depends = |parameter: &str, id: &str| {
        let mut moved = found.moved.iter();
        moved.any(|it| it.parameter == parameter && it.id == id)
    };
    // The rate of small packets is the host's, that of large ones is not, and
    // AES does not multiply.
    assert!(depends(parameters[0], "imagine-044"));
    assert!(!depends(parameters[1], "imagine-045"));
    assert!(assumptions(&imagine(), &["cluster.doors".to_owned()]).is_err());
    // A lower supply brings all applications below 4 W.
    let low = Assumption {
        parameter: "technology.supply_v".to_owned(),
        value: 1.5,
        source: String::new(),
        range: [1.0, 1.5],
    };
    let moved = study(&["imagine-103"], &[low]).moved;
    assert!(moved.iter().any(|it| it.flips()), "{moved:?}");
}

#[test]
fn sensitivity_covers_declared_ranges_from_the_reported_values() {
    let keys = [
        "microcode.start_cycles",
        "operation.add64.interval",
        "srf.bytes",
    ];
    let assumed = assumed(&keys);
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
    let reported = rows_of(&["imagine-055"], &[]).expect("a row");
    assert_eq!(reported[0].values[0], start.before);
    let refused = Assumption {
        parameter: "memory.stream_bytes_per_cycle".to_owned(),
        value: 4.0,
        source: String::new(),
        range: [4.0, 8.0],
    };
    let found = study(&["imagine-088"], &[refused]);
    assert_eq!(found.refused.len(), 1);
    assert!(found.moved.is_empty());
}

#[test]
fn substituted_rows_do_not_count() {
    let substituted = entries()
        .into_iter()
        .filter(|entry| entry.standing == Standing::SubstitutedWorkload);
    for entry in substituted {
        let row = ROWS.iter().find(|row| row.published.id == entry.id);
        let verdict = row.map(|row| row.verdict);
        assert_eq!(verdict, Some(Verdict::SubstitutedWorkload), "{}", entry.id);
    }
}

#[test]
fn experiments_differ_in_adders_and_scratchpads_alone() {
    let bench = Bench::new(imagine(), &[], Effort::Short);
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
