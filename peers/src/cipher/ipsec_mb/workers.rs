//! The work of ipsec-mb on a batch.

use std::rc::Rc;

use anyhow::{Result, ensure};

use super::{Code, Digest, ffi};
use crate::cipher::comparison::{Direction, Lack, Refused, Setting, Worker};
use crate::cipher::first_blocks::{FirstBlocks, nonce};
use crate::cipher::packets::{Batch, PREFIX_BYTES, Parts, Secrets};

/// The name, with version and instructions.
pub fn name(code: Code) -> String {
    match ffi::Manager::new(code as i32) {
        Some(manager) => format!("ipsec-mb {} {}", ffi::version(), manager.arch()),
        None => format!("ipsec-mb {}", ffi::version()),
    }
}

fn manager(code: Code) -> Result<ffi::Manager, Lack> {
    ffi::Manager::new(code as i32).ok_or_else(|| lack("it does not run here"))
}

fn lack(what: impl ToString) -> Lack {
    Lack::Suite(what.to_string())
}

pub fn gcm(setting: &Setting, code: Code) -> Result<Box<dyn Worker>, Lack> {
    // Where packets bring their keys, one schedule serves all.
    let count = if setting.new_keys {
        1
    } else {
        setting.secrets.count()
    };
    let mut keys =
        ffi::GcmKeys::new(manager(code)?, count).ok_or_else(|| lack("it has no memory"))?;
    for (index, secret) in setting.secrets.iter().take(count).enumerate() {
        keys.expand(index, secret.cipher_key).map_err(lack)?;
    }
    Ok(Box::new(Gcm {
        keys,
        blocks: FirstBlocks::new(&setting.secrets, setting.direction == Direction::Seal),
        brought: setting.new_keys.then(|| Rc::clone(&setting.secrets)),
        direction: setting.direction,
    }))
}

struct Gcm {
    keys: ffi::GcmKeys,
    blocks: FirstBlocks,
    /// The secrets that packets bring, where they do.
    brought: Option<Rc<Secrets>>,
    direction: Direction,
}

impl Worker for Gcm {
    fn work(&mut self, mut batch: Batch<'_>) -> Result<()> {
        let blocks = self.blocks.write(&mut batch);
        for (packet, block) in batch.into_packets().zip(blocks) {
            let mut key = packet.turn.key;
            if let Some(secrets) = &self.brought {
                self.keys.expand(0, secrets.get(key).cipher_key)?;
                key = 0;
            }
            let Parts {
                prefix, text, tag, ..
            } = packet.into_parts();
            let tag = tag.first_chunk_mut().ok_or(Refused)?;
            match self.direction {
                Direction::Seal => self.keys.seal(key, nonce(block), prefix, text, tag)?,
                Direction::Open => {
                    let mut expected = [0; 16];
                    self.keys
                        .open(key, nonce(block), prefix, text, &mut expected)?;
                    // All bytes at once: the time tells nothing about the tag.
                    let difference = u128::from_ne_bytes(expected) ^ u128::from_ne_bytes(*tag);
                    ensure!(difference == 0, Refused);
                }
            }
        }
        Ok(())
    }
}

pub fn encrypt_then_mac(
    setting: &Setting,
    code: Code,
    digest: Digest,
) -> Result<Box<dyn Worker>, Lack> {
    let counts = setting.suite.salt_bytes() > 0;
    let mut keys = ffi::EtmKeys::new(
        manager(code)?,
        digest == Digest::Sha256,
        counts,
        setting.secrets.count(),
    )
    .ok_or_else(|| lack("it has no memory"))?;
    for (index, secret) in setting.secrets.iter().enumerate() {
        keys.expand(index, secret.cipher_key, secret.integrity_key)
            .map_err(lack)?;
    }
    Ok(Box::new(EncryptThenMac {
        keys,
        blocks: FirstBlocks::new(&setting.secrets, setting.direction == Direction::Seal),
        brought: setting.new_keys.then(|| Rc::clone(&setting.secrets)),
    }))
}

struct EncryptThenMac {
    keys: ffi::EtmKeys,
    blocks: FirstBlocks,
    brought: Option<Rc<Secrets>>,
}

impl Worker for EncryptThenMac {
    fn work(&mut self, mut batch: Batch<'_>) -> Result<()> {
        let blocks = self.blocks.write(&mut batch);
        let mut records = Vec::with_capacity(blocks.len());
        for (packet, block) in batch.into_packets().zip(blocks) {
            let key = packet.turn.key;
            if let Some(secrets) = &self.brought {
                let secret = secrets.get(key);
                self.keys
                    .expand(key, secret.cipher_key, secret.integrity_key)?;
            }
            let (text_offset, text_bytes) = (packet.text_offset, packet.text_bytes);
            let record = ffi::Record::new(key, *block, packet.record, text_offset, text_bytes)?;
            records.push(record);
        }
        self.keys.seal(&mut records)?;
        Ok(())
    }
}

pub fn chacha20_poly1305(setting: &Setting, code: Code) -> Result<Box<dyn Worker>, Lack> {
    let count = setting.secrets.count();
    let mut keys =
        ffi::ChaChaKeys::new(manager(code)?, count).ok_or_else(|| lack("it has no memory"))?;
    for (index, secret) in setting.secrets.iter().enumerate() {
        keys.set(index, secret.cipher_key).map_err(lack)?;
    }
    Ok(Box::new(ChaCha20Poly1305 {
        keys,
        blocks: FirstBlocks::new(&setting.secrets, setting.direction == Direction::Seal),
        brought: setting.new_keys.then(|| Rc::clone(&setting.secrets)),
        direction: setting.direction,
        computed: Vec::new(),
    }))
}

struct ChaCha20Poly1305 {
    keys: ffi::ChaChaKeys,
    blocks: FirstBlocks,
    brought: Option<Rc<Secrets>>,
    direction: Direction,
    /// The tags that opened packets should have.
    computed: Vec<[u8; 16]>,
}

impl Worker for ChaCha20Poly1305 {
    fn work(&mut self, mut batch: Batch<'_>) -> Result<()> {
        let blocks = self.blocks.write(&mut batch);
        let mut records = Vec::with_capacity(blocks.len());
        for (packet, block) in batch.into_packets().zip(blocks) {
            let key = packet.turn.key;
            if let Some(secrets) = &self.brought {
                self.keys.set(key, secrets.get(key).cipher_key)?;
            }
            let (text_offset, text_bytes) = (packet.text_offset, packet.text_bytes);
            let record = ffi::Record::new(key, *block, packet.record, text_offset, text_bytes)?;
            records.push(record);
        }
        match self.direction {
            Direction::Seal => self.keys.seal(&mut records, PREFIX_BYTES)?,
            Direction::Open => {
                self.computed.resize(records.len(), [0; 16]);
                self.keys
                    .open(&mut records, PREFIX_BYTES, &mut self.computed)?;
                let differences = records
                    .iter()
                    .zip(&self.computed)
                    .map(|(record, computed)| {
                        let difference = u128::from_ne_bytes(*computed) ^ record.tag();
                        difference != 0
                    });
                let differ = differences.fold(false, |any, one| any | one);
                ensure!(!differ, Refused);
            }
        }
        Ok(())
    }
}
