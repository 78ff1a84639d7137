//! The configuration file of `weir run`.
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
//! form. Relative paths start at the folder of the file.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context;
use serde::Deserialize;
use serde::de::value::{SeqAccessDeserializer, StrDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, SeqAccess, Visitor};
use weir_ipsec::ConfigError;
use weir_measure::Value;
use weir_packet::wire::KeyKind;

use crate::changes::Search;
use crate::failure::{Failure, Outcome};
use crate::filter::FilterConfig;
use crate::measured::Places;
use crate::output;

mod resolve;

/// A checked configuration: every pipeline has its files and stages, every
/// stage its settings, every path its folder.
pub struct Config {
    /// The file itself.
    pub path: PathBuf,
    pub pipelines: Vec<PipelineConfig>,
    pub filter: Option<FilterConfig>,
    pub inspect: Option<InspectConfig>,
    pub measure: Option<MeasureConfig>,
    pub ipsec: Option<IpsecConfig>,
    pub report: ReportConfig,
}

/// One direction.
#[derive(Debug)]
pub struct PipelineConfig {
    pub name: String,
    pub read: Vec<PathBuf>,
    pub write: Option<PathBuf>,
    pub stages: Vec<StageName>,
}

/// The stages that a pipeline may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
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
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InspectConfig {
    /// Rule files.
    #[serde(deserialize_with = "one_or_many")]
    pub rules: Vec<PathBuf>,
    /// Whether rule files without a rule are accepted.
    #[serde(default)]
    pub allow_empty: bool,
    /// Variables of the rules.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Where alerts go, as EVE JSON lines.
    pub alerts: Option<PathBuf>,
    /// A file of metrics that is kept up to date.
    pub prometheus: Option<PathBuf>,
}

/// `[measure]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasureConfig {
    #[serde(default = "default_key", deserialize_with = "from_text")]
    pub key: KeyKind,
    #[serde(default, deserialize_with = "from_text")]
    pub value: Value,
    /// Seconds of capture time; without it, the whole run is one interval.
    pub interval: Option<f64>,
    #[serde(default = "default_top")]
    pub top: usize,
    #[serde(default = "default_epsilon")]
    pub epsilon: f64,
    #[serde(default = "default_delta")]
    pub delta: f64,
    pub seed: Option<u64>,
    #[serde(default)]
    pub exact: bool,
    /// Which changes to look for.
    pub change: Option<Search>,
    /// Where alarms go, as EVE JSON lines; without it they go where alerts go.
    pub alarms: Option<PathBuf>,
    /// Where reports of intervals go, one JSON line each, as they are made.
    pub json_lines: Option<PathBuf>,
    /// A file of metrics that is kept up to date.
    pub prometheus: Option<PathBuf>,
    /// A table of all intervals.
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

/// A value that is written as text.
pub fn from_text<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: FromStr<Err: std::fmt::Display>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}

/// A list of texts, or one of them alone.
fn one_or_many<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    struct OneOrMany<T>(PhantomData<T>);

    impl<'de, T: DeserializeOwned> Visitor<'de> for OneOrMany<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string or a list of strings")
        }

        fn visit_str<E: de::Error>(self, one: &str) -> Result<Vec<T>, E> {
            T::deserialize(StrDeserializer::new(one)).map(|one| vec![one])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, many: A) -> Result<Vec<T>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(many))
        }
    }

    deserializer.deserialize_any(OneOrMany(PhantomData))
}

fn some_one_or_many<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    one_or_many(deserializer).map(Some)
}

/// `[ipsec]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IpsecConfig {
    /// Associations and policies.
    pub sa: PathBuf,
    /// The ledger of sequence numbers; by default the machine's own.
    pub state: Option<PathBuf>,
    /// Keys that the ledger may learn. Only the command line can say so: a
    /// permission that stands in a file would create a ledger that was lost.
    #[serde(skip)]
    pub new_keys: Vec<String>,
    /// Sequence numbers start over with each run: for examples and tests.
    #[serde(default)]
    pub repeatable_insecure: bool,
}

/// `[report]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportConfig {
    /// Where the JSON report goes.
    pub json: Option<PathBuf>,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    port: Vec<Port>,
    input: Option<Input>,
    output: Option<Output>,
    pipeline: Option<Pipelines>,
    filter: Option<FilterConfig>,
    inspect: Option<InspectConfig>,
    measure: Option<MeasureConfig>,
    ipsec: Option<IpsecConfig>,
    #[serde(default)]
    report: ReportConfig,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Port {
    name: String,
    kind: PortKind,
    side: Side,
    #[serde(default, deserialize_with = "one_or_many")]
    read: Vec<PathBuf>,
    write: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum PortKind {
    Pcap,
    Interface,
    Tun,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Side {
    Plain,
    Cipher,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    #[serde(deserialize_with = "one_or_many")]
    pcap: Vec<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Output {
    pcap: PathBuf,
}

/// `[pipeline]` with stages of its own, or one `[pipeline.NAME]` per
/// direction.
#[derive(Deserialize)]
struct Pipelines {
    #[serde(default, deserialize_with = "some_one_or_many")]
    stages: Option<Vec<StageName>>,
    #[serde(flatten)]
    named: BTreeMap<String, NamedPipeline>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedPipeline {
    from: String,
    to: Option<String>,
    #[serde(deserialize_with = "one_or_many")]
    stages: Vec<StageName>,
}

impl Config {
    /// Reads and checks a configuration file.
    pub fn load(path: &Path) -> Outcome<Config> {
        let contents = std::fs::read(path)
            .with_context(|| format!("cannot read {}", path.display()))
            .map_err(Failure::Usage)?;
        let text = std::str::from_utf8(&contents)
            .map_err(|error| Failure::usage(ConfigError::not_text(path, &error)))?;
        Config::parse(path, text)
    }

    /// Lets the ledger learn the keys of associations with these names.
    pub fn allow_new_keys(&mut self, names: &[String]) {
        if let Some(ipsec) = &mut self.ipsec {
            ipsec.new_keys = names.to_vec();
        }
    }

    /// Refuses outputs that would overwrite a file that the run needs, or one
    /// another. `json` is one more output, `kept` are files that the
    /// configuration does not name itself.
    pub fn keep_files_apart(&self, json: Option<&Path>, kept: &[PathBuf]) -> Outcome {
        let mut inputs = vec![self.path.as_path()];
        inputs.extend(kept.iter().map(PathBuf::as_path));
        for pipeline in &self.pipelines {
            inputs.extend(pipeline.read.iter().map(PathBuf::as_path));
        }
        if let Some(inspect) = &self.inspect {
            inputs.extend(inspect.rules.iter().map(PathBuf::as_path));
        }
        if let Some(ipsec) = &self.ipsec {
            inputs.push(&ipsec.sa);
        }
        let mut outputs = self.documents(json);
        outputs.extend(self.streams());
        output::keep_apart(&inputs, &outputs)
    }

    /// Refuses outputs in folders that do not exist. `json` is one more output.
    pub fn require_folders(&self, json: Option<&Path>) -> Outcome {
        let mut outputs = self.documents(json).into_iter().chain(self.streams());
        outputs.try_for_each(output::require_folder_of)
    }

    /// Whether a capture, alerts or a report goes to standard output.
    pub fn uses_stdout(&self) -> bool {
        self.streams()
            .chain(self.report.json.as_deref())
            .any(|path| path == Path::new("-"))
    }

    /// Where the report goes: the place on the command line and the one in
    /// the file, which may be one.
    pub fn documents<'a>(&'a self, json: Option<&'a Path>) -> Vec<&'a Path> {
        let configured = self.report.json.as_deref();
        let configured = configured.filter(|one| !json.is_some_and(|json| output::meet(json, one)));
        json.into_iter().chain(configured).collect()
    }

    /// Where captures, alerts, alarms and intervals go.
    fn streams(&self) -> impl Iterator<Item = &Path> {
        self.pipelines
            .iter()
            .filter_map(|pipeline| pipeline.write.as_deref())
            .chain(
                (self.inspect.iter())
                    .flat_map(|inspect| [&inspect.alerts, &inspect.prometheus])
                    .filter_map(Option::as_deref),
            )
            .chain(self.measure.iter().flat_map(|m| m.places().paths()))
            .chain(self.measure.iter().filter_map(|m| m.alarms.as_deref()))
    }

    /// Checks the text of the configuration file at `path`.
    pub fn parse(path: &Path, text: &str) -> Outcome<Config> {
        let file: File = toml::from_str(text)
            .map_err(|error| Failure::usage(ConfigError::of_toml(path, text, &error)))?;
        resolve::resolve(file, path)
            .with_context(|| format!("{}", path.display()))
            .map_err(Failure::Usage)
    }
}

#[cfg(test)]
mod tests;
