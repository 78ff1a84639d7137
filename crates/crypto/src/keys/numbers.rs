//! The numbers that a key's packets have, each used once.

use std::ops::{Bound, RangeBounds};

use super::KeyError;
use crate::batch::Refusal;

/// Numbers of one context of a key: each is used once, in order, and none that was not reserved.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Numbers {
    /// The lowest number that may be used.
    next: u64,
    /// Exclusive: the numbers that may be used, the lower of the two below.
    end: u64,
    /// Exclusive: how far the caller has reserved.
    reserved: u64,
    /// Exclusive: how far the key's limit of packets reaches, over all restarts.
    limit: u64,
}

impl Numbers {
    /// The numbers of `range`, whose start is the lowest number that was never used under the
    /// key. The key may protect `max_packets`: numbers below the start count among them.
    pub(crate) fn new(range: impl RangeBounds<u64>, max_packets: u64) -> Numbers {
        let next = match range.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(start) => start.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let reserved = match range.end_bound() {
            Bound::Included(end) => end.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => u64::MAX,
        };
        // ESP counts from 1.
        let limit = max_packets.saturating_add(next.min(1));
        Numbers {
            next,
            end: reserved.min(limit),
            reserved,
            limit,
        }
    }

    /// Lets numbers below `end` be used; those once reserved stay reserved.
    pub(crate) fn allow_until(&mut self, end: u64) {
        self.reserved = self.reserved.max(end);
        self.end = self.reserved.min(self.limit);
    }

    /// Uses the next number.
    #[inline]
    pub(crate) fn draw(&mut self) -> Result<u64, Refusal> {
        let number = self.next;
        if number >= self.end {
            return Err(self.exhausted(number));
        }
        self.next += 1;
        Ok(number)
    }

    /// Uses `number`, and no lower one from here on.
    #[inline]
    pub(crate) fn take(&mut self, number: u64) -> Result<(), Refusal> {
        if number < self.next {
            return Err(Refusal::NumberUsed {
                number,
                next: self.next,
            });
        }
        if number >= self.end {
            return Err(self.exhausted(number));
        }
        self.next = number + 1;
        Ok(())
    }

    #[cold]
    fn exhausted(&self, number: u64) -> Refusal {
        match number >= self.limit {
            true => Refusal::KeyExhausted { end: self.limit },
            false => Refusal::NotReserved { end: self.reserved },
        }
    }

    /// The number that [`Numbers::draw`] would use.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// How many more may be drawn.
    #[inline]
    pub(crate) fn left(&self) -> u64 {
        self.end.saturating_sub(self.next)
    }
}

/// The most contexts of a key.
pub const MAX_CONTEXTS: usize = 256;

/// The contexts of a key that counts in several.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    /// In ascending order.
    ids: Vec<u32>,
    numbers: Vec<Numbers>,
}

impl Contexts {
    /// Declares a context.
    pub(crate) fn add(&mut self, context: u32, numbers: Numbers) -> Result<(), KeyError> {
        let Err(place) = self.ids.binary_search(&context) else {
            return Err(KeyError::ContextExists { context });
        };
        if self.ids.len() == MAX_CONTEXTS {
            return Err(KeyError::TooManyContexts { max: MAX_CONTEXTS });
        }
        self.ids.insert(place, context);
        self.numbers.insert(place, numbers);
        Ok(())
    }

    /// The numbers of a context.
    #[inline]
    pub(crate) fn get_mut(&mut self, context: u32) -> Option<&mut Numbers> {
        let place = self.ids.binary_search(&context).ok()?;
        self.numbers.get_mut(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SP 800-67 counts what is encrypted under a key bundle, whatever restarts between.
    #[test]
    fn a_restart_does_not_renew_the_limit_of_packets() {
        let mut numbers = Numbers::new(1.., 100);
        let packets = std::iter::from_fn(|| numbers.draw().ok()).count();
        assert_eq!((packets, numbers.next()), (100, 101));

        for first in [101, 102, u64::MAX] {
            let mut numbers = Numbers::new(first.., 100);
            assert_eq!(numbers.left(), 0);
            assert_eq!(numbers.draw(), Err(Refusal::KeyExhausted { end: 101 }));
        }
        assert_eq!(Numbers::new(60.., 100).left(), 41);
    }

    #[test]
    fn numbers_ascend_and_are_reserved() {
        let mut numbers = Numbers::new(5..8, u64::MAX);
        assert_eq!(numbers.draw(), Ok(5));
        let used = |number, next| Err(Refusal::NumberUsed { number, next });
        assert_eq!(numbers.take(5), used(5, 6));
        assert_eq!(numbers.take(7), Ok(()));
        assert_eq!(numbers.take(6), used(6, 8));
        assert_eq!(numbers.draw(), Err(Refusal::NotReserved { end: 8 }));
        assert_eq!(numbers.take(9), Err(Refusal::NotReserved { end: 8 }));
        numbers.allow_until(10);
        numbers.allow_until(3);
        assert_eq!((numbers.left(), numbers.draw()), (2, Ok(8)));
        // The last number stays unused, so that an exclusive end exists.
        let mut last = Numbers::new(u64::MAX.., u64::MAX);
        assert!(last.draw().is_err() && last.take(u64::MAX).is_err());
    }

    #[test]
    fn contexts_are_few_and_count_by_themselves() {
        let mut contexts = Contexts::default();
        for context in (0..MAX_CONTEXTS as u32).rev() {
            assert_eq!(contexts.add(context, Numbers::new(0.., 9)), Ok(()));
        }
        assert_eq!(
            contexts.add(7, Numbers::new(0.., 9)),
            Err(KeyError::ContextExists { context: 7 })
        );
        assert_eq!(
            contexts.add(1000, Numbers::new(0.., 9)),
            Err(KeyError::TooManyContexts { max: MAX_CONTEXTS })
        );
        let mut draw = |context| contexts.get_mut(context).map(Numbers::draw);
        assert_eq!(
            (draw(3), draw(3), draw(4)),
            (Some(Ok(0)), Some(Ok(1)), Some(Ok(0)))
        );
        assert_eq!(draw(1000), None);
    }
}
