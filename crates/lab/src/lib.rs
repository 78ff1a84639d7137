//! Models of machines, and the kernels that run on them.
//!
//! A kernel is written once, in the language of [`kernel`]; [`execute`] runs it
//! over clusters bit for bit, which proves it against known answers.
//! [`applications`] holds the kernels of the stream thesis (Lai, *Packet
//! Processing on Stream Architecture*, 2006).

pub mod applications;
pub mod execute;
pub mod kernel;
pub mod machine;
pub mod schedule;
