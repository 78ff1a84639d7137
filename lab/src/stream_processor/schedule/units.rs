//! The functional units of a cluster, and which of them an operation can use.

use std::fmt;

use crate::stream_processor::kernel::{Array, Class, Kernel, Op, Opcode, Placement};
use crate::stream_processor::machine::Machine;

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnitKind {
    /// The microcontroller's broadcast of a word.
    Microcontroller,
    /// Adds, compares, shifts, does logic, selects and shuffles.
    Adder,
    /// Multiplies, selects and shuffles.
    Multiplier,
    /// Divides, selects and shuffles.
    Divider,
    /// The read port of a scratchpad.
    ScratchRead,
    /// The write port of a scratchpad.
    ScratchWrite,
    /// Exchanges words between clusters.
    Communicator,
    /// A word per cycle between cluster and stream buffers.
    StreamPort,
    /// The cluster's access to its lane of the stream register file.
    IndexedPort,
}

impl UnitKind {
    /// The name in reports, short enough for the head of a column.
    pub fn name(self) -> &'static str {
        match self {
            UnitKind::Microcontroller => "uc",
            UnitKind::Adder => "add",
            UnitKind::Multiplier => "mul",
            UnitKind::Divider => "div",
            UnitKind::ScratchRead => "sp read",
            UnitKind::ScratchWrite => "sp write",
            UnitKind::Communicator => "comm",
            UnitKind::StreamPort => "stream",
            UnitKind::IndexedPort => "indexed",
        }
    }
}

/// A unit of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit {
    /// What it is.
    pub kind: UnitKind,
    /// Which of that kind, from 0.
    pub number: u32,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.number)
    }
}

/// All units of a machine's cluster, each with its place in tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Units {
    units: Vec<Unit>,
    scratchpads: u32,
}

/// Units, by their place, that an operation takes together.
pub(super) type Together = Vec<usize>;

impl Units {
    pub(super) fn of(machine: &Machine) -> Units {
        let cluster = &machine.cluster;
        let counts = [
            (UnitKind::Microcontroller, 1),
            (UnitKind::Adder, cluster.adders),
            (UnitKind::Multiplier, cluster.multipliers),
            (UnitKind::Divider, cluster.dividers),
            (UnitKind::ScratchRead, cluster.scratchpads),
            (UnitKind::ScratchWrite, cluster.scratchpads),
            (UnitKind::Communicator, cluster.communicators),
            (UnitKind::StreamPort, cluster.stream_ports),
            (UnitKind::IndexedPort, 1),
        ];
        let units = counts
            .into_iter()
            .flat_map(|(kind, count)| (0..count).map(move |number| Unit { kind, number }))
            .collect();
        Units {
            units,
            scratchpads: cluster.scratchpads,
        }
    }

    pub(super) fn all(&self) -> &[Unit] {
        &self.units
    }

    /// The ways in which an operation can be done, the least wanted units
    /// first.
    pub(super) fn alternatives(&self, kernel: &Kernel, op: &Op) -> Vec<Together> {
        let array =
            |array: crate::stream_processor::kernel::ArrayId| &kernel.arrays()[array.index()];
        match op.code {
            Opcode::ScratchRead { array: read, .. } | Opcode::ScratchBit { array: read } => {
                self.scratch(UnitKind::ScratchRead, array(read))
            }
            Opcode::ScratchWrite { array: written, .. } => {
                let each = self.scratch(UnitKind::ScratchWrite, array(written));
                match array(written).placement {
                    Placement::Every => vec![each.concat()],
                    Placement::Unit(_) => each,
                }
            }
            code => kinds(code.class())
                .iter()
                .flat_map(|&kind| self.of_kind(kind))
                .map(|unit| vec![unit])
                .collect(),
        }
    }

    fn scratch(&self, kind: UnitKind, array: &Array) -> Vec<Together> {
        let here = |number: u32| match array.placement {
            Placement::Every => true,
            Placement::Unit(unit) => number == unit % self.scratchpads,
        };
        self.of_kind(kind)
            .filter(|&unit| here(self.units[unit].number))
            .map(|unit| vec![unit])
            .collect()
    }

    fn of_kind(&self, kind: UnitKind) -> impl Iterator<Item = usize> {
        (0..self.units.len()).filter(move |&unit| self.units[unit].kind == kind)
    }
}

/// The kinds of unit that do operations of a class, the least wanted first:
/// selections and shuffles leave the adders to what needs them.
fn kinds(class: Class) -> &'static [UnitKind] {
    match class {
        Class::Broadcast => &[UnitKind::Microcontroller],
        Class::Add | Class::Logic | Class::Shift | Class::Add64 => &[UnitKind::Adder],
        Class::Select | Class::Shuffle => {
            &[UnitKind::Divider, UnitKind::Multiplier, UnitKind::Adder]
        }
        Class::Multiply => &[UnitKind::Multiplier],
        Class::ScratchRead => &[UnitKind::ScratchRead],
        Class::ScratchWrite => &[UnitKind::ScratchWrite],
        Class::IndexedRead | Class::IndexedWrite => &[UnitKind::IndexedPort],
        Class::Communicate => &[UnitKind::Communicator],
        Class::Input | Class::Output => &[UnitKind::StreamPort],
    }
}
