//! IPsec ESP: associations, policies, anti-replay, and the gateway stages.
//!
//! The crate protects and unprotects packets of a [`weir_stream`] pipeline with ESP (RFC 4303)
//! under static keys. An [`SaFile`] states what is protected, how, and with which keys.
//! It becomes [`Databases`], which all shards share, and stages, of which each shard has
//! an instance, since an association and its counter belong to one shard:
//!
//! ```text
//!  outbound  packet ── ClassifyOutbound ── … ── Protect ──► ESP packet
//!                       SPD: protect,            SA: number, headers,
//!                       bypass, discard          padding; one seal() a batch
//!
//!  inbound   ESP ───── ClassifyInbound ── Unprotect ── … ──► packet
//!                       SAD: SPI,                SA: window, one open() a batch,
//!                       destination              padding, selectors
//! ```
//!
//! The core below the stages knows no batches and no ciphers. `esp` composes and checks ESP
//! packets; `outer`, `header`, `chain`, `link`, `ecn` and `nat_t` handle the headers around them.
//! [`ReplayWindow`] and [`sequence`] handle sequence numbers, `policy` and `sad` are the databases
//! of RFC 4301, `lifetime` limits the use of a key; its numbers are kept across crashes by [`weir_ledger`]. A bad packet is never an error: it is dropped with a [`DropReason`].
//!
//! ```
//! use std::path::Path;
//! use weir_ipsec::{ClassifyOutbound, Output, SaFile, Sequences};
//! use weir_packet::wire::LinkType;
//! use weir_stream::{MemorySource, Pipeline};
//!
//! let text = r#"
//!     [[sa]]
//!     name = "to-branch"
//!     spi = 0x1000
//!     suite = "aes-128-gcm-16"
//!     key = "00112233445566778899aabbccddeeff 01020304"
//!     mode = "tunnel"
//!     tunnel = { source = "198.18.0.1", destination = "198.18.0.2" }
//!
//!     [[policy]]
//!     destination = "198.18.2.0/24"
//!     action = "protect"
//!     sa = "to-branch"
//! "#;
//! let file = SaFile::parse(Path::new("sa.toml"), text)?;
//! let classify = ClassifyOutbound::new(file.databases().clone());
//! let mut shards = file.protect(&Sequences::RepeatableInsecure, Output::Capture, 1)?;
//!
//! let packet = [
//!     0x45, 0, 0, 20, 0, 0, 0, 0, 64, 1, 0, 0, 198, 18, 1, 1, 198, 18, 2, 1,
//! ];
//! let outcome = Pipeline::new(MemorySource::new(LinkType::RawIp, &[packet]))
//!     .stage(classify)
//!     .stage(shards.remove(0))
//!     .run()?;
//! // Outer header, ESP header and IV, packet, padding and trailer, ICV.
//! assert_eq!(outcome.statistics.forwarded_bytes(), 20 + 16 + 20 + 4 + 16);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod affinity;
mod chain;
mod change;
mod config;
mod databases;
mod ecn;
mod error;
mod esp;
mod fingerprint;
mod fragments;
mod gateway;
mod header;
mod inbound;
mod lifetime;
mod link;
mod nat_t;
mod numbers;
mod outbound;
mod outer;
mod policy;
mod reason;
mod replay;
mod report;
mod running;
mod sa;
mod sad;
pub mod sequence;
mod slots;
mod stage;

pub use config::{ConfigError, LoadOptions, SaFile, WiresharkKeys};
pub use databases::Databases;
pub use error::GatewayError;
pub use lifetime::{Lifetime, Quota};
pub use nat_t::UdpPorts;
pub use numbers::{Output, Sequences, Windows};
pub use outer::{DontFragment, Dscp, FlowLabel, Tunnel, TunnelEnds};
pub use policy::{
    Action, Defaults, Direction, LinkProtocolError, LinkProtocols, Policy, Spd, Unmatched, Verdict,
};
pub use reason::DropReason;
pub use replay::ReplayWindow;
pub use report::{AssociationReport, Drops, Traffic};
pub use running::{PresentAssociation, ReplaceError, Replaced, Running, Which};
pub use sa::{Mode, Parameters, SaDirection};
pub use sad::Sad;
pub use stage::{
    ClassifyInbound, ClassifyOutbound, PROTECT, Protect, SOFT_LIFETIME, UNPROTECT, Unprotect,
};
// An SA file's numbers come from a ledger, so its callers name these too.
pub use weir_ledger::{LedgerError, NewKeys};
