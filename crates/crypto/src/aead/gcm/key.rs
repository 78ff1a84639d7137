//! Keys of GCM in the forms that kernels load, and how much memory each takes.

use weir_simd::{Lanes, Tier};

use super::{field, simd};
use crate::cipher::bitslice::PlaneKeys;
use crate::cipher::{Block, MOST_ROUND_KEYS, expand, rounds};
use crate::kernel::InvalidLength;
use crate::simd::{Wiped, wipe};
use crate::suite::AesKeySize;

/// Hash-key powers of a full schedule: one for each of the 32 blocks that are
/// hashed with one reduction, and one for the block of lengths behind them.
pub(crate) const POWERS: usize = 33;

/// Blocks of the longest schedule.
pub(crate) const MOST_BLOCKS: usize = POWERS + MOST_ROUND_KEYS;

/// One key of GCM, and the salt that starts its nonces. The secret lies in a
/// box of its own and is wiped when dropped; the salt, on whose secrecy nothing
/// rests (RFC 4106 section 4), does not.
pub(crate) struct GcmKey {
    lines: Box<[Line]>,
    size: AesKeySize,
    salt: [u8; 4],
}

/// A cache line of a key, 64-byte aligned.
pub(crate) type Line = Lanes<Block, 4>;

/// What of a key is in memory, and its size: a byte, for a column of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeyForm(u8);

/// A key as a kernel sees it: a raw key's bytes, or `H³³, …, H², H, round keys`.
pub(crate) type KeyView<'a> = (KeyForm, &'a [u8]);

impl KeyForm {
    /// No key of AES-GCM.
    pub(crate) const NONE: KeyForm = KeyForm(u8::MAX);

    /// The key itself, expanded within the kernel that uses it.
    #[inline]
    pub(crate) fn raw(size: AesKeySize) -> KeyForm {
        KeyForm(size as u8)
    }

    /// Powers of the hash key, and round keys.
    #[inline]
    fn full(size: AesKeySize) -> KeyForm {
        KeyForm(size as u8 + SIZES)
    }

    /// 0 for raw keys, 1 for expanded ones.
    #[inline]
    pub(super) fn form(self) -> usize {
        usize::from(self.0 / SIZES)
    }

    /// Index of the size in [`AesKeySize::ALL`].
    #[inline]
    pub(super) fn size(self) -> usize {
        usize::from(self.0 % SIZES)
    }
}

const SIZES: u8 = AesKeySize::ALL.len() as u8;

impl GcmKey {
    pub(crate) fn new(
        tier: Tier,
        size: AesKeySize,
        key: &[u8],
        salt: [u8; 4],
    ) -> Result<GcmKey, InvalidLength> {
        if key.len() != size.key_bytes() {
            return Err(InvalidLength);
        }
        let used = POWERS + rounds(size) + 1;
        let mut blocks = Wiped([[0; 16]; MOST_BLOCKS]);
        let expanded = expand(tier, size, key)?;
        let (table, round_keys) = blocks[..used].split_at_mut(POWERS);
        round_keys.copy_from_slice(&expanded[..=rounds(size)]);
        if !simd::hash_key_powers(tier, round_keys, table) {
            hash_key_powers(round_keys, table);
        }
        let mut lines: Box<[Line]> = (0..used.div_ceil(4)).map(|_| Line::default()).collect();
        for (line, blocks) in lines.iter_mut().zip(blocks.chunks(4)) {
            line.0[..blocks.len()].copy_from_slice(blocks);
        }
        Ok(GcmKey { lines, size, salt })
    }

    #[inline]
    pub(crate) fn view(&self) -> KeyView<'_> {
        (KeyForm::full(self.size), simd::bytes_of(&self.lines))
    }

    /// As [`GcmKey::view`], but a key of 128 bits as a raw one: it is its first round key.
    #[inline]
    pub(crate) fn raw_view(&self) -> KeyView<'_> {
        match self.schedule().get(POWERS) {
            Some(raw) if self.size == AesKeySize::Aes128 => (KeyForm::raw(self.size), raw),
            _ => self.view(),
        }
    }

    /// The blocks of an expanded key.
    #[inline]
    pub(super) fn schedule(&self) -> &[Block] {
        simd::bytes_of(&self.lines).as_chunks().0
    }

    #[inline]
    pub(crate) fn size(&self) -> AesKeySize {
        self.size
    }

    /// Salt and IV joined, the nonce of RFC 4106 section 4, as the little-endian
    /// number of its 12 bytes.
    #[inline]
    pub(crate) fn nonce(&self, iv: [u8; 8]) -> u128 {
        u128::from(u32::from_le_bytes(self.salt)) | u128::from(u64::from_le_bytes(iv)) << 32
    }
}

/// The scalar reference implementation: fills `table` with the powers of the hash key, highest first.
fn hash_key_powers(round_keys: &[Block], table: &mut [Block]) {
    let h = field::hash_key(PlaneKeys::new(round_keys).encrypt_one([0; 16]));
    let mut power = h;
    for block in table.iter_mut().rev() {
        *block = power.to_le_bytes();
        power = field::product(power, h);
    }
}

impl Drop for GcmKey {
    fn drop(&mut self) {
        for line in &mut self.lines {
            wipe(&mut line.0);
        }
    }
}
