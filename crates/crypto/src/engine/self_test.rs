//! Known answers through the job interface.

use super::known_answers::{AEADS, AeadAnswer, CIPHERS, CipherAnswer, MACS, MacAnswer, unhex};
use crate::hazmat::RawSealingKey;
use crate::job::{OpenJob, open};
use crate::keys::{KeyMaterial, OpeningKey};
use crate::suite::{Cipher, Mac, Suite};

/// A suite did not give a published answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{suite} fails on {published_in}: {what}")]
pub struct SelfTestError {
    /// The suite at fault.
    pub suite: Suite,
    /// Where the answer is published.
    pub published_in: &'static str,
    /// What went wrong.
    pub what: &'static str,
}

/// Tests one suite and counts the packets compared.
pub(super) fn of(suite: Suite) -> Result<usize, SelfTestError> {
    let compared = match suite {
        Suite::Aead(aead) => AEADS
            .iter()
            .filter(|answer| answer.aead == aead)
            .map(check_aead)
            .sum::<Result<usize, _>>(),
        Suite::EncryptThenMac(Cipher::Null, mac) => answers_of(mac).map(check_mac).sum(),
        Suite::EncryptThenMac(cipher, mac) => CIPHERS
            .iter()
            .filter(|answer| answer.cipher == cipher)
            .flat_map(|text| answers_of(mac).map(move |tag| check_pair(text, tag)))
            .sum(),
    }?;
    if compared == 0 {
        return Err(SelfTestError {
            suite,
            published_in: "any document",
            what: "no answer is known",
        });
    }
    Ok(compared)
}

fn answers_of(mac: Mac) -> impl Iterator<Item = &'static MacAnswer> {
    MACS.iter().filter(move |answer| answer.mac == mac)
}

fn check_aead(answer: &AeadAnswer) -> Result<usize, SelfTestError> {
    let suite = Suite::Aead(answer.aead);
    check(suite, answer.source, || {
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

/// The MAC alone: its message, spread over all that a packet authenticates.
fn check_mac(answer: &MacAnswer) -> Result<usize, SelfTestError> {
    let suite = Suite::EncryptThenMac(Cipher::Null, answer.mac);
    check(suite, answer.source, || {
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
fn check_pair(text: &CipherAnswer, tag: &MacAnswer) -> Result<usize, SelfTestError> {
    check_mac(tag)?;
    let suite = Suite::EncryptThenMac(text.cipher, tag.mac);
    check(suite, text.source, || {
        let prefix = [0, 0, 0x43, 0x21, 0, 0, 0, 1];
        let suffix = [0, 0, 0, 7];
        let iv = unhex(text.iv)?;
        let sealed = unhex(text.sealed)?;
        let integrity_key = unhex(tag.key)?;
        let null = Suite::EncryptThenMac(Cipher::Null, tag.mac);
        let mut whole_tag = vec![0; null.tag_bytes()];
        RawSealingKey::new(&KeyMaterial::new(null, &[], &integrity_key).ok()?)
            .ok()?
            .seal(
                &[&prefix[..], &iv, &sealed, &suffix].concat(),
                &[],
                &mut [],
                &[],
                &mut whole_tag,
            )
            .ok()?;
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
    packet: impl FnOnce() -> Option<Packet>,
) -> Result<usize, SelfTestError> {
    packet()
        .ok_or("the answer cannot be read")
        .and_then(|packet| packet.check())
        .map(|()| 1)
        .map_err(|what| SelfTestError {
            suite,
            published_in,
            what,
        })
}

impl Packet {
    fn check(&self) -> Result<(), &'static str> {
        let material = KeyMaterial::new(self.suite, &self.key, &self.integrity_key)
            .map_err(|_| "the key is refused")?;
        let sealing = RawSealingKey::new(&material).map_err(|_| "the key is refused")?;
        let opening = OpeningKey::new(&material).map_err(|_| "the key is refused")?;

        let mut text = self.text.clone();
        let mut tag = vec![0; self.suite.tag_bytes()];
        sealing
            .seal(&self.prefix, &self.iv, &mut text, &self.suffix, &mut tag)
            .map_err(|_| "the packet is refused")?;
        if text != self.sealed {
            return Err("the ciphertext differs");
        }
        if tag != self.tag {
            return Err("the tag differs");
        }

        let opened = self.open(&opening, &mut text, &tag);
        if !opened || text != self.text {
            return Err("the packet does not open");
        }

        text.copy_from_slice(&self.sealed);
        tag[0] ^= 1;
        if self.open(&opening, &mut text, &tag) {
            return Err("a wrong tag is accepted");
        }
        if text.iter().any(|&byte| byte != 0) {
            return Err("a wrong tag releases text");
        }
        Ok(())
    }

    fn open(&self, key: &OpeningKey, text: &mut [u8], tag: &[u8]) -> bool {
        let mut jobs = [OpenJob {
            key,
            prefix: &self.prefix,
            iv: &self.iv,
            text,
            suffix: &self.suffix,
            tag,
            verified: false,
        }];
        open(&mut jobs);
        jobs[0].verified
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Aead, AesKeySize};

    #[test]
    fn a_wrong_answer_fails_the_test() {
        let mut aead = AEADS[0];
        aead.tag = "00112233445566778899aabbccddeeff";
        let mut cipher = CIPHERS[0];
        cipher.sealed = cipher.text;
        let mut mac = MACS[0];
        mac.tag = "00112233445566778899aabb";

        for (result, what) in [
            (check_aead(&aead), "the tag differs"),
            (check_pair(&cipher, &MACS[0]), "the ciphertext differs"),
            (check_pair(&CIPHERS[0], &mac), "the tag differs"),
            (check_mac(&mac), "the tag differs"),
        ] {
            assert_eq!(result.map_err(|error| error.what), Err(what));
        }
    }

    #[test]
    fn an_answer_that_cannot_be_read_fails_the_test() {
        let mut aead = AEADS[0];
        aead.tag = "0x";
        let error = check_aead(&aead).expect_err("no hexadecimal");
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
