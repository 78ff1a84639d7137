//! Which of many matches are alerts (`threshold`, `detection_filter`), and
//! bits of hosts (`xbits`): tables with a bound.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;

use crate::rule::{BitAction, HostBit, Rate, RateKind, Track};

const SECOND_NS: u64 = 1_000_000_000;
/// Time that one shard may be behind another. What is older belongs to another
/// capture.
const SKEW_NS: u64 = 10 * SECOND_NS;
/// Most counters, and most bits; one more makes room by forgetting those whose
/// time is over, or all.
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

/// A table whose entries have a time at which they are over.
#[derive(Debug, Default)]
struct Entries<V>(HashMap<Key, (V, u64)>);

impl<V> Entries<V> {
    /// Makes room for one more, and tells how many went before their time.
    fn make_room(&mut self, now_ns: u64) -> u64 {
        if self.0.len() < MAX_ENTRIES {
            return 0;
        }
        self.0.retain(|_, (_, until_ns)| *until_ns > now_ns);
        if self.0.len() < MAX_ENTRIES {
            return 0;
        }
        let lost = self.0.len() as u64;
        self.0.clear();
        lost
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
#[derive(Debug, Default)]
pub(crate) struct Trackers {
    /// Matches since a time. The time that the entry is over is the end of
    /// what is counted together.
    rates: Entries<u32>,
    bits: Entries<()>,
    pub(crate) evicted: u64,
}

impl Trackers {
    /// Counts a match of a rule.
    pub(crate) fn count(&mut self, rule: u32, rate: &Rate, ends: Ends, now_ns: u64) -> Counted {
        self.evicted += self.rates.make_room(now_ns);
        let window_ns = u64::from(rate.seconds) * SECOND_NS;
        let (matches, until_ns) = self
            .rates
            .0
            .entry(ends.key(rule, rate.track))
            .or_insert((0, now_ns.saturating_add(window_ns)));
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
    pub(crate) fn holds(&self, bit: &HostBit, ends: Ends, now_ns: u64) -> bool {
        let entry = self.bits.0.get(&ends.key(bit.bit, bit.track));
        let is_set = entry.is_some_and(|(_, until_ns)| now_ns < *until_ns);
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
            self.evicted += self.bits.make_room(now_ns);
            let until_ns = now_ns.saturating_add(u64::from(bit.seconds) * SECOND_NS);
            self.bits.0.insert(key, ((), until_ns));
        } else {
            self.bits.0.remove(&key);
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
        let is_set = |trackers: &Trackers, ends, track, now_s: u64| {
            trackers.holds(&bit(BitAction::IsSet, track), ends, now_s * SECOND_NS)
        };
        assert!(is_set(&trackers, ENDS, Track::Source, 4));
        assert!(is_set(&trackers, back, Track::Destination, 4));
        assert!(!is_set(&trackers, back, Track::Source, 4));
        assert!(!is_set(&trackers, ENDS, Track::Source, 5));
        trackers.change(&bit(BitAction::Toggle, Track::Pair), ENDS, 0);
        assert!(is_set(&trackers, back, Track::Pair, 1));
        trackers.change(&bit(BitAction::Unset, Track::Pair), back, 0);
        assert!(!is_set(&trackers, ENDS, Track::Pair, 1));
    }

    #[test]
    fn floods_of_addresses_stay_bounded() {
        let rate = Rate {
            kind: RateKind::Limit,
            track: Track::Source,
            count: 1,
            seconds: 60,
        };
        let mut trackers = Trackers::default();
        for source in 0..3 * MAX_ENTRIES as u128 {
            let ends = Ends {
                source,
                destination: 0,
            };
            assert_eq!(trackers.count(1, &rate, ends, 0), Counted::Alert);
            assert!(trackers.rates.0.len() <= MAX_ENTRIES);
        }
        assert_eq!(trackers.evicted, 2 * MAX_ENTRIES as u64);
    }
}
