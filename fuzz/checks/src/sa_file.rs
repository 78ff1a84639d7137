//! SA files.
//!
//! The promises of [`SaFile`]: an error is one line that names the file and
//! shows no key; neither does `Debug`; a file that is accepted gives stages
//! for any number of shards; and what these protect and unprotect is accounted
//! for.

mod seeds;

use std::path::Path;

use weir_ipsec::{ClassifyInbound, ClassifyOutbound, Output, SaFile, Sequences, Windows};
use weir_packet::wire::{FlowKey, LinkType, build, protocol};
use weir_stream::{MemorySource, Pipeline};

pub use seeds::{WORDS, seeds};

/// Panics where a promise of the SA file's reader is broken.
pub fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    let keys = keys(text);
    match SaFile::parse(Path::new("fuzz.toml"), text) {
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("fuzz.toml"), "{message}");
            assert!(!message.contains('\n'), "{message}");
            check_secrecy(&keys, &message);
            check_secrecy(&keys, &format!("{error:?}"));
        }
        Ok(file) => {
            check_secrecy(&keys, &format!("{file:?}"));
            for warning in file.warnings() {
                check_secrecy(&keys, warning);
            }
            assert!(file.associations().iter().all(|sa| sa.spi >= 256));
            check_stages(text, file);
        }
    }
}

/// Keys of the text: runs of at least 16 hex digits behind `key = "`, without
/// their first and last digit, that stand nowhere else.
fn keys(text: &str) -> Vec<&str> {
    let starts = text.match_indices("key = \"");
    let keys = starts.filter_map(|(at, label)| {
        let value = &text[at + label.len()..];
        let end = value.find(|character: char| !character.is_ascii_hexdigit())?;
        value[..end].get(1..end.checked_sub(1)?)
    });
    keys.filter(|key| key.len() >= 14 && text.matches(key).count() == 1)
        .collect()
}

fn check_secrecy(keys: &[&str], message: &str) {
    for key in keys {
        assert!(!message.contains(key), "a key is shown: {message}");
    }
}

/// The stages exist and keep account, for one shard and for three.
fn check_stages(text: &str, file: SaFile) {
    let packets = packets();
    for shards in [1, 3] {
        let Ok(stages) = file.unprotect(&Windows::Empty, shards) else {
            panic!("keys that were accepted cannot be used");
        };
        assert_eq!(stages.len(), shards);
        for stage in stages {
            let classify = ClassifyInbound::new(file.databases().clone());
            run(Pipeline::new(MemorySource::new(LinkType::RawIp, &packets))
                .stage(classify)
                .stage(stage));
        }
    }
    // Legacy suites and shared keys are refused for protection only.
    if let Ok(stages) = file.protect(&Sequences::RepeatableInsecure, Output::Capture, 1) {
        for stage in stages {
            let Ok(file) = SaFile::parse(Path::new("fuzz.toml"), text) else {
                panic!("a file is accepted once and not again");
            };
            let classify = ClassifyOutbound::new(file.databases().clone());
            run(Pipeline::new(MemorySource::new(LinkType::RawIp, &packets))
                .stage(classify)
                .stage(stage));
        }
    }
}

/// Runs a pipeline, which checks its accounts at the end.
fn run(pipeline: Pipeline) {
    if let Err(error) = pipeline.run() {
        panic!("packets are no errors: {error}");
    }
}

/// Packets that the policies of the seeds are about, and ESP.
fn packets() -> Vec<Vec<u8>> {
    let key = FlowKey {
        source: 0xc612_0101,
        destination: 0xc612_0201,
        source_port: 40_000,
        destination_port: 53,
        protocol: protocol::UDP,
        ip_version: 4,
    };
    let key6 = FlowKey {
        source: 0xfd00_0001 << 96 | 1,
        destination: 0xfd00_0002 << 96 | 1,
        ip_version: 6,
        ..key
    };
    let esp = FlowKey {
        source: 0xc613_ff01,
        destination: 0xc613_ff02,
        protocol: protocol::ESP,
        ..key
    };
    let mut sealed = Vec::new();
    build::ip(&mut sealed, &esp, &build::IpHeader::default(), |out| {
        out.extend([0, 0, 0x10, 1, 0, 0, 0, 1]);
        out.extend([0x5a; 48]);
    });
    vec![
        build::udp_packet(&key, b"query"),
        build::udp_packet(&key6, b"query"),
        sealed,
    ]
}
