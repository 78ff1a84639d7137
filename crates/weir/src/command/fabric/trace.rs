//! `weir fabric trace`.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use weir_console::{Failure, Outcome, table};
use weir_fabric::trace::{Report, TopologyMap, TraceStage, Untraced};
use weir_gateway::Traffic;

use super::{Document, Reading, shown, stage_of, traffic_of, untracked_row};
use crate::cli::FabricTrace;
use crate::failure::failure;
use crate::tables;

pub fn trace(arguments: &FabricTrace) -> Outcome<ExitCode> {
    let path = &arguments.map;
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read {}", path.display()))
        .map_err(Failure::Usage)?;
    let map = TopologyMap::parse(path, &text).map_err(Failure::usage)?;
    let reading = Reading::new(&arguments.inputs, &arguments.common)?;
    let execution = reading.run(TraceStage::new(map))?;
    let report = stage_of::<TraceStage>(&execution)?.report();
    let traffic = traffic_of(&execution);
    let document = Document { traffic, report };
    reading.finish("fabric trace", &document, text_of)?;
    execution.check_captures().map_err(failure)?;
    refuse_rocev2(&document.report)
}

/// The failure of a capture that has packets of RoCEv2 and nothing that could have been traced.
fn refuse_rocev2(report: &Report) -> Outcome<ExitCode> {
    let refused: u64 = report.untraced.values().sum();
    match report.untraced(Untraced::RoceV2) {
        packets if packets > 0 && report.traced == 0 && refused == packets => {
            Err(Failure::running(anyhow!(
                "RoCEv2 cannot be traced: switches have no bits of an IP address to write marks in"
            )))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn text_of(document: &Document<Report>) -> String {
    let Document { traffic, report } = document;
    let mut text = table::table("packets", &[], &[], summary(traffic, report));
    let rows = report.routes.iter().map(|row| {
        let claimed = row.claimed_node.as_deref().unwrap_or("unknown");
        let verdict = match row.spoofed {
            Some(true) => "spoofed",
            Some(false) => "true",
            None => "",
        };
        vec![
            row.source.clone(),
            row.destination.clone(),
            row.claimed_gid.clone(),
            claimed.to_owned(),
            verdict.to_owned(),
            table::count(row.packets),
            table::bytes(row.bytes),
            table::count(row.first_packet),
        ]
    });
    let header = [
        "from",
        "to",
        "claimed GID",
        "of node",
        "",
        "packets",
        "bytes",
        "first",
    ];
    text += &shown("sources", &header, &[5, 6, 7], rows.collect());
    text
}

fn summary(traffic: &Traffic, report: &Report) -> Vec<Vec<String>> {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        tables::read_row(traffic),
        row("topology", report.topology.clone()),
        row("traced", table::count(report.traced)),
        row("spoofed", table::count(report.spoofed)),
    ];
    for reason in Untraced::ALL {
        let packets = report.untraced(reason);
        if packets > 0 {
            let name = format!("not traced: {}", words(reason));
            rows.push(row(&name, table::count(packets)));
        }
    }
    rows.push(row("other", table::count(report.other)));
    rows.extend(untracked_row(
        "sources",
        report.routes_max,
        report.routes_untracked,
    ));
    rows.extend(tables::speed_rows(traffic));
    rows
}

fn words(reason: Untraced) -> &'static str {
    match reason {
        Untraced::Malformed => "malformed",
        Untraced::RoceV2 => "RoCEv2",
        Untraced::NoGrh => "no GRH",
        Untraced::NoMarkingField => "no marking field",
        Untraced::UnknownDestination => "destination not in the map",
        Untraced::NotMarked => "not marked",
        Untraced::Outside => "marks of no node",
    }
}
