//! The largest fabrics whose marks fit the field, beside the figures of the source.
//!
//! *Table II, DPM*: a fat tree with *p* ports has *p* to the power of ⌊38 / log p⌋ nodes as printed.
//! Fields of whole bits record ⌊38 / ⌈log₂ p⌉⌋ levels, which are fewer where *p* is no power of two.
//!
//! *Table III, DDPM*: 2^18 × 2^18, 2^11 × 2^11 × 2^11 and 2^38 nodes, as computed here. The bits that
//! it prints for them, 2 log n − 2 and 3 log n − 3, do not agree with its sizes: a difference takes
//! log n bits and one for its sign, which gives 2 log n + 2 and 3 log n + 3, for these sizes 38 and 36
//! of the 38 bits.

use super::{FatTree, Grid, Hypercube, MarkingField};

/// A row of table II: the largest fat tree of switches with a number of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FatTreeRow {
    /// Ports down of a switch.
    pub ports: u64,
    /// Levels by the printed formula, with an exact logarithm.
    pub published_levels: u32,
    /// Nodes by the printed formula.
    pub published_nodes: u64,
    /// Levels whose ports fit the field.
    pub levels: u32,
    /// Nodes of the largest tree.
    pub nodes: u64,
}

/// The row of table II for switches with `ports` ports down, at least two.
#[must_use]
pub fn fat_tree_row(ports: u64) -> FatTreeRow {
    let published_levels = levels_below_2_38(ports);
    let levels = FatTree::most_levels(ports);
    FatTreeRow {
        ports,
        published_levels,
        published_nodes: ports.pow(published_levels),
        levels,
        nodes: ports.pow(levels),
    }
}

/// A row of table III: the largest network of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkRow {
    /// The kind, as printed.
    pub topology: &'static str,
    /// Binary logarithm of the printed number of nodes.
    pub published_log2_nodes: u32,
    /// The field's bits by the printed formula, for that number of nodes.
    pub published_bits: u32,
    /// Binary logarithm of the number of nodes of the largest network that fits the field.
    pub log2_nodes: u32,
    /// Bits that the marks of that network use.
    pub bits: u32,
}

/// Table III.
#[must_use]
pub fn network_rows() -> [NetworkRow; 3] {
    [
        grid_row("n x n mesh, torus", 2, 18),
        grid_row("n x n x n mesh, torus", 3, 11),
        hypercube_row(),
    ]
}

fn grid_row(topology: &'static str, dimensions: u32, published_log2_side: u32) -> NetworkRow {
    let fits = |log2_side: u32| Grid::mesh(&vec![1 << log2_side; dimensions as usize]);
    let largest = (1..MarkingField::BITS)
        .map_while(|log2_side| fits(log2_side).ok())
        .last();
    NetworkRow {
        topology,
        published_log2_nodes: dimensions * published_log2_side,
        published_bits: dimensions * published_log2_side - dimensions,
        log2_nodes: largest.as_ref().map_or(0, |grid| grid.nodes().ilog2()),
        bits: largest.as_ref().map_or(0, Grid::used_bits),
    }
}

fn hypercube_row() -> NetworkRow {
    let largest = (1..=u64::BITS)
        .map_while(|dimensions| Hypercube::new(dimensions).ok())
        .last();
    NetworkRow {
        topology: "n-cube hypercube",
        published_log2_nodes: 38,
        published_bits: 38,
        log2_nodes: largest.map_or(0, |cube| cube.nodes().ilog2()),
        bits: largest.map_or(0, |cube| cube.dimensions()),
    }
}

/// ⌊38 / log₂ ports⌋: the highest power of `ports` that is no more than 2^38.
fn levels_below_2_38(ports: u64) -> u32 {
    (1u64 << MarkingField::BITS).ilog(ports.max(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_ii_is_the_printed_formula_where_ports_are_a_power_of_two() {
        let rows = [2, 4, 8, 16, 32, 64, 128].map(fat_tree_row);
        for row in rows {
            assert_eq!(row.levels, row.published_levels, "{row:?}");
            assert_eq!(row.nodes, row.published_nodes, "{row:?}");
        }
        let levels = rows.map(|row| row.levels);
        assert_eq!(levels, [38, 19, 12, 9, 7, 6, 5]);
        let log2_nodes = rows.map(|row| row.nodes.ilog2());
        assert_eq!(log2_nodes, [38, 38, 36, 36, 35, 36, 35]);
    }

    #[test]
    fn table_ii_loses_levels_to_whole_bits_elsewhere() {
        let levels = [3, 12, 24, 36, 48].map(|ports| {
            let row = fat_tree_row(ports);
            (row.published_levels, row.levels)
        });
        assert_eq!(levels, [(23, 19), (10, 9), (8, 7), (7, 6), (6, 6)]);
    }

    #[test]
    fn every_largest_tree_fits_and_no_larger_one() {
        for ports in 2..=256 {
            let levels = fat_tree_row(ports).levels;
            let nodes = FatTree::new(ports, levels).map(|tree| tree.nodes());
            assert_eq!(nodes, Ok(fat_tree_row(ports).nodes));
            assert!(FatTree::new(ports, levels + 1).is_err());
        }
    }

    #[test]
    fn table_iii_has_the_printed_sizes_and_other_bits() {
        let rows = network_rows();
        let log2_nodes = rows.map(|row| row.log2_nodes);
        assert_eq!(log2_nodes, [2 * 18, 3 * 11, 38]);
        assert_eq!(log2_nodes, rows.map(|row| row.published_log2_nodes));
        assert_eq!(rows.map(|row| row.bits), [38, 36, 38]);
        assert_eq!(rows.map(|row| row.published_bits), [34, 30, 38]);
    }
}
