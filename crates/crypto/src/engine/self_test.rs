//! Known answers through the batch interface.

use weir_simd::Tier;

use super::known_answers::universal::{self, MMH, TagsAnswer, UMAC};
use super::known_answers::{
    AEADS, AeadAnswer, CCM, CIPHERS, CTR_MAC, CipherAnswer, MACS, MacAnswer, OCB3, unhex,
};
use crate::batch::{Descriptor, Layout, Opener, Sealer};
use crate::keys::{IvSource, KeyId, KeyMaterial, OpeningKey, SealingKey};
use crate::mac::{Algorithm, TagWords};
use crate::suite::{Aead, AesKeySize, Cipher, Mac, Suite};

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
    let compared = match suite {
        Suite::Aead(Aead::AesGmac(size)) => AEADS
            .iter()
            .filter(|answer| answer.aead == Aead::AesGcm16(size))
            .map(|answer| check_gmac(answer, size, tier))
            .sum(),
        Suite::Aead(Aead::AesOcb3(_)) => check_aeads(OCB3, suite, tier),
        Suite::Aead(Aead::AesCcm8(_) | Aead::AesCcm12(_) | Aead::AesCcm16(_)) => {
            check_aeads(CCM, suite, tier)
        }
        Suite::Aead(Aead::AesCtrMac(_)) => check_aeads(CTR_MAC, suite, tier),
        Suite::Aead(_) => check_aeads(AEADS, suite, tier),
        Suite::EncryptThenMac(Cipher::Null, mac) => {
            answers_of(mac).map(|answer| check_mac(answer, tier)).sum()
        }
        Suite::EncryptThenMac(cipher, mac) => CIPHERS
            .iter()
            .filter(|answer| answer.cipher == cipher)
            .flat_map(|text| answers_of(mac).map(move |tag| check_pair(text, tag, tier)))
            .sum(),
        Suite::Mac(Algorithm::Umac(words)) => {
            check_tags(suite, words, UMAC, "RFC 4418 appendix", tier)
        }
        Suite::Mac(Algorithm::Mmh(words)) => check_tags(
            suite,
            words,
            MMH,
            "the documentation of weir_crypto::mac",
            tier,
        ),
        Suite::Mac(_) => return Ok(0),
    }?;
    if compared == 0 {
        return Err(SelfTestError {
            suite,
            published_in: "nothing",
            what: "there is no known answer",
        });
    }
    Ok(compared)
}

fn answers_of(mac: Mac) -> impl Iterator<Item = &'static MacAnswer> {
    MACS.iter().filter(move |answer| answer.mac == mac)
}

fn check_aeads(answers: &[AeadAnswer], suite: Suite, tier: Tier) -> Result<usize, SelfTestError> {
    answers
        .iter()
        .filter(|answer| Suite::Aead(answer.aead) == suite)
        .map(|answer| check_aead(answer, tier))
        .sum()
}

fn check_aead(answer: &AeadAnswer, tier: Tier) -> Result<usize, SelfTestError> {
    check(Suite::Aead(answer.aead), answer.source, tier, || {
        Some(Packet {
            key: unhex(answer.key)?,
            aad: unhex(answer.associated)?,
            iv: unhex(answer.iv)?,
            payload: unhex(answer.text)?,
            sealed: unhex(answer.sealed)?,
            tag: unhex(answer.tag)?,
            ..Packet::default()
        })
    })
}

/// GMAC under a key of GCM's. The tag is that of GCM over the same bytes as
/// associated data in one piece, after [`check_aead`] has held GCM against its
/// published answer.
fn check_gmac(answer: &AeadAnswer, size: AesKeySize, tier: Tier) -> Result<usize, SelfTestError> {
    check_aead(answer, tier)?;
    let suite = Suite::Aead(Aead::AesGmac(size));
    check(suite, answer.source, tier, || {
        let key = unhex(answer.key)?;
        let aad = unhex(answer.associated)?;
        let iv = unhex(answer.iv)?;
        let payload = unhex(answer.text)?;
        let whole = Packet {
            key: key.clone(),
            aad: [&aad[..], &iv, &payload].concat(),
            iv: iv.clone(),
            ..Packet::default()
        };
        Some(Packet {
            tag: whole.tag_under(Suite::Aead(answer.aead), tier)?,
            key,
            aad,
            iv,
            sealed: payload.clone(),
            payload,
            ..Packet::default()
        })
    })
}

/// The MAC alone: its message, spread over AAD and payload.
fn check_mac(answer: &MacAnswer, tier: Tier) -> Result<usize, SelfTestError> {
    let suite = Suite::EncryptThenMac(Cipher::Null, answer.mac);
    check(suite, answer.source, tier, || {
        let message = unhex(answer.message)?;
        let (aad, payload) = message.split_at_checked(2)?;
        Some(Packet {
            integrity_key: unhex(answer.key)?,
            aad: aad.into(),
            payload: payload.into(),
            sealed: payload.into(),
            tag: unhex(answer.tag)?,
            ..Packet::default()
        })
    })
}

/// A cipher's published text under a MAC's published key, with an extended sequence number.
/// The tag is that of NULL encryption over the same bytes in one piece, which [`check_mac`]
/// has held against published tags.
fn check_pair(text: &CipherAnswer, tag: &MacAnswer, tier: Tier) -> Result<usize, SelfTestError> {
    check_mac(tag, tier)?;
    let suite = Suite::EncryptThenMac(text.cipher, tag.mac);
    check(suite, text.source, tier, || {
        let aad = [0, 0, 0x43, 0x21, 0, 0, 0, 1];
        let number = 7 << 32 | 1;
        let high: [u8; 4] = [0, 0, 0, 7];
        let iv = unhex(text.iv)?;
        let sealed = unhex(text.sealed)?;
        let integrity_key = unhex(tag.key)?;
        let whole = Packet {
            integrity_key: integrity_key.clone(),
            payload: [&aad[..], &iv, &sealed, &high].concat(),
            ..Packet::default()
        };
        let null = Suite::EncryptThenMac(Cipher::Null, tag.mac);
        Some(Packet {
            tag: whole.tag_under(null, tier)?,
            key: unhex(text.key)?,
            integrity_key,
            aad: aad.into(),
            esn: true,
            number,
            iv,
            payload: unhex(text.text)?,
            sealed,
        })
    })
}

/// The messages of a universal-hash MAC.
fn check_tags(
    suite: Suite,
    words: TagWords,
    answers: &[TagsAnswer],
    published_in: &'static str,
    tier: Tier,
) -> Result<usize, SelfTestError> {
    let messages = answers.iter().map(|answer| {
        check(suite, published_in, tier, || {
            let message = unhex(answer.unit)?.repeat(answer.count);
            let (aad, payload) = message.split_at(message.len().min(3));
            Some(Packet {
                key: universal::KEY.to_vec(),
                number: universal::NONCE,
                aad: aad.into(),
                payload: payload.into(),
                sealed: payload.into(),
                tag: unhex(answer.tags[words as usize])?,
                ..Packet::default()
            })
        })
    });
    messages.sum()
}

/// A packet before and after sealing.
#[derive(Default)]
struct Packet {
    key: Vec<u8>,
    integrity_key: Vec<u8>,
    aad: Vec<u8>,
    esn: bool,
    number: u64,
    iv: Vec<u8>,
    payload: Vec<u8>,
    sealed: Vec<u8>,
    tag: Vec<u8>,
}

fn check(
    suite: Suite,
    published_in: &'static str,
    tier: Tier,
    packet: impl FnOnce() -> Option<Packet>,
) -> Result<usize, SelfTestError> {
    packet()
        .ok_or("the answer cannot be read")
        .and_then(|packet| packet.check(suite, tier))
        .map_err(|what| SelfTestError {
            suite,
            published_in,
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

impl Packet {
    fn copies(&self) -> usize {
        match self.payload.len() {
            0..MAX_COPIED_BYTES => COPIES,
            _ => 1,
        }
    }

    fn bytes(&self, suite: Suite) -> usize {
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
    fn seal(&self, suite: Suite, tier: Tier, one_time: bool) -> Result<Vec<u8>, &'static str> {
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

    /// The tag of this packet under another suite.
    fn tag_under(&self, suite: Suite, tier: Tier) -> Option<Vec<u8>> {
        let sealed = self.seal(suite, tier, false).ok()?;
        let (packet, _) = sealed.split_at_checked(self.bytes(suite))?;
        Some(packet[packet.len() - suite.tag_bytes()..].to_vec())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_answer_fails_the_test() {
        let mut aead = AEADS[0];
        aead.tag = "00112233445566778899aabbccddeeff";
        let mut cipher = CIPHERS[0];
        cipher.sealed = cipher.text;
        let mut mac = MACS[0];
        mac.tag = "00112233445566778899aabb";

        let tier = Tier::Scalar;
        for (result, what) in [
            (check_aead(&aead, tier), "the tag differs"),
            (
                check_pair(&cipher, &MACS[0], tier),
                "the ciphertext differs",
            ),
            (check_pair(&CIPHERS[0], &mac, tier), "the tag differs"),
            (check_mac(&mac, tier), "the tag differs"),
        ] {
            assert_eq!(result.map_err(|error| error.what), Err(what));
        }
    }

    #[test]
    fn an_answer_that_cannot_be_read_fails_the_test() {
        let mut aead = AEADS[0];
        aead.tag = "0x";
        let error = check_aead(&aead, Tier::Scalar).expect_err("no hexadecimal");
        assert_eq!(error.what, "the answer cannot be read");
        assert_eq!(error.published_in, AEADS[0].source);
    }

    #[test]
    fn every_key_size_is_answered_for_with_and_without_partial_blocks() {
        for size in [AesKeySize::Aes128, AesKeySize::Aes192, AesKeySize::Aes256] {
            let texts: Vec<usize> = AEADS
                .iter()
                .filter(|answer| answer.aead == Aead::AesGcm16(size))
                .map(|answer| answer.text.len() / 2)
                .collect();
            assert!(texts.iter().any(|bytes| bytes % 16 == 0), "{size:?}");
            assert!(texts.iter().any(|bytes| bytes % 16 != 0), "{size:?}");
        }
    }
}
