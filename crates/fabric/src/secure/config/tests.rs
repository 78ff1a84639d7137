use super::*;
use crate::secure::{Address, ExtendedMode, ReceiveFrom, Receiver, Sender, Timestamps};
use crate::wire::Transport;

const FILE: &str = r#"
plain_queue_pairs = [0, 1]
failed_tags = 8

[[partition]]
name = "storage"
partition_key = 0x8001
secret = "00112233445566778899aabbccddeeff"
unlisted = { session_random = "3f0e0d0c0b0a09080706050403020100", flows = 600, window = 32 }

[[partition]]
name = "legacy"
partition_key = 0x8002
mode = "allow"

[[queue_pair]]
name = "disk"
partition = "storage"
transport = "rc"
local = { address = "192.0.2.1", queue_pair = 17 }
remote = { address = "192.0.2.2", queue_pair = 18 }
session_random = "0f0e0d0c0b0a09080706050403020100"

[[queue_pair]]
name = "datagrams"
partition = "legacy"
transport = "ud"
local = { address = "fe80::1", queue_pair = 19 }
remote = { address = "fe80::2", queue_pair = 20 }
session_random = "0f0e0d0c0b0a09080706050403020101"
send_secret = "10112233445566778899aabbccddeeff"
receive_secret_file = "other.key"
extended = "never"
window = 64
timestamps = { bits = 24, tolerance_s = 8 }

[[queue_pair]]
name = "native"
partition = "storage"
transport = "uc"
local = { address = 5, queue_pair = 19 }
remote = { address = 6, queue_pair = 20 }
session_random = "0f0e0d0c0b0a09080706050403020102"
role = "send"
"#;

fn secret(text: &str) -> weir_secret::Secret {
    let text = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(text);
    serde::Deserialize::deserialize(text).expect("text")
}

fn parse(text: &str) -> Result<FabricFile, ConfigError> {
    FabricFile::parse(Path::new("fabric.toml"), text, &mut |path| match path {
        path if path == Path::new("other.key") => {
            Ok(secret("0x20112233445566778899aabbccddeeff\n"))
        }
        _ => Err("cannot open: no such file".into()),
    })
}

#[test]
fn a_file_has_partitions_and_queue_pairs() {
    let file = parse(FILE).expect("right");
    assert_eq!(file.partitions.len(), 2);
    assert_eq!(file.partitions[0].mode, Mode::Require);
    assert_eq!(file.partitions[1].mode, Mode::Allow);
    assert_eq!((file.limits.failed, file.limits.consecutive), (8, 4));
    let [disk, datagrams, native] = &file.queue_pairs[..] else {
        panic!("three queue pairs");
    };
    let outbound = disk.outbound.as_ref().expect("it sends");
    assert_eq!(outbound.flow.transport, Transport::Rc);
    assert_eq!(outbound.flow.window_packets, Flow::WINDOW_PACKETS);
    assert_eq!(outbound.flow.extended, ExtendedMode::Fallback);
    assert_eq!(
        outbound.ends()[0].address,
        Address::Ipv4([192, 0, 2, 1].into())
    );
    let inbound = disk.inbound.as_ref().expect("it receives");
    assert_eq!(inbound.ends()[1], outbound.ends()[0]);
    let outbound = datagrams.outbound.as_ref().expect("it sends");
    assert_eq!(outbound.secret.bytes()[0], 0x10);
    assert_eq!(outbound.flow.extended, ExtendedMode::Never);
    let timestamps = Timestamps {
        bits: 24,
        tolerance_seconds: 8,
    };
    assert_eq!(outbound.flow.timestamps, Some(timestamps));
    let inbound = datagrams.inbound.as_ref().expect("it receives");
    assert_eq!(inbound.secret.bytes()[0], 0x20);
    assert!(native.inbound.is_none());

    assert!(file.partitions[1].unlisted.is_none());
    let unlisted = (file.partitions[0].unlisted.clone()).expect("it has keys for all");
    assert_eq!((unlisted.flows_max, unlisted.window_packets), (600, 32));
    assert_eq!(unlisted.extended, ExtendedMode::Fallback);

    let mut sender = Sender::new(file.policy.clone());
    assert_eq!(sender.add_unlisted(unlisted, 1..2), Ok(()));
    let mut receiver = Receiver::new(file.policy.clone(), file.limits);
    for pair in &file.queue_pairs {
        if let Some(outbound) = &pair.outbound {
            assert!(sender.add(outbound.flow, &outbound.keys(), 1..2).is_ok());
        }
        if let Some(inbound) = &pair.inbound {
            let from = ReceiveFrom::epoch(1);
            assert!(receiver.add(inbound.flow, &inbound.keys(), from).is_ok());
        }
    }
    let shown = format!("{file:?}");
    for secret in ["0011", "1011", "2011", "16, 17"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn errors_have_line_column_and_reason_and_show_no_secret() {
    let with = |from: &str, to: &str| {
        assert!(FILE.contains(from), "{from}");
        FILE.replacen(from, to, 1)
    };
    let secret = "00112233445566778899aabbccddeeff";
    for (text, expected) in [
        (
            with("[0, 1]", "[0, 16777216]"),
            "2:25: plain_queue_pairs: queue pair 16777216 has more",
        ),
        (
            with("failed_tags = 8", "failed_tags = 0"),
            "3:15: failed_tags: must be at least 1",
        ),
        (
            with("failed_tags", "failed_tag"),
            "3:1: unknown field \"failed_tag\"",
        ),
        (with("= 0x8001", "= 0x18001"), "7:17: "),
        (
            with("= 0x8002", "= 0x0001"),
            "13:17: partition_key: partition \"storage\" has it",
        ),
        (
            with("= 0x8002", "= 0x8000"),
            "13:17: partition_key: 0 is no partition",
        ),
        (
            with("\"legacy\"\npartition_key", "\"storage\"\npartition_key"),
            "12:8: name: \"storage\" is given twice",
        ),
        (
            with("\"allow\"", "\"alow\""),
            "14:8: unknown variant \"alow\"",
        ),
        (
            with(secret, "0011"),
            "8:10: secret: the secret has 2 bytes, 16 to 64 are needed",
        ),
        (with(secret, "zz"), "8:10: secret: must be hex digits"),
        (
            with(&format!("\"{secret}\""), "112233"),
            "8:10: must be hex digits in quotes",
        ),
        (
            with("partition = \"storage\"", "partition = \"other\""),
            "18:13: partition: there is no \"other\"",
        ),
        (with("\"rc\"", "\"tcp\""), "19:13: unknown variant \"tcp\""),
        (
            with("\"192.0.2.2\"", "\"fe80::1\""),
            "21:22: remote: another kind of address",
        ),
        (
            with(
                "\"192.0.2.2\", queue_pair = 18",
                "\"192.0.2.1\", queue_pair = 17",
            ),
            "21:48: remote: the same",
        ),
        (
            with("\"192.0.2.2\"", "\"192.0.2\""),
            "21:22: must be an IPv4 address or a GID",
        ),
        (
            with("address = 5", "address = 70000"),
            "41:21: local.address: a LID is 1 to 65535",
        ),
        (
            with("0f0e0d0c0b0a09080706050403020100", "0f0e"),
            "22:18: session_random: has 2 bytes",
        ),
        (
            with("other.key", "nothing.key"),
            "32:23: receive_secret_file: cannot open",
        ),
        (
            with("send_secret =", "secret ="),
            "25:8: secret: give it, or",
        ),
        (
            with("receive_secret_file = \"other.key\"\n", ""),
            "25:8: send_secret, receive_secret: give both",
        ),
        (
            with(
                &format!("secret = \"{secret}\"\nunlisted = "),
                "# secret = ",
            ),
            "16:8: secret: missing, and the partition has none",
        ),
        (
            with("window = 64", "window = 65537"),
            "34:10: window: a window of 65537 packets",
        ),
        (
            with("role = \"send\"", "role = \"none\""),
            "44:8: unknown variant \"none\"",
        ),
        (with("[[partition]]", "[[partition"), "5:12: "),
        (
            with("flows = 600", "flows = 2"),
            "9:12: unlisted: 2 unlisted flows: 512 to 1048576 are possible",
        ),
        (
            with("window = 32 }", "window = 0 }"),
            "9:12: unlisted: a window of 0 packets",
        ),
        (
            with("3f0e0d0c0b0a09080706050403020100", "3f"),
            "9:31: session_random: has 1 bytes",
        ),
        (
            with("mode = \"allow\"", "unlisted = { session_random = \"00\" }"),
            "14:12: unlisted: the partition has no secret",
        ),
        (
            with("tolerance_s = 8", "tolerance_s = 4194304"),
            "35:14: timestamps: timestamps have 8 to 38 bits",
        ),
        (
            with("\"fe80::2\"", "\"2001:db8::2\""),
            "35:14: timestamps: timestamps have 8 to 38 bits",
        ),
    ] {
        let error = parse(&text).expect_err(expected).to_string();
        let expected = format!("fabric.toml:{expected}");
        assert!(
            error.starts_with(&expected),
            "{error}\nin place of\n{expected}"
        );
        assert!(
            !error.contains(secret) && !error.contains("112233") && !error.contains('\n'),
            "{error}"
        );
    }
}
