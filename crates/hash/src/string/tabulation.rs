//! Simple tabulation over the bytes of a window (section 5.4.1 of the thesis).

use weir_simd::Tier;

use super::{StringFamily, simd};
use crate::seed::{Seed, SeedStream};

/// h = T₀\[p₀\] ⊕ T₁\[p₁\] ⊕ … with tables of random words, one for each place of a
/// window: 3-independent among strings of one length (Carter and Wegman 1979;
/// Pătraşcu and Thorup, *The power of simple tabulation hashing*, 2012). A
/// function takes 1 KB per place.
#[derive(Clone)]
pub struct Tabulation {
    starts: Vec<u32>,
    longest_bytes: usize,
    /// By function and place.
    tables: Vec<[u32; 256]>,
}

impl StringFamily for Tabulation {
    const NAME: &'static str = "tabulation";

    fn draw(functions: usize, longest_bytes: usize, seed: Seed) -> Tabulation {
        let mut stream = SeedStream::new(seed);
        let mut draw = || stream.next_bits(32) as u32;
        Tabulation {
            starts: (0..functions).map(|_| draw()).collect(),
            longest_bytes,
            tables: (0..functions * longest_bytes)
                .map(|_| std::array::from_fn(|_| draw()))
                .collect(),
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
        state ^ self.table(function, place)[usize::from(byte)]
    }

    #[inline]
    fn finish(&self, _: usize, state: u32) -> u32 {
        state
    }

    fn append_to_each(
        &self,
        tier: Tier,
        function: usize,
        states: &mut [u32],
        place: usize,
        bytes: &[u8],
    ) {
        let table = self.table(function, place);
        let done = simd::look_up(tier, table, states, bytes);
        for (state, byte) in states.iter_mut().zip(bytes).skip(done) {
            *state ^= table[usize::from(*byte)];
        }
    }
}

impl Tabulation {
    /// The words of a place in the window.
    ///
    /// # Panics
    /// There is no such function, or the place lies beyond the longest string.
    #[inline]
    fn table(&self, function: usize, place: usize) -> &[u32; 256] {
        assert!(place < self.longest_bytes);
        &self.tables[function * self.longest_bytes + place]
    }
}
