//! Stages of pipelines, over captures and between live ports.
//!
//! ```text
//!  plain  packet ── FilterStage ── ProtectStage ──► secure packet
//!                   P_Keys of the   epochs from
//!                   sending node    the ledger
//!
//!  secure packet ── UnprotectStage ──► packet
//!                   windows from the ledger
//! ```
//!
//! A [`FabricFile`](crate::secure::FabricFile) becomes [`SendingKeys`] and [`ReceivingKeys`], which
//! the stages of all workers share. Each queue pair belongs to one worker, which has its keys; the
//! steering of the stages brings its packets there.
//!
//! No file of `weir-stream` names these stages: they register their drop reasons, parts of the work and
//! events with the vocabulary of their pipeline.

mod by_flow;
mod epochs;
mod error;
mod filter;
mod flow_windows;
mod protect;
mod records;
mod report;
mod steering;
mod unprotect;
mod windows;
mod words;

pub use epochs::{Epochs, SendingKeys};
pub use error::FabricError;
pub use filter::{FilterCounts, FilterSettings, FilterStage};
pub use protect::ProtectStage;
pub use report::FlowReport;
pub use unprotect::UnprotectStage;
pub use windows::{ReceivingKeys, Windows};
pub use words::{ALARM, FILTER, PROTECT, StageDropReason, UNPROTECT};

/// Where packets come from and go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Files: packets wait for the ledger.
    Capture,
    /// Networks: packets that the ledger has not granted a number for yet are dropped.
    Live,
}
