//! Words, right and wrong.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use serde::Deserialize;

use crate::{AddressSet, PortSet, ProtocolSet, SetError};

fn addresses(text: &str) -> AddressSet {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn ports(text: &str) -> PortSet {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn contains(set: &AddressSet, address: &str) -> bool {
    match address.parse().expect("an address") {
        IpAddr::V4(address) => set.contains(4, address.to_bits().into()),
        IpAddr::V6(address) => set.contains(6, address.to_bits()),
    }
}

#[test]
fn address_lists_mean_what_snort_means() {
    let set = addresses("[10.0.0.0/8, !10.1.0.0/16, fd00::/8,192.0.2.1-192.0.2.9]");
    for inside in [
        "10.0.0.0",
        "10.2.0.0",
        "10.255.255.255",
        "fd12::1",
        "192.0.2.9",
    ] {
        assert!(contains(&set, inside), "{inside}");
    }
    for outside in [
        "10.1.0.0",
        "10.1.255.255",
        "11.0.0.0",
        "fe80::1",
        "192.0.2.10",
    ] {
        assert!(!contains(&set, outside), "{outside}");
    }
    // A negation alone is everything but, in both families.
    let set = addresses("!10.0.0.0/8");
    assert!(contains(&set, "11.0.0.1") && contains(&set, "::1"));
    assert!(!contains(&set, "10.0.0.1"));
    assert!(!set.contains(0, 0), "no address, and not any");
    // A list may be negated, and lists nest.
    let set = addresses("[!10.0.0.0/8,![fd00::/8,!fd00:1::/32]]");
    assert!(contains(&set, "fd00:1::1") && contains(&set, "198.18.0.1"));
    assert!(!contains(&set, "fd00:2::1") && !contains(&set, "10.9.9.9"));
    assert_eq!(addresses("![!10.0.0.0/8]"), addresses("10.0.0.0/8"));
    // The same set in other words.
    assert_eq!(
        addresses("10.0.0.0/9,10.128.0.0/9"),
        addresses("10.77.0.0/8")
    );
    assert_eq!(addresses("[any,!0.0.0.0/0]"), addresses("::/0"));
    assert!(addresses("[any,10.0.0.0/8]").is_any());
    assert!(AddressSet::default().contains(0, 0));
}

#[test]
fn port_lists_mean_what_snort_means() {
    let set = ports("[1:1023,!80,8080-8090]");
    for (port, inside) in [
        (1, true),
        (79, true),
        (80, false),
        (1024, false),
        (8085, true),
    ] {
        assert_eq!(set.contains(port), inside, "{port}");
    }
    assert_eq!(ports("1024:"), PortSet::range(1024, 65535));
    assert_eq!(ports(":1023"), PortSet::range(0, 1023));
    assert_eq!(ports("!80"), ports("[0-79,81-65535]"));
    assert!(!ports("0-65535").is_any());
}

#[test]
fn protocols_have_names_and_numbers() {
    let set: ProtocolSet = "[TCP,17]".parse().expect("protocols");
    assert_eq!(set, ProtocolSet::of(&[6, 17]));
    assert_eq!(set.to_string(), "[tcp,udp]");
    let others: ProtocolSet = "!tcp".parse().expect("protocols");
    assert!(others.contains(0) && others.contains(255) && !others.contains(6));
}

#[test]
fn errors_name_the_word_at_fault() {
    let word_of = |error: SetError| match error {
        SetError::Word { word, .. } | SetError::Backwards { word } => word,
        other => panic!("{other}"),
    };
    for (text, word) in [
        ("10.0.0.256", "10.0.0.256"),
        ("[10.0.0.0/8,10.0.0.0/33]", "10.0.0.0/33"),
        ("[10.0.0.0/8,,fd00::/8]", ""),
        ("", ""),
        ("[]", ""),
        ("!", ""),
        ("!!10.0.0.0/8", ""),
        ("$HOME_NET", "$HOME_NET"),
        ("10.0.0.9-10.0.0.1", "10.0.0.9-10.0.0.1"),
        ("10.0.0.9-fd00::1", "10.0.0.9-fd00::1"),
    ] {
        let error = text.parse::<AddressSet>().expect_err(text);
        assert_eq!(word_of(error), word, "{text}");
    }
    for (text, word) in [
        ("65536", "65536"),
        ("[80,http]", "http"),
        (":", ":"),
        ("-80", "-80"),
        ("90:80", "90:80"),
        ("-1", "-1"),
    ] {
        let error = text.parse::<PortSet>().expect_err(text);
        assert_eq!(word_of(error), word, "{text}");
    }
    for text in ["[80", "80]", "[80]90", "80[90]", "[[80]", "[80!90]"] {
        let error = text.parse::<PortSet>().expect_err(text);
        assert!(
            matches!(error, SetError::Brackets { .. }),
            "{text}: {error}"
        );
    }
    for text in ["!any", "[80,!80]", "[80,!1:100]", "!0-65535"] {
        let error = text.parse::<PortSet>().expect_err(text);
        assert!(matches!(error, SetError::Nothing { .. }), "{text}: {error}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(deep.parse::<PortSet>(), Err(SetError::TooDeep));
}

#[derive(Debug, Deserialize)]
struct Rule {
    #[serde(default)]
    source: AddressSet,
    #[serde(default)]
    port: PortSet,
}

#[test]
fn configuration_gives_words_numbers_or_lists() {
    let read = |text: &str| toml::from_str::<Rule>(text);
    let rule = read(r#"source = "fd00::/8""#).expect("a rule");
    assert_eq!(rule.source, addresses("fd00::/8"));
    assert!(rule.port.is_any());
    let rule = read(r#"port = 80"#).expect("a rule");
    assert_eq!(rule.port, PortSet::port(80));
    let rule = read(r#"port = [80, "1024-2047", "!1100"]"#).expect("a rule");
    assert_eq!(rule.port, ports("[80,1024-1099,1101-2047]"));
    for (text, complaint) in [
        (r#"port = ["80", "htpp"]"#, "\"htpp\" is not a port"),
        ("port = -1", "\"-1\" is not a port"),
        ("port = []", "at least one word"),
        (
            "port = true",
            "a port (0 to 65535) or a range of ports, or a list",
        ),
        ("port = [[80]]", "a word or a number"),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains(complaint), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "[0-9a-f.:/!,\\[\\] -]{0,40}") {
        let _ = text.parse::<AddressSet>();
        let _ = text.parse::<PortSet>();
        let _ = text.parse::<ProtocolSet>();
    }

    #[test]
    fn what_is_written_reads_back(
        ranges in proptest::collection::vec((any::<u32>(), 0u8..33, any::<u128>(), 0u8..129), 1..6),
        bounds in proptest::collection::vec((any::<u16>(), any::<u16>()), 1..6),
    ) {
        let words: Vec<String> = ranges
            .iter()
            .flat_map(|(four, four_bits, six, six_bits)| [
                format!("{}/{four_bits}", Ipv4Addr::from_bits(*four)),
                format!("!{}/{six_bits}", Ipv6Addr::from_bits(*six)),
            ])
            .collect();
        if let Ok(set) = words.join(",").parse::<AddressSet>() {
            prop_assert_eq!(set.to_string().parse::<AddressSet>(), Ok(set));
        }
        let words: Vec<String> = bounds
            .iter()
            .map(|(a, b)| format!("{}-{}", a.min(b), a.max(b)))
            .collect();
        let set = ports(&words.join(","));
        prop_assert_eq!(set.to_string().parse::<PortSet>(), Ok(set));
    }
}
