//! Flow keys as words for hashing.

use weir_hash::MAX_KEY_WORDS;
use weir_packet::wire::{FlowKey, KeyKind};

/// A projected key in the fewest 32-bit words: IPv4 keys take one to four, IPv6
/// keys five to ten.
///
/// Within one kind different keys have different words, also when the shorter
/// is padded with zeros: the last word of an IPv6 key is never zero, and an
/// IPv4 key has none there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyWords {
    words: [u32; MAX_KEY_WORDS],
    len: usize,
}

/// The version in the word that only IPv6 keys have, above the protocol.
const IPV6: u32 = 6 << 8;

impl KeyWords {
    /// The words of the part of a flow that `kind` keeps.
    #[inline(always)]
    pub fn new(flow: &FlowKey, kind: KeyKind) -> KeyWords {
        let ports = u32::from(flow.source_port) << 16 | u32::from(flow.destination_port);
        let protocol = u32::from(flow.protocol);
        let source = match kind {
            KeyKind::SourcePrefix(lengths) => lengths.mask(flow.source, flow.ip_version),
            _ => flow.source,
        };
        let destination = match kind {
            KeyKind::DestinationPrefix(lengths) => lengths.mask(flow.destination, flow.ip_version),
            _ => flow.destination,
        };
        let [s0, s1, s2, s3] = words(source);
        let [d0, d1, d2, d3] = words(destination);
        let is_ipv4 = flow.ip_version == 4;
        // Written as whole arrays, for words stored one by one and copied as
        // vectors would stall each packet.
        match (kind, is_ipv4) {
            (KeyKind::Source | KeyKind::SourcePrefix(_), true) => KeyWords::short([s0, 0, 0, 0], 1),
            (KeyKind::Destination | KeyKind::DestinationPrefix(_), true) => {
                KeyWords::short([d0, 0, 0, 0], 1)
            }
            (KeyKind::Pair, true) => KeyWords::short([s0, d0, 0, 0], 2),
            (KeyKind::FiveTuple, true) => KeyWords::short([s0, d0, ports, protocol], 4),
            (KeyKind::Source | KeyKind::SourcePrefix(_), false) => KeyWords {
                words: [s0, s1, s2, s3, IPV6, 0, 0, 0, 0, 0],
                len: 5,
            },
            (KeyKind::Destination | KeyKind::DestinationPrefix(_), false) => KeyWords {
                words: [d0, d1, d2, d3, IPV6, 0, 0, 0, 0, 0],
                len: 5,
            },
            (KeyKind::Pair, false) => KeyWords {
                words: [s0, s1, s2, s3, d0, d1, d2, d3, IPV6, 0],
                len: 9,
            },
            (KeyKind::FiveTuple, false) => KeyWords {
                words: [s0, s1, s2, s3, d0, d1, d2, d3, ports, IPV6 | protocol],
                len: 10,
            },
        }
    }

    /// The key of `kind` that has these words, padded with zeros: of IP version
    /// 4 if `is_ipv4`, else 6.
    pub fn flow_key(words: &[u32; MAX_KEY_WORDS], kind: KeyKind, is_ipv4: bool) -> FlowKey {
        let address_words = if is_ipv4 { 1 } else { 4 };
        let (first, rest) = words.split_at(address_words);
        let (second, rest) = rest.split_at(address_words);
        let key = FlowKey {
            ip_version: if is_ipv4 { 4 } else { 6 },
            ..FlowKey::default()
        };
        let (source, destination) = (number(first), number(second));
        match kind {
            KeyKind::Source | KeyKind::SourcePrefix(_) => FlowKey { source, ..key },
            KeyKind::Destination | KeyKind::DestinationPrefix(_) => FlowKey {
                destination: source,
                ..key
            },
            KeyKind::Pair => FlowKey {
                source,
                destination,
                ..key
            },
            KeyKind::FiveTuple => FlowKey {
                source,
                destination,
                source_port: (rest[0] >> 16) as u16,
                destination_port: rest[0] as u16,
                protocol: rest[1] as u8,
                ..key
            },
        }
    }

    #[inline]
    fn short([a, b, c, d]: [u32; 4], len: usize) -> KeyWords {
        KeyWords {
            words: [a, b, c, d, 0, 0, 0, 0, 0, 0],
            len,
        }
    }

    /// Words of the longest key of a kind.
    pub fn longest(kind: KeyKind) -> usize {
        KeyWords::of_version(6, kind)
    }

    /// Words of the IPv4 keys of a kind.
    pub fn of_ipv4(kind: KeyKind) -> usize {
        KeyWords::of_version(4, kind)
    }

    fn of_version(ip_version: u8, kind: KeyKind) -> usize {
        let key = FlowKey {
            ip_version,
            ..FlowKey::default()
        };
        KeyWords::new(&key, kind).len
    }

    /// The words.
    #[inline]
    pub fn as_slice(&self) -> &[u32] {
        &self.words[..self.len]
    }
}

#[inline]
fn words(number: u128) -> [u32; 4] {
    [
        number as u32,
        (number >> 32) as u32,
        (number >> 64) as u32,
        (number >> 96) as u32,
    ]
}

/// The inverse, for words lowest first.
fn number(words: &[u32]) -> u128 {
    let highest_first = words.iter().rev();
    highest_first.fold(0, |number, word| number << 32 | u128::from(*word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kinds() -> Vec<KeyKind> {
        [
            "source",
            "destination",
            "pair",
            "5-tuple",
            "source/24",
            "destination/8,32",
        ]
        .iter()
        .map(|kind| kind.parse().unwrap())
        .collect()
    }

    #[test]
    fn lengths_by_kind() {
        let lengths: Vec<_> = kinds()
            .into_iter()
            .map(|kind| (KeyWords::of_ipv4(kind), KeyWords::longest(kind)))
            .collect();
        assert_eq!(lengths, [(1, 5), (1, 5), (2, 9), (4, 10), (1, 5), (1, 5)]);
    }

    fn keys() -> impl Strategy<Value = FlowKey> {
        let address = prop_oneof![0u128..3, any::<u32>().prop_map(u128::from), any::<u128>()];
        (
            prop::bool::ANY,
            address.clone(),
            address,
            0u16..2,
            0u16..2,
            0u8..2,
        )
            .prop_map(
                |(ipv4, source, destination, source_port, destination_port, protocol)| {
                    let address = |a: u128| if ipv4 { a & 0xffff_ffff } else { a };
                    FlowKey {
                        source: address(source),
                        destination: address(destination),
                        source_port,
                        destination_port,
                        protocol,
                        ip_version: if ipv4 { 4 } else { 6 },
                    }
                },
            )
    }

    proptest! {
        /// Words are of the part that the kind keeps, and are that part.
        #[test]
        fn words_are_the_projected_key(flow in keys()) {
            for kind in kinds() {
                let key = flow.project(kind);
                let words = KeyWords::new(&flow, kind);
                prop_assert_eq!(words, KeyWords::new(&key, kind));
                let is_ipv4 = flow.ip_version == 4;
                prop_assert_eq!(KeyWords::flow_key(&words.words, kind, is_ipv4), key);
            }
        }

        /// Equal words, padded, exactly where the projected keys are equal.
        #[test]
        fn words_tell_keys_apart(a in keys(), b in keys()) {
            for kind in kinds() {
                let (a, b) = (a.project(kind), b.project(kind));
                let (x, y) = (KeyWords::new(&a, kind), KeyWords::new(&b, kind));
                prop_assert_eq!(a == b, x.words == y.words);
                prop_assert!(x.len <= KeyWords::longest(kind));
            }
        }
    }
}
