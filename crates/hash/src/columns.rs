//! Keys in columns, the layout in which each SIMD lane holds one key.

/// The longest key, in 32-bit words: an IPv6 5-tuple takes 37 bytes.
pub const MAX_KEY_WORDS: usize = 10;

/// Lanes of the widest kernel; columns are padded to a multiple of it.
const LANES: usize = 16;

/// Up to `capacity` keys of `words` 32-bit words each, stored by column:
///
/// ```text
/// word 0:  k0 k1 k2 k3 …    one vector load fills the lanes with
/// word 1:  k0 k1 k2 k3 …    the same word of neighbouring keys
/// ```
///
/// Every column is padded to whole vectors, so that kernels need no tail loop. The padding
/// holds words of earlier keys or zeros; results for it are never read.
///
/// ```
/// use weir_hash::KeyColumns;
///
/// let mut keys = KeyColumns::new(4, 256); // IPv6 addresses, 256 at a time
/// assert!(keys.push(&[0x2001_0db8, 0, 0, 1]));
/// assert!(keys.push(&[0xc000_0201])); // shorter keys are padded with zero words
/// assert_eq!(keys.column(0), [0x2001_0db8, 0xc000_0201]);
/// ```
#[derive(Clone, Debug)]
pub struct KeyColumns {
    words: usize,
    /// Allocated keys per column, a multiple of [`LANES`].
    stride: usize,
    capacity: usize,
    len: usize,
    data: Vec<u32>,
}

impl KeyColumns {
    /// Empty columns for `capacity` keys of `words` words (taken as at least 1
    /// and at most [`MAX_KEY_WORDS`]).
    pub fn new(words: usize, capacity: usize) -> KeyColumns {
        let words = words.clamp(1, MAX_KEY_WORDS);
        let stride = capacity.next_multiple_of(LANES);
        KeyColumns {
            words,
            stride,
            capacity,
            len: 0,
            data: vec![0; words * stride],
        }
    }

    /// Words per key.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the capacity is reached.
    pub fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// Removes all keys, keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends a key, padded with zero words. Returns false, and appends nothing, where the
    /// columns are full or the key has more than [`KeyColumns::words`] words.
    #[inline]
    pub fn push(&mut self, key: &[u32]) -> bool {
        if self.is_full() || key.len() > self.words {
            return false;
        }
        let mut place = self.len;
        for word in 0..self.words {
            self.data[place] = key.get(word).copied().unwrap_or(0);
            place += self.stride;
        }
        self.len += 1;
        true
    }

    /// Whether `key`, padded with zero words, is the last key.
    #[inline]
    pub fn ends_with(&self, key: &[u32]) -> bool {
        let Some(last) = self.len.checked_sub(1) else {
            return false;
        };
        let mut place = last;
        for word in 0..self.words {
            if self.data[place] != key.get(word).copied().unwrap_or(0) {
                return false;
            }
            place += self.stride;
        }
        key.len() <= self.words
    }

    /// Replaces the keys by those whose words are in `columns`, word 0 of all keys first.
    /// Returns false, and changes nothing, unless there are [`KeyColumns::words`] columns
    /// of equal length, at most the capacity.
    #[inline]
    pub fn assign(&mut self, columns: &[&[u32]]) -> bool {
        let len = columns.first().map_or(0, |column| column.len());
        let fits = columns.len() == self.words
            && columns.iter().all(|column| column.len() == len)
            && len <= self.capacity;
        if fits {
            let stored = self.data.chunks_exact_mut(self.stride.max(1));
            for (stored, column) in stored.zip(columns) {
                stored[..len].copy_from_slice(column);
            }
            self.len = len;
        }
        fits
    }

    /// Replaces the keys by `len` keys (at most the capacity); `word(key, word)` returns the
    /// words, and is called column by column.
    #[inline]
    pub fn fill(&mut self, len: usize, word: impl Fn(usize, usize) -> u32) {
        self.len = len.min(self.capacity);
        let columns = self.data.chunks_exact_mut(self.stride.max(1));
        for (number, column) in columns.enumerate() {
            for (key, place) in column[..self.len].iter_mut().enumerate() {
                *place = word(key, number);
            }
        }
    }

    /// Word `word` of all keys.
    ///
    /// # Panics
    /// `word` is not below [`KeyColumns::words`].
    pub fn column(&self, word: usize) -> &[u32] {
        &self.padded_column(word)[..self.len]
    }

    /// Key number `index`, padded with zero words.
    ///
    /// # Panics
    /// `index` is not below [`KeyColumns::len`].
    #[inline]
    pub fn key(&self, index: usize) -> [u32; MAX_KEY_WORDS] {
        assert!(index < self.len, "key {index} of {}", self.len);
        let mut key = [0; MAX_KEY_WORDS];
        let mut place = index;
        for word in &mut key[..self.words] {
            *word = self.data[place];
            place += self.stride;
        }
        key
    }

    /// A whole column with its padding.
    pub(crate) fn padded_column(&self, word: usize) -> &[u32] {
        &self.data[word * self.stride..(word + 1) * self.stride]
    }

    /// The number of keys, rounded up to whole vectors.
    pub(crate) fn padded_len(&self) -> usize {
        self.len.next_multiple_of(LANES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_padded_with_zeros() {
        let mut keys = KeyColumns::new(3, 2);
        assert!(keys.push(&[1, 2, 3]));
        assert!(!keys.push(&[1, 2, 3, 4]), "too long");
        assert!(keys.push(&[7]));
        assert!(!keys.push(&[9]), "full");
        assert_eq!(keys.key(0)[..4], [1, 2, 3, 0]);
        assert_eq!(keys.key(1), [7, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(keys.column(0), [1, 7]);
        assert_eq!(keys.len(), 2);
        assert!(keys.ends_with(&[7]) && keys.ends_with(&[7, 0, 0]));
        for other in [&[7, 0, 0, 0][..], &[7, 1], &[1, 2, 3], &[]] {
            assert!(!keys.ends_with(other), "{other:?}");
        }
        keys.clear();
        assert!(!keys.ends_with(&[0]), "no key");
        assert!(keys.is_empty() && keys.push(&[5]));
        assert_eq!(keys.key(0)[..2], [5, 0]);
    }

    #[test]
    fn columns_are_assigned_whole_or_not_at_all() {
        let mut keys = KeyColumns::new(2, 2);
        assert!(keys.push(&[9, 9]));
        for wrong in [
            &[&[1u32, 2][..]][..],
            &[&[1, 2], &[3]],
            &[&[1, 2, 3], &[4, 5, 6]],
        ] {
            assert!(!keys.assign(wrong));
            assert_eq!((keys.len(), keys.key(0)[..2].to_vec()), (1, vec![9, 9]));
        }
        assert!(keys.assign(&[&[1, 2], &[3, 4]]));
        assert_eq!((keys.len(), keys.key(1)[..2].to_vec()), (2, vec![2, 4]));
    }

    #[test]
    fn columns_without_room_take_nothing() {
        let mut keys = KeyColumns::new(1, 0);
        assert!(keys.is_full() && !keys.push(&[1]));
        assert!(!keys.assign(&[&[1]]) && keys.assign(&[&[]]));
        keys.fill(3, |_, _| 7);
        assert!(keys.is_empty());
    }
}
