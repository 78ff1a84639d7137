//! When packets of a capture are to be sent.

use std::str::FromStr;
use std::time::{Duration, Instant};

/// How fast packets are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// One after the other.
    Max,
    /// Evenly.
    PerSecond(f64),
}

impl FromStr for Rate {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Rate, &'static str> {
        if text == "max" {
            return Ok(Rate::Max);
        }
        match text.parse() {
            Ok(rate) if (SLOWEST..=FASTEST).contains(&rate) => Ok(Rate::PerSecond(rate)),
            _ => Err("give packets per second, from 0.001 to 1000000000, or max"),
        }
    }
}

/// The schedule of a capture that is sent.
pub struct Pace {
    rate: Option<Rate>,
    /// Packets scheduled at a rate, and when the first one was.
    evenly: Option<(Instant, u64)>,
    /// Of the capture's times: when the packet of some time was due.
    anchor: Option<Anchor>,
    clock_jumps: u64,
}

struct Anchor {
    due: Instant,
    timestamp_ns: u64,
    /// The time of the last packet.
    last_ns: u64,
}

impl Pace {
    /// A rate, or the times of the capture.
    pub fn new(rate: Option<Rate>) -> Pace {
        Pace {
            rate,
            evenly: None,
            anchor: None,
            clock_jumps: 0,
        }
    }

    /// When the next packet is due, which has this time in the capture; nothing if at once.
    pub fn next(&mut self, timestamp_ns: u64, now: Instant) -> Option<Instant> {
        match self.rate {
            Some(Rate::Max) => None,
            Some(Rate::PerSecond(rate)) => {
                let (first, packets) = self.evenly.get_or_insert((now, 0));
                let after = Duration::try_from_secs_f64(*packets as f64 / rate).ok()?;
                *packets += 1;
                first.checked_add(after)
            }
            None => self.by_capture(timestamp_ns, now),
        }
    }

    /// The capture begins again: its first packet is due at once. A rate goes on.
    pub fn begin_again(&mut self) {
        self.anchor = None;
    }

    /// Jumps of the capture's clock that were not waited for.
    pub fn clock_jumps(&self) -> u64 {
        self.clock_jumps
    }

    fn by_capture(&mut self, timestamp_ns: u64, now: Instant) -> Option<Instant> {
        if let Some(anchor) = &mut self.anchor {
            let step_ns = timestamp_ns.abs_diff(anchor.last_ns);
            anchor.last_ns = timestamp_ns;
            if step_ns <= LONGEST_STEP_NS {
                let after_ns = timestamp_ns.saturating_sub(anchor.timestamp_ns);
                return anchor.due.checked_add(Duration::from_nanos(after_ns));
            }
            self.clock_jumps += 1;
        }
        self.anchor = Some(Anchor {
            due: now,
            timestamp_ns,
            last_ns: timestamp_ns,
        });
        None
    }
}

const SLOWEST: f64 = 1e-3;
const FASTEST: f64 = 1e9;

/// A longer step between two packets is a jump of the clock.
const LONGEST_STEP_NS: u64 = 3600 * 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn times_of_the_capture_are_kept_but_for_jumps() {
        let begin = Instant::now();
        let mut pace = Pace::new(None);
        let after = |seconds: u64| Some(begin + Duration::from_secs(seconds));
        assert_eq!(pace.next(1000 * SECOND_NS, begin), None);
        assert_eq!(pace.next(1002 * SECOND_NS, begin), after(2));
        // Earlier than the one before: due by its own time, which has passed.
        assert_eq!(pace.next(1001 * SECOND_NS, begin), after(1));
        assert_eq!(pace.next(999 * SECOND_NS, begin), after(0));
        // A jump forth and one back.
        let later = begin + Duration::from_secs(10);
        assert_eq!(pace.next(100_000 * SECOND_NS, later), None);
        assert_eq!(pace.next(100_001 * SECOND_NS, later), after(11));
        assert_eq!(pace.next(0, later), None);
        assert_eq!(pace.clock_jumps(), 2);
        // The next time round it begins at once.
        pace.begin_again();
        assert_eq!(pace.next(1000 * SECOND_NS, later), None);
        assert_eq!(pace.clock_jumps(), 2);
    }

    #[test]
    fn a_rate_is_even() {
        let begin = Instant::now();
        let mut pace = Pace::new(Some(Rate::PerSecond(4.0)));
        let due: Vec<_> = (0..5).filter_map(|_| pace.next(0, begin)).collect();
        let expected: Vec<_> = (0..5)
            .map(|i| begin + Duration::from_millis(250 * i))
            .collect();
        assert_eq!(due, expected);
        assert_eq!(Pace::new(Some(Rate::Max)).next(7, begin), None);
    }

    #[test]
    fn rates_are_numbers_or_max() {
        assert_eq!("max".parse(), Ok(Rate::Max));
        assert_eq!("2.5".parse(), Ok(Rate::PerSecond(2.5)));
        for rate in ["0", "-1", "nan", "inf", "", "1e10", "Max"] {
            assert!(rate.parse::<Rate>().is_err(), "{rate}");
        }
    }
}
