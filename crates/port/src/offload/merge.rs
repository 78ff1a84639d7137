//! Merging the segments of a flow into one packet (receive offload).

use std::num::NonZeroU16;

use super::checksum::Sum;
use super::headers::{Headers, u16_at, u32_at};
use super::split::{CWR, FIN, PSH};
use crate::port::{ChecksumState, LinkLayer, Offload, Packet, Segments, Transport};

/// One packet, or several that were merged: headers, then payloads one behind the other.
#[derive(Debug)]
pub struct Merged<'a> {
    /// The packet that it begins with: all of it where it is alone.
    first: &'a [u8],
    /// The payloads of the packets that follow it.
    more: Vec<&'a [u8]>,
    offload: Offload,
    /// What it needs to take more packets; nothing where it is left alone.
    run: Option<Run>,
    /// Another packet of the flow came behind it.
    is_closed: bool,
    /// The headers of a merged packet.
    headers: Vec<u8>,
}

/// The flow of a packet that others may follow.
#[derive(Clone, Copy, Debug)]
struct Run {
    headers: Headers,
    /// Payload of every packet but the last.
    payload_bytes: usize,
    /// All payload so far.
    total_bytes: usize,
    packets: u16,
    /// FIN and PSH of the last packet.
    last_flags: u8,
}

impl<'a> Merged<'a> {
    /// The parts of the packet, to be written one behind the other.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let (headers, first) = match &self.run {
            Some(run) if run.packets > 1 => {
                let payload = run.headers.payload_start..run.headers.end;
                (&self.headers[..], &self.first[payload])
            }
            _ => (&[][..], self.first),
        };
        let more = self.more.iter().copied();
        [headers, first].into_iter().chain(more)
    }

    /// What is left to do to the packet.
    pub fn offload(&self) -> Offload {
        self.offload
    }

    /// How many packets it consists of.
    pub fn packets(&self) -> usize {
        1 + self.more.len()
    }

    /// Where its TCP or UDP header begins, and how far behind that the checksum is.
    #[cfg(target_os = "linux")]
    pub(crate) fn checksum_place(&self, link: LinkLayer) -> Option<(usize, usize)> {
        let headers = match self.run {
            Some(run) => run.headers,
            None => Headers::parse(self.first, link)?,
        };
        Some((headers.transport_start, headers.checksum_offset()))
    }

    /// One packet as it is.
    pub fn alone(packet: Packet<'a>) -> Merged<'a> {
        Merged::new(packet, None)
    }

    fn new(packet: Packet<'a>, run: Option<Run>) -> Merged<'a> {
        Merged {
            first: packet.bytes,
            more: Vec::new(),
            offload: packet.arrival.offload,
            run,
            is_closed: false,
            headers: Vec::new(),
        }
    }

    /// Appends a packet where it continues the flow.
    fn append(&mut self, packet: &'a [u8], next: Run) -> bool {
        let Some(run) = self.run.as_mut().filter(|_| !self.is_closed) else {
            return false;
        };
        if !run.is_continued_by(self.first, packet, next) {
            return false;
        }
        run.packets += 1;
        run.total_bytes += next.total_bytes;
        run.last_flags = next.last_flags;
        self.more
            .push(&packet[next.headers.payload_start..next.headers.end]);
        true
    }

    /// Writes the headers of what was merged.
    fn finish(&mut self) {
        let Some(run) = self.run.filter(|run| run.packets > 1) else {
            return;
        };
        let headers = run.headers;
        self.headers = self.first[..headers.payload_start].to_vec();
        let bytes = headers.payload_start + run.total_bytes;
        headers.write_ip_length(&mut self.headers, bytes - headers.network);
        let segment_bytes = bytes - headers.transport_start;
        let partial = headers.pseudo_header(self.first, segment_bytes).folded();
        let transport = &mut self.headers[headers.transport_start..];
        match headers.transport {
            Transport::Tcp => transport[13] |= run.last_flags,
            Transport::Udp => {
                transport[4..6].copy_from_slice(&(segment_bytes as u16).to_be_bytes());
            }
        }
        // The rest of the checksum is left to whoever takes the packet.
        let field = headers.checksum_offset();
        transport[field..field + 2].copy_from_slice(&partial);
        let payload_bytes = NonZeroU16::new(run.payload_bytes as u16);
        self.offload = Offload {
            checksum: ChecksumState::NotReady,
            segments: payload_bytes.map(|payload_bytes| Segments {
                transport: headers.transport,
                payload_bytes,
            }),
        };
    }
}

impl Run {
    /// Nothing where the packet is to be left alone: it has no payload, its checksum is wrong or
    /// missing, it is to be split already, or it has flags that say more than that data follows.
    fn begin(packet: Packet<'_>, headers: Headers) -> Option<Run> {
        let bytes = packet.bytes;
        let offload = packet.arrival.offload;
        let payload_bytes = headers.end - headers.payload_start;
        if payload_bytes == 0 || offload.segments.is_some() {
            return None;
        }
        if headers.transport == Transport::Udp && !headers.has_checksum(bytes) {
            return None;
        }
        let transport = &bytes[headers.transport_start..headers.payload_start];
        let last_flags = match headers.transport {
            Transport::Tcp => {
                if transport[13] & !(ACK | PSH | FIN | CWR | ECE) != 0 {
                    return None;
                }
                transport[13] & (PSH | FIN)
            }
            Transport::Udp => {
                if usize::from(u16_at(transport, 4)?) != headers.end - headers.transport_start {
                    return None;
                }
                0
            }
        };
        let ip = &bytes[headers.network..headers.transport_start];
        if !headers.is_v6 && Sum::default().add(ip).checksum() != [0, 0] {
            return None;
        }
        let is_right = match offload.checksum {
            ChecksumState::Valid => true,
            ChecksumState::Unknown => headers.has_valid_checksum(bytes),
            ChecksumState::NotReady => false,
        };
        is_right.then_some(Run {
            headers,
            payload_bytes,
            total_bytes: payload_bytes,
            packets: 1,
            last_flags,
        })
    }

    /// Whether both are of one flow.
    fn is_of_flow(&self, first: &[u8], packet: &[u8], other: Headers) -> bool {
        let own = self.headers;
        let ports = |headers: Headers, bytes: &[u8]| u32_at(bytes, headers.transport_start);
        own.is_v6 == other.is_v6
            && own.transport == other.transport
            && own.addresses(first) == other.addresses(packet)
            && ports(own, first) == ports(other, packet)
    }

    /// Whether a packet of the same flow is the next segment, with the same headers.
    fn is_continued_by(&self, first: &[u8], packet: &[u8], next: Run) -> bool {
        let (own, other) = (self.headers, next.headers);
        let is_ended = self.last_flags != 0
            || self.total_bytes != self.payload_bytes * usize::from(self.packets);
        let bytes = own.payload_start + self.total_bytes + next.total_bytes;
        if is_ended
            || self.packets == MAX_PACKETS
            || next.payload_bytes > self.payload_bytes
            || bytes - own.network > MAX_IP_BYTES
            || own.payload_start != other.payload_start
            || own.transport_start != other.transport_start
            || first[..own.network] != packet[..other.network]
            || !self.has_same_ip_header(first, packet)
        {
            return false;
        }
        let header = own.transport_start..own.payload_start;
        let (own_header, next_header) = (&first[header.clone()], &packet[header]);
        match own.transport {
            Transport::Udp => true,
            Transport::Tcp => {
                let sequence = |header: &[u8]| u32_at(header, 4).unwrap_or(0);
                let expected = sequence(own_header).wrapping_add(self.total_bytes as u32);
                let changed_flags = (own_header[13] ^ next_header[13]) & !(PSH | FIN | CWR);
                sequence(next_header) == expected
                    && changed_flags == 0
                    && next_header[13] & CWR == 0
                    // Acknowledgment and length; window; urgent pointer and options.
                    && own_header[8..13] == next_header[8..13]
                    && own_header[14..16] == next_header[14..16]
                    && own_header[18..] == next_header[18..]
            }
        }
    }

    fn has_same_ip_header(&self, first: &[u8], packet: &[u8]) -> bool {
        let headers = self.headers;
        let [own, other] =
            [first, packet].map(|bytes| &bytes[headers.network..headers.transport_start]);
        if headers.is_v6 {
            return own[..4] == other[..4] && own[6..] == other[6..];
        }
        // The identification counts up, or means nothing: the packet may not be fragmented (RFC
        // 6864, section 4.1).
        let identification = |bytes: &[u8]| u16_at(bytes, 4).unwrap_or(0);
        let expected = identification(own).wrapping_add(self.packets);
        let may_be_fragmented = own[6] & 0x40 == 0;
        own[..2] == other[..2]
            && (identification(other) == expected || !may_be_fragmented)
            && own[6..10] == other[6..10]
            && own[12..] == other[12..]
    }
}

/// Merges packets that are consecutive segments of their flow: those of TCP whose sequence numbers
/// go on, and datagrams of UDP of one length. Packets of other flows may be between them; the
/// order within each flow is kept. What was merged can be split into the same packets again,
/// but for identifications that mean nothing.
///
/// Only packets with a right checksum are merged, since their own checksum is lost.
pub fn merge<'a>(
    packets: impl IntoIterator<Item = Packet<'a>>,
    link: LinkLayer,
) -> Vec<Merged<'a>> {
    let mut merged: Vec<Merged<'a>> = Vec::new();
    // Nothing comes in front of a packet whose flow is not known.
    let mut barrier = 0;
    for packet in packets {
        let Some(headers) = Headers::parse(packet.bytes, link) else {
            merged.push(Merged::new(packet, None));
            barrier = merged.len();
            continue;
        };
        let run = Run::begin(packet, headers);
        let recent = merged.len().saturating_sub(FLOWS).max(barrier);
        let last_of_flow = merged[recent..].iter_mut().rev().find(|earlier| {
            let own = earlier.run.as_ref();
            own.is_some_and(|own| own.is_of_flow(earlier.first, packet.bytes, headers))
        });
        if let Some(earlier) = last_of_flow {
            if run.is_some_and(|run| earlier.append(packet.bytes, run)) {
                continue;
            }
            earlier.is_closed = true;
        }
        merged.push(Merged::new(packet, run));
    }
    for packet in &mut merged {
        packet.finish();
    }
    merged
}

const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
/// Most packets that are merged: what Linux splits a UDP packet into at most.
const MAX_PACKETS: u16 = 64;
/// Longest IP packet; that of version 6 could have 40 bytes more.
const MAX_IP_BYTES: usize = 65_535;
/// Among how many merged packets a flow is looked for.
const FLOWS: usize = 16;
