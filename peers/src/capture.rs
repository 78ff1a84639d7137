//! Reading a capture file from the page cache: position, length and time of each
//! record. The floor is `cat`, which does none of that.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{LegacyPcapReader, PcapBlockOwned, PcapError};
use weir_packet::file::{Format, Interface, Reader, Writer};
use weir_packet::generate::{Generator, Plan, SizeModel};
use weir_packet::wire::LinkType;

use crate::harness::{Comparison, Recorder, WEIR, timed};
use crate::machine::versioned;

/// Approximate size of the file.
const FILE_BYTES: u64 = 64 << 20;

/// Header of a pcap record.
const RECORD_HEADER_BYTES: u64 = 16;

/// Frame check sequence, which frame sizes count and captures do not hold.
const CHECK_SEQUENCE_BYTES: u16 = 4;

/// Comparisons over 64- and 576-byte packets.
pub fn measure(recorder: &mut Recorder) -> Result<()> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    for packet_bytes in [64u16, 576] {
        let packets = FILE_BYTES / (u64::from(packet_bytes) + RECORD_HEADER_BYTES);
        let path = write_capture(folder.path(), packet_bytes, packets)?;
        let mut comparison = Comparison::new("read pcap", packet_bytes.into(), "none");
        comparison.add(WEIR, timed(packets, || weir(&path).map(Some)));
        comparison.add(
            versioned("pcap-file"),
            timed(packets, || pcap_file(&path).map(Some)),
        );
        comparison.add(
            versioned("pcap-parser"),
            timed(packets, || pcap_parser(&path).map(Some)),
        );
        comparison.add(
            "cat to /dev/null",
            timed(packets, || cat(&path).map(|()| None)),
        );
        comparison.note("the floor: copies bytes, does not read records; a separate process");
        recorder.run(comparison)?;
    }
    Ok(())
}

fn write_capture(folder: &Path, packet_bytes: u16, packets: u64) -> Result<PathBuf> {
    let path = folder.join(format!("{packet_bytes}.pcap"));
    let plan = Plan {
        packets,
        sizes: SizeModel::Frame(packet_bytes + CHECK_SEQUENCE_BYTES),
        ipv6_share: 0.0,
        ..Plan::default()
    };
    let mut generator = Generator::new(&plan)?;
    let mut writer = Writer::create(&path, Format::Pcap)?;
    let interface = writer.add_interface(&Interface::new(LinkType::Ethernet))?;
    let mut frame = Vec::new();
    while let Some(packet) = generator.fill(&mut frame) {
        ensure!(
            frame.len() == usize::from(packet_bytes),
            "a frame of {} bytes",
            frame.len()
        );
        writer.write(interface, packet.timestamp_ns, frame.len() as u32, &frame)?;
    }
    writer.finish()?;
    Ok(path)
}

/// A checksum of what a reader read.
#[derive(Default)]
struct Tally(u64);

impl Tally {
    #[inline]
    fn add(&mut self, bytes: &[u8], nanoseconds: u64) {
        let last = bytes.last().copied().unwrap_or_default();
        let record = (bytes.len() as u64) << 40 | u64::from(last) << 32 | nanoseconds;
        self.0 = self.0.wrapping_add(record);
    }
}

fn weir(path: &Path) -> Result<u64> {
    let mut reader = Reader::open(path)?;
    let mut records = Vec::with_capacity(256);
    let mut tally = Tally::default();
    while let Some(block) = reader.fill(256, 512 << 10, &mut records)? {
        for record in records.drain(..) {
            tally.add(record.bytes(&block), record.timestamp_ns % 1_000_000_000);
        }
    }
    Ok(tally.0)
}

fn pcap_file(path: &Path) -> Result<u64> {
    let mut reader = pcap_file::pcap::PcapReader::new(File::open(path)?)?;
    let mut tally = Tally::default();
    while let Some(packet) = reader.next_packet() {
        let packet = packet?;
        tally.add(&packet.data, packet.timestamp.subsec_nanos().into());
    }
    Ok(tally.0)
}

fn pcap_parser(path: &Path) -> Result<u64> {
    let Ok(mut reader) = LegacyPcapReader::new(256 << 10, File::open(path)?) else {
        bail!("pcap-parser refuses the file");
    };
    let mut tally = Tally::default();
    loop {
        match reader.next() {
            Ok((offset, block)) => {
                if let PcapBlockOwned::Legacy(record) = block {
                    tally.add(record.data, record.ts_usec.into());
                }
                reader.consume(offset);
            }
            Err(PcapError::Eof) => return Ok(tally.0),
            Err(PcapError::Incomplete(_)) => {
                if reader.refill().is_err() {
                    bail!("pcap-parser cannot refill its buffer");
                }
            }
            Err(_) => bail!("pcap-parser does not understand the file"),
        }
    }
}

fn cat(path: &Path) -> Result<()> {
    let status = Command::new("cat")
        .arg(path)
        .stdout(Stdio::null())
        .status()?;
    ensure!(status.success(), "cat fails: {status}");
    Ok(())
}
