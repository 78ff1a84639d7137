//! Known answers through the batch interface.

use weir_simd::Tier;

use super::known_answers::KnownAnswer;
use crate::batch::{Descriptor, Layout, Opener, Sealer};
use crate::keys::{IvSource, KeyId, KeyMaterial, OpeningKey, SealingKey};
use crate::mac::Algorithm;
use crate::suite::{Aead, Suite};

/// A suite did not give a published answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{suite} fails on {published_in}: {what}")]
pub struct SelfTestError {
    /// What is at fault.
    pub suite: Suite,
    /// Where the answer is published.
    pub published_in: &'static str,
    /// What went wrong.
    pub what: &'static str,
}

/// Tests one suite with the kernels of `tier` and counts the packets compared. GMAC, HMAC and
/// Poly1305 alone are tested with the suites that are made of them.
pub(super) fn of(suite: Suite, tier: Tier) -> Result<usize, SelfTestError> {
    if let Suite::Mac(Algorithm::Gmac(_) | Algorithm::Hmac(_) | Algorithm::Poly1305) = suite {
        return Ok(0);
    }
    let answer = KnownAnswer::of(suite).ok_or(SelfTestError {
        suite,
        published_in: "nothing",
        what: "there is no known answer",
    })?;
    check(&answer, suite, tier)
}

/// Holds the kernels of `tier` against an answer of `suite`, and counts the packets compared.
pub(super) fn check(
    answer: &KnownAnswer,
    suite: Suite,
    tier: Tier,
) -> Result<usize, SelfTestError> {
    answer.check(suite, tier).map_err(|what| SelfTestError {
        suite,
        published_in: answer.published_in,
        what,
    })
}

/// How many times a packet is processed at once: the kernels take four or eight
/// together, more than once, and find one left over.
const COPIES: usize = 17;

/// Longer messages are processed once.
const MAX_COPIED_BYTES: usize = 4096;

/// Which of the copies arrives damaged.
const DAMAGED: usize = 2;

impl KnownAnswer {
    fn copies(&self) -> usize {
        match self.payload.len() {
            0..MAX_COPIED_BYTES => COPIES,
            _ => 1,
        }
    }

    pub(super) fn bytes(&self, suite: Suite) -> usize {
        let parts = self.aad.len() + self.iv.len() + self.payload.len();
        parts + suite.tag_bytes()
    }

    fn descriptor(&self, suite: Suite, key: KeyId, copy: usize) -> Descriptor {
        Descriptor {
            key,
            context: 0,
            offset: (copy * self.bytes(suite)) as u32,
            layout: Layout {
                payload_bytes: self.payload.len() as u32,
                aad_bytes: self.aad.len() as u16,
                gap_bytes: 0,
                esn: self.esn,
            },
        }
    }

    fn material(&self, suite: Suite) -> Result<KeyMaterial, &'static str> {
        KeyMaterial::new(suite, &self.key, &self.integrity_key).map_err(|_| "the key is refused")
    }

    /// Seals the copies under one key, or each under a one-time key.
    pub(super) fn seal(
        &self,
        suite: Suite,
        tier: Tier,
        one_time: bool,
    ) -> Result<Vec<u8>, &'static str> {
        let mut sealer = Sealer::at_tier(Some(tier));
        let ivs = IvSource::RepeatableInsecure;
        let key = SealingKey::at_tier(&self.material(suite)?, .., ivs, tier);
        let key = sealer.add(key.map_err(|_| "the key is refused")?);
        let tag = vec![0; suite.tag_bytes()];
        let packet = [&self.aad[..], &vec![0; self.iv.len()], &self.payload, &tag].concat();
        let mut buffer = packet.repeat(self.copies());
        let mut batch = sealer.batch(&mut buffer);
        for copy in 0..self.copies() {
            let pushed = if one_time {
                let key = batch.add_one_time_key(suite, &self.key, &self.integrity_key);
                let key = key.map_err(|_| "the one-time key is refused")?;
                let counted = self
                    .iv
                    .first_chunk()
                    .map_or(0, |iv| u64::from_be_bytes(*iv));
                batch.push_numbered(self.descriptor(suite, key, copy), counted)
            } else {
                batch.push_with_iv(self.descriptor(suite, key, copy), self.number, &self.iv)
            };
            pushed.map_err(|_| "the packet is refused")?;
        }
        match batch.run().all_good() {
            true => Ok(buffer),
            false => Err("the packet is not sealed"),
        }
    }

    fn check(&self, suite: Suite, tier: Tier) -> Result<usize, &'static str> {
        // Other suites expand one-time keys as held ones.
        let has_one_time = matches!(
            suite,
            Suite::Aead(Aead::AesGcm16(_) | Aead::ChaCha20Poly1305)
        );
        let mut compared = 0;
        for one_time in [false, true]
            .into_iter()
            .filter(|once| !once || has_one_time)
        {
            let mut buffer = self.seal(suite, tier, one_time)?;
            for packet in buffer.chunks_exact(self.bytes(suite)) {
                let (_, rest) = packet.split_at(self.aad.len() + self.iv.len());
                let (sealed, tag) = rest.split_at(self.payload.len());
                if sealed != self.sealed {
                    return Err("the ciphertext differs");
                }
                if tag != self.tag {
                    return Err("the tag differs");
                }
                compared += 1;
            }
            self.open(suite, tier, one_time, &mut buffer)?;
        }
        Ok(compared)
    }

    /// Opens the copies, one of which is damaged.
    fn open(
        &self,
        suite: Suite,
        tier: Tier,
        one_time: bool,
        buffer: &mut [u8],
    ) -> Result<(), &'static str> {
        let mut packets = buffer.chunks_exact_mut(self.bytes(suite));
        let damaged = packets.nth(DAMAGED);
        if let Some(tag) = damaged.and_then(|packet| packet.last_mut()) {
            *tag ^= 1;
        }
        let mut opener = Opener::at_tier(Some(tier));
        let key = OpeningKey::at_tier(&self.material(suite)?, tier);
        let key = opener.add(key.map_err(|_| "the key is refused")?);
        let mut batch = opener.batch(buffer);
        for copy in 0..self.copies() {
            let key = match one_time {
                true => batch
                    .add_one_time_key(suite, &self.key, &self.integrity_key)
                    .map_err(|_| "the one-time key is refused")?,
                false => key,
            };
            let pushed = batch.push_numbered(self.descriptor(suite, key, copy), self.number);
            pushed.map_err(|_| "the packet is refused")?;
        }
        let verdicts = batch.run();
        for (copy, packet) in buffer.chunks_exact(self.bytes(suite)).enumerate() {
            let start = self.aad.len() + self.iv.len();
            let payload = &packet[start..start + self.payload.len()];
            match (copy == DAMAGED, verdicts.is_good(copy)) {
                (false, false) => return Err("the packet does not open"),
                (true, true) => return Err("a wrong tag is accepted"),
                (false, true) if payload != self.payload => {
                    return Err("the packet opens to another text");
                }
                // A MAC alone leaves its message as it was.
                (true, false)
                    if !matches!(suite, Suite::Mac(_)) && payload.iter().any(|byte| *byte != 0) =>
                {
                    return Err("a wrong tag releases text");
                }
                _ => {}
            }
        }
        Ok(())
    }
}
