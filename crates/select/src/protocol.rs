//! Sets of IP protocols.

use std::fmt;
use std::sync::Arc;

use weir_packet::wire::protocol;

use crate::ranges::Ranges;
use crate::words::{self, Backwards, WordSet};

/// A set of IP protocols: any, or a list.
///
/// Written as `any`, a name (`tcp`), a number (`6`), or a list of them with
/// exclusions (`[tcp,udp]`, `!icmp`).
///
/// `any`, the default, also matches packets that are not IP; every other set
/// needs a protocol. Clones share their memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProtocolSet(Option<Arc<Ranges<u8>>>);

impl ProtocolSet {
    /// Every protocol, and packets that are not IP.
    pub fn any() -> ProtocolSet {
        ProtocolSet(None)
    }

    /// The protocols of a list of numbers.
    pub fn of(protocols: &[u8]) -> ProtocolSet {
        let ranges = protocols.iter().map(|number| (*number, *number)).collect();
        ProtocolSet(Some(Arc::new(Ranges::union_of(ranges))))
    }

    /// Whether every packet matches, IP or not.
    pub fn is_any(&self) -> bool {
        self.0.is_none()
    }

    /// Whether the protocol of an IP packet is in the set.
    pub fn contains(&self, protocol: u8) -> bool {
        self.ranges().is_none_or(|ranges| ranges.contains(protocol))
    }

    /// Whether a protocol is in both sets.
    pub fn intersects(&self, other: &ProtocolSet) -> bool {
        match (self.ranges(), other.ranges()) {
            (Some(set), Some(other)) => set.intersects(other),
            (None, Some(set)) | (Some(set), None) => !set.is_empty(),
            (None, None) => true,
        }
    }

    pub(crate) fn ranges(&self) -> Option<&Ranges<u8>> {
        self.0.as_deref()
    }
}

impl WordSet for ProtocolSet {
    const EXPECTED: &'static str = "an IP protocol (a name as tcp, or 0 to 255)";

    fn any() -> Self {
        ProtocolSet::any()
    }

    fn word(word: &str) -> Option<Result<Self, Backwards>> {
        Some(Ok(ProtocolSet::of(&[protocol::parse(word)?])))
    }

    fn union_of(sets: Vec<Self>) -> Self {
        let mut ranges = Vec::new();
        for set in &sets {
            match set.ranges() {
                Some(set) => ranges.extend_from_slice(set.as_slice()),
                None => return ProtocolSet::any(),
            }
        }
        ProtocolSet(Some(Arc::new(Ranges::union_of(ranges))))
    }

    fn minus(&self, other: &Self) -> Self {
        let rest = match (self.ranges(), other.ranges()) {
            (_, None) => Ranges::nothing(),
            (Some(set), Some(other)) => set.minus(other),
            (None, Some(other)) => Ranges::everything().minus(other),
        };
        ProtocolSet(Some(Arc::new(rest)))
    }

    fn is_nothing(&self) -> bool {
        self.ranges().is_some_and(Ranges::is_empty)
    }
}

words::word_set_traits!(ProtocolSet);

/// `any`, or the protocols of the set in the form that can be read back.
impl fmt::Display for ProtocolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(ranges) = self.ranges() else {
            return f.write_str("any");
        };
        let items: Vec<String> = ranges
            .as_slice()
            .iter()
            .flat_map(|&(first, last)| first..=last)
            .map(|number| match protocol::name(number) {
                Some(name) => name.to_owned(),
                None => number.to_string(),
            })
            .collect();
        match items.as_slice() {
            [item] => f.write_str(item),
            items => write!(f, "[{}]", items.join(",")),
        }
    }
}
