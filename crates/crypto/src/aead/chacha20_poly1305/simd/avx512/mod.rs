//! 16 packets at a time.

mod chacha20;
mod lanes;
mod poly1305;
mod transpose;

use weir_simd::prefetch;

use super::super::packet::{Packet, Task};
use super::parts::{Part, associated, lengths, text};
use crate::cipher::Block;
use chacha20::BLOCKS;
use lanes::{OneTimeKeys, Texts};
use poly1305::{Hashes, MESSAGES, Parts};

/// Packets of a group: their one-time keys fill the lanes of ChaCha20 once and those of
/// Poly1305 twice.
const GROUP: usize = BLOCKS;

/// Hashes of a group.
type GroupHashes = [Hashes; GROUP / MESSAGES];

/// Bytes of each text that are encrypted and hashed before the next: few enough that
/// those of a group stay in the nearest cache in between. A multiple of 64.
const WINDOW_BYTES: usize = 1536;

/// Processes the packets of a task.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,avx512ifma,bmi2")]
pub(super) fn run<const OPEN: bool>(task: &mut Task<'_, '_>) {
    let packets = task.packets;
    let Some(first) = packets.first() else {
        return;
    };
    let (mut keys, mut texts) = (OneTimeKeys::new(first), Texts::new(first));
    let mut groups = packets.chunks(GROUP);
    let mut next = groups.next().unwrap_or_default();
    keys.begin(next);
    let mut position = 0;
    while !next.is_empty() {
        let group = Group { packets: next };
        next = groups.next().unwrap_or_default();
        next.iter().for_each(|packet| prefetch(packet.key));
        for tag in group
            .process::<OPEN>(next, &mut keys, &mut texts)
            .iter()
            .take(group.packets.len())
        {
            task.finish(position, *tag);
            position += 1;
        }
    }
}

/// Poly1305 of eight messages, padded to whole blocks.
#[cfg(test)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,avx512ifma,bmi2")]
pub(super) fn poly1305_of(
    keys: &[[u8; 32]; MESSAGES],
    messages: &[Vec<u8>; MESSAGES],
) -> [Block; MESSAGES] {
    let word = |at: usize| {
        let lanes = keys.map(|key| u64::from_le_bytes(key.as_chunks().0[at]));
        // SAFETY: 64 bytes are readable.
        unsafe { std::arch::x86_64::_mm512_loadu_si512(lanes.as_ptr().cast()) }
    };
    let mut hashes = [Hashes::new([word(0), word(1), word(2), word(3)])];
    let parts = [Parts {
        at: messages.each_ref().map(Vec::as_ptr),
        bytes: messages.each_ref().map(Vec::len),
    }];
    // SAFETY: these are the messages' bytes.
    unsafe { poly1305::absorb(&mut hashes, &parts) };
    hashes[0].tags()
}

/// One to 16 packets.
struct Group<'t, 'a> {
    packets: &'t [Packet<'a>],
}

impl<'t, 'a> Group<'t, 'a> {
    /// Encrypts or decrypts the texts, and returns the tags. One-time keys of the `next`
    /// group move to their lanes meanwhile.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,avx512ifma,bmi2")]
    fn process<const OPEN: bool>(
        &self,
        next: &'t [Packet<'a>],
        keys: &mut OneTimeKeys<'t, 'a>,
        texts: &mut Texts<'t, 'a>,
    ) -> [Block; GROUP] {
        texts.begin(self.packets, 0, WINDOW_BYTES);
        let mut hashes = keys.hashes(|| {
            texts.move_one();
            texts.move_one();
        });
        keys.begin(next);
        self.absorb(&mut hashes, 0, usize::MAX, associated);
        let most = self.packets.iter().map(|packet| packet.text.len()).max();
        for begin in (0..most.unwrap_or(0)).step_by(WINDOW_BYTES) {
            let end = begin + WINDOW_BYTES;
            if begin > 0 {
                texts.begin(self.packets, begin, end);
            }
            if OPEN {
                self.absorb(&mut hashes, begin, end, text);
            }
            texts.apply_key_stream(|| {
                keys.move_one();
            });
            if !OPEN {
                self.absorb(&mut hashes, begin, end, text);
            }
        }
        self.absorb_lengths(&mut hashes);
        let [low, high] = hashes.map(|hashes| hashes.tags());
        std::array::from_fn(|at| {
            if at < MESSAGES {
                low[at]
            } else {
                high[at - MESSAGES]
            }
        })
    }

    /// Hashes the bytes from `begin` to `end` of a part of each packet, as far as it has
    /// any.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,avx512ifma,bmi2")]
    fn absorb(
        &self,
        hashes: &mut GroupHashes,
        begin: usize,
        end: usize,
        part: impl Fn(&Packet<'a>) -> Part,
    ) {
        let mut parts = [Parts::default(), Parts::default()];
        let mut used = 0;
        for (parts, packets) in parts.iter_mut().zip(self.packets.chunks(MESSAGES)) {
            *parts = Parts::of(packets, begin, end, &part);
            used += 1;
        }
        // SAFETY: the bytes of a part are readable.
        unsafe { poly1305::absorb(&mut hashes[..used], &parts[..used]) };
    }

    /// Hashes the last block: the lengths of associated data and text.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi2,avx512ifma")]
    fn absorb_lengths(&self, hashes: &mut GroupHashes) {
        for (hashes, packets) in hashes.iter_mut().zip(self.packets.chunks(MESSAGES)) {
            hashes.block(lengths(packets));
        }
    }
}
