//! What senders leave to interfaces, done by software: checksums, splitting a packet into
//! segments, and the reverse, merging segments into a packet. Pure functions over bytes.

mod checksum;
mod headers;
mod merge;
mod rx;
mod split;

pub use merge::{Merged, merge};
pub use rx::SegmentedRx;
pub use split::Split;

use crate::port::LinkLayer;
use headers::Headers;

/// Computes the TCP or UDP checksum of a packet whose sender left it to the interface
/// ([`ChecksumState::NotReady`](crate::ChecksumState::NotReady)). Returns whether there is such a
/// header, behind an IPv4 or IPv6 header, and the packet is no fragment.
pub fn complete_checksum(packet: &mut [u8], link: LinkLayer) -> bool {
    let Some(headers) = Headers::parse(packet, link) else {
        return false;
    };
    headers.write_checksum(packet);
    true
}

/// Whether the TCP or UDP checksum of a packet is right, or absent where UDP over IPv4 allows
/// that. Nothing where the packet has no such header or is a fragment.
pub fn verify_checksum(packet: &[u8], link: LinkLayer) -> Option<bool> {
    let headers = Headers::parse(packet, link)?;
    Some(headers.has_valid_checksum(packet) || !headers.has_checksum(packet))
}

#[cfg(target_os = "linux")]
pub(crate) use checksum::finish_at;
#[cfg(target_os = "linux")]
pub(crate) use headers::checksum_place;

#[cfg(test)]
mod tests;
