//! Sequence numbers of static keys over restarts, crashes and broken files.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{
    Run, TUNNEL4, ipv4, key, keyed_association, load, one, protect_stage, protect_with, unprotect,
};
use weir_ipsec::{GatewayError, Output, Protect, Sequences, StateError};
use weir_packet::wire::LinkType;
use weir_stream::{Batch, BatchLimits, DropReason, Stage};

/// Small, so that a run reserves several times.
const RESERVE: u64 = 10;

fn sequences(path: &Path, initialize: bool) -> Sequences {
    Sequences::StateFile {
        path: path.into(),
        initialize,
        reserve: RESERVE,
    }
}

fn gcm() -> String {
    one("aes-128-gcm-16", "tunnel", TUNNEL4)
}

fn packets(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|n| ipv4(99, &key(n % 50, 1))).collect()
}

fn run(text: &str, path: &Path, initialize: bool, count: usize) -> Run {
    protect_with(
        load(text),
        &sequences(path, initialize),
        LinkType::RawIp,
        &packets(count),
    )
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

fn open(text: &str, path: &Path, initialize: bool) -> Result<Vec<Protect>, GatewayError> {
    load(text).protect(&sequences(path, initialize), Output::Capture, 1)
}

fn state_error(text: &str, path: &Path, initialize: bool) -> StateError {
    match open(text, path, initialize) {
        Err(GatewayError::State(error)) => error,
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("no error"),
    }
}

/// A directory, and the state file's path in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("sa.state");
    (directory, path)
}

fn next_sequence(path: &Path) -> Vec<u64> {
    fs::read_to_string(path)
        .expect("a state file")
        .lines()
        .filter_map(|line| line.strip_prefix("next_sequence = ")?.parse().ok())
        .collect()
}

#[test]
fn runs_share_no_number_and_no_iv() {
    let (_directory, path) = place();
    let mut seen = HashSet::new();
    for (round, count) in [35, 1, 0, 300].into_iter().enumerate() {
        let run = run(&gcm(), &path, round == 0, count);
        assert_eq!(run.drops(), []);
        for (number, iv) in numbers(&run) {
            assert_eq!(u64::from(number), iv);
            assert!(seen.insert(iv), "{iv} twice");
        }
    }
    // Runs that ended in order left no gaps.
    assert_eq!(seen.len(), 336);
    assert_eq!(seen.iter().max(), Some(&336));
    assert_eq!(next_sequence(&path), [337]);
}

/// A stage that never finishes is a process that died: what it had reserved is
/// gone, used or not.
#[test]
fn a_crash_skips_and_never_repeats() {
    let (_directory, path) = place();
    drop(run(&gcm(), &path, true, 3));
    assert_eq!(next_sequence(&path), [4]);

    let mut stage = open(&gcm(), &path, false).expect("a stage").remove(0);
    let batch = &mut Batch::new(BatchLimits::default());
    stage.process(batch).expect("nothing to do");
    drop(stage);
    assert_eq!(next_sequence(&path), [4], "nothing was reserved");

    let crashed = crash(&path, 12);
    assert_eq!(crashed, (4..16).collect::<Vec<u32>>());
    // Two ranges of ten were reserved from 4 on.
    assert_eq!(next_sequence(&path), [24]);
    let after = run(&gcm(), &path, false, 2);
    assert_eq!(numbers(&after).first(), Some(&(24, 24)));
}

/// Protects packets and drops the stage without finishing it.
fn crash(path: &Path, count: usize) -> Vec<u32> {
    let file = load(&gcm());
    let mut classify = weir_ipsec::ClassifyOutbound::new(file.databases().clone());
    let mut stage = file
        .protect(&sequences(path, false), Output::Capture, 1)
        .expect("a stage")
        .remove(0);
    let mut batch = Batch::new(BatchLimits::default());
    let mut source = weir_stream::MemorySource::new(LinkType::RawIp, &packets(count));
    source.process(&mut batch).expect("packets");
    classify.process(&mut batch).expect("a verdict");
    stage.process(&mut batch).expect("protection");
    let numbers = batch.live().map(|index| {
        let record = batch.record(index);
        u32::from_be_bytes([record[24], record[25], record[26], record[27]])
    });
    numbers.collect()
}

#[test]
fn a_missing_file_is_made_only_when_asked_for() {
    let (directory, path) = place();
    assert!(matches!(
        state_error(&gcm(), &path, false),
        StateError::Missing { .. }
    ));
    assert_eq!(
        fs::read_dir(directory.path()).expect("a listing").count(),
        0
    );
    drop(run(&gcm(), &path, true, 5));
    // Asking again resets nothing.
    assert_eq!(numbers(&run(&gcm(), &path, true, 1)), [(6, 6)]);

    fs::remove_file(&path).expect("removed");
    assert!(matches!(
        state_error(&gcm(), &path, true),
        StateError::Lost { .. }
    ));
    assert!(matches!(
        state_error(&gcm(), &path, false),
        StateError::Lost { .. }
    ));
}

#[test]
fn an_older_file_is_noticed() {
    let (directory, path) = place();
    drop(run(&gcm(), &path, true, 5));
    let backup = directory.path().join("backup");
    fs::copy(&path, &backup).expect("a copy");
    drop(run(&gcm(), &path, false, 5));
    fs::copy(&backup, &path).expect("the copy back");
    for initialize in [false, true] {
        let error = state_error(&gcm(), &path, initialize);
        assert!(matches!(error, StateError::Stale { .. }), "{error}");
    }

    // A copy elsewhere lacks its companion.
    let elsewhere = directory.path().join("elsewhere");
    fs::copy(&backup, &elsewhere).expect("a copy");
    for initialize in [false, true] {
        let error = state_error(&gcm(), &elsewhere, initialize);
        assert!(matches!(error, StateError::Copied { .. }), "{error}");
    }
}

#[test]
fn associations_of_a_batch_reserve_in_one_writing() {
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
    let run = protect_with(
        load(&text),
        &sequences(&path, true),
        LinkType::RawIp,
        &packets,
    );
    assert_eq!(run.drops(), []);
    let spis: HashSet<&[u8]> = run.records.iter().map(|packet| &packet[20..24]).collect();
    assert!(spis.len() > 5, "{} associations have packets", spis.len());
    // The file is made, numbers are reserved, and what is left goes back.
    let state = fs::read_to_string(&path).expect("the state file");
    assert!(state.contains("generation = 3\n"), "{state}");
    // Of one batch, so that no association needed a second range.
    assert!(
        numbers(&run)
            .iter()
            .all(|(number, _)| u64::from(*number) <= RESERVE)
    );
}

#[test]
fn one_process_at_a_time() {
    let (_directory, path) = place();
    let first = open(&gcm(), &path, true).expect("a stage");
    assert!(matches!(
        state_error(&gcm(), &path, false),
        StateError::Locked { .. }
    ));
    drop(first);
    assert!(open(&gcm(), &path, false).is_ok());
}

#[test]
fn keys_are_known_by_themselves() {
    let (_directory, path) = place();
    let with_key = |start: u8, spi: u32| {
        keyed_association("one", spi, "aes-128-gcm-16", "tunnel", TUNNEL4, start)
            + "[[policy]]\naction = \"protect\"\nsa = \"one\"\n"
    };
    assert_eq!(numbers(&run(&with_key(1, 0x1001), &path, true, 7)).len(), 7);
    // A new key under the same SPI begins at 1 and leaves the old one's entry.
    assert_eq!(
        numbers(&run(&with_key(2, 0x1001), &path, false, 1)),
        [(1, 1)]
    );
    assert_eq!(next_sequence(&path).len(), 2);
    // The old key comes back, under another SPI: it goes on.
    assert_eq!(
        numbers(&run(&with_key(1, 0x2002), &path, false, 1)),
        [(8, 8)]
    );
    // The same key and salt in another suite would repeat a key stream.
    let other_suite = with_key(1, 0x1001)
        .replace("aes-128-gcm-16", "aes-128-ctr+hmac-sha1-96")
        .replace(
            "mode",
            &format!("integrity_key = \"{}\"\nmode", "11".repeat(20)),
        );
    assert_eq!(numbers(&run(&other_suite, &path, false, 1)), [(9, 9)]);
}

#[test]
fn damaged_files_are_refused_with_their_place() {
    let (_directory, path) = place();
    drop(run(&gcm(), &path, true, 5));
    let right = fs::read_to_string(&path).expect("a state file");
    for (from, to) in [
        ("next_sequence = 6", "next_sequence = 0"),
        ("next_sequence = 6", "next_sequence = -6"),
        ("next_sequence = 6", "next_sequence = \"6\""),
        ("next_sequence = 6", ""),
        ("fingerprint = \"", "fingerprint = \"zz"),
        ("[[key]]", "[[keys]]"),
        ("generation", "[generation"),
        ("[[key]]", "[[key]]\nnonce = 1"),
    ] {
        let wrong = right.replace(from, to);
        assert_ne!(wrong, right, "{from}");
        fs::write(&path, wrong).expect("written");
        let error = state_error(&gcm(), &path, false);
        assert!(
            matches!(error, StateError::Malformed { .. }),
            "{from}: {error}"
        );
    }
    let twice = right.clone() + &right[right.find("[[key]]").expect("an entry")..];
    fs::write(&path, twice).expect("written");
    assert!(matches!(
        state_error(&gcm(), &path, false),
        StateError::Malformed { .. }
    ));
    fs::write(&path, [0xff, 0xfe]).expect("written");
    assert!(matches!(
        state_error(&gcm(), &path, false),
        StateError::System { .. }
    ));
    fs::write(&path, right).expect("written");
    assert!(open(&gcm(), &path, false).is_ok());
}

/// Where nothing can be written, nothing is sealed, and the error is kept.
#[test]
fn a_full_disk_fails_closed() {
    let (directory, path) = place();
    drop(run(&gcm(), &path, true, 2));
    let file = load(&gcm());
    let classify = weir_ipsec::ClassifyOutbound::new(file.databases().clone());
    let stage = file
        .protect(&sequences(&path, false), Output::Capture, 1)
        .expect("a stage")
        .remove(0);
    // A directory in the way of the temporary file can be written by nobody,
    // not even by root.
    let in_the_way = directory.path().join("sa.state.tmp");
    fs::create_dir(&in_the_way).expect("a directory");
    fs::write(in_the_way.join("file"), "").expect("a file");

    let mut source = weir_stream::MemorySource::new(LinkType::RawIp, &packets(5));
    let (mut classify, mut stage) = (classify, stage);
    let mut batch = Batch::new(BatchLimits::default());
    source.process(&mut batch).expect("packets");
    classify.process(&mut batch).expect("verdicts");
    stage.process(&mut batch).expect("drops are no error");
    assert_eq!(batch.live().count(), 0);
    assert!(matches!(
        stage.state_error(),
        Some(StateError::System { .. })
    ));
    for index in 0..5 {
        let dropped = weir_stream::Disposition::Drop(DropReason::SequenceExhausted);
        assert_eq!(batch.disposition(index), dropped);
    }
    assert_eq!(next_sequence(&path), [3], "the old file is whole");

    // The disk has room again: the next batch goes through.
    fs::remove_dir_all(&in_the_way).expect("removed");
    let mut source = weir_stream::MemorySource::new(LinkType::RawIp, &packets(5));
    batch.clear();
    source.process(&mut batch).expect("packets");
    classify.process(&mut batch).expect("verdicts");
    stage.process(&mut batch).expect("protection");
    assert_eq!(batch.live().count(), 5);
    stage.finish().expect("written back");
    assert_eq!(next_sequence(&path), [8]);
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
        drop(run(&text, &path, true, 1));
        let first = u64::from(u32::MAX) - 149;
        let state = fs::read_to_string(&path).expect("a state file");
        let late = state.replace("next_sequence = 2", &format!("next_sequence = {first}"));
        assert_ne!(late, state);
        fs::write(&path, late).expect("written");

        let run = run(&text, &path, false, 400);
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

#[test]
fn lifetimes_count_over_runs() {
    let (_directory, path) = place();
    let text = one(
        "aes-128-gcm-16",
        "tunnel",
        &format!("{TUNNEL4}\nhard_lifetime = {{ packets = 20 }}"),
    );
    assert_eq!(run(&text, &path, true, 15).drops(), []);
    let second = run(&text, &path, false, 15);
    assert_eq!(second.drops(), [(DropReason::LifetimeExpired, 10)]);
    assert_eq!(protect_stage(&second).protected(), 5);
}

#[test]
fn only_suites_that_count_need_a_state_file() {
    let (_directory, path) = place();
    for (suite, needs) in [
        ("aes-128-gcm-16", true),
        ("chacha20-poly1305", true),
        ("aes-128-ctr+hmac-sha1-96", true),
        ("aes-128-cbc+hmac-sha1-96", false),
        ("null+hmac-sha1-96", false),
        ("3des-cbc+hmac-sha1-96", true),
    ] {
        let text = one(suite, "tunnel", TUNNEL4);
        assert_eq!(load(&text).needs_state(), needs, "{suite}");
        assert_eq!(open(&text, &path, false).is_ok(), !needs, "{suite}");
    }
    // Nobody seals with it.
    let inbound = one("aes-128-gcm-16", "tunnel", TUNNEL4)
        .replace("[[policy]]", "[[policy]]\ndirection = \"inbound\"");
    assert!(!load(&inbound).needs_state());
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
    let random = [ivs(&sequences(&path, false)), ivs(&sequences(&path, false))].concat();
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

/// Several shards share one state file; each association's numbers are its own.
#[test]
fn shards_share_the_file() {
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
    let steer = file.databases().steer_outbound();
    let databases = file.databases().clone();
    let stages = file
        .protect(&sequences(&path, true), Output::Capture, 3)
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
            .steer(steer)
            .run()
            .expect("a run");
    assert_eq!(outcome.statistics.forwarded(), 1000);
    assert_eq!(next_sequence(&path), [251; 4]);
    let busy = outcome
        .stages::<Protect>()
        .filter(|stage| stage.protected() > 0);
    assert_eq!(busy.count(), 3);
}
