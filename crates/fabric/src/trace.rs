//! Where the packets of a capture came from, by the marks that switches left in them.
//!
//! A [`TopologyMap`] says which node of which topology has which GID. [`Tracer`] takes packet after
//! packet, each as it arrived at its destination, and counts them by the source that their marks
//! name, beside the one that they claim. [`TraceStage`] does that to the packets of a pipeline.
//! Memory is bounded by [`ROUTES_MAX`].
//!
//! ```
//! use std::path::Path;
//! use weir_fabric::trace::{TopologyMap, Tracer};
//!
//! let map = "topology = \"mesh:4x4\"\n[nodes]\n\"fe80::2:c903:0:1\" = \"2,3\"";
//! let tracer = Tracer::new(TopologyMap::parse(Path::new("mesh.toml"), map)?);
//! assert_eq!(tracer.report().traced, 0);
//! # Ok::<(), weir_fabric::ConfigError>(())
//! ```

mod map;
mod report;
mod stage;
mod tracer;

pub use map::TopologyMap;
pub use report::{Report, RouteRow};
pub use stage::TraceStage;
pub use tracer::{ROUTES_MAX, Tracer, Untraced};

#[cfg(test)]
mod tests;
