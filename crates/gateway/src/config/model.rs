//! Configurations that were checked.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::Deserialize;
use weir_inspect::{Checksums, FlowLimits, HostPolicy, InspectOptions, Overlap, Vlans};
use weir_measure::Value;
use weir_packet::wire::KeyKind;
#[cfg(test)]
use weir_reference::shapes;
use weir_select::AddressSet;

use super::change::Search;
#[cfg(test)]
use super::value_shapes;
use super::words::{from_text, one_or_many};
use crate::filter::FilterConfig;
use crate::measured::Places;

/// A checked configuration: every pipeline has its files and stages, every
/// stage its settings, every path its folder.
#[derive(Clone)]
pub struct Config {
    /// The file itself.
    pub path: PathBuf,
    /// The directions.
    pub pipelines: Vec<PipelineConfig>,
    /// The live ports of these.
    pub ports: Vec<LivePortConfig>,
    /// The firewall.
    pub filter: Option<FilterConfig>,
    /// The search for threats.
    pub inspect: Option<InspectConfig>,
    /// The measurement.
    pub measure: Option<MeasureConfig>,
    /// Security associations and their state.
    pub ipsec: Option<IpsecConfig>,
    /// Secure InfiniBand and RoCEv2.
    pub fabric: Option<FabricConfig>,
    /// P_Keys that nodes may send.
    pub fabric_filter: Option<FabricFilterConfig>,
    /// Where the report goes.
    pub report: ReportConfig,
    /// What cannot change while the gateway runs.
    pub(super) frame: toml::Table,
    /// Whether it was read from the file.
    pub(super) is_from_file: bool,
}

impl Config {
    /// Pipelines that inspect.
    pub fn inspecting_pipelines(&self) -> usize {
        let inspects = |pipeline: &&PipelineConfig| pipeline.stages.contains(&StageName::Inspect);
        self.pipelines.iter().filter(inspects).count()
    }
}

/// One direction.
#[derive(Clone, Debug)]
pub struct PipelineConfig {
    /// Its name.
    pub name: String,
    /// The port that it leads from; `input` in the short form.
    pub from: String,
    /// The port that it leads to; `output` in the short form.
    pub to: Option<String>,
    /// Captures to read, one after the other.
    pub read: Vec<PathBuf>,
    /// Capture to write.
    pub write: Option<PathBuf>,
    /// Its live ports; nothing where it leads from captures to a capture.
    pub live: Option<LivePath>,
    /// Stages in order.
    pub stages: Vec<StageName>,
}

/// Where the packets of a live pipeline come from and go to, by the places of ports in
/// [`Config::ports`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LivePath {
    /// The port that is received from.
    pub from: usize,
    /// The port that is sent to; without one, packets are dropped at the end.
    pub to: Option<usize>,
}

/// A live port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivePortConfig {
    /// Its name in the configuration.
    pub name: String,
    /// How its packets are received and sent.
    pub kind: LivePortKind,
    /// The network interface; empty for a UDP socket.
    pub interface: String,
    /// The address of a UDP socket.
    pub address: Option<SocketAddr>,
    /// Whether packets of any destination are received.
    pub promiscuous: bool,
}

/// How packets of a live port are received and sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LivePortKind {
    /// Beside the kernel's network stack, by packet sockets (AF_PACKET).
    Interface,
    /// In the place of the kernel's network stack, by AF_XDP.
    Xdp,
    /// What the kernel's network stack sends to an interface that the port makes.
    Tun,
    /// Datagrams of a UDP socket, with the headers that they have on the wire.
    Udp,
}

/// The stages that a pipeline may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the tables that they name describe them")]
pub enum StageName {
    Filter,
    Inspect,
    Measure,
    Protect,
    Unprotect,
    FabricFilter,
    FabricProtect,
    FabricUnprotect,
}

impl StageName {
    /// Its name in the file.
    pub(super) fn name(self) -> &'static str {
        match self {
            StageName::Filter => "filter",
            StageName::Inspect => "inspect",
            StageName::Measure => "measure",
            StageName::Protect => "protect",
            StageName::Unprotect => "unprotect",
            StageName::FabricFilter => "fabric-filter",
            StageName::FabricProtect => "fabric-protect",
            StageName::FabricUnprotect => "fabric-unprotect",
        }
    }

    /// The table that holds the stage's settings.
    pub(super) fn table(self) -> &'static str {
        match self {
            StageName::Filter => "filter",
            StageName::Inspect => "inspect",
            StageName::Measure => "measure",
            StageName::Protect | StageName::Unprotect => "ipsec",
            StageName::FabricFilter => "fabric-filter",
            StageName::FabricProtect | StageName::FabricUnprotect => "fabric",
        }
    }
}

/// `[inspect]`
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct InspectConfig {
    /// Rule files.
    #[serde(deserialize_with = "one_or_many")]
    #[cfg_attr(test, schemars(schema_with = "shapes::one_or_many::<PathBuf>"))]
    pub rules: Vec<PathBuf>,
    /// Whether rule files without a rule are accepted.
    #[serde(default)]
    pub allow_empty: bool,
    /// A `classification.config` of Suricata or Snort: category and priority of the rules' classes.
    /// Default: the classes of both.
    pub classification: Option<PathBuf>,
    /// Rule variables, as in `{ HOME_NET = "[192.0.2.0/24]" }`. Default: HOME_NET is the private
    /// networks.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Whether rules with the actions `drop` and `reject` [stop packets](inspect.md#inline).
    #[serde(default)]
    pub inline: bool,
    /// Whether packets with [wrong checksums](inspect.md#what-a-receiver-takes) are left out: no
    /// host takes them.
    #[serde(default)]
    pub checksums: ChecksumsConfig,
    /// Whether equal addresses in several VLANs, or in several networks of VXLAN, Geneve and NVGRE, are
    /// different hosts. `"ignore"` where the two directions of a flow have different tags.
    #[serde(default)]
    pub vlans: VlansConfig,
    /// Most flows that are kept, by all workers together.
    #[serde(default = "default_flows")]
    pub flows: NonZeroU32,
    /// Most MiB of streams and messages that are kept, by all workers together.
    #[serde(default = "default_stream_mib")]
    pub stream_mib: NonZeroU32,
    /// Most MiB that one direction of a connection keeps behind a gap; more give up what is missing.
    #[serde(default = "default_gap_mib")]
    pub gap_mib: NonZeroU32,
    /// Hosts that keep overlapping segments and fragments otherwise than Linux does.
    #[serde(default, rename = "host-os")]
    pub host_os: Vec<HostOs>,
    /// Most [anomalies](inspect.md#anomalies) of each kind per second and worker that are written beside
    /// the alerts.
    #[serde(default)]
    pub anomalies_per_second: u32,
    /// Where alerts go, as EVE JSON lines, appended; SIGHUP reopens the file.
    pub alerts: Option<PathBuf>,
    /// A file of [metrics](metrics.md) that is kept up to date.
    pub prometheus: Option<PathBuf>,
}

impl InspectConfig {
    /// How packets are inspected, where `inspectors` share what all may keep.
    pub fn options(&self, inspectors: usize) -> InspectOptions {
        let limits = FlowLimits {
            flows: self.flows.get() as usize,
            stream_bytes: bytes_of_mib(self.stream_mib),
            ahead_bytes: bytes_of_mib(self.gap_mib),
            ..FlowLimits::default()
        };
        InspectOptions {
            limits: limits.shared_by(inspectors),
            is_inline: self.inline,
            checksums: match self.checksums {
                ChecksumsConfig::Verify => Checksums::Verify,
                ChecksumsConfig::Ignore => Checksums::Ignore,
            },
            vlans: match self.vlans {
                VlansConfig::Separate => Vlans::Separate,
                VlansConfig::Ignore => Vlans::Ignore,
            },
            policies: self.host_os.iter().map(HostOs::policy).collect(),
            anomalies_per_second: self.anomalies_per_second,
        }
    }
}

fn bytes_of_mib(mib: NonZeroU32) -> usize {
    usize::try_from(u64::from(mib.get()) << 20).unwrap_or(usize::MAX)
}

const fn not_zero(number: u32) -> NonZeroU32 {
    match NonZeroU32::new(number) {
        Some(number) => number,
        None => NonZeroU32::MIN,
    }
}

fn default_flows() -> NonZeroU32 {
    not_zero(FlowLimits::FLOWS as u32)
}

fn default_stream_mib() -> NonZeroU32 {
    not_zero((FlowLimits::STREAM_BYTES >> 20) as u32)
}

fn default_gap_mib() -> NonZeroU32 {
    not_zero((FlowLimits::AHEAD_BYTES >> 20) as u32)
}

/// What is done about checksums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ChecksumsConfig {
    #[default]
    Verify,
    Ignore,
}

/// What becomes of the tags of VLANs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum VlansConfig {
    #[default]
    Separate,
    Ignore,
}

/// Hosts of one operating system, or of a policy for overlapping TCP segments and fragments of IP. The
/// first entry that names a receiver counts.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HostOs {
    /// Addresses, prefixes or ranges.
    #[cfg_attr(test, schemars(schema_with = "shapes::addresses"))]
    pub hosts: AddressSet,
    /// Their system; `first` and `last` keep what came first or last.
    pub os: Os,
}

/// Whose way of keeping overlapping segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Os {
    Linux,
    Bsd,
    Windows,
    First,
    Last,
}

impl HostOs {
    fn policy(&self) -> HostPolicy {
        HostPolicy {
            hosts: self.hosts.clone(),
            overlap: match self.os {
                Os::Linux => Overlap::Linux,
                Os::Bsd | Os::Windows => Overlap::Bsd,
                Os::First => Overlap::First,
                Os::Last => Overlap::Last,
            },
        }
    }
}

/// `[measure]`
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MeasureConfig {
    /// What is measured: addresses, or with prefix lengths networks, as in `source/24`.
    #[serde(default = "default_key", deserialize_with = "from_text")]
    #[cfg_attr(
        test,
        schemars(schema_with = "value_shapes::key", extend("default" = default_key().to_string()))
    )]
    pub key: KeyKind,
    /// What is summed per key.
    #[serde(default, deserialize_with = "from_text")]
    #[cfg_attr(
        test,
        schemars(schema_with = "value_shapes::value", extend("default" = Value::default().name()))
    )]
    pub value: Value,
    /// Seconds of capture time per interval. Default: the whole run.
    #[cfg_attr(test, schemars(extend("exclusiveMinimum" = 0)))]
    pub interval: Option<f64>,
    /// Largest keys listed.
    #[serde(default = "default_top")]
    #[cfg_attr(test, schemars(range(min = 1, max = 10_000)))]
    pub top: usize,
    /// Error bound, as a share of the interval's total.
    #[serde(default = "default_epsilon")]
    #[cfg_attr(test, schemars(range(max = 1), extend("exclusiveMinimum" = 0)))]
    pub epsilon: f64,
    /// Probability of a larger error.
    #[serde(default = "default_delta")]
    #[cfg_attr(test, schemars(range(max = 0.99), extend("exclusiveMinimum" = 0)))]
    pub delta: f64,
    /// Seed of the hash functions. Default: random.
    pub seed: Option<u64>,
    /// Whether keys are also counted exactly, in unbounded memory.
    #[serde(default)]
    pub exact: bool,
    /// [Changes](measure.md#changes) from interval to interval to look for. Default: none are
    /// looked for.
    pub change: Option<Search>,
    /// Where alarms go, as EVE JSON lines, appended. Default: where alerts go.
    pub alarms: Option<PathBuf>,
    /// Where intervals go, one JSON line each, appended as they end.
    pub json_lines: Option<PathBuf>,
    /// A file of [metrics](metrics.md) that is kept up to date.
    pub prometheus: Option<PathBuf>,
    /// A Parquet table of all intervals.
    pub parquet: Option<PathBuf>,
}

impl MeasureConfig {
    /// Where results go beside the report.
    pub fn places(&self) -> Places<'_> {
        Places {
            json_lines: self.json_lines.as_deref(),
            parquet: self.parquet.as_deref(),
            prometheus: self.prometheus.as_deref(),
        }
    }
}

fn default_key() -> KeyKind {
    KeyKind::Source
}
fn default_top() -> usize {
    10
}
fn default_epsilon() -> f64 {
    0.0001
}
fn default_delta() -> f64 {
    0.01
}

/// `[ipsec]`
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IpsecConfig {
    /// The [SA file](sa-file.md): associations and policies.
    pub sa: PathBuf,
    /// Directory of the [ledger](sa-file.md#the-ledger) of sequence numbers. Default: the machine's
    /// own.
    pub state: Option<PathBuf>,
    /// Keys that the ledger may learn. Only the command line can say so: a
    /// permission that stands in a file would create a ledger that was lost.
    #[serde(skip)]
    pub new_keys: Vec<String>,
    /// Whether sequence numbers start over with each run, which gives the keys away: for examples
    /// and tests.
    #[serde(default)]
    pub repeatable_insecure: bool,
}

/// `[fabric]`
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FabricConfig {
    /// The [fabric file](fabric-file.md): partitions, queue pairs and their secrets. It is read once, at the
    /// start.
    pub file: PathBuf,
    /// Directory of the [ledger](sa-file.md#the-ledger) of epochs and windows. Default: the machine's own.
    pub state: Option<PathBuf>,
    /// Where alarms about forged packets go, as EVE JSON lines, appended. Default: they are counted
    /// alone.
    pub alarms: Option<PathBuf>,
    /// The lowest epoch that is taken from captures, which may be read as often as one likes. Live receivers
    /// go on where the ledger says.
    #[serde(default)]
    pub first_epoch: u64,
    /// Keys that the ledger may learn. Only the command line can say so.
    #[serde(skip)]
    pub new_keys: Vec<String>,
    /// Whether epochs start over with each run, which gives the keys away: for examples and tests.
    #[serde(default)]
    pub repeatable_insecure: bool,
}

/// `[fabric-filter]`
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FabricFilterConfig {
    /// When packets are looked up: always (`ingress`), or while their sender uses P_Keys that the
    /// receiver has refused (`stateful`).
    #[serde(default)]
    pub scheme: FilterScheme,
    /// Seconds without violations after which a stateful filter is switched off.
    #[serde(default = "default_quiet_seconds")]
    #[cfg_attr(test, schemars(extend("exclusiveMinimum" = 0)))]
    pub quiet_seconds: f64,
    /// Ports with the P_Keys of the nodes behind them.
    #[serde(default)]
    pub port: Vec<PortKeys>,
}

/// A port of a pipeline. That which packets come from is required; where that which they go to has P_Keys, too,
/// packets that it would refuse are dropped.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PortKeys {
    /// Name of the `[[port]]`; `input` and `output` in the short form.
    pub name: String,
    /// P_Keys of the nodes behind it. The highest bit says that they are full members.
    pub partition_keys: Vec<u16>,
}

/// When P_Keys are looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum FilterScheme {
    Ingress,
    #[default]
    Stateful,
}

fn default_quiet_seconds() -> f64 {
    1.0
}

/// `[report]`
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReportConfig {
    /// Where the [JSON document](json.md#run) of the run goes.
    pub json: Option<PathBuf>,
}
