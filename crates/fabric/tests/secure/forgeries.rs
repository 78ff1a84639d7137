//! What is not the sender's is refused, and what switches change is not missed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use weir_fabric::secure::{
    Alarm, AlarmCause, Algorithm, DropReason, ExtendedMode, Mode, PlainPolicy, TagLimits,
};
use weir_fabric::wire::{Carrier, Opcode, Operation, Packet, Transport, vcrc};
use weir_packet::wire::{Checksum, internet_checksum};

use crate::network::{
    CARRIERS, FIRST_EPOCH, Line, Outcome, PARTITION_KEY, protect, protect_one, protected,
    unprotect, unprotect_one,
};

/// Offsets and masks of the bits that switches and routers may change.
fn free_bits(carrier: Carrier, record_bytes: usize) -> Vec<(usize, u8)> {
    let all = |range: std::ops::Range<usize>| range.map(|at| (at, 0xff));
    let mut free = Vec::new();
    let bth = match carrier {
        Carrier::Local => {
            free.push((0, 0xf0));
            8
        }
        Carrier::Global => {
            // Of the LRH everything but version, next header and length.
            free.extend([(0, 0xf0), (1, 0xfc), (4, 0xf8)]);
            free.extend(all(2..4).chain(all(6..8)));
            free.push((8, 0x0f));
            free.extend(all(9..12).chain(all(15..16)));
            // The marking field: bits 10 to 47 of the DGID.
            free.push((33, 0x3f));
            free.extend(all(34..38));
            48
        }
        Carrier::Ipv4 => {
            free.extend(all(1..2).chain(all(4..6)).chain(all(8..9)));
            free.extend(all(10..12).chain(all(26..28)));
            28
        }
        Carrier::Ipv6 => {
            free.push((0, 0x0f));
            free.extend(all(1..4).chain(all(7..8)).chain(all(46..48)));
            48
        }
    };
    free.push((bth + 4, 0xc0));
    if !carrier.is_rocev2() {
        free.extend(all(record_bytes - 2..record_bytes));
    }
    free
}

/// A plain packet with the check values that it should have.
fn with_check_values(line: &Line, mut record: Vec<u8>) -> Vec<u8> {
    if line.carrier == Carrier::Ipv4 {
        record[10..12].fill(0);
        let checksum = internet_checksum(&record[..20]);
        record[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
    let (icrc, at) = {
        let packet = Packet::parse(line.link(), &record)
            .ok()
            .flatten()
            .expect("a packet");
        packet
            .computed_icrc()
            .zip(packet.icrc_range())
            .expect("whole")
    };
    record[at].copy_from_slice(&icrc.to_le_bytes());
    let (udp, addresses) = match line.carrier {
        Carrier::Ipv4 => (20, 12..20),
        _ => (40, 8..40),
    };
    if line.carrier.is_rocev2() {
        record[udp + 6..udp + 8].fill(0);
        let checksum = Checksum::new()
            .add_pseudo_header(&record[addresses], 17, (record.len() - udp) as u32)
            .add(&record[udp..])
            .finish();
        record[udp + 6..udp + 8].copy_from_slice(&checksum.to_be_bytes());
    } else {
        let end = record.len() - 2;
        let vcrc = vcrc(&record[..end]);
        record[end..].copy_from_slice(&vcrc.to_le_bytes());
    }
    record
}

fn flipped(record: &[u8], bit: usize) -> Vec<u8> {
    let mut record = record.to_vec();
    record[bit / 8] ^= 1 << (bit % 8);
    record
}

/// Every bit of a packet, with fresh state for each.
fn check_every_bit(line: &Line, plain: &[u8], secure: &[u8]) {
    let free = free_bits(line.carrier, secure.len());
    let is_free = |bit: usize| free.contains_bit(bit);
    let (body, bth) = {
        let packet = Packet::parse(line.link(), secure)
            .ok()
            .flatten()
            .expect("a packet");
        let icrc = packet.icrc_range().expect("whole");
        (
            packet.extended_range().start..icrc.end,
            packet.bth_range().start,
        )
    };
    for bit in 0..8 * secure.len() {
        let (mut receiver, _) = line.receiver();
        let outcome = unprotect_one(&mut receiver, line.link(), &flipped(secure, bit));
        let at = bit / 8;
        if is_free(bit) {
            let expected = match secure.len() == plain.len() {
                true => with_check_values(line, flipped_where_it_stays(line, plain, bit)),
                false => continue,
            };
            assert_eq!(
                outcome,
                Ok(expected),
                "{:?}: bit {bit} is free",
                line.carrier
            );
        } else if body.contains(&at) || (bth + 9..bth + 12).contains(&at) || at == bth + 8 {
            let expected = Err(DropReason::TagFailed);
            assert_eq!(
                outcome, expected,
                "{:?}: bit {bit} of byte {at}",
                line.carrier
            );
        } else {
            assert!(
                outcome.is_err(),
                "{:?}: bit {bit} of byte {at}",
                line.carrier
            );
        }
    }
}

/// Checksums are computed anew: a change of theirs does not arrive.
fn flipped_where_it_stays(line: &Line, plain: &[u8], bit: usize) -> Vec<u8> {
    let is_checksum = match line.carrier {
        Carrier::Ipv4 => [10, 11, 26, 27].contains(&(bit / 8)),
        Carrier::Ipv6 => [46, 47].contains(&(bit / 8)),
        Carrier::Local | Carrier::Global => false,
    };
    match is_checksum {
        true => plain.to_vec(),
        false => flipped(plain, bit),
    }
}

trait Bits {
    fn contains_bit(&self, bit: usize) -> bool;
}

impl Bits for [(usize, u8)] {
    fn contains_bit(&self, bit: usize) -> bool {
        let (byte, mask) = (bit / 8, 1 << (bit % 8));
        self.iter()
            .any(|(at, free)| *at == byte && free & mask != 0)
    }
}

#[test]
fn a_flipped_bit_is_a_failed_tag_unless_switches_may_flip_it() {
    for carrier in CARRIERS {
        let line = Line::new(carrier, Transport::Rc);
        for (operation, payload) in [
            (Operation::RdmaWriteOnly, &b"written bytes"[..]),
            (Operation::AtomicAcknowledge, &[]),
        ] {
            let (mut sender, _) = line.sender();
            let plain = line.packet(operation, 77, payload);
            let secure = protect_one(&mut sender, line.link(), &plain).expect("protected");
            check_every_bit(&line, &plain, &secure);
        }
    }
}

#[test]
fn a_cleared_or_changed_algorithm_is_refused() {
    let line = Line::new(CARRIERS[2], Transport::Rc);
    let (mut sender, _) = line.sender();
    let plain = line.packet(Operation::SendOnly, 1, b"some bytes");
    let secure = protect_one(&mut sender, line.link(), &plain).expect("protected");
    let with_identifier = |identifier: u8| {
        let mut record = secure.clone();
        record[32] = identifier;
        record
    };
    for identifier in 0..64 {
        let (mut receiver, _) = line.receiver();
        let outcome = unprotect_one(&mut receiver, line.link(), &with_identifier(identifier));
        match identifier {
            1 => assert_eq!(outcome, Ok(plain.clone())),
            // The bits above the identifier are authenticated.
            _ if identifier & 3 == 1 => assert_eq!(outcome, Err(DropReason::TagFailed)),
            _ if identifier & 3 == 0 => assert_eq!(outcome, Err(DropReason::PlainRefused)),
            // Too short for a number and a tag.
            _ if identifier & 3 == 2 => assert_eq!(outcome, Err(DropReason::Malformed)),
            _ => assert_eq!(outcome, Err(DropReason::UnknownAlgorithm)),
        }
    }
    // Where plain packets pass, their receiver sees a wrong ICRC.
    let mut policy = PlainPolicy::default();
    policy.set_mode(PARTITION_KEY, Mode::Allow);
    let (mut receiver, _) = line.receiver_with(TagLimits::default(), policy);
    let passed = unprotect_one(&mut receiver, line.link(), &with_identifier(0));
    assert_eq!(passed, Ok(with_identifier(0)));
}

#[test]
fn sixteen_failed_tags_end_a_mode_and_alarm() {
    let line = Line::new(CARRIERS[1], Transport::Rc);
    let (mut sender, _) = line.sender();
    let (mut receiver, id) = line.receiver();
    let plain: Vec<Vec<u8>> = (0..2)
        .map(|psn| line.packet(Operation::SendOnly, psn, b"bytes"))
        .collect();
    let secure = protected(&mut sender, line.link(), &plain);
    let acknowledge = line.packet(Operation::Acknowledge, 1, &[]);
    let acknowledged = protect_one(&mut sender, line.link(), &acknowledge).expect("protected");

    assert!(unprotect_one(&mut receiver, line.link(), &secure[0]).is_ok());
    let forged = flipped(&secure[1], 8 * (secure[1].len() - 3));
    let flow = line.flow;
    let alarm = |cause| Alarm { flow, cause };
    let mut alarms = Vec::new();
    // In one batch: what follows the last one is refused too, although its tag is right.
    let mut records = vec![forged; 16];
    records.push(secure[1].clone());
    let (outcomes, raised) = unprotect(&mut receiver, line.link(), &records);
    alarms.extend(raised);
    let (last, failed) = outcomes.split_last().expect("seventeen");
    assert!(failed.iter().all(|one| *one == Err(DropReason::TagFailed)));
    assert_eq!(*last, Err(DropReason::Degraded));
    let consecutive = TagLimits::default().consecutive;
    assert_eq!(
        alarms,
        [
            alarm(AlarmCause::ConsecutiveFailures(consecutive)),
            alarm(AlarmCause::Degraded(Algorithm::Gcm32)),
        ]
    );
    assert_eq!(receiver.is_degraded(id), (true, false));
    let (outcomes, raised) = unprotect(&mut receiver, line.link(), &[secure[1].clone()]);
    assert_eq!(
        (outcomes, raised),
        (vec![Err(DropReason::Degraded)], vec![])
    );
    assert_eq!(
        unprotect_one(&mut receiver, line.link(), &acknowledged),
        Ok(acknowledge)
    );

    // A number that was used goes out in extended mode, which is not refused.
    let changed = line.packet(Operation::SendOnly, 1, b"other bytes");
    let extended = protect_one(&mut sender, line.link(), &changed).expect("protected");
    assert_eq!(
        unprotect_one(&mut receiver, line.link(), &extended),
        Ok(changed)
    );
}

#[test]
fn floods_of_forged_packets_keep_nobody_out() {
    let line = Line::new(CARRIERS[0], Transport::Rc);
    let (mut sender, _) = line.sender();
    let limits = TagLimits {
        failed: u32::MAX,
        consecutive: 10,
    };
    let (mut receiver, _) = line.receiver_with(limits, PlainPolicy::default());
    let plain: Vec<Vec<u8>> = (0..3)
        .map(|psn| line.packet(Operation::SendOnly, psn, b"bytes"))
        .collect();
    let secure: Vec<Outcome> = protect(&mut sender, line.link(), &plain);
    let mut alarms = 0;
    for (plain, secure) in plain.iter().zip(secure) {
        let secure = secure.expect("protected");
        for flood in 0..20u32 {
            let forged: Vec<Vec<u8>> = (0..256u32)
                .map(|at| {
                    let mut record = secure.clone();
                    let psn = (flood * 256 + at).wrapping_mul(0x9e37_79b1).to_be_bytes();
                    record[16..20].copy_from_slice(&psn);
                    record[16] &= 0x7f;
                    record
                })
                .collect();
            let (outcomes, raised) = unprotect(&mut receiver, line.link(), &forged);
            alarms += raised.len();
            assert!(outcomes.iter().all(Result::is_err));
        }
        assert_eq!(
            unprotect_one(&mut receiver, line.link(), &secure).as_ref(),
            Ok(plain)
        );
    }
    assert_eq!(alarms, 3, "one for each flood");
}

#[test]
fn replays_are_refused_and_identical_duplicates_pass() {
    let line = Line::new(CARRIERS[3], Transport::Rc);
    let (mut sender, _) = line.sender();
    let (mut receiver, _) = line.receiver();
    let plain: Vec<Vec<u8>> = (0..200)
        .map(|psn| line.packet(Operation::SendOnly, psn, b"bytes"))
        .collect();
    let secure = protected(&mut sender, line.link(), &plain);
    let (outcomes, _) = unprotect(&mut receiver, line.link(), &secure);
    assert!(outcomes.iter().all(Result::is_ok));
    let (again, _) = unprotect(&mut receiver, line.link(), &secure);
    for (psn, outcome) in again.iter().enumerate() {
        match psn < 200 - line.flow.window_packets {
            true => assert_eq!(*outcome, Err(DropReason::Replayed)),
            false => assert_eq!(outcome.as_ref(), Ok(&plain[psn])),
        }
    }

    let line = Line::new(CARRIERS[3], Transport::Uc);
    let (mut sender, _) = line.sender();
    let (mut receiver, _) = line.receiver();
    let plain = line.packet(Operation::SendOnly, 9, b"bytes");
    let secure = protect_one(&mut sender, line.link(), &plain).expect("protected");
    let (outcomes, _) = unprotect(&mut receiver, line.link(), &[secure.clone(), secure]);
    assert_eq!(outcomes, [Ok(plain), Err(DropReason::Replayed)]);
}

#[test]
fn packets_of_an_older_start_are_refused() {
    let line = Line::new(CARRIERS[2], Transport::Rc);
    let (mut sender, _) = line.sender();
    let (mut receiver, _) = line.receiver();
    let old: Vec<Vec<u8>> = (0..4)
        .map(|psn| line.packet(Operation::SendOnly, psn, b"old"))
        .collect();
    let old = protected(&mut sender, line.link(), &old);
    assert!(unprotect_one(&mut receiver, line.link(), &old[0]).is_ok());
    let (mut sender, _) = line.sender_from(1061..1070);
    let new = line.packet(Operation::SendOnly, 1, b"new");
    let secure = protect_one(&mut sender, line.link(), &new).expect("protected");
    assert_eq!(unprotect_one(&mut receiver, line.link(), &secure), Ok(new));
    for record in &old {
        // Its low bits stand for an epoch that is too far ahead.
        let outcome = unprotect_one(&mut receiver, line.link(), record);
        assert_eq!(outcome, Err(DropReason::OldEpoch));
    }
}

#[test]
fn a_restarted_receiver_takes_nothing_twice() {
    let line = Line::new(CARRIERS[2], Transport::Uc);
    let (mut sender, _) = line.sender();
    let (mut receiver, id) = line.receiver();
    let plain: Vec<Vec<u8>> = (3..9)
        .map(|psn| line.packet(Operation::SendOnly, psn, b"bytes"))
        .collect();
    let secure = protected(&mut sender, line.link(), &plain);
    for record in &secure[..4] {
        assert!(unprotect_one(&mut receiver, line.link(), record).is_ok());
    }
    let state = receiver.state(id).expect("a flow");
    let (mut receiver, _) = line.receiver_from(state);
    let (outcomes, _) = unprotect(&mut receiver, line.link(), &secure);
    for (at, outcome) in outcomes.iter().enumerate() {
        match at < 4 {
            true => assert_eq!(*outcome, Err(DropReason::Replayed)),
            false => assert_eq!(outcome.as_ref(), Ok(&plain[at])),
        }
    }
}

/// Acknowledgements are not encrypted, and cannot be made: neither of another's nor of a plain one.
#[test]
fn forged_acknowledgements_are_refused() {
    let line = Line::new(CARRIERS[2], Transport::Rc);
    let (mut sender, _) = line.sender();
    let acknowledge = line.packet(Operation::Acknowledge, 5, &[]);
    let secure = protect_one(&mut sender, line.link(), &acknowledge).expect("protected");
    let (bth, aeth) = (28, 40);
    let forged = |changes: &[(usize, u8)]| {
        let mut record = secure.clone();
        for &(at, value) in changes {
            record[at] = value;
        }
        let (mut receiver, _) = line.receiver();
        unprotect_one(&mut receiver, line.link(), &record).expect_err("it is forged")
    };
    // A NAK, another MSN, another PSN, another operation without payload.
    assert_eq!(forged(&[(aeth, 0x60)]), DropReason::TagFailed);
    assert_eq!(forged(&[(aeth + 3, 9)]), DropReason::TagFailed);
    assert_eq!(forged(&[(bth + 11, 6)]), DropReason::TagFailed);
    assert_eq!(forged(&[(bth, 0x12)]), DropReason::Malformed);
    // Plain, or with the identifier of another algorithm.
    let icrc = &acknowledge[acknowledge.len() - 4..];
    let plain: Vec<(usize, u8)> = (44..48).zip(icrc.iter().copied()).collect();
    let plain = [&plain[..], &[(bth + 4, 0), (bth + 8, 0)]].concat();
    assert_eq!(forged(&plain), DropReason::PlainRefused);
    assert_eq!(forged(&[(bth + 4, 1)]), DropReason::UnknownAlgorithm);
    assert_eq!(forged(&[(bth + 4, 2)]), DropReason::Malformed);
    // That of the other direction is under another key.
    let mut back = line;
    (back.flow.sender, back.flow.receiver) = (line.flow.receiver, line.flow.sender);
    let (mut receiver, _) = back.receiver();
    let outcome = unprotect_one(&mut receiver, line.link(), &secure);
    assert_eq!(outcome, Err(DropReason::UnknownQueuePair));
}

/// A PSN that jumps is a loss. One that somebody changed is none: it moves no window.
#[test]
fn numbers_jump_for_their_sender_alone() {
    let line = Line::new(CARRIERS[0], Transport::Uc);
    let (mut sender, _) = line.sender();
    let (mut receiver, _) = line.receiver();
    let mut pass = |psn: u32, change: u8| {
        let plain = line.packet(Operation::SendOnly, psn, b"bytes");
        let mut secure = protect_one(&mut sender, line.link(), &plain).expect("protected");
        secure[17] ^= change;
        let outcome = unprotect_one(&mut receiver, line.link(), &secure);
        outcome.map(|restored| assert_eq!(restored, plain))
    };
    assert_eq!(pass(1, 0), Ok(()));
    // Half of all numbers ahead, and back by no means.
    assert_eq!(pass(2, 0x7f), Err(DropReason::TagFailed));
    assert_eq!(pass(3, 0), Ok(()));
    for psn in [0x40_0000, 0x80_0000, 0xff_0000, 0x10] {
        assert_eq!(pass(psn, 0), Ok(()), "{psn:#x}");
    }
}

#[test]
fn unknown_operations_are_counted_drops() {
    let line = Line::new(CARRIERS[1], Transport::Rc);
    let (mut sender, _) = line.sender();
    let (mut receiver, _) = line.receiver();
    let plain = line.packet(Operation::SendOnly, 1, b"bytes");
    let bth = 48;
    let mut unknown = 0;
    for opcode in (0..=u8::MAX).filter(|opcode| !Opcode(*opcode).is_known()) {
        let mut record = plain.clone();
        record[bth] = opcode;
        let expected = [DropReason::UnknownOpcode, DropReason::UnknownQueuePair];
        let outcome = protect_one(&mut sender, line.link(), &record);
        assert!(outcome.is_err_and(|reason| expected.contains(&reason)));
        for identifier in 0..4 {
            record[bth + 4] = identifier;
            let outcome = unprotect_one(&mut receiver, line.link(), &record);
            let reason = outcome.expect_err("it is unknown");
            match identifier {
                0 => assert_eq!(reason, DropReason::PlainRefused),
                _ => assert!(expected.contains(&reason), "{opcode:#x}: {reason:?}"),
            }
        }
        unknown += 1;
    }
    assert!(unknown > 100, "{unknown}");
}

/// A receiver of a reliable transport that starts again takes what may be repeated, and nothing older.
#[test]
fn a_restarted_receiver_takes_repetitions_of_reliable_packets() {
    let line = Line::new(CARRIERS[0], Transport::Rc);
    let (mut sender, _) = line.sender();
    let (mut receiver, id) = line.receiver();
    let window = line.flow.window_packets;
    let plain: Vec<Vec<u8>> = (0..200)
        .map(|psn| line.packet(Operation::SendOnly, psn, b"bytes"))
        .collect();
    let secure = protected(&mut sender, line.link(), &plain);
    let (outcomes, _) = unprotect(&mut receiver, line.link(), &secure);
    assert!(outcomes.iter().all(Result::is_ok));
    let (mut receiver, _) = line.receiver_from(receiver.state(id).expect("a flow"));
    let (outcomes, _) = unprotect(&mut receiver, line.link(), &secure);
    for (at, outcome) in outcomes.iter().enumerate() {
        match at < plain.len() - window {
            true => assert_eq!(*outcome, Err(DropReason::Replayed)),
            false => assert_eq!(outcome.as_ref(), Ok(&plain[at])),
        }
    }
    // A receiver that begins with an epoch takes nothing of the one before.
    let old = line.sender_from(FIRST_EPOCH - 1..FIRST_EPOCH).0;
    let (mut old, (mut receiver, _)) = (old, line.receiver());
    let last = line.packet(Operation::SendOnly, 0xff_ffff, b"bytes");
    let secure = protect_one(&mut old, line.link(), &last).expect("protected");
    let outcome = unprotect_one(&mut receiver, line.link(), &secure);
    assert_eq!(outcome, Err(DropReason::TagFailed));
}

/// Cut anywhere, and with bytes changed, inserted and removed: nothing but the payload that was sent
/// comes out.
#[test]
fn mangled_packets_bring_nothing_else_than_what_was_sent() {
    let mut random = ChaCha8Rng::seed_from_u64(18);
    let mut taken = 0;
    for carrier in CARRIERS {
        for extended in [ExtendedMode::Never, ExtendedMode::Always] {
            let mut line = Line::new(carrier, Transport::Rc);
            line.flow.extended = extended;
            let (mut sender, _) = line.sender();
            let plain = line.packet(Operation::RdmaWriteOnly, 5, b"written bytes");
            let secure = protect_one(&mut sender, line.link(), &plain).expect("protected");
            let limits = TagLimits {
                failed: u32::MAX,
                consecutive: u32::MAX,
            };
            let (mut receiver, _) = line.receiver_with(limits, PlainPolicy::default());
            for _ in 0..2000 {
                let mut record = secure.clone();
                for _ in 0..1 + random.next_u32() % 3 {
                    let at = random.next_u32() as usize % record.len().max(1);
                    match random.next_u32() % 4 {
                        0 => record.truncate(at),
                        1 => record.insert(at.min(record.len()), random.next_u32() as u8),
                        2 if at < record.len() => {
                            record.remove(at);
                        }
                        _ if at < record.len() => record[at] = random.next_u32() as u8,
                        _ => {}
                    }
                }
                if let Ok(restored) = unprotect_one(&mut receiver, line.link(), &record) {
                    let packet = Packet::parse(line.link(), &restored).ok().flatten();
                    assert_eq!(packet.expect("a packet").payload(), b"written bytes");
                    taken += 1;
                }
            }
        }
    }
    assert!(taken > 0, "no field that switches change was changed");
}

/// Whoever kept packets of epochs before sends them again: they are old, and not counted as forged.
#[test]
fn packets_of_old_epochs_do_not_degrade_a_queue_pair() {
    for operation in [Operation::SendOnly, Operation::Acknowledge] {
        let line = Line::new(Carrier::Ipv4, Transport::Rc);
        let from = |epoch| line.sender_from(epoch..epoch + 2).0;
        let newest = FIRST_EPOCH + 1000;
        let (mut receiver, id) = line.receiver();
        let packet = |psn| line.packet(operation, psn, b"");
        // Sixty-three epochs at a time, a receiver follows.
        for epoch in (FIRST_EPOCH..newest).step_by(60).chain([newest]) {
            let secure = protect_one(&mut from(epoch), line.link(), &packet(7)).expect("protected");
            assert_eq!(
                unprotect_one(&mut receiver, line.link(), &secure),
                Ok(packet(7))
            );
        }
        for behind in 2..=64 {
            let mut sender = from(newest - behind);
            let secure = protect_one(&mut sender, line.link(), &packet(7)).expect("protected");
            let outcome = unprotect_one(&mut receiver, line.link(), &secure);
            assert_eq!(outcome, Err(DropReason::OldEpoch), "{behind} epochs behind");
        }
        assert_eq!(receiver.is_degraded(id), (false, false));
        let secure =
            protect_one(&mut from(newest + 63), line.link(), &packet(8)).expect("protected");
        assert_eq!(
            unprotect_one(&mut receiver, line.link(), &secure),
            Ok(packet(8))
        );
    }
}
