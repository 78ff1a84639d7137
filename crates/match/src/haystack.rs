//! What engines search.

/// Bytes to be searched by [`Engine::scan`](crate::Engine::scan), and what of them was searched before.
///
/// A haystack that goes on behind another one, as a segment of a stream does, begins with the last
/// bytes of that one: the *carried* bytes, at least one less than the longest pattern has
/// ([`Engine::longest_pattern_bytes`](crate::Engine::longest_pattern_bytes)). What ends among them
/// was reported before and is not reported again; what ends behind them is found, wherever it begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Haystack<'a> {
    bytes: &'a [u8],
    carried: usize,
}

impl<'a> Haystack<'a> {
    /// A haystack that stands for itself.
    pub fn whole(bytes: &'a [u8]) -> Haystack<'a> {
        Haystack { bytes, carried: 0 }
    }

    /// A haystack whose first `carried` bytes are the end of what came before
    /// it; all of its bytes if there are fewer.
    pub fn continued(bytes: &'a [u8], carried: usize) -> Haystack<'a> {
        Haystack {
            bytes,
            carried: carried.min(bytes.len()),
        }
    }

    /// All bytes.
    #[inline(always)]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// How many of them were searched before.
    #[inline(always)]
    pub fn carried(self) -> usize {
        self.carried
    }
}
