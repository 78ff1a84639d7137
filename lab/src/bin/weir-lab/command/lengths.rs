//! `weir-lab lengths`: how the packets of captures fill clusters.

use std::process::ExitCode;

use anyhow::anyhow;
use serde::Serialize;
use weir_console::{Failure, Outcome, table};
use weir_lab::shared::report::{Mark, Page, Plot, Scale, Series};
use weir_lab::stream_processor::lengths::{Filling, Lengths};
use weir_packet::file::{CaptureError, Reader};
use weir_packet::wire::{Headers, Network};

use super::captures::for_each_packet;
use super::results::Results;
use crate::cli;

/// Clusters on the packets of all captures.
#[derive(Serialize)]
struct Row {
    clusters: u64,
    packets: u64,
    bytes: u64,
    efficiency: f64,
    utilisation: f64,
    padding: f64,
    speedup: f64,
}

pub fn lengths(arguments: &cli::Lengths) -> Outcome<ExitCode> {
    let results = Results::with_file(&arguments.places, arguments.html.as_deref())?;
    let mut lengths = Lengths::new(arguments.block_bytes);
    let mut cut_short = None;
    for path in &arguments.captures {
        let reader = Reader::open(path).map_err(Failure::usage)?;
        // What came before the end of a capture that was cut short counts.
        if let Err(error) = add(reader, &mut lengths) {
            cut_short.get_or_insert(error);
        }
    }
    let rows: Vec<Row> = arguments
        .clusters
        .iter()
        .filter_map(|&clusters| lengths.filling(u64::from(clusters)))
        .map(|filling| row(&lengths, filling))
        .collect();
    if rows.is_empty() {
        return Err(Failure::usage(anyhow!(
            "the captures have no IP packets, so nothing fills clusters"
        )));
    }
    let done = results.show_with_file(&rows, || tables(&rows), || Ok(page(&rows)))?;
    cut_short.map_or(Ok(done), |error| Err(Failure::running(error)))
}

fn row(lengths: &Lengths, filling: Filling) -> Row {
    Row {
        clusters: filling.clusters,
        packets: lengths.packets(),
        bytes: lengths.bytes(),
        efficiency: filling.efficiency,
        utilisation: filling.utilisation,
        padding: filling.padding,
        speedup: filling.speedup,
    }
}

/// Adds the IP packets of a capture.
fn add(reader: Reader, lengths: &mut Lengths) -> Result<(), CaptureError> {
    for_each_packet(reader, |link, bytes, wire_bytes| {
        let headers = Headers::parse(link, bytes);
        if let Some(bytes) = ip_bytes(&headers, bytes, wire_bytes) {
            lengths.add(bytes, 1);
        }
        Ok(())
    })
}

/// The length of an IP packet by its own header, which a capture that keeps
/// only the beginnings of packets has too. Where that says 0, as for segments
/// that an interface has yet to cut, what was on the wire counts.
fn ip_bytes(headers: &Headers, bytes: &[u8], wire_bytes: u32) -> Option<u32> {
    const IPV6_HEADER_BYTES: u32 = 40;
    let start = usize::from(headers.network_offset);
    let field = |offset: usize| {
        let field = bytes.get(start + offset..)?.first_chunk()?;
        Some(u32::from(u16::from_be_bytes(*field)))
    };
    let stated = match headers.network {
        Network::Ipv4 => field(2)?,
        Network::Ipv6 => match field(4)? {
            0 => 0,
            payload => payload + IPV6_HEADER_BYTES,
        },
        _ => return None,
    };
    let on_wire = wire_bytes.saturating_sub(u32::from(headers.network_offset));
    Some(if stated == 0 { on_wire } else { stated })
}

fn tables(rows: &[Row]) -> String {
    let header = [
        "clusters",
        "efficiency %",
        "utilisation %",
        "padding %",
        "speedup",
    ];
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let cells = |row: &Row| {
        vec![
            row.clusters.to_string(),
            percent(row.efficiency),
            percent(row.utilisation),
            percent(row.padding),
            format!("{:.2}", row.speedup),
        ]
    };
    let title = rows.first().map_or(String::new(), |row| {
        format!("{} packets, {} bytes", row.packets, row.bytes)
    });
    let right: Vec<usize> = (0..header.len()).collect();
    table::wrapped(&title, &header, &right, rows.iter().map(cells).collect())
}

fn page(rows: &[Row]) -> String {
    let mut page = Page::new("Packets over clusters");
    let of = |name: &str, value: fn(&Row) -> f64| Series {
        name: name.to_owned(),
        mark: Mark::Line,
        points: rows
            .iter()
            .map(|row| (row.clusters as f64, value(row)))
            .collect(),
    };
    let plot = |title: &str, y: &str, y_scale, series| Plot {
        title: title.to_owned(),
        x: "clusters".to_owned(),
        y: y.to_owned(),
        x_scale: Scale::Log,
        y_scale,
        series,
    };
    page.plot(&plot(
        "Clusters at work",
        "%",
        Scale::Linear,
        vec![
            of("efficiency: the mean over packets", |row| {
                100.0 * row.efficiency
            }),
            of("utilisation: over all rows", |row| 100.0 * row.utilisation),
        ],
    ));
    page.plot(&plot(
        "Speedup over one cluster",
        "times",
        Scale::Log,
        vec![
            of("packets of the captures", |row| row.speedup),
            of("packets without an end", |row| row.clusters as f64),
        ],
    ));
    page.finish()
}
