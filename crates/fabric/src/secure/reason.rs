//! Why a packet is dropped.

weir_stream::drop_reasons! {
    /// Why a packet is dropped instead of being protected or unprotected.
    pub enum DropReason {
        /// It is no packet of InfiniBand or RoCEv2.
        NotFabric = "not_fabric",
        /// Its headers are cut, contradict each other, or break a rule.
        Malformed = "fabric_malformed",
        /// The record ends before its ICRC does.
        PacketCut = "fabric_packet_cut",
        /// More than 255 bytes of headers in front of its payload.
        HeadersTooLong = "fabric_headers_too_long",
        /// With the number and the tag of extended mode it exceeds what its headers can state.
        TooLong = "fabric_too_long",
        /// A packet to protect whose ICRC is not its own.
        IcrcWrong = "icrc_wrong",
        /// A packet to protect with bits in the fields where identifier, epoch and timestamp are to
        /// stand.
        ReservedBits = "reserved_bits",
        /// Its operation code is unknown.
        UnknownOpcode = "unknown_opcode",
        /// No keys for its addresses and queue pairs.
        UnknownQueuePair = "unknown_queue_pair",
        /// Its P_Key is that of another partition than its queue pair's.
        PartitionKey = "partition_key",
        /// The first packet of an unlisted flow, in a batch with too many of such.
        NewFlowsLimit = "new_flows_limit",
        /// The first packet of an unlisted flow, where a receiver remembers as many as it may.
        TooManyFlows = "too_many_flows",
        /// Another packet was sealed under its number: epoch and PSN came again with other contents.
        PsnReused = "psn_reused",
        /// Later packets were sealed, and what was sealed under its number is not remembered.
        PsnPassed = "psn_passed",
        /// The reserved epochs are used up.
        EpochsExhausted = "epochs_exhausted",
        /// The cipher refused a packet that passed all checks, a defect of the program.
        CipherRefused = "fabric_cipher_refused",
        /// A plain packet where the partition requires protection.
        PlainRefused = "plain_refused",
        /// Its identifier is not one for its operation.
        UnknownAlgorithm = "unknown_algorithm",
        /// Extended mode where the queue pair does not have it.
        ExtendedRefused = "extended_refused",
        /// Its flow has timestamps, and the packet no field for one: no GRH, or a DGID beyond the site.
        NoTimestamp = "no_timestamp",
        /// Its timestamp is too far from the clock.
        StaleTimestamp = "stale_timestamp",
        /// Its epoch is over.
        OldEpoch = "old_epoch",
        /// Its number was taken before, or is older than what is remembered.
        Replayed = "fabric_replayed",
        /// Its number was taken before, by a packet with other contents.
        DuplicateDiffers = "duplicate_differs",
        /// Too many tags were wrong: the mode is refused until the key is renewed.
        Degraded = "degraded",
        /// Its tag is wrong.
        TagFailed = "tag_failed",
        /// It was in a batch that did not run.
        NotRun = "not_run",
    }
}
