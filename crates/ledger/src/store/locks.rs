//! A lock for each key: byte ranges of the slots file, which belong to this open
//! file and end with it.

use std::fs::File;
use std::io;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc::{self, F_UNLCK, F_WRLCK, SEEK_SET, flock};

/// Locks slots, byte `n` of the file for slot `n`, neighbours in one range.
/// `Some` is a slot that another process, or another opening of the file, has;
/// those locked so far then stay so until the file is closed.
pub fn take(file: &File, slots: &[u32]) -> io::Result<Option<u32>> {
    for (first, count) in runs(slots) {
        let mut range = range(first, count, F_WRLCK);
        match fcntl(file, FcntlArg::F_OFD_SETLK(&range)) {
            Ok(_) => {}
            Err(Errno::EAGAIN | Errno::EACCES) => {
                fcntl(file, FcntlArg::F_OFD_GETLK(&mut range))?;
                // One that has ended in between was in the way all the same.
                let is_held = range.l_type != F_UNLCK as libc::c_short;
                let held = u32::try_from(range.l_start).unwrap_or(first);
                return Ok(Some(if is_held { held.max(first) } else { first }));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// Unlocks slots.
pub fn give_back(file: &File, slots: &[u32]) -> io::Result<()> {
    for (first, count) in runs(slots) {
        fcntl(file, FcntlArg::F_OFD_SETLK(&range(first, count, F_UNLCK)))?;
    }
    Ok(())
}

/// Slots in runs of neighbours: the first of each, and how many there are.
fn runs(slots: &[u32]) -> Vec<(u32, usize)> {
    let mut slots = slots.to_vec();
    slots.sort_unstable();
    let runs = slots.chunk_by(|one, next| one + 1 == *next);
    runs.filter_map(|run| Some((*run.first()?, run.len())))
        .collect()
}

fn range(first: u32, count: usize, kind: libc::c_int) -> flock {
    flock {
        l_type: kind as libc::c_short,
        l_whence: SEEK_SET as libc::c_short,
        l_start: i64::from(first),
        l_len: count as i64,
        l_pid: 0,
    }
}
