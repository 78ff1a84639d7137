//! Parameters of functions side by side: those of eight functions in lanes, for one key
//! through all functions.

use weir_simd::Lanes;

/// Functions of a group: 64-bit lanes of the widest vector.
pub(crate) const GROUP: usize = 8;

/// Parameters of eight functions.
pub(crate) type Group<const PARAMETERS: usize> = [Lanes<u64, GROUP>; PARAMETERS];

/// The parameters of all functions of a family, parameter by parameter in groups of eight
/// functions; zeros where there are fewer.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Across<const PARAMETERS: usize> {
    groups: Vec<Group<PARAMETERS>>,
}

impl<const PARAMETERS: usize> Across<PARAMETERS> {
    /// `parameter(row, number)` for every row.
    pub fn new<R>(rows: &[R], parameter: impl Fn(&R, usize) -> u64) -> Self {
        let group = |rows: &[R]| {
            std::array::from_fn(|number| {
                Lanes(std::array::from_fn(|lane| {
                    rows.get(lane).map_or(0, |row| parameter(row, number))
                }))
            })
        };
        Across {
            groups: rows.chunks(GROUP).map(group).collect(),
        }
    }

    /// Groups in the order of the functions.
    #[cfg(target_arch = "x86_64")]
    pub fn groups(&self) -> &[Group<PARAMETERS>] {
        &self.groups
    }
}
