//! What all models share: the interface of a model, parameters with sources,
//! published values and their comparison, random numbers, reports, and work on all
//! cores. Nothing here knows a model.

pub mod model;
pub mod parallel;
pub mod parameters;
pub mod random;
pub mod report;
pub mod reproduce;
pub mod sweep;
