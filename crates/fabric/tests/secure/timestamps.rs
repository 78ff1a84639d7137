//! Packets with the time in their marking field (III.F).

use weir_fabric::secure::{DropReason, ExtendedMode, FlowError, Timestamps};
use weir_fabric::wire::{Carrier, Operation, Transport};

use crate::network::{Line, NOW_SECONDS, protect_at, protect_one, unprotect_at, unprotect_one};

const TIMESTAMPS: Timestamps = Timestamps {
    bits: 24,
    tolerance_seconds: 8,
};
/// In a record: LRH, and the GRH up to its DGID.
const DGID: usize = 8 + 24;

fn line(transport: Transport) -> Line {
    let mut line = Line::new(Carrier::Global, transport);
    line.flow.timestamps = Some(TIMESTAMPS);
    line
}

/// The upper 24 of the 38 bits behind the prefix of 10.
fn stamp_of(record: &[u8]) -> u64 {
    let gid = u128::from_be_bytes(*record[DGID..].first_chunk().expect("16 bytes"));
    (gid >> (118 - 24)) as u64 & 0xff_ffff
}

#[test]
fn packets_carry_the_time_and_return() {
    let line = line(Transport::Rc);
    let (mut sender, _) = line.sender();
    let (mut receiver, _) = line.receiver();
    for (psn, operation) in (0..).zip([
        Operation::SendOnly,
        Operation::Acknowledge,
        Operation::RdmaReadResponseOnly,
    ]) {
        let now = NOW_SECONDS + u64::from(psn);
        let plain = line.packet(operation, psn, if psn == 1 { b"" } else { b"bytes" });
        let mut secure = protect_at(&mut sender, line.link(), &plain, now).expect("protected");
        assert_eq!(stamp_of(&secure), now & 0xff_ffff);
        // Switches mark in the bits below.
        secure[DGID + 5] ^= 0x2a;
        let mut marked = unprotect_at(&mut receiver, line.link(), &secure, now).expect("taken");
        marked[DGID + 5] ^= 0x2a;
        assert_eq!(stamp_of(&marked), 0);
        let covered = plain.len() - 6;
        assert_eq!(marked[..covered], plain[..covered]);
    }
}

#[test]
fn old_times_and_changed_ones_are_refused() {
    let line = line(Transport::Uc);
    let (mut sender, _) = line.sender();
    let plain = line.packet(Operation::SendOnly, 1, b"bytes");
    let secure = protect_one(&mut sender, line.link(), &plain).expect("protected");
    for (late, outcome) in [
        (0, Ok(plain.clone())),
        (8, Ok(plain.clone())),
        (-8, Ok(plain.clone())),
        (9, Err(DropReason::StaleTimestamp)),
        (-9, Err(DropReason::StaleTimestamp)),
        (1 << 23, Err(DropReason::StaleTimestamp)),
        // It comes round again in 194 days.
        (1 << 24, Ok(plain.clone())),
    ] {
        let (mut receiver, _) = line.receiver();
        let now = NOW_SECONDS.saturating_add_signed(late);
        let found = unprotect_at(&mut receiver, line.link(), &secure, now);
        assert_eq!(found, outcome, "{late} s later");
    }
    for bit in 0..24 {
        let (mut receiver, _) = line.receiver();
        let mut changed = secure.clone();
        let at = 10 + bit;
        changed[DGID + at / 8] ^= 0x80 >> (at % 8);
        let found = unprotect_one(&mut receiver, line.link(), &changed);
        // The lowest bits are still within the tolerance.
        let expected = match bit >= 20 {
            true => [DropReason::TagFailed, DropReason::StaleTimestamp],
            false => [DropReason::StaleTimestamp; 2],
        };
        let reason = found.expect_err("the time is authenticated");
        assert!(expected.contains(&reason), "bit {bit}: {reason:?}");
    }
}

#[test]
fn a_packet_that_is_sent_again_has_its_first_time() {
    let line = line(Transport::Rc);
    let (mut sender, _) = line.sender();
    let plain = line.packet(Operation::SendOnly, 1, b"bytes");
    let mut seal = |plain: &[u8], late| {
        let now = NOW_SECONDS + late;
        protect_at(&mut sender, line.link(), plain, now).expect("protected")
    };
    let first = seal(&plain, 0);
    assert_eq!(seal(&plain, 5), first);
    // Others of the number have the time of now.
    let other = line.packet(Operation::SendOnly, 1, b"other");
    let extended = seal(&other, 6);
    assert_eq!(stamp_of(&extended), (NOW_SECONDS + 6) & 0xff_ffff);
    let (mut receiver, _) = line.receiver();
    let mut open = |record: &[u8]| unprotect_one(&mut receiver, line.link(), record);
    assert_eq!(open(&first), Ok(plain));
    assert_eq!(open(&extended), Ok(other));
}

#[test]
fn without_a_field_there_is_no_time() {
    let mut line = line(Transport::Rc);
    let (mut sender, _) = line.sender();
    let mut used = line.packet(Operation::SendOnly, 1, b"bytes");
    used[DGID + 1] |= 0x20;
    // Its ICRC is that of another DGID.
    let outcome = protect_one(&mut sender, line.link(), &used);
    assert_eq!(outcome, Err(DropReason::IcrcWrong));

    for (carrier, timestamps) in [
        (Carrier::Local, TIMESTAMPS),
        (Carrier::Ipv4, TIMESTAMPS),
        (Carrier::Ipv6, TIMESTAMPS),
        (
            Carrier::Global,
            Timestamps {
                bits: 39,
                ..TIMESTAMPS
            },
        ),
        (
            Carrier::Global,
            Timestamps {
                bits: 7,
                ..TIMESTAMPS
            },
        ),
        (
            Carrier::Global,
            Timestamps {
                bits: 8,
                tolerance_seconds: 64,
            },
        ),
    ] {
        let mut flow = Line::new(carrier, Transport::Rc).flow;
        flow.timestamps = Some(timestamps);
        assert_eq!(
            line.with_flow(flow).try_sender().err(),
            Some(FlowError::Timestamps)
        );
    }
    line.flow.extended = ExtendedMode::Always;
    let (mut sender, _) = line.sender();
    let (mut receiver, _) = line.receiver();
    let plain = line.packet(Operation::Acknowledge, 1, &[]);
    let secure = protect_one(&mut sender, line.link(), &plain).expect("protected");
    assert_eq!(
        unprotect_one(&mut receiver, line.link(), &secure),
        Ok(plain)
    );
}
