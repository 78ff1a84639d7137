//! Weir's part: batches of jobs, each with its own key.

use std::rc::Rc;

use anyhow::{Result, ensure};
use weir_crypto::{
    Aead, AesKeySize, IvSource, KeyMaterial, KeyPolicy, OneTimeKey, OpenJob, OpenOnceJob,
    OpeningKey, SealJob, SealOnceJob, SealingKey, Suite, Ticket, open, open_once, seal, seal_once,
};

use super::contest::{Direction, Refused, Setting, Worker};
use super::packets::{Batch, Packet, Parts, Secret, Secrets};

/// Weir in its best form for a setting.
pub fn worker(setting: &Setting) -> Result<Box<dyn Worker>> {
    let secrets = || Rc::clone(&setting.secrets);
    let suite = setting.suite;
    Ok(match (setting.new_keys, suite, setting.direction) {
        (false, _, Direction::Seal) => Box::new(HeldSealing::new(setting)?),
        (false, _, Direction::Open) => Box::new(HeldOpening::new(setting)?),
        (true, Suite::Aead(Aead::AesGcm16(size)), direction) => Box::new(OneTime {
            size,
            secrets: secrets(),
            keys: Vec::new(),
            direction,
        }),
        (true, _, Direction::Seal) => Box::new(NewSealing {
            suite,
            secrets: secrets(),
            jobs: SealJobs::default(),
        }),
        (true, _, Direction::Open) => Box::new(NewOpening {
            suite,
            secrets: secrets(),
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

/// Keys that are expanded beforehand.
struct HeldSealing {
    keys: Vec<SealingKey>,
    jobs: SealJobs,
}

impl HeldSealing {
    fn new(setting: &Setting) -> Result<HeldSealing> {
        let keys: Result<_> = setting
            .secrets
            .iter()
            .map(|secret| sealing_key(setting.suite, secret, KeyPolicy::Precomputed))
            .collect();
        Ok(HeldSealing {
            keys: keys?,
            jobs: SealJobs::default(),
        })
    }
}

impl Worker for HeldSealing {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let order = batch.turns.iter().map(|turn| turn.key);
        self.jobs.draw(&mut self.keys, order)?;
        let keys = &self.keys;
        let packets = batch.into_packets();
        self.jobs
            .seal(packets.map(|packet| (&keys[packet.turn.key], packet)))
    }
}

/// Keys that come with their packets, expanded by the batch and forgotten.
struct NewSealing {
    suite: Suite,
    secrets: Rc<Secrets>,
    jobs: SealJobs,
}

impl Worker for NewSealing {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let keys = batch.turns.iter().map(|turn| {
            let secret = self.secrets.get(turn.key);
            sealing_key(self.suite, secret, KeyPolicy::OnTheFly)
        });
        let mut keys = keys.collect::<Result<Vec<SealingKey>>>()?;
        self.jobs.draw(&mut keys, 0..batch.turns.len())?;
        self.jobs.seal(keys.iter().zip(batch.into_packets()))
    }
}

/// What a stage keeps between batches, so that a batch allocates nothing.
#[derive(Default)]
struct SealJobs {
    tickets: Vec<Ticket>,
    jobs: Vec<SealJob<'static>>,
}

impl SealJobs {
    /// Draws a ticket of each of the keys in order.
    fn draw(&mut self, keys: &mut [SealingKey], order: impl Iterator<Item = usize>) -> Result<()> {
        self.tickets.clear();
        for key in order {
            self.tickets.push(keys[key].next_ticket()?);
        }
        Ok(())
    }

    /// Spends the tickets.
    fn seal<'k, 'p: 'k>(
        &mut self,
        packets: impl Iterator<Item = (&'k SealingKey, Packet<'p>)>,
    ) -> Result<()> {
        let mut jobs: Vec<SealJob<'k>> = std::mem::take(&mut self.jobs);
        jobs.extend(
            packets
                .zip(self.tickets.drain(..))
                .map(|((key, packet), ticket)| {
                    let Parts {
                        prefix,
                        iv,
                        text,
                        tag,
                    } = packet.into_parts();
                    SealJob {
                        key,
                        ticket,
                        prefix,
                        iv,
                        text,
                        suffix: &[],
                        tag,
                    }
                }),
        );
        seal(&mut jobs)?;
        self.jobs = SealJob::recycle(jobs);
        Ok(())
    }
}

/// Keys that are expanded beforehand.
struct HeldOpening {
    keys: Vec<OpeningKey>,
    jobs: Vec<OpenJob<'static>>,
}

impl HeldOpening {
    fn new(setting: &Setting) -> Result<HeldOpening> {
        let keys: Result<_> = setting
            .secrets
            .iter()
            .map(|secret| Ok(OpeningKey::new(&material(setting.suite, secret)?)?))
            .collect();
        Ok(HeldOpening {
            keys: keys?,
            jobs: Vec::new(),
        })
    }
}

impl Worker for HeldOpening {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let keys = &self.keys;
        let mut jobs: Vec<OpenJob<'_>> = std::mem::take(&mut self.jobs);
        jobs.extend(batch.into_packets().map(|packet| {
            let key = &keys[packet.turn.key];
            open_job(key, packet)
        }));
        open(&mut jobs);
        ensure!(jobs.iter().all(|job| job.verified), Refused);
        self.jobs = OpenJob::recycle(jobs);
        Ok(())
    }
}

/// Keys that come with their packets, expanded by the batch and forgotten.
struct NewOpening {
    suite: Suite,
    secrets: Rc<Secrets>,
}

impl Worker for NewOpening {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let keys = batch.turns.iter().map(|turn| {
            let secret = self.secrets.get(turn.key);
            Ok(OpeningKey::new(&material(self.suite, secret)?)?)
        });
        let keys = keys.collect::<Result<Vec<OpeningKey>>>()?;
        let mut jobs: Vec<OpenJob<'_>> = keys
            .iter()
            .zip(batch.into_packets())
            .map(|(key, packet)| open_job(key, packet))
            .collect();
        open(&mut jobs);
        ensure!(jobs.iter().all(|job| job.verified), Refused);
        Ok(())
    }
}

fn open_job<'a>(key: &'a OpeningKey, packet: Packet<'a>) -> OpenJob<'a> {
    let parts = packet.into_parts();
    OpenJob {
        key,
        prefix: parts.prefix,
        iv: parts.iv,
        text: parts.text,
        suffix: &[],
        tag: parts.tag,
        verified: false,
    }
}

/// Raw keys that come with their packets; the kernels expand them.
struct OneTime {
    size: AesKeySize,
    secrets: Rc<Secrets>,
    keys: Vec<OneTimeKey>,
    direction: Direction,
}

impl Worker for OneTime {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        self.keys.clear();
        for turn in batch.turns {
            let secret = self.secrets.get(turn.key);
            self.keys
                .push(OneTimeKey::new(self.size, secret.key_and_salt)?);
        }
        match self.direction {
            Direction::Seal => self.seal(batch),
            Direction::Open => self.open(batch),
        }
    }
}

impl OneTime {
    fn seal(&mut self, batch: Batch<'_>) -> Result<()> {
        let mut jobs = Vec::with_capacity(self.keys.len());
        for (key, packet) in self.keys.iter_mut().zip(batch.into_packets()) {
            let iv = packet.turn.counter.to_be_bytes();
            let parts = packet.into_parts();
            parts.iv.copy_from_slice(&iv);
            jobs.push(SealOnceJob {
                key,
                prefix: parts.prefix,
                iv,
                text: parts.text,
                tag: parts.tag,
            });
        }
        seal_once(&mut jobs)?;
        Ok(())
    }

    fn open(&self, batch: Batch<'_>) -> Result<()> {
        let mut jobs = Vec::with_capacity(self.keys.len());
        for (key, packet) in self.keys.iter().zip(batch.into_packets()) {
            let parts = packet.into_parts();
            jobs.push(OpenOnceJob {
                key,
                prefix: parts.prefix,
                iv: *parts.iv.first_chunk().ok_or(Refused)?,
                text: parts.text,
                tag: parts.tag,
                verified: false,
            });
        }
        open_once(&mut jobs);
        ensure!(jobs.iter().all(|job| job.verified), Refused);
        Ok(())
    }
}
