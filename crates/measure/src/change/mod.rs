//! Changes: keys whose traffic is not what the intervals before let expect.
//!
//! The search follows Krishnamurthy, Sen, Zhang and Chen, *Sketch-based Change
//! Detection: Methods, Evaluation, and Applications* (IMC 2003), as section 6.5
//! of the thesis lays it out in stages that overlap (figure 6.5):
//!
//! ```text
//!   update          forecast              detection
//!   packets ─▶ observed sketch ─▶ So - Sf = error sketch ─▶ keys are asked for:
//!   interval t      │               ▲     │                 |error| > T √F₂(Se)
//!                   └▶ Forecaster ──┘     └▶ √F₂ ─▶ T √F₂           │
//!                      Sf(t+1) …                                 Alarm
//! ```
//!
//! A sketch is linear in its stream and a [`Forecaster`] linear in its
//! observations, so what is computed cell by cell on [`crate::KAry`] sketches is
//! the sketch of every key's forecast and error: a [`Detector`] looks at
//! millions of keys in the memory of a few sketches. It answers for keys that it
//! is asked for; a [`KeySource`] says where these come from. The
//! [`ExactDetector`] keeps a forecaster for every key and is what sketches are
//! judged by.

mod alarm;
mod config;
mod detector;
mod difference;
mod exact;
mod fit;
mod forecast;
mod key_log;
mod linear;
mod model;
mod part;
mod sample;
mod search;
mod watch;

pub use alarm::{Alarm, ChangeReport, SearchState};
pub use config::{ChangeConfig, ChangeError, KeySource, KeySourceError, Rule};
pub use detector::{Detector, Search};
pub use difference::{Difference, DifferenceError, KeyChange, NOISE_DEVIATIONS};
pub use exact::ExactDetector;
pub use fit::{Fit, FitError, fit};
pub use forecast::{Forecaster, UnlikeError};
pub use linear::Linear;
pub use model::{MAX_WINDOW, Model, ModelError};
pub(crate) use part::ChangePart;
pub use sample::Source;
pub(crate) use sample::{Sample, draw};
pub(crate) use watch::{Watch, Watched};
