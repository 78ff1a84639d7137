//! Packets of illegal partitions are stopped where they enter.

use weir_stream::{Batch, Context, Stage, StageError, Steering, Vocabulary, VocabularyError};

use super::records::time_ns;
use super::words::{StageDropReason, Words};
use crate::filter::{
    Direction, PartitionTable, PortFilter, PortRole, Scheme, TableFilter, Verdict,
};
use crate::secure::DropReason;
use crate::wire::Packet;

const NAME: &str = "fabric-filter";

/// Drops packets whose P_Key the node that sends them must not use.
///
/// It has the filter of the port where the node's packets enter. Where the P_Keys of the node that they go to
/// are known too, its comparison follows; what it refuses is the trap that switches a stateful filter on. Packets of
/// virtual lane 15, whose P_Keys nobody compares, pass, and so do those of other networks.
pub struct FilterStage {
    words: Option<Words>,
    ingress: PortFilter,
    receiver: Option<TableFilter>,
    rows: Vec<usize>,
    p_keys: Vec<u16>,
    verdicts: Vec<Verdict>,
    counts: FilterCounts,
}

/// What a filter stage is made of.
#[derive(Clone, Debug)]
pub struct FilterSettings {
    /// When packets are looked up.
    pub scheme: Scheme,
    /// P_Keys of the node that sends.
    pub sender: PartitionTable,
    /// P_Keys of the node that receives.
    pub receiver: Option<PartitionTable>,
    /// A stateful filter is switched off after this time without violations.
    pub quiet_ns: u64,
}

/// What a filter stage did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterCounts {
    /// Packets that were looked up for the node that sends them.
    pub lookups: u64,
    /// Packets that were dropped where they entered.
    pub blocked: u64,
    /// Packets that the node refused that they went to.
    pub refused: u64,
}

impl FilterStage {
    /// A filter that is off, if it is stateful.
    pub fn new(settings: FilterSettings) -> FilterStage {
        let FilterSettings {
            scheme,
            sender,
            receiver,
            quiet_ns,
        } = settings;
        FilterStage {
            words: None,
            ingress: scheme.port_filter(PortRole::Ingress, sender, quiet_ns),
            receiver: receiver.map(|table| TableFilter::new(table, Direction::ToNode)),
            rows: Vec::new(),
            p_keys: Vec::new(),
            verdicts: Vec::new(),
            counts: FilterCounts::default(),
        }
    }

    /// What it did so far.
    pub fn counts(&self) -> FilterCounts {
        FilterCounts {
            lookups: self.ingress.lookups(),
            ..self.counts
        }
    }

    /// Lists the packets whose P_Keys count.
    fn list(&mut self, batch: &mut Batch, words: &Words) {
        self.rows.clear();
        self.p_keys.clear();
        for index in batch.live() {
            let needed = batch.work(index);
            if !needed.needs(words.filter) {
                continue;
            }
            batch.set_work(index, needed.without(words.filter));
            let (headers, link) = (batch.headers(index), batch.arrival(index).link);
            match Packet::behind(headers, link, batch.record(index)) {
                Ok(Some(packet)) if is_management(&packet) => {}
                Ok(Some(packet)) => {
                    self.rows.push(index);
                    self.p_keys.push(packet.bth().partition_key);
                }
                Ok(None) => {}
                Err(_) => words.drop_record(batch, index, DropReason::Malformed),
            }
        }
    }

    /// Drops what is refused, and keeps the others; calls `refused` with each P_Key.
    fn drop_refused(
        &mut self,
        batch: &mut Batch,
        words: &Words,
        reason: StageDropReason,
        mut refused: impl FnMut(u16),
    ) -> u64 {
        let mut kept = 0;
        for at in 0..self.rows.len() {
            let (row, p_key) = (self.rows[at], self.p_keys[at]);
            match self.verdicts.get(at) {
                Some(Verdict::Pass) => {
                    (self.rows[kept], self.p_keys[kept]) = (row, p_key);
                    kept += 1;
                }
                Some(Verdict::Drop) | None => {
                    words.drop_for(batch, row, reason);
                    refused(p_key);
                }
            }
        }
        let dropped = self.rows.len() - kept;
        self.rows.truncate(kept);
        self.p_keys.truncate(kept);
        dropped as u64
    }
}

/// Queue pair 0 compares no P_Keys, and its packets have virtual lane 15 to themselves.
fn is_management(packet: &Packet<'_>) -> bool {
    packet.lrh().is_some_and(|lrh| lrh.virtual_lane == 15) && packet.bth().destination_qp == 0
}

impl Stage for FilterStage {
    fn name(&self) -> &str {
        NAME
    }

    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        self.words = Some(Words::register(vocabulary)?);
        Ok(())
    }

    /// Each worker has a filter of its own.
    fn steering(&self) -> Steering {
        Steering::Any
    }

    fn process(&mut self, batch: &mut Batch, cx: &mut Context) -> Result<(), StageError> {
        let words = Words::of(NAME, self.words)?;
        self.list(batch, &words);
        let Some(first) = self.rows.first() else {
            return Ok(());
        };
        let now_ns = match cx.is_live {
            true => cx.now_ns,
            false => time_ns(batch, *first, cx),
        };
        self.ingress.judge(now_ns, &self.p_keys, &mut self.verdicts);
        let blocked = StageDropReason::PartitionKeyBlocked;
        self.counts.blocked += self.drop_refused(batch, &words, blocked, |_| {});
        if let Some(receiver) = &mut self.receiver {
            receiver.judge(&self.p_keys, &mut self.verdicts);
            let refused = StageDropReason::PartitionKeyRefused;
            let mut traps = Vec::new();
            self.counts.refused +=
                self.drop_refused(batch, &words, refused, |p_key| traps.push(p_key));
            if let PortFilter::Stateful(filter) = &mut self.ingress {
                for p_key in traps {
                    filter.trap(now_ns, p_key);
                }
            }
        }
        Ok(())
    }
}
