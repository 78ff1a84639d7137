//! Content inspection with a Bloom filter (chapter 5 of the stream thesis).
//!
//! Every cluster has one hash function of a family and one segment of the
//! filter, in its scratchpad (figure 5.2). All clusters hash the same window of
//! the packet, and a pattern may begin there if all of them find their bit set.
//! A processor looks for patterns of four lengths, m to m + 3. The hash of a
//! window of n + 1 bytes is made from that of its first n (the appending
//! process), so that a byte of the packet costs one step for each length:
//!
//! ```text
//! packet            p₀ … p₇ | p₈ p₉ …            m = 5
//! kernel 1          windows that end at p₇, and queries on the way
//! kernel 2, p₈      h(⁴C₄) h(⁵C₃) h(⁶C₂) h(⁷C₁)
//!                     │+p₈   │+p₈   │+p₈   │+p₈
//!                   h(⁵C₄) h(⁶C₃) h(⁷C₂) h(⁸C₁)  four queries
//!                      └──────┐└──────┐└──────┐└→ intermediate hashes
//! kernel 2, p₉      h(⁴C₅) h(⁵C₄) h(⁶C₃) h(⁷C₂)
//! ```
//!
//! The hash of m - 1 bytes comes with each byte from the processor before, as
//! its intermediate hashes; the first processor of the pipeline computes it
//! (figure 5.4). The results of 32 queries are shifted into a word, and the
//! words of all clusters are brought together by a tree of ands (5.2.1).
//!
//! A call of kernel 2 goes over a strip of the packet and gives out the hashes
//! with which the next strip begins.

use super::{Entry, fill};
use crate::stream_processor::kernel::{ArrayId, BuildError, Builder, Kernel, Placement};

pub use functions::Functions;
pub use stage::{Design, Family, FilterPlace, Position};

mod functions;
mod hashing;
mod multi_stage;
pub mod programs;
mod query;
mod scan;
mod stage;
mod start;

pub use multi_stage::multi_stage;
pub use query::from_memory;
pub use scan::scan;
pub use start::start;

/// Words of a cluster's segment of the filter.
pub const FILTER_WORDS: u32 = 512;
/// Lengths of patterns that a processor looks for.
pub const LENGTHS: usize = 4;
/// The shortest pattern; shorter ones match too often to be of use (5.2.3).
pub const SHORTEST: usize = 5;
/// Queries whose results a word holds.
pub const QUERIES: usize = 32;

pub(super) const KERNELS: &[Entry] = &[
    Entry {
        name: "inspect-filter",
        about: "loads a Bloom filter into the scratchpads",
        source: "Lai 2006, 5.2.1",
        records: FILTER_WORDS as usize,
        build: |_| filter_load(),
    },
    Entry {
        name: "inspect-first-1",
        about: "kernel 1 of the first processor, shift-add-xor",
        source: "Lai 2006, 5.2.3",
        records: 8,
        build: |clusters| start(clusters, &Design::new(Family::ShiftAddXor, Position::First)),
    },
    Entry {
        name: "inspect-first-2",
        about: "kernel 2 of the first processor, shift-add-xor",
        source: "Lai 2006, 5.2.3",
        records: 8,
        build: |clusters| scan(clusters, &Design::new(Family::ShiftAddXor, Position::First)),
    },
    Entry {
        name: "inspect-1-shift-add-xor",
        about: "kernel 1 of the second processor, shift-add-xor",
        source: "Lai 2006, 5.2.3",
        records: 8,
        build: |clusters| start(clusters, &Design::second(Family::ShiftAddXor)),
    },
    Entry {
        name: "inspect-2-shift-add-xor",
        about: "kernel 2 of the second processor, shift-add-xor",
        source: "Lai 2006, 5.2.3",
        records: 8,
        build: |clusters| scan(clusters, &Design::second(Family::ShiftAddXor)),
    },
    Entry {
        name: "inspect-1-tabulation",
        about: "kernel 1 of the second processor, tabulation hashing",
        source: "Lai 2006, 5.4.1",
        records: 8,
        build: |clusters| start(clusters, &Design::second(Family::Tabulation)),
    },
    Entry {
        name: "inspect-2-tabulation",
        about: "kernel 2 of the second processor, tabulation hashing",
        source: "Lai 2006, 5.4.1",
        records: 8,
        build: |clusters| scan(clusters, &Design::second(Family::Tabulation)),
    },
    Entry {
        name: "inspect-2-tabulation-index",
        about: "the same with hardware that computes indices",
        source: "Lai 2006, 5.4.1",
        records: 8,
        build: |clusters| {
            let design = Design {
                index_assist: true,
                ..Design::second(Family::Tabulation)
            };
            scan(clusters, &design)
        },
    },
    Entry {
        name: "inspect-2-tabulation-bits",
        about: "the same with hardware that computes indices and extracts bits",
        source: "Lai 2006, 5.4.2",
        records: 8,
        build: |clusters| {
            let design = Design {
                index_assist: true,
                bit_assist: true,
                ..Design::second(Family::Tabulation)
            };
            scan(clusters, &design)
        },
    },
    Entry {
        name: "inspect-1-h1",
        about: "kernel 1 of the second processor, H1 after radix conversion",
        source: "Lai 2006, 5.3.2",
        records: 8,
        build: |clusters| start(clusters, &Design::second(Family::H1)),
    },
    Entry {
        name: "inspect-2-h1",
        about: "kernel 2 of the second processor, H1 after radix conversion",
        source: "Lai 2006, 5.3.2",
        records: 8,
        build: |clusters| scan(clusters, &Design::second(Family::H1)),
    },
    Entry {
        name: "inspect-2-lane",
        about: "shift-add-xor, with the filter in the stream register file",
        source: "Lai 2006, 5.4.3",
        records: 8,
        build: |clusters| {
            let design = Design::second(Family::ShiftAddXor);
            scan(clusters, &design.with_filter(FilterPlace::Lane))
        },
    },
    Entry {
        name: "inspect-2-memory",
        about: "shift-add-xor, computes addresses in a filter in memory",
        source: "Lai 2006, 5.4.3",
        records: 8,
        build: |clusters| {
            let design = Design::second(Family::ShiftAddXor);
            scan(clusters, &design.with_filter(FilterPlace::Memory))
        },
    },
    Entry {
        name: "inspect-query",
        about: "extracts bits from the words of a filter in memory",
        source: "Lai 2006, 5.4.3",
        records: 64,
        build: from_memory,
    },
    Entry {
        name: "multi-stage-filter",
        about: "counts packets of flows in eight stages and reports large flows",
        source: "Lai 2006, 5.4.3",
        records: 32,
        build: multi_stage,
    },
];

/// Fills the filter.
pub fn filter_load() -> Result<Kernel, BuildError> {
    fill("inspect-filter", declare_filter)
}

/// The filter is in every scratchpad, so that a second one is a second port.
fn declare_filter(k: &mut Builder) -> ArrayId {
    k.array("filter", FILTER_WORDS, Placement::Every)
}

#[cfg(test)]
mod tests;
