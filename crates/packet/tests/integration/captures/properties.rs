//! For any records: written, then read, they are the same. For any bytes: no panic.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use weir_packet::file::{Format, Interface, Reader, Writer};
use weir_packet::wire::LinkType;

use super::samples::*;

/// Record lengths: mostly packets, some as long as records get.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    (
        prop_oneof![6 => 0usize..200, 3 => 200usize..2000, 1 => 250_000usize..=262_144],
        any::<u64>(),
    )
        .prop_map(|(length, seed)| noise(length, seed))
}

fn any_interface() -> impl Strategy<Value = Interface> {
    let link = prop_oneof![
        Just(LinkType::Ethernet),
        Just(LinkType::RawIp),
        Just(LinkType::LinuxSll2),
        Just(LinkType::Other(147)),
    ];
    let name = proptest::option::of("[a-z]{1,6}[0-9]{0,10}|[à-ü]{1,20}");
    (link, name).prop_map(|(link, name)| Interface {
        link,
        snap_bytes: 262_144,
        name,
    })
}

fn write(path: &Path, format: Format, interfaces: &[Interface], records: &[Record]) -> u64 {
    let mut writer = Writer::create(path, format).unwrap();
    for known in interfaces {
        writer.add_interface(known).unwrap();
    }
    for found in records {
        let Record {
            interface,
            timestamp_ns,
            wire_bytes,
            ..
        } = *found;
        writer
            .write(interface, timestamp_ns, wire_bytes, &found.bytes)
            .unwrap();
    }
    writer.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pcapng_written_is_read(
        interfaces in vec(any_interface(), 1..5),
        records in vec((any::<u64>(), any::<u32>(), 0u32..u32::MAX, any_bytes()), 0..20),
    ) {
        let records: Vec<_> = records
            .into_iter()
            .map(|(timestamp_ns, number, wire_bytes, bytes)| Record {
                timestamp_ns,
                wire_bytes: wire_bytes.max(bytes.len() as u32),
                interface: number % interfaces.len() as u32,
                bytes,
            })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.pcapng");
        let written_bytes = write(&path, Format::PcapNg, &interfaces, &records);
        prop_assert_eq!(path.metadata().unwrap().len(), written_bytes);
        let outcome = read_from(Reader::open(&path));
        prop_assert_eq!(&outcome.interfaces, &interfaces);
        prop_assert!(outcome.whole() == records);
    }

    #[test]
    fn pcap_written_is_read(
        link in any_interface(),
        records in vec((any::<u32>(), 0u64..1_000_000_000, any::<u32>(), any_bytes()), 0..20),
    ) {
        let records: Vec<_> = records
            .into_iter()
            .map(|(seconds, nanoseconds, wire_bytes, bytes)| Record {
                timestamp_ns: u64::from(seconds) * 1_000_000_000 + nanoseconds,
                wire_bytes: wire_bytes.max(bytes.len() as u32),
                interface: 0,
                bytes,
            })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.pcap");
        let written_bytes = write(&path, Format::Pcap, std::slice::from_ref(&link), &records);
        prop_assert_eq!(path.metadata().unwrap().len(), written_bytes);
        let outcome = read_from(Reader::open(&path));
        prop_assert_eq!(outcome.interfaces[0].link, link.link);
        prop_assert!(outcome.whole() == records);
    }
}

/// A capture with something of everything, in the formats and compressions.
fn valid_captures() -> Vec<(&'static str, Vec<u8>)> {
    let mut pcap = pcap_header(Order::Big, MICROSECONDS, 1);
    let mut pcapng = Vec::new();
    for order in ORDERS {
        pcapng.extend(section(order));
        let options = [
            option(order, 2, b"eth0"),
            option(order, 9, &[9]),
            option(order, 0, b""),
        ];
        pcapng.extend(interface(order, 1, 100, &options));
        for length in [0, 40, 61] {
            pcapng.extend(enhanced(order, 0, 77, 99, &noise(length, 4)));
            pcapng.extend(block(order, 3, &noise(12, 1)[..4]));
            pcap.extend(pcap_record(Order::Big, 3, 4, 99, &noise(length, 4)));
        }
        pcapng.extend(block(order, 5, &[0; 12]));
    }
    let tsh = [tsh_record(1, 0, 2, 40), tsh_record(3, 1, 4, 1500)].concat();
    vec![
        ("sample", gzip(&pcap)),
        ("sample", zstd(&pcap)),
        ("sample", gzip(&pcapng)),
        ("sample", pcap),
        ("sample", pcapng),
        ("trace.tsh", tsh),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..600)) {
        read(&bytes);
        read_named("trace.tsh", &bytes);
    }

    #[test]
    fn damaged_captures_never_panic(
        which in 0usize..6,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        shorten in any::<bool>(),
    ) {
        let (name, mut bytes) = valid_captures().swap_remove(which);
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if shorten {
            bytes.truncate(cut.index(bytes.len()));
        }
        read_named(name, &bytes);
    }
}
