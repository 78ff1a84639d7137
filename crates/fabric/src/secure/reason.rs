//! Why a packet is dropped.

use std::fmt;

/// Why a packet is dropped instead of being protected or unprotected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropReason {
    /// It is no packet of InfiniBand or RoCEv2.
    NotFabric,
    /// Its headers are cut, contradict each other, or break a rule.
    Malformed,
    /// The record ends before its ICRC does.
    PacketCut,
    /// More than 255 bytes of headers in front of its payload.
    HeadersTooLong,
    /// With the number and the tag of extended mode it exceeds what its headers can state.
    TooLong,
    /// A packet to protect whose ICRC is not its own.
    IcrcWrong,
    /// A packet to protect with bits in the fields where identifier and epoch are to stand.
    ReservedBits,
    /// Its operation code is unknown.
    UnknownOpcode,
    /// No keys for its addresses and queue pairs.
    UnknownQueuePair,
    /// Its P_Key is that of another partition than its queue pair's.
    PartitionKey,
    /// Another packet was sealed under its number: epoch and PSN came again with other contents.
    PsnReused,
    /// Later packets were sealed, and what was sealed under its number is not remembered.
    PsnPassed,
    /// The reserved epochs, or numbers of extended mode, are used up.
    NumbersExhausted,
    /// The cipher refused a packet that passed all checks, a defect of the program.
    CipherRefused,
    /// A plain packet where the partition requires protection.
    PlainRefused,
    /// Its identifier is unknown, or not one for its operation.
    UnknownAlgorithm,
    /// Extended mode where the queue pair does not have it.
    ExtendedRefused,
    /// Its epoch is over.
    OldEpoch,
    /// Its number was taken before, or is older than what is remembered.
    Replayed,
    /// Its number was taken before, by a packet with other contents.
    DuplicateDiffers,
    /// Too many tags were wrong: the mode is refused until the key is renewed.
    Degraded,
    /// Its tag is wrong.
    TagFailed,
    /// It was in a batch that did not run.
    NotRun,
}

impl DropReason {
    /// All of them, in the order of their declaration.
    pub const ALL: [DropReason; 23] = [
        DropReason::NotFabric,
        DropReason::Malformed,
        DropReason::PacketCut,
        DropReason::HeadersTooLong,
        DropReason::TooLong,
        DropReason::IcrcWrong,
        DropReason::ReservedBits,
        DropReason::UnknownOpcode,
        DropReason::UnknownQueuePair,
        DropReason::PartitionKey,
        DropReason::PsnReused,
        DropReason::PsnPassed,
        DropReason::NumbersExhausted,
        DropReason::CipherRefused,
        DropReason::PlainRefused,
        DropReason::UnknownAlgorithm,
        DropReason::ExtendedRefused,
        DropReason::OldEpoch,
        DropReason::Replayed,
        DropReason::DuplicateDiffers,
        DropReason::Degraded,
        DropReason::TagFailed,
        DropReason::NotRun,
    ];

    /// A short name for counters and reports.
    pub fn name(self) -> &'static str {
        match self {
            DropReason::NotFabric => "not_fabric",
            DropReason::Malformed => "malformed",
            DropReason::PacketCut => "packet_cut",
            DropReason::HeadersTooLong => "headers_too_long",
            DropReason::TooLong => "too_long",
            DropReason::IcrcWrong => "icrc_wrong",
            DropReason::ReservedBits => "reserved_bits",
            DropReason::UnknownOpcode => "unknown_opcode",
            DropReason::UnknownQueuePair => "unknown_queue_pair",
            DropReason::PartitionKey => "partition_key",
            DropReason::PsnReused => "psn_reused",
            DropReason::PsnPassed => "psn_passed",
            DropReason::NumbersExhausted => "numbers_exhausted",
            DropReason::CipherRefused => "cipher_refused",
            DropReason::PlainRefused => "plain_refused",
            DropReason::UnknownAlgorithm => "unknown_algorithm",
            DropReason::ExtendedRefused => "extended_refused",
            DropReason::OldEpoch => "old_epoch",
            DropReason::Replayed => "replayed",
            DropReason::DuplicateDiffers => "duplicate_differs",
            DropReason::Degraded => "degraded",
            DropReason::TagFailed => "tag_failed",
            DropReason::NotRun => "not_run",
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ() {
        let names: std::collections::HashSet<&str> =
            DropReason::ALL.iter().map(|reason| reason.name()).collect();
        assert_eq!(names.len(), DropReason::ALL.len());
        assert_eq!(DropReason::ALL.len(), DropReason::NotRun as usize + 1);
    }
}
