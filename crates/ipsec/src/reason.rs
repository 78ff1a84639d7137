//! Why packets are dropped.

weir_stream::drop_reasons! {
    /// Why a packet was dropped.
    pub enum DropReason {
        /// Its headers could not be read where the stage needs them.
        MalformedHeaders = "malformed_headers",
        /// The IP packet is longer than what was captured of it.
        PacketCut = "packet_cut",
        /// It carries no IP that the policies could decide about, and the
        /// configuration does not allow its protocol by name.
        NotSeenThrough = "not_seen_through",
        /// A later fragment whose first one, which shows the ports that the policies
        /// ask for, did not arrive in time.
        FirstFragmentMissing = "first_fragment_missing",
        /// A later IPv6 fragment whose protocol stands in the first one only, behind
        /// another extension header, where policies ask for protocols or ports.
        ProtocolHidden = "protocol_hidden",
        /// A fragment whose first one is missing, and there was no room to hold it.
        FragmentLimit = "fragment_limit",
        /// Another fragment of the same datagram got a different verdict.
        FragmentConflict = "fragment_conflict",
        /// The security policy says discard (RFC 4301, section 4.4.1).
        PolicyDiscard = "policy_discard",
        /// No security policy matches it (RFC 4301, section 5: discard).
        NoPolicy = "no_policy",
        /// The matching policy names no usable security association.
        NoSecurityAssociation = "no_security_association",
        /// The association's hard lifetime in bytes or packets is over.
        LifetimeExpired = "lifetime_expired",
        /// The association's sequence numbers are used up, or its reserved range
        /// cannot be extended.
        SequenceExhausted = "sequence_exhausted",
        /// The cipher refused a packet that passed all checks, a defect of the
        /// program: it must not leave.
        CipherRefused = "cipher_refused",
        /// The result would not fit an IP packet, the association's path MTU, or the port that it
        /// would leave by, and its sender was not told: IPv4 without DF, offline, or too often.
        TooLong = "too_long",
        /// The result would not fit the association's path MTU or the port that it would leave
        /// by, and its sender was sent an ICMP error that says what fits (RFC 4301, section 8.2.1).
        FragmentationNeeded = "fragmentation_needed",
        /// The TTL or hop limit is used up.
        TtlExceeded = "ttl_exceeded",
        /// A fragment, where the mode needs the whole datagram (RFC 4303, section
        /// 3.1.1: transport mode protects whole datagrams only).
        FragmentUnprotectable = "fragment_unprotectable",
        /// A fragment of an ESP packet, which must be reassembled first (RFC 4303,
        /// section 3.4.1).
        EspFragment = "esp_fragment",
        /// An ESP packet too short for its header, IV, padding and ICV, or of a
        /// length that its cipher cannot have.
        EspLength = "esp_length",
        /// No association has the packet's SPI and destination.
        UnknownSpi = "unknown_spi",
        /// The sequence number was seen before, or lies left of the window
        /// (RFC 4303, section 3.4.3).
        Replay = "replay",
        /// The integrity check value is wrong.
        IntegrityFailed = "integrity_failed",
        /// Verified, but its padding is not 1, 2, 3, … (RFC 4303, section 2.4).
        BadPadding = "bad_padding",
        /// Verified, but what is inside is not a packet of the association's mode.
        BadInnerPacket = "bad_inner_packet",
        /// Verified, but congestion was marked on the way of a packet whose ends
        /// do not understand the mark (RFC 6040, section 4.2).
        CongestionUnmarkable = "congestion_unmarkable",
        /// Verified, but the inner packet is outside the association's selectors
        /// (RFC 4301, section 5.2).
        SelectorMismatch = "selector_mismatch",
        /// Arrived in clear text although the policy asks for protection
        /// (RFC 4301, section 5.2).
        UnprotectedInbound = "unprotected_inbound",
        /// A dummy packet, next header 59 (RFC 4303, section 2.6).
        DummyPacket = "dummy_packet",
        /// The ledger of sequence numbers has not granted the next range yet.
        ReservationPending = "reservation_pending",
        /// A batch had no room for a record that a stage made or released.
        NoRoom = "no_room",
    }
}
