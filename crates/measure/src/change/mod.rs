//! Changes.

mod forecast;
mod linear;
mod model;

pub use forecast::{Forecaster, UnlikeError};
pub use linear::Linear;
pub use model::{MAX_WINDOW, Model, ModelError};
