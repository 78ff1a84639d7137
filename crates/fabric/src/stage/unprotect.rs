//! From secure packets to packets, a batch at a time.

use std::sync::Arc;

use serde::Serialize;
use weir_ledger::{LedgerError, Owner, Shortage};
use weir_packet::wire::{FlowKey, KeyKind};
use weir_stream::{
    Batch, Context, Event, Members, Stage, StageError, Steering, Vocabulary, VocabularyError,
};

use super::by_flow::ByFlow;
use super::error::FabricError;
use super::flow_windows::FlowWindow;
use super::records::{Made, NS_PER_SECOND, Records, finish, time_ns};
use super::report::FlowReport;
use super::steering;
use super::windows::{ReceivingKeys, inbound};
use super::words::{StageDropReason, Words};
use crate::secure::{Alarm, AlarmCause, Algorithm, FlowId, Note, ReceiveFrom, Receiver};

const NAME: &str = "fabric-unprotect";

/// Verifies and restores the packets of the queue pairs that belong to its worker.
pub struct UnprotectStage {
    words: Option<Words>,
    keys: ReceivingKeys,
    receiver: Receiver,
    receiving: Vec<Receiving>,
    by_flow: ByFlow,
    records: Records,
    worker: usize,
    /// Queue pairs with packets among the records, by their place in `receiving`.
    touched: Vec<usize>,
    batches: u64,
    unprotected: u64,
    passed: u64,
    alarms: u64,
    ledger_error: Option<Arc<LedgerError>>,
    is_finished: bool,
}

/// A queue pair.
struct Receiving {
    window: Window,
    flow: FlowId,
    packets: u64,
    bytes: u64,
    /// When it last had packets, counted in batches.
    touched_in: u64,
    /// Whether the ledger lets these go on.
    is_granted: bool,
    /// At the end.
    was_degraded: (bool, bool),
}

enum Window {
    /// Of a queue pair of the file: its place among the [`inbound`] ones.
    Listed(usize),
    /// Of another one, and its place among the windows of partitions.
    Unlisted(FlowWindow, usize),
}

impl UnprotectStage {
    pub(super) fn new(
        keys: ReceivingKeys,
        worker: usize,
        workers: usize,
    ) -> Result<UnprotectStage, FabricError> {
        let file = keys.file();
        let mut receiver = Receiver::new(file.policy.clone(), file.limits);
        let failed = |what, name: &str| {
            let owner = Owner::new(what, name);
            move |source| FabricError::Flow { owner, source }
        };
        let mut receiving = Vec::new();
        let mut by_flow = ByFlow::default();
        for (place, name, direction) in keys.of_worker(worker, workers) {
            let from = keys.window(place).map(|window| window.from());
            let added = receiver.add(direction.flow, &direction.keys(), from.unwrap_or_default());
            let flow = added.map_err(failed("queue_pair", name))?;
            by_flow.insert(flow, receiving.len());
            receiving.push(Receiving::new(flow, Window::Listed(place)));
        }
        for partition in &file.partitions {
            if let Some(unlisted) = &partition.unlisted {
                let added = receiver.add_unlisted(unlisted.clone(), keys.first_epoch());
                added.map_err(failed("partition", &partition.name))?;
            }
        }
        for of_flows in keys.flow_windows() {
            of_flows.recall(&mut receiver, worker, workers);
        }
        Ok(UnprotectStage {
            words: None,
            worker,
            receiver,
            receiving,
            by_flow,
            records: Records::default(),
            touched: Vec::new(),
            batches: 0,
            unprotected: 0,
            passed: 0,
            alarms: 0,
            ledger_error: None,
            is_finished: false,
            keys,
        })
    }

    /// Packets that were verified.
    pub fn unprotected(&self) -> u64 {
        self.unprotected
    }

    /// Packets that went on as they were.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Alarms that were raised ([`ALARM`](super::ALARM)).
    pub fn alarms(&self) -> u64 {
        self.alarms
    }

    /// Why the ledger of windows could not be written, the last time that this happened.
    pub fn ledger_error(&self) -> Option<&LedgerError> {
        self.ledger_error.as_deref()
    }

    /// What each queue pair of the file did that belongs to this worker.
    pub fn reports(&self) -> Vec<FlowReport> {
        let inbound: Vec<_> = inbound(self.keys.file()).collect();
        let of = |receiving: &Receiving| {
            let Window::Listed(place) = receiving.window else {
                return None;
            };
            let (name, direction) = inbound.get(place)?;
            Some(FlowReport {
                place,
                name: (*name).to_owned(),
                flow: direction.flow,
                packets: receiving.packets,
                bytes: receiving.bytes,
                is_degraded: match self.is_finished {
                    true => receiving.was_degraded,
                    false => self.receiver.is_degraded(receiving.flow),
                },
            })
        };
        self.receiving.iter().filter_map(of).collect()
    }

    /// Takes down what the receiver notes of unlisted queue pairs.
    fn note(&mut self) {
        let notes = self.receiver.notes();
        if notes.is_empty() {
            return;
        }
        for of_flows in self.keys.flow_windows() {
            of_flows.note(notes, self.worker);
        }
        for note in notes {
            let Note::Began { flow, from } = *note else {
                continue;
            };
            let Some(began) = self.receiver.flow(flow) else {
                continue;
            };
            let windows = self.keys.flow_windows();
            let of = (windows.iter()).position(|of_flows| of_flows.is_of(began.partition_key));
            let Some(of) = of else {
                continue;
            };
            let window = Window::Unlisted(FlowWindow::new(began, from), of);
            let receiving = Receiving::new(flow, window);
            // The slot's last flow gave way.
            let place = self.by_flow.before(flow).unwrap_or(self.receiving.len());
            self.by_flow.insert(flow, place);
            match self.receiving.get_mut(place) {
                Some(before) => *before = receiving,
                None => self.receiving.push(receiving),
            }
        }
    }

    /// Notes how far the queue pairs have come that have packets among the records.
    fn advance(&mut self) {
        self.batches += 1;
        self.touched.clear();
        for row in &self.records.rows {
            let flow = self.records.flow(row);
            let Some(place) = flow.and_then(|flow| self.by_flow.get(flow)) else {
                continue;
            };
            let Some(receiving) = self.receiving.get_mut(place) else {
                continue;
            };
            if std::mem::replace(&mut receiving.touched_in, self.batches) != self.batches {
                self.touched.push(place);
            }
        }
        for place in self.touched.drain(..) {
            let Some(receiving) = self.receiving.get_mut(place) else {
                continue;
            };
            let state = self.receiver.state(receiving.flow);
            let advanced = state.map_or(Err(Shortage::Pending), |state| {
                receiving.window.advance(state, &self.keys)
            });
            receiving.is_granted = advanced.is_ok();
            if let Err(Shortage::Failed(error)) = advanced {
                self.ledger_error = Some(error);
            }
        }
    }

    /// Hands out what the receiver made of the records.
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
                    words.drop_record(batch, row.index, reason);
                    continue;
                }
            };
            let place = self.by_flow.get(flow);
            let receiving = place.and_then(|place| self.receiving.get_mut(place));
            let Some(receiving) = receiving.filter(|receiving| receiving.is_granted) else {
                words.drop_for(batch, row.index, StageDropReason::WindowPending);
                continue;
            };
            receiving.packets += 1;
            receiving.bytes += bytes as u64;
            self.unprotected += 1;
            finish(batch, row, bytes);
        }
    }
}

impl Stage for UnprotectStage {
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
        if self.is_finished {
            for index in batch.live() {
                words.drop_for(batch, index, StageDropReason::WindowPending);
            }
            return Ok(());
        }
        let mut next = Some(0);
        while let Some(from) = next {
            next = self.records.take(batch, words.unprotect, from);
            let Some(first) = self.records.rows.first().copied() else {
                continue;
            };
            let time_ns = time_ns(batch, first.index, cx);
            let receiver = &mut self.receiver;
            self.records.run(batch, |packets| {
                receiver.unprotect(packets, time_ns / NS_PER_SECOND);
            });
            for alarm in receiver.alarms() {
                self.alarms += 1;
                batch.notice_beside(event(&words, time_ns, alarm));
            }
            self.note();
            self.advance();
            self.hand_out(batch, &words);
        }
        Ok(())
    }

    /// Wipes the keys and writes down how far their receivers came. A stage that has finished takes
    /// nothing more.
    fn finish(&mut self) -> Result<(), StageError> {
        self.is_finished = true;
        for receiving in &mut self.receiving {
            receiving.was_degraded = self.receiver.is_degraded(receiving.flow);
        }
        let remembered = self.receiver.remembered();
        let file = self.keys.file();
        self.receiver = Receiver::new(file.policy.clone(), file.limits);
        let places = (self.receiving.iter()).filter_map(|receiving| match receiving.window {
            Window::Listed(place) => Some(place),
            Window::Unlisted(..) => None,
        });
        let mut settled = self.keys.settle(places);
        for of_flows in self.keys.flow_windows() {
            let flows = (remembered.iter())
                .filter(|(partition_key, ..)| of_flows.is_of(*partition_key))
                .map(|(_, ends, from)| (*ends, *from));
            settled = settled.and(of_flows.settle(flows));
        }
        settled.map_err(|error| StageError::new(NAME, error))
    }
}

impl Receiving {
    fn new(flow: FlowId, window: Window) -> Receiving {
        Receiving {
            window,
            flow,
            packets: 0,
            bytes: 0,
            touched_in: 0,
            is_granted: true,
            was_degraded: (false, false),
        }
    }
}

impl Window {
    /// Notes how far a receiver has come, before its packets go on.
    fn advance(&mut self, to: ReceiveFrom, keys: &ReceivingKeys) -> Result<(), Shortage> {
        match self {
            Window::Listed(place) => {
                let window = keys.window(*place);
                window.map_or(Err(Shortage::Pending), |mut window| window.advance(to))
            }
            Window::Unlisted(window, of) => {
                let of_flows = keys.flow_windows().get(*of);
                of_flows.map_or(Err(Shortage::Pending), |of_flows| {
                    window.advance(to, of_flows)
                })
            }
        }
    }
}

/// The members of an alarm in EVE JSON.
#[derive(Serialize)]
struct AlarmMembers {
    fabric_alarm: AlarmObject,
}

#[derive(Serialize)]
struct AlarmObject {
    from: String,
    to: String,
    queue_pair: u32,
    cause: String,
}

fn event(words: &Words, timestamp_ns: u64, alarm: &Alarm) -> Event {
    let cause = match alarm.cause {
        AlarmCause::ConsecutiveFailures(tags) => format!("{tags} wrong tags in a row"),
        AlarmCause::Degraded(Algorithm::Cmac32) => "CMAC-32 is refused".to_owned(),
        AlarmCause::Degraded(_) => "GCM-32 is refused".to_owned(),
    };
    let members = AlarmMembers {
        fabric_alarm: AlarmObject {
            from: alarm.flow.sender.address.to_string(),
            to: alarm.flow.receiver.address.to_string(),
            queue_pair: alarm.flow.receiver.queue_pair,
            cause,
        },
    };
    Event {
        arrival: None,
        timestamp_ns,
        flow: FlowKey::default(),
        key: KeyKind::FiveTuple,
        flow_id: None,
        icmp: None,
        vlan_tci: None,
        interface: None,
        kind: words.alarm,
        generation: None,
        members: Some(Members::of(&members)),
    }
}
