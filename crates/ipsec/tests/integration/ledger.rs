//! Sequence numbers of static keys over restarts, crashes, copies and broken
//! files.

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::common::{
    Run, TUNNEL4, ipv4, key, keyed_association, load, one, protect_stage, protect_with, unprotect,
};
use weir_ipsec::{DropReason, GatewayError, LedgerError, NewKeys, Output, Protect, Sequences};
use weir_packet::wire::LinkType;
use weir_stream::{Batch, BatchLimits, Context, Disposition, DropCodes, Stage, Vocabulary};

mod refusals;
mod windows;

/// Small, so that a run reserves several times.
const RESERVE: u64 = 10;

fn sequences(path: &Path, new_keys: NewKeys) -> Sequences {
    Sequences::Ledger {
        path: path.into(),
        new_keys,
        reserve: RESERVE,
    }
}

fn gcm() -> String {
    one("aes-128-gcm-16", "tunnel", TUNNEL4)
}

fn packets(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|n| ipv4(99, &key(n % 50, 1))).collect()
}

fn run(text: &str, path: &Path, count: usize) -> Run {
    run_with(text, &sequences(path, NewKeys::NONE), count)
}

/// A run that may use keys for the first time.
fn first_run(text: &str, path: &Path, count: usize) -> Run {
    run_with(text, &sequences(path, NewKeys::All), count)
}

fn run_with(text: &str, sequences: &Sequences, count: usize) -> Run {
    protect_with(load(text), sequences, LinkType::RawIp, &packets(count))
}

/// Sequence numbers and IVs of GCM packets in an IPv4 tunnel.
fn numbers(run: &Run) -> Vec<(u32, u64)> {
    run.records
        .iter()
        .map(|packet| {
            let esp = &packet[20..];
            let number = u32::from_be_bytes([esp[4], esp[5], esp[6], esp[7]]);
            let iv = esp[8..16]
                .iter()
                .fold(0, |iv, byte| iv << 8 | u64::from(*byte));
            (number, iv)
        })
        .collect()
}

fn open(text: &str, path: &Path, new_keys: NewKeys) -> Result<Vec<Protect>, GatewayError> {
    load(text).protect(&sequences(path, new_keys), Output::Capture, 1)
}

/// Why the ledger is refused, which must be so whether or not keys may be new.
fn refusal(text: &str, path: &Path) -> LedgerError {
    let errors = [NewKeys::NONE, NewKeys::All].map(|new_keys| match open(text, path, new_keys) {
        Err(GatewayError::Ledger(error)) => error,
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("no error"),
    });
    let [error, other] = errors;
    assert_eq!(error.to_string(), other.to_string());
    error
}

/// A directory, and a ledger's path in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ledger");
    (directory, path)
}

/// The number of the last commit.
fn generation(path: &Path) -> u64 {
    let bytes = fs::read(path.join("generation")).expect("a generation");
    let at = |place: usize| {
        let number = bytes.get(place + 16..place + 24);
        number.map_or(0, |number| {
            u64::from_le_bytes(number.try_into().expect("8"))
        })
    };
    at(0).max(at(4096))
}

#[test]
fn runs_share_no_number_and_no_iv() {
    let (_directory, path) = place();
    let mut seen = HashSet::new();
    for count in [35, 1, 0, 300] {
        let run = first_run(&gcm(), &path, count);
        assert_eq!(run.drops(), []);
        for (number, iv) in numbers(&run) {
            assert_eq!(u64::from(number), iv);
            assert!(seen.insert(iv), "{iv} twice");
        }
    }
    // Runs that ended in order left no gaps.
    assert_eq!(seen.len(), 336);
    assert_eq!(seen.iter().max(), Some(&336));
    assert_eq!(numbers(&run(&gcm(), &path, 1)), [(337, 337)]);
}

/// Classifies and protects packets, in a pipeline that nobody finishes.
fn begin(text: &str, sequences: &Sequences, output: Output, count: usize) -> (Protect, Batch) {
    let file = load(text);
    let mut classify = weir_ipsec::ClassifyOutbound::new(file.databases().clone());
    let mut stage = file
        .protect(sequences, output, 1)
        .expect("a stage")
        .remove(0);
    let mut batch = Batch::new(BatchLimits::default());
    process(&mut classify, &mut stage, &mut batch, count);
    (stage, batch)
}

fn process(
    classify: &mut weir_ipsec::ClassifyOutbound,
    stage: &mut Protect,
    batch: &mut Batch,
    count: usize,
) -> DropCodes<DropReason> {
    let mut vocabulary = Vocabulary::default();
    classify.register(&mut vocabulary).expect("words");
    stage.register(&mut vocabulary).expect("words");
    batch.clear();
    let mut source = weir_stream::MemorySource::new(LinkType::RawIp, &packets(count));
    source
        .process(batch, &mut Context::default())
        .expect("packets");
    classify
        .process(batch, &mut Context::default())
        .expect("verdicts");
    stage
        .process(batch, &mut Context::default())
        .expect("drops are no error");
    vocabulary.drop_reasons().expect("known")
}

/// A stage that never finishes is a process that died: what it had reserved is
/// gone, used or not.
#[test]
fn a_crash_skips_and_never_repeats() {
    let (_directory, path) = place();
    drop(first_run(&gcm(), &path, 3));

    let mut stage = open(&gcm(), &path, NewKeys::NONE)
        .expect("a stage")
        .remove(0);
    let batch = &mut Batch::new(BatchLimits::default());
    (stage.register(&mut Vocabulary::default())).expect("words");
    stage
        .process(batch, &mut Context::default())
        .expect("nothing to do");
    drop(stage);
    // Nothing was reserved, and nothing is skipped.
    assert_eq!(numbers(&run(&gcm(), &path, 1)), [(4, 4)]);

    let (stage, batch) = begin(
        &gcm(),
        &sequences(&path, NewKeys::NONE),
        Output::Capture,
        12,
    );
    let crashed: Vec<u32> = batch
        .live()
        .map(|index| {
            let record = batch.record(index);
            u32::from_be_bytes([record[24], record[25], record[26], record[27]])
        })
        .collect();
    drop(stage);
    assert_eq!(crashed, (5..17).collect::<Vec<u32>>());
    let after = numbers(&run(&gcm(), &path, 2));
    // What is reserved ahead is one step at most.
    assert!((17..=17 + RESERVE).contains(&after[0].1), "{after:?}");
}

#[test]
fn only_keys_announced_as_new_are_unknown() {
    let (directory, path) = place();
    let error = open(&gcm(), &path, NewKeys::NONE).err();
    assert!(matches!(
        error,
        Some(GatewayError::Ledger(LedgerError::Missing { .. }))
    ));
    let of = |name: &str| NewKeys::Of(vec![name.to_owned()]);
    let error = open(&gcm(), &path, of("two")).err();
    assert!(matches!(
        error,
        Some(GatewayError::UnknownAssociation { .. })
    ));
    let files = || fs::read_dir(directory.path()).expect("a listing").count();
    assert_eq!(files(), 0);

    drop(run_with(&gcm(), &sequences(&path, of("one")), 5));
    let mode = |path: &Path| path.metadata().expect("it").permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    for name in ["slots", "generation"] {
        assert_eq!(mode(&path.join(name)), 0o600, "{name}");
    }
    // To say so again changes nothing.
    for new_keys in [of("one"), NewKeys::All] {
        let run = run_with(&gcm(), &sequences(&path, new_keys), 1);
        assert!(numbers(&run)[0].1 > 5);
    }
    // Another key is unknown, and stays so.
    let other = gcm().replace(&common_key(), &"77".repeat(20));
    for _ in 0..2 {
        let error = open(&other, &path, NewKeys::NONE).err();
        assert!(matches!(
            error,
            Some(GatewayError::Ledger(LedgerError::UnknownKey { .. }))
        ));
    }
    assert_eq!(numbers(&first_run(&other, &path, 1)), [(1, 1)]);
}

/// The key of [`gcm`] as it is written.
fn common_key() -> String {
    crate::common::hex(&key(20, 1))
}

/// A key that goes to another SA file, and a file that is copied or renamed:
/// only the key counts.
#[test]
fn a_key_meets_its_past_wherever_it_goes() {
    let (_directory, path) = place();
    let with_key = |start: u8, spi: u32, name: &str| {
        keyed_association(name, spi, "aes-128-gcm-16", "tunnel", TUNNEL4, start)
            + &format!("[[policy]]\naction = \"protect\"\nsa = {name:?}\n")
    };
    assert_eq!(
        numbers(&first_run(&with_key(1, 0x1001, "one"), &path, 7)).len(),
        7
    );
    // A new key under the same SPI begins at 1.
    let other = first_run(&with_key(2, 0x1001, "one"), &path, 1);
    assert_eq!(numbers(&other), [(1, 1)]);
    // The old key comes back, under another SPI and name: it goes on, and is no
    // new key whatever is said of it.
    let moved = with_key(1, 0x2002, "moved");
    assert_eq!(numbers(&run(&moved, &path, 1)), [(8, 8)]);
    assert_eq!(numbers(&first_run(&moved, &path, 1)), [(9, 9)]);
    // Under another salt, and in another suite: the cipher key counts.
    let text = with_key(1, 0x1001, "one");
    let salt = crate::common::hex(&key(20, 1)[16..]);
    let salted = text.replace(&salt, "01020304");
    assert_ne!(salted, text);
    assert_eq!(numbers(&run(&salted, &path, 1)), [(10, 10)]);
    let other_suite = text
        .replace("aes-128-gcm-16", "aes-128-ctr+hmac-sha1-96")
        .replace(
            "mode",
            &format!("integrity_key = \"{}\"\nmode", "11".repeat(20)),
        );
    assert_eq!(numbers(&run(&other_suite, &path, 1)), [(11, 11)]);
}

#[test]
fn associations_of_a_batch_reserve_in_one_commit() {
    const ASSOCIATIONS: u8 = 20;
    let (_folder, path) = place();
    let names: Vec<String> = (0..ASSOCIATIONS).map(|n| format!("\"{n}\"")).collect();
    let mut text: String = (0..ASSOCIATIONS)
        .map(|n| {
            let spi = 0x1000 + u32::from(n);
            keyed_association(&n.to_string(), spi, "aes-128-gcm-16", "tunnel", TUNNEL4, n)
        })
        .collect();
    text += "[[policy]]\naction = \"protect\"\n";
    text += &format!("sa = [{}]\n", names.join(", "));
    // A flow each, so that they are divided among the associations.
    let packets: Vec<Vec<u8>> = (0u16..64)
        .map(|port| {
            let mut datagram = vec![0x10, 0, 0x20, 0, 0, 12, 0, 0, 1, 2, 3, 4];
            datagram[..2].copy_from_slice(&(1024 + port * 77).to_be_bytes());
            ipv4(17, &datagram)
        })
        .collect();
    let sequences = Sequences::Ledger {
        path: path.clone(),
        new_keys: NewKeys::All,
        reserve: 1000,
    };
    let run = protect_with(load(&text), &sequences, LinkType::RawIp, &packets);
    assert_eq!(run.drops(), []);
    let spis: HashSet<&[u8]> = run.records.iter().map(|packet| &packet[20..24]).collect();
    assert!(spis.len() > 5, "{} associations have packets", spis.len());
    // The keys are added, numbers are reserved, and what is left goes back.
    assert_eq!(generation(&path), 3);
}

#[test]
fn a_key_serves_one_process_at_a_time_and_a_ledger_many() {
    let (_directory, path) = place();
    let other = gcm().replace(&common_key(), &"77".repeat(20));
    let first = open(&gcm(), &path, NewKeys::All).expect("a stage");
    let error = refusal(&gcm(), &path);
    assert!(matches!(error, LedgerError::InUse { .. }));
    assert!(error.to_string().contains("\"one\""), "{error}");
    // Another key is added, and counts, beside it.
    for expected in 1..4 {
        let run = first_run(&other, &path, 1);
        assert_eq!(numbers(&run), [(expected, u64::from(expected))]);
    }
    drop(first);
    assert!(open(&gcm(), &path, NewKeys::NONE).is_ok());
}

/// Where nothing can be written, nothing is sealed, and the error is kept.
#[test]
fn a_ledger_that_cannot_be_written_fails_closed() {
    let (directory, path) = place();
    drop(first_run(&gcm(), &path, 2));
    let file = load(&gcm());
    let mut classify = weir_ipsec::ClassifyOutbound::new(file.databases().clone());
    let mut stage = file
        .protect(&sequences(&path, NewKeys::NONE), Output::Capture, 1)
        .expect("a stage")
        .remove(0);
    let mut batch = Batch::new(BatchLimits::default());
    // A ledger that has lost its name is one that another process may replace.
    let aside = directory.path().join("aside");
    fs::rename(&path, &aside).expect("renamed");
    let codes = process(&mut classify, &mut stage, &mut batch, 5);
    assert_eq!(batch.live().count(), 0);
    assert!(matches!(
        stage.ledger_error(),
        Some(LedgerError::Lost { .. })
    ));
    for index in 0..5 {
        let dropped = Disposition::Drop(codes.code(DropReason::SequenceExhausted));
        assert_eq!(batch.disposition(index), dropped);
    }
    // It is back: the next batch goes through.
    fs::rename(&aside, &path).expect("renamed");
    process(&mut classify, &mut stage, &mut batch, 5);
    assert_eq!(batch.live().count(), 5);
    stage.finish().expect("written back");
    drop(stage);
    assert_eq!(numbers(&run(&gcm(), &path, 1)), [(8, 8)]);
}

/// While the ledger is being written, live packets go on as far as numbers are
/// reserved, and are then dropped and counted; none waits.
#[test]
fn live_packets_never_wait_for_the_ledger() {
    let (_directory, path) = place();
    let sequences = sequences(&path, NewKeys::All);
    let file = load(&gcm());
    let mut classify = weir_ipsec::ClassifyOutbound::new(file.databases().clone());
    let mut stage = file
        .protect(&sequences, Output::Live, 1)
        .expect("a stage")
        .remove(0);
    let writing = File::open(path.join("generation")).expect("the file");
    writing.lock().expect("a commit that takes long");
    let mut batch = Batch::new(BatchLimits::default());
    let codes = process(&mut classify, &mut stage, &mut batch, 25);
    assert_eq!(batch.live().count() as u64, RESERVE);
    let pending = Disposition::Drop(codes.code(DropReason::ReservationPending));
    assert!((RESERVE as usize..25).all(|index| batch.disposition(index) == pending));
    assert!(stage.ledger_error().is_none());
    writing.unlock().expect("done");
    // Granted before long: nothing depends on when.
    loop {
        process(&mut classify, &mut stage, &mut batch, 1);
        if batch.live().count() == 1 {
            break;
        }
        std::thread::yield_now();
    }
    stage.finish().expect("written back");
    drop(stage);
    assert_eq!(numbers(&run(&gcm(), &path, 1)), [(12, 12)]);
}

/// Numbers without ESN end at 2^32 - 1 (RFC 4303, section 3.3.3); with ESN they
/// go on, and a receiver who saw the last ones follows.
#[test]
fn numbers_pass_32_bits_with_esn_only() {
    for esn in [false, true] {
        let (_directory, path) = place();
        let text = one(
            "aes-128-gcm-16",
            "tunnel",
            &format!("{TUNNEL4}\nesn = {esn}"),
        );
        let first = u64::from(u32::MAX) - 149;
        let late = text.replace("esn", &format!("expected_sequence = {first}\nesn"));
        let run = first_run(&late, &path, 400);
        if esn {
            assert_eq!(run.drops(), []);
            assert_eq!(numbers(&run)[150], (0, 1 << 32));
            let back = unprotect(&text, LinkType::RawIp, &run.records);
            assert_eq!((back.drops(), back.records), (vec![], packets(400)));
        } else {
            assert_eq!(run.drops(), [(DropReason::SequenceExhausted, 250)]);
            assert_eq!(numbers(&run)[149], (u32::MAX, u64::from(u32::MAX)));
        }
    }
}

/// A configured number may raise that of the ledger, and never lower it.
#[test]
fn the_ledger_decides_about_expected_numbers() {
    let (_directory, path) = place();
    let expecting = |number: u64| {
        let more = format!("{TUNNEL4}\nexpected_sequence = {number}");
        one("aes-128-gcm-16", "tunnel", &more)
    };
    drop(first_run(&gcm(), &path, 5));
    assert_eq!(
        numbers(&run(&expecting(1000), &path, 2)),
        [(1000, 1000), (1001, 1001)]
    );
    assert_eq!(numbers(&run(&gcm(), &path, 1)), [(1002, 1002)]);
    let error = open(&expecting(1002), &path, NewKeys::All).err();
    assert!(matches!(
        error,
        Some(GatewayError::SequenceUsed {
            expected: 1002,
            next_sequence: 1003,
            ..
        })
    ));
    assert_eq!(numbers(&run(&expecting(1003), &path, 1)), [(1003, 1003)]);
}

#[test]
fn lifetimes_count_over_runs() {
    let (_directory, path) = place();
    let text = one(
        "aes-128-gcm-16",
        "tunnel",
        &format!("{TUNNEL4}\nhard_lifetime = {{ packets = 20 }}"),
    );
    assert_eq!(first_run(&text, &path, 15).drops(), []);
    let second = run(&text, &path, 15);
    assert_eq!(second.drops(), [(DropReason::LifetimeExpired, 10)]);
    assert_eq!(protect_stage(&second).protected(), 5);
}

#[test]
fn every_key_that_seals_is_in_the_ledger() {
    for suite in [
        "aes-128-gcm-16",
        "chacha20-poly1305",
        "aes-128-ctr+hmac-sha1-96",
        "aes-128-cbc+hmac-sha1-96",
        "null+hmac-sha1-96",
        "3des-cbc+hmac-sha1-96",
    ] {
        let (_directory, path) = place();
        let text = one(suite, "tunnel", TUNNEL4);
        assert!(open(&text, &path, NewKeys::NONE).is_err(), "{suite}");
        let numbers = |run: &Run| -> Vec<u8> {
            let records = run.records.iter();
            records.map(|packet| packet[27]).collect()
        };
        assert_eq!(numbers(&first_run(&text, &path, 2)), [1, 2], "{suite}");
        assert_eq!(numbers(&run(&text, &path, 2)), [3, 4], "{suite}");
    }
    // Nobody seals with it.
    let (directory, path) = place();
    let inbound = gcm().replace("[[policy]]", "[[policy]]\ndirection = \"inbound\"");
    assert!(open(&inbound, &path, NewKeys::NONE).is_ok());
    assert_eq!(
        fs::read_dir(directory.path()).expect("a listing").count(),
        0
    );
}

/// CBC's IVs are random in a run with real keys, and the same in a repeatable
/// one.
#[test]
fn ivs_of_cbc_repeat_only_where_asked_for() {
    let (_directory, path) = place();
    let text = one("aes-128-cbc+hmac-sha1-96", "tunnel", TUNNEL4);
    let ivs = |sequences: &Sequences| -> Vec<Vec<u8>> {
        let run = protect_with(load(&text), sequences, LinkType::RawIp, &packets(50));
        run.records
            .iter()
            .map(|packet| packet[28..44].to_vec())
            .collect()
    };
    let recorded = sequences(&path, NewKeys::All);
    let random = [ivs(&recorded), ivs(&recorded)].concat();
    assert_eq!(random.iter().collect::<HashSet<_>>().len(), 100);
    let repeatable = Sequences::RepeatableInsecure;
    assert_eq!(ivs(&repeatable), ivs(&repeatable));
}

#[test]
fn repeatable_output_is_not_for_networks() {
    let error = load(&gcm())
        .protect(&Sequences::RepeatableInsecure, Output::Live, 1)
        .err();
    assert!(matches!(error, Some(GatewayError::RepeatableLive)));
}

/// Several shards share one ledger; each association's numbers are its own.
#[test]
fn shards_share_the_ledger() {
    let (_directory, path) = place();
    let text: String = (0..4u8)
        .map(|n| {
            let name = format!("sa{n}");
            let spi = 0x1000 + u32::from(n);
            keyed_association(&name, spi, "aes-128-gcm-16", "tunnel", TUNNEL4, n)
                + &format!(
                    "[[policy]]\nprotocol = {}\naction = \"protect\"\nsa = {name:?}\n",
                    100 + n
                )
        })
        .collect();
    let file = load(&text);
    let databases = file.databases().clone();
    let stages = file
        .protect(&sequences(&path, NewKeys::All), Output::Capture, 3)
        .expect("stages");
    let records: Vec<Vec<u8>> = (0..1000usize)
        .map(|n| ipv4(100 + (n % 4) as u8, &[]))
        .collect();
    let shards = stages
        .into_iter()
        .map(|stage| -> Vec<Box<dyn Stage>> {
            let classify = weir_ipsec::ClassifyOutbound::new(databases.clone());
            vec![Box::new(classify), Box::new(stage)]
        })
        .collect();
    let outcome =
        weir_stream::Pipeline::new(weir_stream::MemorySource::new(LinkType::RawIp, &records))
            .shards(shards)
            .run()
            .expect("a run");
    assert_eq!(outcome.statistics.forwarded(), 1000);
    let more = protect_with(
        load(&text),
        &sequences(&path, NewKeys::NONE),
        LinkType::RawIp,
        &records[..4],
    );
    assert_eq!(numbers(&more).len(), 4);
    assert!(numbers(&more).iter().all(|(number, _)| *number == 251));
    let busy = outcome
        .stages::<Protect>()
        .filter(|stage| stage.protected() > 0);
    assert_eq!(busy.count(), 3);
}
