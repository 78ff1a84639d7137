//! From a file, or a table of another program, to a configuration that was checked.

use std::path::Path;

use anyhow::{Context, anyhow};
use weir_ipsec::ConfigError;

use super::document::File;
use super::model::Config;
use super::resolve::resolve;
use crate::error::{Error, Result};

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

    /// The configuration as its file stands now, or itself where it came from no file. New keys
    /// stay permitted.
    pub(crate) fn load_again(&self) -> Result<Config> {
        if !self.is_from_file {
            return Ok(self.clone());
        }
        let mut config = Config::load(&self.path)?;
        if let Some(ipsec) = &self.ipsec {
            config.allow_new_keys(&ipsec.new_keys);
        }
        Ok(config)
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

    /// Lets the ledger learn the keys of associations, or of queue pairs and partitions, with these
    /// names.
    pub fn allow_new_keys(&mut self, names: &[String]) {
        if let Some(ipsec) = &mut self.ipsec {
            ipsec.new_keys = names.to_vec();
        }
        if let Some(fabric) = &mut self.fabric {
            fabric.new_keys = names.to_vec();
        }
    }

    /// Leaves each of two tables the new keys that its file has. Of a key that neither has, both say so.
    pub(crate) fn divide_new_keys(
        &mut self,
        of_fabric: impl Fn(&str) -> bool,
        of_ipsec: impl Fn(&str) -> bool,
    ) {
        if let (Some(fabric), Some(ipsec)) = (&mut self.fabric, &mut self.ipsec) {
            let is_for_both = |name: &str| name == "all" || !of_fabric(name) && !of_ipsec(name);
            (fabric.new_keys).retain(|name| of_fabric(name) || is_for_both(name));
            (ipsec.new_keys).retain(|name| of_ipsec(name) || is_for_both(name));
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
        resolve(file, path, frame)
            .with_context(|| format!("{}", path.display()))
            .map_err(Error::configuration)
    }
}

/// The document without what can change while the gateway runs.
fn frame(text: &str) -> Option<toml::Table> {
    let mut table: toml::Table = text.parse().ok()?;
    table.remove("filter");
    if let Some(inspect) = table.get_mut("inspect").and_then(toml::Value::as_table_mut) {
        for key in ["rules", "set", "allow_empty", "classification"] {
            inspect.remove(key);
        }
    }
    Some(table)
}
