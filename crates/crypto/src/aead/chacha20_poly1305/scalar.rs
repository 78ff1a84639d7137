//! The scalar reference implementation: the construction of RFC 8439 section 2.8 over
//! well-maintained crates for ChaCha20 and Poly1305, which run in constant time.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use poly1305::Poly1305;
use poly1305::universal_hash::{KeyInit, UniversalHash};
use zeroize::Zeroizing;

use super::packet::{Packet, Task};
use crate::cipher::Block;
use crate::impossible::{Impossible, happens};

/// Bytes of a block of the key stream.
const BLOCK_BYTES: usize = 64;

/// Processes packets one after the other.
pub(super) fn run(task: &mut Task<'_, '_>) {
    for (position, packet) in task.packets.iter().enumerate() {
        if !happens(Impossible::CipherRefuses) {
            task.finish(position, process(task.open, packet));
        }
    }
}

/// Encrypts or decrypts the text and returns the tag.
fn process(open: bool, packet: &Packet<'_>) -> Block {
    let [nonce @ .., _, _, _, _] = packet.nonce;
    let mut stream = ChaCha20::new(packet.key.into(), nonce.into());
    let mut first = Zeroizing::new([0; BLOCK_BYTES]);
    stream.apply_keystream(&mut *first);
    let mut one_time = Zeroizing::new([0; 32]);
    one_time.copy_from_slice(&first[..32]);
    let mut apply_keystream = || {
        for piece in packet.text.chunks(BLOCK_BYTES) {
            let mut block = [0; BLOCK_BYTES];
            let block = &mut block[..piece.len()];
            for (byte, cell) in block.iter_mut().zip(piece) {
                *byte = cell.get();
            }
            stream.apply_keystream(block);
            for (byte, cell) in block.iter().zip(piece) {
                cell.set(*byte);
            }
        }
    };
    if open {
        let tag = tag(&one_time, packet);
        apply_keystream();
        return tag;
    }
    apply_keystream();
    tag(&one_time, packet)
}

/// Poly1305 of associated data and ciphertext, each padded, and their lengths.
fn tag(one_time: &[u8; 32], packet: &Packet<'_>) -> Block {
    let mut hash = Poly1305::new(one_time.into());
    for part in [packet.associated, packet.text] {
        for piece in part.chunks(16) {
            let mut block = [0; 16];
            for (byte, cell) in block.iter_mut().zip(piece) {
                *byte = cell.get();
            }
            hash.update_padded(&block);
        }
    }
    let mut lengths = [0; 16];
    lengths[..8].copy_from_slice(&(packet.associated.len() as u64).to_le_bytes());
    lengths[8..].copy_from_slice(&(packet.text.len() as u64).to_le_bytes());
    hash.update_padded(&lengths);
    hash.finalize().into()
}

/// Poly1305 of a message of whole blocks.
#[cfg(test)]
pub(super) fn poly1305(key: &[u8; 32], message: &[u8]) -> Block {
    Poly1305::new(key.into()).compute_unpadded(message).into()
}
