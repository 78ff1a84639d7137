//! The short strings by which patterns are found: where they lie in a text,
//! how they are hashed, and which bits of a filter's word their neighbours
//! choose.
//!
//! Grams of four bytes are *folded* (bit 5 set), so that a letter's two cases are
//! one byte. The fold also joins a few others (NUL and space, `@` and `` ` ``):
//! that costs candidates, not truth. Of two bytes it would join too many: a
//! pattern in any case is entered once for each case of its gram.

use std::ops::Range;

use super::filter::BLOCK_BYTES;

/// Bit 5 of every byte, by which `A` and `a` differ.
pub(super) const FOLD: u8 = 0x20;

/// An odd number (2³² divided by the golden ratio): a product by it is a
/// permutation of the words, and its top bits depend on all bits.
pub(super) const MULTIPLIER: u32 = 0x9e37_79b1;

/// Which grams a filter is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grams {
    /// Four bytes at every second place of a text. The low four bits of the
    /// byte before choose one of a word's low 16 bits, those of the byte behind
    /// one of its high 16 bits. For patterns of five bytes and more, each of
    /// which is entered at two neighbouring grams: one of them lies at an even
    /// place.
    Four,
    /// Two bytes, read at every second place for the one in front of it, too. A
    /// pattern that begins at a gram asks for the bit that the low four bits of
    /// the byte behind the gram choose, among a word's high 16; one that begins a
    /// byte before it for the bit that this byte chooses among the low 16. For
    /// patterns of two to four bytes.
    Two,
}

impl Grams {
    /// Bytes of a gram.
    pub(super) const fn bytes(self) -> usize {
        match self {
            Grams::Four => 4,
            Grams::Two => 2,
        }
    }

    /// Neighbouring grams at which a pattern has entries: the distance between
    /// the places of a text that may pass.
    pub(super) const fn step(self) -> usize {
        match self {
            Grams::Four => 2,
            Grams::Two => 1,
        }
    }

    /// Hash of the gram at the start of `text`, which is as long as a gram: of
    /// four bytes in any case.
    #[inline(always)]
    pub(super) fn hash(self, text: &[u8]) -> u32 {
        let gram = match self {
            Grams::Four => {
                let gram = text.first_chunk().map(|gram| u32::from_le_bytes(*gram));
                gram.unwrap_or_default() | u32::from_le_bytes([FOLD; 4])
            }
            Grams::Two => {
                let gram = text.first_chunk().map(|gram| u16::from_le_bytes(*gram));
                gram.unwrap_or_default().into()
            }
        };
        gram.wrapping_mul(MULTIPLIER)
    }

    /// The bits of a word that the neighbours of a text's gram at `place` choose:
    /// the byte before one of the low 16, the byte behind one of the high 16.
    /// Where the text has no neighbour, only patterns that have none there can
    /// occur: they set all bits, so that any will do.
    #[inline(always)]
    pub(super) fn bits_of_text(self, text: &[u8], place: usize) -> u32 {
        let at = |place: usize| text.get(place).copied().unwrap_or_default();
        bit_before(at(place.wrapping_sub(1))) | bit_behind(at(place + self.bytes()))
    }

    /// Places of a text of `bytes` bytes at which a gram begins.
    pub(super) fn places(self, bytes: usize) -> Range<usize> {
        0..(bytes + 1).saturating_sub(self.bytes())
    }

    /// Whether a text's gram at `place` is passed over, as it lies inside a run
    /// of one byte: no pattern has its window there ([`Grams::may_hold_window`]).
    ///
    /// Of four-byte grams only those that a block of 64 bytes holds with all
    /// neighbours behind them, and those of a block that is one run with the
    /// next one; of two-byte grams only those behind `carried`
    /// bytes: patterns that are one byte repeated are found at the first place
    /// that is looked at.
    #[inline(always)]
    pub(super) fn is_inside_run(self, text: &[u8], place: usize, carried: usize) -> bool {
        let Some(around) = place
            .checked_sub(1)
            .and_then(|before| text.get(before..place + 5))
        else {
            return false;
        };
        match self {
            Grams::Four => {
                let is_run =
                    |bytes: &[u8]| bytes.iter().all(|byte| byte | FOLD == around[0] | FOLD);
                let block = place - place % BLOCK_BYTES;
                let two_blocks = (block.checked_sub(1))
                    .and_then(|before| text.get(before..block + 2 * BLOCK_BYTES));
                is_run(around) && place - block < BLOCK_BYTES - 4 || two_blocks.is_some_and(is_run)
            }
            Grams::Two => place > carried && around.iter().all(|byte| *byte == around[0]),
        }
    }

    /// Whether a pattern may be entered at its gram at `place`: it must not be
    /// one that a text could hold inside a run.
    pub(super) fn may_hold_window(self, folded: &[u8], place: usize) -> bool {
        match self {
            Grams::Four => {
                let around = &folded[place.saturating_sub(1)..folded.len().min(place + 5)];
                around.iter().any(|byte| *byte != around[0])
            }
            // What begins at the first byte of a run is found there.
            Grams::Two => place == 0 || folded[place - 1..].iter().any(|b| *b != folded[place]),
        }
    }
}

/// The bit that the byte before a gram chooses.
#[inline(always)]
pub(super) const fn bit_before(byte: u8) -> u32 {
    1 << (byte & 15)
}

/// The bit that the byte behind a gram chooses.
#[inline(always)]
pub(super) const fn bit_behind(byte: u8) -> u32 {
    1 << (16 + (byte & 15))
}

/// The bytes, folded.
pub(super) fn folded(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| byte | FOLD).collect()
}

/// Eight bytes of a text from two before `place` on, zeros where it has none:
/// what entries of a bucket are compared with.
#[inline(always)]
pub(super) fn eight_bytes(text: &[u8], place: usize) -> u64 {
    match place
        .checked_sub(2)
        .and_then(|start| text.get(start..))
        .and_then(<[u8]>::first_chunk)
    {
        Some(eight) => u64::from_le_bytes(*eight),
        None => eight_bytes_at_edge(text, place),
    }
}

#[cold]
fn eight_bytes_at_edge(text: &[u8], place: usize) -> u64 {
    let byte = |index: usize| {
        (place + index)
            .checked_sub(2)
            .and_then(|at| text.get(at))
            .copied()
    };
    u64::from_le_bytes(std::array::from_fn(|index| byte(index).unwrap_or_default()))
}
