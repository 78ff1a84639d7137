//! How a processor of the pipeline is built.

use super::{LENGTHS, SHORTEST};

/// A family of hash functions of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Shifts, additions and exclusive ors (figure 3.1).
    ShiftAddXor,
    /// Tables of random words, one for each place of a byte (equation 3.9), in
    /// the stream register file.
    Tabulation,
    /// A number by radix conversion, and H1 of it (equation 3.3).
    H1,
}

impl Family {
    /// The name in kernels' names.
    fn name(self) -> &'static str {
        match self {
            Family::ShiftAddXor => "shift-add-xor",
            Family::Tabulation => "tabulation",
            Family::H1 => "h1",
        }
    }
}

/// Where a processor is in the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// It computes hashes from one byte on.
    First,
    /// After N others, whose intermediate hashes it extends.
    After(usize),
}

/// Where the filter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FilterPlace {
    /// A segment in each cluster's scratchpads.
    Scratchpad,
    /// A segment in each cluster's lane of the stream register file.
    Lane,
    /// In memory: kernel 2 gives addresses, and a third kernel takes the words.
    Memory,
}

/// A processor and its kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Design {
    /// The hash functions.
    pub family: Family,
    /// Its place in the pipeline.
    pub position: Position,
    /// Where the filter is.
    pub filter: FilterPlace,
    /// Whether hardware forms the index of a row in a cluster's lane (5.4.1).
    pub index_assist: bool,
    /// Whether hardware takes a bit of the scratchpad (5.4.2).
    pub bit_assist: bool,
}

impl Design {
    /// A processor without assists, its filter in scratchpads.
    pub fn new(family: Family, position: Position) -> Design {
        Design {
            family,
            position,
            filter: FilterPlace::Scratchpad,
            index_assist: false,
            bit_assist: false,
        }
    }

    /// The second processor of a pipeline.
    pub fn second(family: Family) -> Design {
        Design::new(family, Position::After(1))
    }

    /// The same with its filter elsewhere.
    pub fn with_filter(self, filter: FilterPlace) -> Design {
        Design { filter, ..self }
    }

    /// The name of its kernel 1 or 2, as in `weir-lab list`.
    pub(super) fn kernel_name(&self, kernel: u32) -> String {
        let family = match self.family {
            Family::ShiftAddXor => None,
            other => Some(other.name()),
        };
        let place = match self.filter {
            FilterPlace::Scratchpad => None,
            FilterPlace::Lane => Some("lane"),
            FilterPlace::Memory => Some("memory"),
        };
        let assist = match (self.bit_assist, self.index_assist) {
            (true, _) => Some("bits"),
            (false, true) => Some("index"),
            (false, false) => None,
        };
        let mut name = match self.position {
            Position::First => format!("inspect-first-{kernel}"),
            Position::After(_) => format!("inspect-{kernel}"),
        };
        let mut differing: Vec<&str> = [family, place, assist].into_iter().flatten().collect();
        if differing.is_empty() && self.position != Position::First {
            differing.push(self.family.name());
        }
        for part in differing {
            name = format!("{name}-{part}");
        }
        name
    }

    /// The shortest length that it looks for.
    pub fn shortest(&self) -> usize {
        match self.position {
            Position::First => SHORTEST,
            Position::After(others) => SHORTEST + LENGTHS * others,
        }
    }

    /// Bytes at the start of a packet that are kernel 1's.
    pub fn prefix_bytes(&self) -> usize {
        self.shortest() + LENGTHS - 1
    }

    /// Bytes of the shortest window whose hash is carried from byte to byte.
    pub(super) fn shortest_carried(&self) -> usize {
        match self.position {
            Position::First => 1,
            Position::After(_) => self.shortest() - 1,
        }
    }

    /// Bytes of the shortest window whose hash kernel 2 makes.
    pub(super) fn shortest_made(&self) -> usize {
        match self.position {
            Position::First => 1,
            Position::After(_) => self.shortest(),
        }
    }

    /// Windows whose hashes are carried from byte to byte.
    pub fn carried(&self) -> usize {
        self.prefix_bytes() - self.shortest_carried()
    }

    /// Whether kernel 1 goes on with the hashes of the processor before. The
    /// others compute them again from the packet (5.2.3); with tables, that
    /// would take one for each place of the longest window, where four are
    /// held (5.4.1).
    pub(super) fn starts_with_hashes(&self) -> bool {
        self.family == Family::Tabulation && self.position != Position::First
    }

    /// The place in a window of the first byte that kernel 1 appends.
    pub(super) fn first_place(&self) -> usize {
        if self.starts_with_hashes() {
            self.shortest() - 1
        } else {
            0
        }
    }

    /// Whether kernel 2 takes the functions' parameters.
    pub(super) fn takes_parameters(&self) -> bool {
        match self.family {
            Family::ShiftAddXor => self.position == Position::First,
            Family::Tabulation => false,
            Family::H1 => true,
        }
    }
}
