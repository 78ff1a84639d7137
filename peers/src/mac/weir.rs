//! Weir's part: batches of jobs, each with its own key.

use anyhow::Result;
use weir_crypto::Ticket;
use weir_crypto::mac::{Algorithm, Material, TagJob, TaggingKey, tag};

use super::contest::Subject;
use super::messages::{Batch, Secret};

/// Weir's MAC of this name, with its tags cut to so many bytes.
pub fn mac(name: &str, tag_bytes: usize, secrets: &[Secret]) -> Result<Box<dyn Subject>> {
    let mut weir = Weir {
        algorithm: Algorithm::parse(name)?,
        tag_bytes,
        keys: Vec::new(),
        tickets: Vec::new(),
        jobs: Vec::new(),
    };
    weir.set_keys(secrets)?;
    Ok(Box::new(weir))
}

struct Weir {
    algorithm: Algorithm,
    tag_bytes: usize,
    keys: Vec<TaggingKey>,
    tickets: Vec<Ticket>,
    /// Room for the next batch's.
    jobs: Vec<TagJob<'static>>,
}

impl Subject for Weir {
    fn set_keys(&mut self, secrets: &[Secret]) -> Result<()> {
        // Salts are zeros here, as the nonces say.
        let key_bytes = self.algorithm.key_bytes();
        let material = |secret: &Secret| match self.algorithm {
            Algorithm::Gmac(_) | Algorithm::Poly1305 => {
                let key = [&secret[..key_bytes - 4], &[0; 4]].concat();
                Material::new(self.algorithm, &key)
            }
            _ => Material::new(self.algorithm, &secret[..key_bytes]),
        };
        let materials = secrets.iter().map(|secret| Ok((material(secret)?, 1)));
        let spent = std::mem::take(&mut self.keys);
        self.keys = TaggingKey::new_batch_over(spent, materials.collect::<Result<_>>()?)?;
        for key in &mut self.keys {
            key.allow_until(u64::MAX);
        }
        Ok(())
    }

    fn tag(&mut self, mut batch: Batch<'_>) -> Result<()> {
        self.tickets.clear();
        for &key in batch.keys {
            self.tickets.push(self.keys[key as usize].next_ticket()?);
        }
        let keys = batch.keys;
        let (messages, tags) = batch.messages_and_tags();
        let mut jobs: Vec<TagJob<'_>> = std::mem::take(&mut self.jobs);
        let parts = keys
            .iter()
            .zip(self.tickets.drain(..))
            .zip(messages)
            .zip(tags);
        jobs.extend(parts.map(|(((&key, ticket), message), out)| TagJob {
            key: &self.keys[key as usize],
            ticket,
            parts: [message, &[], &[], &[]],
            tag: &mut out[..self.tag_bytes],
        }));
        tag(&mut jobs)?;
        self.jobs = TagJob::recycle(jobs);
        Ok(())
    }
}
