//! Packets that arrive are what was sent.

use std::collections::HashSet;

use weir_fabric::secure::{
    Algorithm, DropReason, ExtendedMode, Flow, FlowError, Mode, PlainPolicy, TagLimits,
};
use weir_fabric::wire::{Opcode, Operation, Packet, Transport, Verdict};
use weir_packet::wire::LinkType;

use crate::network::{
    CARRIERS, FIRST_EPOCH, Line, PARTITION_KEY, protect_one, protected, unprotect, unprotect_one,
};

#[test]
fn every_operation_returns_byte_for_byte() {
    for carrier in CARRIERS {
        for (psn, opcode) in (0..).zip(Opcode::all()) {
            let transport = opcode.transport().expect("known");
            if transport == Transport::Cnp {
                continue;
            }
            let line = Line::new(carrier, transport);
            for payload_bytes in [0, 1, 4, 255, 1021] {
                let payload: Vec<u8> = (0..payload_bytes).map(|at| at as u8).collect();
                let payload = match opcode.may_have_payload() {
                    true => &payload[..],
                    false => &[],
                };
                let plain = line.packet_of(opcode, psn, payload);
                let (mut sender, _) = line.sender();
                let secure = protect_one(&mut sender, line.link(), &plain).expect("protected");
                assert_eq!(secure.len(), plain.len(), "{opcode}");
                check_secure(&line, &plain, &secure);
                let (mut receiver, _) = line.receiver();
                let restored = unprotect_one(&mut receiver, line.link(), &secure);
                assert_eq!(restored, Ok(plain), "{carrier:?} {opcode}");
            }
        }
    }
}

/// Adapters set bits of resv8a that no standard names, in every request.
#[test]
fn bits_above_the_identifier_stay() {
    let bth = 28;
    for extended in [ExtendedMode::Never, ExtendedMode::Always] {
        let mut line = Line::new(CARRIERS[2], Transport::Rc);
        line.flow.extended = extended;
        let (mut sender, _) = line.sender();
        let (mut receiver, _) = line.receiver();
        for (psn, bits) in (0..).zip((0..16u8).map(|bits| bits << 2)) {
            // The ICRC does not cover them.
            let mut plain = line.packet(Operation::SendOnly, psn, b"some bytes");
            plain[bth + 4] |= bits;
            // No UDP checksum, as adapters have it.
            plain[bth - 2..bth].fill(0);
            let secure = protect_one(&mut sender, line.link(), &plain).expect("protected");
            assert_eq!(secure[bth + 4] & 0x3c, bits);
            let restored = unprotect_one(&mut receiver, line.link(), &secure);
            assert_eq!(restored, Ok(plain));
        }
    }
}

/// What a capture has behind a packet, such as the padding of Ethernet, stays as it is.
#[test]
fn bytes_behind_a_packet_return() {
    for carrier in CARRIERS {
        let line = Line::new(carrier, Transport::Uc);
        let (mut sender, _) = line.sender();
        let (mut receiver, _) = line.receiver();
        for (psn, bytes_behind) in (0..).zip([0, 1, 19, 20, 21, 64, 200]) {
            let mut plain = line.packet(Operation::SendOnly, psn, b"payload");
            plain.extend((0..bytes_behind).map(|at| at as u8));
            let secure = protect_one(&mut sender, line.link(), &plain).expect("protected");
            let restored = unprotect_one(&mut receiver, line.link(), &secure);
            assert_eq!(restored, Ok(plain), "{carrier:?}, {bytes_behind} bytes");
        }
    }
}

/// A secure packet is one of InfiniBand, up to its payload that of the plain one.
fn check_secure(line: &Line, plain: &[u8], secure: &[u8]) {
    let [before, after] = [plain, secure].map(|record| {
        Packet::parse(line.link(), record)
            .ok()
            .flatten()
            .expect("a packet")
    });
    let opcode = before.bth().opcode;
    let algorithm = Algorithm::for_opcode(opcode).expect("protected");
    assert_eq!(after.bth().reserved_6, algorithm as u8);
    assert_eq!(u64::from(after.bth().reserved_7), FIRST_EPOCH & 0x7f);
    assert_eq!(after.deth(), before.deth());
    assert_eq!(after.bth().psn, before.bth().psn);
    assert_ne!(after.check_icrc(), Verdict::Good);
    if before.payload().len() > 8 {
        assert_ne!(after.payload(), before.payload());
    }
    if after.vcrc_range().is_some() {
        assert_eq!(after.check_vcrc(), Verdict::Good);
    }
}

#[test]
fn extended_packets_grow_and_return() {
    for carrier in CARRIERS {
        let mut line = Line::new(carrier, Transport::Uc);
        line.flow.extended = ExtendedMode::Always;
        let (mut sender, _) = line.sender();
        let (mut receiver, _) = line.receiver();
        for psn in [5, 5, 4, 6] {
            let plain = line.packet(Operation::SendOnly, psn, b"some bytes");
            let secure = protect_one(&mut sender, line.link(), &plain).expect("protected");
            assert_eq!(secure.len(), plain.len() + 20);
            let packet = Packet::parse(line.link(), &secure).expect("well formed");
            let bth = packet.expect("a packet").bth();
            assert_eq!((bth.reserved_6, bth.reserved_7), (2, 0));
            assert_eq!(
                unprotect_one(&mut receiver, line.link(), &secure),
                Ok(plain)
            );
            let again = unprotect_one(&mut receiver, line.link(), &secure);
            assert_eq!(again, Err(DropReason::Replayed));
        }
        line.flow.extended = ExtendedMode::Never;
        let (mut receiver, _) = line.receiver();
        let plain = line.packet(Operation::SendOnly, 7, b"");
        let secure = protect_one(&mut sender, line.link(), &plain).expect("protected");
        let refused = unprotect_one(&mut receiver, line.link(), &secure);
        assert_eq!(refused, Err(DropReason::ExtendedRefused));
    }
}

/// The record of an ERF capture states its own length, which grows with the packet.
#[test]
fn records_with_lengths_of_their_own_grow_too() {
    let mut line = Line::new(CARRIERS[0], Transport::Rc);
    line.flow.extended = ExtendedMode::Always;
    let packet = line.packet(Operation::SendOnly, 5, b"some bytes");
    let in_record = |packet: &[u8]| {
        let record_bytes = (16 + packet.len() as u16).to_be_bytes();
        let packet_bytes = (packet.len() as u16).to_be_bytes();
        let header = [&[0; 8][..], &[21, 4], &record_bytes, &[0; 2], &packet_bytes];
        [&header.concat(), packet].concat()
    };
    let plain = in_record(&packet);
    let (mut sender, _) = line.sender();
    let secure = protect_one(&mut sender, LinkType::Erf, &plain).expect("protected");
    let (mut sender, _) = line.sender();
    let native = protect_one(&mut sender, LinkType::InfiniBand, &packet).expect("protected");
    assert_eq!(secure, in_record(&native));
    let (mut receiver, _) = line.receiver();
    let restored = unprotect_one(&mut receiver, LinkType::Erf, &secure);
    assert_eq!(restored, Ok(plain));
}

/// Operations without a payload carry number and tag behind their headers: no short tag is left to
/// guess at.
#[test]
fn every_operation_takes_extended_mode() {
    for carrier in CARRIERS {
        for (psn, opcode) in (0..).zip(Opcode::all()) {
            let transport = opcode.transport().expect("known");
            let of_flow = match transport {
                Transport::Cnp => Transport::Rc,
                transport => transport,
            };
            let mut line = Line::new(carrier, of_flow);
            line.flow.extended = ExtendedMode::Always;
            let payload = match opcode.may_have_payload() {
                true => &[7; 16][..],
                false => &[],
            };
            let plain = line.packet_of(opcode, psn, payload);
            let (mut sender, _) = line.sender();
            let secure = protect_one(&mut sender, line.link(), &plain).expect("protected");
            assert_eq!(secure.len(), plain.len() + 20, "{opcode}");
            let (mut receiver, _) = line.receiver();
            // A VCRC may be missing.
            let vcrc_bytes = if carrier.is_rocev2() { 0 } else { 2 };
            for at in 0..secure.len() - vcrc_bytes {
                let mut changed = secure.clone();
                changed.truncate(at);
                assert!(unprotect_one(&mut receiver, line.link(), &changed).is_err());
            }
            let (restored, _) = unprotect(&mut receiver, line.link(), &[secure.clone(), secure]);
            let expected = [Ok(plain), Err(DropReason::Replayed)];
            assert_eq!(restored, expected, "{carrier:?} {opcode}");
        }
    }
}

#[test]
fn the_longest_packets_cannot_grow() {
    let mut line = Line::new(CARRIERS[2], Transport::Uc);
    line.flow.extended = ExtendedMode::Always;
    let (mut sender, _) = line.sender();
    let plain = line.packet(Operation::SendOnly, 0, &[0; 65_535 - 20 - 8 - 12 - 4 - 3]);
    let outcome = protect_one(&mut sender, line.link(), &plain);
    assert_eq!(outcome, Err(DropReason::TooLong));
}

/// As a recorded exchange has them: a request and an acknowledgement share addresses, queue pair and PSN, in both
/// directions. Of one node frames 14 and 18, of the other one frames 15 and 16, counted from 0.
#[test]
fn requests_and_responses_share_address_queue_pair_and_psn() {
    let one = Line::new(CARRIERS[2], Transport::Rc);
    let other = one.with_flow(Flow {
        sender: one.flow.receiver,
        receiver: one.flow.sender,
        ..one.flow
    });
    let payload = [0x47; 1024];
    let of_one = [
        one.packet(Operation::SendOnlyWithImmediate, 0, &payload[..144]),
        one.packet(Operation::Acknowledge, 0, &[]),
        one.packet(Operation::RdmaReadResponseOnly, 0, &payload[..144]),
    ];
    let of_other = [
        other.packet(Operation::Acknowledge, 0, &[]),
        other.packet(Operation::SendFirst, 0, &payload),
        other.packet(Operation::SendLastWithImmediate, 1, &payload),
    ];
    for (line, packets) in [(one, of_one), (other, of_other)] {
        let (mut sender, _) = line.sender();
        let (mut receiver, _) = line.receiver();
        let secure = protected(&mut sender, line.link(), &packets);
        // No two share a key stream.
        let bodies: HashSet<&[u8]> = (secure.iter())
            .map(|record| &record[record.len() - 16..])
            .collect();
        assert_eq!(bodies.len(), secure.len());
        let (restored, _) = unprotect(&mut receiver, line.link(), &secure);
        assert_eq!(restored, packets.map(Ok));
    }
}

#[test]
fn notifications_come_again_at_any_time() {
    let line = Line::new(CARRIERS[3], Transport::Rc);
    let (mut sender, _) = line.sender();
    let (mut receiver, _) = line.receiver();
    let notification = line.packet_of(Opcode::CONGESTION_NOTIFICATION, 0, &[0; 16]);
    for psn in [0xff_fff0, 3, 9] {
        for plain in [
            notification.clone(),
            line.packet(Operation::Acknowledge, psn, &[]),
            notification.clone(),
        ] {
            let secure = protect_one(&mut sender, line.link(), &plain).expect("protected");
            assert_eq!(
                unprotect_one(&mut receiver, line.link(), &secure),
                Ok(plain)
            );
        }
    }
}

#[test]
fn plain_packets_pass_only_where_it_is_written() {
    let line = Line::new(CARRIERS[0], Transport::Rc);
    let plain = line.packet(Operation::SendOnly, 0, b"plain");
    let mut others = Line::new(CARRIERS[0], Transport::Rc);
    others.flow.receiver.queue_pair = 1;
    let management = others.packet(Operation::SendOnly, 0, b"management");

    let (mut receiver, _) = line.receiver();
    let refused = unprotect_one(&mut receiver, line.link(), &plain);
    assert_eq!(refused, Err(DropReason::PlainRefused));
    let (mut sender, _) = line.sender();
    let refused = protect_one(&mut sender, line.link(), &management);
    assert_eq!(refused, Err(DropReason::UnknownQueuePair));

    let mut allowed = PlainPolicy::default();
    allowed.set_mode(PARTITION_KEY & 0x7fff, Mode::Allow);
    let (mut receiver, _) = line.receiver_with(TagLimits::default(), allowed);
    assert_eq!(
        unprotect_one(&mut receiver, line.link(), &plain),
        Ok(plain.clone())
    );

    let mut exempt = PlainPolicy::default();
    exempt.exempt(1);
    let (mut receiver, _) = line.receiver_with(TagLimits::default(), exempt.clone());
    let passed = unprotect_one(&mut receiver, line.link(), &management);
    assert_eq!(passed, Ok(management.clone()));
    let refused = unprotect_one(&mut receiver, line.link(), &plain);
    assert_eq!(refused, Err(DropReason::PlainRefused));
    let mut sender = weir_fabric::secure::Sender::new(exempt);
    assert_eq!(
        protect_one(&mut sender, line.link(), &management),
        Ok(management)
    );
}

#[test]
fn damaged_packets_and_used_bits_are_not_protected() {
    let line = Line::new(CARRIERS[2], Transport::Rc);
    let (mut sender, _) = line.sender();
    let plain = line.packet(Operation::SendOnly, 0, b"some bytes");
    let changed = |at: usize, bit: u8| {
        let mut record = plain.clone();
        record[at] ^= bit;
        record
    };
    let bth = 28;
    let reason = |record: &[u8], sender: &mut _| protect_one(sender, line.link(), record).err();
    let wrong = Some(DropReason::IcrcWrong);
    assert_eq!(reason(&changed(bth + 12, 1), &mut sender), wrong);
    // The ICRC does not cover the first of the two fields.
    let reserved = Some(DropReason::ReservedBits);
    assert_eq!(reason(&changed(bth + 4, 1), &mut sender), reserved);
    let other = Some(DropReason::PartitionKey);
    assert_eq!(reason(&changed(bth + 3, 2), &mut sender), other);
    let cut = &plain[..plain.len() - 1];
    assert_eq!(reason(cut, &mut sender), Some(DropReason::PacketCut));
    for bytes in 0..plain.len() {
        assert!(reason(&plain[..bytes], &mut sender).is_some());
    }
    assert_eq!(reason(&plain, &mut sender), None);
}

#[test]
fn epochs_are_used_once() {
    let line = Line::new(CARRIERS[2], Transport::Rc);
    let (mut sender, id) = line.sender();
    assert_eq!(sender.epochs_left(id), 99);
    let end = FIRST_EPOCH + 100;
    for epochs in [
        FIRST_EPOCH..end,
        end - 1..end + 9,
        end..end + 9,
        end + 9..end + 9,
    ] {
        assert_eq!(sender.restart(id, epochs), Err(FlowError::Epochs));
    }
    assert_eq!(sender.restart(id, end + 1..end + 2), Ok(()));
    let (mut receiver, _) = line.receiver();
    let mut pass = |psn| {
        let plain = line.packet(Operation::SendOnly, psn, b"");
        let secure = protect_one(&mut sender, line.link(), &plain)?;
        unprotect_one(&mut receiver, line.link(), &secure)
    };
    assert!(pass(0xff_fffe).is_ok() && pass(0xff_ffff).is_ok());
    assert_eq!(pass(0), Err(DropReason::EpochsExhausted));
    assert!(sender.allow_epochs_until(id, end + 3).is_ok());
    let mut pass = |psn| {
        let plain = line.packet(Operation::SendOnly, psn, b"");
        let secure = protect_one(&mut sender, line.link(), &plain)?;
        unprotect_one(&mut receiver, line.link(), &secure)
    };
    assert!(pass(0).is_ok());
    assert!(pass(0xff_ffff).is_ok(), "sent again, from before the wrap");
    let flow = line.flow;
    let keys = weir_fabric::secure::SenderKeys::derive(
        &weir_fabric::secure::Secret::new(vec![1; 16]).expect("16 bytes"),
        weir_fabric::secure::SessionRandom([0; 16]),
        flow.sender,
        flow.receiver,
    );
    let mut other = weir_fabric::secure::Sender::new(PlainPolicy::default());
    let added = other.add(flow, &keys, 0..1 << 40);
    assert_eq!(added, Err(FlowError::Epochs));
}
