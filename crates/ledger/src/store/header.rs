//! The first page of the slots: which ledger they are.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::super::LedgerError;
use super::super::place::{self, SLOTS, system};

/// The header fills a page, and so do 64 copies of slots.
pub const PAGE_BYTES: u64 = 4096;

/// Magic (8 bytes), version (8), id (16), inode number (8), checksum (16).
const HEADER_BYTES: usize = 56;
const MAGIC: &[u8; 8] = b"WEIRLEDG";
const VERSION: u64 = 1;

/// What the header of a ledger says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Random, of this ledger alone.
    pub id: [u8; 16],
}

impl Header {
    /// Reads it, and makes sure that the file is the one that it was written
    /// into: a copy has another inode number.
    pub fn read(slots: &File, path: &Path) -> Result<Header, LedgerError> {
        let file = path.join(SLOTS);
        let damaged = |what: &str| LedgerError::Damaged {
            path: path.into(),
            what: format!("slots {what}"),
        };
        let mut bytes = [0; HEADER_BYTES];
        let found = slots
            .metadata()
            .map_err(system(&file, "cannot look at it"))?;
        if found.size() < PAGE_BYTES {
            return Err(damaged("has no whole header"));
        }
        slots
            .read_exact_at(&mut bytes, 0)
            .map_err(system(&file, "cannot read"))?;
        if bytes[..8] != *MAGIC {
            return Err(damaged("is no file of a ledger"));
        }
        if bytes[40..] != checksum(&bytes[..40]) {
            return Err(damaged("has a header with a wrong checksum"));
        }
        if number(&bytes[8..16]) != VERSION {
            return Err(damaged("is of another version of Weir"));
        }
        if number(&bytes[32..40]) != found.ino() {
            return Err(LedgerError::Copied { path: path.into() });
        }
        let mut id = [0; 16];
        id.copy_from_slice(&bytes[16..32]);
        Ok(Header { id })
    }
}

/// Creates the slots of a new ledger, which has none yet.
pub fn create(path: &Path) -> Result<File, LedgerError> {
    let temporary = path.join("slots.tmp");
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(system(&temporary, "cannot remove")(error));
        }
        _ => {}
    }
    let file = place::open_or_create(&temporary)?;
    let found = file.metadata();
    let inode = found
        .map_err(system(&temporary, "cannot look at it"))?
        .ino();
    let mut page = [0; PAGE_BYTES as usize];
    page[..8].copy_from_slice(MAGIC);
    page[8..16].copy_from_slice(&VERSION.to_le_bytes());
    getrandom::fill(&mut page[16..32])
        .map_err(std::io::Error::other)
        .map_err(system(path, "no randomness for a new ledger"))?;
    page[32..40].copy_from_slice(&inode.to_le_bytes());
    let sum = checksum(&page[..40]);
    page[40..HEADER_BYTES].copy_from_slice(&sum);
    file.write_all_at(&page, 0)
        .and_then(|()| file.sync_all())
        .map_err(system(&temporary, "cannot write"))?;
    let slots = path.join(SLOTS);
    fs::rename(&temporary, &slots).map_err(system(&slots, "cannot put in place"))?;
    place::sync_directory(path)?;
    Ok(file)
}

/// The number in eight bytes of the header.
pub fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The first half of SHA-256.
pub fn checksum(contents: &[u8]) -> [u8; 16] {
    let mut first = [0; 16];
    first.copy_from_slice(&Sha256::digest(contents)[..16]);
    first
}
