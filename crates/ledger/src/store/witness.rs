//! What the ledger must be at least as new as.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::super::LedgerError;
use super::super::place::{GENERATION, system};
use super::header::{checksum, number};

/// The last commit. It stands in a file beside the slots, so that an older file
/// of slots is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Of the ledger.
    pub id: [u8; 16],
    /// The number of the commit.
    pub generation: u64,
    /// Slots in use.
    pub slots: u64,
}

/// Id (16 bytes), generation (8), slots (8), checksum (16).
const BYTES: usize = 48;

/// Commits take turns between two places, so that a torn write leaves the commit
/// before.
const PLACES: [u64; 2] = [0, 4096];

impl Witness {
    /// Reads it; `None` where the file is empty, as before the first commit.
    pub fn read(file: &File, path: &Path) -> Result<Option<Witness>, LedgerError> {
        let name = path.join(GENERATION);
        let bytes = file
            .metadata()
            .map_err(system(&name, "cannot look at it"))?
            .len();
        if bytes == 0 {
            return Ok(None);
        }
        let mut newest: Option<Witness> = None;
        for place in PLACES
            .into_iter()
            .filter(|place| place + BYTES as u64 <= bytes)
        {
            let mut record = [0; BYTES];
            file.read_exact_at(&mut record, place)
                .map_err(system(&name, "cannot read"))?;
            if record[32..] != checksum(&record[..32]) {
                continue;
            }
            let mut id = [0; 16];
            id.copy_from_slice(&record[..16]);
            let witness = Witness {
                id,
                generation: number(&record[16..24]),
                slots: number(&record[24..32]),
            };
            if newest.is_none_or(|newest| newest.generation < witness.generation) {
                newest = Some(witness);
            }
        }
        match newest {
            Some(witness) => Ok(Some(witness)),
            None => Err(LedgerError::Damaged {
                path: path.into(),
                what: "generation is in neither of its places".into(),
            }),
        }
    }

    /// Writes it, to last when the file is synced.
    pub fn write_unsynced(&self, file: &File, path: &Path) -> Result<(), LedgerError> {
        let mut record = [0; BYTES];
        record[..16].copy_from_slice(&self.id);
        record[16..24].copy_from_slice(&self.generation.to_le_bytes());
        record[24..32].copy_from_slice(&self.slots.to_le_bytes());
        let sum = checksum(&record[..32]);
        record[32..].copy_from_slice(&sum);
        let place = PLACES[(self.generation % 2) as usize];
        file.write_all_at(&record, place)
            .map_err(system(&path.join(GENERATION), "cannot write"))
    }

    /// Writes it, to last.
    pub fn write(&self, file: &File, path: &Path) -> Result<(), LedgerError> {
        self.write_unsynced(file, path)?;
        file.sync_all()
            .map_err(system(&path.join(GENERATION), "cannot write"))
    }
}
