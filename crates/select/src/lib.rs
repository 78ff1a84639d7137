//! Packet classification: which of many selectors match a packet's addresses, protocol,
//! ports and interface, and which of them first.
//!
//! Use it for firewall filters, security policy databases (RFC 4301, section 4.4.1.1) and
//! rule headers. Describe each rule as a [`Selector`], build a [`Table`] of up to tens of
//! thousands of them, and look up the [`Tuple`] of each packet:
//!
//! ```
//! use weir_packet::wire::FlowKey;
//! use weir_select::{Selector, Table, Tuple};
//!
//! let web = Selector {
//!     source: "198.18.0.0/15".parse()?,
//!     protocol: "tcp".parse()?,
//!     destination_port: "[80,443]".parse()?,
//!     ..Selector::default()
//! };
//! let everything = Selector::default();
//! let table = Table::new(&[web, everything]);
//!
//! let packet = Tuple {
//!     key: FlowKey {
//!         source: 0xc612_0001,
//!         destination: 0xc000_0201,
//!         source_port: 49_152,
//!         destination_port: 443,
//!         protocol: 6,
//!         ip_version: 4,
//!     },
//!     interface: 0,
//!     ports_known: true,
//! };
//! assert_eq!(table.first(&packet), Some(0));
//! let mut matches = Vec::new();
//! table.all(&packet, &mut matches);
//! assert_eq!(matches, [0, 1]);
//! # Ok::<(), weir_select::SetError>(())
//! ```
//!
//! * A [`Selector`] is a conjunction of sets: [`AddressSet`] for source and
//!   destination, [`ProtocolSet`], [`PortSet`] for both ports, and an
//!   interface number. [`Selector::matches`] defines a match.
//! * [`Ranged`] is a compact form of the simplest selectors, without pointers to follow.
//! * A [`Tuple`] holds the fields of a packet that are compared.
//! * A [`Table`] returns exactly the matches of a scan with [`Selector::matches`].
//!
//! # Errors and panics
//!
//! Sets are parsed from the notation of rule files; a [`SetError`] names the word at fault:
//!
//! ```
//! use weir_select::{AddressSet, PortSet};
//!
//! let lan: AddressSet = "[10.0.0.0/8,!10.1.0.0/16,fd00::/8]".parse()?;
//! assert!(lan.contains(4, 0x0a00_0001));
//! assert!(!lan.contains(4, 0x0a01_0001));
//! let error = "[80,htpp]".parse::<PortSet>().unwrap_err();
//! assert_eq!(error.to_string(), r#""htpp" is not a port (0 to 65535) or a range of ports"#);
//! # Ok::<(), weir_select::SetError>(())
//! ```
//!
//! Nothing panics.

#![forbid(unsafe_code)]

mod address;
mod port;
mod protocol;
mod ranged;
mod ranges;
mod selector;
mod table;
mod words;

pub use address::AddressSet;
pub use port::PortSet;
pub use protocol::ProtocolSet;
pub use ranged::Ranged;
pub use selector::{Selector, Tuple};
pub use table::Table;
pub use words::SetError;
