//! Selector tables: which rules do a packet's addresses, protocol, ports and
//! interface meet, and which of them first.
//!
//! The firewall filter, the IPsec security policy database (RFC 4301, section
//! 4.4.1.1), the rule headers of the inspection engine and the classifier all
//! ask this question, and all of them ask it here.
//!
//! * A [`Selector`] is a conjunction of sets: [`AddressSet`] for source and
//!   destination, [`ProtocolSet`], [`PortSet`] for both ports, and an
//!   interface. [`Selector::matches`] is the definition of a match.
//! * [`Ranged`] is the same for the simplest selectors, without pointers to follow.
//! * A [`Tuple`] is what of a packet is looked at.
//! * A [`Table`] answers for up to tens of thousands of selectors at once,
//!   and answers exactly as a scan over [`Selector::matches`] would.
//!
//! Sets are read from the words that people and rule files write:
//!
//! ```
//! use weir_select::{AddressSet, PortSet};
//! let lan: AddressSet = "[10.0.0.0/8,!10.1.0.0/16,fd00::/8]".parse()?;
//! assert!(lan.contains(4, 0x0a00_0001));
//! assert!(!lan.contains(4, 0x0a01_0001));
//! let high: PortSet = "1024-65535".parse()?;
//! assert!(high.contains(4711));
//! let error = "[80,htpp]".parse::<PortSet>().unwrap_err();
//! assert_eq!(error.to_string(), r#""htpp" is not a port (0 to 65535) or a range of ports"#);
//! # Ok::<(), weir_select::SetError>(())
//! ```

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
