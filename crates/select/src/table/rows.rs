//! Rows of bits over the selectors, and the fields that lead to them.

use std::collections::HashMap;

use crate::ranges::Point;

/// A row of bits: which selectors accept a class of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowId(u32);

/// 512 bits, a cache line.
pub(super) type Chunk = [u64; WORDS_PER_CHUNK];
const WORDS_PER_CHUNK: usize = 8;
pub(super) const BITS_PER_CHUNK: usize = 64 * WORDS_PER_CHUNK;

/// The rows of all fields. Equal rows are stored once, and so are equal
/// chunks of different rows: rows of neighbouring classes differ in little.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// Chunk 0 is empty.
    chunks: Vec<Chunk>,
    /// `chunks_per_row` chunk numbers for each row.
    chunk_numbers: Vec<u32>,
    /// `summary_words` words for each row: a bit per word that is not zero.
    summaries: Vec<u64>,
    chunks_per_row: usize,
    summary_words: usize,
}

impl Rows {
    /// The row that no selector is in: made first.
    const NONE: RowId = RowId(0);
    /// The row that all selectors are in: made second.
    const ALL: RowId = RowId(1);

    /// Calls `visit` for every selector that is in all the rows, in
    /// ascending order, until it returns `false`.
    #[inline]
    pub(super) fn intersect(&self, rows: &[RowId; 6], mut visit: impl FnMut(usize) -> bool) {
        // Rows of all selectors exclude none.
        let mut narrow = [Rows::ALL; 6];
        let mut count = 0;
        for row in rows {
            if *row == Rows::NONE {
                return;
            }
            if *row != Rows::ALL {
                narrow[count] = *row;
                count += 1;
            }
        }
        let narrow = &narrow[..count.max(1)];
        for summary_word in 0..self.summary_words {
            let mut words = narrow.iter().fold(u64::MAX, |words, row| {
                words & self.summaries[row.0 as usize * self.summary_words + summary_word]
            });
            while words != 0 {
                let word = summary_word * 64 + words.trailing_zeros() as usize;
                words &= words - 1;
                let mut bits = narrow
                    .iter()
                    .fold(u64::MAX, |bits, row| bits & self.word(*row, word));
                while bits != 0 {
                    if !visit(word * 64 + bits.trailing_zeros() as usize) {
                        return;
                    }
                    bits &= bits - 1;
                }
            }
        }
    }

    #[inline]
    fn word(&self, row: RowId, word: usize) -> u64 {
        let (chunk, word) = (word / WORDS_PER_CHUNK, word % WORDS_PER_CHUNK);
        let number = self.chunk_numbers[row.0 as usize * self.chunks_per_row + chunk];
        self.chunks[number as usize][word]
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(self.chunks.as_slice())
            + size_of_val(self.chunk_numbers.as_slice())
            + size_of_val(self.summaries.as_slice())
    }
}

/// Makes rows, each once.
pub(super) struct RowMaker {
    rows: Rows,
    chunk_numbers: HashMap<Chunk, u32>,
    row_numbers: HashMap<Box<[u32]>, u32>,
}

impl RowMaker {
    pub(super) fn new(selector_count: usize) -> RowMaker {
        let chunks_per_row = selector_count.div_ceil(BITS_PER_CHUNK);
        let mut maker = RowMaker {
            rows: Rows {
                chunks: Vec::new(),
                chunk_numbers: Vec::new(),
                summaries: Vec::new(),
                chunks_per_row,
                summary_words: (chunks_per_row * WORDS_PER_CHUNK).div_ceil(64),
            },
            chunk_numbers: HashMap::new(),
            row_numbers: HashMap::new(),
        };
        maker.chunk(&[0; WORDS_PER_CHUNK]);
        maker.row(&vec![0; chunks_per_row]);
        let mut all = vec![[0; WORDS_PER_CHUNK]; chunks_per_row];
        for selector in 0..selector_count {
            set(&mut all, selector);
        }
        let all: Vec<u32> = all.iter().map(|chunk| maker.chunk(chunk)).collect();
        maker.row(&all);
        maker
    }

    pub(super) fn chunks_per_row(&self) -> usize {
        self.rows.chunks_per_row
    }

    pub(super) fn chunk(&mut self, chunk: &Chunk) -> u32 {
        *self.chunk_numbers.entry(*chunk).or_insert_with(|| {
            self.rows.chunks.push(*chunk);
            (self.rows.chunks.len() - 1) as u32
        })
    }

    /// The row of the given chunks.
    pub(super) fn row(&mut self, chunks: &[u32]) -> RowId {
        if let Some(number) = self.row_numbers.get(chunks) {
            return RowId(*number);
        }
        let number = self.row_numbers.len() as u32;
        self.row_numbers.insert(chunks.into(), number);
        self.rows.chunk_numbers.extend_from_slice(chunks);
        let start = self.rows.summaries.len();
        self.rows
            .summaries
            .resize(start + self.rows.summary_words, 0);
        for (place, chunk) in chunks.iter().enumerate() {
            for (word, bits) in self.rows.chunks[*chunk as usize].iter().enumerate() {
                let word = place * WORDS_PER_CHUNK + word;
                self.rows.summaries[start + word / 64] |= u64::from(*bits != 0) << (word % 64);
            }
        }
        RowId(number)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes()
    }

    /// Numbers of chunks and rows so far, for [`RowMaker::forget_after`].
    pub(super) fn mark(&self) -> (usize, usize) {
        (self.rows.chunks.len(), self.row_numbers.len())
    }

    /// Takes back every row and chunk made after the mark.
    pub(super) fn forget_after(&mut self, (chunks, rows): (usize, usize)) {
        self.chunk_numbers
            .retain(|_, number| (*number as usize) < chunks);
        self.row_numbers
            .retain(|_, number| (*number as usize) < rows);
        self.rows.chunks.truncate(chunks);
        self.rows
            .chunk_numbers
            .truncate(rows * self.rows.chunks_per_row);
        self.rows.summaries.truncate(rows * self.rows.summary_words);
    }

    pub(super) fn finish(mut self) -> Rows {
        self.rows.chunks.shrink_to_fit();
        self.rows.chunk_numbers.shrink_to_fit();
        self.rows.summaries.shrink_to_fit();
        self.rows
    }
}

/// Sets the bit of a selector.
pub(super) fn set(chunks: &mut [Chunk], selector: usize) {
    let (chunk, bit) = (selector / BITS_PER_CHUNK, selector % BITS_PER_CHUNK);
    chunks[chunk][bit / 64] |= 1 << (bit % 64);
}

/// One field: its values cut into intervals, each with a row.
#[derive(Clone, Debug)]
pub(super) struct Field<T> {
    /// First value of each interval; the first interval starts at the
    /// smallest value and is not listed.
    starts: Vec<T>,
    /// One more than `starts`.
    rows: Vec<RowId>,
    /// The row of tuples that have no such field.
    absent: RowId,
}

impl<T: Point> Field<T> {
    pub(super) fn new(mut starts: Vec<T>, mut rows: Vec<RowId>, absent: RowId) -> Field<T> {
        starts.shrink_to_fit();
        rows.shrink_to_fit();
        Field {
            starts,
            rows,
            absent,
        }
    }

    /// The row of a value.
    #[inline]
    pub(super) fn row(&self, value: T) -> RowId {
        self.rows[self.starts.partition_point(|start| *start <= value)]
    }

    /// The row of tuples that have no such field.
    #[inline]
    pub(super) fn absent(&self) -> RowId {
        self.absent
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(self.starts.as_slice()) + size_of_val(self.rows.as_slice())
    }
}
