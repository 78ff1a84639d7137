//! Known answers through the job interface.

use std::fmt;

use super::iterated;
use super::known_answers::{
    AEADS, AeadAnswer, CCM, CIPHERS, CTR_MAC, CipherAnswer, MACS, MacAnswer, OCB3, unhex,
};
use weir_simd::Tier;

use crate::hazmat::{self, RawSealJob, RawSealingKey};
use crate::job::{OpenJob, open_at};
use crate::keys::{KeyMaterial, KeyPolicy, OpeningKey};
use crate::mac::Algorithm;
use crate::suite::{Aead, AesKeySize, Cipher, Mac, Suite};

/// A suite or a MAC did not give a published answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{subject} fails on {published_in}: {what}")]
pub struct SelfTestError {
    /// What is at fault.
    pub subject: Tested,
    /// Where the answer is published.
    pub published_in: &'static str,
    /// What went wrong.
    pub what: &'static str,
}

/// What a self-test is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tested {
    /// A suite.
    Suite(Suite),
    /// A MAC by itself.
    Mac(Algorithm),
}

impl fmt::Display for Tested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tested::Suite(suite) => suite.fmt(f),
            Tested::Mac(algorithm) => algorithm.fmt(f),
        }
    }
}

/// Tests one suite with the kernels of `tier` and counts the packets compared.
pub(super) fn of(suite: Suite, tier: Tier) -> Result<usize, SelfTestError> {
    let compared = match suite {
        Suite::Aead(Aead::AesOcb3(size)) => check_iterated(size, tier)
            .and_then(|packets| Ok(packets + check_aeads(OCB3, suite, tier)?)),
        Suite::Aead(Aead::AesGmac(size)) => AEADS
            .iter()
            .filter(|answer| answer.aead == Aead::AesGcm16(size))
            .map(|answer| check_gmac(answer, size, tier))
            .sum(),
        Suite::Aead(Aead::AesCcm16(_)) => check_aeads(CCM, suite, tier),
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
    }?;
    if compared == 0 {
        return Err(SelfTestError {
            subject: Tested::Suite(suite),
            published_in: "any document",
            what: "no answer is known",
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

fn check_iterated(size: AesKeySize, tier: Tier) -> Result<usize, SelfTestError> {
    iterated::check(size, tier).map_err(|what| SelfTestError {
        subject: Tested::Suite(Suite::Aead(Aead::AesOcb3(size))),
        published_in: iterated::SOURCE,
        what,
    })
}

fn check_aead(answer: &AeadAnswer, tier: Tier) -> Result<usize, SelfTestError> {
    let suite = Suite::Aead(answer.aead);
    check(suite, answer.source, tier, || {
        Some(Packet {
            suite,
            key: unhex(answer.key)?,
            integrity_key: Vec::new(),
            prefix: unhex(answer.associated)?,
            iv: unhex(answer.iv)?,
            text: unhex(answer.text)?,
            sealed: unhex(answer.sealed)?,
            suffix: Vec::new(),
            tag: unhex(answer.tag)?,
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
        let prefix = unhex(answer.associated)?;
        let iv = unhex(answer.iv)?;
        let text = unhex(answer.text)?;
        let mut tag = vec![0; suite.tag_bytes()];
        let gcm = KeyMaterial::new(Suite::Aead(answer.aead), &key, &[]).ok()?;
        let gcm = RawSealingKey::with_policy(&gcm, tier, KeyPolicy::Precomputed).ok()?;
        let mut whole = [RawSealJob {
            key: &gcm,
            prefix: &[&prefix[..], &iv, &text].concat(),
            iv: &iv,
            text: &mut [],
            suffix: &[],
            tag: &mut tag,
            sealed: false,
        }];
        hazmat::seal(tier, &mut whole).ok()?;
        Some(Packet {
            suite,
            key,
            integrity_key: Vec::new(),
            prefix,
            iv,
            sealed: text.clone(),
            text,
            suffix: Vec::new(),
            tag,
        })
    })
}

/// The MAC alone: its message, spread over all that a packet authenticates.
fn check_mac(answer: &MacAnswer, tier: Tier) -> Result<usize, SelfTestError> {
    let suite = Suite::EncryptThenMac(Cipher::Null, answer.mac);
    check(suite, answer.source, tier, || {
        let message = unhex(answer.message)?;
        let (prefix, rest) = message.split_at_checked(2)?;
        let (text, suffix) = rest.split_at_checked(rest.len() / 2)?;
        Some(Packet {
            suite,
            key: Vec::new(),
            integrity_key: unhex(answer.key)?,
            prefix: prefix.into(),
            iv: Vec::new(),
            text: text.into(),
            sealed: text.into(),
            suffix: suffix.into(),
            tag: unhex(answer.tag)?,
        })
    })
}

/// A cipher's published text under a MAC's published key. The tag is that of
/// NULL encryption over the same bytes in one piece, which [`check_mac`] has
/// held against published tags.
fn check_pair(text: &CipherAnswer, tag: &MacAnswer, tier: Tier) -> Result<usize, SelfTestError> {
    check_mac(tag, tier)?;
    let suite = Suite::EncryptThenMac(text.cipher, tag.mac);
    check(suite, text.source, tier, || {
        let prefix = [0, 0, 0x43, 0x21, 0, 0, 0, 1];
        let suffix = [0, 0, 0, 7];
        let iv = unhex(text.iv)?;
        let sealed = unhex(text.sealed)?;
        let integrity_key = unhex(tag.key)?;
        let null = Suite::EncryptThenMac(Cipher::Null, tag.mac);
        let mut whole_tag = vec![0; null.tag_bytes()];
        let null = KeyMaterial::new(null, &[], &integrity_key).ok()?;
        let null = RawSealingKey::with_policy(&null, tier, KeyPolicy::Precomputed).ok()?;
        let mut whole = [RawSealJob {
            key: &null,
            prefix: &[&prefix[..], &iv, &sealed, &suffix].concat(),
            iv: &[],
            text: &mut [],
            suffix: &[],
            tag: &mut whole_tag,
            sealed: false,
        }];
        hazmat::seal(tier, &mut whole).ok()?;
        Some(Packet {
            suite,
            key: unhex(text.key)?,
            integrity_key,
            prefix: prefix.into(),
            iv,
            text: unhex(text.text)?,
            sealed,
            suffix: suffix.into(),
            tag: whole_tag,
        })
    })
}

/// A packet before and after sealing.
struct Packet {
    suite: Suite,
    key: Vec<u8>,
    integrity_key: Vec<u8>,
    prefix: Vec<u8>,
    iv: Vec<u8>,
    text: Vec<u8>,
    sealed: Vec<u8>,
    suffix: Vec<u8>,
    tag: Vec<u8>,
}

fn check(
    suite: Suite,
    published_in: &'static str,
    tier: Tier,
    packet: impl FnOnce() -> Option<Packet>,
) -> Result<usize, SelfTestError> {
    // Policies make a difference to GCM's kernels only.
    let policies: &[KeyPolicy] = match suite {
        Suite::Aead(Aead::AesGcm16(_)) => &KeyPolicy::ALL,
        _ => &[KeyPolicy::Precomputed],
    };
    packet()
        .ok_or("the answer cannot be read")
        .and_then(|packet| {
            policies
                .iter()
                .try_for_each(|policy| packet.check(tier, *policy))
        })
        .map(|()| policies.len() * COPIES)
        .map_err(|what| SelfTestError {
            subject: Tested::Suite(suite),
            published_in,
            what,
        })
}

/// How many times a packet is processed at once: the kernels take four or eight
/// together, more than once, and find one left over.
const COPIES: usize = 17;

/// Which of the copies arrives damaged.
const DAMAGED: usize = 2;

impl Packet {
    fn check(&self, tier: Tier, policy: KeyPolicy) -> Result<(), &'static str> {
        let refused = |_| "the key is refused";
        let material =
            KeyMaterial::new(self.suite, &self.key, &self.integrity_key).map_err(refused)?;
        let sealing = RawSealingKey::with_policy(&material, tier, policy).map_err(refused)?;
        let opening = OpeningKey::at_tier(&material, tier, policy).map_err(refused)?;

        let mut texts = [const { Vec::new() }; COPIES];
        texts.fill(self.text.clone());
        let mut tags = [const { Vec::new() }; COPIES];
        tags.fill(vec![0; self.suite.tag_bytes()]);
        let mut jobs: Vec<RawSealJob<'_>> = texts
            .iter_mut()
            .zip(&mut tags)
            .map(|(text, tag)| RawSealJob {
                key: &sealing,
                prefix: &self.prefix,
                iv: &self.iv,
                text,
                suffix: &self.suffix,
                tag,
                sealed: false,
            })
            .collect();
        hazmat::seal(tier, &mut jobs).map_err(|_| "the packet is refused")?;
        if texts.iter().any(|text| *text != self.sealed) {
            return Err("the ciphertext differs");
        }
        if tags.iter().any(|tag| *tag != self.tag) {
            return Err("the tag differs");
        }

        tags[DAMAGED][0] ^= 1;
        let mut jobs: Vec<OpenJob<'_>> = texts
            .iter_mut()
            .zip(&tags)
            .map(|(text, tag)| OpenJob {
                key: &opening,
                prefix: &self.prefix,
                iv: &self.iv,
                text,
                suffix: &self.suffix,
                tag,
                verified: false,
            })
            .collect();
        open_at(|_| tier, &mut jobs);
        for (copy, job) in jobs.iter().enumerate() {
            match (copy == DAMAGED, job.verified) {
                (false, false) => return Err("the packet does not open"),
                (true, true) => return Err("a wrong tag is accepted"),
                (false, true) if *job.text != self.text[..] => {
                    return Err("the packet opens to another text");
                }
                (true, false) if job.text.iter().any(|byte| *byte != 0) => {
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
