//! A key's entry in a ledger: 64 bytes, twice.

use sha2::{Digest, Sha256};

use super::Fingerprint;

/// How far a key has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The lowest sequence number that was never reserved; of a replay window,
    /// the lowest that was never received.
    pub next_sequence: u64,
    /// Bytes that were protected, at most; of a replay window, which run has written this
    /// ([`Mark`](super::Mark)), and 0 where it keeps no mark.
    pub bytes: u64,
}

impl Progress {
    /// Of a key that was never used: the first number is 1 (RFC 4303,
    /// section 2.2).
    pub const UNUSED: Progress = Progress {
        next_sequence: 1,
        bytes: 0,
    };

    /// A step further.
    #[must_use]
    pub fn plus(self, step: Progress) -> Progress {
        Progress {
            next_sequence: self.next_sequence.saturating_add(step.next_sequence),
            bytes: self.bytes.saturating_add(step.bytes),
        }
    }

    /// The farther of both, in numbers and in bytes.
    #[must_use]
    pub fn max(self, other: Progress) -> Progress {
        Progress {
            next_sequence: self.next_sequence.max(other.next_sequence),
            bytes: self.bytes.max(other.bytes),
        }
    }
}

/// What an entry counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Numbers that a key seals with.
    Sealing = 1,
    /// Numbers that a receiver has seen.
    ReplayWindow = 2,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        match byte {
            1 => Some(Kind::Sealing),
            2 => Some(Kind::ReplayWindow),
            _ => None,
        }
    }
}

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: Kind,
    pub fingerprint: Fingerprint,
    pub progress: Progress,
    /// Of the commit that wrote it.
    pub generation: u64,
}

/// Bytes of a copy of an entry: fingerprint (16), kind (1), zero (7), next
/// sequence number (8), bytes (8), generation (8), checksum (16).
pub const COPY_BYTES: usize = 64;

const CHECKSUM_AT: usize = 48;

/// Reads and writes the entries of one ledger.
#[derive(Clone, Debug)]
pub struct Codec {
    /// SHA-256 over one block: which ledger it is.
    ledger: Sha256,
}

/// Both copies of an entry, taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// Nothing was ever written, or not to the end of the first copy.
    Unused,
    /// At least one copy is whole.
    Entry(Entry),
    /// No copy is whole, or they contradict each other.
    Damaged,
}

impl Codec {
    /// Of the ledger with this id.
    pub fn new(id: &[u8; 16]) -> Codec {
        let mut block = [0; 64];
        block[..11].copy_from_slice(b"weir ledger");
        block[48..].copy_from_slice(id);
        Codec {
            ledger: Sha256::new().chain_update(block),
        }
    }

    /// A copy of the entry in slot `index`.
    pub fn encode(&self, index: u32, entry: &Entry) -> [u8; COPY_BYTES] {
        let mut copy = [0; COPY_BYTES];
        copy[..16].copy_from_slice(entry.fingerprint.as_bytes());
        copy[16] = entry.kind as u8;
        copy[24..32].copy_from_slice(&entry.progress.next_sequence.to_le_bytes());
        copy[32..40].copy_from_slice(&entry.progress.bytes.to_le_bytes());
        copy[40..48].copy_from_slice(&entry.generation.to_le_bytes());
        let checksum = self.checksum(index, &copy[..CHECKSUM_AT]);
        copy[CHECKSUM_AT..].copy_from_slice(&checksum);
        copy
    }

    /// The entry in a copy, where it is whole and belongs to slot `index`.
    pub fn decode(&self, index: u32, copy: &[u8; COPY_BYTES]) -> Option<Entry> {
        if copy[CHECKSUM_AT..] != self.checksum(index, &copy[..CHECKSUM_AT]) {
            return None;
        }
        let number = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&copy[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let mut fingerprint = [0; 16];
        fingerprint.copy_from_slice(&copy[..16]);
        let entry = Entry {
            kind: Kind::of(copy[16])?,
            fingerprint: Fingerprint::from_bytes(fingerprint),
            progress: Progress {
                next_sequence: number(24),
                bytes: number(32),
            },
            generation: number(40),
        };
        // No number is 0, and no later version has put something between.
        (copy[17..24] == [0; 7] && entry.progress.next_sequence > 0).then_some(entry)
    }

    /// What both copies of slot `index` say. A commit writes the second one when
    /// the first is on the disk: where only one is whole, it holds the last value
    /// that was acknowledged, or one beyond it.
    pub fn decode_pair(&self, index: u32, a: &[u8; COPY_BYTES], b: &[u8; COPY_BYTES]) -> Pair {
        if a == b {
            return match self.decode(index, a) {
                Some(entry) => Pair::Entry(entry),
                None if *a == [0; COPY_BYTES] => Pair::Unused,
                None => Pair::Damaged,
            };
        }
        match (self.decode(index, a), self.decode(index, b)) {
            (Some(a), Some(b)) if (a.kind, a.fingerprint) == (b.kind, b.fingerprint) => {
                Pair::Entry(Entry {
                    progress: a.progress.max(b.progress),
                    generation: a.generation.max(b.generation),
                    ..a
                })
            }
            (Some(_), Some(_)) => Pair::Damaged,
            (Some(entry), None) | (None, Some(entry)) => Pair::Entry(entry),
            (None, None) if *b == [0; COPY_BYTES] => Pair::Unused,
            (None, None) => Pair::Damaged,
        }
    }

    fn checksum(&self, index: u32, contents: &[u8]) -> [u8; 16] {
        let digest = self
            .ledger
            .clone()
            .chain_update(contents)
            .chain_update(index.to_le_bytes())
            .finalize();
        let mut first = [0; 16];
        first.copy_from_slice(&digest[..16]);
        first
    }
}
