//! Timestamps of captures, and their display as RFC 3339.

use std::fmt;

/// Nanoseconds since 1970-01-01 UTC. Displayed as RFC 3339 writes it, as in
/// `2026-01-31T23:59:59.123456789Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

/// A timestamp in the parts of a calendar (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct CalendarTime {
    pub year: u64,
    /// 1 to 12.
    pub month: u64,
    /// 1 to 31.
    pub day: u64,
    pub hour: u64,
    pub minute: u64,
    pub second: u64,
    pub nanosecond: u64,
}

impl Timestamp {
    /// Date and time of day.
    pub fn calendar(self) -> CalendarTime {
        let (seconds, nanosecond) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = civil(days);
        CalendarTime {
            year,
            month,
            day,
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
            nanosecond,
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CalendarTime {
            year,
            month,
            day,
            hour,
            minute,
            second,
            nanosecond,
        } = self.calendar();
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanosecond:09}Z"
        )
    }
}

/// Year, month and day of a day number counted from 1970-01-01, by eras of 400
/// years that begin in March, so that a leap day ends its year (Hinnant,
/// *chrono-compatible low-level date algorithms*, `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds as `date -u -d … +%s` prints them.
    #[test]
    fn known_instants() {
        for (seconds, ns, text) in [
            (0, 0, "1970-01-01T00:00:00.000000000Z"),
            (951_827_696, 1, "2000-02-29T12:34:56.000000001Z"),
            (1_709_251_199, 999_999_999, "2024-02-29T23:59:59.999999999Z"),
            (1_709_251_200, 0, "2024-03-01T00:00:00.000000000Z"),
            (4_102_444_800, 0, "2100-01-01T00:00:00.000000000Z"),
        ] {
            assert_eq!(Timestamp(seconds * 1_000_000_000 + ns).to_string(), text);
        }
        let end = Timestamp(u64::MAX).to_string();
        assert_eq!(end, "2554-07-21T23:34:33.709551615Z");
    }

    /// Day by day through 600 years, against the calendar's own rule.
    #[test]
    fn every_day_follows_the_one_before() {
        let mut expected = (1970, 1, 1);
        for days in 0..219_000 {
            assert_eq!(civil(days), expected);
            let (year, month, day) = expected;
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + u64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            expected = match (day < length, month) {
                (true, _) => (year, month, day + 1),
                (false, 12) => (year + 1, 1, 1),
                (false, _) => (year, month + 1, 1),
            };
        }
    }
}
