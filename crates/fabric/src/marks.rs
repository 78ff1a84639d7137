//! Packet marking by switches, and traceback to the source of one packet.
//!
//! Software chooses the source address of a packet, so an address does not prove where a packet came
//! from. A mark does: switches write it, in 38 bits of the destination's GID that are zero otherwise
//! ([`MarkingField`]), and one packet is enough to name its source.
//!
//! - *Deterministic packet marking* (DPM), on fat trees: each switch writes the port that the packet
//!   came up by ([`FatTree`]).
//! - *Deterministic distance packet marking* (DDPM), on meshes and tori ([`Grid`]) and hypercubes
//!   ([`Hypercube`]): each switch adds the difference between the next switch's coordinate and its
//!   own. What arrives is the distance from the source, whatever the path was.
//!
//! The first switch overwrites what the source put into the field. A node cannot forge a mark; a
//! switch can, and marks are worth what the switches are. Packets that leave the site are not marked.
//!
//! Source: Manhee Lee, dissertation, chapter III, section E.4 "Source Identification Scheme in IBA",
//! algorithm 1, tables II and III ([`scalability`]).
//!
//! ```
//! use weir_fabric::marks::{Arrival, MarkingField, Topology};
//!
//! // Figure 6(a) of the source: a packet from (1,1) to (2,3) that takes a detour.
//! let topology: Topology = "mesh:4x4".parse()?;
//! let Topology::Grid(mesh) = &topology else { unreachable!() };
//! let path = ["1,1", "2,1", "3,1", "3,0", "2,0", "2,1", "2,2", "2,3"];
//! let path = path.map(|node| topology.parse_node(node).expect("a node of the mesh"));
//!
//! let mut field = MarkingField::new(0x12_3456_789a).expect("38 bits"); // Forged by the source.
//! let mut arrival = Arrival::Node;
//! for hop in path.windows(2) {
//!     field = mesh.mark(field, arrival, hop[0], hop[1])?;
//!     arrival = Arrival::Switch;
//! }
//! let source = topology.source(field, path[7])?;
//! assert_eq!(topology.node_name(source).as_deref(), Some("1,1"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod fat_tree;
mod field;
mod grid;
mod hypercube;
pub mod scalability;
mod topology;

pub use fat_tree::{FatTree, TreePort};
pub use field::{MarkingField, UnmarkedGid};
pub use grid::Grid;
pub use hypercube::Hypercube;
pub use topology::Topology;

/// Where a switch has a packet from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// From a node: this is the packet's first switch, and the field is reset.
    Node,
    /// From another switch.
    Switch,
}

/// A topology without nodes, or one whose marks do not fit 38 bits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// The description has another form.
    #[error(
        "`{0}` is not a topology; expected `fat-tree:PORTS^LEVELS`, `mesh:NxN`, `torus:NxNxN` or \
         `hypercube:DIMENSIONS`"
    )]
    Syntax(String),
    /// A fat tree's switch has fewer than two ports down, or a dimension of a grid fewer than two
    /// nodes.
    #[error("{0} ports or nodes where at least 2 are needed")]
    TooFew(u64),
    /// No levels, or no dimensions.
    #[error("a topology without levels or dimensions has no nodes")]
    Empty,
    /// Marks need more bits than the field has.
    #[error(
        "marks of this topology need more than the {} bits of the field",
        MarkingField::BITS
    )]
    FieldTooNarrow,
}

/// A hop that the topology does not have, so that there is nothing to mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarkError {
    /// The topology has fewer nodes.
    #[error("the topology has no node {0}")]
    NoSuchNode(u64),
    /// No link leads from one node to the other.
    #[error("no link leads from node {at} to node {next}")]
    NotNeighbours {
        /// The node whose switch marks.
        at: u64,
        /// The node that the packet was to go to.
        next: u64,
    },
    /// A switch on this level of a fat tree has no such port.
    #[error("a switch on level {level} of the fat tree has no such port")]
    NoSuchPort {
        /// The switch's level, 1 for the lowest.
        level: u32,
    },
}

/// Why a field names no source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// The victim is not a node of the topology.
    #[error("the topology has no node {0}, where the packet is said to have arrived")]
    NoSuchVictim(u64),
    /// The field has bits set that the topology's marks do not use.
    #[error("the field has bits set above the {used_bits} bits that marks of this topology use")]
    SpareBits {
        /// Bits that marks use.
        used_bits: u32,
    },
    /// The field leads out of the topology: no switch of it wrote the field.
    #[error("the field leads to no node of the topology")]
    Outside,
    /// The field is zero, and names the victim itself: no switch has marked the packet.
    #[error("the field is zero: no switch has marked the packet")]
    NotMarked,
}
