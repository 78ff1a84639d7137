//! Keys of OCB3 in the form that kernels load.

use weir_simd::{Lanes, Tier};
use zeroize::Zeroizing;

use crate::cipher::{Block, MOST_ROUND_KEYS, bitslice, expand, rounds};
use crate::kernel::InvalidLength;
use crate::mode::ecb;
use crate::simd::wipe;
use crate::suite::AesKeySize;

/// Where the round keys lie: behind `L⁎, L$, L₀, L₁`.
pub(super) const ROUND_KEYS: usize = 4;

/// The last Lᵢ in memory: enough for texts below 16 KiB. Longer ones compute
/// what they need.
pub(super) const LAST_L: u32 = 9;

/// Where Lᵢ lies, up to the last: L₂ behind the round keys, so that a packet of
/// four blocks under a key of 128 bits needs four cache lines of its schedule.
#[inline]
pub(super) const fn place_of_l(rounds: usize, i: u32) -> usize {
    match i {
        0 | 1 => 2 + i as usize,
        _ => ROUND_KEYS + rounds - 1 + i as usize,
    }
}

/// Where the round keys of the inverse cipher lie: behind all others.
#[inline]
pub(super) const fn inverse_keys(rounds: usize) -> usize {
    place_of_l(rounds, LAST_L) + 1
}

/// Blocks of the longest schedule.
const MOST_BLOCKS: usize = inverse_keys(MOST_ROUND_KEYS - 1) + MOST_ROUND_KEYS;

/// One key of OCB3:
/// `L⁎, L$, L₀, L₁, round keys, L₂, …, L₉`, and for opening the round keys of the
/// inverse cipher. In a box of its own, and wiped when dropped.
pub(crate) struct Ocb3Key {
    lines: Box<[Line]>,
    size: AesKeySize,
}

/// A cache line.
type Line = Lanes<Block, BLOCKS_OF_LINE>;

pub(super) const BLOCKS_OF_LINE: usize = 4;

impl Ocb3Key {
    /// Expands `key` for sealing, or for `opening`.
    pub(crate) fn new(
        tier: Tier,
        size: AesKeySize,
        key: &[u8],
        opening: bool,
    ) -> Result<Ocb3Key, InvalidLength> {
        let rounds = rounds(size);
        let mut blocks = Zeroizing::new([[0; 16]; MOST_BLOCKS]);
        let round_keys = ROUND_KEYS..=ROUND_KEYS + rounds;
        blocks[round_keys.clone()].copy_from_slice(&expand(tier, size, key)?[..=rounds]);
        let mut used = inverse_keys(rounds);
        if opening {
            blocks.copy_within(round_keys.clone(), used);
            bitslice::invert(&mut blocks[used..=used + rounds]);
            used += rounds + 1;
        }
        let (in_front, rest) = blocks.split_at_mut(ROUND_KEYS);
        ecb::encrypt(tier, &rest[..=rounds], &mut in_front[..1]);
        blocks[1] = double(blocks[0]);
        let mut l = blocks[1];
        for i in 0..=LAST_L {
            l = double(l);
            blocks[place_of_l(rounds, i)] = l;
        }
        let mut lines: Box<[Line]> = (0..used.div_ceil(4)).map(|_| Line::default()).collect();
        for (line, blocks) in lines.iter_mut().zip(blocks[..used].chunks(4)) {
            line.0[..blocks.len()].copy_from_slice(blocks);
        }
        Ok(Ocb3Key { lines, size })
    }

    #[inline]
    pub(super) fn size(&self) -> AesKeySize {
        self.size
    }

    /// The blocks in their order, some zeros behind them.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Whether it has all blocks that sealing takes.
    pub(super) fn is_whole(&self) -> bool {
        4 * self.lines.len() >= inverse_keys(rounds(self.size))
    }

    /// Whether it has the keys of the inverse cipher.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(super) fn opens(&self) -> bool {
        let rounds = rounds(self.size);
        4 * self.lines.len() > inverse_keys(rounds) + rounds
    }

    /// One of the blocks; zeros where there is none.
    pub(super) fn block(&self, at: usize) -> Block {
        self.lines.get(at / 4).map_or([0; 16], |line| line[at % 4])
    }
}

/// double() of RFC 7253 section 2: times x in GF(2¹²⁸), big-endian.
pub(super) fn double(block: Block) -> Block {
    let x = u128::from_be_bytes(block);
    let reduction = 0x87 & 0u128.wrapping_sub(x >> 127);
    ((x << 1) ^ reduction).to_be_bytes()
}

/// Lᵢ from the last one in memory, for `i` behind it.
#[cold]
pub(super) fn l_beyond(last: Block, i: u32) -> Block {
    (LAST_L..i).fold(last, |l, _| double(l))
}

impl Drop for Ocb3Key {
    fn drop(&mut self) {
        for line in &mut self.lines {
            wipe(&mut line.0);
        }
    }
}
