//! Packet sequence numbers of one direction of a connection, as the packets of a capture show them
//! (section 9.7.3).
//!
//! Requests count up by one. A READ request takes as many numbers as its response has packets:
//! which depends on the path's MTU, from 256 to 4,096 bytes, so that a range of numbers may follow.
//! Responses may leave numbers out, since one acknowledges all before it, but do not go back.

/// Numbers have 24 bits.
const MASK: u32 = 0xff_ffff;

/// A step further than this is no loss and no repetition: numbers begin anew.
const REACH: u32 = 1 << 16;

/// The longest and the shortest MTU of a path.
const MTU_BYTES: [u32; 2] = [4096, 256];

/// The most numbers that one READ request takes: half of all.
const READ_PACKETS_MAX: u32 = 1 << 23;

/// What is expected next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sequence {
    is_begun: bool,
    /// Of requests, the lowest number that may follow; of responses, the highest that came.
    next: u32,
    /// How many more may follow instead.
    slack: u32,
}

/// What a number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Observation {
    /// It may follow those before it.
    InOrder,
    /// Numbers are missing in front of it: `missing` of them, or more.
    Gap { expected: u32, missing: u32 },
    /// It came before.
    Repeated { expected: u32 },
    /// It is far from what was expected.
    Jump { expected: u32 },
}

impl Sequence {
    /// A request; `read_bytes` of a READ request.
    pub fn request(&mut self, psn: u32, read_bytes: Option<u32>) -> Observation {
        let expected = self.next;
        let ahead = psn.wrapping_sub(expected) & MASK;
        let behind = expected.wrapping_sub(psn) & MASK;
        let observation = match self.is_begun {
            false => Observation::InOrder,
            true if ahead <= self.slack => Observation::InOrder,
            true if behind <= REACH => return Observation::Repeated { expected },
            true if ahead - self.slack <= REACH => Observation::Gap {
                expected,
                missing: ahead - self.slack,
            },
            true => Observation::Jump { expected },
        };
        let [fewest, most] = MTU_BYTES.map(|mtu_bytes| {
            let packets = read_bytes.map_or(1, |bytes| bytes.div_ceil(mtu_bytes).max(1));
            packets.min(READ_PACKETS_MAX)
        });
        self.is_begun = true;
        self.next = psn.wrapping_add(fewest) & MASK;
        self.slack = most - fewest;
        observation
    }

    /// A response.
    pub fn response(&mut self, psn: u32) -> Observation {
        let expected = self.next;
        let ahead = psn.wrapping_sub(expected) & MASK;
        let behind = expected.wrapping_sub(psn) & MASK;
        let observation = match self.is_begun {
            true if ahead <= REACH => Observation::InOrder,
            true if behind <= REACH => return Observation::Repeated { expected },
            true => Observation::Jump { expected },
            false => Observation::InOrder,
        };
        self.is_begun = true;
        self.next = psn;
        observation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(numbers: &[u32]) -> Vec<Observation> {
        let mut sequence = Sequence::default();
        numbers
            .iter()
            .map(|psn| sequence.request(*psn, None))
            .collect()
    }

    #[test]
    fn requests_count_up_and_around() {
        use Observation::{Gap, InOrder, Jump, Repeated};
        assert_eq!(requests(&[MASK - 1, MASK, 0, 1]), [InOrder; 4]);
        let gap = Gap {
            expected: 8,
            missing: 2,
        };
        assert_eq!(requests(&[7, 10, 11]), [InOrder, gap, InOrder]);
        // Go-back-N: both come again, and what follows is in order.
        let again = Repeated { expected: 10 };
        let found = requests(&[7, 8, 9, 8, 9, 10]);
        assert_eq!(found, [InOrder, InOrder, InOrder, again, again, InOrder]);
        let jump = Jump { expected: 8 };
        assert_eq!(
            requests(&[7, 0x80_0000, 0x80_0001]),
            [InOrder, jump, InOrder]
        );
        let jump = Jump {
            expected: 0x80_0001,
        };
        assert_eq!(requests(&[0x80_0000, 7, 8]), [InOrder, jump, InOrder]);
    }

    #[test]
    fn read_requests_take_the_numbers_of_their_responses() {
        use Observation::{Gap, InOrder, Repeated};
        let after_read = |bytes, psn| {
            let mut sequence = Sequence::default();
            assert_eq!(sequence.request(MASK, Some(bytes)), InOrder);
            sequence.request(psn, None)
        };
        assert_eq!(after_read(0, 0), InOrder);
        assert_eq!(after_read(256, 0), InOrder);
        assert_eq!(
            after_read(256, 1),
            Gap {
                expected: 0,
                missing: 1
            }
        );
        // From 2 packets of 4,096 bytes to 32 of 256.
        assert_eq!(after_read(8192, 0), Repeated { expected: 1 });
        assert_eq!(after_read(8192, 1), InOrder);
        assert_eq!(after_read(8192, 31), InOrder);
        assert_eq!(
            after_read(8192, 32),
            Gap {
                expected: 1,
                missing: 1
            }
        );
        assert_eq!(after_read(u32::MAX, 0x20_0000), InOrder);
    }

    #[test]
    fn responses_leave_out_but_do_not_go_back() {
        use Observation::{InOrder, Jump, Repeated};
        let mut sequence = Sequence::default();
        let mut responses = |psn| sequence.response(psn);
        assert_eq!(responses(MASK - 5), InOrder);
        assert_eq!(
            responses(MASK - 5),
            InOrder,
            "RNR NAK, then an acknowledgement"
        );
        assert_eq!(responses(3), InOrder);
        assert_eq!(responses(2), Repeated { expected: 3 });
        assert_eq!(responses(4), InOrder);
        assert_eq!(responses(0x70_0000), Jump { expected: 4 });
    }
}
