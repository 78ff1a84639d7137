//! What stages have done, summed over workers or shards.

use weir_inspect::{AlertCounts, InspectStage};
use weir_ipsec::{AssociationReport, ClassifyInbound, ClassifyOutbound, Protect, Unprotect};
use weir_ledger::LedgerError;
use weir_stream::Stage;

use crate::execution::Execution;
use crate::fabric::FabricResults;
use crate::filter::{FilterStage, RuleCount};

/// What the stages of all workers or shards have done, read at their end.
#[derive(Default)]
pub struct Results {
    pub alerts: AlertCounts,
    pub filter: Vec<RuleCount>,
    pub associations: Vec<AssociationReport>,
    pub protected: u64,
    pub unprotected: u64,
    pub bypassed: u64,
    pub fabric: FabricResults,
    /// Why the ledger could not be written.
    pub ledger_error: Option<String>,
}

impl Results {
    /// Those of pipelines over captures.
    pub fn of(execution: &Execution) -> Results {
        let mut results = Results {
            fabric: FabricResults::of(execution),
            ..Results::default()
        };
        stages(execution).for_each(|stage| results.add_inspect(stage));
        stages(execution).for_each(|stage| results.add_filter(stage));
        stages(execution).for_each(|stage| results.add_outbound(stage));
        stages(execution).for_each(|stage| results.add_protect(stage));
        stages(execution).for_each(|stage| results.add_inbound(stage));
        stages(execution).for_each(|stage| results.add_unprotect(stage));
        results
    }

    pub fn add_inspect(&mut self, stage: &InspectStage) {
        self.alerts.merge(stage.alert_counts());
    }

    pub fn add_filter(&mut self, stage: &FilterStage) {
        self.filter.extend(stage.counts().cloned());
    }

    pub fn add_outbound(&mut self, stage: &ClassifyOutbound) {
        self.bypassed += stage.bypassed();
    }

    pub fn add_inbound(&mut self, stage: &ClassifyInbound) {
        self.bypassed += stage.bypassed();
    }

    pub fn add_protect(&mut self, stage: &Protect) {
        self.protected += stage.protected();
        self.associations.extend(stage.reports());
        self.note_ledger(stage.ledger_error());
    }

    pub fn add_unprotect(&mut self, stage: &Unprotect) {
        self.unprotected += stage.unprotected();
        self.associations.extend(stage.reports());
        self.note_ledger(stage.ledger_error());
    }

    fn note_ledger(&mut self, error: Option<&LedgerError>) {
        if self.ledger_error.is_none() {
            self.ledger_error = error.map(ToString::to_string);
        }
    }
}

fn stages<S: Stage>(execution: &Execution) -> impl Iterator<Item = &S> {
    let pipelines = execution.pipelines.iter();
    pipelines.flat_map(|pipeline| pipeline.stages::<S>())
}
