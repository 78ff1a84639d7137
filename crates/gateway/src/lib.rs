//! From a configuration to packets on their way: everything that the command `weir` does with
//! packet streams, for other programs.
//!
//! A [`Config`] names ports, and a pipeline of stages for each direction. [`Gateway::from_config`]
//! loads rules and security associations, opens the ports, and builds the stages; [`Gateway::run`]
//! runs them to the end and returns a [`Report`]. A [`Handle`] stops, reloads and watches the gateway
//! from other threads. What is worth logging goes to `tracing`; this crate prints nothing and handles no
//! signals.
//!
//! The parts are public too: sources and sinks of captures ([`open`], [`create`]), rule files that
//! can be loaded again ([`RuleSource`]), the outputs of measurements ([`Outputs`]), recordings
//! ([`Recorder`]) and captures that are sent ([`Sender`]).
//!
//! ```
//! use std::path::Path;
//!
//! use weir_gateway::{Config, Gateway, Options};
//!
//! # let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
//! let file = examples.join("sensor.toml");
//! let text = "[input]\npcap = \"traffic.pcapng\"\n\
//!             [pipeline]\nstages = \"inspect\"\n\
//!             [inspect]\nrules = \"example.rules\"\n";
//! let gateway = Gateway::from_config(Config::parse(&file, text)?, &Options::default())?;
//! let finished = gateway.run()?;
//! assert_eq!(finished.report.traffic.read.packets, 3_564);
//! assert_eq!(finished.report.alerts, 12);
//! # Ok::<(), weir_gateway::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod associations;
mod captures;
pub mod config;
mod control;
mod error;
mod execution;
pub mod fabric;
mod files;
mod filter;
mod gateway;
mod inspected;
mod live;
mod measured;
mod metrics;
#[cfg(target_os = "linux")]
mod pace;
mod pipelines;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
mod recording;
mod reopen;
#[cfg(target_os = "linux")]
mod replay;
mod report;
mod results;
mod rules;
mod sa_status;
mod status;
mod traffic;

pub use associations::AssociationRow;
pub use captures::{Watched, create, open};
pub use config::Config;
pub use control::{
    AddSa, ControlClient, ControlSocket, RemoveSa, Request, SaDirection, default_socket,
};
pub use error::{Cause, Error, Result};
pub use execution::{Execution, execute};
pub use fabric::{FabricResults, QueuePairRow};
pub use filter::{
    Action, DropReason, FilterConfig, FilterRule, FilterStage, LiveFilter, RuleCount,
};
pub use gateway::{Checked, Finished, Gateway, Handle, Options};
pub use inspected::MetricsFile;
pub use measured::{Outputs, Places, Recent};
pub use metrics::{MetricsEndpoint, metrics_address};
#[cfg(target_os = "linux")]
pub use pace::Rate;
#[cfg(target_os = "linux")]
pub use record::{Counts, Recorder};
#[cfg(target_os = "linux")]
pub use recording::{Recorded, RecordedFile, Recording, Rotation};
pub use reopen::Reopen;
#[cfg(target_os = "linux")]
pub use replay::{Sender, SenderCounts};
pub use report::{PipelineRow, Report};
pub use rules::{LoadedRules, RuleSource};
pub use sa_status::{AddedSas, RemovedSa, SaLifetime, SaQuota, SaStatus};
pub use status::{
    AssociationsStatus, BalanceStatus, InspectionStatus, QueueStatus, ReceivedStatus, Reloaded,
    ReloadedAssociations, ReloadedRules, SentStatus, Status,
};
pub use traffic::{Latency, Traffic};
