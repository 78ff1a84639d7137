//! `weir generate`.

use std::process::ExitCode;

use serde::Serialize;
use weir_packet::file::{Interface, MAX_RECORD_BYTES};
use weir_packet::generate::{Generator, Plan};
use weir_packet::wire::LinkType;

use crate::cli::Generate;
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::output;
use crate::report::table;

/// The document of `--json`.
#[derive(Serialize)]
struct Document {
    packets: u64,
    bytes: u64,
    planted: u64,
    file_bytes: u64,
    seconds_of_capture: f64,
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
        ..Plan::default()
    };
    let mut generator = Generator::new(&plan).map_err(Failure::usage)?;
    let mut writer = input::create(&arguments.output, &[])?;
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
        file_bytes: 0,
        seconds_of_capture: 0.0,
    };
    while let Some(packet) = generator.fill(&mut frame) {
        writer
            .write(number, packet.timestamp_ns, frame.len() as u32, &frame)
            .map_err(Failure::running)?;
        document.packets += 1;
        document.bytes += frame.len() as u64;
        document.planted += u64::from(packet.plant.is_some());
        first_ns.get_or_insert(packet.timestamp_ns);
        last_ns = packet.timestamp_ns;
    }
    document.file_bytes = writer.finish().map_err(Failure::running)?;
    document.seconds_of_capture = (last_ns - first_ns.unwrap_or(last_ns)) as f64 / 1e9;

    if let Some(path) = &arguments.common.json {
        output::write_json(path, &document)?;
    }
    if arguments.common.shows_tables() {
        eprintln!(
            "{}: {} packets, {}, {:.3} s of traffic, {} with planted contents",
            arguments.output.display(),
            table::count(document.packets),
            table::bytes(document.bytes),
            document.seconds_of_capture,
            table::count(document.planted)
        );
    }
    Ok(ExitCode::SUCCESS)
}
