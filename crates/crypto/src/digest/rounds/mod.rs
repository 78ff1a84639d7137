//! The rounds of the hash functions, written once for vectors of any width.
//! A lane is a message; nothing moves between lanes.

pub(super) mod md5;
pub(super) mod sha1;
pub(super) mod sha2;
pub(super) mod sha2_constants;

/// What MD5, SHA-1 and SHA-2 do to a word, done to one word of every lane. `W`
/// is the word.
pub(super) trait Vector<W>: Copy {
    /// Sum modulo 2³² or 2⁶⁴.
    fn add(self, other: Self) -> Self;
    /// The same with one word for all lanes.
    fn add_word(self, word: W) -> Self;
    fn xor(self, other: Self) -> Self;
    /// `self ^ b ^ c`: FIPS 180-4's Parity.
    fn xor3(self, b: Self, c: Self) -> Self;
    /// `self ? b : c`, bit by bit: FIPS 180-4's Ch.
    fn choose(self, b: Self, c: Self) -> Self;
    /// What two of three bits say: FIPS 180-4's Maj.
    fn majority(self, b: Self, c: Self) -> Self;
    /// `b ^ (self | !c)`: I of RFC 1321.
    fn xor_or_not(self, b: Self, c: Self) -> Self;
    fn rotate_right<const N: i32>(self) -> Self;
    fn shift_right<const N: i32>(self) -> Self;
}

/// A compression function over vectors: 16 words of a block into up to eight
/// words of state.
pub(super) trait Rounds<W> {
    /// How a block's bytes make words.
    const BIG_ENDIAN: bool;
    /// Words of the state that are used; the others are left alone.
    const STATE_WORDS: usize;

    fn compress<V: Vector<W>>(state: &mut [V; 8], words: [V; 16]);
}
