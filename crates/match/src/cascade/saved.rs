//! Databases as bytes.
//!
//! ```text
//!  magic, version     "weir match 01\n\0\0"
//!  CRC-32             of all that follows, in four bytes
//!  patterns           their number in four bytes; of each a byte of flags (1: any case), the length in
//!                     two, and the bytes
//!  windows            of patterns of five bytes and more, then of two to four: 0 for none; 1 or 2 for a
//!                     filter or for sets of byte classes, the expected rate, and of each distinct pattern,
//!                     in their order, the place in two bytes, behind its set in one
//! ```
//!
//! Numbers are little-endian. The windows are what takes the time to build a database; the tables are made of
//! them anew. Windows of a forged file change how fast patterns are found, and not which.

use super::class_plan::Choice;
use super::table::{Places, Table, Windows};
use super::units::Unit;
use super::{Database, Grams, Profile, has_fast_sets};
use crate::{BuildError, Pattern, Tier};

/// How all versions begin.
const MAGIC: &[u8] = b"weir match ";
/// How this version goes on.
const VERSION: &[u8; 5] = b"01\n\0\0";
const NOCASE: u8 = 1;
const FILTER: u8 = 1;
const CLASSES: u8 = 2;

/// Why bytes are no database.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Something else.
    #[error("no saved database: it does not begin with \"weir match\"")]
    Format,
    /// Saved by another version of this crate.
    #[error("a database of another version: build it from its patterns and save it again")]
    Version,
    /// Changed since, or not all of it.
    #[error("a damaged database: its checksum is wrong")]
    Checksum,
    /// It does not say what a database says, though its checksum is right.
    #[error("a forged database: {0}")]
    Forged(&'static str),
    /// Its patterns are no database.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl Database {
    /// The database as bytes, for [`Database::from_bytes`]: its patterns, and where each is looked
    /// for.
    pub fn to_bytes(&self) -> Vec<u8> {
        let patterns = self
            .records
            .patterns(&self.units, self.explanation.patterns);
        let mut body = (patterns.len() as u32).to_le_bytes().to_vec();
        for pattern in &patterns {
            body.push(u8::from(pattern.is_nocase()) * NOCASE);
            body.extend((pattern.bytes().len() as u16).to_le_bytes());
            body.extend(pattern.bytes());
        }
        for table in [&self.four, &self.two] {
            write_windows(&mut body, table.as_ref());
        }
        let mut bytes = [MAGIC, VERSION].concat();
        bytes.extend(crc32fast::hash(&body).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    /// Reads what [`Database::to_bytes`] wrote, on this processor or another one, for the best tier of
    /// this one. Where it was saved for sets of byte classes, of which a processor without AVX-512 has no
    /// fast ones, windows are chosen again by [`Profile::typical`].
    ///
    /// # Errors
    /// [`LoadError`]. Bytes from anywhere may be tried: memory is in proportion to their number.
    pub fn from_bytes(bytes: &[u8]) -> Result<Database, LoadError> {
        Database::from_bytes_for(bytes, weir_simd::tier())
    }

    /// The same for another tier.
    pub(super) fn from_bytes_for(bytes: &[u8], tier: Tier) -> Result<Database, LoadError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(LoadError::Format)?;
        let rest = rest.strip_prefix(VERSION).ok_or(LoadError::Version)?;
        let (checksum, body) = rest.split_first_chunk().ok_or(LoadError::Checksum)?;
        if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
            return Err(LoadError::Checksum);
        }
        let mut reader = Reader(body);
        let count = u32::from_le_bytes(reader.array()?);
        // As many as there are bytes for: a number by itself allocates nothing.
        let patterns = (0..count)
            .map(|_| reader.pattern())
            .collect::<Result<Vec<Pattern>, LoadError>>()?;
        Database::build(&patterns, tier, |long, has_runs, short| {
            let four = reader.windows(Grams::Four, long, !long.is_empty() || has_runs)?;
            let two = reader.windows(Grams::Two, short, !short.is_empty())?;
            if !reader.0.is_empty() {
                return Err(LoadError::Forged("it goes on behind its end"));
            }
            let is_slow = |windows: &Windows| {
                matches!(windows.places, Places::Classes(_)) && !has_fast_sets(tier)
            };
            let four = four.map(|windows| match is_slow(&windows) {
                true => Windows::of_many(Grams::Four, long, Profile::typical()),
                false => windows,
            });
            Ok([four, two])
        })
    }
}

fn write_windows(body: &mut Vec<u8>, table: Option<&Table>) {
    let Some(Windows {
        places,
        expected_rate,
    }) = table.map(|table| &table.windows)
    else {
        body.push(0);
        return;
    };
    body.push(match places {
        Places::Filter(_) => FILTER,
        Places::Classes(_) => CLASSES,
    });
    body.extend(expected_rate.to_le_bytes());
    match places {
        Places::Filter(places) => body.extend(places.iter().flat_map(|place| place.to_le_bytes())),
        Places::Classes(choices) => {
            for Choice { set, place } in choices {
                body.push(*set);
                body.extend(place.to_le_bytes());
            }
        }
    }
}

/// What is left to be read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], LoadError> {
        let (array, rest) = self.0.split_first_chunk().ok_or(ENDS_EARLY)?;
        self.0 = rest;
        Ok(*array)
    }

    fn pattern(&mut self) -> Result<Pattern, LoadError> {
        let [flags] = self.array()?;
        let bytes = u16::from_le_bytes(self.array()?).into();
        let (pattern, rest) = self.0.split_at_checked(bytes).ok_or(ENDS_EARLY)?;
        self.0 = rest;
        match flags {
            0 => Ok(Pattern::exact(pattern)),
            NOCASE => Ok(Pattern::nocase(pattern)),
            _ => Err(LoadError::Forged("a pattern has unknown flags")),
        }
    }

    /// The windows of a table, if there is one.
    fn windows(
        &mut self,
        grams: Grams,
        units: &[&Unit],
        is_expected: bool,
    ) -> Result<Option<Windows>, LoadError> {
        let [kind] = self.array()?;
        if (kind != 0) != is_expected {
            return Err(LoadError::Forged(
                "windows without patterns, or patterns without",
            ));
        }
        if kind == 0 {
            return Ok(None);
        }
        let expected_rate = f64::from_le_bytes(self.array()?);
        if !(expected_rate.is_finite() && expected_rate >= 0.0) {
            return Err(LoadError::Forged("its rate is no number"));
        }
        let places = match kind {
            FILTER => {
                let place = |_: &&Unit| self.array().map(u16::from_le_bytes);
                Places::Filter(units.iter().map(place).collect::<Result<_, _>>()?)
            }
            CLASSES => {
                let choice = |_: &&Unit| {
                    let [set, low, high] = self.array()?;
                    let place = u16::from_le_bytes([low, high]);
                    Ok::<Choice, LoadError>(Choice { set, place })
                };
                Places::Classes(units.iter().map(choice).collect::<Result<_, _>>()?)
            }
            _ => return Err(LoadError::Forged("it has windows of an unknown kind")),
        };
        let windows = Windows {
            places,
            expected_rate,
        };
        match windows.fit(grams, units) {
            true => Ok(Some(windows)),
            false => Err(LoadError::Forged("a window is not in its pattern")),
        }
    }
}

const ENDS_EARLY: LoadError = LoadError::Forged("it ends early");

#[cfg(test)]
mod tests;
