//! A whole measurement of a capture in the page cache, from the file to the
//! reports, beside the frame alone over the same file: records are read, headers
//! parsed, flows hashed and packets counted. The bar is 1.6 times the frame.
//!
//! Subjects take turns, round by round. Prints medians and quartiles in
//! nanoseconds per packet, and of the ratios within a round.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use weir_capture::CaptureSource;
use weir_measure::{MeasureConfig, MeasureStage, Measurement};
use weir_packet::file::{Format, Interface, Reader, Writer};
use weir_packet::generate::{Generator, Plan, SizeModel};
use weir_packet::wire::{KeyKind, LinkType};
use weir_stream::{Batch, Context, Pipeline, Stage, StageError};

const PACKETS: u64 = 1 << 19;
const ROUNDS: usize = 11;
const BAR: f64 = 1.6;

/// The least that a user of the frame asks of it.
#[derive(Default)]
struct Count {
    packets: u64,
    bytes: u64,
}

impl Stage for Count {
    fn name(&self) -> &str {
        "count"
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        for index in 0..batch.len() {
            self.packets += 1;
            self.bytes += u64::from(batch.arrival(index).wire_bytes);
        }
        Ok(())
    }
}

fn write_capture(path: &Path, zipf: f64, packet_bytes: u16) -> Result<(), Box<dyn Error>> {
    let plan = Plan {
        packets: PACKETS,
        flows: 20_000,
        zipf,
        sizes: SizeModel::Frame(packet_bytes),
        ..Plan::default()
    };
    let mut generator = Generator::new(&plan)?;
    let mut writer = Writer::create(path, Format::Pcap)?;
    let interface = writer.add_interface(&Interface::new(LinkType::Ethernet))?;
    let mut frame = Vec::new();
    while let Some(packet) = generator.fill(&mut frame) {
        writer.write(interface, packet.timestamp_ns, frame.len() as u32, &frame)?;
    }
    writer.finish()?;
    Ok(())
}

fn capture(path: &Path) -> Result<CaptureSource, Box<dyn Error>> {
    Ok(CaptureSource::new(vec![Reader::open(path)?]))
}

/// Nanoseconds per packet of the frame alone.
fn frame_ns(path: &Path) -> Result<f64, Box<dyn Error>> {
    let started = Instant::now();
    let outcome = Pipeline::new(capture(path)?)
        .stage(Count::default())
        .run()?;
    let ns = started.elapsed().as_nanos() as f64;
    assert_eq!(outcome.statistics.packets(), PACKETS);
    Ok(ns / PACKETS as f64)
}

/// Nanoseconds per packet of a measurement, its reports included.
fn measured_ns(path: &Path, kind: KeyKind) -> Result<f64, Box<dyn Error>> {
    let started = Instant::now();
    let config = MeasureConfig {
        interval: Some(Duration::from_secs(1)),
        ..MeasureConfig::new(kind)
    };
    let Measurement {
        meters, collector, ..
    } = config.build(1)?;
    let chains = meters
        .into_iter()
        .map(|meter| -> Vec<Box<dyn Stage>> { vec![Box::new(MeasureStage::new(meter))] });
    Pipeline::new(capture(path)?)
        .shards(chains.collect())
        .run()?;
    let reports = collector.finish();
    let ns = started.elapsed().as_nanos() as f64;
    assert_eq!(
        reports.iter().map(|report| report.packets).sum::<u64>(),
        PACKETS
    );
    Ok(ns / PACKETS as f64)
}

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("traffic.pcap");
    for (bytes, zipf) in [(68, 1.1), (580, 1.1), (580, 0.0)] {
        write_capture(&path, zipf, bytes)?;
        println!("packets of {bytes} bytes, 20,000 flows, Zipf exponent {zipf}");
        for kind in ["source", "5-tuple"] {
            let kind: KeyKind = kind.parse()?;
            let (mut frame, mut measured) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                frame.push(frame_ns(&path)?);
                measured.push(measured_ns(&path, kind)?);
            }
            let ratios = measured.iter().zip(&frame).map(|(ns, frame)| ns / frame);
            let ratio = quartiles(ratios.collect());
            let rows = [
                ("frame alone, ns", quartiles(frame)),
                ("measured, ns", quartiles(measured)),
            ];
            for (name, [lower, median, upper]) in rows {
                println!("  {kind:8} {name:16} {median:7.1} ({lower:.1} to {upper:.1})");
            }
            let [lower, median, upper] = ratio;
            let verdict = if median <= BAR { "met" } else { "not met" };
            println!(
                "  {kind:8} ratio            {median:7.2} ({lower:.2} to {upper:.2}), at most {BAR}: {verdict}"
            );
        }
    }
    Ok(())
}
