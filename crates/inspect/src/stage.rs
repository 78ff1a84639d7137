//! The inspector as a stage of a pipeline.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use weir_packet::wire::reply::Towards;
use weir_stream::{
    BATCH_RECORDS, Batch, BatchFull, Context, DropCodes, Egress, EventKind, Mailbox, Members,
    Stage, StageError, Steering, SteeringRule, Vocabulary, VocabularyError, WorkBit,
};

use crate::eve::{AlertMembers, AnomalyMembers};
use crate::inspector::{
    Alert, GroupStatistics, InspectDrop, InspectOptions, InspectStatistics, Inspector, RuleCost,
};
use crate::live::{LiveRules, SharedSnapshot};
use crate::packet::Packet;
use crate::reject::Reply;
use crate::rule_set::RuleSet;
use crate::summary::AlertCounts;
use crate::virtual_network::{Vlans, pair_number};
use crate::words::{ALERT, ANOMALY, INSPECT, STAGE};

/// The numbers that these words have in a pipeline.
#[derive(Clone, Copy)]
struct Words {
    inspect: WorkBit,
    alert: EventKind,
    anomaly: EventKind,
    drops: DropCodes<InspectDrop>,
}

/// What a stage did is published this often, as long as batches come.
const TOLD_EVERY: Duration = Duration::from_millis(100);

/// The rules that a stage shares with others.
struct Following {
    mailbox: Mailbox<Arc<RuleSet>>,
    snapshot: SharedSnapshot,
    told: Instant,
}

/// Inspects the records whose work includes it ([`INSPECT`]), and notes an
/// [`ALERT`] for every rule that one matches, and an [`ANOMALY`] for what no receiver takes
/// ([`InspectOptions::anomalies_per_second`]). Records go on as they
/// are, unless the stage is inline ([`InspectOptions::is_inline`]): then rules
/// drop some, and the stage creates the packets that tell their ends. Every
/// shard has a stage of its own over the same rules.
pub struct InspectStage {
    words: Option<Words>,
    inspector: Inspector,
    live: Option<Following>,
    alert_counts: AlertCounts,
    is_inline: bool,
    /// Index in the batch of each inspected packet.
    indices: Vec<usize>,
    /// Alerts of the batch, by index in the batch.
    alerts: Vec<Alert>,
    replies: ReplyCounts,
}

impl InspectStage {
    /// A stage over shared rules.
    pub fn new(rules: Arc<RuleSet>) -> InspectStage {
        InspectStage::with_options(rules, &InspectOptions::default())
    }

    /// A stage with other options than the default ones.
    pub fn with_options(rules: Arc<RuleSet>, options: &InspectOptions) -> InspectStage {
        InspectStage::over(Inspector::with_options(rules, options), options)
    }

    fn over(inspector: Inspector, options: &InspectOptions) -> InspectStage {
        InspectStage {
            words: None,
            inspector,
            live: None,
            alert_counts: AlertCounts::default(),
            is_inline: options.is_inline,
            indices: Vec::with_capacity(BATCH_RECORDS),
            alerts: Vec::new(),
            replies: ReplyCounts::default(),
        }
    }

    /// A stage that takes other rules, whenever there are, between two batches,
    /// and counts rates together with the others that follow the same.
    pub fn following(rules: &Arc<LiveRules>, options: &InspectOptions) -> InspectStage {
        let (current, mailbox) = rules.follow();
        let inspector = Inspector::counting_with(rules.trackers(), current, options);
        let mut stage = InspectStage::over(inspector, options);
        stage.live = Some(Following {
            mailbox,
            snapshot: rules.add_snapshot(),
            told: Instant::now(),
        });
        stage
    }

    /// What was done so far.
    pub fn statistics(&self) -> InspectStatistics {
        InspectStatistics {
            replies_created: self.replies.created,
            replies_lost: self.replies.lost,
            ..self.inspector.statistics()
        }
    }

    /// What the groups of rules were searched for.
    pub fn group_statistics(&self) -> Vec<GroupStatistics> {
        self.inspector.group_statistics()
    }

    /// Measures from now on what every rule costs.
    pub fn profile_rules(&mut self) {
        self.inspector.profile_rules();
    }

    /// What every rule cost, by its index, if that was measured.
    pub fn rule_costs(&self) -> Option<Vec<RuleCost>> {
        self.inspector.rule_costs()
    }

    /// The rules that records are matched against.
    pub fn rules(&self) -> &Arc<RuleSet> {
        self.inspector.rules()
    }

    /// How often each rule alerted.
    pub fn alert_counts(&self) -> &AlertCounts {
        &self.alert_counts
    }

    fn take_new_rules(&mut self) -> Result<(), StageError> {
        let Some(Following { mailbox, .. }) = &mut self.live else {
            return Ok(());
        };
        while let Some(rules) = mailbox.take() {
            (self.inspector.replace_rules(rules)).map_err(|error| StageError::new(STAGE, error))?;
        }
        Ok(())
    }

    /// Publishes what was done so far.
    fn tell(&mut self) {
        let statistics = self.statistics();
        if let Some(live) = &mut self.live {
            live.told = Instant::now();
            let mut snapshot = live.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
            snapshot.statistics = statistics;
            snapshot.groups = self.inspector.group_statistics();
        }
    }
}

/// Packets for the ends of rejected ones.
#[derive(Clone, Copy, Debug, Default)]
struct ReplyCounts {
    created: u64,
    /// The batch had no room for them.
    lost: u64,
}

/// Adds a packet for one end of a rejected one. It is not inspected.
fn create(
    batch: &mut Batch,
    origin: usize,
    reply: &Reply,
    inspect: WorkBit,
) -> Result<(), BatchFull> {
    let created = batch.create(origin, &reply.bytes)?;
    batch.set_work(created, batch.work(created).without(inspect));
    let is_live = batch.egress(origin).port_number().is_some();
    if is_live && reply.towards == Towards::Sender {
        let came_in_by = usize::from(batch.arrival(origin).interface);
        batch.set_egress(created, Egress::port(came_in_by));
    }
    Ok(())
}

/// A number for a record's pair of addresses, whatever the direction: so
/// fragments come to the shard that sees the rest of their flow, and bits of
/// pairs of hosts have one place. A tunnel is steered by its ends; what a PPPoE
/// session carries, by the addresses in it.
fn number_of_addresses(batch: &Batch, index: usize) -> u32 {
    let packet = Packet {
        headers: *batch.headers(index),
        bytes: batch.record(index),
        ..Packet::default()
    };
    let outermost = packet.levels(Vlans::Ignore).next();
    outermost.map_or(0, |packet| (pair_number(&packet.flow()) >> 32) as u32)
}

impl Stage for InspectStage {
    fn name(&self) -> &str {
        STAGE
    }

    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        self.words = Some(Words {
            inspect: vocabulary.work_bit(&INSPECT)?,
            alert: vocabulary.event_kind(&ALERT)?,
            anomaly: vocabulary.event_kind(&ANOMALY)?,
            drops: vocabulary.drop_reasons()?,
        });
        Ok(())
    }

    fn steering(&self) -> Steering {
        Steering::By(SteeringRule::new("address pairs", number_of_addresses))
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let words = self.words.ok_or_else(|| StageError::unregistered(STAGE))?;
        self.take_new_rules()?;
        let mut packets = [Packet::default(); BATCH_RECORDS];
        self.indices.clear();
        let asks = |index: &usize| batch.work(*index).needs(words.inspect);
        for index in batch.live().filter(asks) {
            let arrival = batch.arrival(index);
            packets[self.indices.len()] = Packet {
                headers: *batch.headers(index),
                bytes: batch.record(index),
                timestamp_ns: arrival.clock_ns(),
                interface: arrival.interface,
                link: arrival.link,
                is_cut: arrival.wire_bytes as usize > batch.record(index).len(),
                is_checksum_trusted: batch.is_checksum_trusted(index),
                ..Packet::default()
            };
            self.indices.push(index);
        }
        self.alerts.clear();
        let (indices, alerts) = (&self.indices, &mut self.alerts);
        self.inspector.inspect(&packets[..indices.len()], |alert| {
            let packet = indices[alert.packet];
            alerts.push(Alert { packet, ..alert });
        });
        let rules = self.inspector.rules();
        let generation = self.live.as_ref().map(|live| live.mailbox.generation());
        for alert in &self.alerts {
            let rule = &rules.rules()[alert.rule as usize];
            self.alert_counts.add(rules.number(alert.rule), rule);
            let event = batch.notice(alert.packet, words.alert);
            (event.flow, event.icmp) = (alert.flow, alert.icmp);
            event.flow_id = alert.flow_record.map(|record| record.id);
            event.generation = generation;
            let members = AlertMembers::new(rule, alert, self.is_inline);
            event.members = Some(Members::of(&members));
        }
        for anomaly in self.inspector.anomalies() {
            let event = batch.notice(self.indices[anomaly.packet], words.anomaly);
            (event.flow, event.icmp) = (anomaly.flow, anomaly.icmp);
            event.flow_id = anomaly.flow_id;
            event.members = Some(Members::of(&AnomalyMembers::new(anomaly.kind)));
        }
        for refusal in self.inspector.refusals() {
            let index = self.indices[refusal.packet];
            for reply in &refusal.replies {
                match create(batch, index, reply, words.inspect) {
                    Ok(()) => self.replies.created += 1,
                    Err(BatchFull) => self.replies.lost += 1,
                }
            }
            batch.drop_record(index, words.drops.code(refusal.reason));
        }
        if (self.live.as_ref()).is_some_and(|live| live.told.elapsed() >= TOLD_EVERY) {
            self.tell();
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), StageError> {
        self.tell();
        Ok(())
    }
}
