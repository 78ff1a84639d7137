//! Properties of whole batches: packets of many keys, suites and lengths.

use crate::support::{Packet, key_pair, material};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::HashSet;
use weir_crypto::hazmat::RawSealingKey;
use weir_crypto::{
    JobFault, OpenJob, OpeningKey, SealJob, SealingKey, Suite, open, open_as_found, seal,
    seal_as_made,
};

/// What a generated packet is: which of the batch's keys, and its lengths.
#[derive(Clone, Debug)]
struct Plan {
    key: usize,
    prefix_bytes: usize,
    text_bytes: usize,
    seed: u8,
}

fn plan(keys: usize) -> impl Strategy<Value = Plan> {
    let text_bytes = prop_oneof![3 => 0..130usize, 1 => 0..=3000usize];
    (0..keys, 0..21usize, text_bytes, any::<u8>()).prop_map(
        |(key, prefix_bytes, text_bytes, seed)| Plan {
            key,
            prefix_bytes,
            text_bytes,
            seed,
        },
    )
}

/// One to nine keys of any suites, and one to sixty packets among them.
fn batch() -> impl Strategy<Value = (Vec<Suite>, Vec<Plan>)> {
    let suites: Vec<Suite> = Suite::all().collect();
    prop::collection::vec(prop::sample::select(suites), 1..10).prop_flat_map(|suites| {
        let plans = prop::collection::vec(plan(suites.len()), 1..60);
        (Just(suites), plans)
    })
}

fn run(property: impl Fn(&[Suite], &[Plan]) -> Result<(), TestCaseError>) {
    let config = Config {
        cases: 200,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    TestRunner::new_with_rng(config, rng)
        .run(&batch(), |(suites, plans)| property(&suites, &plans))
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Keys and packets of a batch, before sealing.
fn build(suites: &[Suite], plans: &[Plan]) -> (Vec<SealingKey>, Vec<OpeningKey>, Vec<Packet>) {
    let (sealing, opening) = suites
        .iter()
        .zip(0..)
        .map(|(&suite, seed)| key_pair(suite, seed, plans.len() as u64))
        .unzip();
    let packets = plans
        .iter()
        .map(|p| Packet::new(suites[p.key], p.prefix_bytes, p.text_bytes, p.seed))
        .collect();
    (sealing, opening, packets)
}

/// Tickets first, which changes the keys; then jobs, which share them.
fn seal_all(keys: &mut [SealingKey], plans: &[Plan], packets: &mut [Packet]) {
    let tickets: Vec<_> = plans
        .iter()
        .map(|plan| keys[plan.key].next_ticket().expect("enough is reserved"))
        .collect();
    let mut jobs: Vec<SealJob<'_>> = packets
        .iter_mut()
        .zip(plans)
        .zip(tickets)
        .map(|((packet, plan), ticket)| packet.seal_job(&keys[plan.key], ticket))
        .collect();
    seal(&mut jobs).expect("a well-formed batch");
}

/// The same, packet by packet as they are made.
fn seal_all_as_made(keys: &mut [SealingKey], plans: &[Plan], packets: &mut [Packet]) {
    let tickets: Vec<_> = plans
        .iter()
        .map(|plan| keys[plan.key].next_ticket().expect("enough is reserved"))
        .collect();
    let mut sealed = vec![false; packets.len()];
    let mut others = Vec::new();
    seal_as_made(&mut others, |batch| {
        let packets = packets.iter_mut().zip(&mut sealed);
        for (((packet, sealed), plan), ticket) in packets.zip(plans).zip(tickets) {
            batch.add(packet.seal_job(&keys[plan.key], ticket), sealed)?;
        }
        Ok::<_, JobFault>(())
    })
    .expect("a well-formed batch");
    assert!(others.is_empty());
    drop(others);
    assert!(sealed.into_iter().all(|sealed| sealed));
}

#[test]
fn packets_sealed_as_they_are_made_are_those_of_a_batch() {
    run(|suites, plans| {
        let (mut sealing, _, mut packets) = build(suites, plans);
        let (mut again, _, mut as_made) = build(suites, plans);
        seal_all(&mut sealing, plans, &mut packets);
        seal_all_as_made(&mut again, plans, &mut as_made);
        prop_assert_eq!(packets, as_made);
        Ok(())
    });
}

#[test]
fn more_packets_than_are_gathered_at_once_are_all_sealed() {
    let suites = ["aes-128-gcm-16", "aes-256-gcm-16"].map(|name| Suite::parse(name).expect("one"));
    let plans: Vec<Plan> = (0..700)
        .map(|number| Plan {
            key: number / 3 % 2,
            prefix_bytes: 8,
            text_bytes: number % 200,
            seed: number as u8,
        })
        .collect();
    for count in [255, 256, 257, 512, 700] {
        let plans = &plans[..count];
        let (mut sealing, _, mut packets) = build(&suites, plans);
        let (mut again, _, mut as_made) = build(&suites, plans);
        seal_all(&mut sealing, plans, &mut packets);
        seal_all_as_made(&mut again, plans, &mut as_made);
        assert!(packets == as_made, "{count}");
    }
}

#[test]
fn what_is_sealed_opens_to_the_same_text() {
    run(|suites, plans| {
        let (mut sealing, opening, mut packets) = build(suites, plans);
        let before = packets.clone();
        seal_all(&mut sealing, plans, &mut packets);

        let mut jobs: Vec<OpenJob<'_>> = packets
            .iter_mut()
            .zip(plans)
            .map(|(packet, plan)| packet.open_job(&opening[plan.key]))
            .collect();
        open(&mut jobs);
        prop_assert!(jobs.iter().all(|job| job.verified));
        drop(jobs);
        for (packet, before) in packets.iter().zip(&before) {
            prop_assert_eq!(&packet.text, &before.text);
        }
        Ok(())
    });
}

/// Opens packets of which some were changed on the way, as they are found and as a
/// batch: verdicts and texts are the same.
fn open_both_ways(
    opening: &[OpeningKey],
    plans: &[Plan],
    packets: &mut [Packet],
) -> (Vec<bool>, Vec<bool>) {
    for (number, packet) in packets.iter_mut().enumerate().filter(|(n, _)| n % 3 == 1) {
        let parts = [&mut packet.iv, &mut packet.text, &mut packet.tag];
        if let Some(byte) = parts[number / 3 % 3]
            .first_mut()
            .or(packet.prefix.first_mut())
        {
            *byte ^= 0x10;
        }
    }
    let mut found = packets.to_vec();
    let mut jobs: Vec<OpenJob<'_>> = (packets.iter_mut().zip(plans))
        .map(|(packet, plan)| packet.open_job(&opening[plan.key]))
        .collect();
    open(&mut jobs);
    let expected = jobs.iter().map(|job| job.verified).collect();
    drop(jobs);
    let mut verdicts = vec![true; packets.len()];
    let mut others = Vec::new();
    open_as_found(&mut others, |batch| {
        for ((packet, plan), verdict) in found.iter_mut().zip(plans).zip(&mut verdicts) {
            batch.add(packet.open_job(&opening[plan.key]), verdict);
        }
        Ok::<_, ()>(())
    })
    .expect("no packet is refused");
    assert!(others.is_empty());
    assert!(found == packets, "the same texts");
    (verdicts, expected)
}

#[test]
fn packets_opened_as_they_are_found_are_those_of_a_batch() {
    run(|suites, plans| {
        let (mut sealing, opening, mut packets) = build(suites, plans);
        seal_all(&mut sealing, plans, &mut packets);
        let (verdicts, expected) = open_both_ways(&opening, plans, &mut packets);
        prop_assert_eq!(verdicts, expected);
        Ok(())
    });
}

#[test]
fn more_packets_than_are_gathered_at_once_are_all_opened() {
    let suites = ["aes-128-gcm-16", "chacha20-poly1305", "aes-128-ocb3"];
    let suites = suites.map(|name| Suite::parse(name).expect("one"));
    for count in [255, 257, 512, 1400] {
        let plans: Vec<Plan> = (0..count)
            .map(|number| Plan {
                key: number / 2 % 3,
                prefix_bytes: 8,
                text_bytes: number % 200,
                seed: number as u8,
            })
            .collect();
        let (mut sealing, opening, mut packets) = build(&suites, &plans);
        seal_all(&mut sealing, &plans, &mut packets);
        let (verdicts, expected) = open_both_ways(&opening, &plans, &mut packets);
        assert_eq!(verdicts, expected);
        assert_eq!(verdicts.iter().filter(|v| !**v).count(), (count + 1) / 3);
    }
}

#[test]
fn a_batch_gives_what_its_packets_give_one_by_one() {
    run(|suites, plans| {
        let (mut sealing, _, mut packets) = build(suites, plans);
        let before = packets.clone();
        seal_all(&mut sealing, plans, &mut packets);

        for ((packet, mut alone), plan) in packets.iter().zip(before).zip(plans) {
            let seed = plan.key as u8;
            RawSealingKey::new(&material(suites[plan.key], seed))
                .expect("a raw key")
                .seal(
                    &alone.prefix,
                    &packet.iv,
                    &mut alone.text,
                    &alone.suffix,
                    &mut alone.tag,
                )
                .expect("a well-formed packet");
            prop_assert_eq!(&packet.text, &alone.text);
            prop_assert_eq!(&packet.tag, &alone.tag);
        }
        Ok(())
    });
}

#[test]
fn no_iv_comes_twice_under_a_key() {
    run(|suites, plans| {
        let (mut sealing, _, mut packets) = build(suites, plans);
        seal_all(&mut sealing, plans, &mut packets);
        let mut seen = HashSet::new();
        for (packet, plan) in packets.iter().zip(plans) {
            if !packet.iv.is_empty() {
                prop_assert!(seen.insert((plan.key, packet.iv.clone())));
            }
        }
        Ok(())
    });
}

#[test]
fn damaged_packets_of_a_batch_are_refused_and_the_others_open() {
    run(|suites, plans| {
        let (mut sealing, opening, mut packets) = build(suites, plans);
        let before = packets.clone();
        seal_all(&mut sealing, plans, &mut packets);
        for packet in packets.iter_mut().step_by(3) {
            packet.tag[0] ^= 0x80;
        }

        let mut jobs: Vec<OpenJob<'_>> = packets
            .iter_mut()
            .zip(plans)
            .map(|(packet, plan)| packet.open_job(&opening[plan.key]))
            .collect();
        open(&mut jobs);
        for (i, (job, before)) in jobs.iter().zip(&before).enumerate() {
            let damaged = i % 3 == 0;
            prop_assert_eq!(job.verified, !damaged);
            if damaged {
                prop_assert!(job.text.iter().all(|&byte| byte == 0));
            } else {
                prop_assert_eq!(&*job.text, &before.text[..]);
            }
        }
        Ok(())
    });
}
