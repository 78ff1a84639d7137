//! Reading captures from the page cache, beside the floor: the same file read
//! to nowhere in pieces of 128 KiB, which is what `cat FILE > /dev/null` does.
//! The bar is a third of the floor's speed.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use weir_packet::file::{Interface, Reader, Writer};
use weir_packet::wire::LinkType;

const CAPTURE_BYTES: usize = 256 << 20;
const BATCH_RECORDS: usize = 256;
const BATCH_BYTES: usize = 512 * 1024;

fn capture(folder: &Path, extension: &str, packet_bytes: usize) -> PathBuf {
    let path = folder.join(format!("{packet_bytes}.{extension}"));
    let mut writer = Writer::create(&path, Writer::format_for(&path)).unwrap();
    let interface = writer
        .add_interface(&Interface::new(LinkType::Ethernet))
        .unwrap();
    let packet = vec![0x5a; packet_bytes];
    for number in 0..(CAPTURE_BYTES / packet_bytes) as u64 {
        writer
            .write(interface, number * 1000, packet_bytes as u32, &packet)
            .unwrap();
    }
    writer.finish().unwrap();
    path
}

fn read_to_nowhere(path: &Path) -> u64 {
    let mut file = File::open(path).unwrap();
    let mut buffer = vec![0; 128 * 1024];
    let mut total_bytes = 0;
    loop {
        match file.read(&mut buffer).unwrap() {
            0 => return total_bytes,
            bytes => total_bytes += bytes as u64,
        }
    }
}

fn frame_all(path: &Path) -> u64 {
    let mut reader = Reader::open(path).unwrap();
    let mut records = Vec::with_capacity(BATCH_RECORDS);
    let mut wire_bytes = 0;
    while reader
        .fill(BATCH_RECORDS, BATCH_BYTES, &mut records)
        .unwrap()
        .is_some()
    {
        for record in records.drain(..) {
            wire_bytes += u64::from(record.wire_bytes);
        }
    }
    wire_bytes
}

fn reading(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let mut group = criterion.benchmark_group("capture");
    group.sample_size(11);
    for extension in ["pcap", "pcapng"] {
        for packet_bytes in [64, 576] {
            let path = capture(folder.path(), extension, packet_bytes);
            group.throughput(Throughput::Bytes(path.metadata().unwrap().len()));
            let name = format!("{extension}, {packet_bytes}-byte packets");
            group.bench_function(BenchmarkId::new("read to nowhere", &name), |bencher| {
                bencher.iter(|| read_to_nowhere(&path));
            });
            group.bench_function(BenchmarkId::new("frame all records", &name), |bencher| {
                bencher.iter(|| frame_all(&path));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, reading);
criterion_main!(benches);
