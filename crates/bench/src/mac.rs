//! MACs that tag and verify messages.

use std::time::Duration;

use weir_crypto::mac::{
    Algorithm, Material, TagJob, TaggingKey, VerifyJob, VerifyingKey, tag, verify,
};

use crate::batch::{Numbers, Packets, secret};
use crate::contest::{Entrant, RunError, Worker, enter_both, timed};
use crate::plan::Plan;

/// The MACs' names.
pub(crate) fn names() -> Vec<String> {
    Algorithm::all()
        .map(|algorithm| algorithm.to_string())
        .collect()
}

/// Enters the MAC of this name, tagging and verifying.
pub(crate) fn enter(
    name: &str,
    bytes: usize,
    plan: &Plan,
    entrants: &mut Vec<Entrant>,
) -> Result<(), RunError> {
    let Ok(algorithm) = Algorithm::parse(name) else {
        return Ok(());
    };
    let pair = |seed| {
        let mut tagger = Tagger::new(algorithm, bytes, plan.keys, seed)?;
        // What there is for the other to take.
        tagger.pass()?;
        let other = Verifier::of(&tagger)?;
        Ok((Box::new(tagger) as _, Box::new(other) as _))
    };
    enter_both(name, ["tag", "verify"], plan.threads, pair, entrants)
}

fn materials(algorithm: Algorithm, keys: usize, seed: u64) -> Result<Vec<Material>, RunError> {
    let mut numbers = Numbers(seed);
    let material = |_| Material::new(algorithm, &secret(&mut numbers, algorithm.key_bytes()));
    Ok((0..keys).map(material).collect::<Result<_, _>>()?)
}

struct Tagger {
    algorithm: Algorithm,
    seed: u64,
    keys: Vec<TaggingKey>,
    packets: Packets,
    /// Of the messages, as they were tagged last.
    nonces: Vec<u64>,
}

impl Tagger {
    fn new(algorithm: Algorithm, bytes: usize, keys: usize, seed: u64) -> Result<Tagger, RunError> {
        let materials = materials(algorithm, keys, seed)?.into_iter();
        let mut keys = TaggingKey::new_batch(materials.map(|material| (material, 1)).collect())?;
        for key in &mut keys {
            key.allow_until(u64::MAX);
        }
        Ok(Tagger {
            algorithm,
            seed,
            packets: Packets::new(bytes, keys.len(), seed),
            keys,
            nonces: Vec::new(),
        })
    }
}

impl Worker for Tagger {
    fn packets(&self) -> usize {
        self.packets.count()
    }

    fn pass(&mut self) -> Result<Duration, RunError> {
        let tag_bytes = self.algorithm.tag_bytes();
        let Packets {
            texts,
            stride,
            text_bytes,
            tags,
            keys: order,
            ..
        } = &mut self.packets;
        timed(|| {
            let mut tickets = Vec::with_capacity(order.len());
            for &key in &*order {
                tickets.push(self.keys[key].next_ticket()?);
            }
            self.nonces.clear();
            self.nonces
                .extend(tickets.iter().map(|ticket| ticket.counter()));
            let messages = texts.chunks_exact(*stride).zip(tags);
            let jobs = order.iter().zip(tickets).zip(messages);
            let mut jobs: Vec<TagJob<'_>> = jobs
                .map(|((&key, ticket), (text, tag))| TagJob {
                    key: &self.keys[key],
                    ticket,
                    parts: [&text[..*text_bytes], &[], &[], &[]],
                    tag: &mut tag[..tag_bytes],
                })
                .collect();
            Ok(tag(&mut jobs)?)
        })
    }
}

/// Verifies what a tagger tagged, again and again.
struct Verifier {
    algorithm: Algorithm,
    keys: Vec<VerifyingKey>,
    packets: Packets,
    nonces: Vec<u64>,
}

impl Verifier {
    fn of(tagger: &Tagger) -> Result<Verifier, RunError> {
        let materials = materials(tagger.algorithm, tagger.keys.len(), tagger.seed)?;
        Ok(Verifier {
            algorithm: tagger.algorithm,
            keys: VerifyingKey::new_batch(&materials)?,
            packets: tagger.packets.clone(),
            nonces: tagger.nonces.clone(),
        })
    }
}

impl Worker for Verifier {
    fn packets(&self) -> usize {
        self.packets.count()
    }

    fn pass(&mut self) -> Result<Duration, RunError> {
        let tag_bytes = self.algorithm.tag_bytes();
        let packets = &self.packets;
        timed(|| {
            let messages = packets
                .texts
                .chunks_exact(packets.stride)
                .zip(&packets.tags);
            let jobs = packets.keys.iter().zip(&self.nonces).zip(messages);
            let mut jobs: Vec<VerifyJob<'_>> = jobs
                .map(|((&key, &nonce), (text, tag))| VerifyJob {
                    key: &self.keys[key],
                    nonce,
                    parts: [&text[..packets.text_bytes], &[], &[], &[]],
                    tag: &tag[..tag_bytes],
                    verified: false,
                })
                .collect();
            verify(&mut jobs);
            match jobs.iter().all(|job| job.verified) {
                true => Ok(()),
                false => Err(RunError::Refused {
                    algorithm: self.algorithm.to_string(),
                }),
            }
        })
    }
}
