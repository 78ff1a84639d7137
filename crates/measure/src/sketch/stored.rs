//! Sketches as bytes, to be kept and sent.
//!
//! Everything is little-endian:
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | `WeirSkch` |
//! | 2 | version of the format, 2 |
//! | 1 | sketch: 1 Count-Min, 2 K-ary, 3 real K-ary |
//! | 1 | hash family ([`Family::CODE`]) |
//! | 4, 4, 4 | rows, counters per row, words of the longest key |
//! | 4 | 1 where a counter stopped at the end of its range, else 0 |
//! | 32 | seed |
//! | 8, 8 | sum of all values, sum of their magnitudes |
//! | 8 each | counters, row by row |
//!
//! The seed is among them: who can read a stored sketch can choose keys that
//! collide in it and in those that are yet to come under the same seed.

use weir_hash::{Family, Seed, ShapeError};

use super::counters::Counters;
use super::layout::Layout;
use super::sums::{State, Sums};
use crate::accuracy::Shape;

const MAGIC: &[u8; 8] = b"WeirSkch";
const VERSION: u16 = 2;
const HEADER_BYTES: usize = 76;
/// Where they stand in the header.
pub(super) const SATURATED_AT: usize = 24;
const SEED_AT: usize = 28;
const TOTAL_AT: usize = SEED_AT + Seed::BYTES;
pub(super) const MASS_AT: usize = TOTAL_AT + size_of::<u64>();
const COUNTER_BYTES: usize = 8;

/// What is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    CountMin = 1,
    KAry = 2,
    RealKAry = 3,
}

/// Bytes that are not a stored sketch of the requested kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Other data, or none.
    #[error("not a stored sketch: it does not begin with {:?}", "WeirSkch")]
    Magic,
    /// Of another version of the format. Version 1, with seeds of 64 bits, is not read.
    #[error(
        "stored sketch of version {0}, and only version {VERSION} is read: \
         store the measurement again with this version of Weir"
    )]
    Version(u16),
    /// Another sketch, or hash functions of another family.
    #[error("stored sketch of another kind ({kind}) or hash family ({family})")]
    Kind {
        /// Number of the kind.
        kind: u8,
        /// Number of the family.
        family: u8,
    },
    /// A size out of range.
    #[error("stored sketch of an invalid size: {0}")]
    Shape(#[from] ShapeError),
    /// Cut short, or with trailing bytes.
    #[error("stored sketch of {found} bytes, and its size requires {expected}")]
    Length {
        /// Bytes found.
        found: usize,
        /// Bytes of a sketch of this size.
        expected: usize,
    },
    /// An invalid number in the header.
    #[error("stored sketch is damaged: no such value at byte {at} of its header")]
    Header {
        /// Where the number begins.
        at: usize,
    },
    /// Counters that no stream can produce.
    #[error("stored sketch is damaged: row {row} does not add up to the sums of its header")]
    Damaged {
        /// The first such row.
        row: usize,
    },
}

/// The header; 64-bit numbers as they are stored.
pub(super) struct Header {
    pub shape: Shape,
    pub words: usize,
    pub is_saturated: bool,
    pub seed: Seed,
    pub total: u64,
    pub mass: u64,
}

/// Header and counters as bytes.
pub(super) fn encode<F: Family>(
    kind: Kind,
    header: &Header,
    counters: impl ExactSizeIterator<Item = u64>,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES + COUNTER_BYTES * counters.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&[kind as u8, F::CODE]);
    let sizes = [
        header.shape.rows as u32,
        header.shape.width,
        header.words as u32,
        u32::from(header.is_saturated),
    ];
    out.extend(sizes.iter().flat_map(|size| size.to_le_bytes()));
    out.extend_from_slice(&header.seed.to_bytes());
    let numbers = [header.total, header.mass].into_iter();
    out.extend(numbers.chain(counters).flat_map(u64::to_le_bytes));
    out
}

/// Header, layout and counters of bytes.
pub(super) fn decode<F: Family>(
    kind: Kind,
    bytes: &[u8],
) -> Result<(Header, Layout<F>, impl Iterator<Item = u64>), DecodeError> {
    if !bytes.starts_with(MAGIC) {
        return Err(DecodeError::Magic);
    }
    let Some((head, counters)) = bytes.split_at_checked(HEADER_BYTES) else {
        return Err(DecodeError::Length {
            found: bytes.len(),
            expected: HEADER_BYTES,
        });
    };
    let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| head[at + i]));
    let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| head[at + i]));
    let version = u16::from_le_bytes([head[8], head[9]]);
    if version != VERSION {
        return Err(DecodeError::Version(version));
    }
    if (head[10], head[11]) != (kind as u8, F::CODE) {
        return Err(DecodeError::Kind {
            kind: head[10],
            family: head[11],
        });
    }
    if u32_at(SATURATED_AT) > 1 {
        return Err(DecodeError::Header { at: SATURATED_AT });
    }
    let header = Header {
        shape: Shape {
            rows: u32_at(12) as usize,
            width: u32_at(16),
        },
        words: u32_at(20) as usize,
        is_saturated: u32_at(SATURATED_AT) != 0,
        seed: Seed::from_bytes(std::array::from_fn(|i| head[SEED_AT + i])),
        total: u64_at(TOTAL_AT),
        mass: u64_at(MASS_AT),
    };
    let layout = Layout::new(header.shape, header.words, header.seed)?;
    let expected = HEADER_BYTES + COUNTER_BYTES * layout.counters();
    if bytes.len() != expected {
        return Err(DecodeError::Length {
            found: bytes.len(),
            expected,
        });
    }
    let (counters, _) = counters.as_chunks::<COUNTER_BYTES>();
    let counters = counters.iter().map(|bytes| u64::from_le_bytes(*bytes));
    Ok((header, layout, counters))
}

impl<F: Family> Sums<F> {
    pub(super) fn encode(&self, kind: Kind) -> Vec<u8> {
        let state = self.state();
        let header = Header {
            shape: self.layout().shape(),
            words: self.layout().words(),
            is_saturated: state.is_saturated,
            seed: self.layout().seed(),
            total: state.total as u64,
            mass: state.mass,
        };
        let counters = self.counters().iter().map(|counter| counter as u64);
        encode::<F>(kind, &header, counters)
    }

    pub(super) fn decode(kind: Kind, bytes: &[u8]) -> Result<Sums<F>, DecodeError> {
        let (header, layout, stored) = decode(kind, bytes)?;
        let mut counters = Counters::new(layout.counters());
        for (index, counter) in stored.enumerate() {
            counters.set(index, counter as i64);
        }
        let state = State {
            total: header.total as i64,
            mass: header.mass,
            is_saturated: header.is_saturated,
        };
        let sums = Sums::from_parts(layout, counters, state);
        // Updates trust that no counter is beyond the mass.
        let adds_up = |row: &usize| {
            let (mut total, mut mass) = (0i128, 0u128);
            for counter in sums.row(*row) {
                total += i128::from(counter);
                mass += u128::from(counter.unsigned_abs());
            }
            (state.is_saturated || total == state.total.into())
                && (state.mass == u64::MAX || mass <= state.mass.into())
        };
        match (0..header.shape.rows).find(|row| !adds_up(row)) {
            Some(row) => Err(DecodeError::Damaged { row }),
            None => Ok(sums),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_hash::{H1Words, KeyColumns};
    use weir_simd::Tier;

    use super::super::{AddWork, CountMin, KAry, RealKAry};
    use super::*;

    const SHAPE: Shape = Shape { rows: 3, width: 7 };

    fn keys() -> KeyColumns {
        let mut keys = KeyColumns::new(2, 20);
        for n in 0..20 {
            assert!(keys.push(&[n, 1]));
        }
        keys
    }

    fn count_min(values: &[i64]) -> CountMin {
        let mut sketch = CountMin::new(SHAPE, 2, Seed::from_u64(0x1234_5678_9abc_def0)).unwrap();
        sketch.add(Tier::Scalar, &keys(), values, &mut AddWork::default());
        sketch
    }

    #[test]
    fn sketches_come_back() {
        let sketch = count_min(&[5, -3, 1 << 40, 7]);
        let bytes = sketch.encode();
        assert_eq!(bytes.len(), HEADER_BYTES + 3 * 7 * 8);
        assert_eq!(CountMin::decode(&bytes), Ok(sketch));
        let mut sketch = KAry::new(SHAPE, 2, Seed::from_u64(3)).unwrap();
        sketch.add(Tier::Scalar, &keys(), &[9u32; 20], &mut AddWork::default());
        assert_eq!(KAry::decode(&sketch.encode()), Ok(sketch.clone()));
        let mut real = RealKAry::from(&sketch);
        real.scale(0.3);
        assert_eq!(RealKAry::decode(&real.encode()), Ok(real));
    }

    #[test]
    fn saturated_sketches_come_back_and_say_so() {
        let sketch = count_min(&[i64::MAX, i64::MAX]);
        assert!(sketch.is_saturated());
        assert_eq!(CountMin::decode(&sketch.encode()), Ok(sketch));
    }

    proptest! {
        /// Whatever is written over a stored sketch, the outcome is an error or
        /// a sketch that stores as these bytes.
        #[test]
        fn damage_is_refused_or_read_as_it_stands(
            changes in prop::collection::vec((0usize..90, any::<u8>()), 1..6),
            len in 0usize..300,
        ) {
            let mut bytes = count_min(&[5, 6, 7]).encode();
            for (at, to) in changes {
                bytes[at] = to;
            }
            bytes.truncate(len);
            if let Ok(sketch) = CountMin::<weir_hash::Ms52>::decode(&bytes) {
                prop_assert_eq!(sketch.encode(), bytes);
            }
        }
    }

    /// Every length but the right one, every byte that matters.
    #[test]
    fn what_is_no_such_sketch_is_refused() {
        let bytes = count_min(&[5, 6, 7]).encode();
        for len in 0..bytes.len() {
            let refused = CountMin::<weir_hash::Ms52>::decode(&bytes[..len]);
            let expected = if len < MAGIC.len() {
                DecodeError::Magic
            } else if len < HEADER_BYTES {
                DecodeError::Length {
                    found: len,
                    expected: HEADER_BYTES,
                }
            } else {
                DecodeError::Length {
                    found: len,
                    expected: bytes.len(),
                }
            };
            assert_eq!(refused, Err(expected));
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(CountMin::<weir_hash::Ms52>::decode(&longer).is_err());
        let changed = |at: usize, to: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = to;
            CountMin::<weir_hash::Ms52>::decode(&bytes).map(|_| ())
        };
        assert_eq!(changed(0, b'w'), Err(DecodeError::Magic));
        assert_eq!(changed(8, 1), Err(DecodeError::Version(1)));
        assert_eq!(changed(8, 3), Err(DecodeError::Version(3)));
        let kind = |kind, family| Err(DecodeError::Kind { kind, family });
        assert_eq!(changed(10, 2), kind(2, 1));
        assert_eq!(changed(11, 4), kind(1, 4));
        assert_eq!(changed(12, 0), Err(ShapeError::Rows(0).into()));
        assert_eq!(changed(15, 9), Err(ShapeError::Rows((9 << 24) + 3).into()));
        assert_eq!(changed(20, 11), Err(ShapeError::Words(11, 10).into()));
        assert!(matches!(changed(16, 8), Err(DecodeError::Length { .. })));
        let header = |at| Err(DecodeError::Header { at });
        assert_eq!(changed(SATURATED_AT, 2), header(SATURATED_AT));
        // 5 + 6 + 7 were added, so much is the mass at least.
        assert_eq!(changed(MASS_AT, 17), Err(DecodeError::Damaged { row: 0 }));
        assert_eq!(changed(MASS_AT, 19), Ok(()));
        assert_eq!(changed(TOTAL_AT, 1), Err(DecodeError::Damaged { row: 0 }));
        assert_eq!(
            changed(HEADER_BYTES + 8 * 15, 0x77),
            Err(DecodeError::Damaged { row: 2 })
        );
        assert!(CountMin::<H1Words>::decode(&bytes).is_err());
        assert!(KAry::<weir_hash::Poly44>::decode(&bytes).is_err());
    }
}
