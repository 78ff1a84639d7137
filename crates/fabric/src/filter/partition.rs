//! Partition keys, and the table of those that a port has.

/// The membership bit of a P_Key: set for a full member, clear for a limited one. The other 15 bits
/// name the partition; zero names none.
pub const FULL_MEMBER: u16 = 0x8000;

/// The P_Key of a full member of the default partition.
pub const DEFAULT_FULL: u16 = 0xffff;

/// The P_Key of a limited member of the default partition.
pub const DEFAULT_LIMITED: u16 = 0x7fff;

/// Which way packets go through a port, seen from the node whose P_Keys the port's table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The node sends them.
    FromNode,
    /// The node receives them.
    ToNode,
}

/// The P_Keys of a port.
///
/// A packet carries its sender's P_Key. A receiver *accepts* it if it has a P_Key of the same
/// partition, and at least one of the two is a full member's: limited members do not communicate
/// with each other. A node *may send* a P_Key that it has, and as a full member also that of a limited one. The
/// membership bit thus counts in opposite ways: a limited P_Key reaches only full members, and only
/// full members may send a full one. A packet that claims no partition (`0x0000`, `0x8000`) matches
/// nothing.
///
/// | entry of the table | packet `0x0001` | packet `0x8001` |
/// | --- | --- | --- |
/// | `0x0001`, limited | may be sent, is not accepted | may not be sent, is accepted |
/// | `0x8001`, full | may be sent, is accepted | may be sent, is accepted |
///
/// The table is two bitmaps over the 15 bits that name a partition, 4 KiB each, whatever the number of
/// entries: one look-up reads one bit.
#[derive(Clone, Debug)]
pub struct PartitionTable {
    /// From index 0 partitions with a full entry, from index [`FULL_MEMBER`] those with any entry: a
    /// packet's P_Key is itself the index of the bit that says whether it is accepted.
    accepted: KeySet,
    entries: usize,
}

impl PartitionTable {
    /// A table of `entries`. Both P_Keys of one partition may be among them. Entries that name no
    /// partition are empty places, and repeated ones count once.
    #[must_use]
    pub fn new(entries: impl IntoIterator<Item = u16>) -> PartitionTable {
        let mut distinct = KeySet::new();
        let mut accepted = KeySet::new();
        let mut count = 0;
        for entry in entries {
            let partition = entry & !FULL_MEMBER;
            if partition == 0 || !distinct.insert(entry) {
                continue;
            }
            count += 1;
            accepted.insert(partition | FULL_MEMBER);
            if entry & FULL_MEMBER != 0 {
                accepted.insert(partition);
            }
        }
        PartitionTable {
            accepted,
            entries: count,
        }
    }

    /// The number of P_Keys in the table, at most 65,534.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// Whether the node accepts a packet with this P_Key.
    #[must_use]
    pub fn accepts(&self, p_key: u16) -> bool {
        self.accepted.contains(p_key)
    }

    /// Whether the node may send a packet with this P_Key.
    #[must_use]
    pub fn may_send(&self, p_key: u16) -> bool {
        self.accepted.contains(p_key ^ FULL_MEMBER)
    }
}

/// A set of 16-bit keys, 8 KiB.
#[derive(Clone, Debug)]
pub(super) struct KeySet(Box<[u64; WORDS]>);

const WORDS: usize = 1 << 10;

impl KeySet {
    pub(super) fn new() -> KeySet {
        KeySet(Box::new([0; WORDS]))
    }

    pub(super) fn contains(&self, key: u16) -> bool {
        self.0[usize::from(key >> 6)] >> (key & 63) & 1 != 0
    }

    /// Whether the key was not in the set yet.
    pub(super) fn insert(&mut self, key: u16) -> bool {
        let is_new = !self.contains(key);
        self.0[usize::from(key >> 6)] |= 1 << (key & 63);
        is_new
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The comparison as the specification words it, over a list of entries.
    fn matches(entries: &[u16], p_key: u16) -> bool {
        entries.iter().any(|&entry| {
            entry & 0x7fff != 0
                && entry & 0x7fff == p_key & 0x7fff
                && (entry & 0x8000 != 0 || p_key & 0x8000 != 0)
        })
    }

    #[test]
    fn limited_members_reach_full_members_only() {
        let limited = PartitionTable::new([0x0001]);
        let full = PartitionTable::new([0x8001]);
        assert!(!limited.accepts(0x0001) && limited.accepts(0x8001));
        assert!(full.accepts(0x0001) && full.accepts(0x8001));
        assert!(limited.may_send(0x0001) && !limited.may_send(0x8001));
        assert!(full.may_send(0x0001) && full.may_send(0x8001));
    }

    #[test]
    fn the_default_partition_is_one_like_any_other() {
        let full = PartitionTable::new([DEFAULT_FULL]);
        let limited = PartitionTable::new([DEFAULT_LIMITED]);
        assert!(full.accepts(DEFAULT_LIMITED) && full.accepts(DEFAULT_FULL));
        assert!(limited.accepts(DEFAULT_FULL) && !limited.accepts(DEFAULT_LIMITED));
        assert!(!PartitionTable::new([]).accepts(DEFAULT_FULL));
    }

    #[test]
    fn entries_and_packets_without_a_partition_match_nothing() {
        let table = PartitionTable::new([0x0000, 0x8000, 0x8002, 0x8002, 0x0002]);
        assert_eq!(table.entries(), 2);
        for p_key in [0x0000, 0x8000] {
            assert!(!table.accepts(p_key) && !table.may_send(p_key));
        }
    }

    #[test]
    fn every_key_is_compared_as_specified() {
        let entries = [
            0xffff, 0x0001, 0x8002, 0x0002, 0x0003, 0x7ffe, 0x8000, 0xc000,
        ];
        let table = PartitionTable::new(entries);
        for p_key in 0..=u16::MAX {
            assert_eq!(
                table.accepts(p_key),
                matches(&entries, p_key),
                "{p_key:#06x}"
            );
            // The node has this entry, or that of a full member.
            let may_send = entries
                .iter()
                .any(|&entry| entry & 0x7fff != 0 && (entry == p_key || entry == p_key | 0x8000));
            assert_eq!(table.may_send(p_key), may_send, "{p_key:#06x}");
        }
    }
}
