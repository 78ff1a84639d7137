//! `weir fabric check`.

use std::process::ExitCode;

use weir_console::{Outcome, messages, table};
use weir_fabric::check::{CheckStage, Finding, FindingKind, Report, Verdicts};
use weir_gateway::Traffic;

use super::{Document, Reading, shown, stage_of, traffic_of, untracked_row};
use crate::cli::FabricCheck;
use crate::failure::failure;
use crate::tables;

pub fn check(arguments: &FabricCheck) -> Outcome<ExitCode> {
    let reading = Reading::new(&arguments.inputs, &arguments.common)?;
    let execution = reading.run(CheckStage::default())?;
    let report = stage_of::<CheckStage>(&execution)?.report();
    let traffic = traffic_of(&execution);
    if report.fabric_packets() == 0 && !arguments.common.quiet {
        messages::notice(
            "no packet of InfiniBand or RoCEv2: the latter is looked for at UDP port 4791",
        );
    }
    let document = Document { traffic, report };
    reading.finish("fabric check", &document, text)?;
    execution.check_captures().map_err(failure)?;
    Ok(ExitCode::SUCCESS)
}

fn text(document: &Document<Report>) -> String {
    let Document { traffic, report } = document;
    let mut text = table::table("packets", &[], &[], summary(traffic, report));
    let rows = report.opcodes.iter().map(|row| {
        let code = format!("0x{:02x}", row.opcode);
        let name = if row.name == code {
            "unknown"
        } else {
            &row.name
        };
        vec![
            code,
            name.to_owned(),
            table::count(row.packets),
            table::bytes(row.bytes),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if !rows.is_empty() {
        let header = ["code", "operation", "packets", "bytes"];
        text += &table::table("operations", &header, &[2, 3], rows);
    }
    let keys = report.partition_keys.iter().map(|row| {
        let member = if row.full_member { "full" } else { "limited" };
        vec![
            row.partition_key.clone(),
            member.to_owned(),
            table::count(row.packets),
        ]
    });
    let header = ["P_Key", "member", "packets"];
    text += &shown("partitions", &header, &[2], keys.collect());
    let pairs = report.queue_pairs.iter().map(|row| {
        vec![
            row.source.clone(),
            row.destination.clone(),
            format!("0x{:06x}", row.queue_pair),
            row.transport.unwrap_or("unknown").to_owned(),
            row.direction.unwrap_or("").to_owned(),
            table::count(row.packets),
            table::bytes(row.bytes),
        ]
    });
    let header = [
        "from",
        "to",
        "queue pair",
        "transport",
        "",
        "packets",
        "bytes",
    ];
    text += &shown("queue pairs", &header, &[5, 6], pairs.collect());
    let findings = report.findings.iter().map(finding_row).collect();
    let header = ["packet", "finding", "to", "queue pair", "details"];
    text += &shown("findings", &header, &[0], findings);
    text
}

fn summary(traffic: &Traffic, report: &Report) -> Vec<Vec<String>> {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        tables::read_row(traffic),
        row("RoCEv2", table::count(report.rocev2)),
        row("InfiniBand", table::count(report.infiniband)),
        row("other", table::count(report.other)),
    ];
    for (reason, packets) in &report.malformed {
        let name = format!("malformed: {}", reason.replace('_', " "));
        rows.push(row(&name, table::count(*packets)));
    }
    if report.cut > 0 {
        rows.push(row("cut", table::count(report.cut)));
    }
    let mut icrc = verdicts(&report.icrc);
    if report.icrc_wrong_on_vl15 > 0 {
        icrc += &format!(
            ", of the wrong ones {} on VL 15 (subnet management)",
            table::count(report.icrc_wrong_on_vl15)
        );
    }
    rows.push(row("ICRC", icrc));
    if report.infiniband > 0 {
        rows.push(row("VCRC", verdicts(&report.vcrc)));
    }
    let numbers = &report.packet_numbers;
    rows.push(row(
        "packet numbers",
        format!(
            "{} missing in {} gaps, {} repeated, {} jumps",
            table::count(numbers.missing),
            table::count(numbers.gaps),
            table::count(numbers.repeated),
            table::count(numbers.jumps)
        ),
    ));
    rows.extend(untracked_row(
        "queue pairs",
        report.queue_pairs_max,
        report.queue_pairs_untracked,
    ));
    rows.extend(tables::speed_rows(traffic));
    rows
}

fn verdicts(verdicts: &Verdicts) -> String {
    format!(
        "{} good, {} wrong, {} absent",
        table::count(verdicts.good),
        table::count(verdicts.wrong),
        table::count(verdicts.absent)
    )
}

fn finding_row(finding: &Finding) -> Vec<String> {
    let values = finding.expected.zip(finding.found);
    let details = match (finding.kind, values, &finding.reason) {
        (FindingKind::IcrcWrong, Some((expected, found)), _) => {
            format!("0x{found:08x} in place of 0x{expected:08x}")
        }
        (FindingKind::VcrcWrong, Some((expected, found)), _) => {
            format!("0x{found:04x} in place of 0x{expected:04x}")
        }
        (_, Some((expected, found)), _) => format!("{found} in place of {expected}"),
        (_, None, reason) => reason.clone().unwrap_or_default(),
    };
    let queue_pair = finding.queue_pair.map(|pair| format!("0x{pair:06x}"));
    vec![
        finding.packet.to_string(),
        finding.kind.name().to_owned(),
        finding.destination.clone().unwrap_or_default(),
        queue_pair.unwrap_or_default(),
        details,
    ]
}
