//! Suites that seal and open packets as ESP does: eight bytes of header that are
//! authenticated, IV, text in place, tag.

use std::time::Duration;

use weir_crypto::{
    IvSource, KeyMaterial, OpenJob, OpeningKey, SealJob, SealingKey, Suite, open, seal,
};

use crate::batch::{Numbers, Packets, secret};
use crate::contest::{Entrant, RunError, Worker, enter_both, timed};
use crate::plan::Plan;

/// SPI and sequence number, which mean nothing here.
const PREFIX: [u8; 8] = [0, 0, 1, 0, 0, 0, 0, 1];

/// The suites' names.
pub(crate) fn names() -> Vec<String> {
    Suite::all().map(Suite::name).collect()
}

/// Enters the suite of this name, sealing and opening.
pub(crate) fn enter(
    name: &str,
    bytes: usize,
    plan: &Plan,
    entrants: &mut Vec<Entrant>,
) -> Result<(), RunError> {
    let Some(suite) = Suite::all().find(|suite| suite.name() == name) else {
        return Ok(());
    };
    let pair = |seed| {
        let mut sealer = Sealer::new(suite, bytes, plan.keys, seed)?;
        // What there is for the other to take.
        sealer.pass()?;
        let other = Opener::of(&sealer)?;
        Ok((Box::new(sealer) as _, Box::new(other) as _))
    };
    enter_both(name, ["seal", "open"], plan.threads, pair, entrants)
}

fn materials(suite: Suite, keys: usize, seed: u64) -> Result<Vec<KeyMaterial>, RunError> {
    let mut numbers = Numbers(seed);
    let mut material = || {
        let key = secret(&mut numbers, suite.key_bytes() + suite.salt_bytes());
        let integrity_key = secret(&mut numbers, suite.integrity_key_bytes());
        Ok(KeyMaterial::new(suite, &key, &integrity_key)?)
    };
    (0..keys).map(|_| material()).collect()
}

struct Sealer {
    suite: Suite,
    seed: u64,
    keys: Vec<SealingKey>,
    packets: Packets,
    jobs: Vec<SealJob<'static>>,
}

impl Sealer {
    fn new(suite: Suite, bytes: usize, keys: usize, seed: u64) -> Result<Sealer, RunError> {
        let materials = materials(suite, keys, seed)?.into_iter();
        let keys = materials.map(|material| {
            let mut key = SealingKey::new(material, 1, IvSource::Random)?;
            key.allow_until(u64::MAX);
            Ok(key)
        });
        let keys = keys.collect::<Result<Vec<SealingKey>, RunError>>()?;
        let bytes = bytes.next_multiple_of(suite.block_bytes());
        Ok(Sealer {
            suite,
            seed,
            packets: Packets::new(bytes, keys.len(), seed),
            keys,
            jobs: Vec::new(),
        })
    }
}

impl Worker for Sealer {
    fn packets(&self) -> usize {
        self.packets.count()
    }

    fn pass(&mut self) -> Result<Duration, RunError> {
        let (iv_bytes, tag_bytes) = (self.suite.iv_bytes(), self.suite.tag_bytes());
        let Packets {
            texts,
            stride,
            text_bytes,
            ivs,
            tags,
            keys: order,
        } = &mut self.packets;
        timed(|| {
            let mut tickets = Vec::with_capacity(order.len());
            for &key in &*order {
                tickets.push(self.keys[key].next_ticket()?);
            }
            let packets = texts.chunks_exact_mut(*stride).zip(ivs).zip(tags);
            let mut jobs: Vec<SealJob<'_>> = std::mem::take(&mut self.jobs);
            jobs.extend(order.iter().zip(tickets).zip(packets).map(
                |((&key, ticket), ((text, iv), tag))| SealJob {
                    key: &self.keys[key],
                    ticket,
                    prefix: &PREFIX,
                    iv: &mut iv[..iv_bytes],
                    text: &mut text[..*text_bytes],
                    suffix: &[],
                    tag: &mut tag[..tag_bytes],
                },
            ));
            seal(&mut jobs)?;
            self.jobs = SealJob::recycle(jobs);
            Ok(())
        })
    }
}

/// Opens what a sealer sealed, again and again.
struct Opener {
    suite: Suite,
    keys: Vec<OpeningKey>,
    /// As they were sealed.
    sealed: Vec<u8>,
    packets: Packets,
    jobs: Vec<OpenJob<'static>>,
}

impl Opener {
    fn of(sealer: &Sealer) -> Result<Opener, RunError> {
        let suite = sealer.suite;
        let materials = materials(suite, sealer.keys.len(), sealer.seed)?;
        let keys = materials.iter().map(OpeningKey::new);
        Ok(Opener {
            suite,
            keys: keys.collect::<Result<_, _>>()?,
            sealed: sealer.packets.texts.clone(),
            packets: sealer.packets.clone(),
            jobs: Vec::new(),
        })
    }
}

impl Worker for Opener {
    fn packets(&self) -> usize {
        self.packets.count()
    }

    fn pass(&mut self) -> Result<Duration, RunError> {
        let (iv_bytes, tag_bytes) = (self.suite.iv_bytes(), self.suite.tag_bytes());
        let Packets {
            texts,
            stride,
            text_bytes,
            ivs,
            tags,
            keys: order,
        } = &mut self.packets;
        texts.copy_from_slice(&self.sealed);
        timed(|| {
            let packets = texts.chunks_exact_mut(*stride).zip(&*ivs).zip(&*tags);
            let mut jobs: Vec<OpenJob<'_>> = std::mem::take(&mut self.jobs);
            jobs.extend(
                order
                    .iter()
                    .zip(packets)
                    .map(|(&key, ((text, iv), tag))| OpenJob {
                        key: &self.keys[key],
                        prefix: &PREFIX,
                        iv: &iv[..iv_bytes],
                        text: &mut text[..*text_bytes],
                        suffix: &[],
                        tag: &tag[..tag_bytes],
                        verified: false,
                    }),
            );
            open(&mut jobs);
            if !jobs.iter().all(|job| job.verified) {
                return Err(RunError::Refused {
                    algorithm: self.suite.name(),
                });
            }
            self.jobs = OpenJob::recycle(jobs);
            Ok(())
        })
    }
}
