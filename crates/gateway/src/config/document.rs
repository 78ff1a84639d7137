//! The configuration file as written.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;
#[cfg(test)]
use weir_reference::shapes;

use super::model::{
    FabricConfig, FabricFilterConfig, InspectConfig, IpsecConfig, MeasureConfig, ReportConfig,
    StageName,
};
use super::words::{one_or_many, some_one_or_many};
use crate::filter::FilterConfig;

/// Pipelines of `weir run`: where packets come from, which stages they pass, where they go.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Where packets come from, for one direction.
    pub input: Option<Input>,
    /// The stages of one direction, or a table per direction.
    #[cfg_attr(test, schemars(required))]
    pub pipeline: Option<Pipelines>,
    /// Where packets go, for one direction.
    pub output: Option<Output>,
    /// Ports, for several directions.
    #[serde(default)]
    pub port: Vec<Port>,
    /// The firewall; the stage `filter` needs it.
    pub filter: Option<FilterConfig>,
    /// The search for threats; the stage `inspect` needs it.
    pub inspect: Option<InspectConfig>,
    /// The measurement; the stage `measure` needs it.
    pub measure: Option<MeasureConfig>,
    /// IPsec; the stages `protect` and `unprotect` need it.
    pub ipsec: Option<IpsecConfig>,
    /// Secure InfiniBand and RoCEv2; the stages `fabric-protect` and `fabric-unprotect` need it.
    pub fabric: Option<FabricConfig>,
    /// P_Keys that nodes may send; the stage `fabric-filter` needs it.
    #[serde(rename = "fabric-filter")]
    pub fabric_filter: Option<FabricFilterConfig>,
    /// The report of the run.
    #[serde(default)]
    pub report: ReportConfig,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Port {
    /// Name for `from` and `to`.
    pub name: String,
    /// What the port is: capture files (`pcap`); a network `interface` beside the kernel's network
    /// stack (AF_PACKET), or in its place (`xdp`); an interface that the kernel routes to and that
    /// the port makes (`tun`); a socket for ESP in UDP (`udp`).
    pub kind: PortKind,
    /// `protect` and `fabric-protect` lead from plain to cipher, `unprotect` and `fabric-unprotect` back.
    pub side: Side,
    /// Captures to read, one after the other.
    #[serde(default, deserialize_with = "one_or_many")]
    #[cfg_attr(test, schemars(schema_with = "shapes::one_or_many::<PathBuf>"))]
    pub read: Vec<PathBuf>,
    /// Capture to write (`.pcapng` or `.pcap`).
    pub write: Option<PathBuf>,
    /// Network interface of a port of kind `interface`, `xdp` or `tun`. Required for these.
    pub interface: Option<String>,
    /// Address and port of this machine for a port of kind `udp`, as in `192.0.2.1:4500`. Required
    /// for it.
    pub address: Option<SocketAddr>,
    /// Whether a port of kind `interface` or `xdp` receives packets to any station.
    #[serde(default = "yes")]
    pub promiscuous: bool,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum PortKind {
    Pcap,
    Interface,
    Xdp,
    Tun,
    Udp,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum Side {
    Plain,
    Cipher,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Captures, read one after the other.
    #[serde(deserialize_with = "one_or_many")]
    #[cfg_attr(test, schemars(schema_with = "shapes::one_or_more::<PathBuf>"))]
    pub pcap: Vec<PathBuf>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Output {
    /// Capture to write (`.pcapng` or `.pcap`). Without `[output]`, packets are dropped at the end.
    pub pcap: PathBuf,
}

/// `[pipeline]` with stages of its own, or one `[pipeline.NAME]` per
/// direction.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Pipelines {
    /// Stages in order, each at most once. Required with `[input]`.
    #[serde(default, deserialize_with = "some_one_or_many")]
    #[cfg_attr(test, schemars(schema_with = "stages_schema"))]
    pub stages: Option<Vec<StageName>>,
    #[serde(flatten)]
    pub named: BTreeMap<String, NamedPipeline>,
}

/// A pipeline for one direction.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct NamedPipeline {
    /// Port to read.
    pub from: String,
    /// Port to write. Default: packets are dropped at the end.
    pub to: Option<String>,
    /// Stages in order, each at most once.
    #[serde(deserialize_with = "one_or_many")]
    #[cfg_attr(test, schemars(schema_with = "stages_schema"))]
    pub stages: Vec<StageName>,
}

/// Stages in order, each at most once.
#[cfg(test)]
fn stages_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let stage = generator.subschema_for::<StageName>();
    schemars::json_schema!({
        "anyOf": [stage, { "type": "array", "items": stage, "uniqueItems": true }]
    })
}
