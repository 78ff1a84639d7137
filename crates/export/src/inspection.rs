//! Prometheus metrics of a running inspection.

use std::sync::atomic::Ordering;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use weir_inspect::InspectSnapshot;

type ByLabel = Family<Vec<(&'static str, String)>, Counter>;

/// Counters of an inspection in OpenMetrics text, the format that Prometheus scrapes.
pub struct InspectMetrics {
    registry: Registry,
    packets: Counter,
    flows: Counter,
    alerts: Counter,
    candidates: Counter,
    pattern_limit: Counter,
    trials_put_off: Counter,
    false_candidates: ByLabel,
    searched: ByLabel,
    hits: ByLabel,
}

impl Default for InspectMetrics {
    fn default() -> InspectMetrics {
        let mut registry = Registry::default();
        let inspect = registry.sub_registry_with_prefix("weir_inspect");
        let mut counter = |name, help| {
            let counter = Counter::default();
            inspect.register(name, help, counter.clone());
            counter
        };
        let packets = counter("packets", "IP packets inspected, those in tunnels too");
        let flows = counter("flows", "Flows seen");
        let alerts = counter("alerts", "Alerts raised");
        let candidates = counter("candidates", "Rules that were evaluated for a payload");
        let pattern_limit = counter(
            "pattern_limit",
            "Searches by patterns with look-around or back-references given up after too many steps",
        );
        let trials_put_off = counter(
            "trials_put_off",
            "Trials not made because others had looked at enough for one packet",
        );
        let mut family = |name, help| {
            let family = ByLabel::default();
            inspect.register(name, help, family.clone());
            family
        };
        let false_candidates = family(
            "false_candidates",
            "What a stage of the search turned away, that those before it had let through",
        );
        let searched = family("searched_bytes", "Bytes that a group of rules searched");
        let hits = family(
            "hits",
            "Patterns of a group that occurred, once per payload",
        );
        InspectMetrics {
            registry,
            packets,
            flows,
            alerts,
            candidates,
            pattern_limit,
            trials_put_off,
            false_candidates,
            searched,
            hits,
        }
    }
}

impl InspectMetrics {
    /// Sets the counters to those of a snapshot.
    pub fn observe(&mut self, snapshot: &InspectSnapshot) {
        let statistics = &snapshot.statistics;
        for (counter, count) in [
            (&self.packets, statistics.packets),
            (&self.flows, statistics.flows),
            (&self.alerts, statistics.alerts),
            (&self.candidates, statistics.candidates),
            (&self.pattern_limit, statistics.pattern_limit),
            (&self.trials_put_off, statistics.trials_put_off),
        ] {
            counter.inner().store(count, Ordering::Relaxed);
        }
        let put = |family: &ByLabel, label, value: &str, count| {
            let labels = vec![(label, value.to_owned())];
            let counter = family.get_or_create(&labels);
            counter.inner().store(count, Ordering::Relaxed);
        };
        for (stage, count) in statistics.false_candidates_by_stage.stages() {
            put(&self.false_candidates, "stage", stage, count);
        }
        for group in &snapshot.groups {
            put(&self.searched, "group", &group.name, group.bytes);
            put(&self.hits, "group", &group.name, group.hits);
        }
    }

    /// The metrics in OpenMetrics text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
