//! Suites that seal and open packets as ESP does: eight bytes of header that are
//! authenticated, IV, payload in place, tag. MACs alone tag and verify messages.

use std::time::Duration;

use weir_crypto::mac::Algorithm;
use weir_crypto::{KeyId, KeyMaterial, Layout, Opener, OpeningKey, Sealer, SealingKey, Suite};

use crate::batch::{Numbers, Packets, secret};
use crate::plan::{Plan, Subjects};
use crate::runner::{Benchmark, RunError, Worker, add_both, timed};

/// The names of suites or MACs.
pub(crate) fn names(subjects: Subjects) -> Vec<String> {
    match subjects {
        Subjects::Cipher => Suite::all().map(Suite::name).collect(),
        Subjects::Mac => Algorithm::all()
            .map(|algorithm| algorithm.to_string())
            .collect(),
    }
}

/// Adds the suite or MAC of this name in both of its modes.
pub(crate) fn add(
    name: &str,
    bytes: usize,
    plan: &Plan,
    benchmarks: &mut Vec<Benchmark>,
) -> Result<(), RunError> {
    let (suite, modes) = match plan.subjects {
        Subjects::Cipher => (Suite::parse(name).ok(), ["seal", "open"]),
        Subjects::Mac => (
            Algorithm::parse(name).ok().map(Suite::Mac),
            ["tag", "verify"],
        ),
    };
    let Some(suite) = suite else {
        return Ok(());
    };
    let pair = |seed| {
        let mut sealing = Sealing::new(suite, bytes, plan.keys, seed)?;
        // The other needs packets that are sealed.
        sealing.pass()?;
        let opening = Opening::of(&sealing)?;
        Ok((Box::new(sealing) as _, Box::new(opening) as _))
    };
    add_both(name, modes, plan.threads, pair, benchmarks)
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

struct Sealing {
    suite: Suite,
    seed: u64,
    sealer: Sealer,
    keys: Vec<KeyId>,
    packets: Packets,
    /// Of the packets, as they were sealed last.
    numbers: Vec<u64>,
}

impl Sealing {
    fn new(suite: Suite, bytes: usize, keys: usize, seed: u64) -> Result<Sealing, RunError> {
        let mut sealer = Sealer::new();
        let sealing_keys = SealingKey::new_batch(materials(suite, keys, seed)?, 1..)?;
        let keys: Vec<KeyId> = sealing_keys
            .into_iter()
            .map(|key| sealer.add(key))
            .collect();
        let layout = Layout {
            // A plan has at most 65,535.
            payload_bytes: bytes.next_multiple_of(suite.block_bytes()) as u32,
            aad_bytes: match suite {
                Suite::Mac(_) => 0,
                _ => 8,
            },
            ..Layout::default()
        };
        Ok(Sealing {
            suite,
            seed,
            sealer,
            packets: Packets::new(suite, layout, keys.len(), &mut Numbers(seed)),
            keys,
            numbers: Vec::new(),
        })
    }
}

impl Worker for Sealing {
    fn packets(&self) -> usize {
        self.packets.count()
    }

    fn pass(&mut self) -> Result<Duration, RunError> {
        let mut buffer = std::mem::take(&mut self.packets.buffer);
        self.numbers.clear();
        let elapsed = timed(|| {
            let mut batch = self.sealer.batch(&mut buffer);
            for packet in self.packets.descriptors(&self.keys) {
                self.numbers.push(batch.push(packet)?);
            }
            match batch.run().all_good() {
                true => Ok(()),
                false => Err(RunError::defect(self.suite)),
            }
        });
        self.packets.buffer = buffer;
        elapsed
    }
}

/// Opens what was sealed, again and again.
struct Opening {
    suite: Suite,
    opener: Opener,
    keys: Vec<KeyId>,
    /// As they were sealed.
    sealed: Vec<u8>,
    packets: Packets,
    numbers: Vec<u64>,
}

impl Opening {
    fn of(sealing: &Sealing) -> Result<Opening, RunError> {
        let suite = sealing.suite;
        let mut opener = Opener::new();
        let materials = materials(suite, sealing.keys.len(), sealing.seed)?;
        let keys = materials
            .iter()
            .map(|material| Ok(opener.add(OpeningKey::new(material)?)))
            .collect::<Result<_, RunError>>()?;
        Ok(Opening {
            suite,
            opener,
            keys,
            sealed: sealing.packets.buffer.clone(),
            packets: sealing.packets.clone(),
            numbers: sealing.numbers.clone(),
        })
    }
}

impl Worker for Opening {
    fn packets(&self) -> usize {
        self.packets.count()
    }

    fn pass(&mut self) -> Result<Duration, RunError> {
        let mut buffer = std::mem::take(&mut self.packets.buffer);
        buffer.copy_from_slice(&self.sealed);
        let elapsed = timed(|| {
            let mut batch = self.opener.batch(&mut buffer);
            let packets = self.packets.descriptors(&self.keys);
            for (packet, number) in packets.zip(&self.numbers) {
                batch.push_numbered(packet, *number)?;
            }
            match batch.run().all_good() {
                true => Ok(()),
                false => Err(RunError::defect(self.suite)),
            }
        });
        self.packets.buffer = buffer;
        elapsed
    }
}
