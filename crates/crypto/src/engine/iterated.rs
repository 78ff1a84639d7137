//! The iterated test of RFC 7253 appendix A: 385 packets, the last of which
//! authenticates all that came out of the others.

use weir_simd::Tier;

use super::known_answers::{iterated, unhex};
use crate::hazmat::{self, RawSealJob, RawSealingKey};
use crate::keys::{KeyMaterial, KeyPolicy};
use crate::suite::{Aead, AesKeySize, Suite};

pub(super) const SOURCE: &str = "RFC 7253 appendix A, iterated";

/// Runs the test with the kernels of `tier` and counts its packets.
pub(super) fn check(size: AesKeySize, tier: Tier) -> Result<usize, &'static str> {
    // The tag's length in bits ends the key; the nonces begin with zeros.
    let mut key = vec![0; size.key_bytes() + 4];
    key[size.key_bytes() - 1] = 128;
    let key = KeyMaterial::new(Suite::Aead(Aead::AesOcb3(size)), &key, &[])
        .and_then(|key| RawSealingKey::with_policy(&key, tier, KeyPolicy::Precomputed))
        .map_err(|_| "the key is refused")?;

    let mut packets: Vec<Packet> = (0..128)
        .flat_map(|bytes| [(bytes, bytes), (0, bytes), (bytes, 0)])
        .zip(1..)
        .map(|((associated, text), nonce)| Packet::of_zeros(nonce, associated, text))
        .collect();
    seal(&key, tier, &mut packets)?;

    let sealed: Vec<u8> = packets
        .iter()
        .flat_map(|packet| packet.text.iter().chain(&packet.tag))
        .copied()
        .collect();
    let mut last = [Packet {
        associated: sealed,
        ..Packet::of_zeros(385, 0, 0)
    }];
    seal(&key, tier, &mut last)?;
    match unhex(iterated(size)) {
        Some(tag) if last[0].tag[..] == tag => Ok(packets.len() + 1),
        Some(_) => Err("the tag differs"),
        None => Err("the answer cannot be read"),
    }
}

struct Packet {
    iv: [u8; 8],
    associated: Vec<u8>,
    text: Vec<u8>,
    tag: [u8; 16],
}

impl Packet {
    fn of_zeros(nonce: u64, associated_bytes: usize, text_bytes: usize) -> Packet {
        Packet {
            iv: nonce.to_be_bytes(),
            associated: vec![0; associated_bytes],
            text: vec![0; text_bytes],
            tag: [0; 16],
        }
    }
}

fn seal(key: &RawSealingKey, tier: Tier, packets: &mut [Packet]) -> Result<(), &'static str> {
    let mut jobs: Vec<RawSealJob<'_>> = packets
        .iter_mut()
        .map(|packet| RawSealJob {
            key,
            prefix: &packet.associated,
            iv: &packet.iv,
            text: &mut packet.text,
            suffix: &[],
            tag: &mut packet.tag,
            sealed: false,
        })
        .collect();
    match hazmat::seal(tier, &mut jobs) {
        Ok(_) => Ok(()),
        Err(_) => Err("the packet is refused"),
    }
}
