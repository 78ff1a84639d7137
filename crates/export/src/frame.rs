//! Prometheus metrics of pipelines and live ports.

use std::sync::atomic::Ordering;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use weir_stream::{QueueReading, Statistics};

type Labels = Vec<(&'static str, String)>;
type ByLabel = Family<Labels, Counter>;
/// Reads one count.
type Count = fn(&Statistics) -> u64;

/// Accounts of live pipelines and counts of their ports in OpenMetrics text, the format that
/// Prometheus scrapes.
pub struct FrameMetrics {
    registry: Registry,
    totals: Vec<(Counter, Count)>,
    held: Gauge,
    drops: ByLabel,
    latency: Family<Labels, Gauge>,
    ports: PortMetrics,
    lost_events: Counter,
    generation: Gauge,
}

struct PortMetrics {
    received: ByLabel,
    missed: ByLabel,
    malformed: ByLabel,
    sent: ByLabel,
    sent_bytes: ByLabel,
    drops: ByLabel,
    retries: ByLabel,
    up: Family<Labels, Gauge>,
}

impl Default for FrameMetrics {
    fn default() -> FrameMetrics {
        let mut registry = Registry::with_prefix("weir");
        let totals: [(&str, &str, Count); 8] = [
            ("packets", "Packets received", Statistics::packets),
            (
                "captured_bytes",
                "Their bytes, as far as they were captured",
                Statistics::bytes,
            ),
            (
                "wire_bytes",
                "Their bytes on the wire",
                Statistics::wire_bytes,
            ),
            ("created", "Packets that stages made", Statistics::created),
            ("forwarded", "Packets that left", Statistics::forwarded),
            (
                "forwarded_bytes",
                "Their bytes",
                Statistics::forwarded_bytes,
            ),
            (
                "absorbed",
                "Packets that became part of others",
                Statistics::absorbed,
            ),
            (
                "events",
                "Alerts, alarms and other events",
                Statistics::events,
            ),
        ];
        let totals = totals.map(|(name, help, read)| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            (counter, read)
        });
        let held = Gauge::default();
        registry.register(
            "held",
            "Packets that stages hold back at the moment",
            held.clone(),
        );
        let drops = ByLabel::default();
        registry.register("drops", "Packets dropped, by reason", drops.clone());
        let latency = Family::<Labels, Gauge>::default();
        registry.register_with_unit(
            "latency",
            "Time that packets spend between their ports, by quantile",
            Unit::Other("nanoseconds".to_owned()),
            latency.clone(),
        );
        let lost_events = Counter::default();
        registry.register(
            "lost_events",
            "Events that were not written: too many at once, or the disk was full",
            lost_events.clone(),
        );
        let generation = Gauge::default();
        registry.register(
            "configuration_generation",
            "How often the configuration was replaced",
            generation.clone(),
        );
        FrameMetrics {
            ports: PortMetrics::in_registry(&mut registry),
            registry,
            totals: totals.into(),
            held,
            drops,
            latency,
            lost_events,
            generation,
        }
    }
}

impl PortMetrics {
    fn in_registry(registry: &mut Registry) -> PortMetrics {
        let port = registry.sub_registry_with_prefix("port");
        let mut family = |name, help| {
            let family = ByLabel::default();
            port.register(name, help, family.clone());
            family
        };
        let metrics = PortMetrics {
            received: family("received", "Packets that a queue received"),
            missed: family(
                "missed",
                "Packets that came but for which a queue had no space",
            ),
            malformed: family("malformed", "Packets whose description was wrong, left out"),
            sent: family("sent", "Packets that a queue accepted"),
            sent_bytes: family("sent_bytes", "Their bytes"),
            drops: family("drops", "Packets that a queue did not accept, by reason"),
            retries: family(
                "retries",
                "How often a packet was sent again for want of space",
            ),
            up: Family::default(),
        };
        let help = "Whether packets pass a queue: 1, or 0 where its port is down";
        port.register("up", help, metrics.up.clone());
        metrics
    }

    fn observe(&self, queue: &QueueReading) {
        let direction = if queue.rx.is_some() {
            "receive"
        } else {
            "send"
        };
        let labels: Labels = vec![
            ("port", queue.port.clone()),
            ("queue", queue.queue.to_string()),
        ];
        let mut of_up = labels.clone();
        of_up.push(("direction", direction.to_owned()));
        let is_up = i64::from(queue.state.is_up());
        self.up.get_or_create(&of_up).set(is_up);
        if let Some(rx) = queue.rx {
            put(&self.received, &labels, rx.received);
            put(&self.missed, &labels, rx.missed);
            put(&self.malformed, &labels, rx.malformed);
        }
        if let Some(tx) = queue.tx {
            put(&self.sent, &labels, tx.sent);
            put(&self.sent_bytes, &labels, tx.sent_bytes);
            put(&self.retries, &labels, tx.retries);
            for (reason, count) in [
                ("too_long", tx.too_long),
                ("too_short", tx.too_short),
                ("no_space", tx.no_space),
                ("port_down", tx.port_down),
                ("refused", tx.refused),
            ] {
                let mut labels = labels.clone();
                labels.push(("reason", reason.to_owned()));
                put(&self.drops, &labels, count);
            }
        }
    }
}

fn put(family: &ByLabel, labels: &Labels, count: u64) {
    let counter = family.get_or_create(labels);
    counter.inner().store(count, Ordering::Relaxed);
}

impl FrameMetrics {
    /// Sets the counters to those of a snapshot.
    pub fn observe(&mut self, statistics: &Statistics, queues: &[QueueReading]) {
        for (counter, read) in &self.totals {
            counter.inner().store(read(statistics), Ordering::Relaxed);
        }
        self.held.set(signed(statistics.held()));
        for (reason, count) in statistics.drops_by_reason() {
            let labels = vec![("reason", reason.name.to_owned())];
            put(&self.drops, &labels, count);
        }
        for quantile in [0.5, 0.99] {
            let labels = vec![("quantile", quantile.to_string())];
            let latency_ns = signed(statistics.latency_ns(quantile));
            self.latency.get_or_create(&labels).set(latency_ns);
        }
        for queue in queues {
            self.ports.observe(queue);
        }
    }

    /// Sets what is counted beside the packets.
    pub fn observe_gateway(&mut self, lost_events: u64, generation: u64) {
        self.lost_events
            .inner()
            .store(lost_events, Ordering::Relaxed);
        self.generation.set(signed(generation));
    }

    /// The metrics in OpenMetrics text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// Gauges are signed: larger values saturate.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
