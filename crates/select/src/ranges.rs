//! Sets of numbers as sorted, disjoint, inclusive ranges.

/// A number that ranges are made of.
pub(crate) trait Point: Copy + Ord {
    const MIN: Self;
    const MAX: Self;
    /// The next number; `None` after the last.
    fn next(self) -> Option<Self>;
    /// The number before; `None` before the first.
    fn previous(self) -> Option<Self>;
}

macro_rules! point {
    ($($number:ty),*) => {$(
        impl Point for $number {
            const MIN: Self = <$number>::MIN;
            const MAX: Self = <$number>::MAX;
            fn next(self) -> Option<Self> {
                self.checked_add(1)
            }
            fn previous(self) -> Option<Self> {
                self.checked_sub(1)
            }
        }
    )*};
}
point!(u8, u16, u32, u128);

/// Sorted, disjoint ranges, none of which touches the next: equal sets are
/// equal values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ranges<T>(Vec<(T, T)>);

impl<T: Point> Ranges<T> {
    pub(crate) fn nothing() -> Self {
        Ranges(Vec::new())
    }

    pub(crate) fn everything() -> Self {
        Ranges(vec![(T::MIN, T::MAX)])
    }

    /// The union of any ranges; those that run backwards are empty.
    pub(crate) fn union_of(mut ranges: Vec<(T, T)>) -> Self {
        ranges.retain(|(first, last)| first <= last);
        ranges.sort_unstable();
        let mut union: Vec<(T, T)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match union.last_mut() {
                Some((_, end)) if end.next().is_none_or(|next| first <= next) => {
                    *end = (*end).max(last);
                }
                _ => union.push((first, last)),
            }
        }
        Ranges(union)
    }

    /// The numbers of this set that are not in `other`.
    pub(crate) fn minus(&self, other: &Self) -> Self {
        let mut rest = Vec::new();
        let mut holes = other.0.as_slice();
        for &(mut first, last) in &self.0 {
            while let [(_, hole_last), others @ ..] = holes
                && *hole_last < first
            {
                holes = others;
            }
            let mut open = true;
            for &(hole_first, hole_last) in holes {
                if hole_first > last {
                    break;
                }
                if let Some(end) = hole_first.previous()
                    && first <= end
                {
                    rest.push((first, end));
                }
                match hole_last.next() {
                    Some(next) if next <= last => first = next,
                    _ => {
                        open = false;
                        break;
                    }
                }
            }
            if open {
                rest.push((first, last));
            }
        }
        Ranges(rest)
    }

    /// Whether a number is in both sets.
    pub(crate) fn intersects(&self, other: &Self) -> bool {
        let (mut these, mut those) = (self.0.as_slice(), other.0.as_slice());
        while let ([(first, last), rest @ ..], [(other_first, other_last), other_rest @ ..]) =
            (these, those)
        {
            if first <= other_last && other_first <= last {
                return true;
            }
            if last < other_last {
                these = rest;
            } else {
                those = other_rest;
            }
        }
        false
    }

    pub(crate) fn contains(&self, number: T) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= number);
        after > 0 && number <= self.0[after - 1].1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn as_slice(&self) -> &[(T, T)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranges() -> impl Strategy<Value = Vec<(u8, u8)>> {
        proptest::collection::vec((any::<u8>(), any::<u8>()), 0..8)
    }

    proptest! {
        #[test]
        fn set_operations_agree_with_membership(a in ranges(), b in ranges()) {
            let inside = |list: &[(u8, u8)], n: u8| list.iter().any(|r| (r.0..=r.1).contains(&n));
            let left = Ranges::union_of(a.clone());
            let rest = left.minus(&Ranges::union_of(b.clone()));
            let both = (0..=u8::MAX).any(|number| inside(&a, number) && inside(&b, number));
            prop_assert_eq!(left.intersects(&Ranges::union_of(b.clone())), both);
            for number in 0..=u8::MAX {
                prop_assert_eq!(left.contains(number), inside(&a, number));
                prop_assert_eq!(
                    rest.contains(number),
                    inside(&a, number) && !inside(&b, number)
                );
            }
            for set in [&left, &rest] {
                for pair in set.as_slice().windows(2) {
                    prop_assert!(u16::from(pair[0].1) + 1 < u16::from(pair[1].0));
                }
            }
        }
    }
}
