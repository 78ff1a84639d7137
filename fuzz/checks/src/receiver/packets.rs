//! Segments as packets: with their options, whole or in fragments, sound or damaged.

use weir_packet::wire::build::{self, IpHeader, TcpHeader};
use weir_packet::wire::{FlowKey, protocol};

use super::Handshake;
use super::host::{Segment, flags};

/// Of client and server.
pub const PORTS: [u16; 2] = [40_000, 9999];

/// How a segment is made a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Build {
    /// Of its datagram.
    pub identification: u32,
    pub form: Form,
    pub damage: Damage,
}

/// In how many IP packets a segment comes. Its first 16 bytes are in another fragment than the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Whole,
    Fragments,
    Reversed,
    FirstAlone,
    /// The first fragment twice.
    Repeated,
    /// The second one overlaps the first: Linux gives the datagram up.
    Overlapping,
    /// Other bytes in the middle of what came, which Linux leaves out.
    Within,
    /// A fragment with a wrong checksum in front.
    BadBefore,
}

impl Form {
    pub fn read(number: u8) -> Form {
        match number {
            1 => Form::Fragments,
            2 => Form::Reversed,
            3 => Form::FirstAlone,
            4 => Form::Repeated,
            5 => Form::Overlapping,
            6 => Form::Within,
            7 => Form::BadBefore,
            _ => Form::Whole,
        }
    }
}

/// What is wrong with its checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    None,
    Tcp,
    Ip,
    /// Of TCP, as if left to a network card.
    Zero,
    PseudoHeader,
}

impl Damage {
    pub fn read(number: u8) -> Damage {
        match number {
            4 => Damage::Tcp,
            5 => Damage::Ip,
            6 => Damage::Zero,
            7 => Damage::PseudoHeader,
            _ => Damage::None,
        }
    }
}

/// Addresses of the first client, and of the server.
pub const ADDRESSES: [u32; 2] = [0x0a00_0001, 0xc612_0002];

fn key(client: u32, from: usize) -> FlowKey {
    let client = FlowKey {
        source: client.into(),
        destination: ADDRESSES[1].into(),
        source_port: PORTS[0],
        destination_port: PORTS[1],
        protocol: protocol::TCP,
        ip_version: 4,
    };
    match from {
        0 => client,
        _ => client.reversed(),
    }
}

/// RFC 1071, over the pseudo-header and the segment; 0 where a right checksum is in it.
fn checksum(key: &FlowKey, tcp: &[u8]) -> u16 {
    let mut sum = u64::from(key.protocol) + tcp.len() as u64;
    for address in [key.source as u64, key.destination as u64] {
        sum += (address >> 16) + (address & 0xffff);
    }
    for pair in tcp.chunks(2) {
        sum += u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    }
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

impl Handshake {
    /// SYN, SYN-ACK and ACK.
    pub fn packets(&self) -> [Vec<u8>; 3] {
        let step = |from: usize, flags, plus| Segment {
            flags,
            sequence: self.iss[from].wrapping_add(plus),
            acknowledgement: match flags {
                flags::SYN => 0,
                _ => self.iss[1 - from].wrapping_add(1),
            },
            window_bytes: 0,
            timestamp: self.timestamps[from],
            payload: Vec::new(),
            is_whole: true,
        };
        let steps = [
            (0, step(0, flags::SYN, 0)),
            (1, step(1, flags::SYN | flags::ACK, 0)),
            (0, step(0, flags::ACK, 1)),
        ];
        steps.map(|(from, segment)| self.packet(from, &segment))
    }

    /// A segment as one sound packet.
    pub fn packet(&self, from: usize, segment: &Segment) -> Vec<u8> {
        let tcp = self.tcp(from, segment, Damage::None);
        ip(&key(self.client, from), &IpHeader::default(), &tcp)
    }

    /// Whether the datagram reaches TCP, and with a right checksum.
    pub fn is_delivered(&self, from: usize, segment: &Segment, build: &Build) -> bool {
        let is_put_together = !matches!(build.form, Form::FirstAlone | Form::Overlapping);
        let tcp = self.tcp(from, segment, build.damage);
        is_put_together
            && build.damage != Damage::Ip
            && checksum(&key(self.client, from), &tcp) == 0
    }

    /// The IP packets of a segment.
    pub fn records(&self, from: usize, segment: &Segment, build: &Build) -> Vec<Vec<u8>> {
        let key = &key(self.client, from);
        let tcp = self.tcp(from, segment, build.damage);
        let part = |start: usize, end: usize, version: u8| {
            let header = IpHeader {
                identification: build.identification,
                dont_fragment: false,
                more_fragments: end < tcp.len(),
                fragment_offset: (start / 8) as u16,
                ..IpHeader::default()
            };
            let bytes: Vec<u8> = tcp[start..end].iter().map(|byte| byte ^ version).collect();
            ip(key, &header, &bytes)
        };
        let (first, second) = (part(0, 16, 0), part(16, tcp.len(), 0));
        let mut records = match build.form {
            Form::Whole => vec![ip(key, &IpHeader::default(), &tcp)],
            Form::Fragments => vec![first, second],
            Form::Reversed => vec![second, first],
            Form::FirstAlone => vec![first],
            Form::Repeated => vec![first.clone(), first, second],
            Form::Overlapping => vec![first, part(8, tcp.len(), 1)],
            Form::Within => vec![first, part(8, 16, 1), second],
            Form::BadBefore => {
                let mut bad = part(16, tcp.len(), 1);
                spoil(&mut bad);
                vec![bad, first, second]
            }
        };
        if build.damage == Damage::Ip {
            records.iter_mut().for_each(|record| spoil(record));
        }
        records
    }

    fn tcp(&self, from: usize, segment: &Segment, damage: Damage) -> Vec<u8> {
        let key = key(self.client, from);
        let mut options = Vec::new();
        if let (Some(scale), true) = (self.scales[from], segment.flags & flags::SYN != 0) {
            options.extend([1, 3, 3, scale]);
        }
        if let Some(timestamp) = segment.timestamp {
            options.extend([1, 1, 8, 10]);
            options.extend(timestamp.to_be_bytes());
            options.extend([0; 4]);
        }
        let header = TcpHeader {
            sequence: segment.sequence,
            acknowledgment: segment.acknowledgement,
            flags: segment.flags,
            window: self.window,
            options: &options,
        };
        let mut tcp = Vec::new();
        build::tcp(&mut tcp, &key, &header, |out| {
            out.extend_from_slice(&segment.payload)
        });
        match damage {
            Damage::None | Damage::Ip => {}
            Damage::Tcp => tcp[17] ^= 0x10,
            Damage::Zero => tcp[16..18].fill(0),
            Damage::PseudoHeader => {
                // The sum that a card goes on from.
                let sum = !checksum(&key, &vec![0; tcp.len()]);
                tcp[16..18].copy_from_slice(&sum.to_be_bytes());
            }
        }
        tcp
    }
}

/// Makes the checksum of an IPv4 header wrong, and not zero, which is left to a network card.
fn spoil(record: &mut [u8]) {
    record[11] ^= match record[10..12] {
        [0, 1] => 2,
        _ => 1,
    };
}

fn ip(key: &FlowKey, header: &IpHeader, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    build::ip(&mut packet, key, header, |out| {
        out.extend_from_slice(payload)
    });
    packet
}
