//! ESP packets (RFC 4303), without queues and without ciphers: where the parts
//! lie, what is written in front of them, and what is checked behind them.
//!
//! ```text
//!   transport   link │ IP header, extensions │(UDP) ESP, IV │ payload    │ padding, trailer │ ICV
//!   tunnel      link │ outer IP              │(UDP) ESP, IV │ IP packet  │ padding, trailer │ ICV
//!                                             ───── AAD ──── ──────── plaintext ─────────── ─ tag
//! ```

mod decapsulate;
mod encapsulate;
#[cfg(test)]
mod gcm_vectors;
mod template;
mod trailer;

pub use decapsulate::{Arrival, Decapsulation};
pub use encapsulate::{Encapsulation, LateChecksum};
pub use template::{Format, Template};
pub use trailer::Trailer;

/// Bytes of SPI and sequence number.
pub const ESP_HEADER_BYTES: usize = 8;

/// Bytes of pad length and next header.
pub const TRAILER_BYTES: usize = 2;

/// ESP's plaintext ends on a multiple of 4 bytes (RFC 4303, section 2.4).
const ALIGNMENT_BYTES: usize = 4;
