//! A key of UMAC in the form that kernels load.

use std::cell::RefCell;

use weir_hash::prime::mod_p36;
use weir_simd::{Lanes, Tier};

use super::simd;
use crate::cipher::{Block, expand};
use crate::kernel::InvalidLength;
use crate::mac::algorithm::TagWords;
use crate::mac::kdf::{self, Label};
use crate::simd::{Wiped, wipe};
use crate::suite::AesKeySize;

/// Round keys of AES-128.
pub(crate) const ROUND_KEYS: usize = 11;

/// Keys that are derived together.
pub(super) const TOGETHER: usize = 16;

/// Words of one lane of the key of NH.
type Lane = [u32; 4];

/// 1536 bytes, of which a message of 64 bytes touches 6 cache lines.
///
/// NH multiplies word j of a group of eight by word j + 4, that is, lane 2g of
/// its key by lane 2g + 1, each first added to a lane of the message. Even and
/// odd lanes lie apart, so that both factors are plain loads, and the next
/// stream's key, one lane further, is
///
/// ```text
/// stream         0         1           2            3
/// first factor   even[g]   odd[g]      even[g+1]    odd[g+1]
/// second factor  odd[g]    even[g+1]   odd[g+1]     even[g+2]
/// ```
#[repr(C, align(64))]
pub(crate) struct UmacKey {
    /// AES-128's, of the pads.
    pub(super) pad_keys: [Block; ROUND_KEYS],
    /// L3's second key, added to the tag.
    pub(super) translation: Block,
    /// L3's first key: of each stream what meets the digits of 64 bits, below
    /// 2³⁶ - 5.
    pub(super) digits: [[u64; 4]; 4],
    /// L2's key of each stream.
    pub(super) points: [u64; 4],
    pub(super) words: TagWords,
    pub(super) even: Lanes<Lane, LANES_EACH>,
    pub(super) odd: Lanes<Lane, LANES_EACH>,
}

/// 32 of a block, as many more as streams 1 to 3 are moved by, 2 of the even and 1
/// of the odd ones, and the rest of a cache line.
pub(super) const LANES_EACH: usize = 36;

/// Bits of L2's keys: RFC 4418 section 5.3.2.
pub(super) const POINT_MASK: u64 = 0x01ff_ffff_01ff_ffff;

/// What the numbers of RFC 4418 are for, section 5 and section 3.3.
pub(super) mod label {
    use super::Label;
    pub(in crate::mac::umac) const PAD: Label = Label::number(0);
    pub(in crate::mac::umac) const L1: Label = Label::number(1);
    pub(in crate::mac::umac) const L2: Label = Label::number(2);
    pub(in crate::mac::umac) const L3_DIGITS: Label = Label::number(3);
    pub(in crate::mac::umac) const L3_TRANSLATION: Label = Label::number(4);
}

impl UmacKey {
    /// Derives keys from 16 bytes each, sixteen at a time where `tier` has vectors for
    /// it, in the memory of keys that this thread has spent as far as they go.
    #[expect(clippy::vec_box, reason = "a key that moves leaves a copy behind")]
    pub(crate) fn new_batch(
        tier: Tier,
        words: TagWords,
        raw: &[&[u8]],
    ) -> Result<Vec<Box<UmacKey>>, InvalidLength> {
        let mut keys: Vec<Box<UmacKey>> = SPENT.with_borrow_mut(|spent| {
            let kept = spent.len().saturating_sub(raw.len());
            spent.split_off(kept)
        });
        keys.resize_with(raw.len(), simd::zeroed);
        keys.iter_mut().for_each(|key| key.words = words);
        for (keys, raw) in keys.chunks_mut(TOGETHER).zip(raw.chunks(TOGETHER)) {
            let mut blocks = Wiped([[0; 16]; TOGETHER]);
            for (block, raw) in blocks.iter_mut().zip(raw) {
                *block = (*raw).try_into().map_err(|_| InvalidLength)?;
            }
            if !simd::expand(tier, &blocks, keys) {
                for (key, raw) in keys.iter_mut().zip(raw) {
                    *key = UmacKey::new(tier, words, raw)?;
                }
            }
        }
        Ok(keys)
    }

    /// Derives the key from 16 bytes.
    pub(crate) fn new(
        tier: Tier,
        words: TagWords,
        raw: &[u8],
    ) -> Result<Box<UmacKey>, InvalidLength> {
        let round_keys = expand(tier, AesKeySize::Aes128, raw)?;
        let derive = |label, stream: &mut [Block]| {
            kdf::fill(tier, &round_keys[..ROUND_KEYS], label, stream);
        };
        let mut key = simd::zeroed();
        key.words = words;

        let mut lanes = Wiped([[0; 16]; 2 * LANES_EACH]);
        derive(label::L1, &mut *lanes);
        for (index, lane) in lanes.iter().enumerate() {
            let place = match index % 2 {
                0 => &mut key.even[index / 2],
                _ => &mut key.odd[index / 2],
            };
            let (words, _) = lane.as_chunks();
            for (place, word) in place.iter_mut().zip(words) {
                *place = u32::from_be_bytes(*word);
            }
        }

        // 24 bytes for each stream, of which the first 8 are for 64 bits.
        let mut points = Wiped([[0; 16]; 6]);
        derive(label::L2, &mut *points);
        let numbers = points.as_flattened().as_chunks().0.iter().step_by(3);
        for (point, number) in key.points.iter_mut().zip(numbers) {
            *point = u64::from_be_bytes(*number) & POINT_MASK;
        }

        // Eight numbers for each stream; the upper four meet 64 bits.
        let mut digits = Wiped([[0; 16]; 16]);
        derive(label::L3_DIGITS, &mut *digits);
        let (streams, _) = digits.as_flattened().as_chunks::<64>();
        for (digits, stream) in key.digits.iter_mut().zip(streams) {
            let (numbers, _) = stream[32..].as_chunks();
            for (digit, number) in digits.iter_mut().zip(numbers) {
                *digit = mod_p36(u64::from_be_bytes(*number));
            }
        }

        derive(
            label::L3_TRANSLATION,
            std::slice::from_mut(&mut key.translation),
        );

        let mut pad_key = Wiped([[0; 16]]);
        derive(label::PAD, &mut *pad_key);
        let pad_keys = expand(tier, AesKeySize::Aes128, &pad_key[0])?;
        key.pad_keys.copy_from_slice(&pad_keys[..ROUND_KEYS]);
        Ok(key)
    }

    /// The first eight bytes of the counter block of a nonce, before zeros, and
    /// where in its encryption the pad begins: RFC 4418 section 3.3. Tags of one
    /// word and of two share blocks.
    #[inline]
    pub(super) fn pad_place(words: usize, nonce: u64) -> ([u8; 8], usize) {
        let shared = match words {
            1 => 3,
            2 => 1,
            _ => 0,
        };
        let first = (nonce & !shared).to_be_bytes();
        (first, 4 * words * (nonce & shared) as usize)
    }
}

thread_local! {
    /// Keys that were wiped, whose memory the next ones take: allocating as much at such an
    /// alignment takes longer than deriving a key.
    #[expect(clippy::vec_box, reason = "a key that moves leaves a copy behind")]
    static SPENT: RefCell<Vec<Box<UmacKey>>> = const { RefCell::new(Vec::new()) };
}

/// Spent keys that a thread has memory of.
const MOST_SPENT: usize = 64;

/// Wipes a key and keeps its memory.
pub(crate) fn spend(mut key: Box<UmacKey>) {
    key.wipe();
    // At the end of a thread there is nothing to keep it in.
    let _ = SPENT.try_with(|spent| {
        if let Ok(mut spent) = spent.try_borrow_mut()
            && spent.len() < MOST_SPENT
        {
            spent.push(key);
        }
    });
}

impl UmacKey {
    fn wipe(&mut self) {
        wipe(&mut self.pad_keys);
        wipe(&mut self.translation);
        wipe(&mut self.digits);
        wipe(&mut self.points);
        wipe(&mut self.even.0);
        wipe(&mut self.odd.0);
    }
}

impl Drop for UmacKey {
    fn drop(&mut self) {
        self.wipe();
    }
}
