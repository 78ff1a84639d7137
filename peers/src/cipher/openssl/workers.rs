//! The work of OpenSSL on a batch: its packets, one by one.

use std::rc::Rc;

use anyhow::Result;

use super::ffi;
use crate::cipher::comparison::{Direction, Lack, Refused, Setting, Worker};
use crate::cipher::first_blocks::{FirstBlocks, nonce};
use crate::cipher::packets::{Batch, Parts, Secret, Secrets};

/// A context for every key; where packets bring theirs, one that serves all.
fn contexts<C>(
    setting: &Setting,
    context: impl FnMut(Secret<'_>) -> Option<C>,
    cipher: &str,
) -> Result<Vec<C>, Lack> {
    let count = if setting.new_keys { 1 } else { usize::MAX };
    let contexts = setting.secrets.iter().take(count).map(context);
    let contexts: Option<Vec<C>> = contexts.collect();
    contexts.ok_or_else(|| Lack::Suite(format!("it has no {cipher}")))
}

/// The secrets that packets bring, where they do.
fn brought(setting: &Setting) -> Option<Rc<Secrets>> {
    setting.new_keys.then(|| Rc::clone(&setting.secrets))
}

pub fn aead(setting: &Setting, cipher: &str) -> Result<Box<dyn Worker>, Lack> {
    let direction = setting.direction;
    let seals = direction == Direction::Seal;
    let context = |secret: Secret<'_>| ffi::Aead::new(cipher, seals, secret.cipher_key);
    Ok(Box::new(Aead {
        contexts: contexts(setting, context, cipher)?,
        blocks: FirstBlocks::new(&setting.secrets, setting.direction == Direction::Seal),
        brought: brought(setting),
        direction,
    }))
}

struct Aead {
    contexts: Vec<ffi::Aead>,
    blocks: FirstBlocks,
    brought: Option<Rc<Secrets>>,
    direction: Direction,
}

impl Worker for Aead {
    fn work(&mut self, mut batch: Batch<'_>) -> Result<()> {
        let blocks = self.blocks.write(&mut batch);
        for (packet, block) in batch.into_packets().zip(blocks) {
            let key = packet.turn.key;
            let (context, new_key) = match &self.brought {
                None => (&mut self.contexts[key], None),
                Some(secrets) => (&mut self.contexts[0], Some(secrets.get(key).cipher_key)),
            };
            let Parts {
                prefix, text, tag, ..
            } = packet.into_parts();
            let tag = tag.first_chunk_mut().ok_or(Refused)?;
            match self.direction {
                Direction::Seal => context.seal(new_key, nonce(block), prefix, text, tag)?,
                Direction::Open => context.open(new_key, nonce(block), prefix, text, tag)?,
            }
        }
        Ok(())
    }
}

pub fn encrypt_then_mac(
    setting: &Setting,
    cipher: &str,
    digest: &str,
) -> Result<Box<dyn Worker>, Lack> {
    let context = |secret: Secret<'_>| {
        ffi::EncryptThenMac::new(cipher, digest, secret.cipher_key, secret.integrity_key)
    };
    Ok(Box::new(EncryptThenMac {
        contexts: contexts(setting, context, cipher)?,
        blocks: FirstBlocks::new(&setting.secrets, setting.direction == Direction::Seal),
        brought: brought(setting),
    }))
}

struct EncryptThenMac {
    contexts: Vec<ffi::EncryptThenMac>,
    blocks: FirstBlocks,
    brought: Option<Rc<Secrets>>,
}

impl Worker for EncryptThenMac {
    fn work(&mut self, mut batch: Batch<'_>) -> Result<()> {
        let blocks = self.blocks.write(&mut batch);
        for (packet, block) in batch.into_packets().zip(blocks) {
            let key = packet.turn.key;
            let (context, new_keys) = match &self.brought {
                None => (&mut self.contexts[key], None),
                Some(secrets) => {
                    let secret = secrets.get(key);
                    let keys = (secret.cipher_key, secret.integrity_key);
                    (&mut self.contexts[0], Some(keys))
                }
            };
            let (text_offset, text_bytes) = (packet.text_offset, packet.text_bytes);
            context.seal(new_keys, block, packet.record, text_offset, text_bytes)?;
        }
        Ok(())
    }
}
