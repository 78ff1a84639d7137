//! A topology of any kind, by its description.

use super::{FatTree, Grid, Hypercube, MarkingField, TopologyError, TraceError, address};
use std::fmt;
use std::str::FromStr;

/// A topology whose packets can be traced to their source.
///
/// | description | topology | a node |
/// | --- | --- | --- |
/// | `fat-tree:4^3` | three levels of switches with four ports down: 64 nodes | `0,1,2`: the ports from the top level down |
/// | `mesh:16x8`, `torus:8x8x8` | nodes in each dimension | `11,7`: coordinates from 0 |
/// | `hypercube:10` | 2^10 nodes | `1,1,0,…`: a bit per dimension |
///
/// A node's number has these coordinates as digits, the first the most significant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Marked with ports.
    FatTree(FatTree),
    /// A mesh or torus, marked with differences.
    Grid(Grid),
    /// Marked with differences, by exclusive or.
    Hypercube(Hypercube),
}

impl Topology {
    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        match self {
            Topology::FatTree(tree) => tree.nodes(),
            Topology::Grid(grid) => grid.nodes(),
            Topology::Hypercube(cube) => cube.nodes(),
        }
    }

    /// The source of a packet that arrived at the node `victim` with this field.
    ///
    /// # Errors
    ///
    /// No such node, or a field that no switch of this topology leaves.
    pub fn source(&self, field: MarkingField, victim: u64) -> Result<u64, TraceError> {
        match self {
            Topology::FatTree(tree) => tree.source(field, victim),
            Topology::Grid(grid) => grid.source(field, victim),
            Topology::Hypercube(cube) => cube.source(field, victim),
        }
    }

    /// The number of the node with these coordinates, separated by commas; none if there is none.
    #[must_use]
    pub fn parse_node(&self, coordinates: &str) -> Option<u64> {
        let digits: Vec<u64> = coordinates
            .split(',')
            .map(|digit| decimal(digit.trim()))
            .collect::<Option<_>>()?;
        address::number(&digits, self.radices().into_iter())
    }

    /// The coordinates of a node, as [`parse_node`](Self::parse_node) takes them; none if the topology
    /// has fewer nodes.
    #[must_use]
    pub fn node_name(&self, node: u64) -> Option<String> {
        if node >= self.nodes() {
            return None;
        }
        let digits = address::digits(node, self.radices().into_iter());
        let digits: Vec<String> = digits.iter().map(u64::to_string).collect();
        Some(digits.join(","))
    }

    /// How many values each coordinate has.
    fn radices(&self) -> Vec<u64> {
        match self {
            Topology::FatTree(tree) => vec![tree.ports(); tree.levels() as usize],
            Topology::Grid(grid) => grid.sides().collect(),
            Topology::Hypercube(cube) => vec![2; cube.dimensions() as usize],
        }
    }
}

impl FromStr for Topology {
    type Err = TopologyError;

    fn from_str(description: &str) -> Result<Topology, TopologyError> {
        let syntax = || TopologyError::Syntax(description.chars().take(80).collect());
        let (kind, shape) = description.split_once(':').ok_or_else(syntax)?;
        let sides = || {
            let sides = shape.split('x').map(decimal).collect::<Option<Vec<u64>>>();
            sides.ok_or_else(syntax)
        };
        // A number that is too large for its type is too large for the field.
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        match kind {
            "fat-tree" => {
                let (ports, levels) = shape.split_once('^').ok_or_else(syntax)?;
                let ports = decimal(ports).ok_or_else(syntax)?;
                let levels = decimal(levels).ok_or_else(syntax)?;
                FatTree::new(ports, small(levels)).map(Topology::FatTree)
            }
            "mesh" => Grid::mesh(&sides()?).map(Topology::Grid),
            "torus" => Grid::torus(&sides()?).map(Topology::Grid),
            "hypercube" => {
                let dimensions = decimal(shape).ok_or_else(syntax)?;
                Hypercube::new(small(dimensions)).map(Topology::Hypercube)
            }
            _ => Err(syntax()),
        }
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Topology::FatTree(tree) => {
                write!(formatter, "fat-tree:{}^{}", tree.ports(), tree.levels())
            }
            Topology::Grid(grid) => {
                let kind = if grid.wraps() { "torus" } else { "mesh" };
                let sides: Vec<String> = grid.sides().map(|side| side.to_string()).collect();
                write!(formatter, "{kind}:{}", sides.join("x"))
            }
            Topology::Hypercube(cube) => write!(formatter, "hypercube:{}", cube.dimensions()),
        }
    }
}

/// A number of digits only: `parse` takes a sign, too.
fn decimal(digits: &str) -> Option<u64> {
    let is_decimal = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_decimal.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_and_nodes_are_read_as_they_are_written() {
        for (description, nodes, last) in [
            ("fat-tree:4^3", 64, "3,3,3"),
            ("fat-tree:3^2", 9, "2,2"),
            ("mesh:16x8", 128, "15,7"),
            ("torus:8x8x8", 512, "7,7,7"),
            ("mesh:262144x262144", 1 << 36, "262143,262143"),
            ("hypercube:3", 8, "1,1,1"),
        ] {
            let topology: Topology = description.parse().expect("a topology");
            assert_eq!(topology.to_string(), description);
            assert_eq!(topology.nodes(), nodes);
            assert_eq!(topology.parse_node(last), Some(nodes - 1));
            assert_eq!(topology.node_name(nodes - 1).as_deref(), Some(last));
            assert_eq!(topology.node_name(nodes), None);
        }
        let mesh: Topology = "mesh:16x8".parse().expect("a mesh");
        assert_eq!(mesh.parse_node("1, 2"), Some(10));
        for node in [
            "",
            "1",
            "1,2,3",
            "16,0",
            "0,8",
            "-1,0",
            "+1,0",
            "1,x",
            "99999999999999999999,0",
        ] {
            assert_eq!(mesh.parse_node(node), None, "{node}");
        }
    }

    #[test]
    fn wrong_descriptions_are_refused() {
        let error = |description: &str| description.parse::<Topology>().err();
        for description in [
            "",
            "mesh",
            "mesh:",
            "ring:4",
            "fat-tree:4x3",
            "mesh:4^3",
            "mesh:4x",
            "hypercube:-1",
        ] {
            let syntax = Some(TopologyError::Syntax(description.to_owned()));
            assert_eq!(error(description), syntax, "{description}");
        }
        assert_eq!(error("mesh:4x1"), Some(TopologyError::TooFew(1)));
        assert_eq!(error("hypercube:0"), Some(TopologyError::Empty));
        for description in [
            "mesh:262145x262144",
            "torus:4096x4096x4096",
            "hypercube:39",
            "hypercube:18446744073709551615",
            "fat-tree:2^4294967296",
            "fat-tree:24^8",
        ] {
            assert_eq!(
                error(description),
                Some(TopologyError::FieldTooNarrow),
                "{description}"
            );
        }
    }
}
