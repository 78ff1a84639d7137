//! Properties of whole batches: packets of many keys, suites and lengths, in any order.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use weir_crypto::hazmat;
use weir_crypto::{
    Aead, AesKeySize, BATCH_PACKETS, Descriptor, KeyId, Opener, Refusal, Sealer, Suite,
};

use crate::support::laid::Laid;
use crate::support::{Packet, RawKey, is_mac, key_pair, material, parse, suites};

/// What a generated packet is: which of the batch's keys, its lengths, and what lies around it.
#[derive(Clone, Debug)]
struct Plan {
    key: usize,
    is_one_time: bool,
    aad_bytes: usize,
    payload_bytes: usize,
    skipped: usize,
    gap: usize,
    seed: u8,
}

fn plan(keys: usize) -> impl Strategy<Value = Plan> {
    let aad_bytes = prop_oneof![Just(8), 0..21usize];
    let payload_bytes = prop_oneof![3 => 0..130usize, 1 => 0..=3000usize];
    let around = (0..70usize, prop_oneof![Just(0), 0..20usize]);
    (
        (0..keys, any::<bool>(), any::<u8>()),
        (aad_bytes, payload_bytes),
        around,
    )
        .prop_map(
            |((key, is_one_time, seed), (aad_bytes, payload_bytes), (skipped, gap))| Plan {
                key,
                is_one_time,
                aad_bytes,
                payload_bytes,
                skipped,
                gap,
                seed,
            },
        )
}

/// Keys, packets among them, and the order in which a batch takes the packets.
#[derive(Clone, Debug)]
struct Batch {
    suites: Vec<Suite>,
    plans: Vec<Plan>,
    order: Vec<usize>,
}

/// One to nine keys of `suites`, and up to 300 packets among them.
fn run_with(
    suites: Vec<Suite>,
    cases: u32,
    property: impl Fn(&Batch) -> Result<(), TestCaseError>,
) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let suites = prop::collection::vec(prop::sample::select(suites), 1..10);
    let batch = suites.prop_flat_map(|suites| {
        let few = prop::collection::vec(plan(suites.len()), 1..60);
        let many = prop::collection::vec(plan(suites.len()), 250..300);
        let plans = prop_oneof![6 => few, 1 => many];
        plans.prop_flat_map(move |plans| {
            let in_order: Vec<usize> = (0..plans.len()).collect();
            let order = prop_oneof![Just(in_order.clone()), Just(in_order).prop_shuffle()];
            (Just(suites.clone()), Just(plans), order).prop_map(|(suites, plans, order)| Batch {
                suites,
                plans,
                order,
            })
        })
    });
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    TestRunner::new_with_rng(config, rng)
        .run(&batch, |batch| property(&batch))
        .unwrap_or_else(|error| panic!("{error}"));
}

fn run(property: impl Fn(&Batch) -> Result<(), TestCaseError>) {
    run_with(suites().collect(), 200, property);
}

fn gcm_suites() -> Vec<Suite> {
    AesKeySize::ALL
        .map(|size| Suite::Aead(Aead::AesGcm16(size)))
        .into()
}

/// The held keys of a batch, and its packets before they are sealed.
struct Prepared {
    sealer: Sealer,
    sealing: Vec<KeyId>,
    opener: Opener,
    opening: Vec<KeyId>,
    laid: Laid,
    /// Those that the packets got.
    numbers: Vec<u64>,
}

impl Batch {
    fn prepare(&self) -> Prepared {
        let (mut sealer, mut opener) = (Sealer::new(), Opener::new());
        let (mut sealing, mut opening) = (Vec::new(), Vec::new());
        for (&suite, seed) in self.suites.iter().zip(0..) {
            let (one, other) = key_pair(suite, seed);
            sealing.push(sealer.add(one));
            opening.push(opener.add(other));
        }
        let mut laid = Laid::default();
        for plan in &self.plans {
            let suite = self.suites[plan.key];
            let packet = Packet::new(suite, plan.aad_bytes, plan.payload_bytes, plan.seed);
            laid.push(plan.skipped, plan.gap, packet.esn, packet.parts());
        }
        laid.order.clone_from(&self.order);
        Prepared {
            sealer,
            sealing,
            opener,
            opening,
            numbers: vec![0; laid.packets.len()],
            laid,
        }
    }

    /// The bytes of a plan's one-time key.
    fn one_time(&self, plan: &Plan) -> RawKey {
        RawKey::new(self.suites[plan.key], 0x80 | plan.seed)
    }

    fn seal(&self, prepared: &mut Prepared) {
        let Prepared {
            sealer,
            sealing,
            laid,
            numbers,
            ..
        } = prepared;
        let good = laid.seal(sealer, |batch, index, packet| {
            let plan = &self.plans[index];
            if plan.is_one_time {
                let key = self.one_time(plan);
                let key = batch
                    .add_one_time_key(key.suite, &key.key, &key.integrity_key)
                    .expect("lengths are the suite's");
                let number = u64::from(plan.seed) << 20;
                numbers[index] = number;
                let pushed = batch.push_numbered(Descriptor { key, ..packet }, number);
                assert_eq!(pushed, Ok(()));
            } else {
                let key = sealing[plan.key];
                let pushed = batch.push(Descriptor { key, ..packet });
                numbers[index] = pushed.expect("a packet that fits");
            }
        });
        assert!(good.into_iter().all(|good| good));
    }

    fn open(&self, prepared: &mut Prepared) -> Vec<bool> {
        let Prepared {
            opener,
            opening,
            laid,
            numbers,
            ..
        } = prepared;
        laid.open(opener, |batch, index, packet| {
            let plan = &self.plans[index];
            let key = match plan.is_one_time {
                true => {
                    let key = self.one_time(plan);
                    batch
                        .add_one_time_key(key.suite, &key.key, &key.integrity_key)
                        .expect("lengths are the suite's")
                }
                false => opening[plan.key],
            };
            let packet = Descriptor { key, ..packet };
            let pushed = match plan.seed % 4 {
                0 if !is_mac(self.suites[plan.key]) => batch.push(packet),
                _ => batch.push_numbered(packet, numbers[index]),
            };
            assert_eq!(pushed, Ok(()));
        })
    }
}

fn opens_again(batch: &Batch) -> Result<(), TestCaseError> {
    let mut prepared = batch.prepare();
    let before = prepared.laid.clone();
    batch.seal(&mut prepared);
    prop_assert!(prepared.laid.is_guarded());
    for index in 0..batch.plans.len() {
        prop_assert_eq!(prepared.laid.parts(index)[0], before.parts(index)[0]);
    }
    let good = batch.open(&mut prepared);
    prop_assert!(good.into_iter().all(|good| good));
    prop_assert!(prepared.laid.is_guarded());
    for index in 0..batch.plans.len() {
        prop_assert_eq!(prepared.laid.payload(index), before.payload(index));
    }
    Ok(())
}

#[test]
fn what_is_sealed_opens_to_the_same_payload() {
    run(opens_again);
}

#[test]
fn what_is_sealed_by_gcm_opens_to_the_same_payload() {
    run_with(gcm_suites(), 60, opens_again);
}

#[test]
fn a_batch_gives_what_its_packets_give_one_by_one() {
    run(|batch| {
        let mut prepared = batch.prepare();
        let before = prepared.laid.clone();
        batch.seal(&mut prepared);
        let tier = weir_simd::tier();
        for (index, plan) in batch.plans.iter().enumerate() {
            let material = match plan.is_one_time {
                true => batch.one_time(plan).material(),
                false => material(batch.suites[plan.key], plan.key as u8),
            };
            let mut sealer = hazmat::sealer(tier);
            let key = sealer.add(hazmat::sealing_key(&material, tier).expect("a key"));
            let mut alone = Laid::default();
            alone.push(0, 0, before.packets[index].layout.esn, before.parts(index));
            let iv = prepared.laid.parts(index)[1];
            alone.seal(&mut sealer, |batch, _, packet| {
                let packet = Descriptor { key, ..packet };
                let number = prepared.numbers[index];
                hazmat::push_with_iv(batch, packet, number, iv).expect("a packet that fits");
            });
            prop_assert_eq!(alone.parts(0), prepared.laid.parts(index));
        }
        Ok(())
    });
}

#[test]
fn no_iv_comes_twice_under_a_key() {
    run(|batch| {
        let mut prepared = batch.prepare();
        batch.seal(&mut prepared);
        let mut seen = HashSet::new();
        for (index, plan) in batch.plans.iter().enumerate() {
            let iv = prepared.laid.parts(index)[1];
            if !iv.is_empty() && !plan.is_one_time {
                prop_assert!(seen.insert((plan.key, iv.to_vec())));
            }
        }
        Ok(())
    });
}

/// One packet in three is damaged.
fn damaged_are_refused(batch: &Batch) -> Result<(), TestCaseError> {
    let mut prepared = batch.prepare();
    let before = prepared.laid.clone();
    batch.seal(&mut prepared);
    for index in (0..batch.plans.len()).step_by(3) {
        prepared.laid.flip(index, 3, 7);
    }
    let good = batch.open(&mut prepared);
    prop_assert!(prepared.laid.is_guarded());
    for (index, is_good) in good.into_iter().enumerate() {
        let is_damaged = index % 3 == 0;
        prop_assert_eq!(is_good, !is_damaged);
        let payload = prepared.laid.payload(index);
        match is_damaged && !is_mac(batch.suites[batch.plans[index].key]) {
            true => prop_assert!(payload.iter().all(|byte| *byte == 0)),
            false => prop_assert_eq!(payload, before.payload(index)),
        }
    }
    Ok(())
}

#[test]
fn damaged_packets_of_a_batch_are_refused_and_the_others_open() {
    run(damaged_are_refused);
}

#[test]
fn damaged_packets_of_gcm_are_refused_and_the_others_open() {
    run_with(gcm_suites(), 60, damaged_are_refused);
}

#[test]
fn the_order_of_packets_in_a_batch_changes_nothing() {
    run(|batch| {
        let mut shuffled = batch.prepare();
        let mut in_order = shuffled.laid.clone();
        in_order.order.sort_unstable();
        batch.seal(&mut shuffled);
        let good = in_order.seal(&mut Sealer::new(), |sealing, index, packet| {
            let plan = &batch.plans[index];
            let key = match plan.is_one_time {
                true => batch.one_time(plan),
                false => RawKey::new(batch.suites[plan.key], plan.key as u8),
            };
            let key = sealing
                .add_one_time_key(key.suite, &key.key, &key.integrity_key)
                .expect("lengths are the suite's");
            sealing
                .push_numbered(Descriptor { key, ..packet }, shuffled.numbers[index])
                .expect("a packet that fits");
        });
        prop_assert!(good.into_iter().all(|good| good));
        for (index, plan) in batch.plans.iter().enumerate() {
            let suite = batch.suites[plan.key];
            // IVs that cannot be predicted differ.
            if suite.iv_is_counter() || suite.iv_bytes() == 0 {
                prop_assert_eq!(in_order.parts(index), shuffled.laid.parts(index));
            }
        }
        Ok(())
    });
}

#[test]
fn a_batch_has_256_packets_and_the_sealer_begins_another() {
    for suite in suites() {
        let (sealing, opening) = key_pair(suite, 1);
        let (mut sealer, mut opener) = (Sealer::new(), Opener::new());
        let (key, opening) = (sealer.add(sealing), opener.add(opening));
        let packets: Vec<Packet> = (0..BATCH_PACKETS + 3)
            .map(|number| Packet::new(suite, 8, number % 200, 2))
            .collect();
        let mut laid = Laid::of(&packets);
        let mut batch = sealer.batch(&mut laid.buffer);
        for (index, &packet) in laid.packets.iter().enumerate() {
            let pushed = batch.push(Descriptor { key, ..packet });
            match index < BATCH_PACKETS {
                true => assert_eq!(pushed, Ok(1 + index as u64), "{suite}"),
                false => assert_eq!(pushed, Err(Refusal::BatchFull), "{suite}"),
            }
        }
        let verdicts = batch.run();
        assert_eq!((verdicts.len(), verdicts.good()), (256, 256), "{suite}");
        for (index, packet) in packets.iter().enumerate().skip(BATCH_PACKETS) {
            assert_eq!(laid.parts(index), packet.parts(), "{suite}");
        }
        let mut batch = sealer.batch(&mut laid.buffer);
        for &packet in &laid.packets[BATCH_PACKETS..] {
            assert!(batch.push(Descriptor { key, ..packet }).is_ok(), "{suite}");
        }
        assert_eq!(batch.run().good(), 3, "{suite}");

        let numbers: Vec<u64> = (1..=packets.len() as u64).collect();
        laid.open_under(&mut opener, opening, &numbers);
        for (index, packet) in packets.iter().enumerate() {
            assert_eq!(laid.payload(index), packet.payload, "{suite}");
        }
    }
}

#[test]
fn a_batch_without_packets_does_nothing() {
    let (mut sealer, mut opener) = (Sealer::new(), Opener::new());
    let mut buffer = [7; 100];
    let verdicts = sealer.batch(&mut buffer).run();
    assert!(verdicts.is_empty() && verdicts.all_good());
    let verdicts = opener.batch(&mut buffer).run();
    assert!(verdicts.is_empty() && verdicts.all_good());
    assert_eq!(buffer, [7; 100]);
}

#[test]
fn a_batch_that_is_dropped_before_it_runs_has_sealed_nothing() {
    for suite in suites() {
        let (sealing, opening) = key_pair(suite, 1);
        let (mut sealer, mut opener) = (Sealer::new(), Opener::new());
        let (key, opening) = (sealer.add(sealing), opener.add(opening));
        let mut laid = Laid::of(&[Packet::new(suite, 8, 48, 2), Packet::new(suite, 8, 48, 4)]);
        let before = laid.clone();
        let raw = RawKey::new(suite, 9);
        {
            let mut batch = sealer.batch(&mut laid.buffer);
            let first = Descriptor {
                key,
                ..laid.packets[0]
            };
            assert_eq!(batch.push(first), Ok(1), "{suite}");
            let key = batch
                .add_one_time_key(suite, &raw.key, &raw.integrity_key)
                .expect("a key");
            let second = Descriptor {
                key,
                ..laid.packets[1]
            };
            assert_eq!(batch.push_numbered(second, 5), Ok(()), "{suite}");
        }
        assert_eq!(laid, before, "{suite}");

        // Its packets are not in the next batch, and their numbers are used up.
        let mut batch = sealer.batch(&mut laid.buffer);
        let second = Descriptor {
            key,
            ..laid.packets[1]
        };
        assert_eq!(batch.push(second), Ok(2), "{suite}");
        assert_eq!(batch.run().len(), 1, "{suite}");
        assert_eq!(laid.parts(0), before.parts(0), "{suite}");

        let sealed = laid.clone();
        {
            let mut batch = opener.batch(&mut laid.buffer);
            let second = Descriptor {
                key: opening,
                ..laid.packets[1]
            };
            assert_eq!(batch.push_numbered(second, 2), Ok(()), "{suite}");
        }
        assert_eq!(laid, sealed, "{suite}");
        let mut batch = opener.batch(&mut laid.buffer);
        let second = Descriptor {
            key: opening,
            ..laid.packets[1]
        };
        assert_eq!(batch.push_numbered(second, 2), Ok(()), "{suite}");
        let verdicts = batch.run();
        assert_eq!((verdicts.len(), verdicts.good()), (1, 1), "{suite}");
        assert_eq!(laid.payload(1), before.payload(1), "{suite}");
    }
}

/// AAD and payload may be written after the packet was taken, for instance its number.
#[test]
fn what_is_written_before_the_run_is_sealed() {
    let suite = parse("aes-128-gcm-16");
    let (sealing, opening) = key_pair(suite, 1);
    let (mut sealer, mut opener) = (Sealer::new(), Opener::new());
    let (key, opening) = (sealer.add(sealing), opener.add(opening));
    let mut laid = Laid::of(&[Packet::new(suite, 8, 48, 2)]);
    let packet = laid.packets[0];
    let mut batch = sealer.batch(&mut laid.buffer);
    let number = batch.push(Descriptor { key, ..packet }).expect("a packet");
    batch.buffer_mut()[..8].copy_from_slice(&number.to_be_bytes());
    batch.buffer_mut()[16..64].fill(0x42);
    assert!(batch.run().all_good());
    assert_eq!(laid.parts(0)[0], 1u64.to_be_bytes());
    laid.open_under(&mut opener, opening, &[number]);
    assert_eq!(laid.payload(0), [0x42; 48]);
}
