//! Loads the rule files that a command or a configuration names, and loads
//! them again when asked to.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use weir_console::{Failure, Outcome, messages};
use weir_inspect::{EngineChoice, LiveRules, LoadReport, RuleFile, RuleSet, Variables};

use crate::signals;

/// Where rules come from.
pub struct RuleSource {
    pub paths: Vec<PathBuf>,
    /// Variables, each as `NAME=value`.
    pub definitions: Vec<String>,
    pub engine: EngineChoice,
    /// Whether files without a rule will do.
    pub allows_empty: bool,
}

/// Rules in force, and what became of those in the files when they were loaded
/// first.
pub struct LoadedRules {
    pub live: Arc<LiveRules>,
    pub report: LoadReport,
}

impl RuleSource {
    /// Reads and compiles the files. Rules that cannot be loaded are in the
    /// report; a file that cannot be read, or a variable that makes no sense,
    /// is an error.
    pub fn load(&self) -> Outcome<LoadedRules> {
        let (rules, report) = self.read(None)?;
        for file in &report.files {
            messages::detail(format_args!("{}: {} rules loaded", file.file, file.loaded));
        }
        Ok(LoadedRules {
            live: LiveRules::new(Arc::new(rules)),
            report,
        })
    }

    /// Puts what the files hold now in the place of the rules in force.
    fn reload(&self, live: &LiveRules) -> Outcome<LoadReport> {
        let (rules, report) = self.read(Some(&live.current()))?;
        live.replace(Arc::new(rules)).map_err(Failure::running)?;
        Ok(report)
    }

    /// Reloads whenever SIGUSR2 comes, from now to the end of the process.
    /// Where that fails the rules in force stay, and why is told.
    pub fn reload_on_signal(self, live: Arc<LiveRules>) -> Outcome {
        signals::on_reload(move || match self.reload(&live) {
            Ok(report) => messages::notice(format_args!(
                "rules were loaded again: {} of {}",
                report.loaded,
                report.rules()
            )),
            Err(failure) => {
                messages::warning(format_args!("the rules stay as they are: {failure}"))
            }
        })
    }

    /// Reads the files into a set of their own, or one that can take the place
    /// of another.
    fn read(&self, previous: Option<&RuleSet>) -> Outcome<(RuleSet, LoadReport)> {
        let mut variables = Variables::default();
        for definition in &self.definitions {
            variables.define(definition).map_err(Failure::usage)?;
        }
        variables.check().map_err(Failure::usage)?;
        let texts = self
            .paths
            .iter()
            .map(|path| {
                std::fs::read(path)
                    .with_context(|| format!("cannot read the rules {}", path.display()))
                    .map(|text| (path.display().to_string(), text))
                    .map_err(Failure::Usage)
            })
            .collect::<Outcome<Vec<_>>>()?;
        let files: Vec<RuleFile<'_>> = texts
            .iter()
            .map(|(name, text)| RuleFile { name, text })
            .collect();
        let read = match previous {
            Some(previous) => previous.reload(&files, &variables, &self.engine),
            None => RuleSet::load_with(&files, &variables, &self.engine),
        };
        let (rules, report) = read.map_err(Failure::usage)?;
        self.check_that_some_loaded(&report)?;
        Ok((rules, report))
    }

    fn check_that_some_loaded(&self, report: &LoadReport) -> Outcome {
        if report.rules() == 0 && !self.allows_empty {
            let names = self.paths.iter().map(|path| path.display().to_string());
            return Err(Failure::usage(anyhow!(
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
            return Err(Failure::usage(anyhow!(
                "none of {} rules could be loaded ({})",
                report.rules(),
                reasons.join(", ")
            )));
        }
        Ok(())
    }
}

/// One line on standard error for every rule with a syntax error, one for every rule
/// that needs an unsupported feature if `each`, and one that sums up the skipped rules:
/// by their five most frequent reasons, or by all if `each`.
pub fn tell_skipped(report: &LoadReport, each: bool) {
    let unsupported = report.unsupported.iter().filter(|_| each);
    for fault in report.faults.iter().chain(unsupported) {
        messages::notice(fault);
    }
    let skipped: u64 = report.skipped.values().sum();
    if skipped > 0 {
        let mut reasons: Vec<(&String, &u64)> = report.skipped.iter().collect();
        reasons.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let shown_reasons = if each { reasons.len() } else { 5 };
        let shown = reasons
            .iter()
            .take(shown_reasons)
            .map(|(reason, count)| format!("{reason}: {count}"))
            .collect::<Vec<_>>()
            .join(", ");
        let more = reasons.len().saturating_sub(shown_reasons);
        let more = if more > 0 {
            format!(", and {more} other reasons")
        } else {
            String::new()
        };
        messages::notice(format_args!(
            "{} of {} rules loaded, {skipped} skipped ({shown}{more})",
            report.loaded,
            report.rules()
        ));
    }
}
