//! From selectors to classes: one sweep per field over the ends of all its
//! ranges.

use std::collections::HashMap;
use std::hash::Hash;

use super::Table;
use super::rows::{BITS_PER_CHUNK, Chunk, Field, RowId, RowMaker, set};
use crate::Selector;
use crate::ranges::{Point, Ranges};

/// Builds a table whose fields take at most about `field_bytes` each.
pub(super) fn table(selectors: &[Selector], field_bytes: usize) -> Table {
    let mut builder = Builder {
        rows: RowMaker::new(selectors.len()),
        field_bytes,
        coarse: false,
    };
    let interfaces: Vec<Option<Ranges<u16>>> = selectors
        .iter()
        .map(|s| {
            s.interface
                .map(|number| Ranges::union_of(vec![(number, number)]))
        })
        .collect();
    let each = || selectors.iter();
    let source_ipv4 = builder.field(each().map(|s| s.source.families().map(|f| &f.ipv4)));
    let source_ipv6 = builder.field(each().map(|s| s.source.families().map(|f| &f.ipv6)));
    let destination_ipv4 = builder.field(each().map(|s| s.destination.families().map(|f| &f.ipv4)));
    let destination_ipv6 = builder.field(each().map(|s| s.destination.families().map(|f| &f.ipv6)));
    let protocol = builder.field(each().map(|s| s.protocol.ranges()));
    let source_port = builder.field(each().map(|s| s.source_port.ranges()));
    let destination_port = builder.field(each().map(|s| s.destination_port.ranges()));
    let interface = builder.field(interfaces.iter().map(Option::as_ref));
    Table {
        source_ipv4,
        source_ipv6,
        destination_ipv4,
        destination_ipv6,
        protocol,
        source_port,
        destination_port,
        interface,
        checked: builder.coarse.then(|| selectors.to_vec()),
        selector_count: selectors.len(),
        rows: builder.rows.finish(),
    }
}

struct Builder {
    rows: RowMaker,
    field_bytes: usize,
    /// Whether a field had to be made coarser than its sets.
    coarse: bool,
}

/// One different set of a field: the selectors that have it, as the chunks
/// that hold their bits.
struct Group {
    bits: Vec<(u32, Chunk)>,
}

impl Group {
    fn new(members: &[u32]) -> Group {
        let mut bits: Vec<(u32, Chunk)> = Vec::new();
        for member in members {
            let place = *member as usize / BITS_PER_CHUNK;
            if bits.last().is_none_or(|(last, _)| *last as usize != place) {
                bits.push((place as u32, [0; 8]));
            }
            if let Some((_, chunk)) = bits.last_mut() {
                set(
                    std::slice::from_mut(chunk),
                    *member as usize % BITS_PER_CHUNK,
                );
            }
        }
        Group { bits }
    }
}

impl Builder {
    /// Makes a field of the selectors' sets; `None` is any.
    fn field<'a, T: Point + Hash + 'a>(
        &mut self,
        sets: impl Iterator<Item = Option<&'a Ranges<T>>>,
    ) -> Field<T> {
        let mut any = vec![[0; 8]; self.rows.chunks_per_row()];
        let mut numbers = HashMap::new();
        let mut members: Vec<(&Ranges<T>, Vec<u32>)> = Vec::new();
        for (selector, ranges) in sets.enumerate() {
            match ranges {
                None => set(&mut any, selector),
                Some(ranges) => {
                    let number = *numbers.entry(ranges).or_insert_with(|| {
                        members.push((ranges, Vec::new()));
                        members.len() - 1
                    });
                    members[number].1.push(selector as u32);
                }
            }
        }
        let groups: Vec<Group> = members.iter().map(|(_, list)| Group::new(list)).collect();

        // Where a range starts or has ended, its group's bits flip.
        let mut flips: Vec<(T, u32)> = Vec::new();
        for (number, (ranges, _)) in members.iter().enumerate() {
            for (first, last) in ranges.as_slice() {
                flips.push((*first, number as u32));
                flips.extend(last.next().map(|after| (after, number as u32)));
            }
        }
        flips.sort_unstable();

        let mark = self.rows.mark();
        let limit = self.rows.memory_bytes() + self.field_bytes;
        let mut stride = 1;
        loop {
            let sweep = Sweep::new(&any, &groups, &flips);
            if let Some(field) = sweep.field(&mut self.rows, stride, limit) {
                self.coarse |= stride > 1;
                return field;
            }
            self.rows.forget_after(mark);
            stride *= 4;
        }
    }
}

/// A walk over the values of a field in ascending order.
struct Sweep<'a, T> {
    groups: &'a [Group],
    flips: &'a [(T, u32)],
    /// Selectors that accept the value reached.
    bits: Vec<Chunk>,
    /// Selectors that accept any value of the present interval: the same as
    /// `bits` unless intervals are joined.
    union: Vec<Chunk>,
    /// Places of chunks that may differ between `bits` or `union` and the
    /// row made last.
    changed: Vec<u32>,
}

impl<'a, T: Point> Sweep<'a, T> {
    fn new(any: &[Chunk], groups: &'a [Group], flips: &'a [(T, u32)]) -> Self {
        Sweep {
            groups,
            flips,
            bits: any.to_vec(),
            union: any.to_vec(),
            changed: Vec::new(),
        }
    }

    /// The field whose intervals join `stride` elementary ones. `None` where
    /// rows would take more than `limit_bytes`; one interval always fits.
    fn field(mut self, rows: &mut RowMaker, stride: usize, limit_bytes: usize) -> Option<Field<T>> {
        let is_last_try = stride > self.flips.len();
        let mut numbers: Vec<u32> = self.bits.iter().map(|chunk| rows.chunk(chunk)).collect();
        let absent = rows.row(&numbers);
        let mut starts = Vec::new();
        let mut row_ids: Vec<RowId> = Vec::new();
        let mut start = T::MIN;
        // What flips at the smallest value is no boundary.
        self.flip_at(start);
        loop {
            for place in &self.changed {
                self.union[*place as usize] = self.bits[*place as usize];
            }
            let joined_from = self.changed.len();
            let mut next = self.flips.first().map(|(value, _)| *value);
            for _ in 1..stride {
                let Some(value) = next else { break };
                let flipped_from = self.changed.len();
                self.flip_at(value);
                for place in &self.changed[flipped_from..] {
                    let union = &mut self.union[*place as usize];
                    for (word, bits) in union.iter_mut().zip(self.bits[*place as usize]) {
                        *word |= bits;
                    }
                }
                next = self.flips.first().map(|(value, _)| *value);
            }
            for place in &self.changed {
                numbers[*place as usize] = rows.chunk(&self.union[*place as usize]);
            }
            // Joined chunks go back to the bits reached in the next interval.
            self.changed.drain(..joined_from);
            let row = rows.row(&numbers);
            if row_ids.last() != Some(&row) {
                if start > T::MIN {
                    starts.push(start);
                }
                row_ids.push(row);
            }
            if rows.memory_bytes() > limit_bytes && !is_last_try {
                return None;
            }
            let Some(value) = next else { break };
            start = value;
            self.flip_at(value);
        }
        Some(Field::new(starts, row_ids, absent))
    }

    /// Flips what flips at `value`.
    fn flip_at(&mut self, value: T) {
        while let [(at, group), rest @ ..] = self.flips
            && *at == value
        {
            for (place, chunk) in &self.groups[*group as usize].bits {
                for (word, bits) in self.bits[*place as usize].iter_mut().zip(chunk) {
                    *word ^= bits;
                }
                self.changed.push(*place);
            }
            self.flips = rest;
        }
    }
}
