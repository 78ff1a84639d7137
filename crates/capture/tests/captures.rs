//! Captures through a pipeline: what goes in comes out, times, interfaces and
//! all.

use std::path::Path;

use weir_capture::{CaptureSink, CaptureSource};
use weir_packet::file::{Format, Interface, Reader, Writer};
use weir_packet::wire::LinkType;
use weir_stream::{Batch, Context, Pipeline, Stage, StageError, StopFlag};

/// An IPv4/UDP packet from port `port`.
fn packet(port: u16, payload: &[u8]) -> Vec<u8> {
    let total = 28 + payload.len() as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2]);
    packet.extend(port.to_be_bytes());
    packet.extend([0, 53]);
    packet.extend((8 + payload.len() as u16).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

/// Two interfaces of different link types, their packets mixed.
fn write_capture(path: &Path, packets: u16) {
    let mut writer = Writer::create(path, Format::PcapNg).expect("created");
    let raw = writer
        .add_interface(&Interface::new(LinkType::RawIp))
        .expect("first");
    let ethernet = writer
        .add_interface(&Interface::new(LinkType::Ethernet))
        .expect("second");
    for number in 0..packets {
        let packet = packet(number % 7, &vec![number as u8; usize::from(number) % 1400]);
        let timestamp_ns = 1_700_000_000_123_456_789 + u64::from(number) * 1_001;
        if number % 3 == 0 {
            let frame = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], &packet].concat();
            writer.write(ethernet, timestamp_ns, frame.len() as u32, &frame)
        } else {
            writer.write(raw, timestamp_ns, packet.len() as u32, &packet)
        }
        .expect("written");
    }
    writer.finish().expect("finished");
}

fn records(path: &Path) -> Vec<(u64, LinkType, Vec<u8>)> {
    let mut reader = Reader::open(path).expect("opened");
    let mut records = Vec::new();
    let mut entries = Vec::new();
    while let Some(block) = reader.fill(64, 1 << 20, &mut entries).expect("read") {
        for entry in entries.drain(..) {
            let start = entry.offset as usize;
            let bytes = block[start..start + entry.captured_bytes as usize].to_vec();
            let link = reader.interfaces()[entry.interface as usize].link;
            records.push((entry.timestamp_ns, link, bytes));
        }
    }
    records
}

fn copy(from: &[&Path], to: &Path, shards: usize) -> u64 {
    let readers = from.iter().map(|path| Reader::open(path).expect("opened"));
    let source = CaptureSource::new(readers.collect());
    let chains: Vec<Vec<Box<dyn Stage>>> = (0..shards).map(|_| Vec::new()).collect();
    let sink = CaptureSink::new(Writer::create(to, Format::PcapNg).expect("created"));
    let outcome = Pipeline::new(source)
        .shards(chains)
        .sink(sink)
        .run()
        .expect("a run");
    assert!(
        outcome
            .stages::<CaptureSource>()
            .next()
            .expect("the source")
            .faults()
            .is_empty()
    );
    outcome.statistics.packets()
}

#[test]
fn a_copy_equals_its_original() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (
        folder.path().join("in.pcapng"),
        folder.path().join("out.pcapng"),
    );
    write_capture(&input, 3000);
    assert_eq!(copy(&[&input], &output, 1), 3000);
    assert_eq!(records(&input), records(&output));
}

#[test]
fn several_shards_copy_the_same_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, output) = (
        folder.path().join("in.pcapng"),
        folder.path().join("out.pcapng"),
    );
    write_capture(&input, 3000);
    copy(&[&input], &output, 3);
    let mut copied = records(&output);
    copied.sort_by_key(|record| record.0);
    let mut original = records(&input);
    original.sort_by_key(|record| record.0);
    assert_eq!(original, copied);
}

#[test]
fn several_files_are_one_stream() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("in.pcapng");
    let output = folder.path().join("out.pcapng");
    write_capture(&input, 500);
    assert_eq!(copy(&[&input, &input], &output, 1), 1000);
    let twice = [records(&input), records(&input)].concat();
    assert_eq!(twice, records(&output));
}

#[test]
fn a_capture_cut_short_is_read_as_far_as_it_is_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("in.pcapng");
    write_capture(&input, 500);
    let bytes = std::fs::read(&input).expect("read");
    let cut = folder.path().join("cut.pcapng");
    std::fs::write(&cut, &bytes[..bytes.len() - 10]).expect("written");

    let source = CaptureSource::new(vec![Reader::open(&cut).expect("opened")]);
    let outcome = Pipeline::new(source).run().expect("a run");
    assert_eq!(outcome.statistics.packets(), 499);
    let source = outcome
        .stages::<CaptureSource>()
        .next()
        .expect("the source");
    assert_eq!(source.faults().len(), 1);
}

/// Asks for the end once it has seen so many records.
struct Waiting(usize, StopFlag);

impl Stage for Waiting {
    fn name(&self) -> &str {
        "waiting"
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        self.0 = self.0.saturating_sub(batch.len());
        if self.0 == 0 {
            self.1.stop();
        }
        Ok(())
    }
}

#[test]
fn a_pipe_that_stays_open_delays_neither_records_nor_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = folder.path().join("three.pcapng");
    write_capture(&capture, 3);
    let fifo = folder.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo").success());
    for shards in [1, 2] {
        let writing = std::thread::spawn({
            let (capture, fifo) = (capture.clone(), fifo.clone());
            move || {
                let mut pipe = std::fs::File::create(fifo).expect("the writing end");
                let bytes = std::fs::read(capture).expect("the capture");
                std::io::Write::write_all(&mut pipe, &bytes).expect("room in the pipe");
                pipe
            }
        });
        let source = CaptureSource::new(vec![Reader::open(&fifo).expect("opened")]);
        let pipe = writing.join().expect("written");
        let stop = StopFlag::default();
        let chains: Vec<Vec<Box<dyn Stage>>> = (0..shards).map(|_| Vec::new()).collect();
        let outcome = Pipeline::new(source)
            .shards(chains)
            .sink(Waiting(3, stop.clone()))
            .stop_flag(stop)
            .run()
            .expect("a run");
        drop(pipe);
        assert!(outcome.interrupted);
        assert_eq!(outcome.statistics.packets(), 3);
        let source = outcome
            .stages::<CaptureSource>()
            .next()
            .expect("the source");
        assert!(source.faults().is_empty());
    }
}

#[test]
fn a_capture_that_cannot_be_opened_in_its_turn_is_a_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = folder.path().join("three.pcapng");
    write_capture(&capture, 3);
    let paths = [capture.clone(), folder.path().join("gone"), capture];
    let source = CaptureSource::opening(paths.into_iter().map(|path| Reader::open(&path)));
    let outcome = Pipeline::new(source).run().expect("a run");
    assert_eq!(outcome.statistics.packets(), 6);
    let source = outcome
        .stages::<CaptureSource>()
        .next()
        .expect("the source");
    let [fault] = source.faults() else {
        panic!("one fault");
    };
    assert!(fault.to_string().contains("gone"), "{fault}");
}
