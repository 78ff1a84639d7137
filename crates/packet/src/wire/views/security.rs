//! ESP and AH.

use super::{be16, be32};

/// The part of an ESP packet that is in the clear at its start (RFC 4303,
/// section 2).
#[derive(Clone, Copy, Debug)]
pub struct Esp<'a> {
    fixed: &'a [u8; 8],
    bytes: &'a [u8],
}

impl<'a> Esp<'a> {
    /// `None` where the header is not whole.
    pub fn new(bytes: &'a [u8]) -> Option<Esp<'a>> {
        let fixed = bytes.first_chunk()?;
        Some(Esp { fixed, bytes })
    }

    /// Security parameters index.
    pub fn security_parameters_index(&self) -> u32 {
        be32(self.fixed, 0)
    }

    /// Sequence number, the low 32 bits of an extended one.
    pub fn sequence_number(&self) -> u32 {
        be32(self.fixed, 4)
    }

    /// Initialisation vector, ciphertext and integrity check value: how they
    /// divide only the security association knows.
    pub fn protected(&self) -> &'a [u8] {
        &self.bytes[8..]
    }
}

/// An Authentication Header (RFC 4302, section 2).
#[derive(Clone, Copy, Debug)]
pub struct Ah<'a> {
    fixed: &'a [u8; 12],
    bytes: &'a [u8],
}

impl<'a> Ah<'a> {
    /// `None` where the header is not whole.
    pub fn new(bytes: &'a [u8]) -> Option<Ah<'a>> {
        let fixed: &[u8; 12] = bytes.first_chunk()?;
        let view = Ah { fixed, bytes };
        let header_bytes = view.header_bytes();
        (header_bytes >= 12 && header_bytes <= bytes.len()).then_some(view)
    }

    /// Protocol of what follows.
    pub fn next_header(&self) -> u8 {
        self.fixed[0]
    }

    /// Length of the header in bytes; the field counts 32-bit words less two.
    pub fn header_bytes(&self) -> usize {
        (usize::from(self.fixed[1]) + 2) * 4
    }

    /// The reserved field.
    pub fn reserved(&self) -> u16 {
        be16(self.fixed, 2)
    }

    /// Security parameters index.
    pub fn security_parameters_index(&self) -> u32 {
        be32(self.fixed, 4)
    }

    /// Sequence number, the low 32 bits of an extended one.
    pub fn sequence_number(&self) -> u32 {
        be32(self.fixed, 8)
    }

    /// Integrity check value with its padding.
    pub fn integrity_check_value(&self) -> &'a [u8] {
        &self.bytes[12..self.header_bytes()]
    }

    /// What follows the header.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_bytes()..]
    }
}
