//! The work of the prototype on a batch.

use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::{Kernel, ffi};
use crate::cipher::comparison::{Lack, Setting, Worker};
use crate::cipher::packets::{Batch, Parts, Secrets, counted_nonce};
use crate::instructions;

/// Bytes of text that the kernels take at once.
const CHUNK_BYTES: usize = 64;

pub fn gcm(setting: &Setting, kernel: Kernel) -> Result<Box<dyn Worker>, Lack> {
    let lack = |what: &str| Err(Lack::Suite(what.to_owned()));
    if !instructions::prototype_runs() {
        return lack(instructions::PROTOTYPE_DOES_NOT_RUN);
    }
    let text_bytes = match (kernel, setting.text_bytes) {
        (Kernel::Fixed, Some(CHUNK_BYTES)) => CHUNK_BYTES,
        (Kernel::Fixed, _) => return lack("it takes texts of 64 bytes"),
        (Kernel::Any, Some(bytes)) if bytes.is_multiple_of(CHUNK_BYTES) => bytes,
        (Kernel::Any, _) => return lack("it takes texts of one multiple of 64 bytes"),
    };
    let raw_keys = setting.secrets.iter().map(|secret| {
        let mut key = [0; 16];
        key.copy_from_slice(&secret.cipher_key[..16]);
        key
    });
    Ok(Box::new(Prototype {
        secrets: Rc::clone(&setting.secrets),
        packets: ffi::LanePackets::new(raw_keys.collect(), text_bytes),
        kernel,
    }))
}

struct Prototype {
    secrets: Rc<Secrets>,
    packets: ffi::LanePackets,
    kernel: Kernel,
}

impl Worker for Prototype {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        self.timed_work(batch)?;
        Ok(())
    }

    /// Times the kernel alone, on arrays that are in the caches.
    fn timed_work(&mut self, mut batch: Batch<'_>) -> Result<Duration> {
        self.packets.clear();
        for packet in batch.reborrow().into_packets() {
            let turn = packet.turn;
            let Parts {
                prefix, iv, text, ..
            } = packet.into_parts();
            let nonce = counted_nonce(self.secrets.get(turn.key).salt, turn, iv);
            self.packets.push(turn.key, nonce, prefix, text)?;
        }
        self.packets.read_all();
        let start = Instant::now();
        match self.kernel {
            Kernel::Fixed => self.packets.seal_64()?,
            Kernel::Any => self.packets.seal()?,
        }
        let elapsed = start.elapsed();
        for (index, packet) in batch.into_packets().enumerate() {
            let Parts { text, tag, .. } = packet.into_parts();
            self.packets.read(index, text, tag)?;
        }
        Ok(elapsed)
    }
}
