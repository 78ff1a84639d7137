//! Splitting a packet into segments (segmentation offload).

use super::headers::{Headers, u16_at, u32_at};
use crate::port::{LinkLayer, Segments, Transport};

/// The segments of a packet of up to 64 KiB: each has its headers and a part of its payload, and
/// all checksums.
///
/// Sequence numbers go on, IPv4 identifications count up, PSH and FIN are those of the last
/// segment, CWR that of the first (RFC 3168, section 6.1.2).
#[derive(Clone, Debug)]
pub struct Split<'a> {
    packet: &'a [u8],
    headers: Headers,
    payload_bytes: usize,
    /// Payload that has been written.
    done: usize,
    number: u16,
}

impl<'a> Split<'a> {
    /// Nothing where the packet has no such transport header, or is a fragment.
    pub fn new(packet: &'a [u8], link: LinkLayer, segments: Segments) -> Option<Split<'a>> {
        let headers = Headers::parse(packet, link)?;
        if headers.transport != segments.transport {
            return None;
        }
        Some(Split {
            packet,
            headers,
            payload_bytes: usize::from(segments.payload_bytes.get()),
            done: 0,
            number: 0,
        })
    }

    /// Bytes of the longest segment, from its link header on.
    pub fn segment_bytes(&self) -> usize {
        let payload = self.headers.end - self.headers.payload_start;
        self.headers.payload_start + payload.min(self.payload_bytes)
    }

    /// Bytes of the longest segment behind its link header: what an MTU has to do with.
    pub fn network_bytes(&self) -> usize {
        self.segment_bytes() - self.headers.network
    }

    /// The same, behind the segments that were written before.
    pub(super) fn after(self, progress: Progress) -> Split<'a> {
        Split {
            done: progress.done,
            number: progress.number,
            ..self
        }
    }

    /// How far it has come.
    pub(super) fn progress(&self) -> Progress {
        Progress {
            done: self.done,
            number: self.number,
        }
    }

    /// How many segments are still to come.
    pub fn remaining(&self) -> usize {
        let payload = self.headers.end - self.headers.payload_start;
        let segments = (payload - self.done).div_ceil(self.payload_bytes);
        // A packet without payload is one segment.
        segments.max(usize::from(self.number == 0))
    }

    /// Writes the next segment to the beginning of `space` and returns its length; nothing when
    /// all are written, or where `space` is shorter than [`Self::segment_bytes`].
    pub fn next_into(&mut self, space: &mut [u8]) -> Option<usize> {
        if self.remaining() == 0 || space.len() < self.segment_bytes() {
            return None;
        }
        let headers = self.headers;
        let payload = &self.packet[headers.payload_start..headers.end];
        let part = &payload[self.done..];
        let part = &part[..part.len().min(self.payload_bytes)];
        let is_last = self.done + part.len() == payload.len();
        let bytes = headers.payload_start + part.len();
        let segment = &mut space[..bytes];
        segment[..headers.payload_start].copy_from_slice(&self.packet[..headers.payload_start]);
        segment[headers.payload_start..].copy_from_slice(part);

        if !headers.is_v6 {
            let identification = headers.network + 4;
            let first = u16_at(segment, identification)?;
            let own = first.wrapping_add(self.number);
            segment[identification..identification + 2].copy_from_slice(&own.to_be_bytes());
        }
        headers.write_ip_length(segment, bytes - headers.network);
        let transport = &mut segment[headers.transport_start..];
        match headers.transport {
            Transport::Tcp => {
                let sequence = u32_at(transport, 4)?.wrapping_add(self.done as u32);
                transport[4..8].copy_from_slice(&sequence.to_be_bytes());
                if !is_last {
                    transport[13] &= !(FIN | PSH);
                }
                if self.number > 0 {
                    transport[13] &= !CWR;
                }
            }
            Transport::Udp => {
                let datagram_bytes = transport.len() as u16;
                transport[4..6].copy_from_slice(&datagram_bytes.to_be_bytes());
            }
        }
        let own = Headers {
            end: bytes,
            ..headers
        };
        own.write_checksum(segment);
        self.done += part.len();
        self.number = self.number.wrapping_add(1);
        Some(bytes)
    }
}

/// How much of a packet was split.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    done: usize,
    number: u16,
}

pub const FIN: u8 = 0x01;
pub const PSH: u8 = 0x08;
pub const CWR: u8 = 0x80;
