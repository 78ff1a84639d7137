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

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use serde::Deserialize;
use weir_inspect::{Checksums, HostPolicy, InspectOptions, Overlap};
use weir_ipsec::ConfigError;
use weir_measure::Value;
use weir_packet::wire::KeyKind;
#[cfg(test)]
use weir_reference::shapes;
use weir_select::AddressSet;

use crate::error::{Error, Result};
use crate::filter::FilterConfig;
use crate::measured::Places;

mod change;
mod files;
mod resolve;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod value_shapes;
mod words;

pub use change::{Search, default_counters};
pub use words::seconds;
use words::{from_text, one_or_many, some_one_or_many};

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
    /// Where the report goes.
    pub report: ReportConfig,
    /// What cannot change while the gateway runs.
    frame: toml::Table,
    /// Whether it was read from the file.
    is_from_file: bool,
}

/// One direction.
#[derive(Clone, Debug)]
pub struct PipelineConfig {
    /// Its name.
    pub name: String,
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
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the tables that they name describe them")]
pub enum StageName {
    Filter,
    Inspect,
    Measure,
    Protect,
    Unprotect,
}

impl StageName {
    /// Its name in the file.
    fn name(self) -> &'static str {
        match self {
            StageName::Filter => "filter",
            StageName::Inspect => "inspect",
            StageName::Measure => "measure",
            StageName::Protect => "protect",
            StageName::Unprotect => "unprotect",
        }
    }

    /// The table that holds the stage's settings.
    fn table(self) -> &'static str {
        match self {
            StageName::Filter => "filter",
            StageName::Inspect => "inspect",
            StageName::Measure => "measure",
            StageName::Protect | StageName::Unprotect => "ipsec",
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
    /// Hosts that keep overlapping segments otherwise than Linux does.
    #[serde(default, rename = "host-os")]
    pub host_os: Vec<HostOs>,
    /// Where alerts go, as EVE JSON lines, appended; SIGHUP reopens the file.
    pub alerts: Option<PathBuf>,
    /// A file of [metrics](metrics.md) that is kept up to date.
    pub prometheus: Option<PathBuf>,
}

impl InspectConfig {
    /// How packets are inspected.
    pub fn options(&self) -> InspectOptions {
        InspectOptions {
            is_inline: self.inline,
            checksums: match self.checksums {
                ChecksumsConfig::Verify => Checksums::Verify,
                ChecksumsConfig::Ignore => Checksums::Ignore,
            },
            policies: self.host_os.iter().map(HostOs::policy).collect(),
            ..InspectOptions::default()
        }
    }
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

/// Hosts of one operating system, or of a policy for overlapping TCP segments. The first entry
/// that names a receiver counts.
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

/// `[report]`
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReportConfig {
    /// Where the [JSON document](json.md#run) of the run goes.
    pub json: Option<PathBuf>,
}

/// Pipelines of `weir run`: where packets come from, which stages they pass, where they go.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct File {
    /// Where packets come from, for one direction.
    input: Option<Input>,
    /// The stages of one direction, or a table per direction.
    #[cfg_attr(test, schemars(required))]
    pipeline: Option<Pipelines>,
    /// Where packets go, for one direction.
    output: Option<Output>,
    /// Ports, for several directions.
    #[serde(default)]
    port: Vec<Port>,
    /// The firewall; the stage `filter` needs it.
    filter: Option<FilterConfig>,
    /// The search for threats; the stage `inspect` needs it.
    inspect: Option<InspectConfig>,
    /// The measurement; the stage `measure` needs it.
    measure: Option<MeasureConfig>,
    /// IPsec; the stages `protect` and `unprotect` need it.
    ipsec: Option<IpsecConfig>,
    /// The report of the run.
    #[serde(default)]
    report: ReportConfig,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Port {
    /// Name for `from` and `to`.
    name: String,
    /// What the port is: capture files (`pcap`); a network `interface` beside the kernel's network
    /// stack (AF_PACKET), or in its place (`xdp`); an interface that the kernel routes to and that
    /// the port makes (`tun`); a socket for ESP in UDP (`udp`).
    kind: PortKind,
    /// `protect` leads from plain to cipher, `unprotect` back.
    side: Side,
    /// Captures to read, one after the other.
    #[serde(default, deserialize_with = "one_or_many")]
    #[cfg_attr(test, schemars(schema_with = "shapes::one_or_many::<PathBuf>"))]
    read: Vec<PathBuf>,
    /// Capture to write (`.pcapng` or `.pcap`).
    write: Option<PathBuf>,
    /// Network interface of a port of kind `interface`, `xdp` or `tun`. Required for these.
    interface: Option<String>,
    /// Address and port of this machine for a port of kind `udp`, as in `192.0.2.1:4500`. Required
    /// for it.
    address: Option<SocketAddr>,
    /// Whether a port of kind `interface` or `xdp` receives packets to any station.
    #[serde(default = "yes")]
    promiscuous: bool,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum PortKind {
    Pcap,
    Interface,
    Xdp,
    Tun,
    Udp,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum Side {
    Plain,
    Cipher,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Input {
    /// Captures, read one after the other.
    #[serde(deserialize_with = "one_or_many")]
    #[cfg_attr(test, schemars(schema_with = "shapes::one_or_more::<PathBuf>"))]
    pcap: Vec<PathBuf>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Output {
    /// Capture to write (`.pcapng` or `.pcap`). Without `[output]`, packets are dropped at the end.
    pcap: PathBuf,
}

/// `[pipeline]` with stages of its own, or one `[pipeline.NAME]` per
/// direction.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Pipelines {
    /// Stages in order, each at most once. Required with `[input]`.
    #[serde(default, deserialize_with = "some_one_or_many")]
    #[cfg_attr(test, schemars(schema_with = "schema::stages"))]
    stages: Option<Vec<StageName>>,
    #[serde(flatten)]
    named: BTreeMap<String, NamedPipeline>,
}

/// A pipeline for one direction.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct NamedPipeline {
    /// Port to read.
    from: String,
    /// Port to write. Default: packets are dropped at the end.
    to: Option<String>,
    /// Stages in order, each at most once.
    #[serde(deserialize_with = "one_or_many")]
    #[cfg_attr(test, schemars(schema_with = "schema::stages"))]
    stages: Vec<StageName>,
}

impl Config {
    /// Reads and checks a configuration file.
    pub fn load(path: &Path) -> Result<Config> {
        let contents = std::fs::read(path)
            .with_context(|| format!("cannot read {}", path.display()))
            .map_err(Error::configuration)?;
        let text = std::str::from_utf8(&contents)
            .map_err(|error| Error::configuration(ConfigError::not_text(path, &error)))?;
        let config = Config::parse(path, text)?;
        Ok(Config {
            is_from_file: true,
            ..config
        })
    }

    /// The configuration as its file stands now, or itself where it came from no file.
    pub(crate) fn load_again(&self) -> Result<Config> {
        match self.is_from_file {
            true => Config::load(&self.path),
            false => Ok(self.clone()),
        }
    }

    /// Refuses what cannot change while the gateway runs.
    pub(crate) fn require_frame_of(&self, running: &Config) -> Result {
        let keys = running.frame.keys().chain(self.frame.keys());
        let mut changed = keys.filter(|key| running.frame.get(*key) != self.frame.get(*key));
        match changed.next() {
            None => Ok(()),
            Some(key) => Err(Error::configuration(anyhow!(
                "{}: {key} has changed: only [filter], the rules of [inspect] and the SA file can \
                 change while the gateway runs; start it again for the rest",
                self.path.display()
            ))),
        }
    }

    /// Whether its pipelines connect live ports, not captures.
    pub fn is_live(&self) -> bool {
        self.pipelines
            .iter()
            .any(|pipeline| pipeline.live.is_some())
    }

    /// Lets the ledger learn the keys of associations with these names.
    pub fn allow_new_keys(&mut self, names: &[String]) {
        if let Some(ipsec) = &mut self.ipsec {
            ipsec.new_keys = names.to_vec();
        }
    }

    /// A configuration that another program puts together, with paths relative to the working
    /// directory.
    ///
    /// # Errors
    /// As for a file.
    pub fn from_table(table: &toml::Table) -> Result<Config> {
        Config::parse(Path::new("configuration"), &table.to_string())
    }

    /// Checks the text of the configuration file at `path`.
    pub fn parse(path: &Path, text: &str) -> Result<Config> {
        let file: File = toml::from_str(text)
            .map_err(|error| Error::configuration(ConfigError::of_toml(path, text, &error)))?;
        let frame = frame(text).unwrap_or_default();
        resolve::resolve(file, path, frame)
            .with_context(|| format!("{}", path.display()))
            .map_err(Error::configuration)
    }
}

/// The document without what can change while the gateway runs.
fn frame(text: &str) -> Option<toml::Table> {
    let mut table: toml::Table = text.parse().ok()?;
    table.remove("filter");
    if let Some(inspect) = table.get_mut("inspect").and_then(toml::Value::as_table_mut) {
        for key in ["rules", "set", "allow_empty"] {
            inspect.remove(key);
        }
    }
    Some(table)
}

#[cfg(test)]
mod tests;
