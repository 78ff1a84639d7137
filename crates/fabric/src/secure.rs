//! Secure packets: authentication in place of the ICRC.
//!
//! The format is in `docs/fabric-format.md`. A packet keeps its size: its payload is encrypted, and
//! the first 32 bits of the tag stand where the ICRC stood ([`Algorithm::Gcm32`]). Packets that the
//! protocol repeats with other contents are authenticated only ([`Algorithm::Cmac32`]). Where a
//! number of a packet was used for another packet, the packet grows and carries a number and a tag
//! of its own ([`Algorithm::Gcm128`]).
//!
//! Source: M. Lee, chapter III, sections E.1, E.2 and F.

mod batch;
mod config;
mod derive;
mod flow;
mod flows;
mod format;
mod memory;
mod place;
mod reason;
mod receive_from;
mod receiver;
mod sender;
mod session;
mod slots;
mod unlisted;

pub use batch::{Batch, Places};
pub use config::{
    Direction, FabricFile, LoadError, OtherPackets, Partition, QueuePair, ReadSecret,
};
pub use derive::{Address, Endpoint, Secret, SecretLength, SenderKeys, SessionRandom};
pub(crate) use flow::partition;
pub use flow::{ExtendedMode, Flow, FlowError, Mode, PlainPolicy, Timestamps};
pub use flows::FlowId;
pub(crate) use format::is_reliable;
pub use format::{Algorithm, EPOCH_END};
pub use memory::NodeEpochs;
pub(crate) use place::addresses;
pub use reason::DropReason;
pub use receive_from::ReceiveFrom;
pub use receiver::{Alarm, AlarmCause, Note, Receiver, TagLimits};
pub use sender::Sender;
pub use session::{SealedSessionKey, SessionKey, SessionKeyError, SessionSecrets, SetUp};
pub use unlisted::Unlisted;
