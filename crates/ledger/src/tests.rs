//! Slots and commits, torn and shared.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;

use super::slot::{Codec, Entry, Kind, Pair, Progress};
use super::store::{Store, check};
use super::{Fingerprint, KeyIdentity, LedgerError, Owner};

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ledger");
    (directory, path)
}

/// Key number `number`, which may be new.
fn key(number: u32) -> KeyIdentity {
    KeyIdentity {
        kind: Kind::Sealing,
        fingerprint: Fingerprint::over("test", &[&number.to_be_bytes()]),
        owner: Owner::new("key", number.to_string()),
        may_be_new: true,
    }
}

fn up_to(next_sequence: u64) -> Progress {
    Progress {
        next_sequence,
        bytes: 10 * next_sequence,
    }
}

fn open(path: &Path, numbers: &[u32]) -> Result<(Store, Vec<Progress>), LedgerError> {
    let keys: Vec<KeyIdentity> = numbers.iter().copied().map(key).collect();
    Store::open(path, &keys)
}

/// How far a key has come.
fn progress(path: &Path, number: u32) -> Progress {
    open(path, &[number]).expect("a ledger").1[0]
}

#[test]
fn a_pair_is_worth_its_farther_whole_copy() {
    let codec = Codec::new(&[7; 16]);
    let entry = |next_sequence, generation| Entry {
        kind: Kind::Sealing,
        fingerprint: key(1).fingerprint,
        progress: up_to(next_sequence),
        generation,
    };
    let [old, new] = [entry(5, 1), entry(9, 2)].map(|entry| codec.encode(3, &entry));
    let whole = |entry| Pair::Entry(entry);
    assert_eq!(codec.decode_pair(3, &old, &old), whole(entry(5, 1)));
    // A crash between both writes, and a run that gave numbers back before it.
    assert_eq!(codec.decode_pair(3, &new, &old), whole(entry(9, 2)));
    assert_eq!(codec.decode_pair(3, &old, &new), whole(entry(9, 2)));
    for bit in 0..8 * 64 {
        let mut torn = new;
        torn[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(
            codec.decode_pair(3, &torn, &old),
            whole(entry(5, 1)),
            "{bit}"
        );
        assert_eq!(
            codec.decode_pair(3, &old, &torn),
            whole(entry(5, 1)),
            "{bit}"
        );
        assert_eq!(codec.decode_pair(3, &torn, &torn), Pair::Damaged, "{bit}");
    }
    // Half of a copy is new.
    let mut torn = old;
    torn[..40].copy_from_slice(&new[..40]);
    assert_eq!(codec.decode_pair(3, &torn, &old), whole(entry(5, 1)));
    // A slot that was never used, and one whose first writing was cut short.
    assert_eq!(codec.decode_pair(3, &[0; 64], &[0; 64]), Pair::Unused);
    assert_eq!(codec.decode_pair(3, &torn, &[0; 64]), Pair::Unused);
    assert_eq!(codec.decode_pair(3, &new, &[0; 64]), whole(entry(9, 2)));
    // Of another slot, another ledger, or two keys.
    assert_eq!(codec.decode_pair(4, &new, &new), Pair::Damaged);
    let other = Codec::new(&[8; 16]);
    assert_eq!(other.decode_pair(3, &new, &new), Pair::Damaged);
    let foreign = Entry {
        fingerprint: key(2).fingerprint,
        ..entry(9, 2)
    };
    let foreign = codec.encode(3, &foreign);
    assert_eq!(codec.decode_pair(3, &new, &foreign), Pair::Damaged);
}

#[test]
fn a_commit_cut_short_leaves_the_last_one() {
    let (_directory, path) = place();
    let (mut store, _) = open(&path, &[1]).expect("a ledger");
    store.commit(&[(0, up_to(100))]).expect("written");
    let before = ["slots", "generation"].map(|name| fs::read(path.join(name)).expect("read"));
    store.commit(&[(0, up_to(200))]).expect("written");
    drop(store);
    let after = ["slots", "generation"].map(|name| fs::read(path.join(name)).expect("read"));
    let [slots, generation] = ["slots", "generation"].map(|name| {
        File::options()
            .write(true)
            .open(path.join(name))
            .expect("a file")
    });
    // Copy A lies on the second page of the slots, copy B on the third.
    for (a, b, witness, expected) in [
        // Nothing, a part and all of copy A reached the disk.
        (0, 0, 0, 100),
        (40, 0, 0, 100),
        (64, 0, 0, 200),
        // Of copy B and the witness too.
        (64, 40, 0, 200),
        (64, 40, 20, 200),
        (64, 64, 20, 200),
        (64, 0, 48, 200),
    ] {
        slots.write_all_at(&before[0], 0).expect("written");
        generation.write_all_at(&before[1], 0).expect("written");
        slots
            .write_all_at(&after[0][4096..4096 + a], 4096)
            .expect("written");
        slots
            .write_all_at(&after[0][8192..8192 + b], 8192)
            .expect("written");
        // The place of the newer commit: its number is even or odd.
        let place = (0..4096).find(|at| before[1].get(*at) != after[1].get(*at));
        let place = if place.is_some() { 0 } else { 4096 };
        let new = &after[1][place..place + witness];
        generation.write_all_at(new, place as u64).expect("written");
        assert_eq!(progress(&path, 1), up_to(expected), "{a} {b} {witness}");
    }
}

#[test]
fn what_was_not_acknowledged_counts_if_it_is_there() {
    let (_directory, path) = place();
    drop(open(&path, &[1]).expect("a ledger"));
    let witness = fs::read(path.join("generation")).expect("read");
    let (mut store, _) = open(&path, &[2]).expect("a ledger");
    store.commit(&[(0, up_to(50))]).expect("written");
    drop(store);
    // The witness of these two commits never reached the disk.
    let file = File::options()
        .write(true)
        .open(path.join("generation"))
        .expect("a file");
    file.set_len(0).expect("emptied");
    file.write_all_at(&witness, 0).expect("written");
    assert_eq!(progress(&path, 2), up_to(50));
    // A new key takes a slot behind it.
    assert_eq!(progress(&path, 3), Progress::UNUSED);
    assert_eq!(progress(&path, 2), up_to(50));
}

#[test]
fn keys_are_added_and_locked_side_by_side() {
    const THREADS: u32 = 4;
    const KEYS: u32 = 20;
    let (_directory, path) = place();
    let add = |thread: u32| {
        for number in 0..KEYS {
            let number = thread * KEYS + number;
            let (mut store, found) = open(&path, &[number]).expect("a ledger");
            assert_eq!(found, [Progress::UNUSED]);
            let error = open(&path, &[number]).err();
            assert!(
                matches!(error, Some(LedgerError::InUse { .. })),
                "{error:?}"
            );
            store
                .commit(&[(0, up_to(u64::from(number) + 2))])
                .expect("written");
        }
    };
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || add(thread));
        }
    });
    let all: Vec<u32> = (0..THREADS * KEYS).collect();
    let (store, found) = open(&path, &all).expect("a ledger");
    for (number, found) in (0..).zip(found) {
        assert_eq!(found, up_to(number + 2), "{number}");
    }
    // The one in use is named, wherever its slot lies.
    for number in [0, 17, THREADS * KEYS - 1] {
        match open(&path, &[1000, number]).err() {
            Some(LedgerError::InUse { owner, .. }) => {
                assert_eq!(owner.name, number.to_string());
            }
            other => panic!("{other:?}"),
        }
    }
    drop(store);
    // A key requested twice is in use.
    let error = open(&path, &[5, 5]).err();
    assert!(
        matches!(error, Some(LedgerError::InUse { .. })),
        "{error:?}"
    );
}

#[test]
fn a_check_writes_nothing_and_needs_no_lock() {
    let (_directory, path) = place();
    let known = KeyIdentity {
        may_be_new: false,
        ..key(1)
    };
    let checked = |key: &KeyIdentity| check(&path, std::slice::from_ref(key));
    assert!(matches!(checked(&known), Err(LedgerError::Missing { .. })));
    assert!(checked(&key(1)).is_ok());
    assert!(!path.exists());
    let store = open(&path, &[1]).expect("a ledger");
    assert!(checked(&known).is_ok());
    let unknown = KeyIdentity {
        may_be_new: false,
        ..key(2)
    };
    assert!(matches!(
        checked(&unknown),
        Err(LedgerError::UnknownKey { .. })
    ));
    drop(store);
    fs::remove_file(path.join("slots")).expect("removed");
    assert!(matches!(checked(&key(1)), Err(LedgerError::Lost { .. })));
}

/// More keys than a file of 64 MiB of text could hold: what is written can be
/// read, and one of them is found among all.
#[test]
fn half_a_million_keys_are_written_and_read() {
    const KEYS: u32 = 500_000;
    let (_directory, path) = place();
    let all: Vec<u32> = (0..KEYS).collect();
    let (mut store, _) = open(&path, &all).expect("a ledger");
    store
        .commit(&[(77, up_to(9)), (KEYS - 1, up_to(8))])
        .expect("written");
    drop(store);
    assert_eq!(progress(&path, 77), up_to(9));
    assert_eq!(progress(&path, KEYS - 1), up_to(8));
    assert_eq!(progress(&path, 78), Progress::UNUSED);
}

/// The witness speaks of more slots than there are, or than a ledger may have.
#[test]
fn sizes_have_one_limit() {
    use super::store::{CAPACITY, room};
    assert!(room(Path::new("ledger"), CAPACITY).is_ok());
    let error = room(Path::new("ledger"), CAPACITY + 1).expect_err("too many");
    assert!(matches!(error, LedgerError::Full { .. }));
    assert!(error.to_string().contains("4194304"), "{error}");
}
