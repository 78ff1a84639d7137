//! `weir generate`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use weir_console::output::{self, keep_apart};
use weir_console::progress::{Bar, Extent, Place};
use weir_console::{Failure, Outcome, messages, table};
use weir_packet::file::{Interface, MAX_RECORD_BYTES};
use weir_packet::generate::{Generator, Plan};
use weir_packet::wire::LinkType;
use weir_stream::StopFlag;

use crate::cli::Generate;
use crate::failure::failure;
use crate::signals;

/// The document of `--json`.
#[derive(Serialize)]
struct Document {
    packets: u64,
    bytes: u64,
    planted: u64,
    surges: Vec<SurgeRow>,
    file_bytes: u64,
    seconds_of_capture: f64,
    /// Whether a signal ended it before its last packet.
    interrupted: bool,
}

/// A planted change: whose packets, from when on (in seconds of the capture),
/// for how long, and how many.
#[derive(Serialize)]
struct SurgeRow {
    source: String,
    destination: String,
    start: f64,
    seconds: f64,
    packets: u64,
}

/// What of each surge gets into the capture unless that is interrupted.
fn surge_rows(plan: &Plan, generator: &Generator) -> Vec<SurgeRow> {
    let numbered = (plan.flows..).zip(&plan.surges);
    numbered
        .map(|(flow, surge)| {
            let key = generator.flow_key(flow);
            SurgeRow {
                source: key.source_address().to_string(),
                destination: key.destination_address().to_string(),
                start: surge.start_ns as f64 / 1e9,
                seconds: surge.length_ns as f64 / 1e9,
                packets: surge.packets(),
            }
        })
        .collect()
}

pub fn generate(arguments: &Generate) -> Outcome<ExitCode> {
    let plan = Plan {
        packets: arguments.packets,
        flows: arguments.flows,
        zipf: arguments.zipf,
        sizes: arguments.sizes.parse().map_err(Failure::usage)?,
        payload: arguments.payload.parse().map_err(Failure::usage)?,
        planted: arguments
            .plant
            .iter()
            .map(|content| content.as_bytes().to_vec())
            .collect(),
        planted_per_mille: if arguments.plant.is_empty() {
            0
        } else {
            u32::from(arguments.plant_per_mille)
        },
        seed: arguments.seed,
        ipv6_share: arguments.ipv6,
        packets_per_second: arguments.rate,
        surges: arguments.surge.clone(),
        ..Plan::default()
    };
    let mut generator = Generator::new(&plan).map_err(Failure::usage)?;
    let outputs = [
        Some(arguments.output.as_path()),
        arguments.common.json.as_deref(),
    ];
    keep_apart(&[], &outputs.into_iter().flatten().collect::<Vec<_>>())?;
    let json = output::Document::asked_for(&arguments.common)?;
    let mut writer = weir_gateway::create(&arguments.output).map_err(failure)?;
    let interface = Interface {
        snap_bytes: MAX_RECORD_BYTES as u32,
        ..Interface::new(LinkType::Ethernet)
    };
    let number = writer.add_interface(&interface).map_err(Failure::running)?;

    let mut frame = Vec::new();
    let mut first_ns = None;
    let mut last_ns = 0;
    let mut document = Document {
        packets: 0,
        bytes: 0,
        planted: 0,
        surges: surge_rows(&plan, &generator),
        file_bytes: 0,
        seconds_of_capture: 0.0,
        interrupted: false,
    };
    let stop = StopFlag::default();
    signals::stop_on_interrupt(&stop)?;
    let made = Arc::new(AtomicU64::new(0));
    let bar = Bar::watch(
        Extent::Packets(arguments.packets),
        arguments.common.quiet,
        {
            let made = Arc::clone(&made);
            move || {
                let packets = made.load(Ordering::Relaxed);
                Place {
                    position: packets,
                    packets,
                    ..Place::default()
                }
            }
        },
    );
    while let Some(packet) = generator.fill(&mut frame) {
        if stop.is_stopped() {
            document.interrupted = true;
            break;
        }
        writer
            .write(number, packet.timestamp_ns, frame.len() as u32, &frame)
            .map_err(Failure::running)?;
        document.packets += 1;
        document.bytes += frame.len() as u64;
        document.planted += u64::from(packet.plant.is_some());
        first_ns.get_or_insert(packet.timestamp_ns);
        last_ns = packet.timestamp_ns;
        made.store(document.packets, Ordering::Relaxed);
    }
    drop(bar);
    document.file_bytes = writer.finish().map_err(Failure::running)?;
    document.seconds_of_capture = (last_ns - first_ns.unwrap_or(last_ns)) as f64 / 1e9;

    if let Some(json) = json {
        json.write("generate", &document)?;
    }
    if !arguments.common.quiet {
        messages::show(&format!(
            "{}: {} packets, {}, {:.3} s of traffic, {} planted{}\n",
            arguments.output.display(),
            table::count(document.packets),
            table::bytes(document.bytes),
            document.seconds_of_capture,
            table::count(document.planted),
            if document.interrupted {
                ", interrupted"
            } else {
                ""
            }
        ));
    }
    Ok(ExitCode::SUCCESS)
}
