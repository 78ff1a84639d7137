//! Models of machines, and the kernels that run on them.
//!
//! The stream processor: a kernel is written once, in the language of
//! [`kernel`]; [`execute`] runs it over clusters bit for bit, which proves it
//! against known answers; [`schedule`] makes instructions of it for a
//! [`machine`] that a text file describes, and replays them cycle by cycle;
//! [`stream`] runs whole programs of loads, stores and kernel calls; [`cost`]
//! says what a machine takes of a chip and a run of energy.
//! [`applications`] holds the kernels and programs of the stream thesis (Lai,
//! *Packet Processing on Stream Architecture*, 2006), named the thesis below.
//!
//! A count of cycles always belongs to a computation that was really done.

pub mod applications;
pub mod cost;
mod draw;
pub mod execute;
pub mod experiments;
pub mod failure;
pub mod kernel;
pub mod lengths;
pub mod machine;
pub mod parallel;
pub mod report;
pub mod reproduce;
pub mod schedule;
pub mod stream;
pub mod sweep;
