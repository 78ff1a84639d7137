//! Wire formats: what a packet's bytes say, read without copying.
//!
//! [`Headers`] finds, in one pass over a record, where the network header, the
//! transport header and the payload lie, and notes what is wrong with them.
//! It is computed once per record, at the edge; everything behind it works
//! with offsets that are known to lie inside the record. [`FlowKey`] names the
//! flow that a packet belongs to, and [`KeyKind`] the part of it that matters.
//! [`Headers::inner`] goes one tunnel deeper. [`views`] read single headers
//! field by field, and [`build`] writes packets.

pub mod build;
mod checksum;
mod flow;
mod headers;
mod link;
pub mod protocol;
mod tunnel;
pub mod views;

pub use checksum::{Checksum, internet_checksum};
pub use flow::{FlowKey, Ipv4Flow, KeyKind, KeyKindError, PrefixLengths};
pub use headers::{Fault, Fragment, Headers, Network};
pub use link::{LinkType, Shim};
