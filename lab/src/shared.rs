//! What all models share: the interface of a model, parameters with sources,
//! sweeps, published values and their comparison, reports; events in the order of
//! time, random numbers and statistics for simulators; work on all cores. Nothing
//! here knows a model, and these modules do not import each other in cycles.

pub mod events;
pub mod model;
pub mod parallel;
pub mod parameters;
pub mod random;
pub mod report;
pub mod reproduce;
pub mod statistics;
pub mod sweep;
