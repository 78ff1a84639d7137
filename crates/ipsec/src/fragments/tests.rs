//! Fragments in every order, and too many of them.

use std::sync::Arc;

use weir_packet::file::Block;
use weir_packet::wire::{Fragment, LinkType};
use weir_stream::{Arrival, BatchLimits, Disposition, DropCodes, Vocabulary};

use super::*;

const PASS: Verdict = Verdict::Bypass;
const STOP: Verdict = Verdict::Drop(DropReason::PolicyDiscard);

/// A fragment of datagram `identification` from 198.18.0.`host`.
fn fragment(host: u8, identification: u16, offset: u8) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 28];
    packet.extend(identification.to_be_bytes());
    packet.extend([if offset == 0 { 0x20 } else { 0 }, offset, 64, 17, 0, 0]);
    packet.extend([198, 18, 0, host, 198, 18, 9, 9]);
    packet.extend([0, 7, 0, 9, 0, 8, 0, offset]);
    packet
}

/// A memory of fragments, and what it let through.
struct Trial {
    codes: DropCodes<DropReason>,
    fragments: Fragments,
    passed: Vec<Vec<u8>>,
    dropped: Vec<DropReason>,
}

impl Default for Trial {
    fn default() -> Trial {
        Trial {
            codes: Vocabulary::default().drop_reasons().expect("numbers"),
            fragments: Fragments::default(),
            passed: Vec::new(),
            dropped: Vec::new(),
        }
    }
}

impl Trial {
    /// Sends packets that arrive in one second; first fragments get `verdict`.
    fn send(&mut self, second: u64, verdict: Verdict, packets: &[Vec<u8>]) {
        for packets in packets.chunks(256) {
            let mut batch = Batch::new(BatchLimits::default());
            let arrival = Arrival {
                timestamp_ns: second * 1_000_000_000,
                link: LinkType::RawIp,
                ..Arrival::default()
            };
            let block = Arc::new(Block::from(packets.concat()));
            let mut at = 0;
            let records = packets.iter().map(|packet| {
                let record = (at, packet.len() as u32, arrival);
                at += packet.len() as u32;
                record
            });
            batch.receive(&block, 0, records).expect("room");
            for index in 0..packets.len() {
                let datagram = Datagram::of(batch.headers(index), batch.record(index), 0, None);
                let datagram = datagram.expect("a fragment");
                let verdict = match batch.headers(index).fragment {
                    Fragment::First => {
                        let at_ns = batch.arrival(index).timestamp_ns;
                        Some(self.fragments.first(datagram, at_ns, verdict))
                    }
                    _ => self.fragments.later(&mut batch, index, datagram),
                };
                if let Some(Verdict::Drop(reason)) = verdict {
                    batch.drop_record(index, self.codes.code(reason));
                }
            }
            self.release(&mut batch);
        }
    }

    fn release(&mut self, batch: &mut Batch) {
        let codes = self.codes;
        self.fragments.release(batch, |batch, index, verdict| {
            if let Verdict::Drop(reason) = verdict {
                batch.drop_record(index, codes.code(reason));
            }
        });
        for index in 0..batch.len() {
            match batch.disposition(index) {
                Disposition::Forward => self.passed.push(batch.record(index).to_vec()),
                Disposition::Drop(code) => self.dropped.extend(codes.reason(code)),
                _ => {}
            }
        }
    }

    fn end(&mut self) {
        self.fragments.end();
        while !self.fragments.is_idle() {
            self.release(&mut Batch::new(BatchLimits::default()));
        }
    }
}

#[test]
fn in_any_order_all_follow_the_first() {
    let datagram: Vec<Vec<u8>> = (0..3).map(|offset| fragment(1, 7, offset)).collect();
    for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0]] {
        let packets: Vec<Vec<u8>> = order.iter().map(|at| datagram[*at].clone()).collect();
        let mut trial = Trial::default();
        trial.send(1, PASS, &packets);
        assert!(trial.fragments.is_idle());
        trial.passed.sort();
        let mut expected = datagram.clone();
        expected.sort();
        assert_eq!((trial.passed, trial.dropped), (expected, vec![]));

        let mut trial = Trial::default();
        trial.send(1, STOP, &packets);
        assert_eq!(trial.passed, Vec::<Vec<u8>>::new());
        assert_eq!(trial.dropped, [DropReason::PolicyDiscard; 3]);
    }
}

#[test]
fn what_gets_no_first_fragment_is_dropped_in_time_and_at_the_end() {
    let mut trial = Trial::default();
    trial.send(1, PASS, &[fragment(1, 7, 1), fragment(1, 7, 2)]);
    assert_eq!((trial.passed.len(), trial.dropped.len()), (0, 0));
    trial.send(12, PASS, &[fragment(1, 8, 1)]);
    assert_eq!(trial.dropped, [DropReason::FirstFragmentMissing; 2]);
    trial.end();
    assert_eq!(trial.dropped, [DropReason::FirstFragmentMissing; 3]);
    // The memory of a first fragment ends too.
    trial.send(20, PASS, &[fragment(1, 9, 0)]);
    trial.send(31, PASS, &[fragment(1, 9, 1)]);
    trial.end();
    assert_eq!(trial.passed, [fragment(1, 9, 0)]);
    assert_eq!(trial.dropped.len(), 4);
}

#[test]
fn first_fragments_that_disagree_end_their_datagram() {
    let mut trial = Trial::default();
    trial.send(1, PASS, &[fragment(1, 7, 0)]);
    trial.send(1, STOP, &[fragment(1, 7, 0), fragment(1, 7, 1)]);
    trial.send(1, PASS, &[fragment(1, 7, 0)]);
    assert_eq!(trial.passed.len(), 1);
    assert_eq!(trial.dropped, [DropReason::FragmentConflict; 3]);
}

#[test]
fn a_flood_of_one_pair_leaves_others_their_part() {
    let mut trial = Trial::default();
    let flood: Vec<Vec<u8>> = (0..5000u16).map(|number| fragment(1, number, 1)).collect();
    trial.send(1, PASS, &flood);
    let limits = trial.dropped.len();
    assert_eq!(limits, 5000 - HELD_RECORDS_PER_PART);
    let firsts: Vec<Vec<u8>> = (0..5000u16).map(|number| fragment(1, number, 0)).collect();
    let hosts = (2..100).filter(|host| {
        let of = |host| {
            let packet = fragment(host, 1, 1);
            let headers = Headers::parse(LinkType::RawIp, &packet);
            trial
                .fragments
                .part(&Datagram::of(&headers, &packet, 0, None).expect("one"))
        };
        of(*host) != of(1)
    });
    let other = hosts.into_iter().next().expect("another part");
    trial.send(1, PASS, &[fragment(other, 1, 1)]);
    assert_eq!(
        trial.dropped.len(),
        limits,
        "there is room for another pair"
    );
    trial.send(1, PASS, &firsts);
    trial.send(1, PASS, &[fragment(other, 1, 0)]);
    assert!(trial.passed.contains(&fragment(other, 1, 1)));
    assert!(trial.fragments.is_idle());
    for part in &trial.fragments.decided {
        assert!(part.len() <= DATAGRAMS_PER_PART);
    }
    assert_eq!(trial.fragments.held_of_part.iter().sum::<usize>(), 0);
}

#[test]
fn all_that_is_held_is_bounded() {
    let mut trial = Trial::default();
    for host in 0..=255 {
        let some: Vec<Vec<u8>> = (0..20u16).map(|number| fragment(host, number, 1)).collect();
        trial.send(1, PASS, &some);
    }
    assert!(trial.fragments.held_records <= HELD_RECORDS);
    assert!(trial.fragments.order.len() <= 2 * HELD_RECORDS + 1);
    trial.end();
    assert_eq!(trial.dropped.len(), 256 * 20);
    assert_eq!(
        (trial.fragments.held_records, trial.fragments.held_bytes),
        (0, 0)
    );
}
