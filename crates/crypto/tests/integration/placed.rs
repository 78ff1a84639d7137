//! Packets in one buffer: what the slices give, and what is refused.

use crate::support::laid::Laid;
use crate::support::{Packet, key_pair};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use weir_crypto::{
    Aead, AesKeySize, JobError, JobFault, OneTimeKeys, OpenAt, OpenJob, OpeningKey, Place, SealAt,
    SealJob, SealingKey, Suite, open, open_in, open_once, seal, seal_in, seal_once,
};

/// What a generated packet is: its key, its lengths, and what lies around it.
#[derive(Clone, Debug)]
struct Plan {
    key: usize,
    prefix_bytes: usize,
    text_bytes: usize,
    skipped: usize,
    gap: usize,
    seed: u8,
}

fn plan(keys: usize) -> impl Strategy<Value = Plan> {
    let text_bytes = prop_oneof![3 => 0..130usize, 1 => 0..=3000usize];
    let around = (0..70usize, prop_oneof![Just(0), 0..20usize]);
    (0..keys, 0..21usize, text_bytes, around, any::<u8>()).prop_map(
        |(key, prefix_bytes, text_bytes, (skipped, gap), seed)| Plan {
            key,
            prefix_bytes,
            text_bytes,
            skipped,
            gap,
            seed,
        },
    )
}

/// One to five keys of `suites`, and up to 300 packets among them.
fn run(suites: Vec<Suite>, property: impl Fn(&[Suite], &[Plan]) -> Result<(), TestCaseError>) {
    let config = Config {
        cases: 60,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[9; 32]);
    let suites = prop::collection::vec(prop::sample::select(suites), 1..6);
    let batch = suites.prop_flat_map(|suites| {
        let few = prop::collection::vec(plan(suites.len()), 1..40);
        let many = prop::collection::vec(plan(suites.len()), 250..300);
        (Just(suites), prop_oneof![4 => few, 1 => many])
    });
    TestRunner::new_with_rng(config, rng)
        .run(&batch, |(suites, plans)| property(&suites, &plans))
        .unwrap_or_else(|error| panic!("{error}"));
}

fn gcm_suites() -> Vec<Suite> {
    let sizes = AesKeySize::ALL.map(|size| Suite::Aead(Aead::AesGcm16(size)));
    sizes.into()
}

fn keys(suites: &[Suite], packets: usize) -> (Vec<SealingKey>, Vec<OpeningKey>) {
    let pairs = suites.iter().zip(0..);
    pairs
        .map(|(suite, seed)| key_pair(*suite, seed, packets as u64))
        .unzip()
}

/// Packets without suffixes, by themselves and laid out.
fn packets(suites: &[Suite], plans: &[Plan]) -> (Vec<Packet>, Laid) {
    let mut laid = Laid::default();
    let packets = plans.iter().map(|plan| {
        let mut packet = Packet::new(
            suites[plan.key],
            plan.prefix_bytes,
            plan.text_bytes,
            plan.seed,
        );
        packet.suffix.clear();
        let parts = [&packet.prefix, &packet.iv, &packet.text, &packet.tag];
        laid.push(plan.skipped, plan.gap, parts.map(|part| &part[..]));
        packet
    });
    (packets.collect(), laid)
}

fn seal_laid(keys: &mut [SealingKey], plans: &[Plan], laid: &mut Laid) -> Result<(), JobError> {
    let places = plans.iter().zip(&laid.places);
    let mut jobs: Vec<SealAt> = places
        .map(|(plan, place)| SealAt {
            key: plan.key as u32,
            ticket: keys[plan.key].next_ticket().expect("enough is reserved"),
            place: *place,
        })
        .collect();
    seal_in(&mut laid.buffer, &mut jobs, |key| keys.get(key as usize)).map(drop)
}

fn open_laid(keys: &[OpeningKey], plans: &[Plan], laid: &mut Laid) -> Vec<bool> {
    let places = plans.iter().zip(&laid.places);
    let mut jobs: Vec<OpenAt> = places
        .map(|(plan, place)| OpenAt {
            key: plan.key as u32,
            place: *place,
            // Whatever it held before.
            verified: true,
        })
        .collect();
    open_in(&mut laid.buffer, &mut jobs, |key| keys.get(key as usize)).expect("a row of packets");
    jobs.iter().map(|job| job.verified).collect()
}

/// Whether packets in a buffer are sealed as in slices, open again, and are
/// cleared where they are damaged.
fn agree(suites: &[Suite], plans: &[Plan]) -> Result<(), TestCaseError> {
    let (mut sealing, opening) = keys(suites, plans.len());
    let (mut again, _) = keys(suites, plans.len());
    let (mut packets, mut laid) = packets(suites, plans);
    let before = laid.clone();

    let tickets: Vec<_> = plans
        .iter()
        .map(|plan| sealing[plan.key].next_ticket().expect("reserved"))
        .collect();
    let mut jobs: Vec<SealJob<'_>> = packets
        .iter_mut()
        .zip(plans)
        .zip(tickets)
        .map(|((packet, plan), ticket)| packet.seal_job(&sealing[plan.key], ticket))
        .collect();
    seal(&mut jobs).expect("a well-formed batch");
    drop(jobs);
    seal_laid(&mut again, plans, &mut laid).expect("a row of packets");
    for (index, packet) in packets.iter().enumerate() {
        let parts = [&packet.prefix, &packet.iv, &packet.text, &packet.tag];
        prop_assert_eq!(laid.parts(index), parts.map(|part| &part[..]));
    }
    prop_assert!(laid.is_guarded());

    for damaged in (0..plans.len()).step_by(3) {
        packets[damaged].tag[0] ^= 0x10;
        let [_, _, _, tag] = laid.parts(damaged);
        let at = laid.offset_of(tag);
        laid.buffer[at] ^= 0x10;
    }
    let verified = open_laid(&opening, plans, &mut laid);
    let mut jobs: Vec<OpenJob<'_>> = packets
        .iter_mut()
        .zip(plans)
        .map(|(packet, plan)| packet.open_job(&opening[plan.key]))
        .collect();
    open(&mut jobs);
    drop(jobs);
    prop_assert!(laid.is_guarded());
    for (index, verified) in verified.into_iter().enumerate() {
        prop_assert_eq!(verified, index % 3 != 0);
        let [_, _, text, _] = laid.parts(index);
        prop_assert_eq!(text, &packets[index].text[..]);
        match verified {
            true => prop_assert_eq!(text, before.parts(index)[2]),
            false => prop_assert!(text.iter().all(|byte| *byte == 0)),
        }
    }
    Ok(())
}

#[test]
fn packets_of_all_suites_in_a_buffer_are_those_in_slices() {
    run(Suite::all().collect(), agree);
}

#[test]
fn packets_of_gcm_in_a_buffer_are_those_in_slices() {
    run(gcm_suites(), agree);
}

/// Two packets with nothing between them.
fn two_packets(suite: Suite) -> ([Plan; 2], Laid) {
    let plans = [1, 2].map(|seed| Plan {
        key: 0,
        prefix_bytes: 8,
        text_bytes: 48,
        skipped: 0,
        gap: 0,
        seed,
    });
    let (_, laid) = packets(&[suite], &plans);
    (plans, laid)
}

#[test]
fn packets_that_overlap_or_leave_their_buffer_are_refused_before_a_byte_is_written() {
    for suite in Suite::all() {
        let (_, laid) = two_packets(suite);
        let (first, second) = (laid.places[0], laid.places[1]);
        let bytes = laid.buffer.len();
        let displaced: [(Place, JobFault); 4] = [
            (
                Place {
                    offset: second.offset - 1,
                    ..second
                },
                JobFault::Overlap {
                    offset: second.offset - 1,
                    free_from: second.offset.into(),
                },
            ),
            (
                first,
                JobFault::Overlap {
                    offset: 0,
                    free_from: second.offset.into(),
                },
            ),
            (
                Place {
                    offset: second.offset + 1,
                    ..second
                },
                JobFault::OutOfBuffer {
                    end: bytes as u64 + 1,
                    buffer_bytes: bytes as u64,
                },
            ),
            (
                Place {
                    offset: u32::MAX,
                    text_bytes: 48,
                    ..second
                },
                JobFault::OutOfBuffer {
                    end: u64::from(u32::MAX) + (bytes / 2) as u64,
                    buffer_bytes: bytes as u64,
                },
            ),
        ];
        for (place, fault) in displaced {
            let (plans, mut laid) = two_packets(suite);
            laid.places[1] = place;
            let before = laid.clone();
            let (mut sealing, opening) = keys(&[suite], 2);
            let error = JobError { job: 1, fault };
            let refused = seal_laid(&mut sealing, &plans, &mut laid);
            assert_eq!(refused, Err(error), "{suite}");

            let mut jobs = [0, 1].map(|at| OpenAt {
                key: 0,
                place: laid.places[at],
                verified: true,
            });
            let refused = open_in(&mut laid.buffer, &mut jobs, |_| opening.first());
            assert_eq!(refused, Err(error), "{suite}");
            assert!(jobs.iter().all(|job| !job.verified), "{suite}");
            assert!(laid == before, "{suite}");
        }
    }
}

#[test]
fn jobs_without_a_key_of_their_own_are_refused_and_keep_their_tickets() {
    for suite in Suite::all() {
        let (plans, mut laid) = two_packets(suite);
        let before = laid.clone();
        let (mut keys, opening) = keys(&[suite, suite], 3);
        let mut job = |number: usize| SealAt {
            key: 0,
            ticket: keys[number].next_ticket().expect("reserved"),
            place: laid.places[0],
        };
        let (own, foreign, lost) = (job(0), job(1), job(0));
        let key_of = |key: u32| keys.get(key as usize);

        let mut jobs = [foreign];
        let refused = seal_in(&mut laid.buffer, &mut jobs, key_of);
        let fault = JobFault::ForeignTicket;
        assert_eq!(refused, Err(JobError { job: 0, fault }), "{suite}");

        let mut jobs = [own, SealAt { key: 2, ..lost }];
        jobs[1].place = laid.places[1];
        let refused = seal_in(&mut laid.buffer, &mut jobs, key_of);
        let fault = JobFault::NoKey { number: 2 };
        assert_eq!(refused, Err(JobError { job: 1, fault }), "{suite}");
        assert!(laid == before, "{suite}");

        jobs[1].key = 0;
        assert!(seal_in(&mut laid.buffer, &mut jobs, key_of).is_ok());
        let sealed = laid.clone();
        let refused = seal_in(&mut laid.buffer, &mut jobs, key_of);
        let fault = JobFault::SpentTicket;
        assert_eq!(refused, Err(JobError { job: 0, fault }), "{suite}");
        assert!(laid == sealed, "{suite}");

        // Values 1 and 2 were used, by a key that was made again for the test.
        let verified = open_laid(&opening, &plans, &mut laid);
        assert_eq!(verified, [true, true], "{suite}");
    }
}

#[test]
fn no_ticket_is_used_under_another_key_than_its_own() {
    let suite = Suite::Aead(Aead::AesGcm16(AesKeySize::Aes128));
    let (plans, mut laid) = two_packets(suite);
    let (mut keys, _) = keys(&[suite, suite], 2);
    let mut jobs: Vec<SealAt> = (0..2)
        .map(|job| SealAt {
            key: plans[job].key as u32,
            ticket: keys[plans[job].key].next_ticket().expect("a ticket"),
            place: laid.places[job],
        })
        .collect();
    let before = laid.clone();
    // From the fourth time on that it is asked, it has the other key.
    let asked = std::cell::Cell::new(0);
    let error = seal_in(&mut laid.buffer, &mut jobs, |key| {
        asked.set(asked.get() + 1);
        keys.get(key as usize ^ usize::from(asked.get() > 3))
    });
    let fault = JobFault::ForeignTicket;
    assert_eq!(error, Err(JobError { job: 1, fault }));
    assert_ne!(laid.parts(0), before.parts(0));
    assert_eq!(laid.parts(1), before.parts(1));
    assert!(laid.is_guarded());
}

#[test]
fn texts_of_wrong_lengths_are_refused() {
    let suite = Suite::parse("aes-128-cbc+hmac-sha1-96").expect("a suite");
    let (plans, mut laid) = two_packets(suite);
    let (mut sealing, opening) = keys(&[suite], 2);
    laid.places[1].text_bytes -= 1;
    let before = laid.clone();
    let fault = JobFault::PartialBlock {
        block_bytes: 16,
        given_bytes: 47,
    };
    let refused = seal_laid(&mut sealing, &plans, &mut laid);
    assert_eq!(refused, Err(JobError { job: 1, fault }));
    assert!(laid == before);
    assert_eq!(open_laid(&opening, &plans, &mut laid), [false, false]);
}

#[test]
fn one_time_keys_are_as_many_as_packets() {
    let suite = Suite::parse("aes-256-gcm-16").expect("a suite");
    let (_, mut laid) = two_packets(suite);
    let before = laid.clone();
    let mut one_time = OneTimeKeys::new(AesKeySize::Aes256).expect("an engine");
    let mut verified = vec![true; 2];
    for keys in [1, 2, 3] {
        one_time.push(&[7; 36]).expect("32 bytes and a salt");
        assert_eq!(one_time.len(), keys);
        if keys == 2 {
            continue;
        }
        let fault = JobFault::KeyCount { keys, packets: 2 };
        let error = JobError {
            job: keys.min(2),
            fault,
        };
        let refused = seal_once(&mut one_time, &mut laid.buffer, &laid.places);
        assert_eq!(refused, Err(error));
        assert_eq!(one_time.len(), keys);
        let refused = open_once(&one_time, &mut laid.buffer, &laid.places, &mut verified);
        assert_eq!(refused, Err(error));
        assert!(verified.is_empty());
    }
    assert!(laid == before);
}
