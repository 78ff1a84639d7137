//! The kernel language: a kernel is a program that all clusters run in lock
//! step over the records of streams, and it is data, so that it can be
//! printed, counted, executed and scheduled.
//!
//! After the thesis's KernelC (Lai 2006, 2.3.2): words of 32 bits, streams of
//! records in and out, loops with carried values, scratchpad arrays, indexed
//! streams, communication between clusters, scalars of the microcontroller.
//! There are no branches: clusters choose by `select`.
//!
//! A kernel is written with a [`Builder`], which finds errors of type, range
//! and scope and names the line of the program that made them:
//!
//! ```
//! use weir_lab::stream_processor::kernel::{Builder, Over};
//!
//! let mut k = Builder::new("sum");
//! let numbers = k.input("numbers", 2);
//! let sums = k.output("sums", 1);
//! k.repeat(Over::records(numbers), &[], |k, _| {
//!     let record = k.read(numbers);
//!     let sum = k.add(record[0], record[1]);
//!     k.write(sums, &[sum]);
//!     vec![]
//! });
//! let kernel = k.finish()?;
//! assert_eq!(kernel.counts().of("add"), 1);
//! # Ok::<(), weir_lab::stream_processor::kernel::BuildError>(())
//! ```

use std::fmt;

pub use build::{BuildError, Builder, Cause};
pub use count::Counts;
pub use loops::Over;
pub use opcode::{Addressing, Class, Opcode, Type};

mod build;
mod count;
mod loops;
mod opcode;
mod print;
mod prune;
pub mod text;
mod unroll;
mod words;

macro_rules! identifiers {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// Its place in the kernel's list.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

identifiers! {
    /// A value of a kernel: one word per cluster.
    Value
    /// An input stream.
    InputId
    /// An output stream.
    OutputId
    /// A scratchpad array.
    ArrayId
    /// An indexed stream.
    IndexedId
    /// A scalar that the host gives.
    ScalarId
}

/// Where an operation was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a program, by calls of a [`Builder`].
    Code {
        /// The file.
        file: &'static str,
        /// The line.
        line: u32,
    },
    /// In the [text] of a kernel.
    Text {
        /// The line, from 1.
        line: u32,
        /// The column in characters, from 1.
        column: u32,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Code { file, line } => {
                let name = file.rsplit('/').next().unwrap_or(file);
                write!(f, "{name}:{line}")
            }
            Place::Text { line, column } => write!(f, "line {line}, column {column}"),
        }
    }
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub code: Opcode,
    /// Its operands.
    pub args: Vec<Value>,
    /// What it defines: none, one or two values.
    pub results: Vec<Value>,
    /// Where it was written.
    pub place: Place,
}

/// A sequence of operations without a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// In the order of the program.
    pub ops: Vec<Op>,
}

/// How often a loop runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trip {
    /// Until an input stream has no more records; each iteration takes
    /// `per_iteration` of them in each cluster.
    Records {
        /// The stream.
        stream: InputId,
        /// Records that each cluster reads in one iteration.
        per_iteration: u32,
    },
    /// A fixed number of times.
    Count(u32),
    /// As often as a scalar says.
    Scalar(ScalarId),
}

/// A value that a loop carries from one iteration to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Its value before the first iteration.
    pub before: Value,
    /// The name under which an iteration sees it.
    pub inside: Value,
    /// Its value for the next iteration.
    pub next: Value,
    /// The name under which the code after the loop sees the last one.
    pub after: Value,
}

/// A loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Its name in reports.
    pub label: String,
    /// How often it runs.
    pub trip: Trip,
    /// What it carries.
    pub carried: Vec<Carried>,
    /// What an iteration does.
    pub body: Vec<Node>,
    /// Whether iterations may overlap (the hint `PIPELINE`).
    pub pipeline: bool,
    /// Where it was written.
    pub place: Place,
}

/// A part of a kernel's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Straight-line code.
    Block(Block),
    /// A loop.
    Loop(Loop),
}

/// A stream that a kernel reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamPort {
    /// Its name.
    pub name: String,
    /// Words in a record.
    pub record_words: u32,
}

/// Where the words of a scratchpad array are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// In one scratchpad of the cluster, counted from 0, modulo how many there
    /// are.
    Unit(u32),
    /// In every scratchpad of the cluster, so that any of them serves a read;
    /// a write goes to all.
    Every,
}

/// A scratchpad array. Arrays of one name are the same array in all kernels
/// of a program and keep their words between kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Its name.
    pub name: String,
    /// Words in each cluster.
    pub words: u32,
    /// Where they are.
    pub placement: Placement,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    name: String,
    types: Vec<Type>,
    inputs: Vec<StreamPort>,
    outputs: Vec<StreamPort>,
    indexed: Vec<String>,
    arrays: Vec<Array>,
    scalars: Vec<String>,
    body: Vec<Node>,
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it does, top to bottom.
    pub fn body(&self) -> &[Node] {
        &self.body
    }

    /// The streams that it reads.
    pub fn inputs(&self) -> &[StreamPort] {
        &self.inputs
    }

    /// The streams that it writes.
    pub fn outputs(&self) -> &[StreamPort] {
        &self.outputs
    }

    /// The streams that it indexes.
    pub fn indexed(&self) -> &[String] {
        &self.indexed
    }

    /// Its scratchpad arrays.
    pub fn arrays(&self) -> &[Array] {
        &self.arrays
    }

    /// The scalars that the host gives.
    pub fn scalars(&self) -> &[String] {
        &self.scalars
    }

    /// How many values it names.
    pub fn value_count(&self) -> usize {
        self.types.len()
    }

    /// The type of a value.
    pub fn type_of(&self, value: Value) -> Type {
        self.types[value.index()]
    }

    /// How many operations of each kind the program holds.
    pub fn counts(&self) -> Counts {
        Counts::of_nodes(&self.body)
    }
}

#[cfg(test)]
mod tests;
