//! Deterministic distance packet marking on meshes and tori.

use super::{Arrival, MarkError, MarkingField, TopologyError, TraceError, address};

/// A mesh or torus of any number of dimensions, with a switch per node. A torus also has links between
/// the ends of each dimension.
///
/// The field is a vector of differences in two's complement, one per dimension, which is wide enough
/// for the largest difference in either direction: a dimension of *n* nodes takes ⌈log₂ n⌉ + 1 bits.
/// A link between the ends of a torus counts as the difference of its ends' coordinates, so that the
/// vector always is the packet's place less its source's, and no detour or round makes it overflow.
///
/// ```text
/// field:  spare | first dimension | … | last dimension
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    dimensions: Vec<Dimension>,
    nodes: u64,
    wraps: bool,
}

/// A dimension, and the place of its difference in the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dimension {
    nodes: u64,
    shift: u32,
    bits: u32,
}

impl Grid {
    /// A mesh with `sides` nodes in each dimension.
    ///
    /// # Errors
    ///
    /// No dimensions, one of fewer than two nodes, or marks that need more bits than the field has.
    pub fn mesh(sides: &[u64]) -> Result<Grid, TopologyError> {
        Grid::new(sides, false)
    }

    /// A torus with `sides` nodes in each dimension.
    ///
    /// # Errors
    ///
    /// As [`mesh`](Self::mesh).
    pub fn torus(sides: &[u64]) -> Result<Grid, TopologyError> {
        Grid::new(sides, true)
    }

    fn new(sides: &[u64], wraps: bool) -> Result<Grid, TopologyError> {
        if sides.is_empty() {
            return Err(TopologyError::Empty);
        }
        let mut dimensions = Vec::new();
        let mut used_bits = 0;
        for &nodes in sides.iter().rev() {
            if nodes < 2 {
                return Err(TopologyError::TooFew(nodes));
            }
            let bits = difference_bits(nodes);
            dimensions.push(Dimension {
                nodes,
                shift: used_bits,
                bits,
            });
            used_bits += bits;
            if used_bits > MarkingField::BITS {
                return Err(TopologyError::FieldTooNarrow);
            }
        }
        dimensions.reverse();
        Ok(Grid {
            dimensions,
            nodes: sides.iter().product(),
            wraps,
        })
    }

    /// Nodes in each dimension.
    pub fn sides(&self) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator {
        self.dimensions.iter().map(|dimension| dimension.nodes)
    }

    /// Whether the ends of each dimension are linked: a torus.
    #[must_use]
    pub fn wraps(&self) -> bool {
        self.wraps
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Bits of the field that marks use.
    #[must_use]
    pub fn used_bits(&self) -> u32 {
        self.dimensions.iter().map(|dimension| dimension.bits).sum()
    }

    /// What the switch of node `at` makes of the field of a packet that it sends to the switch of node
    /// `next`, or, where both are the same, to its node. A packet that arrives from the node has its
    /// field reset first.
    ///
    /// # Errors
    ///
    /// Nodes that the grid does not have, or that are not neighbours.
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
        let field = match arrival {
            Arrival::Node => MarkingField::ZERO,
            Arrival::Switch => field,
        };
        let not_neighbours = MarkError::NotNeighbours { at, next };
        let (mut here, mut there) = (at, next);
        let mut marked = None;
        for dimension in self.dimensions.iter().rev() {
            let (from, to) = (here % dimension.nodes, there % dimension.nodes);
            here /= dimension.nodes;
            there /= dimension.nodes;
            if from == to {
                continue;
            }
            let links =
                from.abs_diff(to) == 1 || self.wraps && from.abs_diff(to) == dimension.nodes - 1;
            if !links || marked.is_some() {
                return Err(not_neighbours);
            }
            // Modulo two to the power of the part's bits, which `with_part` cuts to.
            let difference = field
                .part(dimension.shift, dimension.bits)
                .wrapping_add(to)
                .wrapping_sub(from);
            marked = Some(field.with_part(dimension.shift, dimension.bits, difference));
        }
        Ok(marked.unwrap_or(field))
    }

    /// The source of a packet that arrived at the node `victim` with this field.
    ///
    /// # Errors
    ///
    /// No such node, or a field that no switch of this grid leaves.
    pub fn source(&self, field: MarkingField, victim: u64) -> Result<u64, TraceError> {
        if victim >= self.nodes() {
            return Err(TraceError::NoSuchVictim(victim));
        }
        let used_bits = self.used_bits();
        if field.bits() >> used_bits != 0 {
            return Err(TraceError::SpareBits { used_bits });
        }
        if field == MarkingField::ZERO {
            return Err(TraceError::NotMarked);
        }
        let place = address::digits(victim, self.sides());
        let mut source = 0;
        for (dimension, coordinate) in self.dimensions.iter().zip(place) {
            let difference =
                sign_extended(field.part(dimension.shift, dimension.bits), dimension.bits);
            let from = coordinate
                .checked_add_signed(-difference)
                .filter(|&from| from < dimension.nodes)
                .ok_or(TraceError::Outside)?;
            source = source * dimension.nodes + from;
        }
        Ok(source)
    }
}

/// Bits of a difference between coordinates of `nodes` nodes, with its sign.
fn difference_bits(nodes: u64) -> u32 {
    u64::BITS - (nodes - 1).leading_zeros() + 1
}

fn sign_extended(part: u64, bits: u32) -> i64 {
    let unused = u64::BITS - bits;
    (part << unused).cast_signed() >> unused
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distance vectors of figure 6(a) of the source, from (1,1) to (2,3).
    #[test]
    fn distances_are_those_of_figure_6a() {
        let mesh = Grid::mesh(&[4, 4]).expect("a mesh");
        let path = [
            (1, 1),
            (2, 1),
            (3, 1),
            (3, 0),
            (2, 0),
            (2, 1),
            (2, 2),
            (2, 3),
        ];
        let vectors = [(1, 0), (2, 0), (2, -1), (1, -1), (1, 0), (1, 1), (1, 2)];
        let mut field = MarkingField::new(0x2a_aaaa_aaaa).expect("38 bits");
        let mut arrival = Arrival::Node;
        for (hop, (first, last)) in path.windows(2).zip(vectors) {
            let [at, next] = [hop[0], hop[1]].map(|(x, y)| 4 * x + y);
            field = mesh.mark(field, arrival, at, next).expect("neighbours");
            arrival = Arrival::Switch;
            assert_eq!(sign_extended(field.part(3, 3), 3), first);
            assert_eq!(sign_extended(field.part(0, 3), 3), last);
        }
        assert_eq!(mesh.source(field, 4 * 2 + 3), Ok(4 + 1));
    }

    #[test]
    fn links_between_the_ends_belong_to_tori() {
        let (mesh, torus) = (Grid::mesh(&[5, 3]), Grid::torus(&[5, 3]));
        let (mesh, torus) = (mesh.expect("a mesh"), torus.expect("a torus"));
        let hop = |grid: &Grid, at, next| grid.mark(MarkingField::ZERO, Arrival::Node, at, next);
        let (at, next) = (0, 4 * 3);
        assert_eq!(
            hop(&mesh, at, next),
            Err(MarkError::NotNeighbours { at, next })
        );
        let field = hop(&torus, at, next).expect("neighbours on a torus");
        assert_eq!(torus.source(field, next), Ok(at));
        // Two dimensions at once, two steps, and nodes that do not exist.
        for (at, next) in [(0, 4), (0, 2 * 3)] {
            assert_eq!(
                hop(&torus, at, next),
                Err(MarkError::NotNeighbours { at, next })
            );
        }
        assert_eq!(hop(&torus, 15, 14), Err(MarkError::NoSuchNode(15)));
        assert_eq!(hop(&torus, 14, 15), Err(MarkError::NoSuchNode(15)));
    }

    #[test]
    fn a_packet_for_the_switch_s_own_node_is_only_reset() {
        let mesh = Grid::mesh(&[2, 2]).expect("a mesh");
        let field = MarkingField::new(5).expect("38 bits");
        assert_eq!(
            mesh.mark(field, Arrival::Node, 1, 1),
            Ok(MarkingField::ZERO)
        );
        assert_eq!(mesh.mark(field, Arrival::Switch, 1, 1), Ok(field));
    }

    #[test]
    fn a_dimension_takes_a_bit_for_the_sign() {
        let bits = [2, 3, 4, 5, 1 << 18, (1 << 18) + 1].map(difference_bits);
        assert_eq!(bits, [2, 3, 3, 4, 19, 20]);
        assert!(Grid::mesh(&[2; 19]).is_ok());
        assert_eq!(Grid::mesh(&[2; 20]), Err(TopologyError::FieldTooNarrow));
        assert_eq!(Grid::torus(&[u64::MAX]), Err(TopologyError::FieldTooNarrow));
        assert_eq!(Grid::torus(&[4, 1]), Err(TopologyError::TooFew(1)));
        assert_eq!(Grid::mesh(&[]), Err(TopologyError::Empty));
    }
}
