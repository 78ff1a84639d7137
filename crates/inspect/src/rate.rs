//! Which of many matches are alerts (`threshold`, `detection_filter`), and
//! bits of hosts (`xbits`): tables with a bound.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::rule::{BitAction, HostBit, Rate, RateKind, Track};
use crate::segmented_lru::SegmentedLru;

const SECOND_NS: u64 = 1_000_000_000;
/// Time that one shard may be behind another. What is older belongs to another
/// capture.
const SKEW_NS: u64 = 10 * SECOND_NS;
/// Most counters, and most bits. One more evicts one that was not looked at again: sources that are
/// made up take the place of each other.
const MAX_ENTRIES: usize = 1 << 16;

/// By what something is counted: whose, and of whom.
type Key = (u32, u128, u128);

/// What becomes of a match that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// It is an alert.
    Alert,
    /// No alert, because there were enough; the rule's action is carried out.
    Suppressed,
    /// Nothing: there were too few.
    TooFew,
}

/// Both addresses of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) source: u128,
    pub(crate) destination: u128,
}

impl Ends {
    fn key(self, number: u32, track: Track) -> Key {
        let Ends {
            source,
            destination,
        } = self;
        match track {
            // Equal addresses of the two kinds are not told apart by their
            // place in the key, so that a bit set for a sender is seen when
            // the same host is the receiver.
            Track::Source => (number, source, 0),
            Track::Destination => (number, destination, 0),
            Track::Pair => (number, source.min(destination), source.max(destination)),
            Track::Rule => (number, 0, 0),
        }
    }
}

/// What the inspectors of all shards count together: one scans many hosts, and
/// the flows to them are on many shards.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedTrackers(Arc<Mutex<Trackers>>);

impl SharedTrackers {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Trackers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is counted for rates, and the bits of hosts.
#[derive(Debug)]
pub(crate) struct Trackers {
    rates: SegmentedLru<Key, Counter>,
    /// The time at which each bit is over.
    bits: SegmentedLru<Key, u64>,
    /// Entries that went before their time.
    pub(crate) evicted: u64,
}

/// Matches that are counted together.
#[derive(Debug)]
struct Counter {
    matches: u32,
    until_ns: u64,
}

impl Default for Trackers {
    fn default() -> Trackers {
        Trackers {
            rates: SegmentedLru::new(MAX_ENTRIES),
            bits: SegmentedLru::new(MAX_ENTRIES),
            evicted: 0,
        }
    }
}

impl Trackers {
    /// Counts a match of a rule.
    pub(crate) fn count(&mut self, rule: u32, rate: &Rate, ends: Ends, now_ns: u64) -> Counted {
        let window_ns = u64::from(rate.seconds) * SECOND_NS;
        let (counter, evicted) = self.rates.entry(ends.key(rule, rate.track), || Counter {
            matches: 0,
            until_ns: now_ns.saturating_add(window_ns),
        });
        self.evicted += u64::from(evicted.is_some_and(|counter| counter.until_ns > now_ns));
        let Counter { matches, until_ns } = counter;
        // Shards are not at the same packet: time may go back by a little.
        let is_older = now_ns.saturating_add(window_ns + SKEW_NS) < *until_ns;
        if now_ns >= *until_ns || is_older {
            (*matches, *until_ns) = (0, now_ns.saturating_add(window_ns));
        }
        *matches = matches.saturating_add(1);
        match rate.kind {
            RateKind::Limit if *matches > rate.count => Counted::Suppressed,
            RateKind::Limit => Counted::Alert,
            RateKind::Threshold if *matches >= rate.count => {
                *matches = 0;
                Counted::Alert
            }
            RateKind::Both if *matches > rate.count => Counted::Suppressed,
            RateKind::Both if *matches == rate.count => Counted::Alert,
            RateKind::Filter if *matches > rate.count => Counted::Alert,
            RateKind::Threshold | RateKind::Both | RateKind::Filter => Counted::TooFew,
        }
    }

    /// Whether a bit is as a rule asks.
    pub(crate) fn holds(&mut self, bit: &HostBit, ends: Ends, now_ns: u64) -> bool {
        let until_ns = self.bits.get(ends.key(bit.bit, bit.track));
        let is_set = until_ns.is_some_and(|until_ns| now_ns < *until_ns);
        match bit.action {
            BitAction::IsSet => is_set,
            BitAction::IsNotSet => !is_set,
            BitAction::Set | BitAction::Unset | BitAction::Toggle => true,
        }
    }

    /// Changes a bit as a rule that matched says.
    pub(crate) fn change(&mut self, bit: &HostBit, ends: Ends, now_ns: u64) {
        let key = ends.key(bit.bit, bit.track);
        let is_set = match bit.action {
            BitAction::Set => true,
            BitAction::Unset => false,
            BitAction::Toggle => {
                let query = HostBit {
                    action: BitAction::IsNotSet,
                    ..*bit
                };
                self.holds(&query, ends, now_ns)
            }
            BitAction::IsSet | BitAction::IsNotSet => return,
        };
        if is_set {
            let (until_ns, evicted) = self.bits.entry(key, || 0);
            *until_ns = now_ns.saturating_add(u64::from(bit.seconds) * SECOND_NS);
            self.evicted += u64::from(evicted.is_some_and(|until_ns| until_ns > now_ns));
        } else {
            self.bits.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: Ends = Ends {
        source: 1,
        destination: 2,
    };

    fn alerts(kind: RateKind, times_s: &[u64]) -> Vec<bool> {
        let rate = Rate {
            kind,
            track: Track::Source,
            count: 2,
            seconds: 10,
        };
        let mut trackers = Trackers::default();
        let alert = |time: &u64| trackers.count(7, &rate, ENDS, time * SECOND_NS) == Counted::Alert;
        times_s.iter().map(alert).collect()
    }

    #[test]
    fn rates_count_in_their_time() {
        let times = [100, 101, 102, 103, 104, 110, 111, 112];
        let (y, n) = (true, false);
        assert_eq!(alerts(RateKind::Limit, &times), [y, y, n, n, n, y, y, n]);
        assert_eq!(
            alerts(RateKind::Threshold, &times),
            [n, y, n, y, n, n, y, n]
        );
        assert_eq!(alerts(RateKind::Both, &times), [n, y, n, n, n, n, y, n]);
        assert_eq!(alerts(RateKind::Filter, &times), [n, n, y, y, y, n, n, y]);
    }

    #[test]
    fn bits_of_hosts_are_forgotten_in_time() {
        let bit = |action, track| HostBit {
            action,
            bit: 3,
            track,
            seconds: 5,
        };
        let mut trackers = Trackers::default();
        trackers.change(&bit(BitAction::Set, Track::Source), ENDS, 0);
        let back = Ends {
            source: 2,
            destination: 1,
        };
        let is_set = |trackers: &mut Trackers, ends, track, now_s: u64| {
            trackers.holds(&bit(BitAction::IsSet, track), ends, now_s * SECOND_NS)
        };
        assert!(is_set(&mut trackers, ENDS, Track::Source, 4));
        assert!(is_set(&mut trackers, back, Track::Destination, 4));
        assert!(!is_set(&mut trackers, back, Track::Source, 4));
        assert!(!is_set(&mut trackers, ENDS, Track::Source, 5));
        trackers.change(&bit(BitAction::Toggle, Track::Pair), ENDS, 0);
        assert!(is_set(&mut trackers, back, Track::Pair, 1));
        trackers.change(&bit(BitAction::Unset, Track::Pair), back, 0);
        assert!(!is_set(&mut trackers, ENDS, Track::Pair, 1));
    }

    /// Sources that are made up neither reset what is counted of others, nor grow the table.
    #[test]
    fn floods_of_sources_evict_each_other() {
        let rate = Rate {
            kind: RateKind::Threshold,
            track: Track::Source,
            count: 5,
            seconds: 60,
        };
        let bit = |action| HostBit {
            action,
            bit: 3,
            track: Track::Source,
            seconds: 60,
        };
        let from = |source| Ends {
            source,
            destination: 0,
        };
        let mut trackers = Trackers::default();
        let scanner = from(u128::MAX);
        trackers.change(&bit(BitAction::Set), scanner, 0);
        for _ in 0..4 {
            assert_eq!(trackers.count(1, &rate, scanner, 0), Counted::TooFew);
            assert!(trackers.holds(&bit(BitAction::IsSet), scanner, 0));
        }
        let flood = 2 * MAX_ENTRIES as u128;
        for source in 0..flood {
            assert_eq!(trackers.count(1, &rate, from(source), 0), Counted::TooFew);
            trackers.change(&bit(BitAction::Set), from(source), 0);
            assert!(trackers.rates.len() <= MAX_ENTRIES && trackers.bits.len() <= MAX_ENTRIES);
        }
        // Both tables had a place taken.
        let evicted = 2 * (flood as usize + 1 - MAX_ENTRIES);
        assert_eq!(trackers.evicted, evicted as u64);
        assert!(trackers.holds(&bit(BitAction::IsSet), scanner, 0));
        assert_eq!(trackers.count(1, &rate, scanner, 0), Counted::Alert);
    }
}
