//! What packets do that no receiver takes, for those who want to see more than its count.

use weir_packet::wire::{FlowKey, Network};

use crate::flow::Unacceptable;
use crate::packet::Packet;

const SECOND_NS: u64 = 1_000_000_000;

/// A packet that does something odd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// Index of the record among those inspected together.
    pub packet: usize,
    /// Flow of the packet; inside a tunnel, of what the tunnel carries.
    pub flow: FlowKey,
    /// [`FlowRecord::id`](crate::FlowRecord::id) of its flow; `None` where it is refused before it has one.
    pub flow_id: Option<u64>,
    /// Type and code of an ICMP or ICMPv6 message.
    pub icmp: Option<(u8, u8)>,
    /// What it does.
    pub kind: AnomalyKind,
}

macro_rules! kinds {
    ($($(#[$comment:meta])* $kind:ident = $name:literal,)*) => {
        /// What a packet does. Names are those of Suricata's events where it has one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum AnomalyKind {
            $($(#[$comment])* $kind,)*
        }

        impl AnomalyKind {
            /// Every kind.
            pub const ALL: &[AnomalyKind] = &[$(AnomalyKind::$kind),*];

            /// Its `event` in EVE JSON, as in `stream.pkt_invalid_ack`.
            pub fn name(self) -> &'static str {
                match self {
                    $(AnomalyKind::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// A wrong checksum; Suricata has no event for it.
    Checksum = "decoder.invalid_checksum",
    /// IPv4 that claims more bytes than it has.
    Ipv4Length = "decoder.ipv4.trunc_pkt",
    /// The same of IPv6.
    Ipv6Length = "decoder.ipv6.trunc_pkt",
    /// The same of UDP.
    UdpLength = "decoder.udp.len_invalid",
    /// IPv4 options that its receiver does not take.
    Ipv4Options = "decoder.ipv4.opt_invalid",
    /// IPv6 extension headers that its receiver does not take; Suricata has other events for some.
    Ipv6Extensions = "decoder.ipv6.exthdr_invalid",
    /// An IPv4 fragment that its receiver does not take, or for which there is no space.
    Ipv4Fragment = "decoder.ipv4.frag_ignored",
    /// The same of IPv6.
    Ipv6Fragment = "decoder.ipv6.frag_ignored",
    /// TCP without ACK, SYN or RST; Suricata has no event for it.
    NoAck = "stream.pkt_no_ack",
    /// TCP with an old timestamp (RFC 7323, section 5).
    Timestamp = "stream.pkt_invalid_timestamp",
    /// TCP with a signature where the connection has none, or without one where it has (RFC 2385);
    /// Suricata has no event for it.
    Signature = "stream.pkt_invalid_signature",
    /// TCP behind the receiver's window.
    Window = "stream.est_packet_out_of_window",
    /// A RST without the expected sequence number (RFC 5961, section 3); Suricata has no event for it.
    Reset = "stream.rst_wrong_seq",
    /// A SYN within a connection (RFC 5961, section 4).
    Syn = "stream.est_syn_resend",
    /// A SYN-ACK within a connection.
    SynAck = "stream.est_synack_resend",
    /// An ACK of what was never sent, or of what is long acknowledged (RFC 5961, section 5).
    Acknowledgement = "stream.pkt_invalid_ack",
    /// A segment with other bytes than those that came first for their place.
    Overlap = "stream.reassembly_overlap_different_data",
    /// A gap in a stream is given up: bytes that the receiver acknowledged were not seen.
    Gap = "stream.reassembly_seq_gap",
}

impl AnomalyKind {
    /// Its `type` in EVE JSON.
    pub fn layer(self) -> &'static str {
        match self.name().split_once('.') {
            Some(("decoder", _)) => "decode",
            _ => "stream",
        }
    }

    /// That of a packet that is refused.
    pub(crate) fn of_refused(refusal: Unacceptable, packet: &Packet<'_>) -> AnomalyKind {
        const ACK: u8 = 0x10;
        match refusal {
            Unacceptable::NoAck => AnomalyKind::NoAck,
            Unacceptable::Timestamp => AnomalyKind::Timestamp,
            Unacceptable::Signature => AnomalyKind::Signature,
            Unacceptable::Window => AnomalyKind::Window,
            Unacceptable::Reset => AnomalyKind::Reset,
            Unacceptable::Syn if packet.headers.tcp_flags & ACK != 0 => AnomalyKind::SynAck,
            Unacceptable::Syn => AnomalyKind::Syn,
            Unacceptable::Acknowledgement => AnomalyKind::Acknowledgement,
            Unacceptable::Checksum => AnomalyKind::Checksum,
            Unacceptable::Length if packet.headers.fault.is_none() => AnomalyKind::UdpLength,
            Unacceptable::Length => match packet.headers.network {
                Network::Ipv4 => AnomalyKind::Ipv4Length,
                _ => AnomalyKind::Ipv6Length,
            },
            Unacceptable::IpOptions => match packet.headers.network {
                Network::Ipv4 => AnomalyKind::Ipv4Options,
                _ => AnomalyKind::Ipv6Extensions,
            },
        }
    }

    pub(crate) fn of_fragment(packet: &Packet<'_>) -> AnomalyKind {
        match packet.headers.network {
            Network::Ipv4 => AnomalyKind::Ipv4Fragment,
            _ => AnomalyKind::Ipv6Fragment,
        }
    }
}

/// The anomalies of one batch of packets: of each kind at most `per_second` in a second of
/// the packets' time.
#[derive(Debug)]
pub(crate) struct Anomalies {
    per_second: u32,
    second: u64,
    counts: [u32; AnomalyKind::ALL.len()],
    found: Vec<Anomaly>,
}

impl Anomalies {
    pub(crate) fn new(per_second: u32) -> Anomalies {
        Anomalies {
            per_second,
            second: 0,
            counts: [0; AnomalyKind::ALL.len()],
            found: Vec::new(),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.found.clear();
    }

    pub(crate) fn found(&self) -> &[Anomaly] {
        &self.found
    }

    pub(crate) fn note(
        &mut self,
        index: usize,
        packet: &Packet<'_>,
        flow_id: Option<u64>,
        kind: AnomalyKind,
    ) {
        if self.per_second == 0 {
            return;
        }
        let second = packet.timestamp_ns / SECOND_NS;
        if std::mem::replace(&mut self.second, second) != second {
            self.counts = [0; AnomalyKind::ALL.len()];
        }
        let count = &mut self.counts[kind as usize];
        if *count < self.per_second {
            *count += 1;
            self.found.push(Anomaly {
                packet: index,
                flow: packet.flow(),
                flow_id,
                icmp: packet.icmp(),
                kind,
            });
        }
    }
}
