//! Queue pairs that nobody lists: keys from those of their partition, when packets appear.

use std::collections::HashSet;

use weir_fabric::secure::{
    AlarmCause, DropReason, ExtendedMode, FlowError, PlainPolicy, Receiver, Secret, Sender,
    SessionRandom, TagLimits, Unlisted,
};
use weir_fabric::wire::{Carrier, Opcode, Operation, Packet, Transport};

use crate::network::{
    CARRIERS, FIRST_EPOCH, Line, Outcome, PARTITION_KEY, protect_one, protected, unprotect,
    unprotect_one,
};

const END: u64 = FIRST_EPOCH + 100;

fn keys() -> Unlisted {
    let secret = Secret::new(vec![42; 32]).expect("32 bytes");
    let mut keys = Unlisted::new(PARTITION_KEY, &secret, SessionRandom([7; 16]));
    keys.flows_max = Unlisted::FLOWS_MIN;
    keys
}

fn sender() -> Sender {
    let mut sender = Sender::new(PlainPolicy::default());
    assert_eq!(sender.add_unlisted(keys(), FIRST_EPOCH..END), Ok(()));
    sender
}

fn receiver() -> Receiver {
    let mut receiver = Receiver::new(PlainPolicy::default(), TagLimits::default());
    assert_eq!(receiver.add_unlisted(keys(), FIRST_EPOCH), Ok(()));
    receiver
}

/// A line of which nobody knows anything but the partition.
fn line(carrier: Carrier, transport: Transport, queue_pair: u32) -> Line {
    let mut line = Line::new(carrier, transport);
    line.flow.receiver.queue_pair = queue_pair;
    line
}

#[test]
fn flows_begin_with_their_first_packets() {
    for carrier in CARRIERS {
        let (mut sender, mut receiver) = (sender(), receiver());
        let mut packets = Vec::new();
        for (queue_pair, transport) in [
            (100, Transport::Rc),
            (101, Transport::Uc),
            (102, Transport::Ud),
        ] {
            let line = line(carrier, transport, queue_pair);
            for psn in 0..3 {
                packets.push(line.packet(Operation::SendOnly, psn, b"to somebody"));
            }
            if transport == Transport::Rc {
                packets.push(line.packet(Operation::Acknowledge, 9, &[]));
            }
        }
        let link = Line::new(carrier, Transport::Rc).link();
        let secure = protected(&mut sender, link, &packets);
        let bodies: HashSet<&[u8]> = secure.iter().map(|one| &one[one.len() - 18..]).collect();
        assert_eq!(bodies.len(), secure.len());
        let (restored, alarms) = unprotect(&mut receiver, link, &secure);
        assert_eq!(restored, packets.into_iter().map(Ok).collect::<Vec<_>>());
        assert!(alarms.is_empty());
        assert_eq!((sender.flows(), receiver.flows()), (3, 3));
    }
}

#[test]
fn what_does_not_say_whose_it_is_begins_no_flow() {
    let (mut sender, mut receiver) = (sender(), receiver());
    let reliable = line(CARRIERS[0], Transport::Rd, 100);
    let connected = line(CARRIERS[0], Transport::Rc, 100);
    let link = connected.link();
    for plain in [
        reliable.packet(Operation::SendOnly, 0, b"bytes"),
        connected.packet_of(Opcode::CONGESTION_NOTIFICATION, 0, &[0; 16]),
    ] {
        let outcome = protect_one(&mut sender, link, &plain);
        assert_eq!(outcome, Err(DropReason::UnknownQueuePair));
        let mut secure = plain;
        secure[12] = 3;
        let outcome = unprotect_one(&mut receiver, link, &secure);
        assert_eq!(outcome, Err(DropReason::UnknownQueuePair));
    }
    let mut other = line(CARRIERS[0], Transport::Rc, 100).packet(Operation::SendOnly, 0, b"bytes");
    other[11] ^= 2;
    other[12] = 1;
    let outcome = unprotect_one(&mut receiver, link, &other);
    assert_eq!(
        outcome,
        Err(DropReason::UnknownQueuePair),
        "no such partition"
    );
    assert_eq!((sender.flows(), receiver.flows()), (0, 0));
}

/// The subnet manager has no keys of the partition.
#[test]
fn exempt_queue_pairs_stay_plain() {
    let mut policy = PlainPolicy::default();
    policy.exempt(1);
    let mut sender = Sender::new(policy.clone());
    assert_eq!(sender.add_unlisted(keys(), FIRST_EPOCH..END), Ok(()));
    let mut receiver = Receiver::new(policy, TagLimits::default());
    assert_eq!(receiver.add_unlisted(keys(), FIRST_EPOCH), Ok(()));
    let line = line(CARRIERS[0], Transport::Ud, 1);
    let plain = line.packet(Operation::SendOnly, 0, b"management");
    let passed = protect_one(&mut sender, line.link(), &plain);
    assert_eq!(passed.as_ref(), Ok(&plain));
    let passed = unprotect_one(&mut receiver, line.link(), &plain);
    assert_eq!(passed, Ok(plain));
    assert_eq!((sender.flows(), receiver.flows()), (0, 0));
}

#[test]
fn forged_packets_leave_no_flow_behind_and_are_counted() {
    let (mut sender, mut receiver) = (sender(), receiver());
    let link = Line::new(CARRIERS[2], Transport::Rc).link();
    let known = line(CARRIERS[2], Transport::Rc, 7);
    let plain = known.packet(Operation::SendOnly, 0, b"bytes");
    let secure = protect_one(&mut sender, link, &plain).expect("protected");
    assert_eq!(unprotect_one(&mut receiver, link, &secure), Ok(plain));

    let forged = |queue_pair| {
        let line = line(CARRIERS[2], Transport::Rc, queue_pair);
        let mut record = line.packet(Operation::SendOnly, 0, b"forged");
        record[32] = 1;
        record
    };
    let mut alarms = Vec::new();
    let mut limited = 0;
    for batch in 0..100 {
        let records: Vec<_> = (0..256).map(|at| forged(1000 + batch * 256 + at)).collect();
        let (outcomes, raised) = unprotect(&mut receiver, link, &records);
        let count = |reason| outcomes.iter().filter(|one| **one == Err(reason)).count();
        assert_eq!(count(DropReason::TagFailed), 16, "no more keys are derived");
        limited += count(DropReason::NewFlowsLimit);
        alarms.extend(raised);
    }
    assert_eq!(receiver.flows(), 1);
    assert_eq!(limited, 100 * (256 - 16));
    assert_eq!(alarms.len(), 1, "{alarms:?}");
    assert_eq!(alarms[0].cause, AlarmCause::ConsecutiveFailures(4));
    // What is authentic is taken all the same, and ends the row.
    let fresh = line(CARRIERS[2], Transport::Rc, 8);
    let plain = fresh.packet(Operation::SendOnly, 0, b"bytes");
    let secure = protect_one(&mut sender, link, &plain).expect("protected");
    assert_eq!(unprotect_one(&mut receiver, link, &secure), Ok(plain));
    let (_, raised) = unprotect(
        &mut receiver,
        link,
        &(1..=4).map(forged).collect::<Vec<_>>(),
    );
    assert_eq!(raised.len(), 1);

    // Sixteen for one queue pair: it is refused from then on, although no flow is kept for it. Queue pairs
    // share counters by chance, so that another receiver counts them.
    let mut receiver = self::receiver();
    for _ in 0..16 {
        let outcome = unprotect_one(&mut receiver, link, &forged(9));
        assert_eq!(outcome, Err(DropReason::TagFailed));
    }
    let late = line(CARRIERS[2], Transport::Rc, 9);
    let plain = late.packet(Operation::SendOnly, 0, b"bytes");
    let secure = protect_one(&mut sender, link, &plain).expect("protected");
    let outcome = unprotect_one(&mut receiver, link, &secure);
    assert_eq!(outcome, Err(DropReason::Degraded));
}

/// Who forges first packets has the short tags of flows that have not begun refused, and no others.
#[test]
fn flows_with_long_tags_begin_in_spite_of_forged_packets() {
    let mut always = keys();
    always.extended = ExtendedMode::Always;
    let mut sender = Sender::new(PlainPolicy::default());
    assert_eq!(sender.add_unlisted(always, FIRST_EPOCH..END), Ok(()));
    let mut receiver = receiver();
    let line = line(CARRIERS[2], Transport::Rc, 9);
    let plain = line.packet(Operation::SendOnly, 0, b"bytes");
    let mut forged = plain.clone();
    for algorithm in [1, 2] {
        forged[32] = algorithm;
        for _ in 0..100 {
            assert!(unprotect_one(&mut receiver, line.link(), &forged).is_err());
        }
    }
    forged[32] = 1;
    let outcome = unprotect_one(&mut receiver, line.link(), &forged);
    assert_eq!(outcome, Err(DropReason::Degraded));
    let secure = protect_one(&mut sender, line.link(), &plain).expect("protected");
    let outcome = unprotect_one(&mut receiver, line.link(), &secure);
    assert_eq!(outcome.as_ref(), Ok(&plain));
    // It stays, and its short tags stay refused.
    assert_eq!(receiver.flows(), 1);
    let outcome = unprotect_one(&mut receiver, line.link(), &forged);
    assert_eq!(outcome, Err(DropReason::Degraded));
}

/// More flows than the bound: some give way, and begin again with an epoch of their own.
#[test]
fn flows_that_gave_way_begin_again_under_other_numbers() {
    let (mut sender, mut receiver) = (sender(), receiver());
    let link = Line::new(CARRIERS[1], Transport::Ud).link();
    let most = Unlisted::FLOWS_MIN as u32;
    let mut nonces = HashSet::new();
    let mut epochs = HashSet::new();
    for round in 0..3u32 {
        for queue_pair in 0..most + 100 {
            let line = line(CARRIERS[1], Transport::Ud, queue_pair);
            let plain = line.packet(Operation::SendOnly, 5, &round.to_be_bytes());
            let secure = protect_one(&mut sender, link, &plain).expect("protected");
            let packet = Packet::parse(link, &secure).ok().flatten().expect("one");
            // Where a flow is still there, the number was used, and a packet of extended mode has its own.
            let number = match packet.bth().reserved_6 {
                2 => secure[secure.len() - 26..][..8].to_vec(),
                _ => vec![packet.bth().reserved_7],
            };
            assert!(nonces.insert((queue_pair, number)));
            epochs.insert(packet.bth().reserved_7);
            assert_eq!(unprotect_one(&mut receiver, link, &secure), Ok(plain));
            assert!(sender.flows() <= most as usize && receiver.flows() <= most as usize);
        }
    }
    assert!(epochs.len() > 2);
    assert!(sender.unlisted_epochs_left(PARTITION_KEY) < 99);
}

#[test]
fn epochs_of_a_partition_end_and_go_on() {
    let mut sender = Sender::new(PlainPolicy::default());
    let mut short = keys();
    short.extended = ExtendedMode::Never;
    assert_eq!(
        sender.add_unlisted(short.clone(), 5..5),
        Err(FlowError::Epochs)
    );
    assert_eq!(sender.add_unlisted(short.clone(), 5..6), Ok(()));
    assert_eq!(
        sender.add_unlisted(short.clone(), 8..9),
        Err(FlowError::Exists)
    );
    let line = line(CARRIERS[0], Transport::Rc, 3);
    let pass = |sender: &mut Sender, psn| {
        let plain = line.packet(Operation::SendOnly, psn, b"");
        protect_one(sender, line.link(), &plain)
    };
    assert!(pass(&mut sender, 0xff_ffff).is_ok());
    assert_eq!(pass(&mut sender, 0), Err(DropReason::EpochsExhausted));
    assert_eq!(sender.allow_unlisted_epochs_until(PARTITION_KEY, 9), Ok(()));
    assert!(pass(&mut sender, 0).is_ok());
    assert_eq!(sender.unlisted_epochs_left(PARTITION_KEY), 2);
    sender.remove_unlisted(PARTITION_KEY);
    assert_eq!(sender.flows(), 0);
    assert_eq!(pass(&mut sender, 1), Err(DropReason::UnknownQueuePair));
    assert_ne!(short.identity(), [0; 32]);
}

/// A queue pair that is listed later takes the place of what began by itself.
#[test]
fn listed_flows_have_their_own_keys() {
    let (mut sender, mut receiver) = (sender(), receiver());
    let line = Line::new(CARRIERS[3], Transport::Ud);
    let plain = line.packet(Operation::SendOnly, 1, b"some bytes");
    let unlisted = protect_one(&mut sender, line.link(), &plain).expect("protected");
    assert!(line.add_to(&mut sender, &mut receiver));
    let listed = protect_one(&mut sender, line.link(), &plain).expect("protected");
    assert_ne!(unlisted, listed);
    assert_eq!((sender.flows(), receiver.flows()), (1, 1));
    let outcomes: Vec<Outcome> = unprotect(&mut receiver, line.link(), &[unlisted, listed]).0;
    assert_eq!(outcomes, [Err(DropReason::TagFailed), Ok(plain.clone())]);
}
