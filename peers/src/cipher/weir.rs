//! Weir's part: batches of jobs, each with its own key.

use std::rc::Rc;

use anyhow::{Result, ensure};
use weir_crypto::{
    Aead, AesKeySize, IvSource, KeyMaterial, KeyPolicy, OneTimeKeys, OpenAt, OpeningKey, Place,
    SealAt, SealingKey, Suite, open_in, open_once, seal_in, seal_once,
};

use super::contest::{Direction, Refused, Setting, Worker};
use super::packets::{Batch, Secret, Secrets};
use super::slices;

/// Weir in its best form for a setting.
pub fn worker(setting: &Setting) -> Result<Box<dyn Worker>> {
    let secrets = || Rc::clone(&setting.secrets);
    let suite = setting.suite;
    let gcm = match suite {
        Suite::Aead(Aead::AesGcm16(size)) => Some(size),
        _ => None,
    };
    Ok(match (setting.new_keys, gcm, setting.direction) {
        (false, Some(_), Direction::Seal) => Box::new(HeldSealing {
            keys: sealing_keys(setting)?,
            jobs: Vec::new(),
        }),
        (false, None, Direction::Seal) => Box::new(slices::Sealing {
            keys: sealing_keys(setting)?,
            tickets: Vec::new(),
            jobs: Vec::new(),
        }),
        (false, Some(_), Direction::Open) => Box::new(HeldOpening {
            keys: opening_keys(setting)?,
            jobs: Vec::new(),
        }),
        (false, None, Direction::Open) => Box::new(slices::Opening {
            keys: opening_keys(setting)?,
            jobs: Vec::new(),
        }),
        (true, Some(size), _) => Box::new(OneTime::new(setting, size)?),
        (true, _, Direction::Seal) => Box::new(NewSealing {
            suite,
            secrets: secrets(),
            jobs: Vec::new(),
        }),
        (true, _, Direction::Open) => Box::new(NewOpening {
            suite,
            secrets: secrets(),
            jobs: Vec::new(),
        }),
    })
}

fn material(suite: Suite, secret: Secret<'_>) -> Result<KeyMaterial> {
    Ok(KeyMaterial::new(
        suite,
        secret.key_and_salt,
        secret.integrity_key,
    )?)
}

fn sealing_key(suite: Suite, secret: Secret<'_>, policy: KeyPolicy) -> Result<SealingKey> {
    let material = material(suite, secret)?;
    let mut key = SealingKey::with_policy(material, 1, IvSource::Random, policy)?;
    key.allow_until(u64::MAX);
    Ok(key)
}

/// A setting's keys, expanded beforehand.
fn sealing_keys(setting: &Setting) -> Result<Vec<SealingKey>> {
    let key = |secret| sealing_key(setting.suite, secret, KeyPolicy::Precomputed);
    setting.secrets.iter().map(key).collect()
}

/// The same for opening.
fn opening_keys(setting: &Setting) -> Result<Vec<OpeningKey>> {
    let key = |secret| Ok(OpeningKey::new(&material(setting.suite, secret)?)?);
    setting.secrets.iter().map(key).collect()
}

/// Keys that are expanded beforehand.
struct HeldSealing {
    keys: Vec<SealingKey>,
    jobs: Vec<SealAt>,
}

impl Worker for HeldSealing {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let keys = batch.turns.iter().map(|turn| turn.key);
        seal_batch(&mut self.keys, keys, batch, &mut self.jobs)
    }
}

/// Keys that come with their packets, expanded by the batch and forgotten.
struct NewSealing {
    suite: Suite,
    secrets: Rc<Secrets>,
    jobs: Vec<SealAt>,
}

impl Worker for NewSealing {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let keys = batch.turns.iter().map(|turn| {
            let secret = self.secrets.get(turn.key);
            sealing_key(self.suite, secret, KeyPolicy::OnTheFly)
        });
        let mut keys = keys.collect::<Result<Vec<SealingKey>>>()?;
        seal_batch(&mut keys, 0..batch.turns.len(), batch, &mut self.jobs)
    }
}

/// Seals packets in order under keys of these numbers.
#[inline]
fn seal_batch(
    keys: &mut [SealingKey],
    numbers: impl Iterator<Item = usize>,
    batch: Batch<'_>,
    jobs: &mut Vec<SealAt>,
) -> Result<()> {
    jobs.clear();
    for (number, place) in numbers.zip(batch.places()) {
        jobs.push(SealAt {
            key: number as u32,
            ticket: keys[number].next_ticket()?,
            place,
        });
    }
    seal_in(batch.into_bytes(), jobs, |key| keys.get(key as usize))?;
    Ok(())
}

/// Keys that are expanded beforehand.
struct HeldOpening {
    keys: Vec<OpeningKey>,
    jobs: Vec<OpenAt>,
}

impl Worker for HeldOpening {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let keys = batch.turns.iter().map(|turn| turn.key);
        open_batch(&self.keys, keys, batch, &mut self.jobs)
    }
}

/// Keys that come with their packets, expanded by the batch and forgotten.
struct NewOpening {
    suite: Suite,
    secrets: Rc<Secrets>,
    jobs: Vec<OpenAt>,
}

impl Worker for NewOpening {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let keys = batch.turns.iter().map(|turn| {
            let secret = self.secrets.get(turn.key);
            Ok(OpeningKey::new(&material(self.suite, secret)?)?)
        });
        let keys = keys.collect::<Result<Vec<OpeningKey>>>()?;
        open_batch(&keys, 0..batch.turns.len(), batch, &mut self.jobs)
    }
}

/// Opens packets in order under keys of these numbers.
#[inline]
fn open_batch(
    keys: &[OpeningKey],
    numbers: impl Iterator<Item = usize>,
    batch: Batch<'_>,
    jobs: &mut Vec<OpenAt>,
) -> Result<()> {
    jobs.clear();
    jobs.extend(numbers.zip(batch.places()).map(|(number, place)| OpenAt {
        key: number as u32,
        place,
        verified: false,
    }));
    open_in(batch.into_bytes(), jobs, |key| keys.get(key as usize))?;
    ensure!(jobs.iter().all(|job| job.verified), Refused);
    Ok(())
}

/// Raw keys that come with their packets; the kernels expand them.
struct OneTime {
    secrets: Rc<Secrets>,
    direction: Direction,
    keys: OneTimeKeys,
    places: Vec<Place>,
    verified: Vec<bool>,
}

impl OneTime {
    fn new(setting: &Setting, size: AesKeySize) -> Result<OneTime> {
        Ok(OneTime {
            secrets: Rc::clone(&setting.secrets),
            direction: setting.direction,
            keys: OneTimeKeys::new(size)?,
            places: Vec::new(),
            verified: Vec::new(),
        })
    }
}

impl Worker for OneTime {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        for turn in batch.turns {
            self.keys.push(self.secrets.get(turn.key).key_and_salt)?;
        }
        self.places.clear();
        self.places.extend(batch.places());
        match self.direction {
            Direction::Seal => self.seal(batch),
            Direction::Open => self.open(batch.into_bytes()),
        }
    }
}

impl OneTime {
    fn seal(&mut self, batch: Batch<'_>) -> Result<()> {
        let turns = batch.turns;
        let bytes = batch.into_bytes();
        for (turn, place) in turns.iter().zip(&self.places) {
            let iv = place.offset as usize + usize::from(place.prefix_bytes);
            bytes[iv..iv + 8].copy_from_slice(&turn.counter.to_be_bytes());
        }
        seal_once(&mut self.keys, bytes, &self.places)?;
        Ok(())
    }

    fn open(&mut self, bytes: &mut [u8]) -> Result<()> {
        open_once(&self.keys, bytes, &self.places, &mut self.verified)?;
        self.keys.clear();
        ensure!(self.verified.iter().all(|verified| *verified), Refused);
        Ok(())
    }
}
