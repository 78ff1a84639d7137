//! Weir's part: batches of messages, each under its own key, with their tags behind them.

use anyhow::{Result, bail};
use weir_crypto::mac::Algorithm;
use weir_crypto::{Descriptor, KeyId, KeyMaterial, Layout, Sealer, SealingKey, Suite};

use super::comparison::Candidate;
use super::messages::{Batch, Secret};

/// Weir's MAC of this name.
pub fn mac(name: &str, secrets: &[Secret]) -> Result<Box<dyn Candidate>> {
    let mut weir = Weir {
        algorithm: Algorithm::parse(name)?,
        sealer: Sealer::new(),
        keys: Vec::new(),
    };
    weir.set_keys(secrets)?;
    Ok(Box::new(weir))
}

struct Weir {
    algorithm: Algorithm,
    sealer: Sealer,
    keys: Vec<KeyId>,
}

impl Candidate for Weir {
    fn set_keys(&mut self, secrets: &[Secret]) -> Result<()> {
        // Salts are zeros here, as the nonces say.
        let suite = Suite::Mac(self.algorithm);
        let (key_bytes, salt_bytes) = (suite.key_bytes(), suite.salt_bytes());
        let material = |secret: &Secret| {
            let key = [&secret[..key_bytes], &vec![0; salt_bytes]].concat();
            KeyMaterial::new(suite, &key, &[])
        };
        let materials = secrets.iter().map(material);
        for key in self.keys.drain(..) {
            self.sealer.remove(key);
        }
        let keys = SealingKey::new_batch(materials.collect::<Result<_, _>>()?, 1..)?;
        self.keys
            .extend(keys.into_iter().map(|key| self.sealer.add(key)));
        Ok(())
    }

    fn writes_tags_behind_messages(&self) -> bool {
        true
    }

    fn tag(&mut self, batch: Batch<'_>) -> Result<()> {
        let layout = Layout {
            payload_bytes: u32::try_from(batch.bytes)?,
            ..Layout::default()
        };
        let mut sealing = self.sealer.batch(batch.memory);
        for (&key, offset) in batch.keys.iter().zip((0..).step_by(batch.stride)) {
            sealing.push(Descriptor {
                key: self.keys[key as usize],
                context: 0,
                offset,
                layout,
            })?;
        }
        match sealing.run().all_good() {
            true => Ok(()),
            false => bail!("a message has no tag"),
        }
    }
}
