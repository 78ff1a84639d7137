//! SA files that take the place of others while packets are on their way: two gateways of two
//! workers each, from one to the other in memory.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use weir_ipsec::{
    NewKeys, ReplaceError, Replaced, Running, SaDirection, SaFile, Sequences, Which, Windows,
};
use weir_port::{
    FrameLayout, FramePool, Frames, MemoryRx, MemoryTx, Outgoing, Rx, Tx, memory_queue,
};
use weir_stream::{Batch, Context, Egress, Live, LivePort, Stage, StageError, Statistics};

use crate::common::{ipv4_to, keyed_association, load};

const WORKERS: usize = 2;
const PATIENCE: Duration = Duration::from_secs(60);

/// An SA file with these associations, each a key's number: its tunnel leads to a gateway of its
/// own and carries what goes to 10.0.KEY.0/24. `mtu` is that of all.
fn file(keys: &[u8], direction: &str, mtu: u32) -> SaFile {
    load(&text_of(keys, direction, mtu))
}

fn text_of(keys: &[u8], direction: &str, mtu: u32) -> String {
    let mut text = String::new();
    for key in keys {
        let more = format!(
            "tunnel = {{ source = \"198.18.0.1\", destination = \"198.18.1.{key}\" }}\n\
             direction = {direction:?}\nmtu = {mtu}\nwindow = 4096\nreplay_state = \"forget\""
        );
        let (name, spi) = (format!("to-{key}"), 0x1000 + u32::from(*key));
        text += &keyed_association(&name, spi, "aes-128-gcm-16", "tunnel", &more, *key);
    }
    for key in keys {
        text += &format!(
            "[[policy]]\ndirection = {direction:?}\ndestination = \"10.0.{key}.0/24\"\n\
             action = \"protect\"\nsa = \"to-{key}\"\n"
        );
    }
    text
}

/// A gateway in one direction, from a port in memory to another one.
struct Gateway {
    ipsec: Arc<Running>,
    live: weir_stream::Running,
    to: Vec<MemoryTx>,
    from: Vec<MemoryRx>,
    frames: Frames,
    fails: Arc<AtomicBool>,
}

/// A stage that panics when it is told to, once.
struct Fails(Arc<AtomicBool>);

impl Stage for Fails {
    fn name(&self) -> &str {
        "fails"
    }

    fn process(&mut self, _batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        assert!(!self.0.swap(false, Ordering::Relaxed), "told to");
        Ok(())
    }
}

impl Gateway {
    fn sender(ledger: &Path, file: SaFile) -> Gateway {
        let sequences = Sequences::Ledger {
            path: ledger.into(),
            new_keys: NewKeys::All,
            reserve: 1 << 12,
        };
        let ipsec = Arc::new(Running::new(file, Some(sequences), None, WORKERS));
        Gateway::start(ipsec, |ipsec, worker| {
            Ok(vec![
                Box::new(ipsec.classify_outbound()?),
                Box::new(ipsec.protect(worker)?),
            ])
        })
    }

    fn receiver(file: SaFile) -> Gateway {
        let ipsec = Arc::new(Running::new(file, None, Some(Windows::Empty), WORKERS));
        Gateway::start(ipsec, |ipsec, worker| {
            Ok(vec![
                Box::new(ipsec.classify_inbound()?),
                Box::new(ipsec.unprotect(worker)?),
            ])
        })
    }

    fn start(
        ipsec: Arc<Running>,
        stages: impl Fn(&Running, usize) -> Result<Vec<Box<dyn Stage>>, ReplaceError>
        + Send
        + Sync
        + 'static,
    ) -> Gateway {
        let pool = FramePool::new(FrameLayout::default()).expect("memory");
        let queue = || memory_queue(&pool, 1 << 12, 9000);
        let queues = || {
            (0..WORKERS)
                .map(|_| queue())
                .unzip::<_, _, Vec<_>, Vec<_>>()
        };
        let ((to, rx), (tx, from)) = (queues(), queues());
        let fails = Arc::new(AtomicBool::new(false));
        let (of_stages, told) = (Arc::clone(&ipsec), Arc::clone(&fails));
        let live = Live::new(WORKERS, move |worker, _path| {
            let made = stages(&of_stages, worker);
            let mut made = made.map_err(|error| StageError::new("ipsec", error))?;
            made.push(Box::new(Fails(Arc::clone(&told))));
            Ok(made)
        });
        let live = live
            .port(LivePort {
                name: "in".into(),
                rx: rx.into_iter().map(|rx| Box::new(rx) as _).collect(),
                tx: Vec::new(),
                keeps_flows: false,
            })
            .port(LivePort {
                name: "out".into(),
                rx: Vec::new(),
                tx: tx.into_iter().map(|tx| Box::new(tx) as _).collect(),
                keeps_flows: false,
            })
            .path(0, Egress::port(1))
            .start()
            .expect("a gateway");
        Gateway {
            ipsec,
            live,
            to,
            from,
            frames: Frames::default(),
            fails,
        }
    }

    fn send(&mut self, packets: &[Vec<u8>]) {
        for (number, packet) in packets.iter().enumerate() {
            let outgoing = [Outgoing::from(&packet[..])];
            let queue = &mut self.to[number % WORKERS];
            assert_eq!(queue.send(&mut self.frames, &outgoing), 1);
        }
    }

    fn receive(&mut self) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        for queue in &mut self.from {
            while queue.fill(&mut self.frames, 256) > 0 {
                packets.extend(self.frames.packets().map(|packet| packet.bytes.to_vec()));
                self.frames.clear();
            }
        }
        packets
    }

    fn counts(&self) -> Statistics {
        self.live.meters().snapshot().expect("balanced")
    }

    fn stop(self) -> Statistics {
        self.live.stop_flag().stop();
        self.live.join().expect("a run").statistics
    }
}

/// Packets through tunnels, each with a number of its own.
#[derive(Default)]
struct Traffic {
    numbers: u64,
    /// Those that must arrive and have not yet.
    expected: HashSet<u64>,
    /// SPI and IV of all that were sealed.
    nonces: HashSet<(u32, u64)>,
}

impl Traffic {
    /// A packet through each of these tunnels, in Ethernet frames; all of them must arrive.
    fn through(&mut self, keys: &[u8]) -> Vec<Vec<u8>> {
        keys.iter()
            .map(|key| {
                self.numbers += 1;
                self.expected.insert(self.numbers);
                let mut payload = self.numbers.to_be_bytes().to_vec();
                payload.resize(40, *key);
                let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];
                frame.extend(ipv4_to([10, 0, *key, 1], 99, &payload));
                frame
            })
            .collect()
    }

    /// Carries on what has come out of the gateways. No nonce comes twice.
    fn carry(&mut self, sender: &mut Gateway, receiver: &mut Gateway) {
        let sealed = sender.receive();
        for frame in &sealed {
            let esp = &frame[34..];
            let spi = u32::from_be_bytes(esp[..4].try_into().expect("4"));
            let iv = u64::from_be_bytes(esp[8..16].try_into().expect("8"));
            assert!(self.nonces.insert((spi, iv)), "{spi:#x}: {iv} twice");
        }
        receiver.send(&sealed);
        for frame in receiver.receive() {
            let number = u64::from_be_bytes(frame[34..42].try_into().expect("8"));
            self.expected.remove(&number);
        }
    }

    /// Carries on until everything has arrived that must.
    fn finish(&mut self, sender: &mut Gateway, receiver: &mut Gateway) {
        let deadline = Instant::now() + PATIENCE;
        while !self.expected.is_empty() {
            self.carry(sender, receiver);
            let drops = || [drops(&sender.counts()), drops(&receiver.counts())];
            assert!(
                Instant::now() < deadline,
                "{}: {:?}",
                self.expected.len(),
                drops()
            );
        }
    }
}

fn drops(statistics: &Statistics) -> Vec<(&'static str, u64)> {
    let drops = statistics.drops_by_reason();
    drops.map(|(word, count)| (word.name, count)).collect()
}

/// SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

fn everything() -> Vec<u8> {
    (1..=12).collect()
}

/// Files with other associations, in other orders and with other parameters take turns. Not one
/// packet is lost whose association both have.
#[test]
fn what_both_files_have_is_never_interrupted() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut present = vec![1, 2, 3];
    let ledger = directory.path().join("ledger");
    let mut sender = Gateway::sender(&ledger, file(&present, "outbound", 1400));
    let mut receiver = Gateway::receiver(file(&everything(), "inbound", 1400));
    let mut traffic = Traffic::default();
    let mut state = 7;
    for round in 0..30 {
        let mut next = everything();
        next.retain(|_| random(&mut state).is_multiple_of(2));
        let by = random(&mut state) as usize % next.len().max(1);
        next.rotate_left(by);
        let both: Vec<u8> = (present.iter().copied())
            .filter(|key| next.contains(key))
            .collect();
        let mut order = everything();
        order.rotate_left(by);
        let (of_sender, of_receiver) = (Arc::clone(&sender.ipsec), Arc::clone(&receiver.ipsec));
        let sending = file(&next, "outbound", 1300 + round);
        let receiving = file(&order, "inbound", 1300 + round);
        let replaced = thread::scope(|scope| {
            let sender_side =
                scope.spawn(move || of_sender.replace(sending, NewKeys::All, |switch| switch()));
            let receiver_side = scope
                .spawn(move || of_receiver.replace(receiving, NewKeys::NONE, |switch| switch()));
            while !(sender_side.is_finished() && receiver_side.is_finished()) {
                // Few at a time, so that a worker that is not run for a while loses none.
                if traffic.expected.is_empty() {
                    sender.send(&traffic.through(&both));
                }
                traffic.carry(&mut sender, &mut receiver);
                thread::sleep(Duration::from_micros(100));
            }
            [sender_side, receiver_side].map(|side| side.join().expect("no panic").expect("right"))
        });
        let [of_sender, of_receiver] = &replaced;
        assert!(
            of_sender.is_complete && of_receiver.is_complete,
            "{replaced:?}"
        );
        assert!(of_sender.ledger_error.is_none());
        assert_eq!(
            (of_sender.kept, of_sender.amended),
            (both.len(), both.len())
        );
        assert_eq!(of_sender.added, next.len() - both.len());
        assert_eq!(of_sender.retired, present.len() - both.len());
        assert_eq!((of_receiver.kept, of_receiver.generation), (12, round + 1));
        traffic.finish(&mut sender, &mut receiver);
        sender.send(&traffic.through(&next));
        traffic.finish(&mut sender, &mut receiver);
        present = next;
    }
    traffic.finish(&mut sender, &mut receiver);
    assert!(traffic.numbers > 1_000, "{}", traffic.numbers);
    let sum = |ipsec: &Running| -> u64 {
        let reports = ipsec.reports();
        reports.iter().map(|report| report.traffic.packets).sum()
    };
    let (of_sender, of_receiver) = (Arc::clone(&sender.ipsec), Arc::clone(&receiver.ipsec));
    assert_eq!(
        (sum(&of_sender), sum(&of_receiver)),
        (traffic.numbers, traffic.numbers)
    );
    assert_eq!(drops(&sender.stop()), []);
    assert_eq!(drops(&receiver.stop()), []);
    // Also when the stages are gone.
    assert_eq!(
        (sum(&of_sender), sum(&of_receiver)),
        (traffic.numbers, traffic.numbers)
    );
}

/// A worker whose stages fail makes them again: its associations go on behind what was reserved,
/// and their files can still be replaced.
#[test]
fn stages_that_failed_are_made_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let ledger = directory.path().join("ledger");
    let mut sender = Gateway::sender(&ledger, file(&everything(), "outbound", 1400));
    let mut receiver = Gateway::receiver(file(&everything(), "inbound", 1400));
    let mut traffic = Traffic::default();
    for round in 0..6 {
        sender.send(&traffic.through(&everything()));
        traffic.finish(&mut sender, &mut receiver);
        sender.fails.store(true, Ordering::Relaxed);
        // What is in the stages that fail is dropped; packets come through again afterwards.
        let deadline = Instant::now() + PATIENCE;
        while sender.fails.load(Ordering::Relaxed) || !traffic.expected.is_empty() {
            traffic.expected.clear();
            sender.send(&traffic.through(&everything()));
            let sent = Instant::now();
            while !traffic.expected.is_empty() && sent.elapsed() < Duration::from_millis(50) {
                traffic.carry(&mut sender, &mut receiver);
            }
            assert!(Instant::now() < deadline, "{:?}", drops(&sender.counts()));
        }
        let replaced = replaced_at_last(&sender.ipsec, || {
            file(&everything(), "outbound", 1300 + round)
        });
        assert_eq!((replaced.kept, replaced.is_complete), (12, true));
    }
    sender.stop();
    receiver.stop();
}

/// Replaces a file, once the workers have made their stages.
fn replaced_at_last(ipsec: &Running, file: impl Fn() -> SaFile) -> Replaced {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match ipsec.replace(file(), NewKeys::NONE, |switch| switch()) {
            Err(ReplaceError::Busy) if Instant::now() < deadline => thread::yield_now(),
            result => return result.expect("a right file"),
        }
    }
}

/// A file that is refused changes nothing, and says why.
#[test]
fn a_refused_file_leaves_the_old_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let ledger = directory.path().join("ledger");
    let mut sender = Gateway::sender(&ledger, file(&[1], "outbound", 1400));
    let mut receiver = Gateway::receiver(file(&everything(), "inbound", 1400));
    let mut traffic = Traffic::default();
    let unknown = file(&[1, 2], "outbound", 1400);
    let refused = sender
        .ipsec
        .replace(unknown, NewKeys::NONE, |switch| switch());
    let message = refused
        .expect_err("a key that the ledger does not know")
        .to_string();
    assert!(
        message.contains("to-2") && message.contains("--new-key"),
        "{message}"
    );
    sender.send(&traffic.through(&[1]));
    traffic.finish(&mut sender, &mut receiver);
    // What was refused can be taken later, and an association comes back under its key.
    for keys in [&[1, 2][..], &[2], &[1, 2]] {
        let file = file(keys, "outbound", 1400);
        sender
            .ipsec
            .replace(file, NewKeys::All, |switch| switch())
            .expect("a right file");
        sender.send(&traffic.through(keys));
        traffic.finish(&mut sender, &mut receiver);
    }
    assert!(
        traffic.nonces.contains(&(0x1001, 3)),
        "{:?}",
        traffic.nonces
    );
    assert_eq!(sender.ipsec.associations().len(), 2);
    sender.stop();
    receiver.stop();
}

/// Associations that come and go one by one, without a file: those that stay are not interrupted, and
/// nothing passes in clear text when one is gone.
#[test]
fn associations_are_added_and_removed_one_by_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let ledger = directory.path().join("ledger");
    let mut sender = Gateway::sender(&ledger, file(&[1], "outbound", 1400));
    let mut receiver = Gateway::receiver(file(&[1], "inbound", 1400));
    let mut traffic = Traffic::default();
    let added = Path::new("added.toml");
    let named = |name: &str| Which {
        name: Some(name.to_owned()),
        ..Which::default()
    };

    // The receiver first, so that nothing arrives that it does not know.
    for (gateway, direction) in [(&receiver, "inbound"), (&sender, "outbound")] {
        let text = text_of(&[2, 3], direction, 1400);
        let (replaced, warnings) = gateway
            .ipsec
            .add(added, &text, NewKeys::All)
            .expect("right");
        assert_eq!((replaced.kept, replaced.added, replaced.retired), (1, 2, 0));
        assert!(replaced.is_complete && warnings.is_empty(), "{warnings:?}");
        assert_eq!(gateway.ipsec.extent(), Some((3, 1)));
    }
    sender.send(&traffic.through(&[1, 2, 3]));
    traffic.finish(&mut sender, &mut receiver);

    // By SPI and direction.
    let second = Which {
        spi: Some(0x1002),
        direction: Some(SaDirection::Outbound),
        ..Which::default()
    };
    let (removed, replaced) = sender.ipsec.remove(&second).expect("one");
    assert_eq!((removed.name.as_str(), replaced.retired), ("to-2", 1));
    sender.send(&traffic.through(&[1, 3]));
    traffic.finish(&mut sender, &mut receiver);
    let unprotected = traffic.through(&[2]);
    sender.send(&unprotected);
    let deadline = Instant::now() + PATIENCE;
    while drops(&sender.counts()) != [("no_security_association", 1)] {
        assert!(Instant::now() < deadline, "{:?}", drops(&sender.counts()));
        assert_eq!(sender.receive(), Vec::<Vec<u8>>::new());
    }
    traffic.expected.clear();

    // It comes back for the policy that waits for it, and its numbers go on.
    let text = text_of(&[2], "outbound", 1400);
    sender
        .ipsec
        .add(added, &text, NewKeys::NONE)
        .expect("right");
    sender.send(&traffic.through(&[1, 2, 3]));
    traffic.finish(&mut sender, &mut receiver);
    assert!(
        traffic.nonces.contains(&(0x1002, 2)),
        "{:?}",
        traffic.nonces
    );

    let listed = sender.ipsec.list();
    let names: Vec<&str> = listed
        .iter()
        .map(|one| one.parameters.name.as_str())
        .collect();
    assert_eq!(names, ["to-1", "to-3", "to-2"]);
    let report = |place: usize| listed[place].report.as_ref().expect("it is known");
    assert_eq!((report(0).traffic.packets, report(0).sequence), (3, 3));
    // The counts go on with the name.
    assert_eq!((report(2).traffic.packets, report(2).sequence), (2, 2));
    let received = receiver.ipsec.list();
    let received = received[0].report.as_ref().expect("it is known");
    assert_eq!((received.traffic.packets, received.sequence), (3, 3));
    // One that came before.
    let replayed = traffic.through(&[1]);
    sender.send(&replayed);
    let deadline = Instant::now() + PATIENCE;
    let mut sealed = Vec::new();
    while sealed.is_empty() {
        assert!(Instant::now() < deadline);
        sealed = sender.receive();
    }
    receiver.send(&[sealed.clone(), sealed].concat());
    let drops_of = |gateway: &Gateway| -> Vec<u64> {
        let report = gateway.ipsec.list().remove(0).report.expect("it is known");
        report.drops.iter().map(|(_, packets)| packets).collect()
    };
    while drops_of(&receiver) != [1_u64] {
        assert!(Instant::now() < deadline);
    }
    assert!(drops_of(&sender).is_empty());
    receiver.receive();

    assert_eq!(sender.ipsec.extent(), Some((3, 3)));
    let file = file(&[1, 3], "outbound", 1400);
    sender
        .ipsec
        .replace(file, NewKeys::NONE, |switch| switch())
        .expect("right");
    assert_eq!(sender.ipsec.extent(), Some((2, 0)));
    let absent = sender.ipsec.remove(&named("to-2"));
    let message = absent.expect_err("it is gone").to_string();
    assert!(
        message.contains("no association has name \"to-2\""),
        "{message}"
    );
    sender.stop();
    receiver.stop();
}

/// What is wrong or conflicts with what is in force is refused as a whole.
#[test]
fn what_cannot_be_added_changes_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let ledger = directory.path().join("ledger");
    let text = text_of(&[1, 2], "outbound", 1400)
        + "[[policy]]\ndestination = \"10.0.9.0/24\"\ndirection = \"outbound\"\naction = \"bypass\"\n";
    let sender = Gateway::sender(&ledger, load(&text));
    let third = text_of(&[3], "outbound", 1400);
    let cases = [
        ("", "nothing to add"),
        ("default = \"bypass\"\n", "default"),
        ("[[sa]]\nname = \"x\"\n", "added.toml:1"),
        (&text_of(&[2], "outbound", 1400), "remove it first"),
        (
            &third
                .replace("198.18.1.3", "198.18.1.1")
                .replace("4099", "4097"),
            "also that of sa \"to-1\"",
        ),
        (&third.replace("direction = \"outbound\"", ""), "direction"),
        (
            &third.replace("action = \"protect\"\nsa = \"to-3\"", "action = \"bypass\""),
            "only policies with action = \"protect\"",
        ),
        (
            &third.replace("10.0.3.0", "10.0.9.0"),
            "bypasses or discards",
        ),
        (
            &third.replace("key = ", "key_file = "),
            "may not name files",
        ),
        (&third, "--new-key"),
        (
            &third.replace("aes-128-gcm-16", "3des-cbc-sha1-96"),
            "suite",
        ),
    ];
    for (text, expected) in cases {
        let refused = sender
            .ipsec
            .add(Path::new("added.toml"), text, NewKeys::NONE);
        let message = refused.expect_err(expected).to_string();
        assert!(message.contains(expected), "{expected}: {message}");
        assert_eq!(sender.ipsec.extent(), Some((2, 0)));
    }
    // A key that another one has, whatever it is called.
    let shared = text_of(&[1], "outbound", 1400)
        .replace("to-1", "other")
        .replace("4097", "5000");
    let refused = sender
        .ipsec
        .add(Path::new("added.toml"), &shared, NewKeys::All);
    assert!(refused.expect_err("one key").to_string().contains("key"));
    let outbound = Which {
        direction: Some(SaDirection::Outbound),
        ..Which::default()
    };
    let message = sender.ipsec.remove(&outbound).expect_err("two").to_string();
    assert!(message.contains("to-1, to-2"), "{message}");
    assert_eq!(sender.ipsec.extent(), Some((2, 0)));
    sender.stop();
}
