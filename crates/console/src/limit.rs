//! How often a place in a library may log: a flood of one message must not fill a disk.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// Messages that a place may log at once.
const BURST: u32 = 20;
/// After so long it may log one more.
const REFILL: Duration = Duration::from_secs(10);

/// What places have logged lately. There are as many places as the program has log statements.
pub struct Limiter<P> {
    places: HashMap<P, Place>,
}

struct Place {
    /// Messages that it may log now.
    left: u32,
    refilled: Instant,
    suppressed: u64,
    /// The last message that was suppressed.
    last: String,
}

impl<P> Default for Limiter<P> {
    fn default() -> Limiter<P> {
        Limiter {
            places: HashMap::new(),
        }
    }
}

impl<P: Eq + Hash> Limiter<P> {
    /// Whether a place may log a message now, and if so how many it could not log before.
    pub fn admit(&mut self, place: P, message: &str, now: Instant) -> Option<u64> {
        let place = self.places.entry(place).or_insert(Place {
            left: BURST,
            refilled: now,
            suppressed: 0,
            last: String::new(),
        });
        place.refill(now);
        match place.left.checked_sub(1) {
            Some(left) => {
                place.left = left;
                Some(std::mem::take(&mut place.suppressed))
            }
            None => {
                place.suppressed += 1;
                message.clone_into(&mut place.last);
                None
            }
        }
    }

    /// What was suppressed and not said yet: how many, and the last of them. At the end of the
    /// program everything; before, what may be said at `now`.
    pub fn unsaid(&mut self, now: Option<Instant>) -> Vec<(u64, String)> {
        let mut unsaid = Vec::new();
        for place in self
            .places
            .values_mut()
            .filter(|place| place.suppressed > 0)
        {
            if let Some(now) = now {
                place.refill(now);
                let Some(left) = place.left.checked_sub(1) else {
                    continue;
                };
                place.left = left;
            }
            let count = std::mem::take(&mut place.suppressed);
            unsaid.push((count, std::mem::take(&mut place.last)));
        }
        unsaid
    }
}

impl Place {
    fn refill(&mut self, now: Instant) {
        let since = now.saturating_duration_since(self.refilled);
        let steps = u32::try_from(since.as_nanos() / REFILL.as_nanos()).unwrap_or(u32::MAX);
        self.left = self.left.saturating_add(steps).min(BURST);
        match self.left == BURST {
            true => self.refilled = now,
            false => self.refilled += REFILL * steps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_and_other_places_are_heard() {
        let mut limiter = Limiter::default();
        let start = Instant::now();
        let shown = (0..1_000_000).filter(|number| {
            let now = start + Duration::from_micros(*number);
            limiter.admit("flood", "full", now).is_some()
        });
        assert_eq!(shown.count(), BURST as usize);
        assert_eq!(limiter.admit("other", "up", start), Some(0));
        let suppressed = 1_000_000 - u64::from(BURST);
        // It goes on at the pace of the refill, and says what was left out.
        let later = start + REFILL;
        assert_eq!(limiter.admit("flood", "full", later), Some(suppressed));
        assert_eq!(limiter.admit("flood", "full", later), None);
        assert_eq!(limiter.admit("flood", "still full", later), None);
        // One that ends is said to have been, once.
        assert_eq!(limiter.unsaid(Some(later)), []);
        let last = (2, "still full".to_owned());
        assert_eq!(limiter.unsaid(Some(later + REFILL)), [last]);
        assert_eq!(limiter.admit("flood", "full", later + REFILL), None);
        assert_eq!(limiter.unsaid(None), [(1, "full".to_owned())]);
        assert_eq!(limiter.unsaid(None), []);
        // After a pause a burst is possible again, and not more.
        let pause = later + 1000 * REFILL;
        let shown = (0..100).filter(|_| limiter.admit("flood", "full", pause).is_some());
        assert_eq!(shown.count(), BURST as usize);
    }
}
