//! Gateways that protect RoCEv2 between two nodes, and somebody in between: the attacks of the threat table in
//! `docs/how-to/secure-a-fabric.md`, one by one, and gateways that are killed under traffic.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use weir_netlab::{Cable, inside};

use crate::fabric_net::{
    ACKNOWLEDGE, DATAGRAM, End, IDENTIFIER_AT, PARTITION_KEY_AT, PSN_AT, Pair, QUEUE_PAIR_AT,
    SEND_ONLY, Site, Spec, WRITE_ONLY, Wire, bth, connect, frame,
};

const P_KEY: u16 = 0x8001;

/// Queue pairs of node A; those of B have 0x10 more.
const CONNECTED: u32 = 0x11;
const DATAGRAMS: u32 = 0x12;
const VICTIM: u32 = 0x13;

/// Such as no file lists.
const UNLISTED_CONNECTED: u32 = 0x14;
const UNLISTED_DATAGRAMS: u32 = 0x15;
const UNLISTED: &str =
    "unlisted = { session_random = \"0f0e0d0c0b0a09080706050403020100\", window = 64 }\n";

fn spec(opcode: u8, queue_pair: u32, psn: u32, payload: &[u8]) -> Spec<'_> {
    Spec {
        opcode,
        from: 1,
        queue_pair: queue_pair + 0x10,
        psn,
        partition_key: P_KEY,
        payload,
    }
}

/// Sends what node A sends until a packet has arrived at B: receivers drop packets until the ledger
/// has written down how far they come. Returns the next number.
fn warm_up(wire: &mut Wire, opcode: u8, queue_pair: u32, first: u32) -> u32 {
    for psn in first..first + 1000 {
        wire.a
            .send(&frame(&spec(opcode, queue_pair, psn, b"warming up")));
        let secure = wire.x1.receive();
        wire.x2.send(&secure);
        if wire.b.receive_within(Duration::from_millis(50)).is_some() {
            return psn + 1;
        }
    }
    panic!("nothing arrives");
}

/// A packet of node A, as it comes out of its gateway.
fn secured(wire: &mut Wire, spec: &Spec<'_>) -> Vec<u8> {
    wire.a.send(&frame(spec));
    wire.x1.receive()
}

/// Delivers a packet, which must arrive as it was. A reliable transport sends again what was dropped while the
/// ledger was written.
#[track_caller]
fn delivered(wire: &mut Wire, secure: &[u8], plain: &[u8]) {
    for _ in 0..120 {
        wire.x2.send(secure);
        if let Some(arrived) = wire.b.receive_within(Duration::from_millis(500)) {
            assert!(arrived == plain, "another packet arrived");
            return;
        }
    }
    panic!("it does not arrive");
}

/// An attack at the wire: the packet is dropped for this reason, and nothing reaches the node.
#[track_caller]
fn stopped(wire: &mut Wire, site: &Site, attack: &str, packet: &[u8], reason: &str) {
    let (before, packets) = (site.drops(reason), site.packets());
    wire.x2.send(packet);
    crate::processes::until(|| (site.packets() > packets).then_some(()));
    let counted = site.drops(reason) - before;
    assert_eq!(counted, 1, "{attack}: not counted as {reason}");
    assert!(wire.b.take().is_empty(), "{attack}: it arrived");
}

fn changed(packet: &[u8], at: usize, xor: u8) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet[at] ^= xor;
    packet
}

/// The end of the ICRC, and what an attacker puts in its place.
fn with_tag(mut packet: Vec<u8>, tag: [u8; 4]) -> Vec<u8> {
    let at = packet.len() - 4;
    packet[at..].copy_from_slice(&tag);
    packet
}

#[test]
fn every_attack_of_the_threat_table_is_stopped() {
    inside(Cable::default(), |namespace| {
        let filter = "[fabric-filter]\nscheme = \"ingress\"\n\
                      [[fabric-filter.port]]\nname = \"node\"\npartition_keys = [0x8001]\n";
        let (mut wire, mut one, mut other) = connect(namespace, [filter, ""]);
        let mut pairs = [
            ("connected", "rc", CONNECTED, 1),
            ("datagrams", "ud", DATAGRAMS, 2),
            ("victim", "rc", VICTIM, 3),
        ];
        for site in [&mut one, &mut other] {
            site.write("", &pairs);
            site.start(&["--new-key", "all"]);
        }
        let wire = &mut wire;
        let next = warm_up(wire, SEND_ONLY, CONNECTED, 0);
        let lost = [
            next - 1,
            warm_up(wire, DATAGRAM, DATAGRAMS, 0) - 1,
            warm_up(wire, SEND_ONLY, VICTIM, 0) - 1,
        ];
        assert!(lost.iter().all(|lost| *lost > 0));
        // What did not arrive is counted.
        let lost = u64::from(lost.iter().sum::<u32>());
        crate::processes::until(|| (other.drops("window_pending") == lost).then_some(()));

        // Type I: who listens learns nothing, not even that two messages are the same.
        let text = b"the launch code is 00000000, keep it";
        let plain = frame(&spec(WRITE_ONLY, CONNECTED, next, text));
        let first = secured(wire, &spec(WRITE_ONLY, CONNECTED, next, text));
        let second = secured(wire, &spec(WRITE_ONLY, CONNECTED, next + 1, text));
        let payload = |packet: &[u8]| packet[70..packet.len() - 4].to_vec();
        assert!(payload(&plain).starts_with(text) && first.len() == plain.len());
        assert!(
            !first
                .windows(8)
                .any(|bytes| text.windows(8).any(|part| part == bytes))
        );
        assert!(payload(&first) != payload(&second));
        delivered(wire, &first, &plain);

        // Type II: P_Key, Q_Key and R_Key, which stand in headers, do not help a forger.
        let forged = frame(&spec(
            WRITE_ONLY,
            CONNECTED,
            1002,
            b"forged with captured keys",
        ));
        stopped(
            wire,
            &other,
            "plain packet with captured keys",
            &forged,
            "plain_refused",
        );
        let mut guessed = with_tag(forged, [1, 2, 3, 4]);
        guessed[IDENTIFIER_AT] = 1;
        guessed[PSN_AT - 1] = second[PSN_AT - 1];
        stopped(wire, &other, "guessed tag", &guessed, "tag_failed");
        for (attack, at) in [("changed payload", 80), ("changed R_Key", 62)] {
            stopped(wire, &other, attack, &changed(&second, at, 1), "tag_failed");
        }
        stopped(
            wire,
            &other,
            "another partition",
            &changed(&second, PARTITION_KEY_AT + 1, 3),
            "partition_key",
        );
        let redirected = changed(&second, QUEUE_PAIR_AT + 2, 0x21 ^ 0x23);
        stopped(
            wire,
            &other,
            "another queue pair",
            &redirected,
            "tag_failed",
        );

        // Type III: a false source has no keys.
        let spoofed = changed(&second, 29, 8);
        stopped(
            wire,
            &other,
            "spoofed source",
            &spoofed,
            "unknown_queue_pair",
        );

        // Type IV: illegal P_Keys are stopped where they enter.
        let (before, packets) = (one.drops("partition_key_blocked"), one.packets());
        for number in 0..200 {
            wire.a.send(&frame(&Spec {
                partition_key: 0x8100 + number,
                ..spec(SEND_ONLY, CONNECTED, u32::from(number), b"flood")
            }));
        }
        crate::processes::until(|| (one.packets() >= packets + 200).then_some(()));
        assert_eq!(one.drops("partition_key_blocked") - before, 200);
        assert!(wire.x1.take().is_empty());

        // Downgrade.
        let downgrades = [
            ("identifier cleared", 1, "plain_refused"),
            ("another algorithm", 1 ^ 3, "unknown_algorithm"),
            ("a reserved bit", 0x20, "tag_failed"),
        ];
        for (attack, xor, reason) in downgrades {
            stopped(
                wire,
                &other,
                attack,
                &changed(&second, IDENTIFIER_AT, xor),
                reason,
            );
        }

        // Forged acknowledgements.
        let mut answer = spec(ACKNOWLEDGE, CONNECTED, next + 1, b"");
        answer.queue_pair = CONNECTED + 0x10;
        let acknowledgement = frame(&answer);
        stopped(wire, &other, "plain ACK", &acknowledgement, "plain_refused");
        let mut guessed = with_tag(acknowledgement, [1, 2, 3, 4]);
        guessed[IDENTIFIER_AT] = 3;
        guessed[PSN_AT - 1] = second[PSN_AT - 1];
        stopped(wire, &other, "ACK with guessed tag", &guessed, "tag_failed");

        // Packets cut short, and other networks.
        let mut cut = second.clone();
        cut.truncate(60);
        stopped(wire, &other, "a packet cut short", &cut, "fabric_malformed");
        let mut arp = second[..60].to_vec();
        arp[12..14].copy_from_slice(&[8, 6]);
        stopped(wire, &other, "another network", &arp, "not_fabric");

        // Reflection: a packet of A, sent back to it.
        let (before, packets) = (one.drops("unknown_queue_pair"), one.packets());
        wire.x1.send(&second);
        crate::processes::until(|| (one.packets() > packets).then_some(()));
        assert_eq!(one.drops("unknown_queue_pair") - before, 1);

        // After all that, the packet itself still arrives.
        let plain = frame(&spec(WRITE_ONLY, CONNECTED, next + 1, text));
        delivered(wire, &second, &plain);

        let next = replays_are_refused(wire, &other, &second, &plain, next + 2);
        too_many_forgeries_refuse_the_mode(wire, [&mut one, &mut other], &mut pairs, next);

        // Replays of an epoch that is over.
        let old = secured(wire, &spec(DATAGRAM, DATAGRAMS, 5000, b"old"));
        one.stop();
        one.start(&[]);
        warm_up(wire, DATAGRAM, DATAGRAMS, 6000);
        let (before, packets) = (other.packets(), other.drops("tag_failed"));
        wire.x2.send(&old);
        crate::processes::until(|| (other.packets() > before).then_some(()));
        assert!(wire.b.take().is_empty());
        let refused = other.drops("tag_failed") - packets + other.drops("old_epoch");
        assert_eq!(refused, 1, "the epoch is over");
        for report in [one.stop(), other.stop()] {
            assert!(
                report["queue_pairs"]
                    .as_array()
                    .is_some_and(|rows| !rows.is_empty())
            );
        }
    });
}

/// Datagrams at once; of a reliable connection what lies behind its window. Inside of it, the very same packet
/// passes, since the transport sends again what was not acknowledged.
fn replays_are_refused(
    wire: &mut Wire,
    other: &Site,
    second: &[u8],
    plain: &[u8],
    next: u32,
) -> u32 {
    let psn = warm_up(wire, DATAGRAM, DATAGRAMS, 2000);
    let datagram = spec(DATAGRAM, DATAGRAMS, psn, b"once");
    let secure = secured(wire, &datagram);
    delivered(wire, &secure, &frame(&datagram));
    stopped(wire, other, "replayed datagram", &secure, "fabric_replayed");
    delivered(wire, second, plain);
    for psn in next..next + 80 {
        let next = spec(SEND_ONLY, CONNECTED, psn, b"going on");
        let secure = secured(wire, &next);
        delivered(wire, &secure, &frame(&next));
    }
    stopped(
        wire,
        other,
        "replay behind the window",
        second,
        "fabric_replayed",
    );
    next + 80
}

/// A forger can have the short tags of a queue pair refused, with an alarm; others go on, and so does this one when
/// it is set up again.
fn too_many_forgeries_refuse_the_mode(
    wire: &mut Wire,
    [one, other]: [&mut Site; 2],
    pairs: &mut [Pair<'_>],
    next: u32,
) {
    let genuine = secured(wire, &spec(SEND_ONLY, VICTIM, 3000, b"genuine"));
    // One wrong tag came before, of the redirected packet.
    for number in 1..16u8 {
        let last = genuine.len() - 1;
        let forged = changed(&genuine, last, number);
        stopped(wire, other, "forged tags", &forged, "tag_failed");
    }
    stopped(wire, other, "a degraded queue pair", &genuine, "degraded");
    for cause in ["4 wrong tags in a row", "GCM-32 is refused"] {
        // Events are written beside the packets.
        crate::processes::until(|| {
            let alarms = other.alarms();
            let lines = alarms.iter().map(ToString::to_string);
            lines
                .filter(|line| line.contains(cause))
                .count()
                .checked_sub(1)
        });
    }
    let next = spec(SEND_ONLY, CONNECTED, next, b"another queue pair");
    let secure = secured(wire, &next);
    delivered(wire, &secure, &frame(&next));

    pairs[2].3 = 4;
    for site in [one, other] {
        let report = site.stop();
        if site.drops_in(&report, "degraded") > 0 {
            let rows = report["queue_pairs"].as_array().expect("rows");
            let victim = rows.iter().find(|row| row["name"] == "victim");
            assert_eq!(victim.expect("a row")["degraded"][0], "gcm-32");
            assert!(report["fabric_alarms"].as_u64() >= Some(2));
        }
        site.write("", pairs);
        site.start(&["--new-key", "victim"]);
    }
    warm_up(wire, SEND_ONLY, VICTIM, 0);
}

/// A reload keeps what runs: it takes nothing in of a fabric file that has changed, and says so; the next start does.
#[test]
fn a_reload_refuses_a_changed_fabric_file_and_traffic_goes_on() {
    inside(Cable::default(), |namespace| {
        let (mut wire, mut one, mut other) = connect(namespace, ["", ""]);
        let mut pairs: [Pair<'_>; 1] = [("connected", "rc", CONNECTED, 1)];
        for site in [&mut one, &mut other] {
            site.write("", &pairs);
            site.start(&["--new-key", "all"]);
        }
        let mut next = warm_up(&mut wire, SEND_ONLY, CONNECTED, 0);
        let mut arrives = |wire: &mut Wire| {
            let packet = spec(SEND_ONLY, CONNECTED, next, b"across a reload");
            next += 1;
            let secure = secured(wire, &packet);
            delivered(wire, &secure, &frame(&packet));
            secure
        };
        for site in [&one, &other] {
            site.reload().done();
        }
        arrives(&mut wire);
        pairs[0].3 = 2;
        for site in [&one, &other] {
            site.write("", &pairs);
            let refused = ["fabric.toml", "has changed"];
            site.reload().failed(1, &refused);
        }
        let of_old_keys = arrives(&mut wire);
        // As it was before, there is nothing to refuse.
        pairs[0].3 = 1;
        for site in [&one, &other] {
            site.write("", &pairs);
            site.reload().done();
        }
        arrives(&mut wire);
        pairs[0].3 = 2;
        for site in [&mut one, &mut other] {
            site.write("", &pairs);
            site.stop();
            site.start(&["--new-key", "all"]);
        }
        warm_up(&mut wire, SEND_ONLY, CONNECTED, 5000);
        // The old keys are gone with their windows.
        let refused = ["tag_failed", "old_epoch"].map(|reason| other.drops(reason));
        let packets = other.packets();
        wire.x2.send(&of_old_keys);
        crate::processes::until(|| (other.packets() > packets).then_some(()));
        let now = ["tag_failed", "old_epoch"].map(|reason| other.drops(reason));
        assert_eq!(now.iter().sum::<u64>(), refused.iter().sum::<u64>() + 1);
        assert!(wire.b.take().is_empty());
        one.stop();
        other.stop();
    });
}

/// A filter of the packets of node A.
fn filter(scheme: &str, quiet_seconds: f64, keys: [(&str, &[u16]); 2]) -> String {
    let ports = keys.map(|(port, keys)| {
        format!("[[fabric-filter.port]]\nname = \"{port}\"\npartition_keys = {keys:?}\n")
    });
    let head = format!("scheme = \"{scheme}\"\nquiet_seconds = {quiet_seconds}\n");
    format!("[fabric-filter]\n{head}{}", ports.concat())
}

/// A packet with a P_Key that the node that sends or the one that receives does not have: the gateway drops it
/// for this reason, and nothing comes out of it.
#[track_caller]
fn stopped_at(
    site: &Site,
    [into, out]: [&mut End; 2],
    packet: &[u8],
    partition_key: u16,
    reason: &str,
) {
    let (before, packets) = (site.drops(reason), site.packets());
    let mut packet = packet.to_vec();
    packet[PARTITION_KEY_AT..PARTITION_KEY_AT + 2].copy_from_slice(&partition_key.to_be_bytes());
    into.send(&packet);
    crate::processes::until(|| (site.packets() > packets).then_some(()));
    let counted = site.drops(reason) - before;
    assert_eq!(counted, 1, "{partition_key:#x}: not counted as {reason}");
    assert!(out.take().is_empty(), "{partition_key:#x}: it went on");
}

/// Stateful ingress filtering: a key passes until the receiver refuses it, is blocked where it enters from then on,
/// and with more such keys than the node has valid ones, so is every key that it does not have. What the node may send
/// passes all the time, and after a time without violations nothing is looked up any more.
#[test]
fn floods_switch_a_stateful_filter_on_and_their_end_switches_it_off() {
    inside(Cable::default(), |namespace| {
        // Quiet is not over before the test is, and is at once after a restart with another setting.
        let stateful = |quiet_seconds| {
            let keys: [(&str, &[u16]); 2] = [("node", &[P_KEY, 0x8002]), ("fabric", &[P_KEY])];
            filter("stateful", quiet_seconds, keys)
        };
        let (mut wire, mut one, mut other) = connect(namespace, [&stateful(1e6), ""]);
        let pairs: [Pair<'_>; 1] = [("connected", "rc", CONNECTED, 1)];
        for site in [&mut one, &mut other] {
            site.write("", &pairs);
            site.start(&["--new-key", "all"]);
        }
        let next = warm_up(&mut wire, SEND_ONLY, CONNECTED, 0);
        let packet = frame(&spec(SEND_ONLY, CONNECTED, 9000, b"flood"));
        let stops = |site: &Site, wire: &mut Wire, partition_key, reason| {
            let ends = [&mut wire.a, &mut wire.x1];
            stopped_at(site, ends, &packet, partition_key, reason);
        };
        let (refused, blocked) = ("partition_key_refused", "partition_key_blocked");
        // The node has this key, the receiver does not: that is no attack, whatever is refused.
        for _ in 0..3 {
            stops(&one, &mut wire, 0x8002, refused);
        }
        for key in [0x8100, 0x8101] {
            stops(&one, &mut wire, key, refused);
            for _ in 0..20 {
                stops(&one, &mut wire, key, blocked);
            }
        }
        // As many invalid keys as valid ones are known. With the next one, those that nobody named are blocked too.
        stops(&one, &mut wire, 0x8102, refused);
        for key in 0x8103..0x8120 {
            stops(&one, &mut wire, key, blocked);
        }
        let genuine = spec(SEND_ONLY, CONNECTED, next, b"in the middle of a flood");
        let secure = secured(&mut wire, &genuine);
        delivered(&mut wire, &secure, &frame(&genuine));
        one.stop();

        let quiet = Duration::from_millis(20);
        one.set_filter(&stateful(1e6), &stateful(quiet.as_secs_f64()));
        one.start(&[]);
        for _ in 0..3 {
            // Off: it passes, and its receiver refuses it.
            stops(&one, &mut wire, 0x8100, refused);
            std::thread::sleep(2 * quiet);
        }
        one.stop();
        other.stop();
    });
}

/// Duplicate table: every port looks up every packet, where it enters, where it leaves, and again where the next
/// gateway takes it from the wire, where somebody may have put it.
#[test]
fn duplicate_tables_stop_floods_at_every_port() {
    inside(Cable::default(), |namespace| {
        let ingress = filter(
            "ingress",
            1.0,
            [("node", &[P_KEY, 0x8002]), ("fabric", &[P_KEY])],
        );
        let transit = filter(
            "ingress",
            1.0,
            [("fabric", &[P_KEY, 0x8003]), ("node", &[P_KEY])],
        );
        let (mut wire, mut one, mut other) = connect(namespace, [&ingress, &transit]);
        let pairs: [Pair<'_>; 1] = [("connected", "rc", CONNECTED, 1)];
        for site in [&mut one, &mut other] {
            site.write("", &pairs);
            site.start(&["--new-key", "all"]);
        }
        let next = warm_up(&mut wire, SEND_ONLY, CONNECTED, 0);
        let packet = frame(&spec(SEND_ONLY, CONNECTED, 9000, b"flood"));
        for key in 0x8100..0x8110 {
            let ends = [&mut wire.a, &mut wire.x1];
            stopped_at(&one, ends, &packet, key, "partition_key_blocked");
            let ends = [&mut wire.x2, &mut wire.b];
            stopped_at(&other, ends, &packet, key, "partition_key_blocked");
        }
        let ends = [&mut wire.a, &mut wire.x1];
        stopped_at(&one, ends, &packet, 0x8002, "partition_key_refused");
        let ends = [&mut wire.x2, &mut wire.b];
        stopped_at(&other, ends, &packet, 0x8003, "partition_key_refused");
        let genuine = spec(SEND_ONLY, CONNECTED, next, b"through all tables");
        let secure = secured(&mut wire, &genuine);
        delivered(&mut wire, &secure, &frame(&genuine));
        one.stop();
        other.stop();
    });
}

/// What was on the wire between the gateways.
#[derive(Default)]
struct Recorded {
    packets: Vec<Vec<u8>>,
    /// By queue pair, identifier and number: what went out under it.
    by_number: HashMap<Vec<u8>, Vec<u8>>,
}

impl Recorded {
    /// Notes a packet. Nothing but the same packet may have had its number.
    fn note(&mut self, packet: &[u8]) {
        let header = bth(packet).expect("RoCEv2");
        // In extended mode the number stands in front of the tag.
        let number = match header.reserved_6 {
            2 => packet[packet.len() - 24..packet.len() - 16].to_vec(),
            _ => packet[PSN_AT - 1..PSN_AT + 3].to_vec(),
        };
        let mut key = vec![header.reserved_6, packet[QUEUE_PAIR_AT + 2]];
        key.extend(number);
        let first = self.by_number.entry(key).or_insert_with(|| packet.to_vec());
        assert!(first == packet, "two packets under one number");
        self.packets.push(packet.to_vec());
    }
}

/// Each of the gateways is killed in the middle of traffic, several times. Traffic goes on, no number seals two
/// packets, and who sends everything again that was ever on the wire gets nothing through a second time, but
/// for what a reliable connection may have to send again.
#[test]
fn killed_gateways_go_on_without_a_number_twice() {
    const ROUNDS: u32 = 8;
    const PACKETS: u32 = 60;
    const QUEUE_PAIRS: [(u8, u32); 4] = [
        (SEND_ONLY, CONNECTED),
        (DATAGRAM, DATAGRAMS),
        (SEND_ONLY, UNLISTED_CONNECTED),
        (DATAGRAM, UNLISTED_DATAGRAMS),
    ];
    inside(Cable::default(), |namespace| {
        let (mut wire, mut one, mut other) = connect(namespace, ["", ""]);
        let pairs = [
            ("connected", "rc", CONNECTED, 1),
            ("datagrams", "ud", DATAGRAMS, 2),
        ];
        for site in [&mut one, &mut other] {
            site.partition = UNLISTED;
            // Replays of epochs that are over count as failed tags, and would have the mode refused.
            site.write("failed_tags = 1_000_000\n", &pairs);
            site.start(&["--new-key", "all"]);
        }
        let mut recorded = Recorded::default();
        let mut arrived: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut contents = 0u64;
        for round in 0..ROUNDS {
            let mut came: HashMap<u8, u32> = HashMap::new();
            let mut sent = HashSet::new();
            let begun = Instant::now();
            // As many as it takes until both go on after a restart.
            for number in 0.. {
                assert!(
                    begun.elapsed() < Duration::from_secs(60),
                    "round {round}: traffic does not resume after {number}: {} and {}",
                    one.status()["traffic"]["drops"],
                    other.status()["traffic"]["drops"]
                );
                for (opcode, queue_pair) in QUEUE_PAIRS {
                    // Numbers begin anew with every round, with other contents.
                    contents += 1;
                    let payload = contents.to_be_bytes().repeat(4);
                    let packet = frame(&spec(opcode, queue_pair, number, &payload));
                    wire.a.send(&packet);
                    sent.insert(packet);
                }
                for secure in wire.x1.take() {
                    recorded.note(&secure);
                    wire.x2.send(&secure);
                }
                for packet in wire.b.take() {
                    if sent.contains(&packet) {
                        *came.entry(packet[QUEUE_PAIR_AT + 2]).or_default() += 1;
                    }
                    *arrived.entry(packet).or_default() += 1;
                }
                if came.len() == QUEUE_PAIRS.len() && came.values().all(|came| *came >= PACKETS) {
                    break;
                }
                std::thread::sleep(Duration::from_micros(300));
            }
            // In the middle of traffic: packets are on their way through both.
            match round % 3 {
                0 => one.kill(),
                1 => other.kill(),
                _ => {
                    one.kill();
                    other.kill();
                }
            }
            if round % 3 != 1 {
                one.start(&[]);
            }
            if round % 3 != 0 {
                other.start(&[]);
            }
            for secure in wire.x1.take() {
                recorded.note(&secure);
            }
            for packet in wire.b.take() {
                *arrived.entry(packet).or_default() += 1;
            }
            // Everything that was ever seen, again.
            let replayed = other.packets() + recorded.packets.len() as u64;
            for secure in &recorded.packets {
                wire.x2.send(secure);
            }
            crate::processes::until(|| (other.packets() >= replayed).then_some(()));
            for packet in wire.b.take() {
                *arrived.entry(packet).or_default() += 1;
            }
        }
        let twice: Vec<_> = arrived.iter().filter(|(_, times)| **times > 1).collect();
        let datagrams = twice.iter().filter(|(packet, _)| packet[42] == DATAGRAM);
        assert_eq!(datagrams.count(), 0, "a datagram was accepted twice");
        let of = |queue_pair: u32| {
            let queue_pair = queue_pair as u8 + 0x10;
            let of = |packet: &Vec<u8>| packet[QUEUE_PAIR_AT + 2] == queue_pair;
            let again = twice.iter().filter(|(packet, _)| of(packet)).count();
            (arrived.keys().filter(|packet| of(packet)).count(), again)
        };
        let [(_, listed), (_, unlisted)] = [of(CONNECTED), of(UNLISTED_CONNECTED)];
        // The window of the connection has 64 packets of each mode, for each replay.
        assert!(listed <= 2 * 64 * ROUNDS as usize, "{listed} twice");
        // How far an unlisted one has come is written down now and then, and none of an earlier
        // round comes again.
        assert!(unlisted < of(UNLISTED_CONNECTED).0 / 2, "{unlisted} twice");
        for (_, queue_pair) in QUEUE_PAIRS {
            assert!(of(queue_pair).0 as u32 >= PACKETS * ROUNDS);
        }
        println!(
            "{} packets on the wire, {} different ones arrived; of the connections again: {listed} \
             of the listed one, {unlisted} of the other",
            recorded.packets.len(),
            arrived.len(),
        );
        one.stop();
        other.stop();
    });
}
