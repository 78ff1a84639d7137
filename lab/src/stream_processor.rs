//! Stream processors: what a kernel or a program costs on a machine that a text
//! file describes, and how the values compare that the stream thesis (Lai,
//! *Packet Processing on Stream Architecture*, 2006) states.
//!
//! A kernel is written once, in the language of [`kernel`]. [`execute`] runs it
//! over clusters bit for bit, which tests it against known answers. [`schedule`]
//! compiles it for a [`machine`] and replays the instructions cycle by cycle.
//! [`stream`] runs whole programs of loads, stores and kernel calls; [`cost`]
//! computes the area of a machine and the energy of a run. A count of cycles
//! always belongs to a computation that was really done.
//!
//! ```
//! use weir_lab::stream_processor::kernel::{Builder, Over};
//! use weir_lab::stream_processor::machine::Machine;
//! use weir_lab::stream_processor::schedule::Schedule;
//!
//! // Each cluster squares the words of its records.
//! let mut k = Builder::new("squares");
//! let (words, squares) = (k.input("words", 1), k.output("squares", 1));
//! let over = Over::records(words).label("records").pipeline();
//! k.repeat(over, &[], |k, _| {
//!     let word = k.read(words)[0];
//!     let [low, _] = k.multiply_wide(word, word);
//!     k.write(squares, &[low]);
//!     vec![]
//! });
//! let kernel = k.finish()?;
//!
//! let machine = Machine::load("imagine", &[])?;
//! let schedule = Schedule::of(&kernel, &machine)?;
//! let block = schedule.block_of("records").expect("the loop");
//! // Iterations are pipelined: the next one starts before the multiplication of
//! // the last one is done.
//! assert!(block.steady_cycles() < block.bounds.critical_path);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`applications`] has the kernels and programs of the thesis, [`experiments`]
//! what it proposes without results, and `reproduce` the registry of its published values.

pub use model::StreamProcessor;

pub mod applications;
pub mod cost;
pub mod execute;
pub mod experiments;
pub mod failure;
pub mod kernel;
pub mod lengths;
pub mod machine;
mod model;
mod reproduce;
pub mod schedule;
pub mod stream;
mod workloads;
