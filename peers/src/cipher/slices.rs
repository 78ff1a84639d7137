//! Weir's part under kept keys for suites other than AES-GCM, which `seal_in` and
//! `open_in` turn into jobs of slices: here they are such from the start.

use anyhow::{Result, ensure};
use weir_crypto::{OpenJob, OpeningKey, SealJob, SealingKey, Ticket, open, seal};

use super::contest::{Refused, Worker};
use super::packets::{Batch, Packet, Parts};

/// Seals, and keeps between batches what a stage would, so that a batch allocates
/// nothing.
pub struct Sealing {
    pub keys: Vec<SealingKey>,
    pub tickets: Vec<Ticket>,
    pub jobs: Vec<SealJob<'static>>,
}

impl Worker for Sealing {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        for turn in batch.turns {
            self.tickets.push(self.keys[turn.key].next_ticket()?);
        }
        let keys = &self.keys;
        let mut jobs: Vec<SealJob<'_>> = std::mem::take(&mut self.jobs);
        let packets = batch.into_packets().zip(self.tickets.drain(..));
        jobs.extend(packets.map(|(packet, ticket)| seal_job(keys, ticket, packet)));
        seal(&mut jobs)?;
        self.jobs = SealJob::recycle(jobs);
        Ok(())
    }
}

#[inline]
fn seal_job<'a>(keys: &'a [SealingKey], ticket: Ticket, packet: Packet<'a>) -> SealJob<'a> {
    let key = &keys[packet.turn.key];
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
}

/// Opens, likewise.
pub struct Opening {
    pub keys: Vec<OpeningKey>,
    pub jobs: Vec<OpenJob<'static>>,
}

impl Worker for Opening {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let keys = &self.keys;
        let mut jobs: Vec<OpenJob<'_>> = std::mem::take(&mut self.jobs);
        jobs.extend(batch.into_packets().map(|packet| open_job(keys, packet)));
        open(&mut jobs);
        ensure!(jobs.iter().all(|job| job.verified), Refused);
        self.jobs = OpenJob::recycle(jobs);
        Ok(())
    }
}

#[inline]
fn open_job<'a>(keys: &'a [OpeningKey], packet: Packet<'a>) -> OpenJob<'a> {
    let key = &keys[packet.turn.key];
    let Parts {
        prefix,
        iv,
        text,
        tag,
    } = packet.into_parts();
    OpenJob {
        key,
        prefix,
        iv,
        text,
        suffix: &[],
        tag,
        verified: false,
    }
}
