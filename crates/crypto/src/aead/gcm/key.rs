//! Keys of GCM in the forms that kernels load, and how much memory each takes.

use weir_simd::{Lanes, Tier};

use super::{field, simd};
use crate::cipher::bitslice::PlaneKeys;
use crate::cipher::{Block, MOST_ROUND_KEYS, expand, rounds};
use crate::kernel::Misshapen;
use crate::keys::KeyPolicy;
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
    form: Form,
    salt: [u8; 4],
}

/// A cache line of a key, 64-byte aligned.
pub(crate) type Line = Lanes<Block, 4>;

/// What of a key is in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// The key itself, expanded within the kernel that uses it.
    Raw,
    /// The key itself, expanded sixteen at a time before use.
    RawAhead,
    /// `H, round keys`.
    Compact,
    /// `H³³, …, H², H, round keys`.
    Full,
}

/// A key as a kernel sees it.
#[derive(Clone, Copy)]
pub(crate) struct KeyView<'a> {
    pub(crate) size: AesKeySize,
    pub(crate) form: Form,
    /// A raw key's bytes, or the bytes of an expanded one's cache lines.
    pub(crate) bytes: &'a [u8],
}

impl GcmKey {
    pub(crate) fn new(
        tier: Tier,
        size: AesKeySize,
        key: &[u8],
        salt: [u8; 4],
        policy: KeyPolicy,
    ) -> Result<GcmKey, Misshapen> {
        if key.len() != size.key_bytes() {
            return Err(Misshapen);
        }
        let form = match policy {
            KeyPolicy::Precomputed => Form::Full,
            KeyPolicy::Compact => Form::Compact,
            KeyPolicy::ExpandedAhead => Form::RawAhead,
            KeyPolicy::OnTheFly => Form::Raw,
        };
        let mut blocks = Wiped([[0; 16]; MOST_BLOCKS]);
        let used = form.blocks(size);
        match form {
            Form::Raw | Form::RawAhead => {
                blocks.as_flattened_mut()[..key.len()].copy_from_slice(key);
            }
            Form::Compact | Form::Full => {
                let round_keys = expand(tier, size, key)?;
                let powers = form.powers();
                blocks[powers..used].copy_from_slice(&round_keys[..=rounds(size)]);
                let (table, round_keys) = blocks[..used].split_at_mut(powers);
                if !simd::hash_key_powers(tier, round_keys, table) {
                    hash_key_powers(round_keys, table);
                }
            }
        }
        let mut lines: Box<[Line]> = (0..used.div_ceil(4)).map(|_| Line::default()).collect();
        for (line, blocks) in lines.iter_mut().zip(blocks.chunks(4)) {
            line.0[..blocks.len()].copy_from_slice(blocks);
        }
        Ok(GcmKey {
            lines,
            size,
            form,
            salt,
        })
    }

    #[inline]
    pub(crate) fn view(&self) -> KeyView<'_> {
        let bytes = simd::bytes_of(&self.lines);
        KeyView {
            size: self.size,
            form: self.form,
            bytes: match self.form {
                Form::Raw | Form::RawAhead => &bytes[..self.size.key_bytes()],
                Form::Compact | Form::Full => bytes,
            },
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

    #[inline]
    pub(crate) fn salt(&self) -> [u8; 4] {
        self.salt
    }

    #[inline]
    pub(crate) fn nonce(&self, iv: [u8; 8]) -> u128 {
        nonce(self.salt, iv)
    }
}

/// Salt and IV joined, the nonce of RFC 4106 section 4, as the little-endian
/// number of its 12 bytes.
#[inline]
pub(crate) fn nonce(salt: [u8; 4], iv: [u8; 8]) -> u128 {
    u128::from(u32::from_le_bytes(salt)) | u128::from(u64::from_le_bytes(iv)) << 32
}

impl Form {
    /// Hash-key powers in front of the round keys.
    pub(crate) const fn powers(self) -> usize {
        match self {
            Form::Raw | Form::RawAhead => 0,
            Form::Compact => 1,
            Form::Full => POWERS,
        }
    }

    /// Blocks in memory.
    const fn blocks(self, size: AesKeySize) -> usize {
        match self {
            Form::Raw | Form::RawAhead => 2,
            Form::Compact | Form::Full => self.powers() + rounds(size) + 1,
        }
    }
}

/// The twin: fills `table` with the powers of the hash key, highest first.
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
