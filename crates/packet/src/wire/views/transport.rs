//! TCP, UDP, SCTP and ICMP.

use super::{be16, be32};

/// A TCP header (RFC 9293, section 3.1).
#[derive(Clone, Copy, Debug)]
pub struct Tcp<'a> {
    fixed: &'a [u8; 20],
    bytes: &'a [u8],
}

impl<'a> Tcp<'a> {
    /// `None` where the header is not whole.
    pub fn new(bytes: &'a [u8]) -> Option<Tcp<'a>> {
        let fixed: &[u8; 20] = bytes.first_chunk()?;
        let view = Tcp { fixed, bytes };
        let header_bytes = view.header_bytes();
        (header_bytes >= 20 && header_bytes <= bytes.len()).then_some(view)
    }

    /// Source port.
    pub fn source_port(&self) -> u16 {
        be16(self.fixed, 0)
    }

    /// Destination port.
    pub fn destination_port(&self) -> u16 {
        be16(self.fixed, 2)
    }

    /// Sequence number.
    pub fn sequence_number(&self) -> u32 {
        be32(self.fixed, 4)
    }

    /// Acknowledgment number.
    pub fn acknowledgment_number(&self) -> u32 {
        be32(self.fixed, 8)
    }

    /// Data offset, in bytes: 20 to 60.
    pub fn header_bytes(&self) -> usize {
        usize::from(self.fixed[12] >> 4) * 4
    }

    /// Control bits, from FIN (1) to CWR (128).
    pub fn flags(&self) -> u8 {
        self.fixed[13]
    }

    /// Window, not scaled.
    pub fn window(&self) -> u16 {
        be16(self.fixed, 14)
    }

    /// Checksum, as stated.
    pub fn checksum(&self) -> u16 {
        be16(self.fixed, 16)
    }

    /// Urgent pointer.
    pub fn urgent_pointer(&self) -> u16 {
        be16(self.fixed, 18)
    }

    /// The options up to "end of list" or the first that is not whole.
    pub fn options(&self) -> TcpOptions<'a> {
        TcpOptions {
            rest: &self.bytes[20..self.header_bytes()],
        }
    }

    /// What follows the header.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_bytes()..]
    }
}

/// One TCP option other than padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOption<'a> {
    /// Kind, as 2 for the maximum segment size.
    pub kind: u8,
    /// The bytes after kind and length.
    pub data: &'a [u8],
}

/// Iterates over the options of a [`Tcp`] header.
#[derive(Clone, Debug)]
pub struct TcpOptions<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for TcpOptions<'a> {
    type Item = TcpOption<'a>;

    fn next(&mut self) -> Option<TcpOption<'a>> {
        const NO_OPERATION: u8 = 1;
        while let [NO_OPERATION, rest @ ..] = self.rest {
            self.rest = rest;
        }
        match *self.rest {
            [kind, length, ..] if kind != 0 && length >= 2 => {
                let data = self.rest.get(2..usize::from(length))?;
                self.rest = &self.rest[usize::from(length)..];
                Some(TcpOption { kind, data })
            }
            _ => None,
        }
    }
}

/// A UDP header (RFC 768).
#[derive(Clone, Copy, Debug)]
pub struct Udp<'a> {
    fixed: &'a [u8; 8],
    bytes: &'a [u8],
}

impl<'a> Udp<'a> {
    /// `None` where the header is not whole.
    pub fn new(bytes: &'a [u8]) -> Option<Udp<'a>> {
        let fixed = bytes.first_chunk()?;
        Some(Udp { fixed, bytes })
    }

    /// Source port.
    pub fn source_port(&self) -> u16 {
        be16(self.fixed, 0)
    }

    /// Destination port.
    pub fn destination_port(&self) -> u16 {
        be16(self.fixed, 2)
    }

    /// Length in bytes, header included, as stated.
    pub fn length(&self) -> u16 {
        be16(self.fixed, 4)
    }

    /// Checksum, as stated; 0 says that there is none.
    pub fn checksum(&self) -> u16 {
        be16(self.fixed, 6)
    }

    /// What follows the header, cut to the stated length where that is
    /// shorter.
    pub fn payload(&self) -> &'a [u8] {
        let end = usize::from(self.length()).clamp(8, self.bytes.len());
        &self.bytes[8..end]
    }
}

/// The common header of SCTP (RFC 9260, section 3.1).
#[derive(Clone, Copy, Debug)]
pub struct Sctp<'a> {
    fixed: &'a [u8; 12],
}

impl<'a> Sctp<'a> {
    /// `None` where the header is not whole.
    pub fn new(bytes: &'a [u8]) -> Option<Sctp<'a>> {
        let fixed = bytes.first_chunk()?;
        Some(Sctp { fixed })
    }

    /// Source port number.
    pub fn source_port(&self) -> u16 {
        be16(self.fixed, 0)
    }

    /// Destination port number.
    pub fn destination_port(&self) -> u16 {
        be16(self.fixed, 2)
    }

    /// Verification tag.
    pub fn verification_tag(&self) -> u32 {
        be32(self.fixed, 4)
    }

    /// Checksum (CRC32c), as stated.
    pub fn checksum(&self) -> u32 {
        be32(self.fixed, 8)
    }
}

/// A message of ICMP (RFC 792) or ICMPv6 (RFC 4443, section 2.1).
#[derive(Clone, Copy, Debug)]
pub struct Icmp<'a> {
    fixed: &'a [u8; 8],
    bytes: &'a [u8],
}

impl<'a> Icmp<'a> {
    /// `None` where the first eight bytes, which every message has, are not
    /// there.
    pub fn new(bytes: &'a [u8]) -> Option<Icmp<'a>> {
        let fixed = bytes.first_chunk()?;
        Some(Icmp { fixed, bytes })
    }

    /// Type.
    pub fn icmp_type(&self) -> u8 {
        self.fixed[0]
    }

    /// Code.
    pub fn code(&self) -> u8 {
        self.fixed[1]
    }

    /// Checksum, as stated.
    pub fn checksum(&self) -> u16 {
        be16(self.fixed, 2)
    }

    /// The word whose meaning depends on the type: identifier and sequence
    /// number of an echo, MTU of "packet too big", …
    pub fn rest_of_header(&self) -> u32 {
        be32(self.fixed, 4)
    }

    /// What follows the first eight bytes.
    pub fn body(&self) -> &'a [u8] {
        &self.bytes[8..]
    }
}
