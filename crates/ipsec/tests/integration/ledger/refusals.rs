//! Ledgers that are older, copied, lost, damaged, or open to others.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};

use weir_ipsec::{LedgerError, NewKeys};

use super::{first_run, gcm, numbers, open, place, refusal, run};

#[test]
fn an_older_or_copied_ledger_is_noticed() {
    let (directory, path) = place();
    drop(first_run(&gcm(), &path, 5));
    let (slots, generation) = (path.join("slots"), path.join("generation"));
    let old = [&slots, &generation].map(|file| fs::read(file).expect("a file"));
    drop(run(&gcm(), &path, 5));
    let new = fs::read(&slots).expect("a file");

    fs::write(&slots, &old[0]).expect("put back in place");
    assert!(matches!(refusal(&gcm(), &path), LedgerError::Stale { .. }));
    fs::write(&slots, &new).expect("written");
    // The same contents in another file.
    fs::rename(&slots, directory.path().join("aside")).expect("renamed");
    fs::write(&slots, &new).expect("written");
    assert!(matches!(refusal(&gcm(), &path), LedgerError::Copied { .. }));
    fs::rename(directory.path().join("aside"), &slots).expect("renamed");
    drop(run(&gcm(), &path, 1));

    // A copy of the whole directory.
    let copy = directory.path().join("copy");
    fs::create_dir(&copy).expect("a directory");
    fs::set_permissions(&copy, Permissions::from_mode(0o700)).expect("a mode");
    for name in ["slots", "generation"] {
        fs::copy(path.join(name), copy.join(name)).expect("a copy");
    }
    assert!(matches!(refusal(&gcm(), &copy), LedgerError::Copied { .. }));

    // It may move as a whole.
    let moved = directory.path().join("moved");
    fs::rename(&path, &moved).expect("moved");
    drop(run(&gcm(), &moved, 1));
    fs::remove_file(moved.join("generation")).expect("removed");
    assert!(matches!(
        refusal(&gcm(), &moved),
        LedgerError::Unwitnessed { .. }
    ));
}

#[test]
fn a_lost_ledger_is_not_made_anew() {
    let (_directory, path) = place();
    drop(first_run(&gcm(), &path, 5));
    fs::remove_file(path.join("slots")).expect("removed");
    assert!(matches!(refusal(&gcm(), &path), LedgerError::Lost { .. }));
}

#[test]
fn links_and_files_of_others_are_refused() {
    let (directory, path) = place();
    drop(first_run(&gcm(), &path, 5));
    let link = directory.path().join("link");
    symlink(&path, &link).expect("a link");
    assert!(matches!(
        refusal(&gcm(), &link),
        LedgerError::NotALedger { .. }
    ));
    let aside = directory.path().join("aside");
    for name in ["slots", "generation"] {
        fs::rename(path.join(name), &aside).expect("renamed");
        symlink(&aside, path.join(name)).expect("a link");
        assert!(matches!(
            refusal(&gcm(), &path),
            LedgerError::NotALedger { .. }
        ));
        fs::remove_file(path.join(name)).expect("removed");
        fs::rename(&aside, path.join(name)).expect("renamed");
    }
    for (file, mode) in [(path.clone(), 0o770), (path.join("slots"), 0o602)] {
        let before = file.metadata().expect("it").permissions();
        fs::set_permissions(&file, Permissions::from_mode(mode)).expect("a mode");
        assert!(matches!(
            refusal(&gcm(), &path),
            LedgerError::OpenToOthers { .. }
        ));
        fs::set_permissions(&file, before).expect("a mode");
    }
    let file = directory.path().join("file");
    fs::write(&file, "generation = 1").expect("written");
    assert!(matches!(
        refusal(&gcm(), &file),
        LedgerError::NotALedger { .. }
    ));
    drop(run(&gcm(), &path, 1));
}

#[test]
fn one_damaged_copy_is_made_up_for_by_the_other() {
    let (_directory, path) = place();
    drop(first_run(&gcm(), &path, 5));
    let slots = File::options()
        .write(true)
        .open(path.join("slots"))
        .expect("slots");
    // Copies A begin on the second page, copies B on the third.
    for (next, copy) in (6..).zip([4096, 8192]) {
        slots.write_all_at(b"torn", copy + 24).expect("written");
        assert_eq!(numbers(&run(&gcm(), &path, 1)), [(next, u64::from(next))]);
    }
    for copy in [4096, 8192] {
        slots.write_all_at(b"torn", copy + 24).expect("written");
    }
    assert!(matches!(
        refusal(&gcm(), &path),
        LedgerError::Damaged { .. }
    ));
}

#[test]
fn damaged_files_are_refused() {
    let (_directory, path) = place();
    drop(first_run(&gcm(), &path, 5));
    let right = ["slots", "generation"].map(|name| fs::read(path.join(name)).expect("a file"));
    for (file, at) in [(0, 0), (0, 8), (0, 20), (0, 33), (0, 50), (1, 5)] {
        let name = ["slots", "generation"][file];
        let mut wrong = right[file].clone();
        for place in [at, at + 4096].into_iter().take(1 + file) {
            if let Some(byte) = wrong.get_mut(place) {
                *byte ^= 1;
            }
        }
        fs::write(path.join(name), wrong).expect("written");
        let error = refusal(&gcm(), &path);
        assert!(
            matches!(error, LedgerError::Damaged { .. }),
            "{name} {at}: {error}"
        );
        fs::write(path.join(name), &right[file]).expect("written");
    }
    for bytes in [0, 100, 4096, 8192] {
        fs::write(path.join("slots"), &right[0][..bytes]).expect("cut");
        let error = refusal(&gcm(), &path);
        assert!(
            matches!(error, LedgerError::Damaged { .. }),
            "{bytes}: {error}"
        );
    }
    fs::write(path.join("slots"), &right[0]).expect("written");
    fs::write(path.join("generation"), "").expect("emptied");
    assert!(matches!(
        refusal(&gcm(), &path),
        LedgerError::Unwitnessed { .. }
    ));
    fs::write(path.join("generation"), &right[1]).expect("written");
    assert!(open(&gcm(), &path, NewKeys::NONE).is_ok());
}
