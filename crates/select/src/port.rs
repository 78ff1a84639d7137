//! Sets of ports.

use std::fmt;
use std::sync::Arc;

use crate::ranges::Ranges;
use crate::words::{self, Backwards, WordSet};

/// A set of ports: any, or a union of ranges without exclusions.
///
/// Written as `any`, `80`, `1024-65535` (or with Snort's colon `1024:65535`,
/// `1024:`, `:1023`), or a list with exclusions, `[1:1023,!80]`. A list of
/// exclusions only, or `!80` alone, is every port but those.
///
/// `any`, the default, also matches packets whose ports are not known; every
/// other set, `0-65535` included, needs a port. Clones share their memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PortSet(Option<Arc<Ranges<u16>>>);

impl PortSet {
    /// Every port, and packets whose ports are not known.
    pub fn any() -> PortSet {
        PortSet(None)
    }

    /// One port.
    pub fn port(port: u16) -> PortSet {
        PortSet::range(port, port)
    }

    /// The ports from `first` to `last`, both included; empty where `last` is
    /// below `first`.
    pub fn range(first: u16, last: u16) -> PortSet {
        PortSet(Some(Arc::new(Ranges::union_of(vec![(first, last)]))))
    }

    /// Whether every packet matches, even without ports.
    pub fn is_any(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a known port is in the set.
    pub fn contains(&self, port: u16) -> bool {
        self.ranges().is_none_or(|ranges| ranges.contains(port))
    }

    /// The ports at which the set begins or ends: of two ports with none of them
    /// between, the second included, both are in the set or neither is.
    pub fn edges(&self) -> impl Iterator<Item = u16> {
        let ranges = self.ranges().map_or(&[][..], Ranges::as_slice);
        (ranges.iter())
            .flat_map(|(first, last)| [Some(*first), last.checked_add(1)])
            .flatten()
    }

    pub(crate) fn ranges(&self) -> Option<&Ranges<u16>> {
        self.0.as_deref()
    }
}

impl WordSet for PortSet {
    const EXPECTED: &'static str = "a port (0 to 65535) or a range of ports";

    fn any() -> Self {
        PortSet::any()
    }

    fn word(word: &str) -> Option<Result<Self, Backwards>> {
        let Some((first, last)) = words::split_range(word, &['-', ':']) else {
            return Some(Ok(PortSet::port(word.parse().ok()?)));
        };
        let open = word.contains(':') && !(first.is_empty() && last.is_empty());
        let number = |end: &str, otherwise: u16| match end {
            "" if open => Some(otherwise),
            end => end.parse().ok(),
        };
        let (first, last) = (number(first, 0)?, number(last, u16::MAX)?);
        Some(if first <= last {
            Ok(PortSet::range(first, last))
        } else {
            Err(Backwards)
        })
    }

    fn union_of(sets: Vec<Self>) -> Self {
        let mut ranges = Vec::new();
        for set in &sets {
            match set.ranges() {
                Some(set) => ranges.extend_from_slice(set.as_slice()),
                None => return PortSet::any(),
            }
        }
        PortSet(Some(Arc::new(Ranges::union_of(ranges))))
    }

    fn minus(&self, other: &Self) -> Self {
        let rest = match (self.ranges(), other.ranges()) {
            (_, None) => Ranges::nothing(),
            (Some(set), Some(other)) => set.minus(other),
            (None, Some(other)) => Ranges::everything().minus(other),
        };
        PortSet(Some(Arc::new(rest)))
    }

    fn is_nothing(&self) -> bool {
        self.ranges().is_some_and(Ranges::is_empty)
    }
}

words::word_set_traits!(PortSet);

/// `any`, or the ranges of the set in the form that can be read back.
impl fmt::Display for PortSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(ranges) = self.ranges() else {
            return f.write_str("any");
        };
        let items: Vec<String> = ranges
            .as_slice()
            .iter()
            .map(|(first, last)| match first == last {
                true => first.to_string(),
                false => format!("{first}-{last}"),
            })
            .collect();
        match items.as_slice() {
            [item] => f.write_str(item),
            items => write!(f, "[{}]", items.join(",")),
        }
    }
}
