//! Ingress filters against a naive model, and against an attack.

use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::{BTreeSet, VecDeque};
use weir_fabric::filter::cost::Fabric;
use weir_fabric::filter::{
    FULL_MEMBER, PartitionTable, PortRole, Scheme, State, StatefulFilter, TrapEffect, Verdict,
};

const QUIET_NS: u64 = 1000;

/// The filter as the text describes it, with lists of keys.
struct Model {
    valid: Vec<u16>,
    invalid: Vec<u16>,
    is_on: bool,
    has_fallen_back: bool,
    last_violation_ns: u64,
    violations: u64,
}

impl Model {
    fn may_send(&self, p_key: u16) -> bool {
        p_key & 0x7fff != 0
            && (self.valid.contains(&p_key) || self.valid.contains(&(p_key | FULL_MEMBER)))
    }

    fn expire(&mut self, now_ns: u64) {
        if self.is_on && now_ns - self.last_violation_ns >= QUIET_NS {
            self.invalid.clear();
            self.is_on = false;
            self.has_fallen_back = false;
            self.violations = 0;
        }
    }

    fn trap(&mut self, now_ns: u64, p_key: u16) {
        self.expire(now_ns);
        let blocked = self.has_fallen_back || self.invalid.contains(&p_key);
        if self.may_send(p_key) || blocked {
            return;
        }
        self.is_on = true;
        self.last_violation_ns = now_ns;
        self.invalid.push(p_key);
        if self.invalid.len() > self.valid.len() {
            self.invalid.pop();
            self.has_fallen_back = true;
        }
    }

    fn judge(&mut self, now_ns: u64, p_keys: &[u16]) -> Vec<Verdict> {
        self.expire(now_ns);
        let mut verdicts = Vec::new();
        for &p_key in p_keys {
            let passes = match (self.is_on, self.has_fallen_back) {
                (false, _) => true,
                (true, false) => !self.invalid.contains(&p_key),
                (true, true) => self.may_send(p_key),
            };
            if !passes {
                self.violations += 1;
                self.last_violation_ns = now_ns;
            }
            verdicts.push(if passes { Verdict::Pass } else { Verdict::Drop });
        }
        verdicts
    }
}

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Trap(u16),
    Judge(Vec<u16>),
}

/// Few partitions, so that keys meet again.
fn p_key() -> impl Strategy<Value = u16> {
    (0u16..8, any::<bool>())
        .prop_map(|(partition, is_full)| partition | if is_full { FULL_MEMBER } else { 0 })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..QUIET_NS + 200).prop_map(Step::Wait),
        p_key().prop_map(Step::Trap),
        proptest::collection::vec(p_key(), 0..20).prop_map(Step::Judge),
    ]
}

proptest! {
    #[test]
    fn the_stateful_filter_is_its_model(
        valid in proptest::collection::btree_set(p_key(), 0..6),
        steps in proptest::collection::vec(step(), 0..60),
    ) {
        let valid: Vec<u16> = valid.into_iter().filter(|key| key & 0x7fff != 0).collect();
        let table = PartitionTable::new(valid.iter().copied());
        let mut filter = StatefulFilter::new(table.clone(), QUIET_NS);
        let mut ingress = Scheme::Ingress.port_filter(PortRole::Ingress, table, QUIET_NS);
        let mut model = Model {
            valid,
            invalid: Vec::new(),
            is_on: false,
            has_fallen_back: false,
            last_violation_ns: 0,
            violations: 0,
        };
        let mut now_ns = 0;
        let (mut verdicts, mut of_ingress) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Wait(ns) => now_ns += ns,
                Step::Trap(p_key) => {
                    model.trap(now_ns, p_key);
                    filter.trap(now_ns, p_key);
                }
                Step::Judge(p_keys) => {
                    filter.judge(now_ns, &p_keys, &mut verdicts);
                    prop_assert_eq!(&verdicts, &model.judge(now_ns, &p_keys));
                    ingress.judge(now_ns, &p_keys, &mut of_ingress);
                    for (stateful, ingress) in verdicts.iter().zip(&of_ingress) {
                        prop_assert!(*stateful == Verdict::Pass || *ingress == Verdict::Drop);
                    }
                }
            }
            prop_assert_eq!(filter.violations(), model.violations);
            prop_assert_eq!(filter.invalid_keys(), model.invalid.len());
            prop_assert!(filter.invalid_keys() <= model.valid.len());
            prop_assert_eq!(filter.state() == State::Off, !model.is_on);
            prop_assert_eq!(filter.state() == State::PassesValid, model.has_fallen_back);
        }
    }

    /// Duplicate table and ingress filtering, at both kinds of ports, beside the keys as a list.
    #[test]
    fn filters_by_table_are_their_models(
        valid in proptest::collection::vec(p_key(), 0..6),
        batches in proptest::collection::vec(proptest::collection::vec(p_key(), 0..20), 0..10),
    ) {
        let is_named = |key: u16| key & 0x7fff != 0;
        let has = |key: u16| is_named(key) && valid.contains(&key);
        let full = |key: u16| key | FULL_MEMBER;
        // A full member may send both keys of its partition, and accepts both.
        let may_send = |key: u16| has(key) || has(full(key));
        let accepts = |key: u16| has(full(key)) || key == full(key) && has(key & 0x7fff);
        let ports = [
            (Scheme::DuplicateTable, PortRole::Ingress),
            (Scheme::DuplicateTable, PortRole::Transit),
            (Scheme::Ingress, PortRole::Ingress),
            (Scheme::Ingress, PortRole::Transit),
        ];
        for (scheme, role) in ports {
            let table = PartitionTable::new(valid.iter().copied());
            let mut filter = scheme.port_filter(role, table, QUIET_NS);
            let (mut judged, mut verdicts) = (0, Vec::new());
            for (now_ns, p_keys) in (0..).zip(&batches) {
                filter.judge(now_ns, p_keys, &mut verdicts);
                let passes = |key: &u16| match (scheme, role) {
                    (Scheme::Ingress, PortRole::Transit) => true,
                    (_, PortRole::Ingress) => may_send(*key),
                    (_, PortRole::Transit) => accepts(*key),
                };
                let expected = p_keys.iter().map(|key| match passes(key) {
                    true => Verdict::Pass,
                    false => Verdict::Drop,
                });
                prop_assert_eq!(&verdicts, &expected.collect::<Vec<_>>());
                judged += p_keys.len() as u64;
            }
            let looks_up = (scheme, role) != (Scheme::Ingress, PortRole::Transit);
            prop_assert_eq!(filter.lookups(), if looks_up { judged } else { 0 });
        }
    }

    #[test]
    fn a_batch_is_judged_as_its_packets_one_by_one(
        p_keys in proptest::collection::vec(p_key(), 0..40),
        traps in proptest::collection::vec(p_key(), 0..6),
    ) {
        let mut whole = StatefulFilter::new(PartitionTable::new([1, 0x8002, 0x8003]), QUIET_NS);
        for trap in traps {
            whole.trap(5, trap);
        }
        let mut single = whole.clone();
        let (mut verdicts, mut verdict) = (Vec::new(), Vec::new());
        whole.judge(10, &p_keys, &mut verdicts);
        prop_assert_eq!(verdicts.len(), p_keys.len());
        for (p_key, expected) in p_keys.iter().zip(&verdicts) {
            single.judge(10, &[*p_key], &mut verdict);
            prop_assert_eq!(verdict.as_slice(), &[*expected][..]);
        }
        prop_assert_eq!(single.violations(), whole.violations());
        prop_assert_eq!(single.lookups(), whole.lookups());
    }
}

/// Valid partitions of the node that attacks, and those that it forges.
const VALID: [u16; 8] = [
    0xffff, 0x8001, 0x8002, 0x8003, 0x8004, 0x0005, 0x0006, 0x8007,
];
const FORGED: [u16; 4] = [0x8101, 0x8102, 0x0103, 0x8005];
const PACKETS: usize = 100_000;
const ATTACK: std::ops::Range<usize> = 30_000..60_000;
const GAP_NS: u64 = 100;
/// From a packet's arrival at its receiver until the subnet manager has named it to the port.
const TRAP_DELAY_NS: u64 = 20_000;
const TRACE_QUIET_NS: u64 = 500_000;

/// The attack's packets: arrival and P_Key. A quarter of those between the attack's ends are forged.
fn attack_trace() -> Vec<(u64, u16)> {
    let mut random = ChaCha8Rng::seed_from_u64(18);
    (0..PACKETS)
        .map(|packet| {
            let draw = random.next_u32() as usize;
            let is_forged = ATTACK.contains(&packet) && draw.is_multiple_of(4);
            let keys: &[u16] = if is_forged { &FORGED } else { &VALID };
            (packet as u64 * GAP_NS, keys[(draw >> 8) % keys.len()])
        })
        .collect()
}

#[test]
fn a_stateful_filter_finds_blocks_and_forgets_an_attack() {
    let valid = PartitionTable::new(VALID);
    let mut filter = StatefulFilter::new(valid.clone(), TRACE_QUIET_NS);
    let mut traps: VecDeque<(u64, u16)> = VecDeque::new();
    let mut verdicts = Vec::new();
    let mut on = Vec::new();
    let (mut forged_sent, mut forged_passed, mut valid_dropped) = (0, 0, 0);
    let mut named_ns = [None; FORGED.len()];
    for (packet, (now_ns, p_key)) in attack_trace().into_iter().enumerate() {
        while let Some(&(due_ns, trapped)) = traps.front()
            && due_ns <= now_ns
        {
            traps.pop_front();
            if filter.trap(due_ns, trapped) == TrapEffect::Registered {
                let place = FORGED.iter().position(|&forged| forged == trapped);
                named_ns[place.expect("only forged keys are trapped")] = Some(due_ns);
            }
        }
        filter.judge(now_ns, &[p_key], &mut verdicts);
        if filter.state() != State::Off {
            on.push(packet);
        }
        let passes = verdicts == [Verdict::Pass];
        match FORGED.iter().position(|&forged| forged == p_key) {
            None => valid_dropped += u32::from(!passes),
            Some(place) => {
                forged_sent += 1;
                forged_passed += u32::from(passes);
                assert_eq!(
                    passes,
                    named_ns[place].is_none_or(|named_ns| now_ns < named_ns)
                );
            }
        }
        if passes && !valid.may_send(p_key) {
            traps.push_back((now_ns + TRAP_DELAY_NS, p_key));
        }
    }
    // All four are found, each as soon as its first packet's trap has arrived.
    assert!(named_ns.iter().all(Option::is_some));
    let passed_at_most = TRAP_DELAY_NS / GAP_NS + 4 * 64;
    assert!(u64::from(forged_passed) < passed_at_most, "{forged_passed}");
    assert!(forged_sent > 7_000);
    assert_eq!(filter.dropped(), u64::from(forged_sent - forged_passed));
    assert_eq!(valid_dropped, 0);
    // It looked up packets during the attack and for the quiet time behind it, and no others.
    let (first, last) = (on[0], on[on.len() - 1]);
    assert_eq!(filter.lookups(), on.len() as u64);
    assert_eq!(on.len(), last - first + 1);
    assert!(ATTACK.contains(&first) && first < ATTACK.start + 300);
    let quiet_packets = (TRACE_QUIET_NS / GAP_NS) as usize;
    assert!((ATTACK.end + quiet_packets - 50..ATTACK.end + quiet_packets).contains(&last));
    // Then it is as it was.
    assert_eq!(filter.state(), State::Off);
    assert_eq!((filter.violations(), filter.invalid_keys()), (0, 0));
}

#[test]
fn ever_new_keys_end_in_a_look_up_of_the_valid_ones() {
    let mut filter = StatefulFilter::new(PartitionTable::new(VALID), TRACE_QUIET_NS);
    let mut traps = 0;
    let mut verdicts = Vec::new();
    let mut passed = BTreeSet::new();
    for (packet, p_key) in (0x8200..0x9200).enumerate() {
        let now_ns = packet as u64 * GAP_NS;
        filter.judge(now_ns, &[p_key, VALID[packet % 8]], &mut verdicts);
        assert_eq!(verdicts[1], Verdict::Pass);
        if verdicts[0] == Verdict::Pass {
            passed.insert(p_key);
            traps += 1;
            filter.trap(now_ns, p_key);
        }
    }
    assert_eq!(traps, VALID.len() + 1);
    assert_eq!(passed.len(), traps);
    assert_eq!(filter.state(), State::PassesValid);
    assert_eq!(filter.invalid_keys(), VALID.len());
    filter.expire(0x1000 * GAP_NS + TRACE_QUIET_NS);
    assert_eq!(filter.state(), State::Off);
}

#[test]
fn a_trap_about_a_valid_key_cuts_nobody_off() {
    let mut filter = StatefulFilter::new(PartitionTable::new(VALID), QUIET_NS);
    for p_key in VALID {
        assert_eq!(filter.trap(0, p_key), TrapEffect::ValidKey);
    }
    assert_eq!(filter.state(), State::Off);
    // A limited member that claims to be a full one is not a valid sender.
    assert_eq!(filter.trap(0, 0x8005), TrapEffect::Registered);
    assert_eq!(filter.trap(1, 0x8005), TrapEffect::Known);
    // It becomes one, and what was named is forgotten.
    filter.set_valid(PartitionTable::new(VALID.map(|key| key | FULL_MEMBER)));
    assert_eq!(filter.state(), State::Off);
    assert_eq!(filter.trap(2, 0x8005), TrapEffect::ValidKey);
}

#[test]
fn a_clock_that_goes_back_keeps_the_filter_on() {
    let mut filter = StatefulFilter::new(PartitionTable::new(VALID), QUIET_NS);
    filter.trap(5_000, 0x8101);
    let mut verdicts = Vec::new();
    filter.judge(0, &[0x8101], &mut verdicts);
    assert_eq!(verdicts, [Verdict::Drop]);
    filter.judge(u64::MAX, &[0x8101], &mut verdicts);
    assert_eq!(verdicts, [Verdict::Pass]);
}

/// Table I's look-ups, counted: the attack's packets over paths of one to seven switches.
#[test]
fn counted_look_ups_are_those_of_table_i() {
    let trace = attack_trace();
    let hops = |packet: usize| 1 + packet % 7;
    let all_hops: usize = (0..trace.len()).map(hops).sum();
    let looked_up = |scheme: Scheme| {
        let table = || PartitionTable::new(VALID);
        let mut ingress = scheme.port_filter(PortRole::Ingress, table(), TRACE_QUIET_NS);
        let mut transit = scheme.port_filter(PortRole::Transit, table(), TRACE_QUIET_NS);
        let mut verdicts = Vec::new();
        for (packet, &(now_ns, _)) in trace.iter().enumerate() {
            ingress.judge(now_ns, &[VALID[0]], &mut verdicts);
            for _ in 1..hops(packet) {
                transit.judge(now_ns, &[VALID[0]], &mut verdicts);
            }
        }
        (ingress.lookups() + transit.lookups()) as f64 / trace.len() as f64
    };
    let fabric = Fabric {
        nodes: 16,
        switches: 16,
        ports: 5,
        partitions: VALID.len() as u64,
        key_bytes: 2,
        mean_hops: all_hops as f64 / trace.len() as f64,
        invalid_keys: FORGED.len() as u64,
        attack_probability: 0.0,
    };
    for scheme in [
        Scheme::DuplicateTable,
        Scheme::Ingress,
        Scheme::StatefulIngress,
    ] {
        assert_eq!(looked_up(scheme), scheme.lookups_per_packet(&fabric));
    }
}
