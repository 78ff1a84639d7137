//! What an inspector did, in numbers.

use serde::Serialize;
use weir_match::ScanStatistics;

use crate::flow::Unacceptable;

/// What each stage of the search turned away, that the stages before it had let
/// through. Counts of several shards add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FalseCandidates {
    /// Places that passed the engine's filter, and at which no content is
    /// entered.
    pub filter: u64,
    /// Entries at such places that are not like the text around them.
    pub group_compare: u64,
    /// Entries that are like the text, and whose content is not there, or was
    /// reported for this text before.
    pub exact_compare: u64,
    /// Rules whose content occurs, or that have none, and whose header does not
    /// match.
    pub header: u64,
    /// Candidates whose conditions on protocol, flow or packet do not hold, or
    /// cannot be told yet.
    pub conditions: u64,
    /// Candidates whose conditions on bits do not hold, or not yet.
    pub bits: u64,
    /// Candidates whose other contents and patterns are not there, or not yet.
    pub texts: u64,
}

/// Packets that no receiver takes, which are therefore not inspected, or not as
/// part of their connection: by reason. Counts of several shards add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RefusedPackets {
    /// Wrong checksum.
    pub checksum: u64,
    /// IP or UDP longer than its packet.
    pub length: u64,
    /// IP options or extension headers that hosts drop.
    pub ip_options: u64,
    /// TCP without ACK, SYN or RST.
    pub no_ack: u64,
    /// TCP with an old timestamp (RFC 7323, section 5).
    pub timestamp: u64,
    /// TCP with a signature where the connection has none, or without one where it has
    /// (RFC 2385).
    pub signature: u64,
    /// TCP behind the receiver's window.
    pub window: u64,
    /// RST without the expected sequence number (RFC 5961, section 3).
    pub reset: u64,
    /// SYN within a connection (RFC 5961, section 4).
    pub syn: u64,
    /// ACK of what was never sent, or of what is long acknowledged (RFC 5961,
    /// section 5).
    pub acknowledgement: u64,
}

impl RefusedPackets {
    pub(super) fn count(&mut self, refusal: Unacceptable) {
        *match refusal {
            Unacceptable::Checksum => &mut self.checksum,
            Unacceptable::Length => &mut self.length,
            Unacceptable::IpOptions => &mut self.ip_options,
            Unacceptable::NoAck => &mut self.no_ack,
            Unacceptable::Timestamp => &mut self.timestamp,
            Unacceptable::Signature => &mut self.signature,
            Unacceptable::Window => &mut self.window,
            Unacceptable::Reset => &mut self.reset,
            Unacceptable::Syn => &mut self.syn,
            Unacceptable::Acknowledgement => &mut self.acknowledgement,
        } += 1;
    }

    fn merge(&mut self, other: &RefusedPackets) {
        let RefusedPackets {
            checksum,
            length,
            ip_options,
            no_ack,
            timestamp,
            signature,
            window,
            reset,
            syn,
            acknowledgement,
        } = other;
        self.checksum += checksum;
        self.length += length;
        self.ip_options += ip_options;
        self.no_ack += no_ack;
        self.timestamp += timestamp;
        self.signature += signature;
        self.window += window;
        self.reset += reset;
        self.syn += syn;
        self.acknowledgement += acknowledgement;
    }
}

/// The stages at which a candidate can fail.
#[derive(Clone, Copy, Debug)]
pub(super) enum RuleStage {
    Conditions,
    Bits,
    Texts,
}

impl FalseCandidates {
    /// The name and count of each stage, in their order.
    pub fn stages(&self) -> [(&'static str, u64); 7] {
        [
            ("filter", self.filter),
            ("group compare", self.group_compare),
            ("exact compare", self.exact_compare),
            ("header", self.header),
            ("conditions", self.conditions),
            ("bits", self.bits),
            ("texts", self.texts),
        ]
    }

    pub(super) fn count(&mut self, stage: RuleStage) {
        *match stage {
            RuleStage::Conditions => &mut self.conditions,
            RuleStage::Bits => &mut self.bits,
            RuleStage::Texts => &mut self.texts,
        } += 1;
    }

    /// Adds what an engine turned away.
    pub(super) fn add_engine(&mut self, engine: &ScanStatistics) {
        self.filter += engine.passed - engine.candidates;
        self.group_compare += engine.entries - engine.survivors;
        self.exact_compare += engine.survivors - engine.hits;
    }

    fn merge(&mut self, other: &FalseCandidates) {
        let FalseCandidates {
            filter,
            group_compare,
            exact_compare,
            header,
            conditions,
            bits,
            texts,
        } = other;
        self.filter += filter;
        self.group_compare += group_compare;
        self.exact_compare += exact_compare;
        self.header += header;
        self.conditions += conditions;
        self.bits += bits;
        self.texts += texts;
    }
}

/// What an inspector did. Counts of several shards add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InspectStatistics {
    /// Alerts raised.
    pub alerts: u64,
    /// Pairs of a text (a payload, a stream, a part of a message) and a rule
    /// whose header matches, and whose longest content is in it (or that has
    /// none): what was verified.
    pub candidates: u64,
    /// Of these, pairs that turned out not to match.
    pub false_candidates: u64,
    /// Where these and the candidates of earlier stages were turned away.
    pub false_candidates_by_stage: FalseCandidates,
    /// Of the false candidates, those given up because a pattern had more
    /// matches to follow up than [`MAX_PATTERN_SEARCHES`].
    ///
    /// [`MAX_PATTERN_SEARCHES`]: crate::MAX_PATTERN_SEARCHES
    pub search_limited: u64,
    /// Searches by patterns with look-around, back-references and the like that were given up
    /// after [`MAX_PATTERN_STEPS`](crate::MAX_PATTERN_STEPS): their rules did not match.
    pub pattern_limit: u64,
    /// Trials that were not made because those before them had looked at
    /// [`MAX_TRIED_BYTES`](crate::MAX_TRIED_BYTES) for the same packet.
    pub trials_put_off: u64,
    /// Packets that matched more rules than
    /// [`MAX_ALERTS_PER_PACKET`](crate::MAX_ALERTS_PER_PACKET); the rest of the
    /// rules were not tried.
    pub alerts_limited: u64,
    /// Packets that a rule with action `pass` let go unseen by the others.
    pub passed_packets: u64,
    /// Packets inspected: IP packets, those in tunnels and those that fragments
    /// made too.
    #[serde(rename = "packets_inspected")]
    pub packets: u64,
    /// Of these, packets that no receiver takes.
    pub packets_refused: RefusedPackets,
    /// Packets whose checksum was left to the sender's network card.
    pub checksums_offloaded: u64,
    /// Bytes of payloads and streams searched.
    pub payload_bytes: u64,
    /// Flows seen.
    pub flows: u64,
    /// Flows forgotten before their time, because the table was full: what
    /// came later of them is not established.
    pub flows_evicted: u64,
    /// Bytes of parts of messages searched.
    pub part_bytes: u64,
    /// Streams forgotten before their time, because all together took too
    /// much memory: the packets of their flows were then matched one by one.
    pub streams_evicted: u64,
    /// Gaps in streams that were given up: what lies on both sides of one is
    /// not found.
    pub stream_gaps: u64,
    /// Segments with other bytes than those that came first for their place.
    pub overlaps_differing: u64,
    /// Rules that no longer waited for the rest of a match, because too many
    /// did.
    pub waiting_evicted: u64,
    /// Datagrams put together from fragments.
    pub datagrams_reassembled: u64,
    /// Datagrams given up for lack of room, or because they took too long.
    pub datagrams_evicted: u64,
    /// Fragments that overlap others with different bytes, or lie outside of
    /// any datagram.
    pub fragments_refused: u64,
    /// Matches that a `threshold` or `detection_filter` kept from being
    /// alerts.
    pub alerts_suppressed: u64,
    /// Counters of rates and bits of hosts that were forgotten because there
    /// were too many.
    pub trackers_evicted: u64,
    /// TCP RSTs and ICMP errors made for the ends of rejected packets.
    pub replies_created: u64,
    /// Those that were not made because a batch had no room for them.
    pub replies_lost: u64,
}

impl InspectStatistics {
    /// Adds the counts of another shard.
    pub fn merge(&mut self, other: &InspectStatistics) {
        let InspectStatistics {
            packets,
            packets_refused,
            checksums_offloaded,
            payload_bytes,
            part_bytes,
            candidates,
            false_candidates,
            false_candidates_by_stage,
            search_limited,
            pattern_limit,
            trials_put_off,
            alerts,
            passed_packets,
            alerts_limited,
            flows,
            flows_evicted,
            streams_evicted,
            stream_gaps,
            overlaps_differing,
            waiting_evicted,
            datagrams_reassembled,
            datagrams_evicted,
            fragments_refused,
            alerts_suppressed,
            trackers_evicted,
            replies_created,
            replies_lost,
        } = other;
        self.packets += packets;
        self.packets_refused.merge(packets_refused);
        self.checksums_offloaded += checksums_offloaded;
        self.payload_bytes += payload_bytes;
        self.part_bytes += part_bytes;
        self.candidates += candidates;
        self.false_candidates += false_candidates;
        (self.false_candidates_by_stage).merge(false_candidates_by_stage);
        self.search_limited += search_limited;
        self.pattern_limit += pattern_limit;
        self.trials_put_off += trials_put_off;
        self.alerts += alerts;
        self.passed_packets += passed_packets;
        self.alerts_limited += alerts_limited;
        self.flows += flows;
        self.flows_evicted += flows_evicted;
        self.streams_evicted += streams_evicted;
        self.stream_gaps += stream_gaps;
        self.overlaps_differing += overlaps_differing;
        self.waiting_evicted += waiting_evicted;
        self.datagrams_reassembled += datagrams_reassembled;
        self.datagrams_evicted += datagrams_evicted;
        self.fragments_refused += fragments_refused;
        self.alerts_suppressed += alerts_suppressed;
        self.trackers_evicted += trackers_evicted;
        self.replies_created += replies_created;
        self.replies_lost += replies_lost;
    }
}
