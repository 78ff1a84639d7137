//! Values that people write.

use std::time::Duration;

use anyhow::anyhow;

use crate::failure::{Failure, Outcome};

/// A length of time from seconds.
pub fn seconds(number: f64) -> Outcome<Duration> {
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| {
            Failure::usage(anyhow!(
                "an interval of {number} seconds: use a positive number"
            ))
        })
}
