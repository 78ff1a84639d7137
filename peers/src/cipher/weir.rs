//! Weir's part: batches of packets in one buffer.

use std::rc::Rc;

use anyhow::{Result, ensure};
use weir_crypto::{Descriptor, KeyId, KeyMaterial, Opener, OpeningKey, Sealer, SealingKey, Suite};

use super::comparison::{Direction, Refused, Setting, Worker};
use super::packets::{Batch, Secret, Secrets};

/// Weir in its best form for a setting.
pub fn worker(setting: &Setting) -> Result<Box<dyn Worker>> {
    let suite = setting.suite;
    let secrets = || setting.secrets.iter();
    Ok(match (setting.new_keys, setting.direction) {
        (false, Direction::Seal) => {
            let mut sealer = Sealer::new();
            let keys = secrets().map(|secret| {
                let key = SealingKey::new(material(suite, secret)?, 1..)?;
                Ok(sealer.add(key))
            });
            let keys = keys.collect::<Result<_>>()?;
            Box::new(HeldSealing { sealer, keys })
        }
        (false, Direction::Open) => {
            let mut opener = Opener::new();
            let keys = secrets().map(|secret| {
                let key = OpeningKey::new(&material(suite, secret)?)?;
                Ok(opener.add(key))
            });
            let keys = keys.collect::<Result<_>>()?;
            Box::new(HeldOpening { opener, keys })
        }
        (true, Direction::Seal) => Box::new(NewSealing {
            suite,
            secrets: Rc::clone(&setting.secrets),
            sealer: Sealer::new(),
        }),
        (true, Direction::Open) => Box::new(NewOpening {
            suite,
            secrets: Rc::clone(&setting.secrets),
            opener: Opener::new(),
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

/// Keys that are expanded beforehand.
struct HeldSealing {
    sealer: Sealer,
    keys: Vec<KeyId>,
}

impl Worker for HeldSealing {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let packets = batch.turns.iter().zip(batch.descriptors());
        let mut sealing = self.sealer.batch(batch.into_bytes());
        for (turn, packet) in packets {
            let key = self.keys[turn.key];
            sealing.push(Descriptor { key, ..packet })?;
        }
        ensure!(sealing.run().all_good(), Refused);
        Ok(())
    }
}

/// Keys that are expanded beforehand.
struct HeldOpening {
    opener: Opener,
    keys: Vec<KeyId>,
}

impl Worker for HeldOpening {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let packets = batch.turns.iter().zip(batch.descriptors());
        let mut opening = self.opener.batch(batch.into_bytes());
        for (turn, packet) in packets {
            let key = self.keys[turn.key];
            opening.push(Descriptor { key, ..packet })?;
        }
        ensure!(opening.run().all_good(), Refused);
        Ok(())
    }
}

/// Keys that come with their packets.
struct NewSealing {
    suite: Suite,
    secrets: Rc<Secrets>,
    sealer: Sealer,
}

impl Worker for NewSealing {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let packets = batch.turns.iter().zip(batch.descriptors());
        let mut sealing = self.sealer.batch(batch.into_bytes());
        for (turn, packet) in packets {
            let secret = self.secrets.get(turn.key);
            let (key, integrity_key) = (secret.key_and_salt, secret.integrity_key);
            let key = sealing.add_one_time_key(self.suite, key, integrity_key)?;
            sealing.push_numbered(Descriptor { key, ..packet }, turn.counter)?;
        }
        ensure!(sealing.run().all_good(), Refused);
        Ok(())
    }
}

/// Keys that come with their packets.
struct NewOpening {
    suite: Suite,
    secrets: Rc<Secrets>,
    opener: Opener,
}

impl Worker for NewOpening {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let packets = batch.turns.iter().zip(batch.descriptors());
        let mut opening = self.opener.batch(batch.into_bytes());
        for (turn, packet) in packets {
            let secret = self.secrets.get(turn.key);
            let (key, integrity_key) = (secret.key_and_salt, secret.integrity_key);
            let key = opening.add_one_time_key(self.suite, key, integrity_key)?;
            opening.push(Descriptor { key, ..packet })?;
        }
        ensure!(opening.run().all_good(), Refused);
        Ok(())
    }
}
