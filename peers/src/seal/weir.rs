//! Weir's part: batches of jobs, each with its own key.

use anyhow::Result;
use weir_crypto::{IvSource, KeyMaterial, KeyPolicy, SealJob, SealingKey, Suite, Ticket, seal};

use super::Sealer;
use super::packets::{Packet, Packets, Secrets};

/// Packets of a batch, as in a pipeline.
const BATCH_PACKETS: usize = 256;

/// Keys that are expanded beforehand.
pub struct HeldKeys {
    keys: Vec<SealingKey>,
    batch: Batch,
}

impl HeldKeys {
    pub fn new(suite: Suite, secrets: &[Secrets]) -> Result<HeldKeys> {
        let keys: Result<_> = secrets
            .iter()
            .map(|secrets| expand(suite, secrets, KeyPolicy::Precomputed))
            .collect();
        Ok(HeldKeys {
            keys: keys?,
            batch: Batch::default(),
        })
    }
}

impl Sealer for HeldKeys {
    fn seal(&mut self, packets: &mut Packets) -> Result<()> {
        for (turns, packets) in packets.batches_mut(BATCH_PACKETS) {
            self.batch
                .draw(&mut self.keys, turns.iter().map(|turn| turn.key))?;
            let keys = &self.keys;
            self.batch
                .seal(packets.map(|packet| (&keys[packet.turn.key], packet)))?;
        }
        Ok(())
    }
}

/// Keys that come with their packets, used once and forgotten.
pub struct NewKeys {
    suite: Suite,
    secrets: Vec<Secrets>,
    batch: Batch,
}

impl NewKeys {
    pub fn new(suite: Suite, secrets: Vec<Secrets>) -> NewKeys {
        NewKeys {
            suite,
            secrets,
            batch: Batch::default(),
        }
    }
}

impl Sealer for NewKeys {
    fn seal(&mut self, packets: &mut Packets) -> Result<()> {
        for (turns, packets) in packets.batches_mut(BATCH_PACKETS) {
            let expanded = turns
                .iter()
                .map(|turn| expand(self.suite, &self.secrets[turn.key], KeyPolicy::OnTheFly));
            let mut keys = expanded.collect::<Result<Vec<SealingKey>>>()?;
            self.batch.draw(&mut keys, 0..turns.len())?;
            self.batch.seal(keys.iter().zip(packets))?;
        }
        Ok(())
    }
}

fn expand(suite: Suite, secrets: &Secrets, policy: KeyPolicy) -> Result<SealingKey> {
    let cipher_key = [&secrets.cipher_key[..], &secrets.salt[..suite.salt_bytes()]].concat();
    let material = KeyMaterial::new(suite, &cipher_key, &secrets.integrity_key)?;
    let mut key = SealingKey::with_policy(material, 1, IvSource::RepeatableInsecure, policy)?;
    key.allow_until(u64::MAX);
    Ok(key)
}

/// What a stage keeps between batches, so that a batch allocates nothing.
#[derive(Default)]
struct Batch {
    tickets: Vec<Ticket>,
    jobs: Vec<SealJob<'static>>,
}

impl Batch {
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
                .map(|((key, packet), ticket)| SealJob {
                    key,
                    ticket,
                    prefix: packet.prefix,
                    iv: packet.iv,
                    text: packet.text,
                    suffix: &[],
                    tag: packet.tag,
                }),
        );
        seal(&mut jobs)?;
        self.jobs = SealJob::recycle(jobs);
        Ok(())
    }
}
