use std::fs;

use tempfile::TempDir;

use super::*;
use crate::{Fingerprint, Kind, Owner};

fn key(number: u32) -> JournalKey {
    let mut key = [0; KEY_BYTES];
    key[..4].copy_from_slice(&number.to_be_bytes());
    key
}

fn open(directory: &TempDir) -> Result<Journal, LedgerError> {
    let key = KeyIdentity {
        kind: Kind::ReplayWindow,
        fingerprint: Fingerprint::over("test", &[b"table"]),
        owner: Owner::new("test", "table"),
        may_be_new: true,
    };
    Journal::open(&directory.path().join("ledger"), &key)
}

fn file(directory: &TempDir) -> PathBuf {
    let files = fs::read_dir(directory.path().join("ledger")).expect("a ledger");
    let mut paths = files.map(|file| file.expect("a file").path());
    paths
        .find(|path| path.to_string_lossy().contains("journal-"))
        .expect("one")
}

fn put(journal: &Journal, entries: &[(u32, Option<u64>)]) {
    let entries = entries
        .iter()
        .map(|(number, value)| (key(*number), value.map(|value| [value, 0, 7])));
    let change = journal.put(entries);
    journal.wait(change).expect("written");
    assert!(journal.is_written(change).expect("written"));
}

fn table(journal: &Journal) -> Vec<(u32, u64)> {
    let number = |key: JournalKey| u32::from_be_bytes([key[0], key[1], key[2], key[3]]);
    let mut table: Vec<(u32, u64)> = (journal.entries().into_iter())
        .map(|(key, value)| {
            assert_eq!(value[1..], [0, 7]);
            (number(key), value[0])
        })
        .collect();
    table.sort_unstable();
    table
}

#[test]
fn what_is_written_comes_back() {
    let directory = tempfile::tempdir().expect("a directory");
    for opening in 0..4u64 {
        let journal = open(&directory).expect("a table");
        match opening {
            0 => assert!(table(&journal).is_empty()),
            _ => assert_eq!(table(&journal), [(1, opening - 1), (3, 30)]),
        }
        assert!(matches!(open(&directory), Err(LedgerError::InUse { .. })));
        put(
            &journal,
            &[(1, Some(opening)), (2, Some(20)), (3, Some(30))],
        );
        put(&journal, &[(2, None)]);
        // Nothing is a change that is written.
        put(&journal, &[]);
    }
}

/// Of a change that is cut anywhere nothing is there, and all of those before.
#[test]
fn a_crash_cuts_the_last_change() {
    let directory = tempfile::tempdir().expect("a directory");
    let journal = open(&directory).expect("a table");
    put(&journal, &[(1, Some(1)), (2, Some(2))]);
    drop(journal);
    // The opening wrote both anew, in one change.
    drop(open(&directory).expect("a table"));
    let before = fs::read(file(&directory)).expect("a file");
    let journal = open(&directory).expect("a table");
    put(&journal, &[(1, Some(10)), (2, None), (3, Some(3))]);
    drop(journal);
    let whole = fs::read(file(&directory)).expect("a file");
    assert_eq!(whole.len(), before.len() + 4 * BLOCK_BYTES);
    for bytes in (before.len()..whole.len()).step_by(7) {
        for filler in [None, Some(0), Some(0xff)] {
            let mut cut = whole[..bytes].to_vec();
            if let Some(filler) = filler {
                cut.resize(whole.len(), filler);
            }
            let copy = tempfile::tempdir().expect("a directory");
            // The same ledger, so that it is none of another.
            let mut journal = JournalFile {
                directory: copy.path().into(),
                path: copy.path().join("journal"),
                ledger_id: whole[16..32].try_into().expect("16 bytes"),
                opening: 1,
                file: None,
                bytes: 0,
                changes: 0,
            };
            fs::write(&journal.path, &cut).expect("written");
            let found = File::open(&journal.path).expect("a file");
            let (_, table) = journal.read(found).expect("a table");
            assert_eq!(table.len(), 2, "{bytes}");
            assert_eq!(table.get(&key(1)), Some(&[1, 0, 7]));
        }
    }
}

#[test]
fn a_table_that_is_not_the_newest_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let journal = open(&directory).expect("a table");
    put(&journal, &[(1, Some(1))]);
    drop(journal);
    let path = file(&directory);
    let older = fs::read(&path).expect("a file");
    let journal = open(&directory).expect("a table");
    put(&journal, &[(1, Some(2))]);
    put(&journal, &[(1, Some(3))]);
    drop(journal);
    let newest = fs::read(&path).expect("a file");

    let refused = |bytes: Option<&[u8]>| {
        match bytes {
            Some(bytes) => fs::write(&path, bytes).expect("written"),
            None => fs::remove_file(&path).expect("removed"),
        }
        open(&directory).expect_err("refused")
    };
    let is_damaged = |error: LedgerError| matches!(error, LedgerError::Damaged { .. });
    assert!(is_damaged(refused(Some(&older))));
    assert!(is_damaged(refused(None)));
    assert!(is_damaged(refused(Some(&newest[..BLOCK_BYTES - 1]))));
    let mut other = newest.clone();
    other[17] ^= 1;
    assert!(is_damaged(refused(Some(&other))));
    let checksum = checksum(&other[..CHECKSUM_AT], &[]);
    other[CHECKSUM_AT..BLOCK_BYTES].copy_from_slice(&checksum);
    assert!(matches!(refused(Some(&other)), LedgerError::Copied { .. }));
    // In front of the last change: no crash does that.
    let last = newest.len() - 2 * BLOCK_BYTES;
    for at in (BLOCK_BYTES..last).step_by(11) {
        let mut damaged = newest.clone();
        damaged[at] ^= 0x10;
        assert!(is_damaged(refused(Some(&damaged))), "{at}");
    }
    fs::write(&path, &newest).expect("written");
    assert_eq!(table(&open(&directory).expect("intact")), [(1, 3)]);
}

#[test]
fn the_file_stays_in_proportion_to_its_table() {
    let directory = tempfile::tempdir().expect("a directory");
    let journal = open(&directory).expect("a table");
    for round in 0..100u64 {
        let entries: Vec<_> = (0..500).map(|number| (number, Some(round))).collect();
        put(&journal, &entries);
        let bytes = fs::metadata(file(&directory)).expect("a file").len();
        assert!(bytes < SPARE_BYTES + 4 * 501 * BLOCK_BYTES as u64);
    }
    drop(journal);
    let journal = open(&directory).expect("a table");
    let expected: Vec<_> = (0..500).map(|number| (number, 99)).collect();
    assert_eq!(table(&journal), expected);
}

/// What could not be written is written with the next change that can be.
#[test]
fn a_change_that_failed_is_taken_along() {
    let directory = tempfile::tempdir().expect("a directory");
    let journal = open(&directory).expect("a table");
    let (path, ledger) = (file(&directory), directory.path().join("ledger"));
    // Another file in its place, and then no directory to write it anew in.
    fs::rename(&path, directory.path().join("aside")).expect("moved");
    let change = journal.put([(key(1), Some([1, 0, 7]))]);
    assert!(journal.wait(change).is_err());
    fs::rename(&ledger, directory.path().join("elsewhere")).expect("moved");
    let change = journal.put([(key(2), Some([2, 0, 7]))]);
    assert!(journal.wait(change).is_err());
    fs::rename(directory.path().join("elsewhere"), &ledger).expect("moved");
    put(&journal, &[(3, Some(3))]);
    drop(journal);
    let journal = open(&directory).expect("a table");
    assert_eq!(table(&journal), [(1, 1), (2, 2), (3, 3)]);
}
