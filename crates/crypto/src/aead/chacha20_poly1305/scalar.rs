//! The scalar reference implementation: the construction of RFC 8439 section 2.8 over
//! well-maintained crates for ChaCha20 and Poly1305, which run in constant time.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use poly1305::Poly1305;
use poly1305::universal_hash::{KeyInit, UniversalHash};
use zeroize::Zeroizing;

use crate::aead::plan::MOST_PACKETS;
use crate::aead::{AeadKey, AeadPacket};
use crate::cipher::Block;
use crate::impossible::{Impossible, happens};
use crate::tags::Tags;

/// Bytes of a block of the key stream.
const BLOCK_BYTES: usize = 64;

/// Processes packets one after the other.
pub(super) fn run(open: bool, packets: &mut [AeadPacket<'_>], tags: &mut Tags<MOST_PACKETS>) {
    for (place, packet) in packets.iter_mut().enumerate() {
        if let AeadKey::ChaCha20Poly1305(key) = packet.key
            && !happens(Impossible::CipherRefuses)
            && !happens(Impossible::NotPlanned)
        {
            tags.set(place, process(open, key, packet));
        }
    }
}

/// Encrypts or decrypts the text and returns the tag.
fn process(open: bool, key: &[u8; 32], packet: &mut AeadPacket<'_>) -> Block {
    let mut stream = ChaCha20::new(key.into(), (&packet.nonce()).into());
    let mut first = Zeroizing::new([0; BLOCK_BYTES]);
    stream.apply_keystream(&mut *first);
    let mut one_time = Zeroizing::new([0; 32]);
    one_time.copy_from_slice(&first[..32]);
    if open {
        let tag = tag(&one_time, packet.associated, packet.text);
        stream.apply_keystream(packet.text);
        return tag;
    }
    stream.apply_keystream(packet.text);
    tag(&one_time, packet.associated, packet.text)
}

/// Poly1305 of associated data and ciphertext, each padded, and their lengths.
fn tag(one_time: &[u8; 32], associated: &[u8], ciphertext: &[u8]) -> Block {
    let mut lengths = [0; 16];
    lengths[..8].copy_from_slice(&(associated.len() as u64).to_le_bytes());
    lengths[8..].copy_from_slice(&(ciphertext.len() as u64).to_le_bytes());
    let mut hash = Poly1305::new(one_time.into());
    hash.update_padded(associated);
    hash.update_padded(ciphertext);
    hash.update_padded(&lengths);
    hash.finalize().into()
}

/// Poly1305 of a message of whole blocks.
#[cfg(test)]
pub(super) fn poly1305(key: &[u8; 32], message: &[u8]) -> Block {
    Poly1305::new(key.into()).compute_unpadded(message).into()
}
