//! Flow keys as words for hashing.

use weir_hash::MAX_KEY_WORDS;
use weir_packet::wire::{FlowKey, Ipv4Flow, KeyKind, PrefixLengths};

/// Pairs of words of an IPv4 flow.
pub(crate) const IPV4_PAIRS: usize = 2;

/// Pairs of words of an IPv6 flow.
pub(crate) const IPV6_PAIRS: usize = MAX_KEY_WORDS / 2;

/// The version, above the protocol in the last word of an IPv6 flow.
const IPV6: u64 = 6 << 8;

/// How to take the part of a flow that a [`KeyKind`] keeps, without a branch on which
/// kind it is: the words of a flow, two in a number, the first below the second,
///
/// ```text
/// word       0       1            2        3
/// IPv4       source  destination  ports    protocol
///
/// word       0 to 3  4 to 7       8        9
/// IPv6       source  destination  ports    version, protocol
/// ```
///
/// are masked, and some of them are the key's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Projection {
    ipv4_mask: [u64; IPV4_PAIRS],
    ipv6_mask: [u64; IPV6_PAIRS],
    /// Words that the masks leave something of.
    pub ipv4_words: &'static [usize],
    pub ipv6_words: &'static [usize],
}

impl Projection {
    /// What `kind` keeps.
    #[inline]
    pub fn new(kind: KeyKind) -> Projection {
        let (source, destination, is_whole) = match kind {
            KeyKind::Source => (Some(None), None, false),
            KeyKind::Destination => (None, Some(None), false),
            KeyKind::Pair => (Some(None), Some(None), false),
            KeyKind::FiveTuple => (Some(None), Some(None), true),
            KeyKind::SourcePrefix(lengths) => (Some(Some(lengths)), None, false),
            KeyKind::DestinationPrefix(lengths) => (None, Some(Some(lengths)), false),
        };
        let mask = |kept: Option<Option<PrefixLengths>>, ip_version| match kept {
            None => 0,
            Some(None) => u128::MAX,
            Some(Some(lengths)) => lengths.mask(u128::MAX, ip_version),
        };
        let ipv4 = |kept| u64::from(mask(kept, 4) as u32);
        let (source6, destination6) = (mask(source, 6), mask(destination, 6));
        let (low, high) = (|number| number as u64, |number: u128| (number >> 64) as u64);
        let rest = if is_whole { u64::MAX } else { 0 };
        Projection {
            ipv4_mask: [ipv4(destination) << 32 | ipv4(source), rest],
            ipv6_mask: [
                low(source6),
                high(source6),
                low(destination6),
                high(destination6),
                IPV6 << 32 | rest,
            ],
            ipv4_words: match (source, destination) {
                _ if is_whole => &[0, 1, 2, 3],
                (Some(_), Some(_)) => &[0, 1],
                (Some(_), None) => &[0],
                (None, _) => &[1],
            },
            ipv6_words: match (source, destination) {
                _ if is_whole => &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
                (Some(_), Some(_)) => &[0, 1, 2, 3, 4, 5, 6, 7, 9],
                (Some(_), None) => &[0, 1, 2, 3, 9],
                (None, _) => &[4, 5, 6, 7, 9],
            },
        }
    }

    /// What is kept of an IPv4 flow.
    #[inline(always)]
    pub fn ipv4(&self, flow: Ipv4Flow) -> [u64; IPV4_PAIRS] {
        masked(flow.words(), &self.ipv4_mask)
    }

    /// What is kept of an IPv6 flow.
    #[inline(always)]
    pub fn ipv6(&self, flow: &FlowKey) -> [u64; IPV6_PAIRS] {
        let ports = u64::from(flow.source_port) << 16 | u64::from(flow.destination_port);
        let protocol = IPV6 | u64::from(flow.protocol);
        let pairs = [
            flow.source as u64,
            (flow.source >> 64) as u64,
            flow.destination as u64,
            (flow.destination >> 64) as u64,
            protocol << 32 | ports,
        ];
        masked(pairs, &self.ipv6_mask)
    }
}

#[inline(always)]
fn masked<const N: usize>(mut pairs: [u64; N], mask: &[u64; N]) -> [u64; N] {
    for (pair, mask) in pairs.iter_mut().zip(mask) {
        *pair &= mask;
    }
    pairs
}

/// Word number `index` of pairs.
#[inline(always)]
pub(crate) fn word(pairs: &[u64], index: usize) -> u32 {
    (pairs[index / 2] >> (32 * (index % 2))) as u32
}

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

impl KeyWords {
    /// The words of the part of a flow that `kind` keeps.
    pub fn new(flow: &FlowKey, kind: KeyKind) -> KeyWords {
        let projection = Projection::new(kind);
        if flow.ip_version == 4 {
            KeyWords::of(&projection.ipv4(flow.into()), projection.ipv4_words)
        } else {
            KeyWords::of(&projection.ipv6(flow), projection.ipv6_words)
        }
    }

    fn of(pairs: &[u64], places: &[usize]) -> KeyWords {
        let mut words = [0; MAX_KEY_WORDS];
        for (own, place) in words.iter_mut().zip(places) {
            *own = word(pairs, *place);
        }
        KeyWords {
            words,
            len: places.len(),
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

    /// Words of the longest key of a kind.
    pub fn longest(kind: KeyKind) -> usize {
        Projection::new(kind).ipv6_words.len()
    }

    /// Words of the IPv4 keys of a kind.
    pub fn of_ipv4(kind: KeyKind) -> usize {
        Projection::new(kind).ipv4_words.len()
    }

    /// The words.
    #[inline]
    pub fn as_slice(&self) -> &[u32] {
        &self.words[..self.len]
    }
}

/// A number of these words, lowest first.
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
