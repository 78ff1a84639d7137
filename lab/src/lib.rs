//! Models of machines that process packets: what a program costs on a machine
//! that a text file describes, and how published results compare.
//!
//! Each model has a folder: [`stream_processor`]. What models share is in
//! [`shared`], which knows none of them. The commands know the models of
//! [`models`].

pub mod shared;
pub mod stream_processor;

use shared::model::Model;

/// All models.
pub fn models() -> Vec<&'static dyn Model> {
    vec![&stream_processor::StreamProcessor]
}
