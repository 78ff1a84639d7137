//! From packets to secure packets, a batch at a time.

use std::sync::Arc;

use weir_ledger::{LedgerError, Shortage};
use weir_stream::{Batch, Context, Stage, StageError, Steering, Vocabulary, VocabularyError};

use super::by_flow::ByFlow;
use super::epochs::{SendingKeys, Source, sources};
use super::records::{Made, NS_PER_SECOND, Records, finish, time_ns};
use super::report::FlowReport;
use super::steering;
use super::words::{StageDropReason, Words};
use crate::secure::{DropReason, FlowId, Sender};

const NAME: &str = "fabric-protect";

/// Protects the packets of the queue pairs that belong to its worker.
pub struct ProtectStage {
    words: Option<Words>,
    keys: SendingKeys,
    sender: Sender,
    /// Keys that have no epochs yet: nothing is sent until all have.
    waiting: Vec<usize>,
    begun: Vec<Begun>,
    by_flow: ByFlow,
    records: Records,
    /// Packets since the epochs were looked at.
    unchecked: usize,
    protected: u64,
    passed: u64,
    ledger_error: Option<Arc<LedgerError>>,
    is_finished: bool,
}

/// Keys with epochs.
struct Begun {
    /// Among the [`sources`] of the file.
    place: usize,
    /// Nothing for unlisted queue pairs.
    flow: Option<FlowId>,
    /// Where the epochs end.
    end: u64,
    packets: u64,
    bytes: u64,
}

/// Packets after which the epochs that are left are counted. A packet for which none is left has them
/// counted at once; an epoch has numbers for 2²⁴ packets.
const CHECKED_EVERY_PACKETS: usize = 1 << 16;

impl ProtectStage {
    pub(super) fn new(keys: SendingKeys, worker: usize, workers: usize) -> ProtectStage {
        ProtectStage {
            words: None,
            sender: Sender::new(keys.file().policy.clone()),
            waiting: keys.places(worker, workers),
            keys,
            begun: Vec::new(),
            by_flow: ByFlow::default(),
            records: Records::default(),
            unchecked: 0,
            protected: 0,
            passed: 0,
            ledger_error: None,
            is_finished: false,
        }
    }

    /// Packets that were protected.
    pub fn protected(&self) -> u64 {
        self.protected
    }

    /// Packets that went on as they were.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Why epochs could not be reserved, the last time that this happened.
    pub fn ledger_error(&self) -> Option<&LedgerError> {
        self.ledger_error.as_deref()
    }

    /// What each queue pair of the file did that belongs to this worker.
    pub fn reports(&self) -> Vec<FlowReport> {
        let sources: Vec<Source<'_>> = sources(self.keys.file()).collect();
        let of = |begun: &Begun| {
            let source = sources.get(begun.place)?;
            Some(FlowReport {
                place: begun.place,
                name: source.name().to_owned(),
                flow: source.flow()?,
                packets: begun.packets,
                bytes: begun.bytes,
                is_degraded: (false, false),
            })
        };
        self.begun.iter().filter_map(of).collect()
    }

    /// Gives epochs to the keys that wait for them; whether all have some.
    fn begin(&mut self) -> Result<bool, StageError> {
        if self.waiting.is_empty() {
            return Ok(true);
        }
        let sources: Vec<Source<'_>> = sources(self.keys.file()).collect();
        while let Some(place) = self.waiting.last().copied() {
            let epochs = match self.keys.begin(place) {
                Ok(epochs) => epochs,
                Err(Shortage::Pending) => return Ok(false),
                Err(Shortage::Failed(error)) => {
                    self.ledger_error = Some(error);
                    return Ok(false);
                }
            };
            self.waiting.pop();
            let Some(source) = sources.get(place) else {
                continue;
            };
            let end = epochs.end;
            let added = source.add_to(&mut self.sender, epochs);
            let flow = added
                .map_err(|error| StageError::new(NAME, format!("{}: {error}", source.owner())))?;
            if let Some(flow) = flow {
                self.by_flow.insert(flow, self.begun.len());
            }
            self.begun.push(Begun {
                place,
                flow,
                end,
                packets: 0,
                bytes: 0,
            });
        }
        Ok(true)
    }

    /// Has more epochs reserved for keys that use their last one.
    #[cold]
    fn extend(&mut self) {
        self.unchecked = 0;
        let sources: Vec<Source<'_>> = sources(self.keys.file()).collect();
        for begun in &mut self.begun {
            let Some(source) = sources.get(begun.place) else {
                continue;
            };
            if source.epochs_left(&self.sender, begun.flow) > 0 {
                continue;
            }
            match self.keys.extend(begun.place, begun.end - 1) {
                Ok(end) => {
                    // Epochs beyond 40 bits are refused, and so are their packets.
                    if source
                        .allow_until(&mut self.sender, begun.flow, end)
                        .is_ok()
                    {
                        begun.end = end;
                    }
                }
                Err(Shortage::Failed(error)) => self.ledger_error = Some(error),
                Err(Shortage::Pending) => {}
            }
        }
    }

    /// Hands out what the sender made of the records.
    fn hand_out(&mut self, batch: &mut Batch, words: &Words) {
        let others = self.keys.file().other_packets;
        for row in &self.records.rows {
            let (flow, bytes) = match self.records.made(row, others) {
                Made::Packet(flow, bytes) => (flow, bytes),
                Made::Passed => {
                    self.passed += 1;
                    continue;
                }
                Made::Dropped(reason) => {
                    if reason == DropReason::EpochsExhausted {
                        self.unchecked = CHECKED_EVERY_PACKETS;
                    }
                    words.drop_record(batch, row.index, reason);
                    continue;
                }
            };
            self.protected += 1;
            if let Some(begun) = self.by_flow.get(flow).and_then(|at| self.begun.get_mut(at)) {
                begun.packets += 1;
                begun.bytes += bytes as u64;
            }
            finish(batch, row, bytes);
        }
    }
}

impl Stage for ProtectStage {
    fn name(&self) -> &str {
        NAME
    }

    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        self.words = Some(Words::register(vocabulary)?);
        Ok(())
    }

    fn steering(&self) -> Steering {
        Steering::By(steering::rule())
    }

    fn process(&mut self, batch: &mut Batch, cx: &mut Context) -> Result<(), StageError> {
        let words = Words::of(NAME, self.words)?;
        if self.is_finished || !self.begin()? {
            for index in batch.live() {
                words.drop_for(batch, index, StageDropReason::EpochPending);
            }
            return Ok(());
        }
        let mut next = Some(0);
        while let Some(from) = next {
            next = self.records.take(batch, words.protect, from);
            let Some(first) = self.records.rows.first().copied() else {
                continue;
            };
            let now_seconds = time_ns(batch, first.index, cx) / NS_PER_SECOND;
            let sender = &mut self.sender;
            (self.records).run(batch, |packets| sender.protect(packets, now_seconds));
            self.unchecked += self.records.rows.len();
            self.hand_out(batch, &words);
        }
        if self.unchecked >= CHECKED_EVERY_PACKETS {
            self.extend();
        }
        Ok(())
    }

    /// Wipes the keys and gives unused epochs back to the ledger. A stage that has finished protects
    /// nothing more.
    fn finish(&mut self) -> Result<(), StageError> {
        let newest: Vec<(usize, u64)> = (self.begun.iter())
            .filter_map(|begun| {
                let left = self.sender.epochs_left(begun.flow?);
                Some((begun.place, (begun.end - 1).saturating_sub(left)))
            })
            .collect();
        self.is_finished = true;
        self.sender = Sender::new(self.keys.file().policy.clone());
        let settled = self.keys.settle(newest);
        settled.map_err(|error| StageError::new(NAME, error))
    }
}
