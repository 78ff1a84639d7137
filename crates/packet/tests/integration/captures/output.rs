//! What the writer leaves on disk, and what it refuses.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;

use weir_packet::file::{CaptureError, Format, Interface, Reader, Writer, same_file};
use weir_packet::wire::LinkType;

use super::samples::*;

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn ethernet() -> Interface {
    Interface::new(LinkType::Ethernet)
}

#[test]
fn pcap_is_written_as_spelled_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.pcap");
    let mut writer = Writer::create(&path, Format::Pcap).unwrap();
    let raw = Interface::new(LinkType::RawIp);
    let index = writer.add_interface(&raw).unwrap();
    writer
        .write(index, 1_000_000_002, 1500, &[0x45, 0x00])
        .unwrap();
    assert_eq!(writer.finish().unwrap(), 42);
    assert_eq!(
        fs::read(&path).unwrap(),
        [
            0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0,
            1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0xdc, 0x05, 0, 0, 0x45, 0x00,
        ]
    );
}

#[test]
fn pcapng_is_written_as_built() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.pcapng");
    let mut writer = Writer::create(&path, Format::PcapNg).unwrap();
    let named = Interface {
        link: LinkType::LinuxSll,
        snap_bytes: 96,
        name: Some("wlan0".to_owned()),
    };
    let index = writer.add_interface(&named).unwrap();
    writer.write(index, 0x1_0000_0002, 99, b"abcde").unwrap();
    writer.finish().unwrap();

    let order = Order::Little;
    let mut expected = section(order);
    let options = [
        option(order, 2, b"wlan0"),
        option(order, 9, &[9]),
        option(order, 0, b""),
    ];
    expected.extend(interface(order, 113, 96, &options));
    expected.extend(enhanced(order, 0, 0x1_0000_0002, 99, b"abcde"));
    assert_eq!(fs::read(&path).unwrap(), expected);
}

#[test]
fn the_format_follows_the_name() {
    for (name, format) in [
        ("a.pcapng", Format::PcapNg),
        ("A.PcapNG", Format::PcapNg),
        ("a.pcap", Format::Pcap),
        ("a", Format::Pcap),
        ("-", Format::PcapNg),
    ] {
        assert_eq!(Writer::format_for(Path::new(name)), format);
    }
}

#[test]
fn the_file_appears_when_it_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.pcap");
    fs::write(&path, "old").unwrap();
    let mut writer = Writer::create(&path, Format::Pcap).unwrap();
    writer.add_interface(&ethernet()).unwrap();
    writer.write(0, 1, 3, b"abc").unwrap();
    writer.flush().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names_in(folder.path()).len(), 2);
    let bytes = writer.finish().unwrap();
    assert_eq!(names_in(folder.path()), ["out.pcap"]);
    assert_eq!(path.metadata().unwrap().len(), bytes);
}

#[test]
fn dropped_unfinished_it_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(&folder.path().join("out.pcapng"), Format::PcapNg).unwrap();
    writer.add_interface(&ethernet()).unwrap();
    writer.flush().unwrap();
    assert_eq!(names_in(folder.path()).len(), 1);
    drop(writer);
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn a_capture_without_records_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["out.pcap", "out.pcapng"] {
        let path = folder.path().join(name);
        let mut writer = Writer::create(&path, Writer::format_for(&path)).unwrap();
        writer.flush().unwrap();
        writer.finish().unwrap();
        assert!(read_from(Reader::open(&path)).whole().is_empty());
    }
}

#[test]
fn a_link_stays_and_its_target_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target.pcap");
    let link = folder.path().join("link.pcap");
    fs::write(&target, "old").unwrap();
    symlink(&target, &link).unwrap();
    Writer::create(&link, Format::Pcap)
        .unwrap()
        .finish()
        .unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(target.metadata().unwrap().len(), 24);
}

#[test]
fn a_full_disk_is_a_clear_error() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let mut writer = Writer::create(full, Format::Pcap).unwrap();
    writer.add_interface(&ethernet()).unwrap();
    writer.write(0, 1, 3, b"abc").unwrap();
    let error = writer.finish().unwrap_err();
    assert!(
        error.to_string().contains("/dev/full: writing failed: "),
        "{error}"
    );
    assert!(error.to_string().contains("free some space"), "{error}");
}

#[test]
fn a_pipe_sees_what_was_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    let status = std::process::Command::new("mkfifo")
        .arg(&path)
        .status()
        .unwrap();
    assert!(status.success());
    let reading = std::thread::spawn({
        let path = path.clone();
        move || {
            let mut bytes = Vec::new();
            fs::File::open(path)
                .unwrap()
                .read_to_end(&mut bytes)
                .unwrap();
            bytes
        }
    });
    let mut writer = Writer::create(&path, Format::PcapNg).unwrap();
    assert!(writer.is_live());
    writer.add_interface(&ethernet()).unwrap();
    writer.flush().unwrap();
    writer.write(0, 5, 3, b"abc").unwrap();
    writer.finish().unwrap();
    assert_eq!(
        read(&reading.join().unwrap()).whole(),
        [record(5, 0, 3, b"abc")]
    );
    assert_eq!(names_in(folder.path()), ["fifo"]);
}

#[test]
fn outputs_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("missing").join("out.pcap");
    for path in [folder.path(), nowhere.as_path(), Path::new("/")] {
        let error = Writer::create(path, Format::Pcap).err().expect("an error");
        assert!(matches!(error, CaptureError::Io { .. }), "{error}");
    }
    let tsh = Writer::create(&folder.path().join("out.tsh"), Format::Tsh);
    assert!(matches!(
        tsh.err(),
        Some(CaptureError::UnsupportedOutput { .. })
    ));
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn pcap_holds_one_link_type() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(&folder.path().join("out.pcap"), Format::Pcap).unwrap();
    // Flushed before anything is known, it must not commit to a link type.
    writer.flush().unwrap();
    let raw = Interface::new(LinkType::RawIp);
    assert_eq!(writer.add_interface(&raw).unwrap(), 0);
    assert_eq!(writer.add_interface(&raw).unwrap(), 1);
    let error = writer.add_interface(&ethernet()).unwrap_err();
    assert!(matches!(error, CaptureError::MixedLinkTypes { .. }));
    assert!(error.to_string().contains(".pcapng"));
    writer.write(1, 0, 0, b"").unwrap();
    writer.finish().unwrap();
    let outcome = read_from(Reader::open(&folder.path().join("out.pcap")));
    assert_eq!(outcome.interfaces[0].link, LinkType::RawIp);
}

#[test]
fn records_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(&folder.path().join("out.pcap"), Format::Pcap).unwrap();
    writer.add_interface(&ethernet()).unwrap();
    let error = writer.write(1, 0, 0, b"").unwrap_err();
    assert!(matches!(
        error,
        CaptureError::UndeclaredInterface { interface: 1, .. }
    ));
    let error = writer.write(0, 0, 0, &vec![0; 262_145]).unwrap_err();
    assert!(matches!(error, CaptureError::RecordTooLong { .. }));
    let after_2106 = (u64::from(u32::MAX) + 1) * 1_000_000_000;
    let error = writer.write(0, after_2106, 0, b"").unwrap_err();
    assert!(matches!(error, CaptureError::TimestampRange { .. }));
    writer.write(0, after_2106 - 1, 0, b"last").unwrap();
    assert_eq!(writer.finish().unwrap(), 24 + 16 + 4);
}

#[test]
fn records_longer_than_their_snap_length_get_a_wider_interface() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.pcapng");
    let mut writer = Writer::create(&path, Format::PcapNg).unwrap();
    let narrow = Interface {
        snap_bytes: 4,
        ..ethernet()
    };
    writer.add_interface(&narrow).unwrap();
    writer.write(0, 1, 9, b"four").unwrap();
    writer.write(0, 2, 9, b"longer").unwrap();
    writer.write(0, 3, 9, b"four").unwrap();
    writer.finish().unwrap();
    let outcome = read_from(Reader::open(&path));
    assert_eq!(outcome.interfaces, [narrow, ethernet()]);
    let interfaces: Vec<_> = outcome
        .whole()
        .iter()
        .map(|found| found.interface)
        .collect();
    assert_eq!(interfaces, [0, 1, 1]);
}

#[test]
fn the_same_file_is_found_through_links() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.pcap");
    let other = folder.path().join("b.pcap");
    let soft = folder.path().join("soft.pcap");
    let hard = folder.path().join("hard.pcap");
    fs::write(&file, "").unwrap();
    fs::write(&other, "").unwrap();
    symlink(&file, &soft).unwrap();
    fs::hard_link(&file, &hard).unwrap();
    for alias in [&file, &soft, &hard] {
        assert!(same_file(&file, alias));
        assert!(same_file(alias, &file));
    }
    assert!(!same_file(&file, &other));
    assert!(!same_file(&file, &folder.path().join("missing.pcap")));
    assert!(!same_file(Path::new("/dev/null"), Path::new("/dev/null")));
}
