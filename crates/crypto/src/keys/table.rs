//! Keys under numbers that descriptors can name.

/// A key of a [`crate::Sealer`] or an [`crate::Opener`], and of this one only: in another, the
/// same name may be that of another key. The name of a key that was removed names no other key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KeyId {
    pub(crate) slot: u32,
    generation: u32,
}

impl KeyId {
    /// No table hands this out.
    const NONE: KeyId = KeyId {
        slot: u32::MAX,
        generation: u32::MAX,
    };

    /// Of the one-time key with this index.
    pub(crate) fn one_time(index: u32, generation: u32) -> KeyId {
        KeyId {
            slot: index | ONE_TIME,
            generation,
        }
    }

    /// The index of a one-time key.
    #[inline]
    pub(crate) fn one_time_index(slot: u32) -> Option<u32> {
        (slot & ONE_TIME != 0).then_some(slot & !ONE_TIME)
    }

    #[inline]
    pub(crate) fn generation(self) -> u32 {
        self.generation
    }
}

/// Set in the slots of keys that a batch has for one packet each.
const ONE_TIME: u32 = 1 << 31;

/// Names no key.
impl Default for KeyId {
    fn default() -> KeyId {
        KeyId::NONE
    }
}

/// The keys of one owner.
pub(crate) struct Table<K> {
    keys: Vec<Option<K>>,
    /// How many keys each slot has had, apart from the keys, which fill whole cache lines.
    generations: Vec<u32>,
    free: Vec<u32>,
}

impl<K> Table<K> {
    pub(crate) fn new() -> Table<K> {
        Table {
            keys: Vec::new(),
            generations: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Adds a key.
    ///
    /// # Panics
    /// There are 2³¹ keys.
    pub(crate) fn add(&mut self, key: K) -> KeyId {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.keys[slot as usize] = Some(key);
                slot
            }
            None => {
                let slot = self.keys.len() as u32;
                assert!(slot < ONE_TIME, "2^31 keys");
                self.keys.push(Some(key));
                self.generations.push(0);
                slot
            }
        };
        KeyId {
            slot,
            generation: self.generations[slot as usize],
        }
    }

    /// Takes a key out.
    pub(crate) fn remove(&mut self, id: KeyId) -> Option<K> {
        let key = self.named(id)?.take()?;
        // A slot whose names are used up stays empty.
        let generation = &mut self.generations[id.slot as usize];
        if let Some(next) = generation.checked_add(1) {
            *generation = next;
            self.free.push(id.slot);
        }
        Some(key)
    }

    #[inline]
    pub(crate) fn get(&self, id: KeyId) -> Option<&K> {
        let is_named = self.generations.get(id.slot as usize) == Some(&id.generation);
        self.at(id.slot).filter(|_| is_named)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: KeyId) -> Option<&mut K> {
        self.named(id)?.as_mut()
    }

    /// Prefetches the key of this name.
    #[inline]
    pub(crate) fn prefetch(&self, id: KeyId) {
        if let Some(key) = self.keys.get(id.slot as usize) {
            weir_simd::prefetch(key);
        }
    }

    /// The slot of this name.
    #[inline]
    fn named(&mut self, id: KeyId) -> Option<&mut Option<K>> {
        let slot = id.slot as usize;
        match self.generations.get(slot) == Some(&id.generation) {
            true => self.keys.get_mut(slot),
            false => None,
        }
    }

    /// The key in a slot that a name was found for.
    #[inline]
    pub(crate) fn at(&self, slot: u32) -> Option<&K> {
        self.keys.get(slot as usize)?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_key_has_left_its_name() {
        let mut table = Table::new();
        let (one, two) = (table.add("one"), table.add("two"));
        assert_eq!(table.remove(one), Some("one"));
        assert_eq!(table.get(one), None);
        assert_eq!(table.remove(one), None);
        let three = table.add("three");
        assert_eq!(three.slot, one.slot);
        assert_eq!(table.get(one), None);
        assert_eq!(table.get_mut(one), None);
        assert_eq!(
            (table.get(two), table.get(three)),
            (Some(&"two"), Some(&"three"))
        );
        assert_eq!(table.get(KeyId::default()), None);
        assert_eq!(table.at(KeyId::default().slot), None);
    }
}
