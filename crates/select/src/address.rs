//! Sets of IPv4 and IPv6 addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnet::IpNet;

use crate::ranges::Ranges;
use crate::words::{self, Backwards, WordSet};

/// A set of addresses of both families: any, or a union of prefixes and
/// ranges without exclusions.
///
/// Written as `any`, `198.18.0.1`, `198.18.0.0/15`, `198.18.0.1-198.18.0.9`,
/// or a list with exclusions, `[10.0.0.0/8,!10.1.0.0/16,fd00::/8]`. A list of
/// exclusions only, or `!198.18.0.0/15` alone, is every address of both
/// families but those.
///
/// `any`, the default, also matches packets that are not IP; every other set
/// needs an address. Clones share their memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AddressSet(Option<Arc<Families>>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Families {
    pub(crate) ipv4: Ranges<u32>,
    pub(crate) ipv6: Ranges<u128>,
}

impl AddressSet {
    /// Every address, and packets without one.
    pub fn any() -> AddressSet {
        AddressSet(None)
    }

    /// The addresses of one prefix; host bits are ignored.
    pub fn prefix(prefix: IpNet) -> AddressSet {
        AddressSet::range(prefix.network(), prefix.broadcast())
    }

    /// The addresses from `first` to `last`, both included. Empty where `last` is below
    /// `first` or of the other family.
    pub fn range(first: IpAddr, last: IpAddr) -> AddressSet {
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        match (first, last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => ipv4.push((first.to_bits(), last.to_bits())),
            (IpAddr::V6(first), IpAddr::V6(last)) => ipv6.push((first.to_bits(), last.to_bits())),
            _ => {}
        }
        AddressSet::of(Ranges::union_of(ipv4), Ranges::union_of(ipv6))
    }

    /// Whether every packet matches, IP or not.
    pub fn is_any(&self) -> bool {
        self.0.is_none()
    }

    /// Whether an address is in the set. `ip_version` is 4 or 6, `address`
    /// the address as a number (IPv4 in the low 32 bits); with any other
    /// version there is no address, and only `any` contains it.
    pub fn contains(&self, ip_version: u8, address: u128) -> bool {
        match (&self.0, ip_version) {
            (None, _) => true,
            (Some(set), 4) => set.ipv4.contains(address as u32),
            (Some(set), 6) => set.ipv6.contains(address),
            (Some(_), _) => false,
        }
    }

    /// Whether an address is in both sets.
    pub fn intersects(&self, other: &AddressSet) -> bool {
        match (self.families(), other.families()) {
            (Some(set), Some(other)) => {
                set.ipv4.intersects(&other.ipv4) || set.ipv6.intersects(&other.ipv6)
            }
            (None, Some(set)) | (Some(set), None) => !(set.ipv4.is_empty() && set.ipv6.is_empty()),
            (None, None) => true,
        }
    }

    pub(crate) fn families(&self) -> Option<&Families> {
        self.0.as_deref()
    }

    fn of(ipv4: Ranges<u32>, ipv6: Ranges<u128>) -> AddressSet {
        AddressSet(Some(Arc::new(Families { ipv4, ipv6 })))
    }
}

impl WordSet for AddressSet {
    const EXPECTED: &'static str = "an address, a prefix or a range of addresses";

    fn any() -> Self {
        AddressSet::any()
    }

    fn word(word: &str) -> Option<Result<Self, Backwards>> {
        if let Some((first, last)) = words::split_range(word, &['-']) {
            let set = AddressSet::range(first.parse().ok()?, last.parse().ok()?);
            return Some(if set.is_nothing() {
                Err(Backwards)
            } else {
                Ok(set)
            });
        }
        if let Ok(address) = word.parse::<IpAddr>() {
            return Some(Ok(AddressSet::range(address, address)));
        }
        Some(Ok(AddressSet::prefix(word.parse().ok()?)))
    }

    fn union_of(sets: Vec<Self>) -> Self {
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        for set in &sets {
            let Some(set) = set.families() else {
                return AddressSet::any();
            };
            ipv4.extend_from_slice(set.ipv4.as_slice());
            ipv6.extend_from_slice(set.ipv6.as_slice());
        }
        AddressSet::of(Ranges::union_of(ipv4), Ranges::union_of(ipv6))
    }

    fn minus(&self, other: &Self) -> Self {
        let Some(other) = other.families() else {
            return AddressSet::of(Ranges::nothing(), Ranges::nothing());
        };
        match self.families() {
            Some(set) => AddressSet::of(set.ipv4.minus(&other.ipv4), set.ipv6.minus(&other.ipv6)),
            None => AddressSet::of(
                Ranges::everything().minus(&other.ipv4),
                Ranges::everything().minus(&other.ipv6),
            ),
        }
    }

    fn is_nothing(&self) -> bool {
        self.families()
            .is_some_and(|set| set.ipv4.is_empty() && set.ipv6.is_empty())
    }
}

words::word_set_traits!(AddressSet);

impl From<IpNet> for AddressSet {
    fn from(prefix: IpNet) -> AddressSet {
        AddressSet::prefix(prefix)
    }
}

/// `any`, or the ranges of the set in the form that can be read back.
impl fmt::Display for AddressSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(set) = self.families() else {
            return f.write_str("any");
        };
        let ipv4 = set.ipv4.as_slice().iter().map(|&(first, last)| {
            let first_address = IpAddr::from(Ipv4Addr::from_bits(first));
            let size = u128::from(last - first);
            (
                first_address,
                Ipv4Addr::from_bits(last).into(),
                size,
                32,
                u128::from(first),
            )
        });
        let ipv6 = set.ipv6.as_slice().iter().map(|&(first, last)| {
            let first_address = IpAddr::from(Ipv6Addr::from_bits(first));
            (
                first_address,
                Ipv6Addr::from_bits(last).into(),
                last - first,
                128,
                first,
            )
        });
        let items: Vec<String> = ipv4
            .chain(ipv6)
            .map(
                |(first, last, size, width, number): (_, IpAddr, _, u32, u128)| {
                    // A range is a prefix if its size is 2^n - 1 and its first
                    // address has n zero bits at the end.
                    let is_prefix = size & size.wrapping_add(1) == 0 && number & size == 0;
                    match (size, is_prefix) {
                        (0, _) => first.to_string(),
                        (_, true) => format!("{first}/{}", width - size.count_ones()),
                        (_, false) => format!("{first}-{last}"),
                    }
                },
            )
            .collect();
        match items.as_slice() {
            [item] => f.write_str(item),
            items => write!(f, "[{}]", items.join(",")),
        }
    }
}
