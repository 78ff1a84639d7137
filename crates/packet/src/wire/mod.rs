//! Wire formats, parsed in place without copying.
//!
//! [`Headers`] finds, in one pass over a record, where the network header, the
//! transport header and the payload are, and records what is malformed.
//! It is computed once per record; all later code uses its offsets, which are known to lie
//! inside the record. [`FlowKey`] identifies the flow of a packet, and [`KeyKind`] selects
//! a part of it. [`Headers::inner`] parses the packet inside a tunnel. [`views`] read single
//! headers field by field, [`build`] writes packets, and [`reply`] answers them.

pub mod build;
mod checksum;
mod community;
mod flow;
mod headers;
mod link;
pub mod protocol;
pub mod reply;
mod tunnel;
pub mod views;

pub use checksum::{Checksum, internet_checksum};
pub use flow::{FlowKey, Ipv4Flow, KeyKind, KeyKindError, PrefixLengths};
pub use headers::{Fault, Fragment, Headers, Network};
pub use link::{LinkType, Shim};
