//! SA files: what they may say, and what is said of wrong ones.

use std::fs::{self, Permissions};
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::{
    TUNNEL4, TUNNEL6, association, hex, ipv4, key, load, one, protect, udp, unprotect,
};
use proptest::prelude::*;
use weir_crypto::Suite;
use weir_ipsec::{
    ConfigError, DontFragment, Dscp, FlowLabel, GatewayError, Lifetime, LoadOptions, Mode, NewKeys,
    Output, Quota, SaFile, Sequences, TunnelEnds, UdpPorts, Windows,
};
use weir_packet::wire::LinkType;
use weir_packet::wire::protocol::UDP;

const FULL: &str = r#"
default = "bypass"
inbound_policy = true

[[sa]]
name = "to-branch"
spi = 0x1001
suite = "aes-256-cbc+hmac-sha2-256-128"
key = "0x00112233445566778899aabbccddeeff 00112233445566778899aabbccddeeff"
integrity_key = """
  ffeeddccbbaa99887766554433221100
  ffeeddccbbaa99887766554433221100"""
mode = "tunnel"
esn = true
window = 4096
nat_t = { destination_port = 4501 }
decrement_ttl = true
mtu = 1500
soft_lifetime = { bytes = 1_000_000 }
hard_lifetime = { bytes = 2_000_000, packets = 10_000 }

[sa.tunnel]
source = "198.18.0.1"
destination = "198.18.0.2"
ttl = 32
dscp = 46
df = "clear"
flow_label = 0xabcde

[[policy]]
source = ["198.18.1.0/24", "!198.18.1.9"]
destination = "198.18.2.0/24"
protocol = ["tcp", "udp"]
destination_port = "1024-65535"
action = "protect"
sa = ["to-branch"]
"#;

#[test]
fn every_key_is_read() {
    let file = load(FULL);
    let [sa] = file.associations() else {
        panic!("one association");
    };
    assert_eq!(
        (sa.name.as_str(), sa.spi, sa.esn),
        ("to-branch", 0x1001, true)
    );
    assert_eq!(sa.suite.name().to_string(), "aes-256-cbc+hmac-sha2-256-128");
    let Mode::Tunnel(tunnel) = sa.mode else {
        panic!("a tunnel");
    };
    assert_eq!(
        tunnel.ends,
        TunnelEnds::V4 {
            source: Ipv4Addr::new(198, 18, 0, 1),
            destination: Ipv4Addr::new(198, 18, 0, 2)
        }
    );
    assert_eq!((tunnel.ttl, tunnel.dscp), (32, Dscp::Fixed(46)));
    assert_eq!(tunnel.dont_fragment, DontFragment::Clear);
    assert_eq!(tunnel.flow_label, FlowLabel::Fixed(0xabcde));
    assert_eq!(
        (sa.replay_window, sa.decrement_ttl, sa.mtu_bytes),
        (4096, true, 1500)
    );
    assert_eq!(
        sa.nat_t,
        Some(UdpPorts {
            source: 4500,
            destination: 4501
        })
    );
    assert_eq!(
        sa.lifetime,
        Lifetime {
            soft: Quota {
                packets: u64::MAX,
                bytes: 1_000_000
            },
            hard: Quota {
                packets: 10_000,
                bytes: 2_000_000
            }
        }
    );
    assert_eq!(file.warnings(), [] as [&str; 0]);
    assert!(!file.is_insecure_example());
}

#[test]
fn what_is_left_out_has_its_default() {
    let file = load(&one("aes-128-gcm-16", "tunnel", TUNNEL4));
    let sa = &file.associations()[0];
    let Mode::Tunnel(tunnel) = sa.mode else {
        panic!("a tunnel");
    };
    assert_eq!((tunnel.ttl, tunnel.dscp), (64, Dscp::Copy));
    assert_eq!(
        (tunnel.dont_fragment, tunnel.flow_label),
        (DontFragment::Copy, FlowLabel::Copy)
    );
    assert_eq!((sa.esn, sa.replay_window, sa.nat_t), (false, 64, None));
    assert_eq!(
        (sa.decrement_ttl, sa.lifetime),
        (false, Lifetime::UNLIMITED)
    );
}

/// Replaces something in a right file and returns the error, as it is shown.
fn error(from: &str, to: &str) -> String {
    assert!(FULL.contains(from), "{from}");
    match SaFile::parse(Path::new("sa.toml"), &FULL.replacen(from, to, 1)) {
        Ok(_) => panic!("{to:?} was taken for right"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn errors_name_place_key_and_remedy() {
    for (from, to, expected) in [
        (
            "spi = 0x1001",
            "spi = 255",
            "sa.toml:7:7: sa \"to-branch\": spi: 255 is reserved; use 256 (0x100) or higher",
        ),
        (
            "aes-256-cbc+hmac-sha2-256-128",
            "aes-256-cbc",
            "sa.toml:8:9: sa \"to-branch\": suite: unknown suite `aes-256-cbc`: use aes-128-gcm-16,",
        ),
        (
            "aes-256-cbc+",
            "aes-128-cbc+",
            "sa.toml:9:7: sa \"to-branch\": key: aes-128-cbc+hmac-sha2-256-128 needs 16 bytes, 32 are given",
        ),
        (
            "aes-256-cbc+",
            "aes-256-ctr+",
            "key: aes-256-ctr+hmac-sha2-256-128 needs 36 bytes (32 of key, then 4 of salt), 32 are given",
        ),
        (
            "sha2-256-128",
            "sha1-96",
            "sa.toml:10:17: sa \"to-branch\": integrity_key: 20 bytes are needed, 32 are given",
        ),
        (
            "eeff\"\ninteg",
            "eef\"\ninteg",
            "key: has an odd number of hex digits",
        ),
        ("0x0011", "0x00gg", "key: must be hex digits (0-9, a-f)"),
        (
            "mode = \"tunnel\"",
            "mode = \"transport\"",
            "tunnel: transport mode has none",
        ),
        (
            "mode = \"tunnel\"",
            "mode = \"tunel\"",
            "sa.toml:13:8: mode: unknown value \"tunel\"; did you mean \"tunnel\"?",
        ),
        (
            "window = 4096",
            "window = 32",
            "window: must be 64 to 4096 packets",
        ),
        ("mtu = 1500", "mtu = 15", "mtu: must be at least 68 bytes"),
        ("4501", "0", "nat_t: ports must be 1 to 65535"),
        (
            "{ destination_port = 4501 }",
            "\"yes\"",
            "nat_t: invalid type: string \"yes\", expected true, false or {",
        ),
        (
            "1_000_000",
            "3_000_000",
            "soft_lifetime: ends after hard_lifetime",
        ),
        (
            "{ bytes = 1_000_000 }",
            "{}",
            "soft_lifetime: give bytes, packets or both",
        ),
        (
            "packets = 10_000",
            "packets = 0",
            "hard_lifetime: give bytes, packets or both, above 0",
        ),
        (
            "\"198.18.0.2\"",
            "\"fd00::2\"",
            "tunnel: source and destination must be of one IP version",
        ),
        (
            "\"198.18.0.2\"",
            "\"198.18.0.1\"",
            "tunnel: source and destination must differ",
        ),
        (
            "\"198.18.0.2\"",
            "\"198.18.0.256\"",
            "destination: invalid IP address syntax",
        ),
        ("ttl = 32", "ttl = 0", "tunnel.ttl: must be 1 to 255"),
        (
            "dscp = 46",
            "dscp = 64",
            "tunnel.dscp: must be \"copy\" or 0 to 63",
        ),
        (
            "0xabcde",
            "0x100000",
            "tunnel.flow_label: must be \"copy\" or 0 to 0xfffff",
        ),
        (
            "esn = true",
            "esm = true",
            "sa.toml:14:1: unknown key \"esm\"; did you mean \"esn\"?",
        ),
        ("name = \"to-branch\"\n", "", "the key \"name\" is missing"),
        (
            "name = \"to-branch\"",
            "name = \"\"",
            "name: must not be empty",
        ),
        (
            "sa = [\"to-branch\"]",
            "sa = [\"to-brunch\"]",
            "sa.toml:36:7: policy 1: sa: there is no [[sa]] with the name \"to-brunch\"",
        ),
        (
            "sa = [\"to-branch\"]",
            "sa = \"to-brunch\"",
            "sa.toml:36:6: policy 1: sa: there is no [[sa]]",
        ),
        (
            "sa = [\"to-branch\"]",
            "sa = []",
            "policy 1: sa: name at least one association",
        ),
        (
            "[\"to-branch\"]",
            "[\"to-branch\", \"to-branch\"]",
            "policy 1: sa: \"to-branch\" is named twice",
        ),
        (
            "sa = [\"to-branch\"]",
            "",
            "policy 1: sa: missing; name the association that protects",
        ),
        (
            "action = \"protect\"",
            "action = \"bypass\"",
            "policy 1: sa: only action = \"protect\" has associations",
        ),
        (
            "198.18.2.0/24",
            "198.18.2.0/33",
            "destination: \"198.18.2.0/33\" is not an address",
        ),
        (
            "\"tcp\"",
            "\"tpc\"",
            "protocol: \"tpc\" is not an IP protocol",
        ),
        (
            "1024-65535",
            "65535-1024",
            "destination_port: range \"65535-1024\" does not run",
        ),
        (
            "default = \"bypass\"",
            "default = \"allow\"",
            "sa.toml:2:11: default: unknown value \"allow\"; known values: discard, bypass",
        ),
        ("[[policy]]", "[[policy]", "sa.toml:30:"),
    ] {
        let shown = error(from, to);
        assert!(shown.contains(expected), "{to}\n  {shown}\n  {expected}");
        assert!(shown.starts_with("sa.toml:"), "{shown}");
        assert!(!shown.contains('\n'), "{shown}");
    }
}

#[test]
fn keys_are_given_once_and_where_needed() {
    for (from, to, expected) in [
        (
            "key = \"0x",
            "#",
            "key: missing; 32 bytes are needed: give key, key_file or key_fd",
        ),
        (
            "key = \"0x",
            "key_fd = 3\nkey = \"0x",
            "give only one of key, key_file and key_fd",
        ),
        (
            "key = \"0x",
            "key_file = \"k\"\n#",
            "a text that is not a file may not name files",
        ),
        (
            "aes-256-cbc+hmac-sha2-256-128",
            "null+hmac-sha2-256-128",
            "key: the suite takes none: remove it",
        ),
    ] {
        let shown = error(from, to);
        assert!(shown.contains(expected), "{shown}");
    }
}

#[test]
fn associations_that_cannot_be_told_apart() {
    let two = |second: &str, mode: &str, tunnel: &str, spi: u32| {
        let text = association("one", 0x1001, "aes-128-gcm-16", "tunnel", TUNNEL4)
            + &association(second, spi, "aes-128-gcm-16", mode, tunnel);
        SaFile::parse(Path::new("sa.toml"), &text).map_err(|error| error.to_string())
    };
    assert!(
        two("two", "tunnel", TUNNEL6, 0x1001).is_ok(),
        "another destination"
    );
    assert!(two("two", "tunnel", TUNNEL4, 0x1002).is_ok());
    for (second, mode, tunnel, spi, expected) in [
        (
            "two",
            "tunnel",
            TUNNEL4,
            0x1001,
            "sa.toml:10:7: sa \"two\": spi: 0x1001 is also that of sa \"one\"",
        ),
        (
            "two",
            "transport",
            "",
            0x1001,
            "spi: 0x1001 is also that of sa \"one\"",
        ),
        (
            "one",
            "tunnel",
            TUNNEL4,
            0x1002,
            "sa.toml:9:8: sa \"one\": name: another association has it",
        ),
    ] {
        let error = two(second, mode, tunnel, spi).expect_err("a collision");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn policies_that_are_never_reached() {
    let policies = |lines: &[&str]| {
        let text: String = lines
            .iter()
            .map(|line| format!("[[policy]]\n{line}\naction = \"bypass\"\n"))
            .collect();
        SaFile::parse(Path::new("sa.toml"), &text).map_err(|error| error.to_string())
    };
    let lan = "source = \"198.18.1.0/24\"";
    let out = "direction = \"outbound\"";
    let inward = "direction = \"inbound\"";
    assert!(policies(&[lan, "protocol = \"tcp\"", ""]).is_ok());
    assert!(policies(&[out, inward]).is_ok());
    assert!(policies(&[out, lan]).is_ok(), "inbound it is reached");
    for (lines, earlier) in [
        (vec![lan, lan], 1),
        (vec![lan, "", "protocol = \"tcp\""], 2),
        (vec![out, inward, lan], 1),
        (vec!["", out], 1),
    ] {
        let error = policies(&lines).expect_err("a shadow");
        let expected = format!("never reached, since policy {earlier} takes all");
        assert!(error.contains(&expected), "{error}");
    }
}

#[test]
fn a_suite_that_no_rfc_puts_into_esp_is_refused() {
    let text = association("ocb", 0x1001, "aes-256-ocb3", "tunnel", TUNNEL4);
    let error = SaFile::parse(Path::new("sa.toml"), &text).expect_err("not of ESP");
    let error = error.to_string();
    assert!(
        error.contains("no RFC says how ESP uses aes-256-ocb3"),
        "{error}"
    );
}

#[test]
fn suites_of_private_use_must_be_allowed() {
    for suite in Suite::all().filter(|suite| suite.private_transform().is_some()) {
        let association = association("own", 0x1001, &suite.name(), "tunnel", TUNNEL4);
        let error = SaFile::parse(Path::new("sa.toml"), &association).expect_err("not allowed");
        let error = error.to_string();
        assert!(error.contains("set allow_private_use = true"), "{error}");
        assert!(error.contains(&suite.name()), "{error}");
        let text = format!("allow_private_use = true\n{association}");
        assert!(load(&text).warnings().is_empty());
    }
}

#[test]
fn legacy_suites_must_be_allowed_and_only_decrypt() {
    let association = association("old", 0x1001, "3des-cbc+hmac-sha1-96", "tunnel", TUNNEL4);
    let policy = "[[policy]]\naction = \"protect\"\nsa = \"old\"\n";
    let error = SaFile::parse(Path::new("sa.toml"), &(association.clone() + policy))
        .expect_err("not allowed");
    assert!(
        error.to_string().contains("set allow_legacy = true"),
        "{error}"
    );

    let text = format!("allow_legacy = true\n{association}{policy}");
    let file = load(&text);
    assert_eq!(file.warnings().len(), 1);
    assert!(file.unprotect(&Windows::Empty, 1).is_ok());
    let refused = file
        .protect(&Sequences::RepeatableInsecure, Output::Capture, 1)
        .err();
    assert!(matches!(refused, Some(GatewayError::LegacyEncrypt { .. })));
    let file = load(&format!("legacy_encrypt = true\n{text}"));
    assert!(
        file.protect(&Sequences::RepeatableInsecure, Output::Capture, 1)
            .is_ok()
    );
    let weak = text.replace(&hex(&key(24, 1)), &"0123456789abcdef".repeat(3));
    let error = SaFile::parse(Path::new("sa.toml"), &weak).expect_err("single DES");
    assert!(error.to_string().contains("single DES"), "{error}");
}

#[test]
fn associations_that_seal_share_no_key() {
    let text = association("one", 0x1001, "aes-128-gcm-16", "tunnel", TUNNEL4)
        + &association("two", 0x1002, "aes-128-ctr+hmac-sha1-96", "tunnel", TUNNEL4)
        + "[[policy]]\naction = \"protect\"\nsa = \"one\"\n";
    let file = load(&text);
    assert!(
        file.unprotect(&Windows::Empty, 1).is_ok(),
        "old captures have such keys"
    );
    match file.protect(&Sequences::RepeatableInsecure, Output::Capture, 1) {
        Err(GatewayError::SharedKey {
            association, other, ..
        }) => {
            assert_eq!((association.as_str(), other.as_str()), ("one", "two"));
        }
        other => panic!("{:?}", other.err()),
    }
}

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).expect("written");
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
}

const OPEN: LoadOptions = LoadOptions {
    allow_insecure_permissions: true,
};

#[test]
fn files_that_others_can_read_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("sa.toml");
    for (mode, is_private) in [
        (0o600, true),
        (0o400, true),
        (0o640, true),
        (0o660, false),
        (0o604, false),
        (0o620, false),
    ] {
        write(&path, FULL, mode);
        let loaded = SaFile::load(&path, LoadOptions::default());
        assert_eq!(loaded.is_ok(), is_private, "{mode:o}");
        if let Err(error) = loaded {
            let text = error.to_string();
            assert!(
                text.contains("chmod 600") && text.contains("--allow-insecure"),
                "{text}"
            );
        }
        assert!(SaFile::load(&path, OPEN).is_ok());
    }
    // Keys that are published anyway need no hiding, and seal nothing real.
    write(&path, &format!("insecure_example = true\n{FULL}"), 0o644);
    let file = SaFile::load(&path, LoadOptions::default()).expect("an example");
    assert_eq!(file.warnings().len(), 1);
    let sequences = Sequences::Ledger {
        path: directory.path().join("ledger"),
        new_keys: NewKeys::All,
        reserve: 10,
    };
    let refused = file.protect(&sequences, Output::Capture, 1).err();
    assert!(matches!(
        refused,
        Some(GatewayError::InsecureExample { .. })
    ));
}

#[test]
fn keys_come_from_files_and_descriptors() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("sa.toml");
    let key_path = directory.path().join("branch.key");
    write(&key_path, &format!("{}\n", hex(&key(20, 1))), 0o600);
    let inline = one("aes-128-gcm-16", "tunnel", TUNNEL4);
    let key_line = format!("key = \"{}\"", hex(&key(20, 1)));
    assert!(inline.contains(&key_line));
    let from_file = inline.replace(&key_line, "key_file = \"branch.key\"");
    write(&path, &from_file, 0o600);
    let file = SaFile::load(&path, LoadOptions::default()).expect("a right file");
    assert_eq!(
        *file.wireshark_keys().text,
        *load(&inline).wireshark_keys().text
    );

    write(&key_path, &hex(&key(20, 1)), 0o644);
    let error = SaFile::load(&path, LoadOptions::default()).expect_err("open to others");
    assert!(
        error
            .to_string()
            .contains("branch.key: holds keys and is open"),
        "{error}"
    );
    assert!(SaFile::load(&path, OPEN).is_ok());
    fs::remove_file(&key_path).expect("removed");
    let error = SaFile::load(&path, OPEN).expect_err("missing");
    assert!(
        error.to_string().contains("branch.key: cannot open"),
        "{error}"
    );

    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    writer
        .write_all(hex(&key(20, 1)).as_bytes())
        .expect("written");
    drop(writer);
    let from_descriptor = inline.replace(&key_line, &format!("key_fd = {}", reader.as_raw_fd()));
    write(&path, &from_descriptor, 0o600);
    let file = SaFile::load(&path, LoadOptions::default()).expect("a right file");
    assert_eq!(
        *file.wireshark_keys().text,
        *load(&inline).wireshark_keys().text
    );
}

#[test]
fn files_that_are_no_files() {
    let directory = tempfile::tempdir().expect("a directory");
    for (path, expected) in [
        (directory.path().join("missing"), "cannot open"),
        (directory.path().into(), "cannot read"),
    ] {
        match SaFile::load(&path, OPEN) {
            Err(ConfigError::File { message, .. }) => {
                assert!(message.contains(expected), "{message}")
            }
            other => panic!("{other:?}"),
        }
    }
    let path = directory.path().join("binary");
    fs::write(&path, [0xff, 0xfe, 0]).expect("written");
    assert!(SaFile::load(&path, OPEN).is_err());
}

/// Neither what is shown for debugging nor an error repeats a key, in whatever
/// way it is written.
#[test]
fn no_key_is_shown() {
    let secret = "00112233445566778899aabbccddeeff";
    let file = load(FULL);
    let stages = file.unprotect(&Windows::Empty, 1).expect("keys");
    let mut shown = format!("{file:?} {:?}", file.databases());
    drop(stages);
    shown += &format!(
        "{:?}",
        file.protect(&Sequences::RepeatableInsecure, Output::Live, 1)
            .err()
    );
    let key_line = "key = \"0x00112233445566778899aabbccddeeff 00112233445566778899aabbccddeeff\"";
    for wrong in [
        "key = \"00112233445566778899aabbccddeeff",
        "key = 00112233445566778899aabbccddeeff",
        "key = 0x00112233445566778899aabbccddeeff",
        "key = 112233445566778899",
        "key = 1122334455667788.99",
        "key = [\"00112233445566778899aabbccddeeff\"]",
        "key = { hex = \"00112233445566778899aabbccddeeff\" }",
        "key = \"00112233445566778899aabbccddeeff\\q\"",
        "key = \"00112233445566778899aabbccddeeffzz\"",
        "key = \"00112233445566778899aabbccddeeff\"",
    ] {
        let error = error(key_line, wrong);
        shown += &error;
    }
    for part in [&secret[..16], "112233", "11223344", "17, 34, 51", "deeff"] {
        assert!(!shown.contains(part), "{part} in {shown}");
    }
}

#[test]
fn wireshark_lines() {
    let text = association("g", 0x1001, "aes-128-gcm-16", "tunnel", TUNNEL4)
        + &association("n", 0x1002, "null+hmac-sha2-512-256", "tunnel", TUNNEL6)
        + &association("c", 0x1003, "chacha20-poly1305", "tunnel", TUNNEL6)
        + &association("t", 0x1004, "aes-256-cbc+hmac-sha1-96", "transport", "");
    let keys = load(&text).wireshark_keys();
    let (gcm, mac) = (hex(&key(20, 1)), hex(&key(64, 101)));
    let (cbc, sha1) = (hex(&key(32, 1)), hex(&key(20, 101)));
    let transport = |version| {
        format!(
            "\"{version}\",\"*\",\"*\",\"0x00001004\",\"AES-CBC [RFC3602]\",\"0x{cbc}\",\
             \"HMAC-SHA-1-96 [RFC2404]\",\"0x{sha1}\"\n"
        )
    };
    assert_eq!(
        *keys.text,
        format!(
            "\"IPv4\",\"198.18.0.1\",\"198.18.0.2\",\"0x00001001\",\
             \"AES-GCM with 16 octet ICV [RFC4106]\",\"0x{gcm}\",\"NULL\",\"\"\n\
             \"IPv6\",\"fd00::1\",\"fd00::2\",\"0x00001002\",\"NULL\",\"\",\
             \"HMAC-SHA-512-256 [RFC4868]\",\"0x{mac}\"\n{}{}",
            transport("IPv4"),
            transport("IPv6")
        )
    );
    assert_eq!(keys.left_out, ["c"]);
    for suite in Suite::all().filter(|suite| suite.is_esp()) {
        let keys = load(&one(&suite.name().to_string(), "tunnel", TUNNEL4)).wireshark_keys();
        assert_eq!(
            keys.text.lines().count() + keys.left_out.len(),
            1,
            "{suite}"
        );
    }
}

/// A file serves both views: what `protect` sends, `unprotect` takes, and what
/// no policy names passes both.
#[test]
fn one_file_serves_both_ends() {
    let text = FULL
        .replace("decrement_ttl = true", "")
        .replace("inbound_policy = true", "");
    let records = vec![
        ipv4(UDP, &udp(50_000, &key(10, 1))),
        ipv4(UDP, &udp(53, &key(10, 1))),
    ];
    let protected = protect(&text, LinkType::RawIp, &records);
    assert_eq!(protected.records[0][20..24], [0x11, 0x94, 0x11, 0x95]);
    assert_eq!(protected.records[1], records[1]);
    assert_eq!(
        unprotect(&text, LinkType::RawIp, &protected.records).records,
        records
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// A right file with a piece cut out, doubled or changed is read or
    /// refused, in one line.
    #[test]
    fn broken_files_are_refused_in_one_line(
        from: prop::sample::Index, bytes in 0usize..40, with in "[ -~\\n]{0,6}",
    ) {
        let from = from.index(FULL.len());
        let to = (from + bytes).min(FULL.len());
        let text = [&FULL[..from], &with, &FULL[to..]].concat();
        if let Err(error) = SaFile::parse(Path::new("sa.toml"), &text) {
            prop_assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}
