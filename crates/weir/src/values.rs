//! Values that people write.

use std::time::Duration;

use anyhow::anyhow;
use weir_console::{Failure, Outcome};

/// The shortest interval: timestamps of captures are no finer.
const SHORTEST: Duration = Duration::from_nanos(1);

/// A length of time from seconds.
pub fn seconds(number: f64) -> Outcome<Duration> {
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|duration| *duration >= SHORTEST)
        .ok_or_else(|| {
            Failure::usage(anyhow!(
                "an interval of {number} seconds: use a positive number of at least {:e}",
                SHORTEST.as_secs_f64()
            ))
        })
}
