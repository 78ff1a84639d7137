//! Loads the rule files that a command or a configuration names.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use weir_inspect::{EngineChoice, LoadReport, RuleFile, RuleSet, Variables};

use crate::failure::{Failure, Outcome};
use crate::output::tell;

/// Reads and compiles rule files. Rules that cannot be loaded are in the
/// report; a file that cannot be read, or a variable that makes no sense, is
/// an error.
pub fn load(
    paths: &[PathBuf],
    definitions: impl IntoIterator<Item = String>,
    engine: &EngineChoice,
) -> Outcome<(Arc<RuleSet>, LoadReport)> {
    let mut variables = Variables::default();
    for definition in definitions {
        variables.define(&definition).map_err(Failure::usage)?;
    }
    variables.check().map_err(Failure::usage)?;
    let texts = paths
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
    let (rules, report) = RuleSet::load_with(&files, &variables, engine).map_err(Failure::usage)?;
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
    Ok((Arc::new(rules), report))
}

/// One line on standard error for every rule that is written wrong, one for
/// every rule that asks for what is not there if `each`, and one that sums up
/// what was skipped.
pub fn tell_skipped(report: &LoadReport, each: bool) {
    let unsupported = report.unsupported.iter().filter(|_| each);
    for fault in report.faults.iter().chain(unsupported) {
        tell(fault);
    }
    let skipped: u64 = report.skipped.values().sum();
    if skipped > 0 {
        let mut reasons: Vec<(&String, &u64)> = report.skipped.iter().collect();
        reasons.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let shown = reasons
            .iter()
            .take(5)
            .map(|(reason, count)| format!("{reason}: {count}"))
            .collect::<Vec<_>>()
            .join(", ");
        let more = reasons.len().saturating_sub(5);
        let more = if more > 0 {
            format!(", and {more} other reasons")
        } else {
            String::new()
        };
        tell(format_args!(
            "{} of {} rules loaded, {skipped} skipped ({shown}{more})",
            report.loaded,
            report.rules()
        ));
    }
}
