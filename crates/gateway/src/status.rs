//! The state of a running gateway.

use serde::Serialize;
use tracing::warn;
use weir_ipsec::Replaced;
use weir_stream::{QueueReading, Statistics};

use crate::traffic::Traffic;

/// What a gateway did so far.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// The version of the gateway.
    pub weir_version: &'static str,
    /// Its process.
    pub pid: u32,
    /// How long it has been running, in seconds.
    pub running_s: f64,
    /// The names of its pipelines.
    pub pipelines: Vec<String>,
    /// How often its configuration was replaced.
    pub generation: u64,
    /// Packets read.
    pub packets: u64,
    /// Bytes of captures that were read.
    pub bytes_read: u64,
    /// The accounts of live pipelines; null for captures, and while accounts do not balance.
    pub traffic: Option<Traffic>,
    /// What became of packets that were neither forwarded nor dropped; null where `traffic` is.
    pub balance: Option<BalanceStatus>,
    /// What the queues of live ports counted.
    pub queues: Vec<QueueStatus>,
    /// Events that were not written in time.
    pub lost_events: u64,
    /// What the stage `inspect` did; null without it.
    pub inspection: Option<InspectionStatus>,
    /// The associations of live pipelines; null without some, and while they are being changed.
    pub associations: Option<AssociationsStatus>,
}

/// What `traffic` lacks for its accounts to balance: in every status, packets + created =
/// forwarded + drops + held + absorbed + between_workers.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BalanceStatus {
    /// Packets that stages made.
    pub created: u64,
    /// Packets that stages hold.
    pub held: u64,
    /// Packets that stages consumed.
    pub absorbed: u64,
    /// Packets that one worker has handed over and another one has not taken yet. Workers are read
    /// one after the other: it may be negative.
    pub between_workers: i64,
}

impl From<&Statistics> for BalanceStatus {
    fn from(statistics: &Statistics) -> BalanceStatus {
        BalanceStatus {
            created: statistics.created(),
            held: statistics.held(),
            absorbed: statistics.absorbed(),
            between_workers: statistics.between_workers(),
        }
    }
}

/// The active associations.
#[derive(Clone, Debug, Serialize)]
pub struct AssociationsStatus {
    /// How many.
    pub count: usize,
    /// Whether some were added or removed since the SA file was read: a reload returns to it.
    pub differs_from_file: bool,
}

/// What the search for threats did so far.
#[derive(Clone, Debug, Serialize)]
pub struct InspectionStatus {
    /// Active rules.
    pub rules: u64,
    /// IP packets inspected, those in tunnels too.
    pub packets: u64,
    /// Flows seen.
    pub flows: u64,
    /// Alerts raised.
    pub alerts: u64,
}

/// What a queue of a live port counted.
#[derive(Clone, Debug, Serialize)]
pub struct QueueStatus {
    /// Name of the port.
    pub port: String,
    /// Number of the queue.
    pub queue: usize,
    /// Whether packets pass: `up`, or `down` and why.
    pub state: String,
    /// Of a receive queue; null for others.
    pub rx: Option<ReceivedStatus>,
    /// Of a send queue; null for others.
    pub tx: Option<SentStatus>,
}

/// Packets that came.
#[derive(Clone, Debug, Serialize)]
pub struct ReceivedStatus {
    /// Packets received.
    pub received: u64,
    /// Packets for which the port had no space.
    pub missed: u64,
    /// Packets left out because their description contradicts itself.
    pub malformed: u64,
}

/// Packets that left, and those that did not.
#[derive(Clone, Debug, Serialize)]
pub struct SentStatus {
    /// Packets sent.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets longer than the MTU.
    pub too_long: u64,
    /// Packets shorter than a link header.
    pub too_short: u64,
    /// Packets for which the port had no space.
    pub no_space: u64,
    /// Packets that met a port that was down.
    pub port_down: u64,
    /// Packets that the operating system refused.
    pub refused: u64,
}

impl QueueStatus {
    pub(crate) fn missed(&self) -> u64 {
        self.rx.as_ref().map_or(0, |rx| rx.missed)
    }
}

impl From<&QueueReading> for QueueStatus {
    fn from(reading: &QueueReading) -> QueueStatus {
        QueueStatus {
            port: reading.port.clone(),
            queue: reading.queue,
            state: reading.state.to_string(),
            rx: reading.rx.map(|rx| ReceivedStatus {
                received: rx.received,
                missed: rx.missed,
                malformed: rx.malformed,
            }),
            tx: reading.tx.map(|tx| SentStatus {
                sent: tx.sent,
                sent_bytes: tx.sent_bytes,
                too_long: tx.too_long,
                too_short: tx.too_short,
                no_space: tx.no_space,
                port_down: tx.port_down,
                refused: tx.refused,
            }),
        }
    }
}

/// What a reload activated.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Reloaded {
    /// How often the configuration was replaced.
    pub generation: u64,
    /// The rules of the stage `inspect`; null without it.
    pub rules: Option<ReloadedRules>,
    /// How many rules the filter has; null without one.
    pub filter_rules: Option<usize>,
    /// The associations of live pipelines; null without some.
    pub associations: Option<ReloadedAssociations>,
}

/// What became of the associations.
#[derive(Clone, Debug, Serialize)]
pub struct ReloadedAssociations {
    /// Associations that go on.
    pub kept: usize,
    /// Of these, those with other parameters.
    pub amended: usize,
    /// Associations that are new.
    pub added: usize,
    /// Associations that are gone.
    pub retired: usize,
    /// Whether all workers have taken the change; one that stands still does so later.
    pub is_complete: bool,
}

impl From<Replaced> for ReloadedAssociations {
    fn from(replaced: Replaced) -> ReloadedAssociations {
        if let Some(error) = &replaced.ledger_error {
            warn!("{error}: numbers that were reserved for retired associations are skipped");
        }
        ReloadedAssociations {
            kept: replaced.kept,
            amended: replaced.amended,
            added: replaced.added,
            retired: replaced.retired,
            is_complete: replaced.is_complete,
        }
    }
}

/// What became of the rules in the files.
#[derive(Clone, Debug, Serialize)]
pub struct ReloadedRules {
    /// Active rules.
    pub loaded: u64,
    /// Rules that were left out.
    pub skipped: u64,
}
