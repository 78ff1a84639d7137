//! Tags on their way from the kernels to their packets.

use crate::cipher::Block;
use crate::impossible::{Impossible, happens};

/// The tags of up to `N` packets. One that no kernel has written is not there, and
/// not zero: a packet that a kernel passed over is refused.
pub(crate) struct Tags<const N: usize> {
    blocks: [Block; N],
    written: [bool; N],
}

impl<const N: usize> Tags<N> {
    /// None yet.
    #[inline]
    pub(crate) fn new() -> Tags<N> {
        Tags {
            blocks: [[0; 16]; N],
            written: [false; N],
        }
    }

    /// Writes the tag of the packet at `place`.
    #[inline]
    pub(crate) fn set(&mut self, place: usize, tag: Block) {
        if happens(Impossible::TagLost) {
            return;
        }
        if let (Some(block), Some(written)) =
            (self.blocks.get_mut(place), self.written.get_mut(place))
        {
            *block = tag;
            *written = true;
        }
    }

    /// The tag of the packet at `place`, if it was written.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<&Block> {
        let is_written = self.written.get(place).copied().unwrap_or(false);
        self.blocks.get(place).filter(|_| is_written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_there_when_it_was_written() {
        let mut tags = Tags::<3>::new();
        tags.set(1, [0; 16]);
        tags.set(3, [7; 16]);
        assert_eq!(
            [0, 1, 2, 3].map(|at| tags.get(at).is_some()),
            [false, true, false, false]
        );
    }
}
