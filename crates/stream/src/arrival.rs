//! What is known of a record besides its bytes, and how much of it is believed.
//!
//! Captures carry damaged records: a timestamp years ahead of its neighbours, an
//! original length of four gigabytes. Such a record is a packet like any other,
//! but neither its time nor its length may distort what is said of the others.

use weir_packet::wire::LinkType;

/// What a source knows of a record besides its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Arrival {
    /// Nanoseconds since 1970, as the capture has it.
    pub timestamp_ns: u64,
    /// What [`Arrival::clock_ns`] adds to the timestamp, modulo 2⁶⁴: 0 where the
    /// timestamp is plausible.
    pub clock_correction_ns: u64,
    /// Length on the wire: more than the record's bytes where it was cut.
    /// [`Batch::receive`](crate::Batch::receive) limits it to the longest packet
    /// that there can be.
    pub wire_bytes: u32,
    /// Index into the batch's interfaces.
    pub interface: u16,
    /// Link header in front.
    pub link: LinkType,
    /// Whether the clock jumped to this record's time ([`CaptureClock`]).
    pub is_clock_jump: bool,
    /// Whether the capture claims a longer packet than there can be.
    pub is_length_implausible: bool,
}

impl Arrival {
    /// Of an Ethernet frame with a plausible time, from the first interface.
    pub fn at(timestamp_ns: u64, wire_bytes: u32) -> Arrival {
        Arrival {
            timestamp_ns,
            wire_bytes,
            ..Arrival::default()
        }
    }

    /// The time of the stream when the record arrived, in nanoseconds since 1970:
    /// its timestamp, or the latest plausible time where that is implausible.
    /// Timeouts, rates and intervals go by this time.
    #[inline(always)]
    pub fn clock_ns(&self) -> u64 {
        self.timestamp_ns.wrapping_add(self.clock_correction_ns)
    }

    /// Whether something about it is counted, or its length is to be looked at. Without
    /// branches: it is checked for every record.
    #[inline(always)]
    pub(crate) fn is_unusual(&self) -> bool {
        self.is_time_implausible()
            | self.is_clock_jump
            | self.is_length_implausible
            | (self.wire_bytes > LONGEST_PACKET_BYTES)
    }

    /// Whether the timestamp was not believed.
    #[inline(always)]
    pub fn is_time_implausible(&self) -> bool {
        self.clock_correction_ns != 0
    }
}

/// The longest IP packet, jumbograms aside.
const LONGEST_PACKET_BYTES: u32 = 65_535;

impl Arrival {
    /// Limits the length on the wire to what is believed of a record.
    #[inline(always)]
    pub(crate) fn limit_wire_bytes(&mut self, link_header_bytes: u16, captured_bytes: usize) {
        // No limit is lower.
        if self.wire_bytes > LONGEST_PACKET_BYTES {
            let most = wire_bytes_max(link_header_bytes, captured_bytes);
            if self.wire_bytes > most {
                (self.wire_bytes, self.is_length_implausible) = (most, true);
            }
        }
    }
}

/// The longest length on the wire that is believed of a record: that of the longest
/// packet behind its link header, but no less than what was captured.
fn wire_bytes_max(link_header_bytes: u16, captured_bytes: usize) -> u32 {
    let captured_bytes = u32::try_from(captured_bytes).unwrap_or(u32::MAX);
    (LONGEST_PACKET_BYTES + u32::from(link_header_bytes)).max(captured_bytes)
}

/// The time of a stream, as far as its timestamps are plausible.
///
/// The clock is the largest timestamp so far. A timestamp that is more than
/// [`CaptureClock::REACH_NS`] away from it, ahead or behind, is not believed at
/// first: its record counts at the time that the clock reads. Where
/// [`CaptureClock::WITNESSES`] records in a row are out of reach on the same side,
/// none of them further back than the reach from those before it, the clock jumps
/// to their time. So one damaged timestamp changes nothing, and a link that was
/// idle for hours, or a clock that was set, costs three records their place in
/// time.
///
/// The first timestamp of a capture is believed at once.
#[derive(Clone, Debug, Default)]
pub struct CaptureClock {
    /// Largest timestamp since the last jump.
    now_ns: u64,
    state: ClockState,
    doubts: Option<Doubts>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ClockState {
    /// No record has come.
    #[default]
    Unset,
    /// The next record begins another capture.
    Between,
    Running,
}

/// Records in a row whose timestamps are out of reach on one side.
#[derive(Clone, Copy, Debug)]
struct Doubts {
    is_ahead: bool,
    /// Largest of the timestamps.
    latest_ns: u64,
    records: u32,
}

impl CaptureClock {
    /// A timestamp further than this from the clock needs witnesses: one hour.
    pub const REACH_NS: u64 = 3_600 * 1_000_000_000;

    /// Records in a row that make the clock jump.
    pub const WITNESSES: u32 = 4;

    /// A clock that the first record sets.
    pub fn new() -> CaptureClock {
        CaptureClock::default()
    }

    /// Says that the next record begins another capture, whose times may have
    /// nothing to do with those so far.
    pub fn begin_capture(&mut self) {
        if self.state == ClockState::Running {
            self.state = ClockState::Between;
        }
    }

    /// Takes the next record into account, and puts into its arrival what the clock
    /// says of its timestamp.
    #[inline]
    pub fn stamp(&mut self, arrival: &mut Arrival) {
        let timestamp_ns = arrival.timestamp_ns;
        let is_near = timestamp_ns.abs_diff(self.now_ns) <= CaptureClock::REACH_NS;
        if is_near && self.state == ClockState::Running && self.doubts.is_none() {
            self.now_ns = self.now_ns.max(timestamp_ns);
        } else {
            self.judge(arrival, is_near);
        }
    }

    #[cold]
    fn judge(&mut self, arrival: &mut Arrival, is_near: bool) {
        let timestamp_ns = arrival.timestamp_ns;
        if is_near && self.state != ClockState::Unset {
            self.now_ns = self.now_ns.max(timestamp_ns);
            (self.state, self.doubts) = (ClockState::Running, None);
            return;
        }
        if self.state != ClockState::Running {
            arrival.is_clock_jump = self.state == ClockState::Between;
            self.now_ns = timestamp_ns;
            (self.state, self.doubts) = (ClockState::Running, None);
            return;
        }
        let is_ahead = timestamp_ns > self.now_ns;
        let doubts = match self.doubts.take() {
            Some(doubts)
                if doubts.is_ahead == is_ahead
                    && timestamp_ns >= doubts.latest_ns.saturating_sub(CaptureClock::REACH_NS) =>
            {
                Doubts {
                    latest_ns: doubts.latest_ns.max(timestamp_ns),
                    records: doubts.records + 1,
                    ..doubts
                }
            }
            _ => Doubts {
                is_ahead,
                latest_ns: timestamp_ns,
                records: 1,
            },
        };
        if doubts.records < CaptureClock::WITNESSES {
            arrival.clock_correction_ns = self.now_ns.wrapping_sub(timestamp_ns);
            self.doubts = Some(doubts);
        } else {
            arrival.is_clock_jump = true;
            self.now_ns = doubts.latest_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;
    const HOUR_S: u64 = 3600;
    /// 2023-11-14.
    const START_S: u64 = 1_700_000_000;
    /// 2033-05-18.
    const FUTURE_S: u64 = 2_000_000_000;

    /// What the clock reads for each record, in seconds after `START_S`, with `?`
    /// where the timestamp is implausible and `!` where the clock jumps.
    fn readings(clock: &mut CaptureClock, times_s: &[u64]) -> String {
        let readings = times_s.iter().map(|time_s| {
            let mut arrival = Arrival {
                timestamp_ns: time_s * SECOND_NS,
                ..Arrival::default()
            };
            clock.stamp(&mut arrival);
            let after_s = i128::from(arrival.clock_ns() / SECOND_NS) - i128::from(START_S);
            let doubt = if arrival.is_time_implausible() {
                "?"
            } else {
                ""
            };
            let jump = if arrival.is_clock_jump { "!" } else { "" };
            format!("{after_s}{doubt}{jump}")
        });
        readings.collect::<Vec<_>>().join(" ")
    }

    fn after(offsets_s: &[u64]) -> Vec<u64> {
        offsets_s.iter().map(|offset| START_S + offset).collect()
    }

    #[test]
    fn times_within_reach_are_believed() {
        let times = after(&[0, 1, HOUR_S, 3, 2 * HOUR_S, HOUR_S]);
        let expected = "0 1 3600 3 7200 3600";
        // The fourth is 3597 s behind the clock.
        assert_eq!(readings(&mut CaptureClock::new(), &times), expected);
    }

    #[test]
    fn one_time_out_of_reach_changes_nothing() {
        let mut times = after(&[0, 1, 2, 3, 4]);
        times[1] = FUTURE_S;
        times[3] = 0;
        assert_eq!(readings(&mut CaptureClock::new(), &times), "0 0? 2 2? 4");
        let limits = [START_S, u64::MAX / SECOND_NS, 0, START_S + 1];
        assert_eq!(readings(&mut CaptureClock::new(), &limits), "0 0? 0? 1");
    }

    #[test]
    fn records_in_a_row_make_the_clock_jump_forwards_and_back() {
        let late = FUTURE_S - START_S;
        let times = after(&[
            0,
            late,
            late + 1,
            late + 2,
            late + 3,
            late + 4,
            5,
            6,
            7,
            8,
            9,
        ]);
        let expected = format!("0 0? 0? 0? {}! {} ", late + 3, late + 4)
            + &format!("{0}? {0}? {0}? 8! 9", late + 4);
        assert_eq!(readings(&mut CaptureClock::new(), &times), expected);
    }

    /// Neither a plausible time between them nor times that go back and forth.
    #[test]
    fn what_disagrees_is_no_witness() {
        let late = FUTURE_S - START_S;
        let times = after(&[0, late, late, late, 1, late, late, late, 2]);
        let expected = "0 0? 0? 0? 1 1? 1? 1? 2";
        assert_eq!(readings(&mut CaptureClock::new(), &times), expected);
        let times = after(&[9, late, late / 2, late, late / 3, late, late / 4, 10]);
        assert_eq!(
            readings(&mut CaptureClock::new(), &times),
            "9 9? 9? 9? 9? 9? 9? 10"
        );
    }

    /// A packet every two hours: time goes on in steps of four packets.
    #[test]
    fn a_sparse_stream_is_believed() {
        let times = after(&[0, 2, 4, 6, 8, 10].map(|hours| hours * HOUR_S));
        let expected = "0 0? 0? 0? 28800! 28800?";
        assert_eq!(readings(&mut CaptureClock::new(), &times), expected);
    }

    #[test]
    fn another_capture_sets_the_clock() {
        let mut clock = CaptureClock::new();
        assert_eq!(readings(&mut clock, &after(&[0, 1])), "0 1");
        clock.begin_capture();
        let day = 24 * HOUR_S;
        assert_eq!(readings(&mut clock, &after(&[day, 2])), "86400! 86400?");
        clock.begin_capture();
        assert_eq!(readings(&mut clock, &after(&[0, 1])), "0! 1");
        // A part that continues the one before it.
        clock.begin_capture();
        assert_eq!(readings(&mut clock, &after(&[60, 59])), "60 59");
    }

    #[test]
    fn lengths_are_believed_up_to_the_longest_packet() {
        assert_eq!(wire_bytes_max(14, 60), 65_549);
        assert_eq!(wire_bytes_max(0, 200_000), 200_000);
    }
}
