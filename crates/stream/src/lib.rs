//! The frame that runs kernels over packets.
//!
//! Packets are *records* of a stream. A [`Batch`] holds up to 256 of them in
//! arrival order, their metadata as a structure of arrays, and every step of
//! the work is a [`Stage`] that is handed one whole batch at a time: sources
//! fill it, kernels read and rewrite it, sinks write it out. A [`Pipeline`]
//! runs a source, one chain of stages per *shard* and the sinks, each batch to
//! completion before the next. Each stage says which records must come to one
//! shard ([`Steering`]); where consecutive stages need different steering,
//! records are handed over between the shards.
//!
//! ```text
//!            ┌ shard 0: stage → stage ┐     ┌ stage → … ┐
//!  source ─ steer                      steer             sinks  (several shards)
//!            └ shard 1: stage → stage ┘     └ stage → … ┘
//!
//!  source → stage → stage → … → sinks                   (one shard, one thread)
//! ```
//!
//! The frame knows no protocol. Each crate declares what its stages call things:
//! its drop reasons ([`drop_reasons!`]), kinds of events, and parts of a record's
//! [`Work`]. Stages enter these words into the [`Vocabulary`] of their pipeline when it
//! is built, where every word gets a number and two with one name are an error.
//!
//! Nothing is lost in silence: each record ends with a [`Disposition`], each
//! drop has a [`DropCode`], and at the end of every run
//! `packets + created = forwarded + drops + held + absorbed` is checked
//! ([`Statistics::check_conservation`]).
//!
//! A custom stage is one short file: see `examples/own_stage.rs`. Capture files are sources and
//! sinks of the crate `weir-capture`.

#![forbid(unsafe_code)]

mod arrival;
mod batch;
mod chain;
mod context;
mod disposition;
mod egress;
mod error;
mod event;
mod latency;
mod live;
mod mailbox;
mod memory;
mod meters;
mod pipeline;
mod pool;
mod queue_meter;
mod ring;
mod running;
mod stage;
mod statistics;
mod steering;
mod stop;
mod vocabulary;
mod word;
mod work;
mod worker;

pub use arrival::{Arrival, CaptureClock};
pub use batch::{
    BATCH_RECORDS, Batch, BatchFull, BatchLimits, Copies, CopyShape, HeldRecord, OuterHeader,
    RecordCopy, RecordRow,
};
pub use context::Context;
pub use disposition::{Disposition, DropCode, DropCodes, DropReason, MAX_DROP_REASONS};
pub use egress::{Egress, MAX_PORTS};
pub use error::PipelineError;
pub use event::{Event, EventKind, Members};
pub use live::Live;
pub use mailbox::{Commands, Mailbox, MailboxFull};
pub use memory::MemorySource;
pub use meters::Meters;
pub use pipeline::{Pipeline, run_side_by_side};
pub use queue_meter::QueueReading;
pub use ring::{Received, RingReceiver, RingSender, ring};
pub use running::{Outcome, Running};
pub use stage::{Stage, StageError};
pub use statistics::{Conservation, ReadCounters, Statistics};
pub use steering::{Steering, SteeringRule};
pub use stop::StopFlag;
pub use vocabulary::{Vocabulary, VocabularyError};
pub use word::Word;
pub use work::{MAX_WORK_ARGUMENTS, MAX_WORK_BITS, Work, WorkArgument, WorkBit};
pub use worker::{Boundary, ControlPacket, FrameDrop, LivePort, LiveReport, StageFactory};
