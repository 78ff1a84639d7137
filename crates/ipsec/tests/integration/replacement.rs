//! SA files that take the place of others while packets are on their way.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use weir_ipsec::{
    ClassifyInbound, ClassifyOutbound, DropReason, GatewayError, NewKeys, Protect, Replacement,
    Running, Sequences, Unprotect, Windows,
};
use weir_packet::wire::LinkType;
use weir_stream::{Batch, BatchLimits, Context, Disposition, MemorySource, Stage, Vocabulary};

use crate::common::{ipv4_to, keyed_association, load};

/// An SA file with these associations, each a key's number: its tunnel leads to a gateway of its
/// own and carries what goes to 10.0.KEY.0/24. `mtu` is that of all.
fn file(keys: &[u8], direction: &str, mtu: u32) -> String {
    let mut text = String::new();
    for key in keys {
        let more = format!(
            "tunnel = {{ source = \"198.18.0.1\", destination = \"198.18.1.{key}\" }}\n\
             direction = {direction:?}\nmtu = {mtu}\nreplay_state = \"forget\""
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

/// One end of the tunnels, and what replaces its files.
struct Sender {
    running: Running,
    classify: ClassifyOutbound,
    protect: Protect,
}

struct Receiver {
    running: Running,
    classify: ClassifyInbound,
    unprotect: Unprotect,
}

impl Sender {
    fn start(ledger: &Path, text: &str) -> Sender {
        let sequences = Sequences::Ledger {
            path: ledger.into(),
            new_keys: NewKeys::All,
            reserve: 64,
        };
        let file = load(text);
        let mut classify = ClassifyOutbound::new(file.databases().clone());
        let (running, mut protect, _) =
            Running::start(file, Some(sequences), None, 1).expect("a gateway");
        let mut protect = protect.remove(0);
        let mut vocabulary = Vocabulary::default();
        classify.register(&mut vocabulary).expect("words");
        protect.register(&mut vocabulary).expect("words");
        Sender {
            running,
            classify,
            protect,
        }
    }

    fn begin(&mut self, text: &str) -> Result<Replacement, GatewayError> {
        self.running.replace(load(text), NewKeys::All)
    }

    fn prepare(&mut self, replacement: &mut Replacement) {
        if let Some(change) = replacement.prepare.remove(0).protect {
            self.protect.change(change);
        }
    }

    fn retire(&mut self, mut replacement: Replacement) {
        if let Some(change) = replacement.retire.remove(0).protect {
            self.protect.change(change);
        }
        replacement.settle.write().expect("a ledger");
    }

    fn replace(&mut self, text: &str) {
        let mut replacement = self.begin(text).expect("a right file");
        self.prepare(&mut replacement);
        self.classify.switch(replacement.switch.clone());
        self.retire(replacement);
    }
}

impl Receiver {
    fn start(text: &str) -> Receiver {
        let file = load(text);
        let mut classify = ClassifyInbound::new(file.databases().clone());
        let (running, _, mut unprotect) =
            Running::start(file, None, Some(Windows::Empty), 1).expect("a gateway");
        let mut unprotect = unprotect.remove(0);
        let mut vocabulary = Vocabulary::default();
        classify.register(&mut vocabulary).expect("words");
        unprotect.register(&mut vocabulary).expect("words");
        Receiver {
            running,
            classify,
            unprotect,
        }
    }

    fn prepare(&mut self, replacement: &mut Replacement) {
        if let Some(change) = replacement.prepare.remove(0).unprotect {
            self.unprotect.change(change);
        }
    }

    fn retire(&mut self, mut replacement: Replacement) {
        if let Some(change) = replacement.retire.remove(0).unprotect {
            self.unprotect.change(change);
        }
        replacement.settle.write().expect("no ledger");
    }
}

fn batch_of(packets: &[Vec<u8>]) -> Batch {
    let mut batch = Batch::new(BatchLimits::default());
    MemorySource::new(LinkType::RawIp, packets)
        .process(&mut batch, &mut Context::default())
        .expect("packets");
    batch
}

fn process(stage: &mut impl Stage, batch: &mut Batch) {
    stage
        .process(batch, &mut Context::default())
        .expect("drops are no error");
}

/// What is left of a batch.
fn forwarded(batch: &Batch) -> Vec<Vec<u8>> {
    batch
        .live()
        .map(|index| batch.record(index).to_vec())
        .collect()
}

fn drops(batch: &Batch) -> Vec<DropReason> {
    let mut vocabulary = Vocabulary::default();
    let codes = vocabulary
        .drop_reasons::<DropReason>()
        .expect("a vocabulary");
    (0..batch.len())
        .filter_map(|index| match batch.disposition(index) {
            Disposition::Drop(code) => codes.reason(code),
            _ => None,
        })
        .collect()
}

/// One packet through each of these tunnels.
fn traffic(keys: &[u8], payload: u8) -> Vec<Vec<u8>> {
    keys.iter()
        .map(|key| ipv4_to([10, 0, *key, 1], 99, &[payload; 20]))
        .collect()
}

fn spi_and_iv(packet: &[u8]) -> (u32, u64) {
    let esp = &packet[20..];
    let spi = u32::from_be_bytes([esp[0], esp[1], esp[2], esp[3]]);
    let iv = esp[8..16]
        .iter()
        .fold(0, |iv, byte| iv << 8 | u64::from(*byte));
    (spi, iv)
}

/// SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Files with other associations, in other orders and with other parameters take turns. What is
/// in both is never interrupted, whatever the step at which its packets meet the replacement.
#[test]
fn packets_meet_one_file_or_the_other() {
    let directory = tempfile::tempdir().expect("a directory");
    let everything: Vec<u8> = (1..=12).collect();
    let mut present = vec![1, 2, 3];
    let mut sender = Sender::start(
        &directory.path().join("ledger"),
        &file(&present, "outbound", 1400),
    );
    let mut receiver = Receiver::start(&file(&everything, "inbound", 1400));
    let mut nonces: HashSet<(u32, u64)> = HashSet::new();
    let mut highest: HashMap<u32, u64> = HashMap::new();
    let mut state = 7;
    let mut kept_packets = 0;
    for round in 0..200u32 {
        let mut next = everything.clone();
        next.retain(|_| random(&mut state).is_multiple_of(2));
        let by = random(&mut state) as usize % next.len().max(1);
        next.rotate_left(by);
        let text = file(&next, "outbound", 1300 + round);
        let mut replacement = sender.begin(&text).expect("a right file");
        let both: Vec<u8> = present
            .iter()
            .copied()
            .filter(|key| next.contains(key))
            .collect();

        // Classified by the old file, sealed when the new one is prepared.
        let mut before = batch_of(&traffic(&present, 1));
        process(&mut sender.classify, &mut before);
        sender.prepare(&mut replacement);
        process(&mut sender.protect, &mut before);
        // All of the old file: nothing is retired yet.
        let mut sealed = forwarded(&before);
        assert_eq!(sealed.len(), present.len(), "{:?}", drops(&before));

        // Classified by the new one, sealed before anything is retired.
        sender.classify.switch(replacement.switch.clone());
        let mut after = batch_of(&traffic(&next, 2));
        process(&mut sender.classify, &mut after);
        process(&mut sender.protect, &mut after);
        assert_eq!(forwarded(&after).len(), next.len(), "{:?}", drops(&after));
        sealed.extend(forwarded(&after));

        sender.retire(replacement);
        let mut later = batch_of(&traffic(&next, 3));
        process(&mut sender.classify, &mut later);
        process(&mut sender.protect, &mut later);
        assert_eq!(forwarded(&later).len(), next.len(), "{:?}", drops(&later));
        sealed.extend(forwarded(&later));

        for packet in &sealed {
            let (spi, iv) = spi_and_iv(packet);
            assert!(nonces.insert((spi, iv)), "{spi:#x}: {iv} twice");
            let last = highest.insert(spi, iv).unwrap_or(0);
            assert!(iv > last, "{spi:#x}: {iv} after {last}");
            if both.contains(&((spi - 0x1000) as u8)) {
                assert!(
                    iv <= last + 1,
                    "{spi:#x} is in both files, and skips from {last} to {iv}"
                );
                kept_packets += 1;
            }
        }
        let mut opened = batch_of(&sealed);
        process(&mut receiver.classify, &mut opened);
        process(&mut receiver.unprotect, &mut opened);
        assert_eq!(
            forwarded(&opened).len(),
            sealed.len(),
            "{:?}",
            drops(&opened)
        );
        present = next;
    }
    assert!(kept_packets > 500, "{kept_packets}");
    let reports = sender.protect.reports();
    let protected: u64 = reports.iter().map(|report| report.traffic.packets).sum();
    assert_eq!(protected, nonces.len() as u64);
    sender.protect.finish().expect("a ledger");
}

/// A receiver judges a packet by the policies that classified it, and keeps the windows of
/// associations that stay.
#[test]
fn windows_and_policies_of_a_receiver() {
    let directory = tempfile::tempdir().expect("a directory");
    let ledger = directory.path().join("ledger");
    let mut sender = Sender::start(&ledger, &file(&[1, 2], "outbound", 1400));
    let mut receiver = Receiver::start(&file(&[1, 2], "inbound", 1400));
    let mut first = batch_of(&traffic(&[1, 2], 1));
    process(&mut sender.classify, &mut first);
    process(&mut sender.protect, &mut first);
    let first = forwarded(&first);
    let mut second = batch_of(&traffic(&[1, 2], 2));
    process(&mut sender.classify, &mut second);
    process(&mut sender.protect, &mut second);
    let second = forwarded(&second);

    let mut opened = batch_of(&first);
    process(&mut receiver.classify, &mut opened);
    process(&mut receiver.unprotect, &mut opened);
    assert_eq!(forwarded(&opened).len(), 2);

    // The new file has tunnel 1 only, in another place, and 3.
    let text = file(&[3, 1], "inbound", 1400);
    let mut replacement = receiver
        .running
        .replace(load(&text), NewKeys::NONE)
        .expect("right");
    let mut classified_before = batch_of(&second);
    process(&mut receiver.classify, &mut classified_before);
    receiver.prepare(&mut replacement);
    receiver.classify.switch(replacement.switch.clone());
    process(&mut receiver.unprotect, &mut classified_before);
    assert_eq!(
        forwarded(&classified_before).len(),
        2,
        "{:?}",
        drops(&classified_before)
    );
    receiver.retire(replacement);

    let mut replayed = batch_of(&[first, second].concat());
    process(&mut receiver.classify, &mut replayed);
    process(&mut receiver.unprotect, &mut replayed);
    // Tunnel 2 ends here no more: its packets are subject to the policies.
    let (replay, unknown) = (DropReason::Replay, DropReason::NoPolicy);
    assert_eq!(drops(&replayed), [replay, unknown, replay, unknown]);
    let reports: Vec<(String, u64)> = (receiver.unprotect.reports().iter())
        .map(|report| (report.parameters.name.clone(), report.traffic.packets))
        .filter(|(_, packets)| *packets > 0)
        .collect();
    assert_eq!(reports, [("to-1".to_owned(), 2), ("to-2".to_owned(), 2)]);
}

/// A file that is refused changes nothing, and says why.
#[test]
fn a_refused_file_leaves_the_old_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let ledger = directory.path().join("ledger");
    let mut sender = Sender::start(&ledger, &file(&[1], "outbound", 1400));
    let unknown = sender
        .running
        .replace(load(&file(&[1, 2], "outbound", 1400)), NewKeys::NONE);
    let message = unknown
        .err()
        .expect("a key that the ledger does not know")
        .to_string();
    assert!(
        message.contains("to-2") && message.contains("--new-key"),
        "{message}"
    );
    let mut batch = batch_of(&traffic(&[1, 2], 1));
    process(&mut sender.classify, &mut batch);
    process(&mut sender.protect, &mut batch);
    assert_eq!(forwarded(&batch).len(), 1);
    assert_eq!(drops(&batch), [DropReason::NoPolicy]);
    // What was refused can be taken later, and an association comes back under its key.
    for keys in [&[1, 2][..], &[2], &[1, 2]] {
        sender.replace(&file(keys, "outbound", 1400));
    }
    let mut batch = batch_of(&traffic(&[1], 1));
    process(&mut sender.classify, &mut batch);
    process(&mut sender.protect, &mut batch);
    assert_eq!(spi_and_iv(&forwarded(&batch)[0]), (0x1001, 2));
    sender.protect.finish().expect("a ledger");
}
