//! What became of rules, for people.

use indicatif::HumanCount;
use weir_console::messages;
use weir_gateway::Reloaded;
use weir_inspect::{InspectSnapshot, LoadReport};

/// Says that rules were loaded again, or why not.
pub fn tell_rules_reloaded(reloaded: weir_gateway::Result<LoadReport>) {
    match reloaded {
        Ok(report) => messages::notice(format_args!(
            "rules were loaded again: {} of {}",
            report.loaded,
            report.rules()
        )),
        Err(error) => messages::warning(format_args!("the rules stay as they are: {error}")),
    }
}

/// Says that a configuration was loaded again, or why not.
pub fn tell_reloaded(reloaded: weir_gateway::Result<Reloaded>) {
    match reloaded {
        Ok(reloaded) => {
            let generation = reloaded.generation;
            let rules = reloaded.rules.map(|rules| {
                let all = rules.loaded + rules.skipped;
                format!(", rules were loaded again: {} of {all}", rules.loaded)
            });
            if rules.is_some() || reloaded.filter_rules.is_some() || reloaded.associations.is_some()
            {
                let rules = rules.unwrap_or_default();
                messages::notice(format_args!(
                    "configuration {generation} is in force{rules}"
                ));
            }
        }
        Err(error) => messages::warning(format_args!("the configuration stays as it is: {error}")),
    }
}

/// What is put beside a progress bar.
pub fn note(snapshot: &InspectSnapshot) -> String {
    let statistics = &snapshot.statistics;
    format!(
        "{} alerts, {} of {} candidates false",
        HumanCount(statistics.alerts),
        HumanCount(statistics.false_candidates),
        HumanCount(statistics.candidates)
    )
}

/// One line on standard error for every rule with a syntax error, one for every rule
/// that needs an unsupported feature if `each`, and one that sums up the skipped rules:
/// by their five most frequent reasons, or by all if `each`.
pub fn tell_skipped(report: &LoadReport, each: bool) {
    let unsupported = report.unsupported.iter().filter(|_| each);
    for fault in report.faults.iter().chain(unsupported) {
        messages::notice(fault);
    }
    if !report.unknown_classes.is_empty() {
        let rules: u64 = report.unknown_classes.values().sum();
        let names: Vec<&str> = report.unknown_classes.keys().map(String::as_str).collect();
        messages::notice(format_args!(
            "{rules} rules have a classtype that the classification does not have: {}",
            names.join(", ")
        ));
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
