//! `fabric.toml`.
//!
//! The promises of [`FabricFile`]: an error is one line that names the file and shows no secret; neither
//! does `Debug`; and a file that is accepted gives a sender and a receiver.

use std::path::Path;

use weir_fabric::secure::{FabricFile, PlainPolicy, ReceiveFrom, Receiver, Sender};

use crate::{Seed, seed};

/// Keys and values of the format.
pub const WORDS: &[&[u8]] = &[
    b"[[partition]]",
    b"[[queue_pair]]",
    b"partition_key = 0x8001",
    b"secret = ",
    b"secret_file = \"x\"",
    b"unlisted = { session_random = ",
    b"timestamps = { bits = 24, tolerance_s = 8 }",
    b"extended = \"always\"",
    b"transport = \"ud\"",
    b"transport = \"rd\"",
    b"address = \"fe80::3\"",
    b"queue_pair = ",
    b"window = ",
    b"flows = ",
    b"role = \"send\"",
    b"mode = \"allow\"",
];

const PARTITION: &str = r#"
plain_queue_pairs = [0, 1]
failed_tags = 8

[[partition]]
name = "storage"
partition_key = 0x8001
secret = "00112233445566778899aabbccddeeff"
"#;

const QUEUE_PAIR: &str = r#"
[[queue_pair]]
name = "disk"
partition = "storage"
transport = "ud"
local = { address = "fe80::1", queue_pair = 17 }
remote = { address = "fe80::2", queue_pair = 18 }
session_random = "0f0e0d0c0b0a09080706050403020100"
"#;

/// Files of each kind of table.
pub fn seeds() -> Vec<Seed> {
    let timestamps = "timestamps = { bits = 24, tolerance_s = 8 }\n";
    let unlisted =
        "unlisted = { session_random = \"1f0e0d0c0b0a09080706050403020100\", flows = 600 }\n";
    let own = "send_secret = \"10112233445566778899aabbccddeeff\"\nreceive_secret = \"20112233445566778899aabbccddeeff\"\n";
    vec![
        seed("empty", ""),
        seed("partition", PARTITION),
        seed("unlisted", format!("{PARTITION}{unlisted}")),
        seed("queue_pair", format!("{PARTITION}{QUEUE_PAIR}")),
        seed("timestamps", format!("{PARTITION}{QUEUE_PAIR}{timestamps}")),
        seed(
            "own_secrets",
            format!("{PARTITION}{QUEUE_PAIR}{own}window = 64\n"),
        ),
    ]
}

/// Panics where a promise of the reader is broken.
pub fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    let secrets = secrets(text);
    let path = Path::new("fabric.toml");
    // Files of secrets are not the reader's.
    let parsed = FabricFile::parse(path, text, &mut |_| Err("cannot open".to_owned()));
    match parsed {
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("fabric.toml"), "{message}");
            assert!(!message.contains('\n'), "{message}");
            check_secrecy(&secrets, &message);
            check_secrecy(&secrets, &format!("{error:?}"));
        }
        Ok(file) => {
            check_secrecy(&secrets, &format!("{file:?}"));
            check_sides(&file);
        }
    }
}

/// Secrets of the text: runs of at least 16 hex digits behind `secret = "`, without their first and last
/// digit, that stand nowhere else.
fn secrets(text: &str) -> Vec<&str> {
    let starts = text.match_indices("secret = \"");
    let secrets = starts.filter_map(|(at, label)| {
        let value = &text[at + label.len()..];
        let end = value.find(|character: char| !character.is_ascii_hexdigit())?;
        value[..end].get(1..end.checked_sub(1)?)
    });
    secrets
        .filter(|secret| secret.len() >= 14 && text.matches(secret).count() == 1)
        .collect()
}

fn check_secrecy(secrets: &[&str], message: &str) {
    for secret in secrets {
        assert!(!message.contains(secret), "a secret is shown: {message}");
    }
}

/// Everything that the file lists can be added.
fn check_sides(file: &FabricFile) {
    let mut sender = Sender::new(PlainPolicy::default());
    let mut receiver = Receiver::new(file.policy.clone(), file.limits);
    for partition in &file.partitions {
        if let Some(unlisted) = &partition.unlisted {
            assert_eq!(sender.add_unlisted(unlisted.clone(), 1..2), Ok(()));
            assert_eq!(receiver.add_unlisted(unlisted.clone(), 1), Ok(()));
        }
    }
    let mut flows = [0, 0];
    for pair in &file.queue_pairs {
        if let Some(outbound) = &pair.outbound {
            assert!(sender.add(outbound.flow, &outbound.keys(), 1..2).is_ok());
            flows[0] += 1;
        }
        if let Some(inbound) = &pair.inbound {
            let from = ReceiveFrom::epoch(1);
            assert!(receiver.add(inbound.flow, &inbound.keys(), from).is_ok());
            flows[1] += 1;
        }
    }
    assert_eq!([sender.flows(), receiver.flows()], flows);
}
