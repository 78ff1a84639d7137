//! `weir protect`, then `weir unprotect`.

use std::process::Stdio;

use crate::captures::{Packet, packets};
use crate::processes::{Folder, Said, command, example, example_name, json_file, weir, weir_fed};

/// What `examples/README.md` counts in `traffic.pcapng`: site A to B and back,
/// which the policies of `sa.toml` protect whatever the packet,
const BETWEEN_THE_SITES: usize = (1083 + 646) + (848 + 396);
/// and what they let pass: guests in both directions, the router's own, ARP.
const OTHERS: usize = (147 + 154 + 90 + 92) + (5 + 87) + 16;

fn convert(verb: &str, from: &str, to: &str, sa: &str, more: &[&str]) -> Said {
    let arguments = [&[verb, from, to, "--sa", sa, "--quiet"], more].concat();
    weir(arguments)
}

/// Packets as the round trip keeps them.
fn kept(packets: &[Packet]) -> Vec<Packet> {
    packets.iter().map(Packet::without_padding).collect()
}

#[test]
fn every_packet_comes_back_in_order() {
    assert_eq!((BETWEEN_THE_SITES, OTHERS), (2973, 591));
    let folder = Folder::new();
    let (protected, back) = (folder.name("protected.pcapng"), folder.name("back.pcapng"));
    let sa = example_name("sa.toml");
    let original = packets(example("traffic.pcapng"));
    assert_eq!(original.len(), BETWEEN_THE_SITES + OTHERS);

    let traffic = example_name("traffic.pcapng");
    let said = convert("protect", &traffic, &protected, &sa, &["--json", "-"]).done();
    let report = said.json();
    assert_eq!(report["packets"], 3564);
    assert_eq!(report["protected"], 2973);
    assert_eq!(report["bypassed"], 591);
    assert_eq!(report["forwarded"], 3564);
    // The packets inside are shorter than the frames that they came in.
    let associations = report["associations"].as_array().expect("rows");
    let payload_bytes = associations.iter().map(|row| &row["payload_bytes"]);
    let payload_bytes = payload_bytes.map(|bytes| bytes.as_u64().expect("a number"));
    let payload_bytes: u64 = payload_bytes.sum();
    assert!(payload_bytes > 0 && Some(payload_bytes) < report["bytes"].as_u64());
    assert_eq!(report["drops"], serde_json::json!({}));
    let on_the_way = packets(&protected);
    let esp = on_the_way.iter().filter(|packet| packet.esp().is_some());
    assert_eq!(esp.count(), BETWEEN_THE_SITES);

    let said = convert("unprotect", &protected, &back, &sa, &["--json", "-"]).done();
    let report = said.json();
    assert_eq!(report["packets"], 3564);
    assert_eq!(report["unprotected"], 2973);
    assert_eq!(report["bypassed"], 591);
    assert_eq!(report["drops"], serde_json::json!({}));
    assert_eq!(kept(&packets(&back)), kept(&original));
}

#[test]
fn two_shards_lose_and_change_nothing() {
    let folder = Folder::new();
    let (protected, back) = (folder.name("protected.pcapng"), folder.name("back.pcapng"));
    let sa = example_name("sa.toml");
    let shards = ["--shards", "2"];
    let traffic = example_name("traffic.pcapng");
    convert("protect", &traffic, &protected, &sa, &shards).done();
    convert("unprotect", &protected, &back, &sa, &shards).done();
    let mut expected = kept(&packets(example("traffic.pcapng")));
    let mut found = kept(&packets(&back));
    for addresses in [
        [198, 18, 1, 10, 198, 18, 2, 10],
        [198, 18, 2, 10, 198, 18, 1, 10],
    ] {
        // Between two hosts, which several flows join, order holds per flow
        // only; the echo requests and replies are one flow per direction.
        let of_flow = |packets: &[Packet]| -> Vec<Packet> {
            let is_echo = |packet: &&Packet| {
                packet.addresses() == Some(&addresses[..]) && packet.bytes[23] == 1
            };
            packets.iter().filter(is_echo).cloned().collect()
        };
        assert!(of_flow(&expected).len() > 10);
        assert_eq!(of_flow(&found), of_flow(&expected));
    }
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn every_tier_seals_the_same_bytes_and_opens_them() {
    let folder = Folder::new();
    let (traffic, sa) = (example_name("traffic.pcapng"), example_name("sa.toml"));
    let engines = weir(["engines", "--json", "-"]).done().json();
    let tiers = engines["tiers"].as_array().expect("tiers").iter();
    let available: Vec<&str> = tiers
        .filter(|tier| tier["available"] == true)
        .filter_map(|tier| tier["tier"].as_str())
        .collect();
    assert!(available.contains(&"scalar"));
    let by_tier = |tier: &str, arguments: &[&str]| {
        let mut command = command(arguments);
        let child = command.env("WEIR_ISA", tier).stderr(Stdio::piped()).spawn();
        Said::of(child.expect("weir starts")).done()
    };
    let expected = kept(&packets(&traffic));
    let mut sealed = Vec::new();
    for tier in available {
        let (out, back) = (folder.name("out.pcapng"), folder.name("back.pcapng"));
        by_tier(tier, &["protect", &traffic, &out, "--sa", &sa, "-q"]);
        by_tier(tier, &["unprotect", &out, &back, "--sa", &sa, "-q"]);
        assert_eq!(kept(&packets(&back)), expected, "{tier}");
        sealed.push((tier, std::fs::read(out).expect("read")));
    }
    let (_, first) = &sealed[0];
    for (tier, bytes) in &sealed {
        assert!(bytes == first, "{tier} differs");
    }
}

#[test]
fn a_pcap_and_a_pipe_carry_the_same() {
    let folder = Folder::new();
    let sa = example_name("sa.toml");
    let traffic = example("traffic.pcapng");
    let arguments = ["protect", "-", "-", "--sa", &sa, "--quiet"];
    let protected = weir_fed(arguments, &std::fs::read(&traffic).expect("read"));
    let back = folder.name("back.pcap");
    let arguments = ["unprotect", "-", &back, "--sa", &sa, "--quiet"];
    weir_fed(arguments, &protected.done().stdout).done();
    let nameless = |packets: Vec<Packet>| -> Vec<Packet> {
        let nameless = packets.into_iter().map(|packet| Packet {
            interface: None,
            ..packet.without_padding()
        });
        nameless.collect()
    };
    // A pcap file forgets the names of its interfaces.
    assert_eq!(nameless(packets(&back)), nameless(packets(&traffic)));
}

#[test]
fn under_wrong_keys_nothing_verifies_and_nothing_leaks() {
    let folder = Folder::new();
    let (protected, back) = (folder.name("protected.pcapng"), folder.name("back.pcapng"));
    let sa = example_name("sa.toml");
    let traffic = example_name("traffic.pcapng");
    convert("protect", &traffic, &protected, &sa, &[]).done();

    // The first digit of every key, and of the integrity keys, is another one.
    let text = std::fs::read_to_string(&sa).expect("the SA file");
    let wrong: String = text
        .lines()
        .map(|line| match line.split_once("key = \"") {
            Some((name, value)) => {
                let digit = if value.starts_with('0') { "1" } else { "0" };
                format!("{name}key = \"{digit}{}\n", &value[1..])
            }
            None => format!("{line}\n"),
        })
        .collect();
    let wrong = folder.write("wrong.toml", wrong);
    for shards in ["1", "2"] {
        let json = folder.name("report.json");
        let more = ["--shards", shards, "--json", &json];
        convert("unprotect", &protected, &back, &wrong, &more).failed(1, &["no packet verified"]);
        let report = json_file(&folder.path("report.json"));
        assert_eq!(report["unprotected"], 0);
        assert_eq!(
            report["drops"],
            serde_json::json!({"integrity_failed": 2973})
        );
        assert_eq!(report["forwarded"], 591);
        assert!(!folder.path("back.pcapng").exists());
        // A stream carries what was never protected.
        let streamed = convert("unprotect", &protected, "-", &wrong, &["--shards", shards]);
        let back = folder.write("streamed.pcapng", &streamed.stdout);
        streamed.failed(1, &["no packet verified"]);
        let mut expected: Vec<Packet> = packets(&protected)
            .into_iter()
            .filter(|packet| packet.esp().is_none())
            .collect();
        let mut found = packets(&back);
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
    }
}

#[test]
fn nothing_to_protect_is_a_failure() {
    let folder = Folder::new();
    let generated = folder.name("generated.pcap");
    weir(["generate", &generated, "--packets", "50", "--quiet"]).done();
    let (out, sa) = (folder.name("out.pcap"), example_name("sa.toml"));
    // The sites' policies do not meet the generator's addresses.
    convert("protect", &generated, &out, &sa, &[])
        .failed(1, &["no packet was protected", "sa.toml"]);
    assert!(!folder.path("out.pcap").exists());
}

#[test]
fn wireshark_keys_are_written_when_asked_and_for_the_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let (out, sa, keys) = (
        folder.name("out.pcapng"),
        example_name("sa.toml"),
        folder.write("keys", "an older file"),
    );
    let traffic = example_name("traffic.pcapng");
    convert("protect", &traffic, &out, &sa, &["--wireshark-keys", &keys]).done();
    let mode = folder.path("keys").metadata().expect("keys").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&keys).expect("keys");
    // One line for each of the seven associations, and one more for that in
    // transport mode, which carries both versions of IP.
    assert_eq!(text.lines().count(), 8);
    assert!(text.contains("17c29ba23bb9d221730bf93a1f25f8228cabaf51"));
    let said = convert("protect", &traffic, &out, &sa, &["--wireshark-keys", "-"]).done();
    assert_eq!(said.stdout, text.into_bytes());
}
