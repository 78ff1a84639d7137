//! Change detection: keys whose traffic deviates from its forecast.
//!
//! Fill one [`KAry`](crate::KAry) sketch per interval, pass each to [`Detector::observe`],
//! and query the keys of interest with [`Detector::change`]:
//!
//! ```
//! use weir_measure::change::{Detector, Rule};
//! use weir_measure::{KAry, Seed, Shape, Updater};
//!
//! let shape = Shape { rows: 5, width: 4096 };
//! let blank = KAry::for_bytes(shape, Seed::random()?)?;
//! let rule = Rule::new("ewma:0.5".parse()?);
//! let mut detector = Detector::new(&rule, blank.layout().clone())?;
//! for interval in 0..5 {
//!     let mut traffic = Updater::new(blank.empty_like());
//!     for host in 0..200u32 {
//!         traffic.update(&host.to_be_bytes(), 1_000);
//!     }
//!     if interval == 4 {
//!         traffic.update(&7u32.to_be_bytes(), 50_000);
//!     }
//!     detector.observe(traffic.sketch())?;
//! }
//! let key = |host: u32| detector.layout().byte_key(&host.to_be_bytes());
//! let (change, _score) = detector.change(&key(7)).ok_or("no change")?;
//! assert!((change.error - 50_000.0).abs() < 10_000.0);
//! assert!(detector.change(&key(8)).is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The algorithm follows Krishnamurthy, Sen, Zhang and Chen, *Sketch-based Change
//! Detection: Methods, Evaluation, and Applications* (IMC 2003), as section 6.5
//! of the thesis lays it out in stages that overlap (figure 6.5):
//!
//! ```text
//!   update          forecast              detection
//!   packets ─▶ observed sketch ─▶ So - Sf = error sketch ─▶ keys are queried:
//!   interval t      │               ▲     │                 |error| > T √F₂(Se)
//!                   └▶ Forecaster ──┘     └▶ √F₂ ─▶ T √F₂           │
//!                      Sf(t+1) …                                 Alarm
//! ```
//!
//! A sketch is linear in its stream and a [`Forecaster`] linear in its
//! observations, so what is computed cell by cell on [`crate::KAry`] sketches is
//! the sketch of every key's forecast and error: a [`Detector`] covers
//! millions of keys in the memory of a few sketches. It does not know which keys there
//! were; in a measurement a [`KeySource`] says which keys are queried. The
//! [`ExactDetector`] keeps a forecaster for every key and is the reference.

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
mod monitor;
mod part;
mod sample;
mod search;

pub use alarm::{Alarm, ChangeReport, SearchState};
pub use config::{ChangeConfig, ChangeError, KeySource, KeySourceError, Rule};
pub use detector::{Detector, Search};
pub use difference::{Difference, DifferenceError, KeyChange, NOISE_DEVIATIONS};
pub use exact::ExactDetector;
pub use fit::{Fit, FitError, fit};
pub use forecast::{Forecaster, UnlikeError};
pub use linear::Linear;
pub use model::{MAX_WINDOW, Model, ModelError};
pub(crate) use monitor::{ChangeMonitor, MonitoredInterval};
pub(crate) use part::ChangePart;
pub use sample::Source;
pub(crate) use sample::{Draws, Sample};
