//! `weir engines`: what this build can do on this machine.

use std::process::ExitCode;

use serde::Serialize;
use weir_console::{Outcome, output, table};
use weir_simd::Tier;

use crate::cli::Engines;

/// One engine.
#[derive(Serialize)]
struct Row {
    engine: &'static str,
    tier: &'static str,
    available: bool,
    /// `passed`, or what failed.
    self_test: String,
    /// Packets whose known answers were compared.
    packets_compared: usize,
    can: Vec<String>,
}

/// One CPU tier.
#[derive(Serialize)]
struct TierRow {
    tier: &'static str,
    available: bool,
    in_use: bool,
}

/// The document of `--json`.
#[derive(Serialize)]
struct Document {
    rows: Vec<Row>,
    tiers: Vec<TierRow>,
}

/// Exit status 1 where an engine that is available fails its self-test.
pub fn engines(arguments: &Engines) -> Outcome<ExitCode> {
    let json = output::Document::asked_for(&arguments.common)?;
    let tiers = Tier::ALL
        .into_iter()
        .map(|tier| TierRow {
            tier: tier.name(),
            available: tier.is_available(),
            in_use: tier == weir_simd::tier(),
        })
        .collect();
    let mut failed = false;
    let rows = weir_crypto::engines()
        .into_iter()
        .map(|engine| {
            let result = engine.available.then(|| engine.self_test());
            let (self_test, packets_compared) = match result {
                None => ("not run: not available here".to_owned(), 0),
                Some(Ok(packets)) => ("passed".to_owned(), packets),
                Some(Err(error)) => {
                    failed = true;
                    (format!("failed: {error}"), 0)
                }
            };
            Row {
                engine: engine.name,
                tier: engine.tier,
                available: engine.available,
                self_test,
                packets_compared,
                can: engine
                    .suites
                    .iter()
                    .map(|suite| suite.name())
                    .chain(engine.macs.iter().map(|mac| mac.to_string()))
                    .collect(),
            }
        })
        .collect();
    let document = Document { rows, tiers };

    if let Some(json) = json {
        json.write("engines", &document)?;
    }
    if arguments.common.shows_tables() {
        output::write_stdout(tables(&document).as_bytes())?;
    }
    Ok(ExitCode::from(u8::from(failed)))
}

/// All that an engine can do, or how much and one thing of it.
fn in_short(able: &[String]) -> String {
    match able {
        [first, _, _, _, ..] => format!("{} suites, as {first}", able.len()),
        few => few.join(", "),
    }
}

fn tables(document: &Document) -> String {
    let yes = |value: bool| if value { "yes" } else { "no" }.to_owned();
    let tiers = document
        .tiers
        .iter()
        .map(|row| vec![row.tier.to_owned(), yes(row.available), yes(row.in_use)])
        .collect();
    let engines = document
        .rows
        .iter()
        .map(|row| {
            vec![
                row.engine.to_owned(),
                row.tier.to_owned(),
                row.self_test.clone(),
                row.packets_compared.to_string(),
                in_short(&row.can),
            ]
        })
        .collect();
    table::table(
        "CPU tiers (WEIR_ISA forces one)",
        &["tier", "available", "in use"],
        &[],
        tiers,
    ) + "\n"
        + &table::table(
            "engines (--json lists all suites)",
            &["engine", "tier", "self-test", "known answers", "can"],
            &[3],
            engines,
        )
}
