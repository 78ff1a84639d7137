//! When a cache of recent keys rests.

/// Keys after which the share that came again is looked at, and those that go by
/// unlooked at where it was too small.
const TRIAL: usize = 1 << 13;
const REST: usize = 1 << 17;

/// Whether keys come again often enough for a cache of recent ones to be worth its
/// time. Where they do not, it rests, and is tried again later: traffic changes.
#[derive(Clone, Debug)]
pub(crate) struct Rest {
    /// Share of keys that must come again.
    worthwhile: f64,
    is_resting: bool,
    /// Keys until the next look, and those that left since the last one.
    until_look: usize,
    left: usize,
}

impl Rest {
    /// For a cache that begins with a trial.
    pub fn new(worthwhile: f64) -> Rest {
        Rest {
            worthwhile,
            is_resting: false,
            until_look: TRIAL,
            left: 0,
        }
    }

    /// Whether keys are to pass by.
    #[inline]
    pub fn is_resting(&self) -> bool {
        self.is_resting
    }

    /// Notes how many keys came, and how many left.
    #[inline]
    pub fn note(&mut self, came: usize, left: usize) {
        self.until_look = self.until_look.saturating_sub(came);
        self.left += left;
    }

    /// Looks whether the cache is worth its time, when it is time for that. True
    /// where it goes to rest now.
    #[inline]
    pub fn look(&mut self) -> bool {
        self.until_look == 0 && self.turn()
    }

    #[cold]
    fn turn(&mut self) -> bool {
        let came_again = 1.0 - self.left as f64 / TRIAL as f64;
        self.is_resting = !self.is_resting && came_again < self.worthwhile;
        self.until_look = if self.is_resting { REST } else { TRIAL };
        self.left = 0;
        self.is_resting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes so many keys, of which each hundred leaves so many.
    fn pass(rest: &mut Rest, keys: usize, percent: usize) -> bool {
        let mut went = false;
        for _ in 0..keys / 100 {
            rest.note(100, percent);
            went |= rest.look();
        }
        went
    }

    #[test]
    fn rests_below_the_share_and_is_tried_again() {
        let mut rest = Rest::new(0.2);
        assert!(!pass(&mut rest, 100_000, 78) && !rest.is_resting());
        assert!(pass(&mut rest, 100_000, 82) && rest.is_resting());
        // What leaves a cache that rests says nothing of it.
        assert!(!pass(&mut rest, 40_000, 100) && !rest.is_resting());
        assert!(pass(&mut rest, 20_000, 82) && rest.is_resting());
    }
}
