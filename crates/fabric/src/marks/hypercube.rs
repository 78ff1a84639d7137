//! Deterministic distance packet marking on hypercubes.

use super::{Arrival, MarkError, MarkingField, TopologyError, TraceError};

/// A hypercube with a switch per node. A node's number is its address, a bit per dimension, and links
/// lead to the nodes whose addresses differ in one bit. The field is the exclusive or of the addresses
/// of source and victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hypercube {
    dimensions: u32,
}

impl Hypercube {
    /// A hypercube with `dimensions` dimensions.
    ///
    /// # Errors
    ///
    /// No dimensions, or more than the field has bits.
    pub fn new(dimensions: u32) -> Result<Hypercube, TopologyError> {
        match dimensions {
            0 => Err(TopologyError::Empty),
            1..=MarkingField::BITS => Ok(Hypercube { dimensions }),
            _ => Err(TopologyError::FieldTooNarrow),
        }
    }

    /// The number of dimensions.
    #[must_use]
    pub fn dimensions(&self) -> u32 {
        self.dimensions
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        1 << self.dimensions
    }

    /// What the switch of node `at` makes of the field of a packet that it sends to the switch of node
    /// `next`, or, where both are the same, to its node. A packet that arrives from the node has its
    /// field reset first.
    ///
    /// # Errors
    ///
    /// Nodes that the hypercube does not have, or that are not neighbours.
    pub fn mark(
        &self,
        field: MarkingField,
        arrival: Arrival,
        at: u64,
        next: u64,
    ) -> Result<MarkingField, MarkError> {
        for node in [at, next] {
            if node >= self.nodes() {
                return Err(MarkError::NoSuchNode(node));
            }
        }
        let difference = at ^ next;
        if difference.count_ones() > 1 {
            return Err(MarkError::NotNeighbours { at, next });
        }
        let field = match arrival {
            Arrival::Node => MarkingField::ZERO,
            Arrival::Switch => field,
        };
        Ok(field.with_part(0, MarkingField::BITS, field.bits() ^ difference))
    }

    /// The source of a packet that arrived at the node `victim` with this field.
    ///
    /// # Errors
    ///
    /// No such node, or a field that no switch of this hypercube leaves.
    pub fn source(&self, field: MarkingField, victim: u64) -> Result<u64, TraceError> {
        if victim >= self.nodes() {
            return Err(TraceError::NoSuchVictim(victim));
        }
        if field.bits() >= self.nodes() {
            let used_bits = self.dimensions;
            return Err(TraceError::SpareBits { used_bits });
        }
        if field == MarkingField::ZERO {
            return Err(TraceError::NotMarked);
        }
        Ok(victim ^ field.bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distance vectors of figure 6(b) of the source, from (1,1,0) to (0,0,0).
    #[test]
    fn distances_are_those_of_figure_6b() {
        let cube = Hypercube::new(3).expect("a hypercube");
        let path = [0b110, 0b010, 0b011, 0b111, 0b101, 0b100, 0b000];
        let vectors = [0b100, 0b101, 0b001, 0b011, 0b010, 0b110];
        let mut field = MarkingField::new(0x15).expect("38 bits");
        let mut arrival = Arrival::Node;
        for (hop, vector) in path.windows(2).zip(vectors) {
            field = cube
                .mark(field, arrival, hop[0], hop[1])
                .expect("neighbours");
            arrival = Arrival::Switch;
            assert_eq!(field.bits(), vector);
        }
        assert_eq!(cube.source(field, 0), Ok(0b110));
    }

    #[test]
    fn what_is_no_hop_of_the_cube_is_refused() {
        let cube = Hypercube::new(3).expect("a hypercube");
        let hop = |at, next| cube.mark(MarkingField::ZERO, Arrival::Switch, at, next);
        assert_eq!(hop(0, 8), Err(MarkError::NoSuchNode(8)));
        assert_eq!(hop(8, 0), Err(MarkError::NoSuchNode(8)));
        assert_eq!(hop(0, 3), Err(MarkError::NotNeighbours { at: 0, next: 3 }));
        assert_eq!(hop(5, 5), Ok(MarkingField::ZERO));
        assert_eq!(Hypercube::new(0), Err(TopologyError::Empty));
        assert_eq!(Hypercube::new(39), Err(TopologyError::FieldTooNarrow));
    }
}
