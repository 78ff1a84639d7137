//! SA files: each part of the language, and each kind of fault.

use crate::{Seed, seed};

/// Keys, words and values of the language.
pub const WORDS: &[&[u8]] = &[
    b"[[sa]]\n",
    b"[[policy]]\n",
    b"name = \"other\"\n",
    b"spi = 0x1002\n",
    b"suite = \"aes-256-gcm-16\"\n",
    b"suite = \"3des-cbc+hmac-sha1-96\"\n",
    b"suite = \"null+hmac-sha1-96\"\n",
    b"suite = \"chacha20-poly1305\"\n",
    b"key = \"00112233445566778899aabbccddeeff01020304\"\n",
    b"key_file = \"key\"\n",
    b"key_fd = 3\n",
    b"integrity_key = \"000102030405060708090a0b0c0d0e0f10111213\"\n",
    b"mode = \"transport\"\n",
    b"mode = \"tunnel\"\n",
    b"tunnel = { source = \"fd00::1\", destination = \"fd00::2\" }\n",
    b"esn = true\n",
    b"window = 4096\n",
    b"nat_t = true\n",
    b"mtu = 1280\n",
    b"decrement_ttl = true\n",
    b"soft_lifetime = { packets = 1 }\n",
    b"hard_lifetime = { bytes = 100 }\n",
    b"allow_legacy = true\n",
    b"legacy_encrypt = true\n",
    b"inbound_policy = true\n",
    b"default = \"bypass\"\n",
    b"direction = \"inbound\"\n",
    b"action = \"protect\"\n",
    b"action = \"discard\"\n",
    b"destination = \"198.18.2.0/24\"\n",
    b"protocol = \"udp\"\n",
    b"destination_port = \"1:1024\"\n",
    b"sa = [\"first\", \"second\"]\n",
    b"9223372036854775808",
    b"-1",
    b"\"\"\"",
];

/// One file for each part of the language.
pub fn seeds() -> Vec<Seed> {
    let tunnel = association("first", 0x1001, GCM, TUNNEL);
    let same_spi = [&tunnel[..], &association("other", 0x1001, GCM, TUNNEL)].concat();
    let full = [HEAD, &tunnel, TRANSPORT, POLICIES].concat();
    vec![
        seed("empty", ""),
        seed("tunnel", [&tunnel[..], POLICY].concat()),
        seed("full", full),
        seed("every_suite", every_suite()),
        seed("same_name", tunnel.repeat(2)),
        seed("same_spi", same_spi),
        seed(
            "wrong_key_size",
            association("first", 0x1001, WRONG, TUNNEL),
        ),
        seed("reserved_spi", association("first", 255, GCM, TUNNEL)),
        seed(
            "unknown_suite",
            association("first", 0x1001, UNKNOWN, TUNNEL),
        ),
        seed(
            "key_is_a_number",
            association("first", 0x1001, NUMBER, TUNNEL),
        ),
        seed("no_such_association", [&tunnel[..], NOBODY].concat()),
        seed("not_toml", "[[sa]\nname = first\n"),
    ]
}

const GCM: &str =
    "suite = \"aes-128-gcm-16\"\nkey = \"00112233445566778899aabbccddeeff01020304\"\n";
const WRONG: &str = "suite = \"aes-256-gcm-16\"\nkey = \"00112233445566778899aabbccddeeff\"\n";
const UNKNOWN: &str =
    "suite = \"rot13+crc32\"\nkey = \"fedcba98765432100123456789abcdef01020304\"\n";
const NUMBER: &str = "suite = \"aes-128-gcm-16\"\nkey = 0x00112233445566\n";
const TUNNEL: &str = "mode = \"tunnel\"\n\
tunnel = { source = \"198.19.255.1\", destination = \"198.19.255.2\", ttl = 9, dscp = \"copy\", \
df = \"set\", flow_label = 7 }\n";
const HEAD: &str = "insecure_example = true\ninbound_policy = true\ndefault = \"bypass\"\n";
const TRANSPORT: &str = "[[sa]]\nname = \"second\"\nspi = 4098\n\
suite = \"aes-128-cbc+hmac-sha2-256-128\"\n\
key = \"0x0f:1e:2d:3c:4b:5a:69:78:87:96:a5:b4:c3:d2:e1:f0\"\n\
integrity_key = \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\"\n\
mode = \"transport\"\nesn = true\nwindow = 256\nmtu = 1400\n\
nat_t = { source_port = 4500, destination_port = 40001 }\n\
soft_lifetime = { packets = 1, bytes = 1000 }\nhard_lifetime = { packets = 2 }\n";
const POLICY: &str =
    "[[policy]]\ndestination = \"198.18.2.0/24\"\naction = \"protect\"\nsa = \"first\"\n";
const POLICIES: &str = "[[policy]]\n\
source = [\"198.18.0.0/15\", \"!198.18.9.0/24\"]\nprotocol = [\"udp\", \"tcp\"]\n\
destination_port = [\"53\", \"1024:2000\"]\ndirection = \"outbound\"\naction = \"protect\"\n\
sa = [\"first\", \"second\"]\n\
[[policy]]\ndestination = \"fd00::/8\"\naction = \"discard\"\n\
[[policy]]\nprotocol = \"icmp\"\naction = \"bypass\"\n";
const NOBODY: &str = "[[policy]]\naction = \"protect\"\nsa = \"nobody\"\n";

fn association(name: &str, spi: u32, suite_and_key: &str, mode: &str) -> String {
    format!("[[sa]]\nname = \"{name}\"\nspi = {spi}\n{suite_and_key}{mode}")
}

/// An association for each suite family and key size.
fn every_suite() -> String {
    let mut text = String::from("allow_legacy = true\nlegacy_encrypt = true\n");
    let suites = [
        ("aes-128-gcm-16", 20, 0),
        ("aes-192-gcm-16", 28, 0),
        ("aes-256-gcm-16", 36, 0),
        ("chacha20-poly1305", 36, 0),
        ("aes-128-ctr+hmac-sha1-96", 20, 20),
        ("aes-256-ctr+hmac-sha2-256-128", 36, 32),
        ("aes-128-cbc+hmac-sha2-384-192", 16, 48),
        ("aes-256-cbc+hmac-sha2-512-256", 32, 64),
        ("null+hmac-sha2-256-128", 0, 32),
        ("3des-cbc+hmac-sha1-96", 24, 20),
    ];
    for (number, (suite, key_bytes, integrity_key_bytes)) in (0u32..).zip(suites) {
        let mut entry = format!("suite = \"{suite}\"\n");
        for (name, bytes) in [("key", key_bytes), ("integrity_key", integrity_key_bytes)] {
            if bytes > 0 {
                let hex: String = (0..bytes)
                    .map(|at| format!("{:02x}", (16 * number + at * 5 + 1) % 256))
                    .collect();
                entry.push_str(&format!("{name} = \"{hex}\"\n"));
            }
        }
        text.push_str(&association(
            suite,
            0x1001 + number,
            &entry,
            "mode = \"transport\"\n",
        ));
        text.push_str(&format!(
            "[[policy]]\ndestination_port = \"{}\"\naction = \"protect\"\nsa = \"{suite}\"\n",
            53 + number
        ));
    }
    text
}
