//! Receivers of unlisted flows that end and start again: nothing is taken twice, and honest traffic goes on.

use std::collections::HashMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use weir_fabric::secure::{
    Address, DropReason, Endpoint, FlowId, NodeEpochs, Note, PlainPolicy, ReceiveFrom, Receiver,
    Secret, Sender, SessionRandom, TagLimits, Unlisted,
};
use weir_fabric::wire::{Carrier, Operation, Transport};
use weir_packet::wire::LinkType;

use crate::network::{
    Line, Outcome, PARTITION_KEY, protect_one, protected, unprotect, unprotect_one,
};

const WINDOW_PACKETS: usize = 64;
/// Numbers that are written down at a time.
const STEP: u64 = 32;
/// Epochs of a start of a sender.
const START: u64 = 3;
/// One that a receiver understands which knows nothing. It needs what it remembers later on.
const FIRST_EPOCH: u64 = 100;

fn keys(flows_max: usize) -> Unlisted {
    let secret = Secret::new(vec![42; 32]).expect("32 bytes");
    let mut keys = Unlisted::new(PARTITION_KEY, &secret, SessionRandom([7; 16]));
    keys.flows_max = flows_max;
    keys.window_packets = WINDOW_PACKETS;
    keys
}

fn sender(start: u64, flows_max: usize) -> Sender {
    let mut sender = Sender::new(PlainPolicy::default());
    let first = FIRST_EPOCH + start * START;
    let added = sender.add_unlisted(keys(flows_max), first..first + 1000);
    assert_eq!(added, Ok(()));
    sender
}

fn line(carrier: Carrier, transport: Transport, queue_pair: u32) -> Line {
    let mut line = Line::new(carrier, transport);
    line.flow.receiver.queue_pair = queue_pair;
    line
}

/// What survives a receiver.
#[derive(Default)]
struct Disk {
    nodes: HashMap<Address, NodeEpochs>,
    flows: HashMap<[Endpoint; 2], ReceiveFrom>,
}

/// A receiver, and what it writes down before its packets go on.
struct Side {
    receiver: Receiver,
    disk: Disk,
    began: HashMap<FlowId, ([Endpoint; 2], ReceiveFrom)>,
}

impl Side {
    fn new() -> Side {
        let mut side = Side {
            receiver: Receiver::new(PlainPolicy::default(), TagLimits::default()),
            disk: Disk::default(),
            began: HashMap::new(),
        };
        let added = (side.receiver).add_unlisted(keys(Unlisted::FLOWS_MIN), 0);
        assert_eq!(added, Ok(()));
        side
    }

    /// Another process, which knows what is written down.
    fn start_again(&mut self) {
        let mut receiver = Receiver::new(PlainPolicy::default(), TagLimits::default());
        assert_eq!(receiver.add_unlisted(keys(Unlisted::FLOWS_MIN), 0), Ok(()));
        for (address, epochs) in &self.disk.nodes {
            receiver.recall_node(PARTITION_KEY, *address, *epochs);
        }
        for (ends, from) in &self.disk.flows {
            receiver.recall_flow(PARTITION_KEY, *ends, *from);
        }
        self.receiver = receiver;
        self.began.clear();
    }

    fn take(&mut self, records: &[Vec<u8>]) -> Vec<Outcome> {
        let (outcomes, _) = unprotect(&mut self.receiver, LinkType::RawIp, records);
        for note in self.receiver.notes() {
            match *note {
                Note::Began { flow, from } => {
                    let known = self.receiver.flow(flow).expect("it began");
                    let ends = [known.sender, known.receiver];
                    // Nothing is granted yet.
                    self.disk.flows.insert(ends, from);
                    self.began.insert(flow, (ends, from));
                }
                Note::Node {
                    address, epochs, ..
                } => {
                    self.disk.nodes.insert(address, epochs);
                }
                Note::Forgotten { ends, .. } => {
                    let forgotten = self.disk.flows.remove(&ends).expect("it was there");
                    let lowest = self.disk.nodes[&ends[0].address].lowest;
                    assert!(lowest << 24 >= forgotten.requests, "forgotten too early");
                }
            }
        }
        for (flow, (ends, from)) in &self.began {
            let (Some(state), Some(known)) =
                (self.receiver.state(*flow), self.receiver.flow(*flow))
            else {
                continue;
            };
            let written = self.disk.flows.get_mut(ends).expect("it is remembered");
            let is_reliable = known.transport == Transport::Rc;
            let next = state.max(*from);
            let step = |next: u64, written: u64| match (is_reliable, next > written) {
                (false, true) => next + STEP,
                (true, _) if next > written + STEP => next,
                _ => written,
            };
            *written = ReceiveFrom {
                requests: step(next.requests, written.requests),
                responses: step(next.responses, written.responses),
                extended: step(next.extended, written.extended),
            };
        }
        outcomes
    }
}

/// A packet that was on the wire.
struct Recorded {
    flow: usize,
    /// Its place among the packets of its flow.
    at: usize,
    record: Vec<u8>,
    taken: u32,
}

struct Traffic {
    line: Line,
    psn: u32,
    sent: usize,
    /// The highest place of a packet that was taken.
    highest: usize,
    /// Packets that a start of the receiver may have cost.
    may_be_refused: u64,
}

#[test]
fn nothing_is_taken_twice_whenever_either_side_starts_again() {
    let carriers = [Carrier::Ipv4, Carrier::Ipv6];
    let transports = [Transport::Ud, Transport::Uc, Transport::Rc];
    let mut counts = [0; 5];
    for seed in 0..4 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut below = |end: usize| random.next_u32() as usize % end;
        let mut flows: Vec<Traffic> = (0..48)
            .map(|at| Traffic {
                line: line(carriers[at % 2], transports[at / 2 % 3], at as u32),
                psn: below(1 << 24) as u32,
                sent: 0,
                highest: 0,
                may_be_refused: 0,
            })
            .collect();
        let mut starts = [0, 0];
        let mut senders = starts.map(|start| sender(start, 4096));
        let mut side = Side::new();
        let mut recorded: Vec<Recorded> = Vec::new();
        for _ in 0..1500 {
            match below(100) {
                0..4 => {
                    counts[0] += 1;
                    side.start_again();
                    flows.iter_mut().for_each(|flow| flow.may_be_refused = STEP);
                }
                // Not as often as would end the following.
                4 if starts[0] < 20 && starts[1] < 20 => {
                    counts[1] += 1;
                    let at = below(2);
                    starts[at] += 1;
                    senders[at] = sender(starts[at], 4096);
                }
                4..40 if !recorded.is_empty() => {
                    // Not more than new flows in a batch.
                    let chosen: Vec<usize> = (0..16).map(|_| below(recorded.len())).collect();
                    let records: Vec<_> = (chosen.iter())
                        .map(|at| recorded[*at].record.clone())
                        .collect();
                    for (at, outcome) in chosen.iter().zip(side.take(&records)) {
                        let packet = &mut recorded[*at];
                        let flow = &mut flows[packet.flow];
                        let is_reliable = flow.line.flow.transport == Transport::Rc;
                        match outcome {
                            Ok(_) => {
                                let behind = flow.highest.saturating_sub(packet.at) as u64;
                                // A tag is remembered until the number a window later
                                // comes, which may have come before the start.
                                let is_near = behind <= 2 * WINDOW_PACKETS as u64 + STEP;
                                assert!(
                                    packet.taken == 0 || is_reliable && is_near,
                                    "{} behind, taken {}",
                                    behind,
                                    packet.taken
                                );
                                packet.taken += 1;
                                flow.highest = flow.highest.max(packet.at);
                                counts[2] += 1;
                            }
                            Err(reason) => {
                                let expected = [DropReason::Replayed, DropReason::OldEpoch];
                                assert!(expected.contains(&reason), "{reason:?}");
                                counts[3] += 1;
                            }
                        }
                    }
                }
                _ => {
                    let at = below(flows.len());
                    let flow = &mut flows[at];
                    let plain: Vec<_> = (0..1 + below(20) as u32)
                        .map(|ahead| {
                            let psn = (flow.psn + ahead) & 0xff_ffff;
                            flow.line.packet(Operation::SendOnly, psn, b"some bytes")
                        })
                        .collect();
                    flow.psn = (flow.psn + plain.len() as u32) & 0xff_ffff;
                    let secure = protected(&mut senders[at % 2], LinkType::RawIp, &plain);
                    for record in secure {
                        flow.sent += 1;
                        recorded.push(Recorded {
                            flow: at,
                            at: flow.sent,
                            record,
                            taken: 0,
                        });
                    }
                    // Some batches do not arrive; an attacker has them. In front of gaps, tags of
                    // reliable transports are remembered for longer.
                    let is_reliable = flow.line.flow.transport == Transport::Rc;
                    if !is_reliable && below(8) == 0 {
                        continue;
                    }
                    let first = recorded.len() - plain.len();
                    let records: Vec<_> = (recorded[first..].iter())
                        .map(|packet| packet.record.clone())
                        .collect();
                    for (packet, outcome) in recorded[first..].iter_mut().zip(side.take(&records)) {
                        match outcome {
                            Ok(_) => {
                                packet.taken += 1;
                                flow.highest = packet.at;
                            }
                            Err(reason) => {
                                assert_eq!(reason, DropReason::Replayed);
                                assert!(!is_reliable);
                                assert!(flow.may_be_refused > 0, "honest packets are refused");
                                flow.may_be_refused -= 1;
                                counts[4] += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    let [starts, sender_starts, late, refused, lost] = counts;
    assert!(starts > 100 && sender_starts > 20, "{counts:?}");
    assert!(late > 100 && refused > 10_000 && lost > 100, "{counts:?}");
}

/// More flows than a receiver remembers: those far behind are forgotten, and their packets are old.
#[test]
fn what_is_forgotten_is_not_taken_again() {
    let mut sender = sender(0, Unlisted::FLOWS_MIN);
    let mut side = Side::new();
    let mut recorded = Vec::new();
    let all = 8 * Unlisted::FLOWS_MIN as u32;
    for queue_pair in 0..all {
        let line = line(Carrier::Ipv4, Transport::Ud, queue_pair);
        let plain = line.packet(Operation::SendOnly, 7, b"some bytes");
        let secure = protect_one(&mut sender, line.link(), &plain).expect("protected");
        assert_eq!(side.take(std::slice::from_ref(&secure)), [Ok(plain)]);
        recorded.push(secure);
    }
    let remembered = side.receiver.remembered().len();
    assert!(remembered <= 4 * Unlisted::FLOWS_MIN);
    assert_eq!(side.disk.flows.len(), remembered);
    for round in 0..3 {
        for records in recorded.chunks(16) {
            for outcome in side.take(records) {
                let reason = outcome.expect_err("it was taken");
                let expected = [DropReason::Replayed, DropReason::OldEpoch];
                assert!(expected.contains(&reason), "{round}: {reason:?}");
            }
        }
        side.start_again();
    }
    // Flows that the sender has go on, also when it starts again, and new ones begin.
    let fresh = [all - 1, all, all + 1];
    let mut take = |sender: &mut Sender, queue_pair| {
        let line = line(Carrier::Ipv4, Transport::Ud, queue_pair);
        let plain = line.packet(Operation::SendOnly, 50, b"some bytes");
        let secure = protect_one(sender, line.link(), &plain).expect("protected");
        assert_eq!(side.take(&[secure]), [Ok(plain)]);
    };
    for queue_pair in fresh {
        take(&mut sender, queue_pair);
    }
    let mut sender = self::sender(20, Unlisted::FLOWS_MIN);
    for queue_pair in fresh {
        take(&mut sender, queue_pair);
    }
}

/// A receiver that can forget no flow refuses new ones, and goes on with those that it has.
#[test]
fn a_receiver_that_remembers_too_many_flows_begins_no_more() {
    let mut sender = sender(0, 8 * Unlisted::FLOWS_MIN);
    let mut side = Side::new();
    let most = 4 * Unlisted::FLOWS_MIN as u32;
    let pass = |side: &mut Side, sender: &mut Sender, queue_pair, psn| {
        let line = line(Carrier::Ipv4, Transport::Ud, queue_pair);
        let plain = line.packet(Operation::SendOnly, psn, b"some bytes");
        let secure = protect_one(sender, line.link(), &plain).expect("protected");
        let outcome = side.take(std::slice::from_ref(&secure)).remove(0);
        (outcome.map(|restored| assert_eq!(restored, plain)), secure)
    };
    let mut recorded = Vec::new();
    for queue_pair in 0..most {
        let (outcome, secure) = pass(&mut side, &mut sender, queue_pair, 7);
        assert_eq!(outcome, Ok(()));
        recorded.push(secure);
    }
    for queue_pair in most..most + 40 {
        let (outcome, _) = pass(&mut side, &mut sender, queue_pair, 7);
        assert_eq!(outcome, Err(DropReason::TooManyFlows));
    }
    side.start_again();
    for queue_pair in [0, most - 1, most / 2] {
        assert_eq!(pass(&mut side, &mut sender, queue_pair, 90).0, Ok(()));
    }
    assert_eq!(
        pass(&mut side, &mut sender, most + 7, 90).0,
        Err(DropReason::TooManyFlows)
    );
    // A start of the sender makes room.
    let mut sender = self::sender(1, Unlisted::FLOWS_MAX);
    for queue_pair in most..most + 40 {
        assert_eq!(pass(&mut side, &mut sender, queue_pair, 7).0, Ok(()));
    }
    for secure in &recorded {
        assert!(unprotect_one(&mut side.receiver, LinkType::RawIp, secure).is_err());
    }
}

/// Requests and responses have their epochs from one sender: each says how far the other has come.
#[test]
fn a_quiet_role_follows_the_other_one() {
    let line = Line::new(Carrier::Ipv4, Transport::Rc);
    let (mut receiver, _) = line.receiver_from(ReceiveFrom::default());
    let mut pass = |sender: &mut Sender, operation, psn| {
        let plain = line.packet(operation, psn, &[]);
        let secure = protect_one(sender, line.link(), &plain).expect("protected");
        let outcome = unprotect_one(&mut receiver, line.link(), &secure);
        outcome.map(|restored| assert_eq!(restored, plain))
    };
    let mut old = None;
    for start in 0..60 {
        let (mut sender, _) = line.sender_from(100 + START * start..1000);
        assert_eq!(pass(&mut sender, Operation::SendOnly, 5), Ok(()));
        if start % 59 == 0 {
            assert_eq!(pass(&mut sender, Operation::Acknowledge, 5), Ok(()));
        }
        if start == 50 {
            // It does not arrive.
            let plain = line.packet(Operation::Acknowledge, 6, &[]);
            old = protect_one(&mut sender, line.link(), &plain).ok();
        }
    }
    let old = old.expect("protected");
    let outcome = unprotect_one(&mut receiver, line.link(), &old);
    assert_eq!(outcome, Err(DropReason::OldEpoch));
}
