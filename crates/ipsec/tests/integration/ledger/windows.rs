//! Replay windows that survive a restart.

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
