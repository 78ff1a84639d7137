//! When a cache of recent keys is bypassed.

/// Keys after which the hit rate is looked at, and keys that bypass the cache where it
/// was too low.
const TRIAL: usize = 1 << 13;
const BYPASS: usize = 1 << 17;

/// Whether keys recur often enough for a cache of recent ones to be worth its time.
/// Where they do not, the cache is bypassed and tried again later, since traffic changes.
#[derive(Clone, Debug)]
pub(crate) struct AdaptiveBypass {
    /// Hit rate below which the cache is bypassed.
    least_hit_rate: f64,
    is_active: bool,
    /// Keys until the next look, and misses since the last one.
    until_look: usize,
    misses: usize,
}

impl AdaptiveBypass {
    /// For a cache that starts with a trial.
    pub fn new(least_hit_rate: f64) -> AdaptiveBypass {
        AdaptiveBypass {
            least_hit_rate,
            is_active: false,
            until_look: TRIAL,
            misses: 0,
        }
    }

    /// Whether keys bypass the cache.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.is_active
    }

    /// Counts keys, and how many of them were misses.
    #[inline]
    pub fn note(&mut self, keys: usize, misses: usize) {
        self.until_look = self.until_look.saturating_sub(keys);
        self.misses += misses;
    }

    /// Looks at the hit rate when enough keys were counted. True where the bypass begins.
    #[inline]
    pub fn look(&mut self) -> bool {
        self.until_look == 0 && self.switch()
    }

    #[cold]
    fn switch(&mut self) -> bool {
        let hit_rate = 1.0 - self.misses as f64 / TRIAL as f64;
        self.is_active = !self.is_active && hit_rate < self.least_hit_rate;
        self.until_look = if self.is_active { BYPASS } else { TRIAL };
        self.misses = 0;
        self.is_active
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts `keys` keys, of which `percent` percent miss; whether a bypass began.
    fn pass(bypass: &mut AdaptiveBypass, keys: usize, percent: usize) -> bool {
        let mut began = false;
        for _ in 0..keys / 100 {
            bypass.note(100, percent);
            began |= bypass.look();
        }
        began
    }

    #[test]
    fn cache_is_bypassed_below_the_hit_rate_and_tried_again() {
        let mut bypass = AdaptiveBypass::new(0.2);
        assert!(!pass(&mut bypass, 100_000, 78) && !bypass.is_active());
        assert!(pass(&mut bypass, 100_000, 82) && bypass.is_active());
        // Misses during the bypass do not count.
        assert!(!pass(&mut bypass, 40_000, 100) && !bypass.is_active());
        assert!(pass(&mut bypass, 20_000, 82) && bypass.is_active());
    }
}
