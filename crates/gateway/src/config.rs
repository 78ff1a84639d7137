//! Configurations: the file of `weir run`, and what its keys mean.
//!
//! ```toml
//! [[port]]                      # where packets come from and go to
//! name = "lan"
//! kind = "pcap"
//! side = "plain"
//! read = ["lan.pcapng"]
//!
//! [[port]]
//! name = "wan"
//! kind = "pcap"
//! side = "cipher"
//! write = "wan.pcapng"
//!
//! [pipeline.outbound]           # one per direction
//! from = "lan"
//! to = "wan"
//! stages = ["filter", "inspect", "measure", "protect"]
//! ```
//!
//! For one direction, `[input]`, `[pipeline]` and `[output]` are the short
//! form. Relative paths start at the folder of the file. `docs/configuration.md` has all keys, from
//! the comments of the fields here.

mod change;
mod document;
mod files;
mod load;
mod model;
mod resolve;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod value_shapes;
mod words;

pub use change::{Search, default_counters};
pub use model::{
    ChecksumsConfig, Config, FabricConfig, FabricFilterConfig, FilterScheme, HostOs, InspectConfig,
    IpsecConfig, LivePath, LivePortConfig, LivePortKind, MeasureConfig, Os, PipelineConfig,
    PortKeys, ReportConfig, StageName, VlansConfig,
};
pub use words::seconds;

#[cfg(test)]
mod tests;
