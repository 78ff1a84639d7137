//! Look-up among many selectors at once.
//!
//! Every field of a tuple is mapped to an equivalence class of its values:
//! addresses, ports, protocols and interfaces that exactly the same selectors
//! accept share a class, and the class is the set of those selectors, a row
//! of bits. The selectors that match a tuple are the intersection of the six
//! rows of its fields (Lakshman and Stiliadis, SIGCOMM 1998; the summaries
//! that skip empty words are the aggregation of Baboescu and Varghese,
//! SIGCOMM 2001).
//!
//! ```text
//! selector      0 ···· 63 │ 64 ··· 127 │ …      8 words = a chunk, stored once
//! source        1 0 1 ··· │ 0 0 0 ···· │        summary bit per word: 1 0 …
//! destination   1 1 1 ··· │ 1 0 0 ···· │                              1 1 …
//! protocol, ports, interface …                                        …
//!               ─────────────────────────
//! and           1 0 1 ··· │  not read  │        1 0 …
//! ```

mod build;
mod rows;

use weir_packet::wire::FlowKey;

use crate::{Selector, Tuple};
use rows::{Field, RowId, Rows};

/// Finds which of many selectors match; built once, then only read.
///
/// Matches are those of a scan with [`Selector::matches`]. The time of a look-up hardly
/// depends on the number of selectors: five or six binary searches, then a pass over one
/// bit per 64 selectors.
///
/// Memory grows with the number of different sets per field times the number
/// of selectors, divided by about a hundred: 30,000 selectors with as many
/// different prefixes take about 20 MB. It is bounded by [`Table::FIELD_BYTES`]
/// for each of the eight fields (two families count twice) beside a copy of
/// the ranges: a field that would take more gets coarser classes, whose
/// matches are checked with [`Selector::matches`].
#[derive(Clone, Debug)]
pub struct Table {
    rows: Rows,
    source_ipv4: Field<u32>,
    source_ipv6: Field<u128>,
    destination_ipv4: Field<u32>,
    destination_ipv6: Field<u128>,
    protocol: Field<u8>,
    source_port: Field<u16>,
    destination_port: Field<u16>,
    interface: Field<u16>,
    /// The selectors, where a field is coarse and its matches need a check.
    checked: Option<Vec<Selector>>,
    selector_count: usize,
}

impl Table {
    /// Largest memory of one field's classes, in bytes.
    pub const FIELD_BYTES: usize = 64 << 20;

    /// Builds the table. Selectors are identified by their index in the slice.
    pub fn new(selectors: &[Selector]) -> Table {
        build::table(selectors, Table::FIELD_BYTES)
    }

    /// Number of selectors.
    pub fn len(&self) -> usize {
        self.selector_count
    }

    /// Whether there are no selectors.
    pub fn is_empty(&self) -> bool {
        self.selector_count == 0
    }

    /// The first selector that matches.
    pub fn first(&self, tuple: &Tuple) -> Option<usize> {
        let mut first = None;
        self.scan(tuple, |selector| {
            first = Some(selector);
            false
        });
        first
    }

    /// All selectors that match, in ascending order. `out` is emptied first.
    pub fn all(&self, tuple: &Tuple, out: &mut Vec<u32>) {
        out.clear();
        self.scan(tuple, |selector| {
            out.push(selector as u32);
            true
        });
    }

    /// Heap memory of the table in bytes, without that of checked selectors.
    pub fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes()
            + self.source_ipv4.memory_bytes()
            + self.source_ipv6.memory_bytes()
            + self.destination_ipv4.memory_bytes()
            + self.destination_ipv6.memory_bytes()
            + self.protocol.memory_bytes()
            + self.source_port.memory_bytes()
            + self.destination_port.memory_bytes()
            + self.interface.memory_bytes()
    }

    /// Calls `visit` for every match in ascending order until it returns
    /// `false`.
    fn scan(&self, tuple: &Tuple, mut visit: impl FnMut(usize) -> bool) {
        self.rows
            .intersect(&self.rows_of(tuple), |selector| match &self.checked {
                Some(selectors) if !selectors[selector].matches(tuple) => true,
                _ => visit(selector),
            });
    }

    /// The row of each field.
    #[inline]
    fn rows_of(&self, tuple: &Tuple) -> [RowId; 6] {
        let FlowKey {
            source,
            destination,
            source_port,
            destination_port,
            protocol,
            ip_version,
        } = tuple.key;
        let [source, destination] = match ip_version {
            4 => [
                self.source_ipv4.row(source as u32),
                self.destination_ipv4.row(destination as u32),
            ],
            6 => [
                self.source_ipv6.row(source),
                self.destination_ipv6.row(destination),
            ],
            _ => [self.source_ipv4.absent(), self.destination_ipv4.absent()],
        };
        let protocol = match ip_version {
            4 | 6 => self.protocol.row(protocol),
            _ => self.protocol.absent(),
        };
        let [source_port, destination_port] = if tuple.ports_known {
            [
                self.source_port.row(source_port),
                self.destination_port.row(destination_port),
            ]
        } else {
            [self.source_port.absent(), self.destination_port.absent()]
        };
        [
            destination_port,
            source,
            destination,
            source_port,
            protocol,
            self.interface.row(tuple.interface),
        ]
    }
}

#[cfg(test)]
mod tests;
