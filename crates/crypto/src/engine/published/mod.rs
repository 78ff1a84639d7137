//! What the standards say must come out, in hexadecimal: every published packet through the
//! batch interface, in every tier. One of each suite is also tested before kernels are used.

mod aead;
mod ccm;
mod cipher;
mod ctr_mac;
mod mac;
mod ocb3;
pub(crate) mod universal;

use weir_simd::{Tier, for_each_tier};

use super::known_answers::{KnownAnswer, unhex};
use super::self_test::{SelfTestError, check};
use crate::mac::{Algorithm, TagWords};
use crate::suite::{Aead, AesKeySize, Cipher, Mac, Suite};
use aead::AEADS;
use ccm::CCM;
use cipher::CIPHERS;
use ctr_mac::CTR_MAC;
use mac::MACS;
use ocb3::OCB3;
use universal::TagsAnswer;

/// One sealed packet of an AEAD.
#[derive(Clone, Copy)]
struct AeadAnswer {
    /// Where it is published.
    source: &'static str,
    aead: Aead,
    /// Key and salt.
    key: &'static str,
    iv: &'static str,
    associated: &'static str,
    text: &'static str,
    sealed: &'static str,
    tag: &'static str,
}

/// One encrypted text of a cipher.
#[derive(Clone, Copy)]
struct CipherAnswer {
    source: &'static str,
    cipher: Cipher,
    /// Key and salt.
    key: &'static str,
    iv: &'static str,
    text: &'static str,
    sealed: &'static str,
}

/// One tag of a MAC, cut to the bytes that ESP sends.
#[derive(Clone, Copy)]
struct MacAnswer {
    source: &'static str,
    mac: Mac,
    key: &'static str,
    message: &'static str,
    tag: &'static str,
}

/// An answer of a suite, or none where it cannot be read.
type Packet = (Suite, Option<KnownAnswer>);

impl AeadAnswer {
    fn packet(&self) -> Packet {
        let packet = || {
            Some(KnownAnswer {
                published_in: self.source,
                key: unhex(self.key)?,
                aad: unhex(self.associated)?,
                iv: unhex(self.iv)?,
                payload: unhex(self.text)?,
                sealed: unhex(self.sealed)?,
                tag: unhex(self.tag)?,
                ..KnownAnswer::default()
            })
        };
        (Suite::Aead(self.aead), packet())
    }

    /// GMAC under a key of GCM's. The tag is that of GCM over the same bytes as associated
    /// data in one piece.
    fn gmac(&self, size: AesKeySize, tier: Tier) -> Packet {
        let gcm = Suite::Aead(self.aead);
        let packet = || {
            let (_, Some(packet)) = self.packet() else {
                return None;
            };
            let whole = KnownAnswer {
                key: packet.key.clone(),
                aad: [&packet.aad[..], &packet.iv, &packet.payload].concat(),
                iv: packet.iv.clone(),
                ..KnownAnswer::default()
            };
            Some(KnownAnswer {
                tag: tag_of(&whole, gcm, tier)?,
                sealed: packet.payload.clone(),
                ..packet
            })
        };
        (Suite::Aead(Aead::AesGmac(size)), packet())
    }
}

impl MacAnswer {
    /// The MAC alone: its message, spread over AAD and payload.
    fn packet(&self) -> Packet {
        let packet = || {
            let message = unhex(self.message)?;
            let (aad, payload) = message.split_at_checked(2)?;
            Some(KnownAnswer {
                published_in: self.source,
                integrity_key: unhex(self.key)?,
                aad: aad.into(),
                payload: payload.into(),
                sealed: payload.into(),
                tag: unhex(self.tag)?,
                ..KnownAnswer::default()
            })
        };
        (Suite::EncryptThenMac(Cipher::Null, self.mac), packet())
    }
}

/// A cipher's published text under a MAC's published key, with an extended sequence number.
/// The tag is that of NULL encryption over the same bytes in one piece.
fn pair(text: &CipherAnswer, tag: &MacAnswer, tier: Tier) -> Packet {
    let null = Suite::EncryptThenMac(Cipher::Null, tag.mac);
    let packet = || {
        let aad = [0, 0, 0x43, 0x21, 0, 0, 0, 1];
        let high: [u8; 4] = [0, 0, 0, 7];
        let iv = unhex(text.iv)?;
        let sealed = unhex(text.sealed)?;
        let integrity_key = unhex(tag.key)?;
        let whole = KnownAnswer {
            integrity_key: integrity_key.clone(),
            payload: [&aad[..], &iv, &sealed, &high].concat(),
            ..KnownAnswer::default()
        };
        Some(KnownAnswer {
            published_in: text.source,
            tag: tag_of(&whole, null, tier)?,
            key: unhex(text.key)?,
            integrity_key,
            aad: aad.into(),
            esn: true,
            number: 7 << 32 | 1,
            iv,
            payload: unhex(text.text)?,
            sealed,
        })
    };
    (Suite::EncryptThenMac(text.cipher, tag.mac), packet())
}

impl TagsAnswer {
    fn packet(&self, algorithm: Algorithm, words: TagWords, source: &'static str) -> Packet {
        let packet = || {
            let message = unhex(self.unit)?.repeat(self.count);
            let (aad, payload) = message.split_at(message.len().min(3));
            Some(KnownAnswer {
                published_in: source,
                key: universal::KEY.to_vec(),
                number: universal::NONCE,
                aad: aad.into(),
                payload: payload.into(),
                sealed: payload.into(),
                tag: unhex(self.tags[words as usize])?,
                ..KnownAnswer::default()
            })
        };
        (Suite::Mac(algorithm), packet())
    }
}

/// The tag of a packet under a suite.
fn tag_of(packet: &KnownAnswer, suite: Suite, tier: Tier) -> Option<Vec<u8>> {
    let sealed = packet.seal(suite, tier, false).ok()?;
    let (packet, _) = sealed.split_at_checked(packet.bytes(suite))?;
    Some(packet[packet.len() - suite.tag_bytes()..].to_vec())
}

/// Every published packet. Tags of pairs and of GMAC come from the kernels of `tier`.
fn packets(tier: Tier) -> Vec<Packet> {
    let mut packets = Vec::new();
    for answer in [AEADS, CCM, CTR_MAC, OCB3].concat() {
        packets.push(answer.packet());
        if let Aead::AesGcm16(size) = answer.aead {
            packets.push(answer.gmac(size, tier));
        }
    }
    for tag in MACS {
        packets.push(tag.packet());
        packets.extend(CIPHERS.iter().map(|text| pair(text, tag, tier)));
    }
    for words in TagWords::ALL {
        let umac = Algorithm::Umac(words);
        let tags = universal::UMAC.iter();
        packets.extend(tags.map(|answer| answer.packet(umac, words, "RFC 4418 appendix")));
        let (mmh, source) = (
            Algorithm::Mmh(words),
            "the documentation of weir_crypto::mac",
        );
        let tags = universal::MMH.iter();
        packets.extend(tags.map(|answer| answer.packet(mmh, words, source)));
    }
    packets
}

fn checked((suite, packet): Packet) -> Result<usize, SelfTestError> {
    check(&packet.expect("hexadecimal"), suite, Tier::Scalar)
}

#[test]
fn every_published_packet_comes_out_in_every_tier() {
    for_each_tier(|tier| {
        for (suite, packet) in packets(tier) {
            let packet = packet.expect("hexadecimal");
            check(&packet, suite, tier).unwrap_or_else(|error| panic!("{tier}: {error}"));
        }
    });
}

#[test]
fn what_is_tested_before_kernels_are_used_is_among_the_published_packets() {
    let published = packets(Tier::Scalar);
    let macs = Algorithm::all().filter(|mac| matches!(mac, Algorithm::Umac(_) | Algorithm::Mmh(_)));
    for suite in Suite::all().chain(macs.map(Suite::Mac)) {
        let answer = KnownAnswer::of(suite).unwrap_or_else(|| panic!("{suite}: no answer"));
        let is_published = published.iter().any(|(of, packet)| {
            let packet = packet.as_ref().expect("hexadecimal");
            *of == suite && *packet == answer
        });
        assert!(is_published, "{suite}: {}", answer.published_in);
    }
}

#[test]
fn a_wrong_answer_fails_the_test() {
    let mut aead = AEADS[0];
    aead.tag = "00112233445566778899aabbccddeeff";
    let mut cipher = CIPHERS[0];
    cipher.sealed = cipher.text;
    let mut mac = MACS[0];
    mac.tag = "00112233445566778899aabb";
    let (suite, wrong_pair) = pair(&CIPHERS[0], &MACS[0], Tier::Scalar);
    let wrong_pair = wrong_pair.map(|packet| KnownAnswer {
        tag: vec![0; packet.tag.len()],
        ..packet
    });

    for (result, what) in [
        (checked(aead.packet()), "the tag differs"),
        (
            checked(pair(&cipher, &MACS[0], Tier::Scalar)),
            "the ciphertext differs",
        ),
        (checked((suite, wrong_pair)), "the tag differs"),
        (checked(mac.packet()), "the tag differs"),
    ] {
        assert_eq!(result.map_err(|error| error.what), Err(what));
    }
}

#[test]
fn an_answer_that_cannot_be_read_is_none() {
    let mut aead = AEADS[0];
    aead.tag = "0x";
    assert!(aead.packet().1.is_none());
    assert!(KnownAnswer::of(Suite::Mac(Algorithm::Poly1305)).is_none());
}

#[test]
fn every_key_size_is_answered_for_with_and_without_partial_blocks() {
    for size in AesKeySize::ALL {
        let texts: Vec<usize> = AEADS
            .iter()
            .filter(|answer| answer.aead == Aead::AesGcm16(size))
            .map(|answer| answer.text.len() / 2)
            .collect();
        assert!(texts.iter().any(|bytes| bytes % 16 == 0), "{size:?}");
        assert!(texts.iter().any(|bytes| bytes % 16 != 0), "{size:?}");
    }
}
