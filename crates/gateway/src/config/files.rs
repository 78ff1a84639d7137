//! The files that a configuration names.

use std::path::{Path, PathBuf};

use weir_packet::file::{keep_apart, meet, require_folder_of};

use super::model::Config;
use crate::error::{Error, Result};

impl Config {
    /// Refuses outputs that would overwrite a file that the run needs, or one
    /// another. `json` is one more output, `kept` are files that the
    /// configuration does not name itself.
    pub fn keep_files_apart(&self, json: Option<&Path>, kept: &[PathBuf]) -> Result {
        let mut inputs = self.inputs();
        inputs.extend(kept.iter().map(PathBuf::as_path));
        keep_apart(&inputs, &self.outputs(json)).map_err(Error::configuration)
    }

    /// Refuses outputs in folders that do not exist. `json` is one more output.
    pub fn require_folders(&self, json: Option<&Path>) -> Result {
        let mut outputs = self.outputs(json).into_iter();
        outputs
            .try_for_each(require_folder_of)
            .map_err(Error::configuration)
    }

    /// Whether a capture, alerts or a report goes to standard output.
    pub fn uses_stdout(&self) -> bool {
        self.streams()
            .chain(self.report.json.as_deref())
            .any(|path| path == Path::new("-"))
    }

    /// The files that are read, and read again by a reload; also the configuration itself.
    pub fn inputs(&self) -> Vec<&Path> {
        let captures = self.pipelines.iter().flat_map(|pipeline| &pipeline.read);
        let inspect = self.inspect.iter();
        let rules = inspect.flat_map(|inspect| inspect.rules.iter().chain(&inspect.classification));
        let sa = self.ipsec.iter().map(|ipsec| &ipsec.sa);
        let fabric = self.fabric.iter().map(|fabric| &fabric.file);
        let named = captures.chain(rules).chain(sa).chain(fabric);
        let named = named.map(PathBuf::as_path);
        std::iter::once(self.path.as_path()).chain(named).collect()
    }

    /// The files that are written, and `json`.
    pub fn outputs<'a>(&'a self, json: Option<&'a Path>) -> Vec<&'a Path> {
        let mut outputs = self.documents(json);
        outputs.extend(self.streams());
        outputs
    }

    /// Where the report goes: the place on the command line and the one in
    /// the file, which may be one.
    pub fn documents<'a>(&'a self, json: Option<&'a Path>) -> Vec<&'a Path> {
        let configured = self.report.json.as_deref();
        let configured = configured.filter(|one| !json.is_some_and(|json| meet(json, one)));
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
            .chain((self.fabric.iter()).filter_map(|fabric| fabric.alarms.as_deref()))
    }
}
