//! Rows and plans. No test measures time.

use weir_bench::{Plan, PlanError, Progress, RunError, Subjects};

fn small(subjects: Subjects, algorithms: &[&str]) -> Plan {
    Plan {
        algorithms: algorithms.iter().map(|text| text.to_string()).collect(),
        bytes: vec![64, 600],
        keys: 3,
        rounds: 2,
        ..Plan::new(subjects)
    }
}

fn run(plan: &Plan) -> Result<Vec<weir_bench::Row>, RunError> {
    plan.run(|_| true)
}

#[test]
fn every_algorithm_has_its_rows() {
    for (subjects, modes) in [
        (Subjects::Cipher, ["seal", "open"]),
        (Subjects::Mac, ["tag", "verify"]),
    ] {
        let plan = Plan {
            bytes: vec![70],
            rounds: 1,
            ..small(subjects, &[])
        };
        let rows = run(&plan).expect("rows");
        let found: Vec<_> = rows
            .iter()
            .map(|row| (row.algorithm.clone(), row.mode))
            .collect();
        let expected: Vec<_> = Plan::names(subjects)
            .into_iter()
            .flat_map(|name| modes.map(|mode| (name.clone(), mode)))
            .collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn rows_say_what_was_measured() {
    let plan = Plan {
        threads: 2,
        ..small(Subjects::Mac, &["gmac", "umac-64"])
    };
    let rows = run(&plan).expect("rows");
    // Three key sizes of GMAC and one UMAC, in two modes, at two sizes.
    assert_eq!(rows.len(), (3 + 1) * 2 * 2);
    for row in rows {
        assert_eq!((row.keys, row.threads, row.rounds), (3, 2, 2));
        assert_eq!(row.level, weir_simd::tier().name());
        assert!([64, 600].contains(&row.bytes));
        let [lower, upper] = row.ns_per_packet_quartiles;
        assert!(0.0 < lower && lower <= row.ns_per_packet && row.ns_per_packet <= upper);
        let bits = (8 * row.bytes * row.threads) as f64;
        assert!((row.gbit_per_s * row.ns_per_packet - bits).abs() < 1e-6 * bits);
        assert_eq!(row.cycles_per_byte.is_some(), cfg!(target_arch = "x86_64"));
        assert!(row.cycles_per_byte.is_none_or(|cycles| cycles > 0.0));
    }
}

/// The names that scripts rely on.
#[test]
fn rows_have_the_fields_of_the_contract() {
    let plan = Plan {
        bytes: vec![64],
        rounds: 1,
        ..small(Subjects::Cipher, &["aes-128-gcm-16"])
    };
    let rows = run(&plan).expect("rows");
    let document = serde_json::to_value(&rows).expect("JSON");
    for field in [
        "algorithm",
        "mode",
        "level",
        "bytes",
        "threads",
        "gbit_per_s",
        "ns_per_packet",
        "cycles_per_byte",
    ] {
        assert!(document[0].get(field).is_some(), "{field}");
    }
    assert_eq!(document[0]["algorithm"], "aes-128-gcm-16");
}

#[test]
fn plans_that_cannot_be_carried_out_say_why() {
    let plan = small(Subjects::Mac, &["umac", "rot13"]);
    let Err(RunError::Plan(error)) = run(&plan) else {
        panic!("an algorithm that does not exist was measured");
    };
    let text = error.to_string();
    assert!(
        text.contains("`rot13`") && text.contains("umac-128"),
        "{text}"
    );

    let broken: [fn(&mut Plan); 9] = [
        |plan| plan.bytes = vec![64, 15],
        |plan| plan.bytes = vec![65_536],
        |plan| plan.keys = 0,
        |plan| plan.keys = 65_537,
        |plan| plan.threads = 0,
        |plan| plan.threads = 257,
        |plan| plan.rounds = 0,
        |plan| plan.rounds = 10_001,
        |plan| plan.bytes.clear(),
    ];
    for (index, breaks) in broken.into_iter().enumerate() {
        let mut plan = small(Subjects::Mac, &["umac-64"]);
        breaks(&mut plan);
        match run(&plan) {
            Err(RunError::Plan(PlanError::Number {
                least, most, given, ..
            })) => {
                assert!(!(least..=most).contains(&given));
            }
            Err(RunError::Plan(PlanError::NoBytes)) => assert_eq!(index, 8),
            other => panic!("{index}: {other:?}"),
        }
    }
}

#[test]
fn progress_is_reported_and_can_end_a_run() {
    let plan = small(Subjects::Cipher, &["aes-128-gcm-16"]);
    let mut reported = Vec::new();
    let rows = plan.run(|progress| {
        reported.push(progress);
        true
    });
    assert_eq!(rows.expect("rows").len(), 4);
    let expected: Vec<Progress> = (0..=4).map(|done| Progress { done, of: 4 }).collect();
    assert_eq!(reported, expected);

    let first_size = plan.run(|progress| progress.done < 3).expect("rows");
    assert_eq!(first_size.len(), 2);
    assert!(first_size.iter().all(|row| row.bytes == 64));
}
