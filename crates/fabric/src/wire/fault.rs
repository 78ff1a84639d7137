//! What can be wrong with a packet's headers.

use std::fmt;

use super::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Grh, Ieth, ImmDt, LinkNextHeader, Lrh, Rdeth, Reth,
};

/// A header of InfiniBand or RoCEv2, or one in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeaderKind {
    /// Header of a record in ERF, with its extension headers.
    Erf,
    /// Local route header.
    Lrh,
    /// Global route header.
    Grh,
    /// Base transport header.
    Bth,
    /// Reliable datagram extended header.
    Rdeth,
    /// Datagram extended header.
    Deth,
    /// RDMA extended header.
    Reth,
    /// Atomic extended header.
    AtomicEth,
    /// Acknowledge extended header.
    Aeth,
    /// Atomic acknowledge extended header.
    AtomicAckEth,
    /// Immediate data.
    ImmDt,
    /// Invalidate extended header.
    Ieth,
}

impl HeaderKind {
    /// Length; of ERF's without extension headers.
    pub const fn bytes(self) -> usize {
        match self {
            HeaderKind::Erf => 16,
            HeaderKind::Lrh => Lrh::BYTES,
            HeaderKind::Grh => Grh::BYTES,
            HeaderKind::Bth => Bth::BYTES,
            HeaderKind::Rdeth => Rdeth::BYTES,
            HeaderKind::Deth => Deth::BYTES,
            HeaderKind::Reth => Reth::BYTES,
            HeaderKind::AtomicEth => AtomicEth::BYTES,
            HeaderKind::Aeth => Aeth::BYTES,
            HeaderKind::AtomicAckEth => AtomicAckEth::BYTES,
            HeaderKind::ImmDt => ImmDt::BYTES,
            HeaderKind::Ieth => Ieth::BYTES,
        }
    }
}

impl fmt::Display for HeaderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HeaderKind::Erf => "ERF header",
            HeaderKind::Lrh => "LRH",
            HeaderKind::Grh => "GRH",
            HeaderKind::Bth => "BTH",
            HeaderKind::Rdeth => "RDETH",
            HeaderKind::Deth => "DETH",
            HeaderKind::Reth => "RETH",
            HeaderKind::AtomicEth => "AtomicETH",
            HeaderKind::Aeth => "AETH",
            HeaderKind::AtomicAckEth => "AtomicAckETH",
            HeaderKind::ImmDt => "ImmDt",
            HeaderKind::Ieth => "IETH",
        })
    }
}

/// Why a packet of InfiniBand or RoCEv2 cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Fault {
    /// The record was cut inside a header.
    #[error("the record ends inside the {0}")]
    HeaderCut(HeaderKind),
    /// The packet says of itself that it is too short for its headers and the ICRC.
    #[error("the packet's own length leaves no space for its {0} and the ICRC")]
    TooShort(HeaderKind),
    /// LVer is not 0.
    #[error("the LRH has link version {0}, and only 0 is known")]
    LinkVersion(u8),
    /// A raw packet, of another transport than InfiniBand's.
    #[error("a raw packet ({0:?}) without InfiniBand's transport")]
    NoTransport(LinkNextHeader),
    /// IPVer is not 6.
    #[error("the GRH has IP version {0} in place of 6")]
    GrhVersion(u8),
    /// NxtHdr is not 0x1b.
    #[error("the GRH announces header 0x{0:02x} in place of the BTH")]
    GrhNextHeader(u8),
    /// TVer is not 0.
    #[error("the BTH has transport version {0}, and only 0 is known")]
    TransportVersion(u8),
    /// Two headers give the packet different ends.
    #[error("an inner header's length is {inner_bytes} bytes, an outer one leaves {outer_bytes}")]
    LengthsDisagree {
        /// From the inner header's start to the end, by the outer header.
        outer_bytes: u16,
        /// The same by the inner header: PayLen of the GRH, or the length of UDP.
        inner_bytes: u16,
    },
    /// IP options or extension headers, which RoCEv2 does not allow (annex A17.3).
    #[error("RoCEv2 behind IP options or extension headers")]
    IpOptions,
    /// An IP fragment, which RoCEv2 does not allow.
    #[error("RoCEv2 in a fragment of an IP datagram")]
    Fragmented,
    /// Payload and pad are not a multiple of 4 bytes.
    #[error("{0} bytes of payload and pad, which is not a multiple of 4")]
    Unaligned(u16),
    /// PadCnt is larger than what lies behind the headers.
    #[error("PadCnt is {pad_bytes}, but only {available_bytes} bytes follow the headers")]
    PadTooLong {
        /// PadCnt.
        pad_bytes: u8,
        /// Bytes between the headers and the ICRC.
        available_bytes: u16,
    },
    /// Bytes behind the headers of an operation that has no payload.
    #[error("{0} bytes behind the headers of an operation without payload")]
    UnexpectedPayload(u16),
}

impl Fault {
    /// A short name for reports, as in `header_cut`.
    pub fn name(&self) -> &'static str {
        match self {
            Fault::HeaderCut(_) => "header_cut",
            Fault::TooShort(_) => "too_short",
            Fault::LinkVersion(_) => "link_version",
            Fault::NoTransport(_) => "no_transport",
            Fault::GrhVersion(_) => "grh_version",
            Fault::GrhNextHeader(_) => "grh_next_header",
            Fault::TransportVersion(_) => "transport_version",
            Fault::LengthsDisagree { .. } => "lengths_disagree",
            Fault::IpOptions => "ip_options",
            Fault::Fragmented => "fragmented",
            Fault::Unaligned(_) => "unaligned",
            Fault::PadTooLong { .. } => "pad_too_long",
            Fault::UnexpectedPayload(_) => "unexpected_payload",
        }
    }
}
