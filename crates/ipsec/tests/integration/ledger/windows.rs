//! Replay windows that survive a restart.

use std::path::{Path, PathBuf};

use weir_ipsec::{DropReason, GatewayError, LedgerError, Output, Windows};
use weir_packet::wire::LinkType;
use weir_stream::Stage;

use super::{gcm, packets, place};
use crate::common::{TUNNEL4, load, one, unprotect_with};

/// Runs of one receiver over the same packets, `windows` each.
fn receive(text: &str, windows: &Windows, records: &[Vec<u8>]) -> (u64, u64) {
    let run = unprotect_with(load(text), windows, LinkType::RawIp, records);
    let replays = run.drops().into_iter().map(|(reason, count)| match reason {
        DropReason::Replay => count,
        other => panic!("{other:?}"),
    });
    (run.records.len() as u64, replays.sum())
}

#[test]
fn what_was_received_stays_received_where_windows_are_kept() {
    let sent = crate::common::protect(&gcm(), LinkType::RawIp, &packets(60)).records;
    for (replay_state, input, keeps) in [
        ("", Output::Capture, false),
        ("", Output::Live, true),
        ("replay_state = \"keep\"", Output::Capture, true),
        ("replay_state = \"forget\"", Output::Live, false),
    ] {
        let (_directory, path) = place();
        let more = format!("{TUNNEL4}\n{replay_state}");
        let text = one("aes-128-gcm-16", "tunnel", &more);
        let windows = Windows::Ledger {
            path: path.clone(),
            input,
            marks: None,
        };
        if input == Output::Capture {
            assert_eq!(receive(&text, &windows, &sent[..40]), (40, 0));
        } else {
            // The first packets may come before the ledger has granted numbers.
            let file = load(&text);
            let mut stage = file.unprotect(&windows, 1).expect("a stage").remove(0);
            for record in &sent[..40] {
                while let Err(reason) = stage.unprotect_record(LinkType::RawIp, record) {
                    assert_eq!(reason, DropReason::ReservationPending);
                }
            }
            stage.finish().expect("written down");
        }
        assert_eq!(path.exists(), keeps);
        let windows = Windows::Ledger {
            path: path.clone(),
            input: Output::Capture,
            marks: None,
        };
        let again = match input {
            Output::Live if keeps => one(
                "aes-128-gcm-16",
                "tunnel",
                &format!("{TUNNEL4}\nreplay_state = \"keep\""),
            ),
            _ => text.clone(),
        };
        let expected = if keeps { (20, 40) } else { (60, 0) };
        assert_eq!(receive(&again, &windows, &sent), expected, "{replay_state}");
        // Another SPI or key is another receiver.
        let other = again.replace("4097", "4098");
        assert_eq!(receive(&other, &Windows::Empty, &[]), (0, 0));
    }
}

#[test]
fn after_a_crash_numbers_up_to_the_bound_count_as_seen() {
    let (_directory, path) = place();
    let more = format!("{TUNNEL4}\nreplay_state = \"keep\"");
    let text = one("aes-128-gcm-16", "tunnel", &more);
    let windows = Windows::Ledger {
        path: path.clone(),
        input: Output::Capture,
        marks: None,
    };
    let sent = crate::common::protect(&text, LinkType::RawIp, &packets(50)).records;
    let file = load(&text);
    let mut stage = file.unprotect(&windows, 1).expect("a stage").remove(0);
    for record in &sent[..10] {
        let opened = stage.unprotect_record(LinkType::RawIp, record);
        assert!(matches!(opened, Ok(Some(_))));
    }
    // The key is in use; nobody opens with it beside.
    let error = load(&text).unprotect(&windows, 1).err();
    assert!(matches!(
        error,
        Some(GatewayError::Ledger(LedgerError::InUse { .. }))
    ));
    drop(stage);
    // Those that were not received before the crash are lost with them.
    assert_eq!(receive(&text, &windows, &sent), (0, 50));
    let later = text.replace("mode", "expected_sequence = 70000\nmode");
    let sent = crate::common::protect(&later, LinkType::RawIp, &packets(50)).records;
    assert_eq!(receive(&text, &windows, &sent), (50, 0));
    assert_eq!(receive(&text, &windows, &sent), (0, 50));
}

/// A live receiver whose process is killed behind the last packet: how many it accepted.
fn receive_until_killed(path: &Path, marks: Option<PathBuf>, records: &[Vec<u8>]) -> usize {
    let windows = Windows::Ledger {
        path: path.into(),
        input: Output::Live,
        marks,
    };
    let file = load(&gcm());
    let mut stage = file.unprotect(&windows, 1).expect("a stage").remove(0);
    let mut accepts = |record: &Vec<u8>| {
        loop {
            match stage.unprotect_record(LinkType::RawIp, record) {
                Ok(opened) => return opened.is_some(),
                Err(DropReason::Replay) => return false,
                Err(reason) => assert_eq!(reason, DropReason::ReservationPending),
            }
        }
    };
    records.iter().filter(|record| accepts(record)).count()
}

#[test]
fn a_process_that_is_killed_costs_no_number_where_there_are_marks() {
    let (directory, path) = place();
    let sent = crate::common::protect(&gcm(), LinkType::RawIp, &packets(400)).records;
    let marks = Some(directory.path().join("marks"));
    let receive = |records| receive_until_killed(&path, marks.clone(), records);
    assert_eq!(receive(&sent[..40]), 40);
    assert_eq!(receive(&sent[..43]), 3, "the next ones, and none again");
    assert_eq!(receive(&sent[..200]), 157);
    assert_eq!(receive(&sent[..200]), 0);
    assert_eq!(receive(&sent[200..201]), 1);
}

#[test]
fn a_mark_that_others_have_overtaken_is_not_believed() {
    let (directory, path) = place();
    let sent = crate::common::protect(&gcm(), LinkType::RawIp, &packets(4000)).records;
    let marks = Some(directory.path().join("marks"));
    assert_eq!(receive_until_killed(&path, marks.clone(), &sent[..40]), 40);
    // A run without marks goes on behind the bound: it is lost up to there.
    let accepted = receive_until_killed(&path, None, &sent[40..300]);
    assert!((1..260).contains(&accepted), "{accepted}");
    assert_eq!(receive_until_killed(&path, marks.clone(), &sent[..300]), 0);
    // All that is behind the bound.
    let accepted = receive_until_killed(&path, marks.clone(), &sent[300..]);
    assert!(accepted > 0, "{accepted}");
    // Marks that are gone, and a place for them that is none.
    std::fs::remove_dir_all(directory.path().join("marks")).expect("removed");
    assert_eq!(receive_until_killed(&path, marks.clone(), &sent), 0);
    std::fs::remove_dir_all(directory.path().join("marks")).expect("removed");
    std::fs::write(directory.path().join("marks"), "no directory").expect("written");
    assert_eq!(receive_until_killed(&path, marks, &sent), 0);
}
