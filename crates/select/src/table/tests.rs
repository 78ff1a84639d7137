//! Tables against a scan.

use proptest::prelude::*;
use weir_packet::wire::FlowKey;

use super::*;
use crate::{AddressSet, PortSet, ProtocolSet, Ranged};

fn scan(selectors: &[Selector], tuple: &Tuple) -> Vec<u32> {
    (0u32..)
        .zip(selectors)
        .filter(|(_, selector)| selector.matches(tuple))
        .map(|(number, _)| number)
        .collect()
}

fn check(table: &Table, selectors: &[Selector], tuple: &Tuple) -> Result<(), TestCaseError> {
    let expected = scan(selectors, tuple);
    let mut all = vec![99];
    table.all(tuple, &mut all);
    prop_assert_eq!(&all, &expected);
    prop_assert_eq!(table.first(tuple), expected.first().map(|n| *n as usize));
    Ok(())
}

/// Few different words, so that selectors and tuples meet often.
fn address_word() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just("any".to_owned()),
        4 => (0u8..4, 0u8..4, 8u8..33).prop_map(|(a, b, bits)| format!("10.{a}.0.{b}/{bits}")),
        2 => (0u8..4, 0u8..4).prop_map(|(a, b)| format!("10.{}.0.{b}-10.{}.3.{b}", a.min(b), a.max(b))),
        3 => (0u8..4, 0u8..4, 16u8..129).prop_map(|(a, b, bits)| format!("fd00:{a}::{b}/{bits}")),
        1 => Just("0.0.0.0/0".to_owned()),
        1 => Just("255.255.255.255".to_owned()),
        1 => Just("::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".to_owned()),
    ]
}

fn port_word() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just("any".to_owned()),
        4 => (0u16..6).prop_map(|port| port.to_string()),
        2 => (0u16..6, 0u16..6).prop_map(|(a, b)| format!("{}:{}", a.min(b), a.max(b))),
        1 => Just("65535".to_owned()),
        1 => Just("0-65535".to_owned()),
        1 => Just("4:".to_owned()),
    ]
}

fn list(word: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let item = (word, proptest::bool::weighted(0.3));
    proptest::collection::vec(item, 1..4).prop_map(|items| {
        let words: Vec<String> = items
            .into_iter()
            .map(|(word, negated)| if negated { format!("!{word}") } else { word })
            .collect();
        words.join(",")
    })
}

fn selector() -> impl Strategy<Value = Selector> {
    let addresses = || list(address_word()).prop_filter_map("empty", |text| text.parse().ok());
    let ports = || list(port_word()).prop_filter_map("empty", |text| text.parse().ok());
    let protocols = prop_oneof![
        Just(ProtocolSet::any()),
        Just(ProtocolSet::of(&[6])),
        Just(ProtocolSet::of(&[0, 17, 255])),
    ];
    let interface = proptest::option::weighted(0.2, 0u16..3);
    (
        addresses(),
        addresses(),
        protocols,
        ports(),
        ports(),
        interface,
    )
        .prop_map(
            |(source, destination, protocol, source_port, destination_port, interface)| Selector {
                source,
                destination,
                protocol,
                source_port,
                destination_port,
                interface,
            },
        )
}

fn address(ip_version: u8) -> impl Strategy<Value = u128> {
    (0u128..5, 0u128..5, 0u8..12).prop_map(move |(a, b, kind)| match (ip_version, kind) {
        (4, 0) => 0,
        (4, 1) => 0xffff_ffff,
        (4, _) => 0x0a00_0000 | a << 16 | b,
        (_, 0) => 0,
        (_, 1) => u128::MAX,
        _ => 0xfd00 << 112 | a << 96 | b,
    })
}

fn tuple() -> impl Strategy<Value = Tuple> {
    let version = prop_oneof![5 => Just(4u8), 4 => Just(6), 1 => Just(0)];
    let port = || prop_oneof![8 => 0u16..8, 1 => Just(u16::MAX)];
    let protocol = prop_oneof![Just(6u8), Just(17), Just(0), Just(255), any::<u8>()];
    version.prop_flat_map(move |ip_version| {
        (
            (address(ip_version), address(ip_version)),
            (port(), port()),
            protocol.clone(),
            0u16..4,
            proptest::bool::weighted(0.9),
        )
            .prop_map(
                move |(addresses, ports, protocol, interface, ports_known)| Tuple {
                    key: FlowKey {
                        source: addresses.0,
                        destination: addresses.1,
                        source_port: ports.0,
                        destination_port: ports.1,
                        protocol,
                        ip_version,
                    },
                    interface,
                    ports_known,
                },
            )
    })
}

/// One word for each field, as most selectors are.
fn plain_selector() -> impl Strategy<Value = Selector> {
    let addresses = || address_word().prop_map(|word| word.parse().expect("addresses"));
    let ports = || port_word().prop_map(|word| word.parse().expect("ports"));
    let others = (addresses(), addresses(), ports(), ports());
    (selector(), others).prop_map(|(selector, others)| Selector {
        source: others.0,
        destination: others.1,
        source_port: others.2,
        destination_port: others.3,
        ..selector
    })
}

proptest! {
    #[test]
    fn one_range_of_each_field_matches_what_the_selector_matches(
        selector in prop_oneof![plain_selector(), selector()],
        tuples in proptest::collection::vec(tuple(), 1..20),
    ) {
        if let Some(ranged) = Ranged::of(&selector) {
            for tuple in &tuples {
                prop_assert_eq!(ranged.matches(tuple), selector.matches(tuple), "{:?}", tuple);
            }
        }
    }

    #[test]
    fn table_equals_a_scan(
        selectors in proptest::collection::vec(selector(), 0..40),
        // Copies push the selectors over words, chunks and summary words.
        copies in prop_oneof![Just(1usize), 2usize..60],
        tuples in proptest::collection::vec(tuple(), 1..40),
    ) {
        let selectors = vec![selectors; copies].concat();
        let table = Table::new(&selectors);
        prop_assert!(table.checked.is_none());
        prop_assert_eq!(table.len(), selectors.len());
        for tuple in &tuples {
            check(&table, &selectors, tuple)?;
        }
    }

    #[test]
    fn coarse_table_equals_a_scan(
        selectors in proptest::collection::vec(selector(), 1..40),
        field_bytes in 0usize..2000,
        tuples in proptest::collection::vec(tuple(), 1..40),
    ) {
        let table = build::table(&selectors, field_bytes);
        for tuple in &tuples {
            check(&table, &selectors, tuple)?;
        }
    }

    #[test]
    fn reversed_selector_matches_the_reversed_packet(selector in selector(), tuple in tuple()) {
        let back = Tuple { key: tuple.key.reversed(), ..tuple };
        prop_assert_eq!(selector.matches(&tuple), selector.reversed().matches(&back));
    }
}

#[test]
fn field_without_room_is_coarse_and_still_right() {
    let selectors = different_prefixes(2000);
    let fine = Table::new(&selectors);
    let coarse = build::table(&selectors, 10_000);
    assert!(fine.checked.is_none() && coarse.checked.is_some());
    assert!(coarse.memory_bytes() < fine.memory_bytes() / 4);
    for number in 0..2000 {
        let tuple = tuple_to(number);
        assert_eq!(fine.first(&tuple), Some(number as usize));
        assert_eq!(coarse.first(&tuple), Some(number as usize));
    }
    assert_eq!(coarse.first(&tuple_to(2000)), None);
}

/// Selectors for the /32 prefixes and the ports that [`tuple_to`] meets.
fn different_prefixes(count: u32) -> Vec<Selector> {
    (0..count)
        .map(|number| Selector {
            destination: AddressSet::range(address_of(number), address_of(number)),
            destination_port: PortSet::port((number % 1000) as u16),
            protocol: ProtocolSet::of(&[6]),
            ..Selector::default()
        })
        .collect()
}

fn address_of(number: u32) -> std::net::IpAddr {
    std::net::Ipv4Addr::from_bits(0xc612_0000 + number * 3).into()
}

fn tuple_to(number: u32) -> Tuple {
    Tuple {
        key: FlowKey {
            source: 1,
            destination: u128::from(0xc612_0000 + number * 3),
            source_port: 4711,
            destination_port: (number % 1000) as u16,
            protocol: 6,
            ip_version: 4,
        },
        interface: 0,
        ports_known: true,
    }
}

#[test]
fn thirty_thousand_different_selectors_stay_small() {
    let selectors = different_prefixes(30_000);
    let table = Table::new(&selectors);
    assert!(table.checked.is_none());
    // 30,000 classes of 59 chunk numbers, 8 summary words and a chunk each,
    // twice over for the ports: far from 30,000 rows of 30,000 bits, 112 MB.
    let megabytes = table.memory_bytes() >> 20;
    assert!((1..30).contains(&megabytes), "{megabytes} MB");
    let mut all = Vec::new();
    for number in (0..30_000).step_by(7) {
        let tuple = tuple_to(number);
        table.all(&tuple, &mut all);
        assert_eq!(all, [number]);
    }
    let nested: Vec<Selector> = (0..30_000u32)
        .map(|number| Selector {
            source: AddressSet::range(
                std::net::Ipv4Addr::from_bits(number).into(),
                std::net::Ipv4Addr::from_bits(100_000 - number).into(),
            ),
            ..Selector::default()
        })
        .collect();
    let table = Table::new(&nested);
    assert!(table.memory_bytes() < 40 << 20, "{}", table.memory_bytes());
    let mut tuple = tuple_to(0);
    tuple.key.source = 99_000;
    table.all(&tuple, &mut all);
    assert!(all.iter().copied().eq(0..=1000));
}

#[test]
fn nothing_matches_an_empty_table() {
    let table = Table::new(&[]);
    assert!(table.is_empty());
    assert_eq!(table.first(&Tuple::default()), None);
}

#[test]
fn selectors_of_one_range_each_are_told_from_others() {
    let is_ranged = |source: &str, port: &str| {
        let selector = Selector {
            source: source.parse().expect("addresses"),
            destination_port: port.parse().expect("ports"),
            ..Selector::default()
        };
        Ranged::of(&selector).is_some()
    };
    assert!(is_ranged("any", "any") && is_ranged("10.0.0.0/8", "80:90"));
    assert!(!is_ranged("fd00::/8", "any") && !is_ranged("[10.0.0.0/8,fd00::/8]", "any"));
    assert!(!is_ranged("[10.0.0.1,10.0.0.3]", "any") && !is_ranged("any", "[80,82]"));
}
