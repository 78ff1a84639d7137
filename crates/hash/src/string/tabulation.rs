//! Simple tabulation over the bytes of a window (section 5.4.1 of the thesis).

use super::StringFamily;
use crate::seed::SeedStream;

/// h = T₀\[p₀\] ⊕ T₁\[p₁\] ⊕ … with tables of random words, one for each place of a
/// window: 3-independent among strings of one length (Carter and Wegman 1979;
/// Pătraşcu and Thorup, *The power of simple tabulation hashing*, 2012). A
/// function takes 1 KB per place.
#[derive(Clone)]
pub struct Tabulation {
    starts: Vec<u32>,
    longest_bytes: usize,
    /// By function, place and byte.
    words: Vec<u32>,
}

impl StringFamily for Tabulation {
    const NAME: &'static str = "tabulation";

    fn draw(functions: usize, longest_bytes: usize, seed: u64) -> Tabulation {
        let mut stream = SeedStream::new(seed);
        let mut draw = |count| (0..count).map(|_| stream.next_bits(32) as u32).collect();
        Tabulation {
            starts: draw(functions),
            longest_bytes,
            words: draw(functions * longest_bytes * 256),
        }
    }

    fn functions(&self) -> usize {
        self.starts.len()
    }

    #[inline]
    fn start(&self, function: usize) -> u32 {
        self.starts[function]
    }

    #[inline]
    fn append(&self, function: usize, state: u32, place: usize, byte: u8) -> u32 {
        assert!(place < self.longest_bytes);
        let table = function * self.longest_bytes + place;
        state ^ self.words[table * 256 + usize::from(byte)]
    }

    #[inline]
    fn finish(&self, _: usize, state: u32) -> u32 {
        state
    }
}
