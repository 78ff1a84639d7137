//! Deterministic packet marking on fat trees.

use super::{MarkError, MarkingField, TopologyError, TraceError};

/// A fat tree: a switch has *p* ports down, the lowest of the *n* levels of switches leads to nodes,
/// and there are *pⁿ* nodes. A node's coordinates are the ports that lead to it, from the top level
/// down. The tree is a logical one: a switch of it stands for all the basic switches that give it its
/// bandwidth, as in a *k*-ary *n*-tree, and a packet may take any of them.
///
/// In the source a switch writes the number of the port that a packet comes up by into its level's
/// part of the field, so that at the top the field is the address of the packet's source. A packet that
/// turns below the top leaves the parts above unwritten there, and zero is also a port; one that comes
/// up a second time writes over its source. Here, a switch therefore combines by exclusive or, and does
/// so with the port that the packet leaves *down* by, too. On the way up that gives the same field as
/// in the source; what arrives is the difference between the addresses of source and victim, for
/// every path.
///
/// ```text
/// field:  spare | port at the top level | … | port at the lowest level
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FatTree {
    ports: u64,
    levels: u32,
    port_bits: u32,
}

/// A port of a switch in a fat tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreePort {
    /// A port to the level below, or on the lowest level to a node; from 0.
    Down(u64),
    /// Any of the ports to the level above.
    Up,
}

impl FatTree {
    /// A fat tree of `levels` levels of switches with `ports` ports down.
    ///
    /// # Errors
    ///
    /// Fewer than two ports, no levels, or marks that need more bits than the field has.
    pub fn new(ports: u64, levels: u32) -> Result<FatTree, TopologyError> {
        if ports < 2 {
            return Err(TopologyError::TooFew(ports));
        }
        if levels == 0 {
            return Err(TopologyError::Empty);
        }
        if levels > FatTree::most_levels(ports) {
            return Err(TopologyError::FieldTooNarrow);
        }
        Ok(FatTree {
            ports,
            levels,
            port_bits: port_bits(ports),
        })
    }

    /// The levels of the largest fat tree whose switches have `ports` ports down, at least two.
    #[must_use]
    pub fn most_levels(ports: u64) -> u32 {
        MarkingField::BITS / port_bits(ports).max(1)
    }

    /// Ports down of a switch.
    #[must_use]
    pub fn ports(&self) -> u64 {
        self.ports
    }

    /// Levels of switches.
    #[must_use]
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        self.ports.pow(self.levels)
    }

    /// What a switch on `level`, 1 for the lowest, makes of the field of a packet that comes by one
    /// port and leaves by another. A packet that comes up on the lowest level comes from a node, and
    /// its field is reset.
    ///
    /// # Errors
    ///
    /// The switch has no such port, or the tree no such level.
    pub fn mark(
        &self,
        field: MarkingField,
        level: u32,
        arrival: TreePort,
        departure: TreePort,
    ) -> Result<MarkingField, MarkError> {
        let no_such_port = MarkError::NoSuchPort { level };
        if !(1..=self.levels).contains(&level) {
            return Err(no_such_port);
        }
        let shift = (level - 1) * self.port_bits;
        let mut field = match arrival {
            TreePort::Down(_) if level == 1 => MarkingField::ZERO,
            _ => field,
        };
        for port in [arrival, departure] {
            match port {
                TreePort::Down(port) if port < self.ports => {
                    let marked = field.part(shift, self.port_bits) ^ port;
                    field = field.with_part(shift, self.port_bits, marked);
                }
                TreePort::Up if level < self.levels => {}
                TreePort::Down(_) | TreePort::Up => return Err(no_such_port),
            }
        }
        Ok(field)
    }

    /// The source of a packet that arrived at the node `victim` with this field.
    ///
    /// # Errors
    ///
    /// No such node, or a field that no switch of this tree leaves.
    pub fn source(&self, field: MarkingField, victim: u64) -> Result<u64, TraceError> {
        if victim >= self.nodes() {
            return Err(TraceError::NoSuchVictim(victim));
        }
        let used_bits = self.levels * self.port_bits;
        if field.bits() >> used_bits != 0 {
            return Err(TraceError::SpareBits { used_bits });
        }
        if field == MarkingField::ZERO {
            return Err(TraceError::NotMarked);
        }
        let (mut source, mut weight, mut rest) = (0, 1, victim);
        for level in 0..self.levels {
            let mark = field.part(level * self.port_bits, self.port_bits);
            let port = (rest % self.ports) ^ mark;
            if port >= self.ports {
                return Err(TraceError::Outside);
            }
            source += port * weight;
            weight *= self.ports;
            rest /= self.ports;
        }
        Ok(source)
    }
}

/// Bits that number `ports` ports.
fn port_bits(ports: u64) -> u32 {
    u64::BITS - ports.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 5 of the source: node (00,01,10) of the 3-level tree with two-bit ports.
    #[test]
    fn the_field_at_the_top_is_the_address_of_the_source() {
        let tree = FatTree::new(4, 3).expect("a tree");
        let forged = MarkingField::new(0x3f_ffff_ffff).expect("38 bits");
        let (up, down) = (TreePort::Up, TreePort::Down);
        let first = tree.mark(forged, 1, down(0b10), up).expect("ports");
        assert_eq!(first.bits(), 0b10);
        let second = tree.mark(first, 2, down(0b01), up).expect("ports");
        assert_eq!(second.bits(), 0b01_10);
        // At the top it leaves by port 0, so that nothing is added to what the text has.
        let third = tree.mark(second, 3, down(0b00), down(0)).expect("ports");
        assert_eq!(third.bits(), 0b00_01_10);
        let fourth = tree.mark(third, 2, up, down(3)).expect("ports");
        let fifth = tree.mark(fourth, 1, up, down(2)).expect("ports");
        assert_eq!(tree.source(fifth, 0b00_11_10), Ok(0b00_01_10));
    }

    #[test]
    fn ports_that_a_switch_does_not_have_are_refused() {
        let tree = FatTree::new(3, 2).expect("a tree");
        let mark =
            |level, arrival, departure| tree.mark(MarkingField::ZERO, level, arrival, departure);
        let (up, down) = (TreePort::Up, TreePort::Down);
        assert!(mark(1, down(2), up).is_ok());
        for (level, arrival, departure) in [
            (0, down(0), up),
            (3, down(0), up),
            (2, down(0), up),
            (2, up, down(0)),
            (1, down(3), up),
            (1, up, down(u64::MAX)),
        ] {
            let refused = Err(MarkError::NoSuchPort { level });
            assert_eq!(mark(level, arrival, departure), refused);
        }
    }

    #[test]
    fn ports_are_numbered_in_whole_bits() {
        let bits = [2, 3, 4, 5, 8, 9, 24, 1 << 38].map(port_bits);
        assert_eq!(bits, [1, 2, 2, 3, 3, 4, 5, 38]);
        assert!(FatTree::new(1 << 38, 1).is_ok());
        assert!(FatTree::new((1 << 38) + 1, 1).is_err());
        assert_eq!(
            FatTree::new(u64::MAX, 1),
            Err(TopologyError::FieldTooNarrow)
        );
        assert_eq!(FatTree::new(1, 1), Err(TopologyError::TooFew(1)));
        assert_eq!(FatTree::new(2, 0), Err(TopologyError::Empty));
        assert_eq!(FatTree::new(2, 39), Err(TopologyError::FieldTooNarrow));
    }
}
