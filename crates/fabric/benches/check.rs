//! `weir fabric check` of a capture in the page cache beside the floor: its records are only framed. The
//! target is half of the floor's speed.
//!
//! `cargo bench -p weir-fabric --bench check`. Both pass over the same file, interleaved in one run.

use std::error::Error;
use std::path::{Path, PathBuf};

use weir_bench::{Candidate, Disagreement, Quartiles, Rounds, compare, timed};
use weir_fabric::check::Checker;
use weir_fabric::wire::{Bth, ExtendedHeaders, Grh, Lrh, Message, Opcode};
use weir_packet::file::{Interface, Reader, RecordEntry, Writer};
use weir_packet::wire::build::{self, IpHeader};
use weir_packet::wire::{FlowKey, Headers, LinkType, protocol};

const CAPTURE_BYTES: usize = 64 << 20;
const BATCH_RECORDS: usize = 256;
const BATCH_BYTES: usize = 512 * 1024;
const ROUNDS: usize = 11;
const TARGET: f64 = 0.5;
/// Queue pairs, one packet of each after the other.
const QUEUE_PAIRS: u32 = 64;

fn main() -> Result<(), Box<dyn Error>> {
    println!("ns per packet: median [quartiles] of {ROUNDS} rounds");
    for (name, link) in [
        ("RoCEv2", LinkType::Ethernet),
        ("InfiniBand", LinkType::InfiniBand),
    ] {
        for payload_bytes in [0, 256, 1024, 4096] {
            let (path, packets) = capture(link, payload_bytes)?;
            measure(name, payload_bytes, &path, packets)?;
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn measure(
    name: &str,
    payload_bytes: usize,
    path: &Path,
    packets: u64,
) -> Result<(), Box<dyn Error>> {
    let mut candidates: [Candidate<'_, Failed>; 2] = [
        Candidate::new("frame", timed(packets, || frame(path).map(Some))),
        Candidate::new("check", timed(packets, || check(path).map(Some))),
    ];
    let ns = compare(&mut candidates, Rounds::exactly(ROUNDS), |_| true)?.ok_or("no rounds")?;
    println!("{name}, {payload_bytes} bytes of payload");
    for (candidate, ns) in candidates.iter().zip(&ns) {
        let Quartiles {
            lower,
            median,
            upper,
        } = Quartiles::of(ns).ok_or("no rounds")?;
        println!(
            "  {:<6} {median:8.1} [{lower:.1}, {upper:.1}]",
            candidate.name()
        );
    }
    let ratios = Quartiles::of_ratios(&ns[0], &ns[1]).ok_or("no rounds")?;
    let verdict = if ratios.median >= TARGET {
        "holds"
    } else {
        "missed"
    };
    println!(
        "  {:.3} [{:.3}, {:.3}] of the floor; target {TARGET}: {verdict}",
        ratios.median, ratios.lower, ratios.upper
    );
    Ok(())
}

#[derive(Debug)]
enum Failed {
    Differ(Disagreement),
    File(weir_packet::file::CaptureError),
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failed::Differ(error) => error.fmt(f),
            Failed::File(error) => error.fmt(f),
        }
    }
}

impl Error for Failed {}

impl From<Disagreement> for Failed {
    fn from(error: Disagreement) -> Failed {
        Failed::Differ(error)
    }
}

impl From<weir_packet::file::CaptureError> for Failed {
    fn from(error: weir_packet::file::CaptureError) -> Failed {
        Failed::File(error)
    }
}

/// Packets of the file.
fn frame(path: &Path) -> Result<u64, Failed> {
    let mut packets = 0;
    for_all(path, |_, _, bytes| packets += u64::from(!bytes.is_empty()))?;
    Ok(packets)
}

/// Packets of the file whose ICRC is good: all of them.
fn check(path: &Path) -> Result<u64, Failed> {
    let mut checker = Checker::default();
    let mut number = 0;
    // In one place, as pipelines do.
    let mut headers = Headers::default();
    for_all(path, |_, link, bytes| {
        number += 1;
        headers.parse_in_place(link, bytes);
        checker.check(number, &headers, link, bytes);
    })?;
    Ok(checker.report().icrc.good)
}

fn for_all(path: &Path, mut each: impl FnMut(&RecordEntry, LinkType, &[u8])) -> Result<(), Failed> {
    let mut reader = Reader::open(path)?;
    let link = reader.interfaces()[0].link;
    let mut records = Vec::with_capacity(BATCH_RECORDS);
    while let Some(block) = reader.fill(BATCH_RECORDS, BATCH_BYTES, &mut records)? {
        for record in records.drain(..) {
            each(&record, link, record.bytes(&block));
        }
    }
    Ok(())
}

fn capture(link: LinkType, payload_bytes: usize) -> Result<(PathBuf, u64), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("check-{}-{payload_bytes}.pcap", link.dlt()));
    let mut writer = Writer::create(&path, Writer::format_for(&path))?;
    let interface = writer.add_interface(&Interface::new(link))?;
    let payload: Vec<u8> = (0..=u8::MAX).cycle().take(payload_bytes).collect();
    let mut number = 0;
    let mut written_bytes = 0;
    while written_bytes < CAPTURE_BYTES {
        let packet = packet(link, number, &payload)?;
        let time = u64::from(number) * 1000;
        writer.write(interface, time, packet.len() as u32, &packet)?;
        written_bytes += packet.len();
        number += 1;
    }
    writer.finish()?;
    Ok((path, u64::from(number)))
}

fn packet(link: LinkType, number: u32, payload: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let message = Message {
        bth: Bth {
            // RC SEND Middle.
            opcode: Opcode(1),
            destination_qp: number % QUEUE_PAIRS,
            psn: number / QUEUE_PAIRS,
            ..Bth::default()
        },
        extended: ExtendedHeaders::default(),
        payload,
    };
    let mut out = Vec::new();
    if link == LinkType::InfiniBand {
        message.write_native(&mut out, Lrh::default(), Some(Grh::default()))?;
        return Ok(out);
    }
    let key = FlowKey {
        source: 0xc612_0001,
        destination: 0xc612_0002,
        source_port: 49_152,
        destination_port: 4791,
        protocol: protocol::UDP,
        ip_version: 4,
    };
    build::ethernet(&mut out, [2; 6], [4; 6], protocol::ETHER_IPV4);
    message.write_rocev2(&mut out, &key, &IpHeader::default())?;
    Ok(out)
}
