//! From an interface's ticks to nanoseconds since 1970 (pcapng options
//! `if_tsresol` and `if_tsoffset`).

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// An interface's resolution and offset. Times before 1970 become 0, times
/// after 2554 the greatest that a `u64` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeScale {
    unit: Unit,
    offset_seconds: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// A tick lasts this many nanoseconds.
    Nanoseconds(u64),
    /// This many ticks last one nanosecond.
    PerNanosecond(u64),
    /// 2 to this power ticks last one second.
    BinaryPerSecond(u32),
    /// A tick so short that 2^64 of them last less than a nanosecond.
    Nothing,
}

impl Default for TimeScale {
    /// Microseconds, the format's default.
    fn default() -> Self {
        TimeScale {
            unit: Unit::Nanoseconds(1000),
            offset_seconds: 0,
        }
    }
}

impl TimeScale {
    /// `if_tsresol`: a negative power of 2 if the high bit is set, otherwise of 10.
    pub fn set_resolution(&mut self, resolution: u8) {
        let power = u32::from(resolution & 0x7f);
        self.unit = if resolution & 0x80 != 0 {
            Unit::BinaryPerSecond(power)
        } else if power <= 9 {
            Unit::Nanoseconds(10u64.pow(9 - power))
        } else {
            match 10u64.checked_pow(power - 9) {
                Some(ticks) => Unit::PerNanosecond(ticks),
                None => Unit::Nothing,
            }
        };
    }

    /// `if_tsoffset`: seconds to add.
    pub fn set_offset_seconds(&mut self, seconds: i64) {
        self.offset_seconds = seconds;
    }

    /// Nanoseconds since 1970-01-01 UTC, rounded down.
    #[inline]
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        let since_offset = match self.unit {
            Unit::Nanoseconds(length) => ticks.saturating_mul(length),
            Unit::PerNanosecond(count) => ticks / count,
            Unit::BinaryPerSecond(power) => {
                // 64 + 30 bits, and a shift of at most 127.
                let scaled = u128::from(ticks) * u128::from(NANOSECONDS_PER_SECOND);
                u64::try_from(scaled >> power).unwrap_or(u64::MAX)
            }
            Unit::Nothing => 0,
        };
        if self.offset_seconds == 0 {
            return since_offset;
        }
        let offset_ns = i128::from(self.offset_seconds) * i128::from(NANOSECONDS_PER_SECOND);
        let time_ns = i128::from(since_offset) + offset_ns;
        u64::try_from(time_ns.max(0)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanoseconds(resolution: u8, offset_seconds: i64, ticks: u64) -> u64 {
        let mut time = TimeScale::default();
        time.set_resolution(resolution);
        time.set_offset_seconds(offset_seconds);
        time.nanoseconds(ticks)
    }

    #[test]
    fn powers_of_ten() {
        assert_eq!(TimeScale::default().nanoseconds(1_500_000), 1_500_000_000);
        assert_eq!(nanoseconds(0, 0, 7), 7_000_000_000);
        assert_eq!(nanoseconds(3, 0, 7), 7_000_000);
        assert_eq!(nanoseconds(6, 0, 7), 7_000);
        assert_eq!(nanoseconds(9, 0, 7), 7);
        assert_eq!(nanoseconds(12, 0, 7_999), 7);
        assert_eq!(nanoseconds(28, 0, u64::MAX), 1);
        assert_eq!(nanoseconds(29, 0, u64::MAX), 0);
        assert_eq!(nanoseconds(127, 0, u64::MAX), 0);
    }

    #[test]
    fn powers_of_two() {
        assert_eq!(nanoseconds(0x80, 0, 3), 3_000_000_000);
        assert_eq!(nanoseconds(0x80 | 10, 0, 1536), 1_500_000_000);
        assert_eq!(nanoseconds(0x80 | 32, 0, 1 << 31), 500_000_000);
        assert_eq!(nanoseconds(0x80 | 127, 0, u64::MAX), 0);
    }

    #[test]
    fn offsets_and_saturation() {
        assert_eq!(nanoseconds(9, 2, 5), 2_000_000_005);
        assert_eq!(nanoseconds(9, -2, 2_000_000_005), 5);
        assert_eq!(nanoseconds(9, -2, 5), 0);
        assert_eq!(nanoseconds(6, 0, u64::MAX), u64::MAX);
        assert_eq!(nanoseconds(0x80, 0, u64::MAX), u64::MAX);
        assert_eq!(nanoseconds(9, i64::MAX, u64::MAX), u64::MAX);
        assert_eq!(nanoseconds(9, i64::MIN, u64::MAX), 0);
    }
}
