//! Flow keys as words for hashing.

use weir_packet::wire::{FlowKey, KeyKind};

/// A projected key in the fewest 32-bit words: IPv4 keys take one to four, IPv6
/// keys five to ten.
///
/// Within one kind different keys have different words, also when the shorter
/// is padded with zeros: the last word of an IPv6 key is never zero, and an
/// IPv4 key has none there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyWords {
    words: [u32; 10],
    len: usize,
}

/// The version in the word that only IPv6 keys have, above the protocol.
const IPV6: u32 = 6 << 8;

impl KeyWords {
    /// The words of a key that was projected to `kind`.
    #[inline]
    pub fn new(key: &FlowKey, kind: KeyKind) -> KeyWords {
        let mut built = KeyWords {
            words: [0; 10],
            len: 0,
        };
        let ports = u32::from(key.source_port) << 16 | u32::from(key.destination_port);
        let short = key.ip_version == 4;
        match kind {
            KeyKind::Source | KeyKind::SourcePrefix(_) => built.address(key.source, short),
            KeyKind::Destination | KeyKind::DestinationPrefix(_) => {
                built.address(key.destination, short);
            }
            KeyKind::Pair | KeyKind::FiveTuple => {
                built.address(key.source, short);
                built.address(key.destination, short);
            }
        }
        let mut last = if short { 0 } else { IPV6 };
        if kind == KeyKind::FiveTuple {
            built.push(ports);
            last |= u32::from(key.protocol);
        }
        if kind == KeyKind::FiveTuple || !short {
            built.push(last);
        }
        built
    }

    /// Words of the longest key of a kind.
    pub fn longest(kind: KeyKind) -> usize {
        let ipv6 = FlowKey {
            ip_version: 6,
            ..FlowKey::default()
        };
        KeyWords::new(&ipv6, kind).len
    }

    /// Words of the IPv4 keys of a kind.
    pub fn of_ipv4(kind: KeyKind) -> usize {
        let ipv4 = FlowKey {
            ip_version: 4,
            ..FlowKey::default()
        };
        KeyWords::new(&ipv4, kind).len
    }

    /// The words.
    #[inline]
    pub fn as_slice(&self) -> &[u32] {
        &self.words[..self.len]
    }

    #[inline]
    fn push(&mut self, word: u32) {
        if let Some(place) = self.words.get_mut(self.len) {
            *place = word;
            self.len += 1;
        }
    }

    #[inline]
    fn address(&mut self, number: u128, short: bool) {
        self.push(number as u32);
        if !short {
            self.push((number >> 32) as u32);
            self.push((number >> 64) as u32);
            self.push((number >> 96) as u32);
        }
    }
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
