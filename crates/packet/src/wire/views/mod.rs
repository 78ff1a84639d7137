//! Views: a header's fields by their names in the RFCs, read in place.
//!
//! A view is made from the bytes that start at the header and may go on
//! behind it. It exists only if the header is whole, by its own length field
//! where it has one; reading a field cannot fail after that.

mod network;
mod security;
mod transport;
mod tunnel;

pub use network::{Ipv4, Ipv6};
pub use security::{Ah, Esp};
pub use transport::{Icmp, Sctp, Tcp, TcpOption, TcpOptions, Udp};
pub use tunnel::{EnhancedGre, Erspan, Geneve, Gre, Nsh, Pppoe, Vxlan};

/// Two bytes of a header.
fn be16<const N: usize>(header: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([header[at], header[at + 1]])
}

/// Four bytes of a header.
fn be32<const N: usize>(header: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

#[cfg(test)]
mod tests;
