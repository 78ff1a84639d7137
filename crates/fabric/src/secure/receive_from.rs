//! Where a receiver begins.

use super::format::{PSN_BITS, PSN_MASK};

/// Where a receiver begins.
///
/// Packets of unreliable transports are taken from these numbers on: after a restart they must be higher
/// than all that were taken before. Reliable transports send again what was not acknowledged, and
/// recognize what they had: their packets are taken from a window in front of these numbers on, so that
/// connections go on after a restart. A number that was highest some time before the restart will do, up
/// to 2²² packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ReceiveFrom {
    /// The lowest number of requests that is taken: an epoch, and a PSN of 24 bits.
    pub requests: u64,
    /// The same of responses.
    pub responses: u64,
    /// The lowest number of extended mode that is taken.
    pub extended: u64,
}

impl ReceiveFrom {
    /// The same a number of packets before. A receiver that begins with an epoch has taken none.
    pub(super) fn before(self, packets: u64) -> ReceiveFrom {
        let before = |number: u64| match number & PSN_MASK {
            0 => number,
            _ => number.saturating_sub(packets),
        };
        ReceiveFrom::from(self.numbers().map(before))
    }

    /// The numbers of requests, of responses, and of extended mode.
    pub(crate) fn numbers(self) -> [u64; 3] {
        [self.requests, self.responses, self.extended]
    }

    /// Takes everything from an epoch on.
    pub fn epoch(epoch: u64) -> ReceiveFrom {
        ReceiveFrom::from([epoch << PSN_BITS; 3])
    }

    /// The higher number of both, of each kind.
    #[must_use]
    pub fn max(self, other: ReceiveFrom) -> ReceiveFrom {
        ReceiveFrom {
            requests: self.requests.max(other.requests),
            responses: self.responses.max(other.responses),
            extended: self.extended.max(other.extended),
        }
    }

    /// The epoch above all from which numbers were taken.
    pub(super) fn epochs_end(self) -> u64 {
        let [requests, responses, extended] = self.numbers();
        requests
            .max(responses)
            .max(extended)
            .div_ceil(1 << PSN_BITS)
    }

    /// The newest epoch from which a number was taken. A receiver that begins with an epoch has taken
    /// none.
    pub(super) fn known_epoch(self) -> Option<u64> {
        let taken = (self.numbers().into_iter()).filter(|number| number & PSN_MASK != 0);
        let newest = taken.max()? >> PSN_BITS;
        (newest > 0).then_some(newest)
    }
}

impl From<[u64; 3]> for ReceiveFrom {
    /// From the numbers of requests, of responses, and of extended mode.
    fn from([requests, responses, extended]: [u64; 3]) -> ReceiveFrom {
        ReceiveFrom {
            requests,
            responses,
            extended,
        }
    }
}
