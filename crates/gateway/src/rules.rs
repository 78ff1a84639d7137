//! Rule files that are loaded, and loaded again while packets run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use tracing::debug;
use weir_inspect::{Classification, LiveRules, LoadReport, RuleFile, RuleSet, Variables};
use weir_match::EngineChoice;

use crate::error::{Error, Result};

/// Where rules come from.
#[derive(Clone)]
pub struct RuleSource {
    /// The rule files.
    pub paths: Vec<PathBuf>,
    /// Variables, each as `NAME=value`.
    pub definitions: Vec<String>,
    /// What classes of rules stand for; `None` for the usual ones.
    pub classification: Option<PathBuf>,
    /// How patterns are searched for.
    pub engine: EngineChoice,
    /// Whether files without a rule will do.
    pub allows_empty: bool,
}

/// Active rules, and what became of those in the files when they were loaded
/// first.
pub struct LoadedRules {
    /// What the stages follow.
    pub live: Arc<LiveRules>,
    /// What was loaded and what was not.
    pub report: LoadReport,
}

fn read_classification(path: &Path) -> Result<Classification> {
    let text = std::fs::read(path)
        .with_context(|| format!("cannot read the classes of rules {}", path.display()))
        .map_err(Error::configuration)?;
    Classification::parse(&text)
        .with_context(|| format!("{}", path.display()))
        .map_err(Error::configuration)
}

impl RuleSource {
    /// Reads and compiles the files. Rules that cannot be loaded are in the
    /// report.
    ///
    /// # Errors
    /// A file that cannot be read, files without a rule that can be loaded, or a variable that
    /// makes no sense.
    pub fn load(&self) -> Result<LoadedRules> {
        let (rules, report) = self.read(None)?;
        for file in &report.files {
            debug!("{}: {} rules loaded", file.file, file.loaded);
        }
        Ok(LoadedRules {
            live: LiveRules::new(Arc::new(rules)),
            report,
        })
    }

    /// Puts what the files hold now in the place of the active rules.
    ///
    /// # Errors
    /// As [`Self::load`]; the active rules stay.
    pub fn reload(&self, live: &LiveRules) -> Result<LoadReport> {
        let (rules, report) = self.prepare(live)?;
        live.replace(Arc::new(rules)).map_err(Error::running)?;
        Ok(report)
    }

    /// Reads and compiles what can take the place of the rules in force.
    pub(crate) fn prepare(&self, live: &LiveRules) -> Result<(RuleSet, LoadReport)> {
        self.read(Some(&live.current()))
    }

    /// Reads the files into a set of their own, or one that can take the place
    /// of another.
    fn read(&self, previous: Option<&RuleSet>) -> Result<(RuleSet, LoadReport)> {
        let mut variables = Variables::default();
        for definition in &self.definitions {
            variables.define(definition).map_err(Error::configuration)?;
        }
        variables.check().map_err(Error::configuration)?;
        let classification = match &self.classification {
            Some(path) => read_classification(path)?,
            None => Classification::default(),
        };
        let texts = self
            .paths
            .iter()
            .map(|path| {
                std::fs::read(path)
                    .with_context(|| format!("cannot read the rules {}", path.display()))
                    .map(|text| (path.display().to_string(), text))
                    .map_err(Error::configuration)
            })
            .collect::<Result<Vec<_>>>()?;
        let files: Vec<RuleFile<'_>> = texts
            .iter()
            .map(|(name, text)| RuleFile { name, text })
            .collect();
        let read = match previous {
            Some(previous) => previous.reload(&files, &variables, &classification, &self.engine),
            None => RuleSet::load_with(&files, &variables, &classification, &self.engine),
        };
        let (rules, report) = read.map_err(Error::configuration)?;
        self.check_that_some_loaded(&report)?;
        Ok((rules, report))
    }

    fn check_that_some_loaded(&self, report: &LoadReport) -> Result {
        if report.rules() == 0 && !self.allows_empty {
            let names = self.paths.iter().map(|path| path.display().to_string());
            return Err(Error::configuration(anyhow!(
                "no rules in {}: inspecting without rules finds nothing; allow it with --allow-empty, or allow_empty = true",
                names.collect::<Vec<_>>().join(", ")
            )));
        }
        if report.rules() > 0 && report.loaded == 0 {
            let reasons: Vec<String> = report
                .skipped
                .iter()
                .map(|(reason, count)| format!("{reason}: {count}"))
                .collect();
            return Err(Error::configuration(anyhow!(
                "none of {} rules could be loaded ({})",
                report.rules(),
                reasons.join(", ")
            )));
        }
        Ok(())
    }
}
